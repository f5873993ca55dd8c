"""MDAV and V-MDAV: the tree of boxes and the lazy search change nothing but the time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from shoal.kernels import microaggregation
from shoal.kernels.microaggregation import Mixing
from tests.naive import mdav

Rows = list[tuple[int, ...]]
NOT_MIXED = Mixing(1.0, 1.0, np.zeros(0, np.int32), np.zeros((0, 0), np.int64), np.zeros(0))


@st.composite
def points(draw: st.DrawFn) -> Rows:
    """Points with few different coordinates, hence many ties and duplicates, or with many."""
    n_columns = draw(st.integers(1, 4))
    spread = draw(st.sampled_from([0, 1, 3, 50, 10_000]))
    row = st.tuples(*[st.integers(-spread, spread)] * n_columns)
    rows = draw(st.lists(row, min_size=1, max_size=70))
    return sorted(rows) if draw(st.booleans()) else rows


@st.composite
def mixed_points(draw: st.DrawFn) -> tuple[Rows, Mixing, mdav.Mixed]:
    """Points and their classes, as both sides take them; some have records of several classes."""
    rows = draw(points())
    n_classes = draw(st.integers(2, 4))
    one_record = [tuple(int(k == own) for k in range(n_classes)) for own in range(n_classes)]
    several = draw(st.lists(st.tuples(*[st.integers(0, 3)] * n_classes).filter(any), max_size=3))
    kinds = [*one_record, *several]
    kind = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=len(rows), max_size=len(rows)))
    alpha = draw(st.sampled_from([0.0, 0.3, 0.5, 0.9]))
    a_unit = draw(st.sampled_from([1.0, 0.01, 1e-5]))
    classes = [kinds[k] for k in kind]
    whole = [sum(column) / sum(map(sum, classes)) for column in zip(*classes, strict=True)]
    fast = Mixing(alpha, a_unit, np.array(kind, np.int32), np.array(kinds, np.int64), np.array(whole))
    return rows, fast, mdav.Mixed(alpha, a_unit, classes, whole)


def as_groups(group_of_point: np.ndarray, n_groups: int) -> list[list[int]]:
    return [np.flatnonzero(group_of_point == group).tolist() for group in range(n_groups)]


def ascending(groups: list[list[int]]) -> list[list[int]]:
    return [sorted(group) for group in groups]


@settings(max_examples=150)
@given(points(), st.integers(1, 6))
def test_groups_of_fixed_size(rows: Rows, m: int) -> None:
    fast = microaggregation.fixed_size(np.array(rows, np.float64), m, NOT_MIXED)
    assert as_groups(*fast) == ascending(mdav.fixed_size(rows, m))


@settings(max_examples=150)
@given(points(), st.integers(1, 6), st.sampled_from([0.0, 0.2, 1.0, 1.5]))
def test_groups_of_variable_size(rows: Rows, m: int, gamma: float) -> None:
    fast = microaggregation.variable_size(np.array(rows, np.float64), m, gamma, NOT_MIXED)
    assert as_groups(*fast) == ascending(mdav.variable_size(rows, m, gamma))


@settings(max_examples=150)
@given(mixed_points(), st.integers(1, 6))
def test_groups_of_fixed_size_that_mix_classes(drawn: tuple[Rows, Mixing, mdav.Mixed], m: int) -> None:
    rows, mixing, mixed = drawn
    fast = microaggregation.fixed_size(np.array(rows, np.float64), m, mixing)
    assert as_groups(*fast) == ascending(mdav.fixed_size(rows, m, mixed))


@settings(max_examples=100)
@given(mixed_points(), st.integers(1, 6), st.sampled_from([0.2, 1.5]))
def test_groups_of_variable_size_that_mix_classes(drawn: tuple[Rows, Mixing, mdav.Mixed], m: int, gamma: float) -> None:
    rows, mixing, mixed = drawn
    fast = microaggregation.variable_size(np.array(rows, np.float64), m, gamma, mixing)
    assert as_groups(*fast) == ascending(mdav.variable_size(rows, m, gamma, mixed))


def test_more_points_than_are_looked_at_for_a_group() -> None:
    rng = np.random.default_rng(3)
    rows = np.rint(rng.standard_normal((150, 2)) * 50)
    kind = rng.integers(0, 3, 150).astype(np.int32)
    whole = np.bincount(kind) / 150
    mixing = Mixing(0.5, 1e-3, kind, np.eye(3, dtype=np.int64), whole)
    mixed = mdav.Mixed(0.5, 1e-3, np.eye(3, dtype=int)[kind].tolist(), whole.tolist())
    expected = ascending(mdav.fixed_size([tuple(row) for row in rows.tolist()], 2, mixed))
    assert as_groups(*microaggregation.fixed_size(rows, 2, mixing)) == expected


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
    assert as_groups(*microaggregation.fixed_size(rows, 3, NOT_MIXED)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("n_spots", [1, 7, 1000])
def test_duplicates_in_thousands_do_not_hang(n_spots: int) -> None:
    n = 2_000 if config.DISABLE_JIT else 20_000
    rows = np.sort(np.random.default_rng(1).integers(0, n_spots, (n, 1)), axis=0).astype(np.float64)
    group, n_groups = microaggregation.fixed_size(rows, 3, NOT_MIXED)
    microaggregation.variable_size(rows, 3, 0.2, NOT_MIXED)
    mixing = Mixing(0.5, 1.0, (np.arange(n) % 2).astype(np.int32), np.eye(2, dtype=np.int64), np.full(2, 0.5))
    assert microaggregation.fixed_size(rows, 3, mixing)[1] == n // 3
    assert n_groups == n // 3
    assert np.bincount(group).min() == 3
