"""Releases in which persons are changed one by one: no model, a gate, what is refused, verified and attacked."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.demo.patients import made_up_patients
from shoal.masking import MASKS
from shoal.masking.changing import Changing
from shoal.publishing.release import Release

SCHEMA = shoal.Schema(
    person="patient", quasi=["age", "zip", "education"], sensitive=["disease"],
    dropped=["gender", "treatment", "visit_date"],
)  # fmt: skip


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    return made_up_patients(300, seed=2)


def noisy(patients: pl.DataFrame, **options: Any) -> Release:
    return shoal.protect(patients, SCHEMA, [], **{"mask": "noise", "max_linkage": 0.5, "seed": 3, **options})


def test_the_gate_is_the_promise(patients: pl.DataFrame) -> None:
    release = noisy(patients, max_linkage=0.4)
    assert release.verdict.holds
    (gate,) = release.verdict.models
    assert (gate.name, gate.asked, gate.checked_from) == ("max-linkage", 0.4, "original table")
    assert release.linkage is not None
    assert gate.reached == release.linkage.rate < 0.4
    assert any("no model is promised" in note for note in release.verdict.notes)
    assert release.risk.person_k == 1  # nobody is hidden in a group, and nothing says so


def test_too_much_linkage_is_refused_and_so_is_no_gate(patients: pl.DataFrame) -> None:
    with pytest.raises(shoal.errors.PrivacyNotMetError, match="linked to their original values"):
        noisy(patients, amount=0.001, max_linkage=0.1)
    with pytest.raises(shoal.errors.ParameterError, match=r"max_linkage=0\.05"):
        noisy(patients, max_linkage=None)


@pytest.mark.parametrize("mask", [name for name, mask in MASKS.items() if not mask.takes_groups])
def test_a_model_is_refused_by_its_name(patients: pl.DataFrame, mask: str) -> None:
    asked = [shoal.PersonKAnonymity(k=3), shoal.HAffiliation(h=0.9)]
    with pytest.raises(shoal.errors.ParameterError, match="person-k-anonymity, h-affiliation cannot be promised"):
        shoal.protect(patients, SCHEMA, asked, mask=mask, max_linkage=0.5)  # type: ignore[arg-type]


def test_a_quasi_identifier_that_nobody_changes_is_refused(patients: pl.DataFrame) -> None:
    with pytest.raises(shoal.errors.SchemaError, match="would publish 'zip' as it is"):
        noisy(patients, columns="age,education")


def test_no_person_ids_are_refused(patients: pl.DataFrame) -> None:
    schema = shoal.Schema(person="patient", quasi=["age"], person_ids="none", dropped=(*SCHEMA.dropped, "disease"))
    with pytest.raises(shoal.errors.SchemaError, match="could be put together again"):
        shoal.protect(patients.select("patient", "age", "disease", *SCHEMA.dropped), schema, [], mask="noise",
                      max_linkage=1.0)  # fmt: skip


def test_each_column_by_a_mask_of_its_own(patients: pl.DataFrame) -> None:
    steps = "noise:columns=age:amount=0.4; noise:kind=multiplicative:amount=0.2"
    release = noisy(patients, mask="columns", by=steps)
    told = release.to_dict()["changed"]
    assert {name: each["by"].split(":")[0] for name, each in told.items()} == dict.fromkeys(SCHEMA.quasi_names, "noise")  # type: ignore[attr-defined]
    assert "amount=0.4" in told["age"]["by"]  # type: ignore[index]
    as_masks = [shoal.masks.Noise(columns=["age"], amount=0.4), shoal.masks.Noise(kind="multiplicative", amount=0.2)]
    again = noisy(patients, mask="columns", by=as_masks)
    assert sorted(again.data["age"]) == sorted(release.data["age"])
    for wrong, words in {
        "": "needs a step",
        "range": "does not change single columns",
        "noise:amount": "without a value",
        "noise:amount=much": "amount must lie",
        "noise:loud=1": "no option 'loud'",
        "noise:columns=age; noise:columns=age,zip,education": "more than one mask",
    }.items():
        with pytest.raises(shoal.errors.ShoalError, match=words):
            noisy(patients, mask="columns", by=wrong)


def test_the_seed_governs_the_draws(patients: pl.DataFrame) -> None:
    once, again = (sorted(noisy(patients).data["age"].to_list()) for _ in range(2))
    assert once == again
    assert sorted(noisy(patients, seed=4).data["age"].to_list()) != once


def test_without_a_seed_draws_are_secret(patients: pl.DataFrame) -> None:
    from shoal.grouping.grouping import everybody
    from shoal.table.table import Table

    table = Table.from_frame(patients, SCHEMA)
    once, again = (shoal.masks.Noise().publish(table, everybody(table)).frame for _ in range(2))
    assert sorted(once["age"]) != sorted(again["age"])


def test_attacks_tell_the_risk(patients: pl.DataFrame) -> None:
    weak, strong = (noisy(patients, amount=amount, max_linkage=1.0).attack() for amount in (0.05, 3.0))
    found = [{each.name: each.success for each in told.results} for told in (weak, strong)]
    nearest = [each["distance, nearest"] for each in found]
    assert nearest[0] > 0.5 > nearest[1]


def test_every_such_mask_says_what_it_is() -> None:
    for mask in MASKS.values():
        assert mask.takes_groups == (not issubclass(mask, Changing))
        assert mask.takes_groups or not mask.shows_groups
