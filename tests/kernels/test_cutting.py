"""Cutting a spanning tree and parting what stays too large: the kernels equal their definitions, ties included."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import cutting
from tests.kernels.vertices import Vertices, some_vertices
from tests.naive import spanning as naive


def groups_of(component_of_vertex: np.ndarray) -> set[frozenset[int]]:
    found: dict[int, set[int]] = {}
    for vertex, component in enumerate(component_of_vertex.tolist()):
        found.setdefault(component, set()).add(vertex)
    return {frozenset(group) for group in found.values()}


@given(some_vertices(), st.sampled_from([0.5, 1.0]), st.integers(1, 4), st.booleans())
def test_cutting_equals_its_definition(vertices: Vertices, alpha: float, m: int, longest: bool) -> None:
    edges = vertices.grow(alpha=alpha, b=4)
    state = vertices.start_cutting(edges, m)
    cutting.cut_all(state, m, longest)
    found = groups_of(cutting.component_of_vertices(state))
    assert found == naive.cut(edges, vertices.classes, m=m, longest=longest)


@given(some_vertices(), st.integers(1, 3), st.integers(0, 2**32))
def test_sides_and_counts_follow_every_cut(vertices: Vertices, m: int, seed: int) -> None:
    """Whatever is cut, the sides that are laid out are those of the tree, and the counts kept are theirs."""
    chance = random.Random(seed)
    edges = vertices.grow(alpha=0.5, b=4)
    state = vertices.start_cutting(edges, m)
    for _ in range(4):
        component = chance.randrange(int(state.n_components[0]))
        groups = cutting.component_of_vertices(state)
        group = frozenset(np.flatnonzero(groups == component).tolist())
        places, merits = cutting.best_edges(state, component, m, False, 5)
        assert list(merits) == sorted(merits)
        if not len(places):
            continue
        laid_out, start = cutting.vertices_of_sides(state, component, places)
        for i, place in enumerate(places):
            above, below = naive.sides(edges, group, edges[state.number[place]])
            assert set(laid_out[start[2 * i] : start[2 * i + 1]].tolist()) == below
            assert set(laid_out[start[2 * i + 1] : start[2 * i + 2]].tolist()) == above
            assert state.counts[place].tolist() == naive.added([vertices.classes[v] for v in below])
            assert state.size[place] == len(below)
        cutting.cut_edge(state, component, places[chance.randrange(len(places))])


def edges_of(state: cutting.Cutting, component: int) -> list[int]:
    """The places of the edges of a component that may still be cut."""
    first = state.first[component]
    places: list[int] = state.active[first : first + state.n_active[component]].tolist()
    return places


@given(some_vertices(), st.integers(0, 2**32))
def test_a_side_is_asked_about_again_only_when_it_has_changed(vertices: Vertices, seed: int) -> None:
    """What broke a model may meet it once something was cut off; a side that stays the same is not asked again."""
    chance = random.Random(seed)
    edges = vertices.grow(alpha=0.5, b=4)
    state = vertices.start_cutting(edges, 1)
    for _ in range(3):
        component = chance.randrange(int(state.n_components[0]))
        if not edges_of(state, component):
            continue
        before = sides_of_edges(vertices, edges, state, component)
        for place in before:
            state.fails_below[place] = state.fails_above[place] = True
        new = int(cutting.cut_edge(state, component, chance.choice(list(before))))
        for part in (component, new):
            for place, sides in sides_of_edges(vertices, edges, state, part).items():
                flags = (state.fails_above[place], state.fails_below[place])
                assert flags == tuple(now == once for now, once in zip(sides, before[place], strict=True))


def sides_of_edges(
    vertices: Vertices, edges: list[naive.Edge], state: cutting.Cutting, component: int
) -> dict[int, tuple[frozenset[int], frozenset[int]]]:
    """The vertices above and below every edge of a component, by its place."""
    group = frozenset(np.flatnonzero(cutting.component_of_vertices(state) == component).tolist())
    return {place: naive.sides(edges, group, edges[state.number[place]]) for place in edges_of(state, component)}


@given(some_vertices(), st.integers(0, 2**32))
def test_bounds_on_the_weight_below_an_edge_hold_after_every_cut(vertices: Vertices, seed: int) -> None:
    chance = random.Random(seed)
    state = vertices.start_cutting(vertices.grow(alpha=0.5, b=4), 1)
    for _ in range(4):
        component = chance.randrange(int(state.n_components[0]))
        if edges_of(state, component):
            cutting.cut_edge(state, component, chance.choice(edges_of(state, component)))
    for component in range(int(state.n_components[0])):
        for place in edges_of(state, component):
            counts = state.counts[place].tolist()
            assert state.low_weight[place] <= sum(counts) * naive.jsd(counts, vertices.whole) + 1e-12


@given(some_vertices(), st.integers(1, 4), st.integers(1, 30))
def test_halvings_come_best_first(vertices: Vertices, m: int, most: int) -> None:
    points, classes = np.array(vertices.points), np.array(vertices.classes, np.int64)
    columns, thresholds = cutting.best_halvings(points, classes, np.array(vertices.whole), m, most)
    everyone = frozenset(range(len(points)))
    possible = naive.halvings(vertices.points, vertices.classes, everyone, m)
    assert len(columns) == min(most, len(possible))
    ratio_of = {(halving.column, halving.threshold): halving.ratio for halving in possible}
    found = [ratio_of[column, threshold] for column, threshold in zip(columns.tolist(), thresholds, strict=True)]
    assert np.allclose(found, sorted(ratio_of.values())[:most], atol=1e-9)
