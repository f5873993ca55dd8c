"""How risk is spread equals its definition, adds up to what the measures say, and tells no value."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Nominal, Schema
from shoal.demo.clinics import clinics, ten_records
from shoal.demo.patients import made_up_patients
from shoal.judging.observation import Observation
from shoal.measuring.spread import SIZES, UP_TO, observe_release, spread_of_risk
from tests.masking.patients import ONE_RECORD, patients
from tests.naive import spread as naive
from tests.naive.measures import gsar

SCHEMA = Schema(person="p", quasi=[Nominal("q")], sensitive=["s"])

records = st.lists(
    st.tuples(
        st.none() | st.sampled_from("abc"), st.integers(0, 9), st.none() | st.sampled_from(["flu", "ulcer", "gout"])
    ),
    min_size=1,
    max_size=50,
)


def seen_in(rows: list[tuple]) -> Observation:
    types = {"q": pl.String, "p": pl.Int64, "s": pl.String}
    return Observation.of_frame(pl.DataFrame(rows, schema=types, orient="row"), SCHEMA)


@given(records)
def test_it_is_that_of_the_definitions(rows: list[tuple]) -> None:
    spread = spread_of_risk(seen_in(rows))
    assert list(spread.persons) == naive.persons_by_risk(rows)
    assert list(spread.values["s"]) == naive.values_by_risk(rows)
    assert spread.mean_record_risk == pytest.approx(naive.mean_record_risk(rows))
    assert spread.guessed["s"] == pytest.approx(naive.guessed(rows))
    assert spread.blind["s"] == pytest.approx(naive.blind(rows))
    assert sum(size.groups for size in spread.sizes) == len({group for group, *_ in rows})
    for size in spread.sizes:
        groups = naive.groups_of_size(rows, size.at_least, size.at_most)
        assert size.groups == len(groups)
        if groups:
            assert size.max_record_risk == max(naive.highest_record_risk(rows, group) for group in groups)
            assert size.max_value_risk == max(gsar(rows, group) for group in groups)
        else:
            assert (size.max_record_risk, size.max_value_risk) == (None, None)
    worst = max(naive.highest_record_risk(rows, group) for group in {row[0] for row in rows})
    assert spread.riskiest[0].record_risk == worst


@given(records, st.randoms(use_true_random=False))
def test_the_order_of_the_records_changes_nothing(rows: list[tuple], chance: object) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = spread_of_risk(seen_in(rows)), spread_of_risk(seen_in(shuffled))
    assert (first.persons, first.values, first.sizes) == (second.persons, second.values, second.sizes)
    assert first.riskiest == second.riskiest


def test_ends_belong_to_the_class_below_them() -> None:
    """A person with 1 of 10 records has a risk of 10 %, which is not above 10 %."""
    rows = [("a", person, "flu") for person in range(10)]
    assert spread_of_risk(seen_in(rows)).persons[UP_TO.index(0.1)] == 10
    rows = [("a", person, "flu") for person in range(3)]
    assert spread_of_risk(seen_in(rows)).persons[UP_TO.index(1 / 3)] == 3
    assert spread_of_risk(seen_in([("a", 1, "flu")])).persons[-1] == 1
    two_of_three = [("a", 1, "x"), ("a", 1, "y"), ("a", 2, "x")]
    assert spread_of_risk(seen_in(two_of_three)).persons == (0, 0, 0, 0, 0, 1, 0, 1, 0)


def test_the_paper_s_problem_can_be_seen() -> None:
    """Five persons at 20 %, and one whose five records stand alone."""
    schema = Schema(person="person", quasi=["age", "zip"], sensitive=["disease"])
    spread = spread_of_risk(Observation.of_frame(ten_records(), schema))
    assert spread.persons[UP_TO.index(0.2)] == 5
    assert spread.persons[-1] == 1
    assert spread.riskiest[0].persons == 1


@pytest.mark.parametrize("mask", ["range", "mean", "suppress"])
def test_groups_that_show_the_same_are_one(mask: str) -> None:
    frame = pl.DataFrame({"p": range(12), "q": [1, 2, 1, 2, 1, 2, 7, 8, 7, 8, 7, 8], "s": list("aabbccaabbcc")})
    schema = Schema(person="p", quasi=["q"], sensitive=["s"])
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)], mask=mask, seed=1)
    seen = observe_release(release)
    published = Observation.of_frame(release.published.frame, schema)
    assert seen.n_groups == published.n_groups == release.risk.groups
    assert asdict(spread_of_risk(seen)) == asdict(spread_of_risk(published))


MASKS = [
    ("range", {}), ("mean", {}), ("suppress", {}), ("perturb", {"method": "mdav"}), ("anatomize", {}),
    ("anatomize", {"quasi_as": "range"}), ("permute", {}), ("permute", {"quasi_as": "range"}),
]  # fmt: skip


@pytest.mark.parametrize(("mask", "options"), MASKS)
def test_it_adds_up_to_the_measures_of_the_release(mask: str, options: dict[str, str]) -> None:
    release = shoal.protect(
        patients(), ONE_RECORD, [shoal.PersonKAnonymity(k=4), shoal.HAffiliation(h=0.9)], mask=mask, seed=2, **options
    )  # type: ignore[arg-type]
    spread = spread_of_risk(observe_release(release))
    assert sum(spread.persons) == release.risk.persons
    assert spread.riskiest[0].record_risk == release.risk.max_gidr
    highest = {name: max(size.max_value_risk or 0 for size in spread.sizes) for name in release.risk.max_gsar}
    assert max(highest.values()) == release.risk.h_affiliation
    for name, counted in spread.values.items():
        last = max(number for number, n in enumerate(counted) if n)
        lows, ends = (0.0, *UP_TO), (*UP_TO, 1.0)
        assert lows[last] <= release.risk.max_gsar[name] <= ends[last]
    fewest = min(size.at_least for size in spread.sizes if size.groups)
    assert fewest <= release.risk.person_k
    assert max(number for number in SIZES if number <= release.risk.person_k) == fewest


def test_the_table_as_it_was_is_spread_too() -> None:
    frame = made_up_patients(300, seed=4)
    schema = Schema(person="patient", quasi=["age", "gender", "zip"], sensitive=["disease"],
                    dropped=["visit_date", "education", "treatment"])  # fmt: skip
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], seed=1)
    assert release.spread_before is not None
    assert release.before is not None
    assert sum(release.spread_before.persons) == 300
    assert release.spread_before.sizes[0].max_record_risk == release.before.max_gidr == 1.0
    assert shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], measure_input=False).spread_before is None


def test_without_sensitive_attributes_there_are_no_values() -> None:
    schema = Schema(person="name", quasi=["age", "zip"], dropped=["admission", "gender", "disease"])
    spread = spread_of_risk(Observation.of_frame(clinics(), schema))
    assert spread.values == spread.guessed == spread.blind == {}
    assert all(size.max_value_risk is None for size in spread.sizes)
    assert spread.riskiest[0].value_risk == {}
    assert math.isclose(sum(spread.persons), 8)


def test_it_holds_numbers_only() -> None:
    """Nothing in it is a value of the table: only counts, shares, and names of attributes."""
    told = asdict(spread_of_risk(Observation.of_frame(clinics(), Schema(
        person="name", quasi=["age", "zip"], sensitive=["disease"], dropped=["admission", "gender"]
    ))))  # fmt: skip

    def leaves(value: object) -> list[object]:
        if isinstance(value, dict):
            return [leaf for each in value.values() for leaf in leaves(each)]
        return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list | tuple) else [value]

    assert all(leaf is None or isinstance(leaf, int | float | np.number) for leaf in leaves(told))


def test_classes_of_sizes_and_risks_have_round_ends() -> None:
    assert SIZES == (1, 2, 3, 5, 10, 20, 50, 100)
    assert UP_TO == (0.01, 0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0)
