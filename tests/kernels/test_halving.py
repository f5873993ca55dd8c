"""Mondrian on rows of codes gives the groups of its plain definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import halving
from shoal.kernels.trees import Limits
from tests.naive import halving as naive
from tests.naive import trees

LARGEST = 2**31 - 1
NO_LIMITS = Limits(1, 1, 1, 1, 1, 1)
LIMITS = [
    Limits(3, 1, 1, 1, 1, 1),
    Limits(1, 5, 1, 1, 1, 1),
    Limits(2, 4, 2, 3, 1, 1),
    Limits(1, 1, 1, 2, 1, 1),
    Limits(1, 1, 1, 1, 2, 5),
]

coded = st.lists(
    st.tuples(st.one_of(st.integers(0, 5), st.integers(0, 5_000), st.integers(0, LARGEST)), st.integers(1, 9)),
    min_size=1,
    max_size=40,
)


@given(coded)
def test_middle_of(pairs: list[tuple[int, int]]) -> None:
    codes, records = [code for code, _ in pairs], [count for _, count in pairs]
    found = halving.middle_of(
        np.array(codes, np.int32), np.array(records, np.int32), len(codes), min(codes), max(codes),
        np.empty(halving.BUCKETS + 1, np.int64),
    )  # fmt: skip
    assert found == naive.middle_of(codes, records)


def keeps(limits: Limits, node: list[trees.Record]) -> bool:
    counts = list(trees.records_of(node).values())
    share = Fraction(max(counts), len(node))
    squares = sum(Fraction(count, len(node)) ** 2 for count in counts)
    return (
        len(counts) >= limits.least_persons
        and len(node) >= limits.least_records
        and share <= Fraction(limits.share, limits.share_of)
        and squares <= Fraction(limits.squares, limits.squares_of)
    )


def halved(rows: list[list[int]], records: list[int], n_categories: list[int], limits: Limits) -> set[frozenset[int]]:
    """The groups that the kernel forms of persons given by their codes."""
    n, n_quasi = len(rows), len(n_categories)
    row = np.zeros((n, n_quasi + 2 + n_quasi % 2), np.int32)
    row[:, :n_quasi] = rows
    row[:, n_quasi] = records
    row[:, n_quasi + 1] = range(n)
    span = [max(n_categories[j] - 1, 1) if n_categories[j] else max(int(np.ptp(row[:, j])), 1) for j in range(n_quasi)]
    attributes = halving.Attributes(
        np.array(n_categories), np.array(span, np.float64), np.zeros(0), np.full(n_quasi, -1, np.int64)
    )
    group = np.full(n, -1, np.int32)
    n_groups = halving.halve(row, row.view(np.int64), attributes, limits, max(records) == 1, 0, n, group)
    assert sorted(set(group.tolist())) == list(range(n_groups))
    return {frozenset(np.flatnonzero(group == which).tolist()) for which in range(n_groups)}


@st.composite
def persons(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int]]:
    n_categories = draw(st.lists(st.sampled_from([0, 0, 2, 4]), min_size=1, max_size=4))
    highest = [n - 1 if n else draw(st.sampled_from([1, 3, 60, 3_000, LARGEST])) for n in n_categories]
    n = draw(st.integers(1, 24))
    rows = [[draw(st.integers(0, high)) for high in highest] for _ in range(n)]
    most = draw(st.sampled_from([1, 1, 3]))
    return rows, [draw(st.integers(1, most)) for _ in range(n)], n_categories


@settings(max_examples=150)
@given(persons(), st.sampled_from(LIMITS))
def test_halve(drawn: tuple[list[list[int]], list[int], list[int]], limits: Limits) -> None:
    rows, records, n_categories = drawn
    n_present = [len({row[j] for row in rows}) for j in range(len(n_categories))]
    n_categories = [n_present[j] if n else 0 for j, n in enumerate(n_categories)]
    rows = [
        [sorted({row[j] for row in rows}).index(code) if n_categories[j] else code for j, code in enumerate(own)]
        for own in rows
    ]
    attributes = [(f"q{j}", "nominal" if n else "number") for j, n in enumerate(n_categories)]
    table: list[trees.Record] = []
    for person, own in enumerate(rows):
        values: dict[str, Any] = {f"q{j}": code for j, code in enumerate(own)}
        table += [(person, values, None)] * records[person]
    if not keeps(limits, table):
        return
    expected, _ = trees.mondrian(table, attributes, lambda node: keeps(limits, node))
    assert halved(rows, records, n_categories, limits) == expected
    turned = halved(rows[::-1], records[::-1], n_categories, limits)
    assert {frozenset(len(rows) - 1 - person for person in group) for group in turned} == expected


@pytest.mark.parametrize("highest", [63, 4_000, LARGEST])
def test_a_number_is_halved_at_its_median(highest: int) -> None:
    code = np.linspace(0, highest, 64).astype(np.int64)
    groups = halved([[int(own)] for own in code], [1] * 64, [0], Limits(32, 1, 1, 1, 1, 1))
    assert groups == {frozenset(range(32)), frozenset(range(32, 64))}


def test_a_long_chain_of_cuts_does_not_overflow_what_waits() -> None:
    """Categories are cut off one by one, which makes the deepest of trees."""
    n = 300
    assert len(halved([[own] for own in range(n)], [1] * n, [n], NO_LIMITS)) == n
