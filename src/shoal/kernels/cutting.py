"""Cutting a grown spanning tree into components, and parting those that stay too large.

Arrays in, arrays out; no tables, no checks, no randomness. The merit of an edge is its divergence/length ratio, or its
length. Records times divergence, of the classes of some records, is convex and grows in proportion: a plane through it
at the counts of a component lies below it everywhere, and bounds without a logarithm what cutting an edge costs.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel
from shoal.kernels.spanning import divergence_of

SLACK = 1e-12
"""By how much rounding may spoil a bound on the gain of a cut."""


class Cutting(NamedTuple):
    """A tree that is being cut into components. Vertices stand in preorder; each names the edge to its parent."""

    vertex: NDArray[np.int32]
    """The vertex at each place of the preorder."""
    parent: NDArray[np.int32]
    """The place of the parent; -1 for the root."""
    end: NDArray[np.int32]
    """The places of a subtree of the whole tree are those from its own up to here."""
    number: NDArray[np.int32]
    """Which edge in the order of growing leads here."""
    length: NDArray[np.float64]
    size: NDArray[np.int32]
    """How many vertices the part of the component below has."""
    counts: NDArray[np.int64]
    """How many records of each class it has."""
    low_weight: NDArray[np.float64]
    """No more than its records times its divergence."""
    whole: NDArray[np.float64]
    active: NDArray[np.int32]
    """The edges that may still be cut, component by component, in preorder."""
    root: NDArray[np.int32]
    """The place of the root of each component."""
    first: NDArray[np.int32]
    """Where the active edges of each component begin."""
    n_active: NDArray[np.int32]
    n_components: NDArray[np.int64]
    fails_below: NDArray[np.bool_]
    """Edges whose lower side was found to break a model."""
    fails_above: NDArray[np.bool_]


@kernel
def start_cutting(edge_u, edge_v, edge_length, classes, whole, m):
    """Lay out a grown tree (edges in the order in which vertices joined) as one component."""
    n = len(edge_u) + 1
    n_classes = classes.shape[1]
    start = edge_u[0] if n > 1 else np.int32(0)
    first_child, next_child = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    edge_of = np.full(n, -1, np.int32)
    for e in range(n - 2, -1, -1):
        next_child[edge_v[e]] = first_child[edge_u[e]]
        first_child[edge_u[e]] = edge_v[e]
        edge_of[edge_v[e]] = e
    vertex, parent, place = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    stack = np.empty(n, np.int32)
    stack[0] = start
    waiting, at = 1, 0
    while waiting:
        waiting -= 1
        v = stack[waiting]
        vertex[at], place[v] = v, at
        parent[at] = place[edge_u[edge_of[v]]] if edge_of[v] >= 0 else -1
        at += 1
        child = first_child[v]
        while child >= 0:
            stack[waiting] = child
            waiting += 1
            child = next_child[child]
    end, size = np.empty(n, np.int32), np.ones(n, np.int32)
    counts = np.empty((n, n_classes), np.int64)
    number, length = np.full(n, -1, np.int32), np.zeros(n)
    for at in range(n):
        counts[at] = classes[vertex[at]]
        if at:
            number[at] = edge_of[vertex[at]]
            length[at] = edge_length[number[at]]
    for at in range(n - 1, -1, -1):
        end[at] = at + size[at]
        if at:
            size[parent[at]] += size[at]
            counts[parent[at]] += counts[at]
    low_weight = np.zeros(n)
    active = np.empty(n, np.int32)
    n_active = 0
    for at in range(1, n):
        if size[at] >= m and n - size[at] >= m and length[at] > 0:
            low_weight[at] = counts[at].sum() * divergence_of(counts[at], whole)
            active[n_active] = at
            n_active += 1
    most = n // max(m, 1) + 1
    state = Cutting(
        vertex, parent, end, number, length, size, counts, low_weight, whole, active, np.zeros(most, np.int32),
        np.zeros(most, np.int32), np.zeros(most, np.int32), np.ones(1, np.int64), np.zeros(n, np.bool_),
        np.zeros(n, np.bool_),
    )  # fmt: skip
    state.n_active[0] = n_active
    return state


@kernel
def _slope_of(counts, whole, slope):
    """How records times divergence grows with each class, at some counts: a plane that lies below it everywhere."""
    total = counts.sum()
    mean = 0.0
    for k in range(len(counts)):
        slope[k] = 0.0
        if counts[k]:
            f = counts[k] / total
            slope[k] = 0.5 * math.log2(2 * f / (f + whole[k]))
            mean += f * slope[k]
    slope += divergence_of(counts, whole) - mean


@kernel
def _ratio_of(below, parent, above, divergence_of_parent, whole, length):
    """The divergence/length ratio of an edge, the divergence of its lower side, and `above` filled in.

    Divergence never falls by a cut, and stays as it is where both sides have the classes in the same shares, such as
    one class only. Rounding would give noise on either side of 0 there, which would decide between equals.
    """
    n_below, total = 0, 0
    for k in range(len(whole)):
        above[k] = parent[k] - below[k]
        n_below += below[k]
        total += parent[k]
    is_alike = True
    for k in range(len(whole)):
        is_alike &= below[k] * total == parent[k] * n_below
    divergence = divergence_of(below, whole)
    if is_alike:
        return 0.0, n_below * divergence
    n_above = total - n_below
    weighted = n_above / total * divergence_of(above, whole) + n_below / total * divergence
    return max(weighted - divergence_of_parent, 0.0) / length, n_below * divergence


@kernel
def _goes_before(state, merit, at, other_merit, other):
    """Whether one edge is cut before another: of smaller merit, of equals the longer, then the older."""
    if merit != other_merit:
        return merit < other_merit
    if state.length[at] != state.length[other]:
        return state.length[at] > state.length[other]
    return state.number[at] < state.number[other]


@kernel
def best_edges(state, component, m, longest, most):
    """The best edges of a component that may be cut, best first: their places and merits (the smaller the better).

    The merit is the divergence/length ratio, or with `longest` the negative length; of equals the longest edge goes
    first, then the oldest. Edges with too few vertices on a side are struck out for good; those marked as failing a
    model are passed over.
    """
    places, merits = np.empty(most, np.int32), np.empty(most)
    found = 0
    root, first = state.root[component], state.first[component]
    n_vertices, parent = state.size[root], state.counts[root]
    n_classes = len(parent)
    above = np.empty(n_classes, np.int64)
    slope = np.zeros(n_classes)
    total = parent.sum()
    divergence = 0.0
    if not longest:
        divergence = divergence_of(parent, state.whole)
        _slope_of(parent, state.whole, slope)
    write = first
    for i in range(first, first + state.n_active[component]):
        at = state.active[i]
        if state.size[at] < m or n_vertices - state.size[at] < m:
            continue
        state.active[write] = at
        write += 1
        if state.fails_below[at] or state.fails_above[at]:
            continue
        if longest:
            merit = -state.length[at]
        else:
            if found == most:
                bound = state.low_weight[at]
                for k in range(n_classes):
                    bound -= slope[k] * state.counts[at, k]
                if bound / total - SLACK > merits[most - 1] * state.length[at]:
                    continue
            merit, weight = _ratio_of(state.counts[at], parent, above, divergence, state.whole, state.length[at])
            state.low_weight[at] = weight
        rank = found
        while rank > 0 and _goes_before(state, merit, at, merits[rank - 1], places[rank - 1]):
            rank -= 1
        if rank == most:
            continue
        if found < most:
            found += 1
        for move in range(found - 1, rank, -1):
            places[move] = places[move - 1]
            merits[move] = merits[move - 1]
        places[rank] = at
        merits[rank] = merit
    state.n_active[component] = write - first
    return places[:found], merits[:found]


@kernel
def cut_edge(state, component, at):
    """Cut the edge above a place: what is below becomes a component of its own, whose number is given."""
    new = state.n_components[0]
    state.n_components[0] = new + 1
    weight = state.counts[at].sum() * divergence_of(state.counts[at], state.whole)
    root, first, n_active = state.root[component], state.first[component], state.n_active[component]
    for i in range(first, first + n_active):
        other = state.active[i]
        if not other < at < state.end[other]:
            state.fails_above[other] = False
    place = state.parent[at]
    while place >= 0:
        state.size[place] -= state.size[at]
        state.counts[place] -= state.counts[at]
        state.low_weight[place] -= weight  # no part has less than the whole less the rest
        state.fails_below[place] = False
        if place == root:
            break
        place = state.parent[place]
    moved = np.empty(n_active, np.int32)
    n_moved = 0
    write = first
    for i in range(first, first + n_active):
        other = state.active[i]
        if at < other < state.end[at]:
            moved[n_moved] = other
            n_moved += 1
        elif other != at:
            state.active[write] = other
            write += 1
    state.active[write : write + n_moved] = moved[:n_moved]
    state.n_active[component] = write - first
    state.first[new], state.n_active[new], state.root[new] = write, n_moved, at
    return new


@kernel
def cut_all(state, m, longest):
    """Cut the best edge of all components, as long as one is left that leaves m vertices on both sides."""
    waiting = [(0.0, 0.0, np.int32(0), np.int32(0), np.int64(0))]
    waiting.pop()
    fresh = [np.int64(0)]
    while True:
        for component in fresh:
            places, merits = best_edges(state, component, m, longest, 1)
            if len(places):
                at = places[0]
                heapq.heappush(waiting, (merits[0], -state.length[at], state.number[at], at, component))
        if not len(waiting):
            break
        _, _, _, at, component = heapq.heappop(waiting)
        fresh = [component, cut_edge(state, component, at)]


@kernel
def component_of_vertices(state):
    """The component of each vertex."""
    n = len(state.vertex)
    component_of_place = np.full(n, -1, np.int32)
    for component in range(state.n_components[0]):
        component_of_place[state.root[component]] = component
    component_of_vertex = np.empty(n, np.int32)
    for at in range(n):
        if component_of_place[at] < 0:
            component_of_place[at] = component_of_place[state.parent[at]]
        component_of_vertex[state.vertex[at]] = component_of_place[at]
    return component_of_vertex


@kernel
def vertices_of_sides(state, component, places):
    """The vertices below and above each of some edges of a component, side by side, and where each side begins."""
    n = state.size[state.root[component]]
    root = state.root[component]
    inside = np.empty(n, np.int32)
    is_cut_off = np.zeros(len(state.vertex), np.bool_)
    for other in range(state.n_components[0]):
        is_cut_off[state.root[other]] = True
    found, at = 0, root
    while at < state.end[root]:
        if at != root and is_cut_off[at]:
            at = state.end[at]
            continue
        inside[found] = at
        found += 1
        at += 1
    laid_out = np.empty(n * len(places), np.int32)
    start = np.zeros(2 * len(places) + 1, np.int64)
    write = 0
    for i in range(len(places)):
        for wants_below in (True, False):
            for at in inside[:found]:
                if (places[i] <= at < state.end[places[i]]) == wants_below:
                    laid_out[write] = state.vertex[at]
                    write += 1
            start[2 * i + (1 if wants_below else 2)] = write
    return laid_out, start


@kernel
def best_halvings(points, classes, whole, m, most):
    """The best ways to part one group in two: their columns and thresholds, best first.

    Persons up to a threshold of a column go to one side, m at least to each; where the group has several classes, each
    side keeps several. The merit is the divergence/length ratio, the length being that between the means of the two
    sides; of equals the first column, the lowest threshold.
    """
    n, n_columns = points.shape
    n_classes = len(whole)
    columns, thresholds, merits = np.empty(most, np.int32), np.empty(most), np.empty(most)
    found = 0
    sums = np.zeros(n_columns)
    parent = np.zeros(n_classes, np.int64)
    for i in range(n):
        sums += points[i]
        parent += classes[i]
    divergence = divergence_of(parent, whole)
    is_mixed = np.count_nonzero(parent) > 1
    left_sums, left, right = np.empty(n_columns), np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    for column in range(n_columns):
        order = np.argsort(points[:, column], kind="mergesort")
        left_sums[:] = 0
        left[:] = 0
        for i in range(n - m):
            here = order[i]
            left_sums += points[here]
            left += classes[here]
            value = points[here, column]
            if i + 1 < m or value == points[order[i + 1], column]:
                continue
            squares = 0.0
            for j in range(n_columns):
                gap = left_sums[j] / (i + 1) - (sums[j] - left_sums[j]) / (n - i - 1)
                squares += gap * gap
            if squares == 0.0:
                continue
            merit, _ = _ratio_of(left, parent, right, divergence, whole, math.sqrt(squares))
            if is_mixed and (np.count_nonzero(left) == 1 or np.count_nonzero(right) == 1):
                continue
            rank = found
            while rank > 0 and merit < merits[rank - 1]:
                rank -= 1
            if rank == most:
                continue
            if found < most:
                found += 1
            for move in range(found - 1, rank, -1):
                columns[move], thresholds[move] = columns[move - 1], thresholds[move - 1]
                merits[move] = merits[move - 1]
            columns[rank], thresholds[rank], merits[rank] = column, value, merit
    return columns[:found], thresholds[:found]
