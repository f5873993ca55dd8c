"""Hierarchies by what values go along with, against their definition."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacking.mining.hierarchies import hierarchy_by_sensitive_values
from shoal.errors import SchemaError
from shoal.table.label_sets import as_set
from tests.naive import mining

RECORDS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from("abcdefg"), st.sampled_from("xyz")), min_size=1, max_size=40
)


def made(records: list[tuple[int, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(records, schema=["person", "job", "disease"], orient="row")


@given(RECORDS)
def test_levels_are_those_of_the_definition(records: list[tuple[int, str, str]]) -> None:
    hierarchy = hierarchy_by_sensitive_values(made(records), "job", ["disease"], person="person")
    expected = mining.joined_by_sensitive_values(records)
    expected = expected[: max(1, len(expected) - 1)]
    assert hierarchy.n_levels == len(expected) + 1
    for level, nodes in enumerate(expected):
        for node in nodes:
            label = node[0] if len(node) == 1 else as_set(sorted(node))
            assert {hierarchy.label(value, level) for value in node} == {label}


def test_values_with_like_chances_are_joined_first() -> None:
    """Miners and welders have silicosis, clerks and teachers have not; the alphabet would join clerks and miners."""
    ill = {"clerk": 1, "miner": 9, "teacher": 1, "welder": 8}
    records = [(f"{job} {n}", job, "silicosis" if n < ill[job] else "none") for job in ill for n in range(10)]
    hierarchy = hierarchy_by_sensitive_values(made(records), "job", ["disease"], person="person")
    assert hierarchy.path("welder") == ("welder", "{miner, welder}", "*")
    assert hierarchy.path("clerk") == ("clerk", "{clerk, teacher}", "*")


def test_persons_count_not_records() -> None:
    records = [*[(1, "a", "x")] * 50, (2, "a", "y"), (3, "b", "x"), (4, "b", "y"), (5, "c", "x"), (6, "c", "x")]
    by_person = hierarchy_by_sensitive_values(made(records), "job", ["disease"], person="person")
    by_record = hierarchy_by_sensitive_values(made(records), "job", ["disease"])
    assert by_person.label("a", 1) == by_person.label("b", 1)
    assert by_record.label("a", 1) == by_record.label("c", 1)


def test_several_attributes_and_missing_values() -> None:
    frame = made([(1, "a", "x"), (2, "b", "x"), (3, "c", "y")]).with_columns(
        drug=pl.Series(["p", "q", "p"]), job=pl.Series(["a", "b", None])
    )
    hierarchy = hierarchy_by_sensitive_values(frame, "job", ["disease", "drug"], person="person")
    assert hierarchy.values == ("a", "b")


@pytest.mark.parametrize(
    ("column", "sensitive", "words"),
    [
        ("wage", ["disease"], "no column 'wage'"),
        ("job", [], "at least one"),
        ("none", ["disease"], "0 different values"),
    ],
)
def test_what_cannot_be_joined_is_refused(column: str, sensitive: list[str], words: str) -> None:
    frame = made([(1, "a", "x")]).with_columns(none=pl.lit(None, pl.String))
    with pytest.raises(SchemaError, match=words):
        hierarchy_by_sensitive_values(frame, column, sensitive)
