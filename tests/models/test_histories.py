"""Models of histories: equal to their plain definitions, exact at the threshold, clear about what they refuse."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.judging.observation import Observation
from shoal.models.contract import Model
from shoal.models.counts import HISTORIES, GroupCounts
from shoal.models.histories import HIDDEN, KNOWS, Knows
from tests.naive import histories as naive

SCHEMA = shoal.Schema(person="person", quasi=["group"], sensitive=["one", "two"], time="time")
LABELS = st.sampled_from(["a", "b", "c", None, HIDDEN])
RECORDS = st.lists(st.tuples(st.integers(0, 7), LABELS, LABELS, st.integers(1, 3)), min_size=1, max_size=18)


def rows_of(records: list[tuple[int, Any, Any, int]]) -> list[tuple[Any, ...]]:
    """(group, person, label, label, time): each person lies in one group."""
    return [(person % 2, person, one, two, time) for person, one, two, time in records]


def frame_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    types = {"group": pl.Int64, "person": pl.Int64, "one": pl.String, "two": pl.String, "time": pl.Int64}
    return pl.DataFrame(rows, schema=types, orient="row")


def counts_of(rows: list[tuple[Any, ...]]) -> GroupCounts:
    return Observation.of_frame(frame_of(rows), SCHEMA).counts(HISTORIES)


def both(rows: list[tuple[Any, ...]], model: Model) -> tuple[bool, float]:
    counts = counts_of(rows)
    reached = model.reached(counts)
    return bool(model.holds(counts).all()), float(reached.min() if model.higher_is_safer else reached.max())


@pytest.mark.parametrize("by_group", [True, False])
@pytest.mark.parametrize("knows", KNOWS)
@pytest.mark.parametrize("m", [0, 1, 2, 3])
@given(records=RECORDS, k=st.integers(1, 4))
@settings(max_examples=30)
def test_history_k_is_its_definition(records: Any, k: int, m: int, knows: Knows, by_group: bool) -> None:
    rows = rows_of(records)
    holds, reached = both(rows, shoal.HistoryK(k=k, m=m, with_quasi=by_group, knows=knows))
    asked: dict[str, Any] = {"m": m, "columns": (0, 1), "knows": knows, "by_group": by_group}
    assert holds == (not naive.broken_combinations(rows, k=k, **asked))
    showing = naive.persons_showing(rows, **asked)
    assert reached == min(len(persons) for group in showing.values() for persons in group.values())


HIDING = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["a", HIDDEN]), st.sampled_from(["b", HIDDEN, HIDDEN]), st.just(1)),
    min_size=1, max_size=18,
)  # fmt: skip


@pytest.mark.parametrize("columns", [("one",), ("one", "two")])
@pytest.mark.parametrize("by_group", [True, False])
@pytest.mark.parametrize("knows", ["values", "records", "order"])
@pytest.mark.parametrize("m", [0, 1, 2])
@given(records=RECORDS | HIDING, k=st.integers(1, 3))
@settings(max_examples=30)
def test_hidden_values_are_shared_as_defined(
    records: Any, k: int, m: int, knows: Knows, by_group: bool, columns: tuple[str, ...]
) -> None:
    """What was reached is counted without them all the same."""
    rows = rows_of(records)
    free = shoal.HistoryK(k=k, m=m, with_quasi=by_group, knows=knows, columns=columns)
    holds, reached = both(rows, replace(free, hidden="shared"))
    asked: dict[str, Any] = {"k": k, "m": m, "columns": range(len(columns)), "knows": knows, "by_group": by_group}
    assert holds == (not naive.broken_combinations(rows, **asked) and naive.shares_hidden(rows, **asked))
    assert reached == both(rows, free)[1]


@pytest.mark.parametrize("by_group", [True, False])
@pytest.mark.parametrize("knows", KNOWS)
@pytest.mark.parametrize("m", [0, 1, 2])
@given(records=RECORDS, c=st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(1)]))
@settings(max_examples=30)
def test_history_confidence_is_its_definition(records: Any, c: Fraction, m: int, knows: Knows, by_group: bool) -> None:
    rows = rows_of(records)
    holds, reached = both(rows, shoal.HistoryConfidence(c=c, m=m, with_quasi=by_group, knows=knows))
    asked: dict[str, Any] = {"m": m, "columns": (0, 1), "knows": knows, "by_group": by_group}
    assert holds == (not naive.betrayed_items(rows, c=c, **asked))
    shares = [n / of for *_, n, of in naive.betrayed_items(rows, c=Fraction(0), **asked)]
    assert reached == pytest.approx(max(shares, default=0.0))


@given(records=RECORDS, k=st.integers(1, 4))
def test_count_k_is_its_definition(records: Any, k: int) -> None:
    rows = rows_of(records)
    holds, reached = both(rows, shoal.CountK(k=k))
    assert holds == (not naive.broken_counts(rows, k=k))
    assert reached == min(n for *_, n in naive.broken_counts(rows, k=10**6))


@given(records=RECORDS)
def test_the_days_between_records_are_known_of_shifted_dates(records: Any) -> None:
    """Of the column of times, an item is the days since the person's record before."""
    rows = rows_of(records)
    schema = replace(SCHEMA, time_as="shift")
    day = pl.date(2024, 1, 1) + pl.duration(days=pl.col("time") * 10)
    frame = frame_of(rows).with_columns(time=day)
    counts = Observation.of_frame(frame, schema).counts(HISTORIES)
    reached = shoal.HistoryK(k=1, m=1, columns=["time"]).reached(counts).min()
    gaps: list[tuple[Any, ...]] = []
    for person in {row[1] for row in rows}:
        times = sorted(row[-1] for row in rows if row[1] == person)
        gaps.append((person % 2, person, HIDDEN, 0))
        gaps += [(person % 2, person, after - before, 0) for before, after in itertools.pairwise(times)]
    showing = naive.persons_showing(gaps, m=1, columns=(0,))
    assert reached == min(len(persons) for group in showing.values() for persons in group.values())


def test_m_of_0_is_person_k() -> None:
    rows = rows_of([(0, "a", "b", 1), (2, "c", "b", 1), (1, "a", "b", 1)])
    assert shoal.HistoryK(k=1, m=0).reached(counts_of(rows)).tolist() == [2, 1]


def test_an_item_shown_twice_counts_twice() -> None:
    rows = [(0, person, "a", HIDDEN, time) for person, time in ((0, 1), (0, 2), (1, 1), (1, 2), (2, 1))]
    counts = counts_of(rows)
    assert shoal.HistoryK(k=1, m=1).reached(counts).tolist() == [3]
    assert shoal.HistoryK(k=1, m=2).reached(counts).tolist() == [2]


def test_records_that_are_not_linked_show_one_thing_each() -> None:
    """Where nobody sees which records belong together, two of a person's values are never known together."""
    rows = rows_of([(0, "a", "x", 1), (0, "b", "x", 1), (2, "a", "x", 1), (2, "c", "x", 1), (4, "b", "x", 1),
                    (4, "c", "x", 1)])  # fmt: skip
    seen = Observation.of_frame(frame_of(rows), SCHEMA)
    model = shoal.HistoryK(k=2, m=2, columns=["one"])
    assert model.reached(seen.counts(HISTORIES)).tolist() == [1]
    apart = replace(seen, pseudonym_of_record=np.arange(len(rows)))
    assert model.reached(apart.counts(HISTORIES)).tolist() == [2]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: shoal.HistoryK(k=0), "k must be a whole number"),
        (lambda: shoal.HistoryK(k=2, m=4), "m must be at most 3"),
        (lambda: shoal.HistoryK(k=2, m=-1), "m must be a whole number"),
        (lambda: shoal.HistoryK(k=2, columns=[]), "at least one column"),
        (lambda: shoal.HistoryK(k=2, knows="everything"), "knows must be one of"),
        (lambda: shoal.HistoryK(k=2, with_quasi=2), "with_quasi must be True or False"),
        (lambda: shoal.HistoryConfidence(c=0), "c must lie in"),
        (lambda: shoal.HistoryConfidence(c=0.5, m=3), "at most 2"),
        (lambda: shoal.CountK(k=1.5), "k must be a whole number"),
    ],
)
def test_what_is_out_of_range_is_refused(made: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        made()


def test_columns_that_show_no_history_are_named() -> None:
    rows = rows_of([(0, "a", "b", 1)])
    with pytest.raises(SchemaError, match=r"'three'.*These are: one, two, time"):
        shoal.HistoryK(k=1, columns=["three"]).holds(counts_of(rows))
    with pytest.raises(SchemaError, match="time_as='shift'"):
        shoal.HistoryK(k=1, columns=["time"]).holds(counts_of(rows))


def test_more_combinations_than_anybody_waits_for_are_refused() -> None:
    rows = [(0, 0, f"v{number}", HIDDEN, 1) for number in range(2_000)]
    with pytest.raises(ParameterError, match=r"100,000,000 is the most\. Ask for a smaller m"):
        shoal.HistoryK(k=1, m=3).holds(counts_of(rows))


def test_promises_in_plain_words() -> None:
    assert shoal.HistoryK(k=5, m=2, with_quasi=False, knows="order").sentence() == (
        "Whoever knows two records of a person in their order has at least 5 persons to choose from"
    )
    assert shoal.HistoryK(k=5, m=0).sentence() == (
        "Whoever knows the quasi-identifiers of a person has at least 5 persons to choose from"
    )
    assert shoal.HistoryConfidence(c="0.5").sentence() == (
        "Whoever knows the quasi-identifiers and one value of a person learns no other value with more than 50 % "
        "confidence"
    )
