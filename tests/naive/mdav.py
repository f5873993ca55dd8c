"""MDAV and V-MDAV as they are defined, written to be read. Never optimise this file; never import the package here.

Points are tuples of whole numbers. Of equal distances the point with the lowest number wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Point = Sequence[float]


def squared(one: Point, other: Point) -> float:
    total = 0.0  # column by column, since `sum` and `**` may round otherwise
    for a, b in zip(one, other, strict=True):
        total += (a - b) * (a - b)
    return total


def mean(points: Sequence[Point]) -> list[float]:
    return [sum(column) / len(points) for column in zip(*points, strict=True)]


def nearest(points: Sequence[Point], among: Iterable[int], where: Point, m: int) -> list[int]:
    return sorted(among, key=lambda i: (squared(points[i], where), i))[:m]


def farthest(points: Sequence[Point], among: Iterable[int], where: Point) -> int:
    return min(among, key=lambda i: (-squared(points[i], where), i))


def fixed_size(points: Sequence[Point], m: int) -> list[list[int]]:
    """MDAV-generic (Domingo-Ferrer and Torra, 2005)."""
    left = set(range(len(points)))
    groups = []
    while len(left) >= 2 * m:
        one = farthest(points, left, mean([points[i] for i in sorted(left)]))
        other = farthest(points, left, points[one]) if len(left) >= 3 * m else None
        groups.append(nearest(points, left, points[one], m))
        left -= set(groups[-1])
        if other is not None:
            if other not in left:  # all that are left lie on one spot
                other = min(left)
            groups.append(nearest(points, left, points[other], m))
            left -= set(groups[-1])
    return [*groups, sorted(left)]


def variable_size(points: Sequence[Point], m: int, gamma: float) -> list[list[int]]:
    """V-MDAV (Solanas and Martinez-Balleste, 2006)."""
    middle = mean(points)
    left = set(range(len(points)))
    groups: list[list[int]] = []
    while len(left) >= m:
        group = nearest(points, left, points[farthest(points, left, middle)], m)
        left -= set(group)
        while left and len(group) < 2 * m - 1:
            inside, found = min((squared(points[i], points[member]), i) for i in left for member in group)
            outside = [squared(points[found], points[i]) for i in left - {found}]
            if outside and inside >= gamma * gamma * min(outside):
                break
            group.append(found)
            left.remove(found)
        groups.append(group)
    if not groups:
        return [sorted(left)]
    means = [mean([points[i] for i in sorted(group)]) for group in groups]
    for i in sorted(left):
        groups[min(range(len(groups)), key=lambda g: (squared(points[i], means[g]), g))].append(i)
    return groups
