"""MDAV and V-MDAV: the tree of boxes and the lazy search change nothing but the time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from shoal.kernels import microaggregation
from tests.naive import mdav

Rows = list[tuple[int, ...]]


@st.composite
def points(draw: st.DrawFn) -> Rows:
    """Points with few different coordinates, hence many ties and duplicates, or with many."""
    n_columns = draw(st.integers(1, 4))
    spread = draw(st.sampled_from([0, 1, 3, 50, 10_000]))
    row = st.tuples(*[st.integers(-spread, spread)] * n_columns)
    rows = draw(st.lists(row, min_size=1, max_size=70))
    return sorted(rows) if draw(st.booleans()) else rows


def as_groups(group_of_point: np.ndarray, n_groups: int) -> list[list[int]]:
    return [np.flatnonzero(group_of_point == group).tolist() for group in range(n_groups)]


def ascending(groups: list[list[int]]) -> list[list[int]]:
    return [sorted(group) for group in groups]


@settings(max_examples=150)
@given(points(), st.integers(1, 6))
def test_groups_of_fixed_size(rows: Rows, m: int) -> None:
    fast = microaggregation.fixed_size(np.array(rows, np.float64), m)
    assert as_groups(*fast) == ascending(mdav.fixed_size(rows, m))


@settings(max_examples=150)
@given(points(), st.integers(1, 6), st.sampled_from([0.0, 0.2, 1.0, 1.5]))
def test_groups_of_variable_size(rows: Rows, m: int, gamma: float) -> None:
    fast = microaggregation.variable_size(np.array(rows, np.float64), m, gamma)
    assert as_groups(*fast) == ascending(mdav.variable_size(rows, m, gamma))


@settings(max_examples=80)
@given(points(), st.integers(1, 9), st.randoms(use_true_random=False))
def test_searches_among_the_points_that_are_left(rows: Rows, wanted: int, chance: np.random.Generator) -> None:
    left = microaggregation.all_points(np.array(rows, np.float64))
    numbers = set(range(len(rows)))
    while numbers:
        where = np.array(chance.choice(rows), np.float64)
        distances, found = np.empty(wanted), np.empty(wanted, np.int64)
        n_found = microaggregation.nearest(left, where, distances, found)
        expected = mdav.nearest(rows, numbers, where, wanted)
        assert found[:n_found].tolist() == expected
        assert distances[:n_found].tolist() == [mdav.squared(rows[i], where) for i in expected]
        assert microaggregation.farthest(left, where) == mdav.farthest(rows, numbers, where)
        for number in chance.sample(sorted(numbers), min(len(numbers), 5)):
            microaggregation.remove(left, number)
            numbers.remove(number)
    assert left.size[0] == 0


def test_many_points_equal_the_definition() -> None:
    """Enough for a mean that moves far and for trees of several levels."""
    rows = np.rint(np.random.default_rng(4).standard_normal((600, 3)) * 50)
    expected = ascending(mdav.fixed_size([tuple(row) for row in rows.tolist()], 3))
    assert as_groups(*microaggregation.fixed_size(rows, 3)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("n_spots", [1, 7, 1000])
def test_duplicates_in_thousands_do_not_hang(n_spots: int) -> None:
    n = 2_000 if config.DISABLE_JIT else 20_000
    rows = np.sort(np.random.default_rng(1).integers(0, n_spots, (n, 1)), axis=0).astype(np.float64)
    group, n_groups = microaggregation.fixed_size(rows, 3)
    microaggregation.variable_size(rows, 3, 0.2)
    assert n_groups == n // 3
    assert np.bincount(group).min() == 3
