"""MDAV and V-MDAV as they are defined, written to be read. Never optimise this file; never import the package here.

Points are tuples of whole numbers. Of equal distances the point with the lowest number wins. `mixed` says how the
classes of a group count beside distances; None: not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tests.naive.spanning import added, jsd

Point = Sequence[float]
Apart = Callable[[Point, Point], float]


class Mixed(NamedTuple):
    """The weight of the length, what a step of the points is in length, the classes of each point and of the table."""

    alpha: float
    a_unit: float
    classes: Sequence[Sequence[int]]
    whole: Sequence[float]

    def divergence(self, group: Sequence[int]) -> float:
        return jsd(added([self.classes[i] for i in group]), self.whole)


def squared(one: Point, other: Point) -> float:
    total = 0.0  # column by column, since `sum` and `**` may round otherwise
    for a, b in zip(one, other, strict=True):
        total += (a - b) * (a - b)
    return total


def straight(one: Point, other: Point) -> float:
    """The sum of the differences, as Gower has it."""
    total = 0.0
    for a, b in zip(one, other, strict=True):
        total += abs(a - b)
    return total


def length(distance: float, apart: Apart) -> float:
    """What adds up along a way."""
    return math.sqrt(distance) if apart is squared else distance


def mean(points: Sequence[Point]) -> list[float]:
    return [sum(column) / len(points) for column in zip(*points, strict=True)]


def nearest(points: Sequence[Point], among: Iterable[int], where: Point, m: int, apart: Apart = squared) -> list[int]:
    return sorted(among, key=lambda i: (apart(points[i], where), i))[:m]


def farthest(points: Sequence[Point], among: Iterable[int], where: Point, apart: Apart = squared) -> int:
    return min(among, key=lambda i: (-apart(points[i], where), i))


def joined(
    points: Sequence[Point], among: Iterable[int], where: Point, m: int, mixed: Mixed | None, apart: Apart
) -> list[int]:
    """The m that form a group around a point: the nearest, or of the 16 m nearest those of least composite distance."""
    if mixed is None:
        return nearest(points, among, where, m, apart)
    near = nearest(points, among, where, 16 * m, apart)
    group = [near.pop(0)]
    while near and len(group) < m:
        composite = [
            mixed.alpha * (length(apart(points[i], where), apart) * mixed.a_unit)
            + (1.0 - mixed.alpha) * mixed.divergence([*group, i])
            for i in near
        ]
        group.append(near.pop(composite.index(min(composite))))
    return group


def fixed_size(points: Sequence[Point], m: int, mixed: Mixed | None = None, apart: Apart = squared) -> list[list[int]]:
    """MDAV-generic (Domingo-Ferrer and Torra, 2005)."""
    left = set(range(len(points)))
    groups = []
    while len(left) >= 2 * m:
        one = farthest(points, left, mean([points[i] for i in sorted(left)]), apart)
        other = farthest(points, left, points[one], apart) if len(left) >= 3 * m else None
        groups.append(joined(points, left, points[one], m, mixed, apart))
        left -= set(groups[-1])
        if other is not None:
            if other not in left:  # it has joined the first
                other = farthest(points, left, points[one], apart)
            groups.append(joined(points, left, points[other], m, mixed, apart))
            left -= set(groups[-1])
    return [*groups, sorted(left)]


def variable_size(
    points: Sequence[Point], m: int, gamma: float, mixed: Mixed | None = None, apart: Apart = squared
) -> list[list[int]]:
    """V-MDAV (Solanas and Martinez-Balleste, 2006)."""
    middle = mean(points)
    left = set(range(len(points)))
    groups: list[list[int]] = []
    while len(left) >= m:
        group = joined(points, left, points[farthest(points, left, middle, apart)], m, mixed, apart)
        left -= set(group)
        while left and len(group) < 2 * m - 1:
            inside, found = min((apart(points[i], points[member]), i) for i in left for member in group)
            outside = [apart(points[found], points[i]) for i in left - {found}]
            if outside and length(inside, apart) >= gamma * length(min(outside), apart):
                break
            if mixed is not None and mixed.divergence([*group, found]) > mixed.divergence(group):
                break
            group.append(found)
            left.remove(found)
        groups.append(group)
    if not groups:
        return [sorted(left)]
    means = [mean([points[i] for i in sorted(group)]) for group in groups]
    for i in sorted(left):
        groups[min(range(len(groups)), key=lambda g: (apart(points[i], means[g]), g))].append(i)
    return groups
