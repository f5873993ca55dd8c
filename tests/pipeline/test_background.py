"""Protecting a table against somebody who knows rules: mined, stated, brought; what is kept; what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.attacking.mining import Item, Knowledge, Rule, Rules
from shoal.attacking.mining.knowledge import knowledge_rules
from shoal.errors import CannotSatisfyError, ParameterError, PolicyError, SchemaError
from shoal.publishing.manifest import check_manifest
from shoal.publishing.read import read_published
from shoal.reading import CsvOptions

SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["disease"])


def patients(n: int = 120, seed: int = 5) -> pl.DataFrame:
    """Men have no ovarian cancer, women no prostate cancer, and nobody below 30 has gout."""
    chance = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        age, sex = int(chance.integers(20, 60)), str(chance.choice(["m", "f"]))
        values = ["flu", "cold", "asthma", "ovary" if sex == "f" else "prostate", *(["gout"] if age >= 30 else [])]
        rows.append((age, sex, str(chance.choice(values))))
    return pl.DataFrame(rows, schema=["age", "sex", "disease"], orient="row")


def rule(when: dict[str, str], value: str) -> Rule:
    return Rule(
        tuple(Item(*item) for item in when.items()),
        Item("disease", value),
    )


MEN, WOMEN = rule({"sex": "m"}, "ovary"), rule({"sex": "f"}, "prostate")


def test_rules_are_mined_from_the_table_that_is_protected() -> None:
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=3)], mask="anatomize")
    assert release.rules == knowledge_rules(patients(), SCHEMA)
    assert {MEN.claim, WOMEN.claim} <= {one.claim for one in release.rules or ()}
    (model,) = release.models
    assert model.rules == release.rules  # type: ignore[attr-defined]
    assert release.to_dict()["rules"] == {"mined": len(release.rules or ()), "stated": 0}
    assert any("rules about sensitive values" in note for note in release.notes)


def test_the_model_says_how_they_are_mined_and_else_the_adversary() -> None:
    asked = {"l": 2, "min_expectation": "0.999"}
    knowledge = Knowledge(min_expectation=Fraction(1, 2), max_len=2, facts=(MEN,))
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(**asked)], knowledge=knowledge)
    expected = replace(knowledge, min_expectation=Fraction("0.999"))
    assert release.rules == knowledge_rules(patients(), SCHEMA, expected)
    assert release.to_dict()["rules"]["stated"] == 1  # type: ignore[index]


def test_models_of_one_run_reckon_with_one_adversary() -> None:
    one, other = Rules((MEN,)), Rules((WOMEN,))
    two = [shoal.MatchingDiversity(l=2, rules=one), shoal.MatchingDiversity(l=3, rules=other)]
    with pytest.raises(ParameterError, match="one adversary"):
        shoal.protect(patients(), SCHEMA, two)
    with pytest.raises(ParameterError, match="one adversary"):
        shoal.protect(patients(), SCHEMA, [two[0], shoal.MatchingDiversity(l=2)])
    with pytest.raises(ParameterError, match="max_len"):
        shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=2, max_len=n) for n in (1, 2)])
    with pytest.raises(ParameterError, match="Put them together"):
        shoal.protect(patients(), SCHEMA, two[:1], knowledge=Knowledge(facts=(WOMEN,)))
    shoal.protect(patients(), SCHEMA, [two[0], replace(two[1], rules=one, column="disease")])


def test_rules_that_the_data_break_are_refused_with_counts_and_without_values() -> None:
    wrong = Rules((rule({"sex": "m"}, "flu"), MEN))
    n_wrong = patients().filter(sex="m", disease="flu").height
    with pytest.raises(ParameterError, match=rf"{n_wrong} of 120 persons .* 'disease'") as refusal:
        shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=2, rules=wrong)])
    assert "flu" not in str(refusal.value)
    with pytest.raises(PolicyError, match=f"{n_wrong} of the"):
        shoal.protect(
            patients(),
            SCHEMA,
            [shoal.MatchingDiversity(l=2)],
            knowledge=Knowledge(facts=(wrong[0],)),
        )


def test_persons_with_too_few_values_are_counted_with_the_rules_that_exclude_the_others() -> None:
    known = Rules((MEN, rule({"sex": "m"}, "prostate"), WOMEN, rule({"age": "20-29"}, "gout")))
    frame = patients().filter((pl.col("sex") == "f") | (pl.col("disease") != "prostate"))
    n_young_men = frame.filter((pl.col("age") < 30) & (pl.col("sex") == "m")).height
    with pytest.raises(CannotSatisfyError) as refusal:
        shoal.protect(frame, SCHEMA, [shoal.MatchingDiversity(l=4, rules=known)])
    told = str(refusal.value)
    assert f"of {len(frame)} persons can have fewer than 4 of its 5 values" in told
    assert "the fewest 3" in told
    assert "at most 3" in told
    for advice in ("strike", "min-expectation", "max-len", "max_suppressed"):
        assert advice in told
    assert not any(value in told for value in ("gout", "ovary", "prostate"))
    assert f"{n_young_men} of {len(frame)} persons" in told
    assert "3 of 4 rules" in told


def test_the_rules_that_exclude_are_named_by_their_place() -> None:
    frame = pl.DataFrame(
        {"age": [30, 31, 40, 41], "sex": ["m", "m", "f", "f"], "disease": ["flu", "flu", "cold", "gout"]}
    )
    known = Rules((rule({"sex": "f"}, "flu"), rule({"sex": "m"}, "cold"), rule({"age": "30-31", "sex": "m"}, "gout")))
    with pytest.raises(CannotSatisfyError, match=r"2 of 3 rules, about 'sex', 'age': numbers 2, 3\.") as refusal:
        shoal.protect(frame, SCHEMA, [shoal.MatchingDiversity(l=2, rules=known)])
    assert "2 of 4 persons" in str(refusal.value)
    assert "Ask for at most" not in str(refusal.value), "l = 1 promises nothing"
    with pytest.raises(CannotSatisfyError, match="3 values only"):
        shoal.protect(frame, SCHEMA, [shoal.MatchingDiversity(l=5, rules=known)])


def test_a_whole_table_that_leaves_too_few_by_matching_is_refused() -> None:
    """One woman among men: she may have every value by herself, and yet only one is left for her."""
    frame = pl.DataFrame({"age": [30, 31, 32], "sex": ["f", "m", "m"], "disease": ["ovary", "flu", "cold"]})
    with pytest.raises(CannotSatisfyError, match=r"leave 1 persons fewer than 2 values, the fewest 1, once the rules"):
        shoal.protect(frame, SCHEMA, [shoal.MatchingDiversity(l=2, rules=Rules((MEN,)))])


def test_persons_with_too_few_values_can_be_left_out() -> None:
    frame = pl.concat(
        [patients(), pl.DataFrame({"age": [70], "sex": ["f"], "disease": ["ovary"]})], how="vertical_relaxed"
    )
    alone = [rule({"age": "70"}, value) for value in ("flu", "cold", "asthma", "gout", "prostate")]
    known = Rules((MEN, WOMEN, *alone))
    models = [shoal.MatchingDiversity(l=3, rules=known)]
    with pytest.raises(CannotSatisfyError, match="1 of 121 persons"):
        shoal.protect(frame, SCHEMA, models)
    release = shoal.protect(frame, SCHEMA, models, max_suppressed=3)
    assert release.table.suppressed_persons == 1
    assert release.verdict.holds


def test_other_models_are_asked_beside_it() -> None:
    models = [shoal.MatchingDiversity(l=3), shoal.PersonKAnonymity(k=5), shoal.HAffiliation(h=0.6)]
    release = shoal.protect(patients(), SCHEMA, models, mask="range")
    assert release.verdict.holds
    assert [model.checked_from for model in release.verdict.models] == [
        "steward", "published table", "published table"
    ]  # fmt: skip


def test_assess_mines_the_rules_too() -> None:
    assessment = shoal.assess(patients(), SCHEMA, [shoal.MatchingDiversity(l=2)])
    assert not assessment.holds
    (model,) = assessment.verdict.models
    assert (model.checked_from, model.reached) == ("table", 1)


# What is kept, and what verify makes of it


def kept_of(release: shoal.Release) -> dict[str, Any]:
    published = release.published
    kept = {"tables": published.tables, "linked": published.linked, "excluded": published.excluded}
    return {"mask": release.mask.name, **kept}


@pytest.mark.parametrize(
    ("mask", "options"),
    [("anatomize", {}), ("permute", {}), ("anatomize", {"quasi_as": "range"}), ("range", {}), ("perturb", {})],
)
def test_other_rules_than_those_of_the_release_are_not_answered_from_the_steward(
    mask: str, options: dict[str, str]
) -> None:
    """What the steward keeps is what the release's own rules exclude: with another fact more may be excluded."""
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=3)], mask=mask, **options)
    more = Rules((*(release.rules or ()), rule({"age": "20-29"}, "flu"), rule({"age": "20-29"}, "cold")))
    answer = shoal.verify(release.data, SCHEMA, [shoal.MatchingDiversity(l=3, rules=more)], **kept_of(release))
    assert not answer.holds
    fewer = Rules((release.rules or ())[:1])
    answer = shoal.verify(release.data, SCHEMA, [shoal.MatchingDiversity(l=3, rules=fewer)], **kept_of(release))
    assert answer.holds == (mask in ("anatomize", "permute") and not options)
    same = Rules(tuple(reversed(release.rules or ())))
    answer = shoal.verify(release.data, SCHEMA, [shoal.MatchingDiversity(l=3, rules=same)], **kept_of(release))
    assert answer.holds


@pytest.mark.parametrize(("mask", "options"), [("range", {}), ("anatomize", {"quasi_as": "range"}), ("perturb", {})])
def test_where_quasi_identifiers_are_masked_the_published_tables_alone_do_not_tell(
    mask: str, options: dict[str, str]
) -> None:
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=3)], mask=mask, **options)
    assert release.verdict.models[0].checked_from == "steward"
    answer = shoal.verify(release.data, SCHEMA, release.models, mask=mask, tables=release.published.tables)
    assert not answer.holds
    assert answer.verdict.models[0].checked_from == "not shown by the published table"
    assert any("could not be checked" in problem for problem in answer.problems)


def test_masked_quasi_identifiers_are_never_taken_for_real_ones() -> None:
    """A column of ranges and a column of categories that a group shares: rules that name neither would let all pass."""
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=3)], mask="permute")
    coarse = release.data.with_columns(pl.col("age").cast(pl.String).str.slice(0, 1) + "0-" + pl.lit("99"))
    answer = shoal.verify(coarse, SCHEMA, release.models, mask="permute")
    assert not answer.holds
    starred = release.data.with_columns(sex=pl.lit("*"))
    answer = shoal.verify(starred, SCHEMA, release.models, mask="permute")
    assert not answer.holds
    assert any("nobody" in problem for problem in answer.problems)


def test_what_the_steward_keeps_must_be_of_the_release() -> None:
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=3)], mask="range")
    excluded = release.published.excluded
    assert excluded is not None
    short = shoal.verify(release.data, SCHEMA, release.models, excluded=excluded.head(5))
    assert not short.holds
    assert any("another release" in problem for problem in short.problems)
    bare = shoal.verify(release.data, SCHEMA, release.models, excluded=excluded.select("by rules"))
    assert not bare.holds
    strange = excluded.with_columns(pl.lit('["plague"]').alias("never disease"))
    assert not shoal.verify(release.data, SCHEMA, release.models, excluded=strange).holds
    broken = excluded.with_columns(pl.lit("plague").alias("never disease"))
    assert not shoal.verify(release.data, SCHEMA, release.models, excluded=broken).holds
    assert shoal.verify(release.data, SCHEMA, release.models, excluded=excluded).holds


def test_what_is_excluded_is_said_once_of_a_person() -> None:
    frame = patients().with_columns(person=pl.Series([f"p{n // 2}" for n in range(120)]))
    schema = replace(SCHEMA, person="person")
    release = shoal.protect(frame, schema, [shoal.MatchingDiversity(l=2, rules=Rules())], mask="range")
    excluded = release.published.excluded
    assert excluded is not None
    assert shoal.verify(release.data, schema, release.models, excluded=excluded).holds
    different = pl.Series("never disease", ['["flu"]', *["[]"] * 119])
    answer = shoal.verify(release.data, schema, release.models, excluded=excluded.with_columns(different))
    assert not answer.holds
    assert any("different things of one person" in problem for problem in answer.problems)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("mask", ["anatomize", "range"])
def test_a_release_folder_keeps_the_rules(tmp_path: Path, mask: str, format: str) -> None:
    release = shoal.protect(patients(), SCHEMA, [shoal.MatchingDiversity(l=3)], mask=mask)
    folder = release.write(tmp_path / "out", format=format)
    assert (
        json.loads((folder / "steward/rules.json").read_text(encoding="utf-8")) == (release.rules or Rules()).to_dict()
    )
    listed = {entry["path"] for entry in json.loads((folder / "steward/manifest.json").read_bytes())["files"]}
    assert "steward/rules.json" in listed
    assert ("steward/excluded.parquet" in listed) == (mask == "range")
    assert not check_manifest(folder)
    read = read_published(folder / f"release.{format}", csv=CsvOptions())
    assert read.rules == release.rules
    models = [shoal.MatchingDiversity(l=3, rules=read.rules)]
    kept: dict[str, Any] = {"tables": read.tables, "linked": read.linked, "excluded": read.excluded}
    assert shoal.verify(read.frame, SCHEMA, models, **kept).holds
    policy = (folder / "steward/policy.toml").read_text(encoding="utf-8")
    assert "matching-diversity = 3" in policy
    assert "ovary" not in policy, "rules are kept apart"
    release.write(folder, format=format, overwrite=True)  # files that shoal knows as its own


@pytest.mark.parametrize("values", [pl.Series([1.5, 2.0, 3.0]), pl.Series([1, 2, 3]), pl.Series([True, False, None])])
def test_values_that_a_csv_file_writes_in_another_way_are_known_again(tmp_path: Path, values: pl.Series) -> None:
    chance = np.random.default_rng(1)
    sex = chance.choice(["m", "f"], 200)
    code = np.where(sex == "m", chance.integers(0, 2, 200), chance.integers(0, 3, 200))
    frame = pl.DataFrame({"age": chance.integers(20, 60, 200), "sex": sex, "disease": values.gather(code)})
    models = [shoal.MatchingDiversity(l=2, min_expectation="0.9999")]
    release = shoal.protect(frame, SCHEMA, models, mask="anatomize")
    assert any(one.never.node in ("3", "missing") for one in release.rules or ())
    folder = release.write(tmp_path / "out")
    read = read_published(folder / "release.csv", csv=CsvOptions())
    assert read.frame.schema["age"] == pl.String, "as texts"
    bound = [shoal.MatchingDiversity(l=2, rules=read.rules)]
    answer = shoal.verify(read.frame, SCHEMA, bound, tables=read.tables)
    assert answer.verdict.models[0].checked_from == "published table"
    assert answer.holds
    assert answer.verdict.models == release.verdict.models
    tight = [shoal.MatchingDiversity(l=3, rules=read.rules)]
    assert not shoal.verify(read.frame, SCHEMA, tight, tables=read.tables).holds
    wide = shoal.protect(frame, SCHEMA, models, mask="range").write(tmp_path / "wide")
    read = read_published(wide / "release.csv", csv=CsvOptions())
    assert shoal.verify(
        read.frame, SCHEMA, [shoal.MatchingDiversity(l=2, rules=read.rules)], excluded=read.excluded
    ).holds


def test_hierarchies_are_needed_where_rules_name_their_nodes() -> None:
    hierarchy = shoal.Hierarchy.from_rows(
        [["m", "adult", "*"], ["f", "adult", "*"], ["boy", "child", "*"], ["girl", "child", "*"]]
    )
    chance = np.random.default_rng(3)
    sex = chance.choice(["m", "f", "boy", "girl"], 120)
    is_child = np.isin(sex, ["boy", "girl"])
    disease = np.where(
        is_child, chance.choice(["flu", "cold", "asthma"], 120), chance.choice(["flu", "cold", "gout"], 120)
    )
    frame = pl.DataFrame({"age": np.arange(120) % 50, "sex": sex, "disease": disease})
    schema = shoal.Schema(quasi=["age", shoal.Nominal("sex", hierarchy)], sensitive=["disease"])
    release = shoal.protect(frame, schema, [shoal.MatchingDiversity(l=2)], mask="permute")
    assert {"adult", "child"} & {item.node for one in release.rules or () for item in one.when}
    assert release.verdict.models[0].checked_from == "published table"
    bare = shoal.verify(release.data, SCHEMA, release.models, mask="permute")
    assert not bare.holds, "without the hierarchy nobody would be an adult, and nothing excluded"
    assert any("hierarchy is absent" in problem for problem in bare.problems)
    kept = release.published.linked
    assert shoal.verify(release.data, SCHEMA, release.models, mask="permute", linked=kept).holds


def test_columns_that_the_steward_keeps_are_not_to_be_called_as_yours() -> None:
    frame = patients().with_columns(pl.col("disease").alias("never disease"))
    schema = replace(SCHEMA, sensitive=["disease", "never disease"])
    with pytest.raises(SchemaError, match="give your sensitive"):
        shoal.protect(frame, schema, [shoal.MatchingDiversity(l=2)])
    shoal.protect(frame, schema, [shoal.KAnonymity(k=2)])


def test_several_records_a_person_are_checked_from_the_steward() -> None:
    chance = np.random.default_rng(2)
    frame = patients(240).with_columns(person=pl.Series(chance.integers(0, 90, 240)).cast(pl.String))
    schema = replace(SCHEMA, person="person")
    release = shoal.protect(frame, schema, [shoal.MatchingDiversity(l=2)], mask="anatomize")
    assert release.verdict.models[0].checked_from == "steward"
    alone = shoal.verify(release.data, schema, release.models, tables=release.published.tables)
    assert not alone.holds
    assert any("several records" in problem for problem in alone.problems)
    assert shoal.verify(
        release.data, schema, release.models, tables=release.published.tables, linked=release.published.linked
    ).holds


def test_tuning_and_comparing_reckon_with_rules_too() -> None:
    models = [shoal.MatchingDiversity(l=2)]
    found = shoal.tune(patients(), SCHEMA, models, targets={"max_gidr": 0.2}, points=4, seed=1)
    assert found.release is not None
    assert {model.name for model in found.release.verdict.models} >= {"matching-diversity"}
    assert found.release.verdict.holds
    bounds = shoal.measuring.tuning.parse_targets({"max_gidr": 0.2})
    rows = shoal.compare(patients(), SCHEMA, models, methods=["balance-tree"], at=bounds, by=["record-risk"]).rows
    assert rows[0].point is not None
