"""The class-restricted spanning tree of Li and Sarkar (2013), written to be read.

Points are lists of numbers scaled to [0, 1], `classes` holds for each vertex how many records it has of each class.
Never optimise this file; never import the package here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Points = Sequence[Sequence[float]]
Classes = Sequence[Sequence[int]]


class Edge(NamedTuple):
    """An edge of the tree, from a vertex in the tree to the one that joined it."""

    u: int
    v: int
    length: float


def length(a: Sequence[float], b: Sequence[float], divisor: float | None = None) -> float:
    """The Euclidean distance over the number of columns, or over another divisor."""
    squares = 0.0
    for x, y in zip(a, b, strict=True):
        squares += (x - y) * (x - y)
    return math.sqrt(squares) / (len(a) if divisor is None else divisor)


def kld(p: Sequence[float], q: Sequence[float]) -> float:
    """The Kullback-Leibler divergence, in bits."""
    return sum(x * math.log2(x / y) for x, y in zip(p, q, strict=True) if x)


def jsd(counts: Sequence[int], whole: Sequence[float]) -> float:
    """The Jensen-Shannon divergence of the classes counted from those of the whole table, in bits (definition 2)."""
    total = sum(counts)
    divergence = 0.0
    for count, f_all in zip(counts, whole, strict=True):
        f = count / total
        middle = (f + f_all) / 2
        if f:
            divergence += 0.5 * f * math.log2(f / middle)
        if f_all:
            divergence += 0.5 * f_all * math.log2(f_all / middle)
    return divergence


def distribution(classes: Classes) -> list[float]:
    """The share of each class among all records."""
    counts = added(classes)
    return [count / sum(counts) for count in counts]


def added(classes: Sequence[Sequence[int]]) -> list[int]:
    """The classes of several vertices together."""
    return [sum(column) for column in zip(*classes, strict=True)]


def neighbourhood(points: Points, neighbours: dict[int, list[int]], u: int, n: int) -> list[int]:
    """The first n other vertices of the tree met from u: nearest in edges, then in distance, then by number."""
    depth_of = {u: 0}
    waiting = [u]
    for vertex in waiting:
        for other in neighbours[vertex]:
            if other not in depth_of:
                depth_of[other] = depth_of[vertex] + 1
                waiting.append(other)
    return sorted(waiting[1:], key=lambda v: (depth_of[v], length(points[u], points[v]), v))[:n]


def grow(
    points: Points, classes: Classes, *, alpha: float, b: int, start: int = 0, divisor: float | None = None
) -> list[Edge]:
    """Prim's tree with the composite distance (definition 3), taken anew whenever a vertex has joined."""
    whole = distribution(classes)
    neighbours: dict[int, list[int]] = {start: []}
    edges = []
    while len(neighbours) < len(points):
        best = None
        for u in neighbours:
            near = added([classes[w] for w in (u, *neighbourhood(points, neighbours, u, b - 2))])
            for v in range(len(points)):
                if v not in neighbours:
                    far = length(points[u], points[v], divisor)
                    divergence = jsd(added([near, classes[v]]), whole)
                    candidate = (alpha * far + (1 - alpha) * divergence, far, u, v)
                    if best is None or candidate < best:
                        best = candidate
        assert best is not None
        _, far, u, v = best
        edges.append(Edge(u, v, far))
        neighbours[u].append(v)
        neighbours[v] = [u]
    return edges


def sides(edges: Sequence[Edge], group: frozenset[int], edge: Edge) -> tuple[frozenset[int], frozenset[int]]:
    """The two parts of a group when one of its edges is cut: that of u, that of v."""
    reached = {edge.v}
    grows = True
    while grows:
        grows = False
        for other in edges:
            if other != edge and {other.u, other.v} <= group and (other.u in reached) != (other.v in reached):
                reached |= {other.u, other.v}
                grows = True
    return group - reached, frozenset(reached)


def ratio(classes: Classes, whole: Sequence[float], one: frozenset[int], two: frozenset[int], far: float) -> float:
    """The divergence/length ratio of a cut into two sides (definition 5)."""
    counts_one, counts_two = added([classes[v] for v in one]), added([classes[v] for v in two])
    return ratio_of_counts(counts_one, counts_two, whole, far)


def ratio_of_counts(one: Sequence[int], two: Sequence[int], whole: Sequence[float], far: float) -> float:
    """The same from the class counts of both sides."""
    n_one, n_two = sum(one), sum(two)
    total = n_one + n_two
    both = added([one, two])
    if all(in_one * total == in_both * n_one for in_one, in_both in zip(one, both, strict=True)):
        return 0.0  # the classes have the same shares on both sides: floats would give noise on either side of 0
    weighted = n_one / total * jsd(one, whole) + n_two / total * jsd(two, whole)
    return max(weighted - jsd(both, whole), 0.0) / far


Holds = Callable[[frozenset[int]], bool]


def cut(
    edges: Sequence[Edge],
    classes: Classes,
    *,
    m: int,
    longest: bool = False,
    holds: Holds = lambda group: True,
) -> set[frozenset[int]]:
    """Cut the removable edge of smallest ratio (or the longest) until none is left.

    An edge is removable if it has a length and both sides have m vertices and hold. Of equals the longest goes first,
    then the oldest.
    """
    whole = distribution(classes)
    groups = {frozenset(range(len(classes)))}
    while True:
        best = None
        for group in groups:
            for number, edge in enumerate(edges):
                if edge.u not in group or edge.v not in group or edge.length == 0:
                    continue
                one, two = sides(edges, group, edge)
                if min(len(one), len(two)) < m or not (holds(one) and holds(two)):
                    continue
                merit = -edge.length if longest else ratio(classes, whole, one, two, edge.length)
                if best is None or (merit, -edge.length, number) < best[0]:
                    best = ((merit, -edge.length, number), group, one, two)
        if best is None:
            return groups
        groups = groups - {best[1]} | {best[2], best[3]}


class Halving(NamedTuple):
    """A way to part a group in two, at a threshold of one column."""

    ratio: float
    column: int
    threshold: float
    low: frozenset[int]
    high: frozenset[int]


def halvings(points: Points, classes: Classes, group: frozenset[int], m: int) -> list[Halving]:
    """All ways to part a group that leave m vertices on both sides, and no side with one class of several."""
    whole = distribution(classes)
    found = []
    for column in range(len(points[0])):
        for threshold in sorted({points[v][column] for v in group})[:-1]:
            low = frozenset(v for v in group if points[v][column] <= threshold)
            high = group - low
            several = [n_classes(classes, side) > 1 for side in (group, low, high)]
            if min(len(low), len(high)) >= m and (several[0] is False or all(several)):
                far = length(middle(points, low), middle(points, high))
                found.append(Halving(ratio(classes, whole, low, high, far), column, threshold, low, high))
    return found


def n_classes(classes: Classes, group: frozenset[int]) -> int:
    """How many classes some vertices have."""
    return sum(count > 0 for count in added([classes[v] for v in group]))


def middle(points: Points, group: frozenset[int]) -> list[float]:
    """The mean of some vertices."""
    return [sum(column) / len(group) for column in zip(*(points[v] for v in group), strict=True)]


def repair(
    groups: set[frozenset[int]],
    points: Points,
    classes: Classes,
    *,
    m: int,
    holds: Holds = lambda group: True,
) -> tuple[set[frozenset[int]], float]:
    """Part groups of 2m or more at the best halving whose sides hold, and their parts again.

    Gives also by how much the closest choice between two halvings was decided.
    """
    done, waiting, closest = set(), list(groups), math.inf
    while waiting:
        group = waiting.pop()
        possible = []
        if len(group) >= 2 * m:
            possible = sorted(way for way in halvings(points, classes, group, m) if holds(way.low) and holds(way.high))
        if not possible:
            done.add(group)
            continue
        best, *others = possible
        waiting += [best.low, best.high]
        rivals = [way.ratio for way in others if way.low not in (best.low, best.high)]
        closest = min([closest, *(rival - best.ratio for rival in rivals)])
    return done, closest
