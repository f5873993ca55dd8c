"""Moves between groups as they are defined, written to be read. Never optimise this file or import the package here.

A person is a point, a number of records and the records of each class; points are whole numbers, so sums are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.naive.spanning import added, jsd


class Someone(NamedTuple):
    point: tuple[int, ...]
    records: int
    classes: tuple[int, ...]


People = Sequence[Someone]


def divergence_weight(members: list[int], people: People, whole: Sequence[float]) -> float:
    """Records times divergence from the classes of the table."""
    classes = added([people[i].classes for i in members])
    return sum(classes) * jsd(classes, whole)


def squared_to_mean(i: int, members: list[int], people: People) -> float:
    records = sum(people[j].records for j in members)
    total = 0.0
    for column, value in enumerate(people[i].point):
        away = value - sum(people[j].records * people[j].point[column] for j in members) / records
        total += away * away
    return total


def squares_inside(groups: Sequence[list[int]], people: People) -> float:
    """The sum over records of squared distances to the mean of their group."""
    return sum(people[i].records * squared_to_mean(i, members, people) for members in groups for i in members)


def n_classes(members: list[int], people: People) -> int:
    return sum(count > 0 for count in added([people[i].classes for i in members]))


def move_nearer(
    groups: list[list[int]], people: People, whole: Sequence[float], m: int, passes: int
) -> tuple[list[list[int]], int]:
    """Everybody in turn goes where it takes most off the squares, if allowed; the groups, and how many moved."""
    groups = [list(members) for members in groups]
    n_moves = 0
    for _ in range(passes):
        for i in range(len(people)):
            own = next(members for members in groups if i in members)
            left = [j for j in own if j != i]
            if len(left) < m or (n_classes(left, people) == 1 and n_classes(own, people) > 1):
                continue
            weight, records = people[i].records, sum(people[j].records for j in own)
            taken_off = weight * records / (records - weight) * squared_to_mean(i, own, people)
            best, best_group = 0.0, None
            for other in groups:
                if other is own or len(other) >= 2 * m - 1:
                    continue
                there = sum(people[j].records for j in other)
                change = weight * there / (there + weight) * squared_to_mean(i, other, people) - taken_off
                before = divergence_weight(own, people, whole) + divergence_weight(other, people, whole)
                after = divergence_weight(left, people, whole) + divergence_weight([*other, i], people, whole)
                if change < best and after <= before:
                    best, best_group = change, other
            if best_group is not None:
                own.remove(i)
                best_group.append(i)
                n_moves += 1
    return groups, n_moves
