"""Probabilities over all ways to deal out are those of the definition; bounds are never below them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import dealing
from tests.naive.posterior import posteriors

WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 4.0])


@st.composite
def groups(draw: st.DrawFn, *, most_items: int = 1) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Weights of types on items, and members as (type, items)."""
    n_items, n_types = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    weight = np.array([[draw(WEIGHTS) for _ in range(n_items)] for _ in range(n_types)])
    n = draw(st.integers(1, 6))
    held = st.lists(st.integers(0, n_items - 1), min_size=1, max_size=most_items, unique=True).map(sorted)
    return weight, [(draw(st.integers(0, n_types - 1)), *draw(held)) for _ in range(n)]


def dealt_of(weight: np.ndarray, members: list[tuple[int, ...]]) -> tuple[dealing.Dealt, list[tuple[int, ...]]]:
    holdings = sorted({tuple(items) for _, *items in members})
    start = np.append(0, np.cumsum([len(holding) for holding in holdings]))
    item = np.array([item for holding in holdings for item in holding], np.int32)
    kinds = np.array([kind for kind, *_ in members], np.int32)
    holding = np.array([holdings.index(tuple(items)) for _, *items in members], np.int32)
    return dealing.Dealt(np.array([0, len(members)]), kinds, holding, start, item, weight, start, item), holdings


def highest(weight: np.ndarray, members: list[tuple[int, ...]]) -> list[float]:
    told = posteriors([list(weight[kind]) for kind, *_ in members], [tuple(items) for _, *items in members])
    return [1.0] * len(members) if told is None else [float(max(each.values())) for each in told]


@given(groups(most_items=3))
@settings(deadline=None, max_examples=150)
def test_few_ways_are_counted_exactly(group: tuple[np.ndarray, list[tuple[int, ...]]]) -> None:
    found = dealing.highest_probabilities(dealt_of(*group)[0], dealing.MOST_STATES, dealing.MOST_ENTRIES)
    np.testing.assert_allclose(found, highest(*group), atol=1e-12)


@pytest.mark.parametrize("most_entries", [dealing.MOST_ENTRIES, 0], ids=["sharp", "rough"])
@given(group=groups(most_items=2))
@settings(deadline=None, max_examples=150)
def test_bounds_are_never_too_low(most_entries: int, group: tuple[np.ndarray, list[tuple[int, ...]]]) -> None:
    found = dealing.highest_probabilities(dealt_of(*group)[0], 0, most_entries)
    told = posteriors([list(group[0][kind]) for kind, *_ in group[1]], [tuple(items) for _, *items in group[1]])
    if told is not None:
        assert (found >= np.array(highest(*group)) - 1e-12).all()


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(deadline=None)
def test_where_nobody_is_likelier_a_bound_is_the_share(copies: list[int]) -> None:
    weight, of_type, held = np.ones((1, len(copies))), np.array([sum(copies)]), np.array(copies)
    large = held * 50  # so that what the levels take away hardly matters
    np.testing.assert_allclose(
        dealing.bounded(weight, of_type * 50, large)[0], held / held.sum(), rtol=0.1 if len(copies) > 1 else 0
    )


def test_a_bound_of_a_large_group_is_near_what_a_small_one_like_it_has() -> None:
    """Two kinds, one four times as likely to have the first of two values as the other."""
    weight, half = np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([30, 30])
    states = int(np.prod(half + 1))
    exactly = dealing.exact(weight / weight.max(axis=1, keepdims=True), half, half, states)
    bound = dealing.bounded(weight / weight.max(axis=1, keepdims=True), half, half)
    assert (bound >= exactly).all()
    assert bound[0, 0] < exactly[0, 0] + 0.12
