"""Where a missing sensitive value tells nothing, it is left out: of models, risks, guesses, attacks and words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.errors import CannotSatisfyError, SchemaError
from shoal.policy.explain import explain
from shoal.policy.policy import Policy
from shoal.policy.starter import starter_policy
from shoal.table.profile import profile

LAB = ["high", None, None, None, "low", None, None, None, "low", None, "high", None]
FRAME = pl.DataFrame({"patient": [f"p{n}" for n in range(12)], "age": [30 + n for n in range(12)], "lab": LAB})


def schema(*silent: str) -> shoal.Schema:
    return shoal.Schema(person="patient", quasi=["age"], sensitive=["lab"], missing_tells_nothing=silent)


def test_a_gap_that_tells_nothing_is_neither_limited_nor_does_it_hide_anybody() -> None:
    half = [shoal.HAffiliation(h=0.5)]
    with pytest.raises(CannotSatisfyError):
        shoal.protect(FRAME, schema(), half, seed=1)  # two thirds have no value
    release = shoal.protect(FRAME, schema("lab"), half, seed=1)
    assert release.risk.max_gsar == {"lab": 0.5}
    assert shoal.verify(release.data, schema("lab"), half).verdict.holds
    assert not shoal.verify(release.data, schema(), half).verdict.holds
    strict = [shoal.HAffiliation(h=0.4)]  # among all persons a sixth have each value; among those who have one, half
    with pytest.raises(CannotSatisfyError, match=r"reach 0\.5"):
        shoal.protect(FRAME, schema("lab"), strict, seed=1)


def test_a_group_in_which_nobody_has_a_value_holds() -> None:
    published = FRAME.with_columns(age=pl.Series(["30-33"] * 4 + ["34-41"] * 8)).with_columns(
        lab=pl.when(pl.col("age") == "30-33").then(None).otherwise(pl.col("lab"))
    )
    nominal = shoal.Schema(
        person="patient", quasi=[shoal.Nominal("age")], sensitive=["lab"], missing_tells_nothing=["lab"]
    )
    every = [shoal.HAffiliation(h=0.7), shoal.LDiversity(l=2, kind="distinct"), shoal.TCloseness(t=0),
             shoal.BetaLikeness(beta=1), shoal.DeltaDisclosure(delta=1)]  # fmt: skip
    answer = shoal.verify(published, nominal, every)
    assert answer.verdict.holds, answer.verdict


def test_guesses_leave_it_out() -> None:
    half = [shoal.HAffiliation(h=0.5)]
    release = shoal.protect(FRAME, schema("lab"), half, seed=1)
    tried = release.attack(attacks=["linkage", "skewness", "inference"]).results
    of_values = [result for result in tried if "lab" in result.name]
    assert {result.targets for result in of_values} == {4}
    assert {result.blind for result in of_values if result.name.startswith(("linkage", "inference"))} == {0.5}


def test_it_is_named_in_the_policy_the_words_and_the_codebook(tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "columns": {"person": "patient", "quasi": ["age"], "sensitive": ["lab"], "missing_tells_nothing": ["lab"]},
        "models": {"h-affiliation": 0.5},
    }
    policy = Policy.from_document(document)
    assert Policy.from_document(policy.to_document()) == policy
    assert "A missing 'lab' tells nothing" in explain(policy)
    folder = tmp_path / "out"
    shoal.protect(FRAME, policy).write(folder)
    by_codebook = CliRunner().invoke(cli, ["verify", str(folder)], prog_name="shoal")
    assert by_codebook.exit_code == 0, by_codebook.output
    assert "tells nothing here: persons without" in (folder / "steward" / "report.html").read_text(encoding="utf-8")
    assert "a missing one tells nothing" in (folder / "summary.html").read_text(encoding="utf-8")


def test_it_is_of_sensitive_columns_only() -> None:
    with pytest.raises(SchemaError, match="A missing 'age' is said to tell nothing, but 'age' is not sensitive"):
        shoal.protect(FRAME, schema("age"), [shoal.KAnonymity(k=2)])
    with pytest.raises(Exception, match="not sensitive"):
        Policy.from_document({"columns": {"quasi": ["age"], "missing_tells_nothing": ["age"]}})


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
def test_masks_that_show_values_apart_refuse_it(mask: Any) -> None:
    with pytest.raises(SchemaError, match="missing_tells_nothing"):
        shoal.protect(FRAME, schema("lab"), [shoal.HAffiliation(h=0.5)], mask=mask, method="balance-tree")


def test_a_first_look_tells_how_many_are_missing_and_never_that_they_tell_nothing() -> None:
    visits = FRAME.rename({"lab": "diagnosis"})
    seen = profile(visits)
    assert seen.h_affiliation == pytest.approx(0.75)  # two thirds have no value, and a quarter of the rest
    text = starter_policy(seen, table_name="visits")
    assert "diagnosis 66.7%" in text
    assert "missing_tells_nothing = []" in text
    told = profile(visits, missing_tells_nothing=["diagnosis"])
    assert told.h_affiliation == pytest.approx(0.63)  # a half have each value, rounded up
    assert 'missing_tells_nothing = ["diagnosis"]' in starter_policy(told, table_name="visits")
