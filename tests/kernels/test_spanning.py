"""Growing the class-restricted spanning tree: the kernel equals its definition, ties included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from shoal.kernels import spanning
from tests.kernels.vertices import Vertices, duplicated, some_vertices
from tests.naive import spanning as naive


@given(
    some_vertices(),
    st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
    st.integers(2, 7),
    st.integers(0, 25),
    st.booleans(),
    st.sampled_from([1, 3, 8, spanning.LEAF]),
)
def test_growing_equals_its_definition(
    vertices: Vertices, alpha: float, b: int, start: int, one_tree_a_kind: bool, leaf_size: int
) -> None:
    """Whatever the size of leaves: with small ones trees have many nodes and are built anew."""
    start %= len(vertices.points)
    grown = vertices.grow(alpha=alpha, b=b, start=start, one_tree_a_kind=one_tree_a_kind, leaf_size=leaf_size)
    assert grown == naive.grow(vertices.points, vertices.classes, alpha=alpha, b=b, start=start)


@given(some_vertices(), st.booleans())
def test_lengths_may_be_divided_by_the_root_of_the_columns(vertices: Vertices, one_tree_a_kind: bool) -> None:
    root = math.sqrt(len(vertices.points[0]))
    grown = vertices.grow(alpha=0.5, b=4, divisor=root, one_tree_a_kind=one_tree_a_kind)
    assert grown == naive.grow(vertices.points, vertices.classes, alpha=0.5, b=4, divisor=root)


@given(some_vertices(most=3), st.integers(40, 90), st.integers(0, 2**32), st.booleans())
@settings(max_examples=10)
def test_growing_over_many_duplicates_equals_its_definition(few: Vertices, n: int, seed: int, one_tree: bool) -> None:
    """Leaves are emptied, hubs arise, ties go by number."""
    vertices = duplicated(few, n, seed)
    grown = vertices.grow(alpha=0.5, b=5, one_tree_a_kind=one_tree)
    assert grown == naive.grow(vertices.points, vertices.classes, alpha=0.5, b=5)


def test_more_profiles_than_are_tried_give_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vertex has a profile of its own; with many of them there is no bound on the divergence."""
    if config.DISABLE_JIT:  # compiled, the number is fixed
        monkeypatch.setattr(spanning, "MOST_PROFILES_TRIED", 20)
    chance = np.random.default_rng(3)
    n = spanning.MOST_PROFILES_TRIED + 20
    points = np.round(chance.random((n, 2)) * 40) / 40
    counts = [[1 + number % 17, number // 17, int(chance.integers(0, 3))] for number in range(n)]
    vertices = Vertices(points.tolist(), list(range(n)), counts)
    grown = vertices.grow(alpha=0.5, b=3, one_tree_a_kind=False, leaf_size=8)
    assert grown == vertices.grow(alpha=0.5, b=3, one_tree_a_kind=True)


@pytest.mark.parametrize(("counts", "divergence"), [([3, 0], 0.4591479170), ([0, 6], 0.1908745046), ([2, 4], 0.0)])
def test_divergence(counts: list[int], divergence: float) -> None:
    whole = [1 / 3, 2 / 3]
    assert spanning.divergence_of(np.array(counts), np.array(whole)) == pytest.approx(divergence, abs=1e-10)
    assert naive.jsd(counts, whole) == pytest.approx(divergence, abs=1e-10)
    middle = [(count / sum(counts) + share) / 2 for count, share in zip(counts, whole, strict=True)]
    both = naive.kld([count / sum(counts) for count in counts], middle) + naive.kld(whole, middle)
    assert both / 2 == pytest.approx(divergence, abs=1e-10)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_thousands_at_one_point_join_in_their_order(alpha: float) -> None:
    """All pairs tie; a search that looked at all of them would not come to an end here."""
    n = 300 if config.DISABLE_JIT else 20_000
    kinds = (np.arange(n) * 7919 % 3).astype(np.int32)
    _, v, length = spanning.grow(
        np.full((n, 2), 0.5), 2.0, kinds, np.eye(3, dtype=np.int64), np.full(3, 1 / 3), alpha, 5, 0, True
    )
    assert length.max() == 0
    assert sorted(v.tolist()) == list(range(1, n))
    if alpha == 1:
        assert v.tolist() == list(range(1, n))
