"""A release without person ids: nobody sees which records belong together, and the promises are still checked."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.attacking.mining import Item, Rule, Rules
from shoal.errors import ParameterError, SchemaError
from shoal.policy import Policy
from shoal.publishing.read import read_published
from shoal.reading import CsvOptions
from shoal.table.own_columns import GROUP, MEMBER

MODELS = [shoal.RecordRisk(rho="0.5"), shoal.KAnonymity(k=2), shoal.HAffiliation(h="0.75")]


def schema(**others: object) -> shoal.Schema:
    return shoal.Schema(
        person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"],
        person_ids="none", **others,
    )  # fmt: skip


@pytest.fixture(params=["range", "mean", "suppress"])
def release(request: pytest.FixtureRequest, clinics: pl.DataFrame) -> shoal.publishing.release.Release:
    return shoal.protect(clinics, schema(), MODELS, mask=request.param, seed=1)


def test_persons_are_not_published_and_models_of_persons_are_checked_from_what_the_steward_keeps(
    release: shoal.publishing.release.Release,
) -> None:
    assert release.data.columns == ["age", "gender", "zip", "disease"]
    checked = {model.name: model.checked_from for model in release.verdict.models}
    assert checked == {"record-risk": "steward", "k-anonymity": "published table", "h-affiliation": "steward"}
    assert release.verdict.holds
    assert any("not linked to persons" in note for note in release.verdict.notes)


def test_the_risk_is_that_of_the_real_persons(release: shoal.publishing.release.Release) -> None:
    kept = release.published.linked
    assert kept is not None
    labels = release.published.frame.select(pl.col("age", "gender", "zip").cast(pl.String)).rows()
    numbers = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    groups = [[] for _ in numbers]
    for label, member in zip(labels, kept[MEMBER].to_list(), strict=True):
        groups[numbers[label]].append(member)
    assert release.risk.max_gidr == max(max(map(group.count, group)) / len(group) for group in groups)
    assert release.risk.persons == 8


def test_verify_needs_what_the_steward_keeps(release: shoal.publishing.release.Release) -> None:
    frame, kept = release.published.frame, release.published.linked
    whole = shoal.verify(frame, schema(), MODELS, linked=kept)
    assert whole.holds
    assert whole.risk.max_gidr == release.risk.max_gidr
    alone = shoal.verify(frame, schema(), MODELS)
    assert not alone.holds
    assert {model.name: model.holds for model in alone.verdict.models} == {
        "record-risk": False, "k-anonymity": True, "h-affiliation": False,
    }  # fmt: skip
    assert alone.risk.max_gidr == 1.0


def test_what_the_steward_keeps_of_another_release_is_not_believed(
    release: shoal.publishing.release.Release, clinics: pl.DataFrame
) -> None:
    frame, kept = release.published.frame, release.published.linked
    assert kept is not None
    shuffled = shoal.verify(frame, schema(), MODELS, linked=kept.reverse())
    assert not shuffled.holds
    shorter = shoal.verify(frame, schema(), MODELS, linked=kept.head(5))
    assert not shorter.holds
    assert "other records" in shorter.problems[0]
    spread = kept.with_columns((pl.int_range(pl.len()) % 3).alias(MEMBER))
    assert any("more than one group" in said for said in shoal.verify(frame, schema(), MODELS, linked=spread).problems)


def test_ids_that_are_published_all_the_same_are_a_problem(release: shoal.publishing.release.Release) -> None:
    frame = release.published.frame.with_columns(name=pl.lit("P0000001"))
    found = shoal.verify(frame, schema(), MODELS, linked=release.published.linked)
    assert not found.holds
    assert any("publishes no person ids" in said for said in found.problems)


def test_a_folder_verifies_and_its_policy_says_it(clinics: pl.DataFrame, tmp_path: Path) -> None:
    release = shoal.protect(clinics, schema(), MODELS, seed=1)
    folder = release.write(tmp_path / "out", format="csv")
    policy = Policy.load(folder / "steward" / "policy.toml")
    assert policy.columns.person_ids == "none"
    assert "name" not in (folder / "release.csv").read_text().splitlines()[0]
    published = read_published(folder / "release.csv", csv=CsvOptions())
    verified = shoal.verify(published.frame, policy.schema_of_release(), policy.models, linked=published.linked)
    assert verified.holds
    exposed = shoal.attacking.attack_by_exclusion(published.frame, policy.schema_of_release(), linked=published.linked)
    assert exposed[0].groups == 3
    with pytest.raises(SchemaError, match=r"steward/linked\.parquet"):
        shoal.attacking.attack_by_exclusion(published.frame, policy.schema_of_release())
    with pytest.raises(ParameterError, match="no pseudonyms"):
        release.write(tmp_path / "map", keep_person_map=True)


def test_rules_are_reckoned_with(clinics: pl.DataFrame) -> None:
    rules = Rules([Rule((Item("gender", "Male"),), Item("disease", "Flu"))])
    model = shoal.MatchingDiversity(l=2, rules=rules)
    release = shoal.protect(clinics, schema(), [model], seed=1)
    assert release.verdict.models[0].checked_from == "steward"
    published = release.published
    found = shoal.verify(published.frame, schema(), [model], linked=published.linked, excluded=published.excluded)
    assert found.holds
    (known,) = shoal.attacking.attack_background(published.frame, schema(), l=2, linked=published.linked)
    assert known.vulnerable_by_matching == 0


def test_what_would_put_records_together_again_is_refused(clinics: pl.DataFrame) -> None:
    with pytest.raises(SchemaError, match="same noise"):
        shoal.protect(clinics, schema(), MODELS, mask="perturb", seed=1)
    with pytest.raises(SchemaError, match="followed over time"):
        shoal.Schema(person="name", quasi=["age"], time="admission", person_ids="none")
    with pytest.raises(SchemaError, match="none is named"):
        shoal.Schema(quasi=["age"], person_ids="none")
    with pytest.raises(SchemaError, match="person_ids must be"):
        shoal.Schema(person="name", quasi=["age"], person_ids="real")


def test_one_record_a_person_cannot_be_seen_without_ids() -> None:
    frame = pl.DataFrame({"name": list("abcdef"), "age": [20, 21, 22, 40, 41, 42], "disease": ["flu", "cold"] * 3})
    given = shoal.Schema(person="name", quasi=["age"], sensitive=["disease"], person_ids="none")
    with pytest.raises(SchemaError, match="permute"):
        shoal.protect(frame, given, [shoal.LDiversity(l=2)], mask="permute", seed=1)
    forged = frame.drop("name").with_columns(pl.lit(1).alias(GROUP))
    found = shoal.verify(forged, given, [shoal.LDiversity(l=2)], mask="permute")
    assert not found.holds
    assert "person ids" in found.problems[0]


def test_anatomized_tables_have_no_ids_anyway(clinics: pl.DataFrame) -> None:
    release = shoal.protect(clinics, schema(), [shoal.PersonKAnonymity(k=2)], mask="anatomize", seed=1)
    assert "name" not in release.data.columns
    assert release.verdict.holds


def test_the_steward_keeps_no_ids(release: shoal.publishing.release.Release, clinics: pl.DataFrame) -> None:
    kept = release.published.linked
    assert kept is not None
    assert set(kept.columns) == {GROUP, MEMBER, "disease"}
    assert not set(map(str, kept[MEMBER].to_list())) & set(clinics["name"].to_list())
