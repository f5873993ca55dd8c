"""Values published apart are believed where somebody says that they are, and never by the name of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.attacking.mining import Rules
from shoal.engines.stream import verify_file
from shoal.errors import ParameterError, SchemaError
from shoal.publishing.related import Star, StarTable, verify_star

RAW = pl.DataFrame(
    {
        "patient": ["Ada", "Ben", "Cleo", "Dan"], "age": [31, 45, 52, 67], "zip": [10115, 20095, 50667, 80331],
        "disease": ["flu", "gout", "asthma", "ulcer"], "group": [1, 1, 1, 1],
    }
)  # fmt: skip
SCHEMA = shoal.Schema(person="patient", quasi=["age", "zip"], sensitive=["disease"])
SIZES: list[Any] = [shoal.PersonKAnonymity(k=4), shoal.HAffiliation(h=0.25)]
SPREAD: list[Any] = [shoal.RecordRisk(rho=0.25), shoal.GBalance(g=0.75), shoal.EntropyBalance(k=4)]
NO_ROLE = "'group' is published, but the policy gives it no role."
TABLES = {"disease": RAW.select("group", "disease").with_columns(count=pl.lit(1))}


def test_a_column_called_group_is_a_column_like_any_other() -> None:
    answer = shoal.verify(RAW, SCHEMA, [*SIZES, *SPREAD])
    assert not answer
    assert answer.problems == (NO_ROLE,)
    assert not any(answer.verdict.models)
    assert (answer.person_k, answer.max_gidr) == (1, 1.0)
    named = shoal.verify(RAW.rename({"group": "ward"}), SCHEMA, [*SIZES, *SPREAD])
    assert [model.reached for model in named.verdict.models] == [model.reached for model in answer.verdict.models]
    for mask in ("range", "mean", "suppress", "perturb", "custom"):
        assert NO_ROLE in shoal.verify(RAW, SCHEMA, SIZES, mask=mask).problems


def test_a_problem_also_where_the_groups_are_safe() -> None:
    safe = RAW.with_columns(age=pl.lit("31-67"), zip=pl.lit("*"))
    assert shoal.verify(safe.drop("group"), SCHEMA, [*SIZES, *SPREAD])
    answer = shoal.verify(safe, SCHEMA, [*SIZES, *SPREAD])
    assert (bool(answer), answer.problems) == (False, (NO_ROLE,))


def test_two_risks_side_by_side_say_which_adversary_each_means() -> None:
    answer = shoal.verify(RAW, SCHEMA, SIZES, mask="permute").to_dict()
    assert (answer["max_gidr"], answer["prosecutor_risk"]) == (0.25, 1.0)
    told = " ".join(answer["verdict"]["notes"])  # type: ignore[index]
    assert "(max_gidr, avg_gidr) and g-balance tell of an adversary who knows a person's group and nothing else" in told
    assert "unique_persons) tell of one who knows the exact quasi-identifiers" in told


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
def test_models_of_the_spread_never_hold_where_quasi_identifiers_single_out(mask: str) -> None:
    frame = RAW if mask == "permute" else RAW.select("age", "zip", "group")
    tables = TABLES if mask == "anatomize" else {}
    linked = RAW.select("group", "disease", member="patient")
    for kept in (None, linked):
        answer = shoal.verify(frame, SCHEMA, [*SIZES, *SPREAD], mask=mask, tables=tables, linked=kept)
        assert [model.holds for model in answer.verdict.models] == [True, True, False, False, False]
        assert answer.problems == (
            "record-risk, g-balance, entropy-balance cannot hold: quasi-identifiers differ inside groups and single "
            "out 4 of 4 persons, whom a group then does not hide.",
        )
    assert shoal.verify(frame, SCHEMA, SIZES, mask=mask, tables=tables)
    masked = frame.with_columns(age=pl.lit("31-67"), zip=pl.lit("*"))
    assert shoal.verify(masked, SCHEMA, [*SIZES, *SPREAD], mask=mask, tables=tables)


def test_sensitive_tables_are_what_somebody_says_too() -> None:
    quasi = RAW.select("age", "zip", "group")
    assert not shoal.verify(quasi, SCHEMA, [*SIZES, *SPREAD], tables=TABLES)
    assert shoal.verify(quasi, SCHEMA, SIZES, tables=TABLES)
    with pytest.raises(SchemaError, match="lacks 2 of the schema's columns: disease, patient"):
        shoal.verify(quasi, SCHEMA, SIZES, mask="range", tables=TABLES)
    answer = shoal.verify(RAW, SCHEMA, SIZES, mask="permute", tables=TABLES)
    assert answer.problems == ("A table of 'disease' is published, which the mask permute does not make.",)


def test_an_anatomized_release_needs_its_tables_and_its_groups() -> None:
    with pytest.raises(SchemaError, match="lacks the sensitive table of: disease"):
        shoal.verify(RAW, SCHEMA, SIZES, mask="anatomize")
    with pytest.raises(SchemaError, match="lacks the column 'group'"):
        shoal.verify(RAW.drop("group"), SCHEMA, SIZES, mask="permute")
    with pytest.raises(SchemaError, match="'group' of its own"):
        shoal.verify(RAW, shoal.Schema(person="patient", quasi=["age", "zip"], sensitive=["disease"], kept=["group"]),
                     SIZES, mask="permute")  # fmt: skip
    with pytest.raises(ParameterError, match="no mask 'permuted'"):
        shoal.verify(RAW, SCHEMA, SIZES, mask="permuted")


def test_what_the_steward_keeps_of_groups_is_not_taken_for_a_table_in_ranges() -> None:
    linked = RAW.select("group", "disease", member="patient")
    assert not shoal.verify(RAW.drop("group"), SCHEMA, SIZES, mask="range", linked=linked)


def test_no_attack_takes_a_column_for_groups() -> None:
    exposed = shoal.attacking.attack_by_exclusion(RAW, SCHEMA, exclude=0)[0]
    assert exposed.exposed_persons == 4
    with pytest.raises(SchemaError, match="say the mask"):
        shoal.attacking.attack_background(RAW, SCHEMA, Rules())
    (known,) = shoal.attacking.attack_background(RAW, SCHEMA, Rules(), mask="permute")
    assert known.vulnerable_by_matching == 0


def test_files_larger_than_memory_and_related_tables(tmp_path: Path) -> None:
    frame = RAW.with_columns(patient=pl.Series([f"person{n:02d}" for n in range(4)]), age=pl.lit("31-67"))
    frame = frame.with_columns(zip=pl.lit("*"))
    frame.write_parquet(tmp_path / "release.parquet")
    answer = verify_file(tmp_path / "release.parquet", SCHEMA, SIZES)
    assert (bool(answer), answer.problems) == (False, (NO_ROLE,))
    with pytest.raises(SchemaError, match="in memory"):
        verify_file(tmp_path / "release.parquet", SCHEMA, SIZES, mask="permute")
    visits = RAW.select("patient", "disease", "group")
    star = Star({"people": StarTable(key="patient"), "visit": StarTable(links={"patient": "people"})})
    found = verify_star({"people": frame.select("patient", "age", "zip"), "visit": visits}, star, SCHEMA, SIZES)
    assert not found
