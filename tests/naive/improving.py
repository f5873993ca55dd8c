"""What improving groups means, written to be read. Never optimise this file; never import the package here.

A unit is some persons who are alike: where they are (a list of numbers), how far their records are from there (the
blur), their categories, how many persons they are, and how many records each of them has. A group is a list of units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple


class Unit(NamedTuple):
    value: tuple[float, ...]
    blur: tuple[float, ...]
    category: tuple[int, ...]
    persons: int
    count: int

    @property
    def records(self) -> int:
        return self.persons * self.count


class Asked(NamedTuple):
    """What a group must keep to."""

    least_persons: int
    least_records: int
    largest_share: Fraction
    largest_squares: Fraction


Group = Sequence[Unit]


def keeps(asked: Asked, group: Group) -> bool:
    persons, records = sum(unit.persons for unit in group), sum(unit.records for unit in group)
    if persons == 0:
        return False
    squares = sum(unit.persons * Fraction(unit.count, records) ** 2 for unit in group)
    return (
        persons >= asked.least_persons
        and records >= asked.least_records
        and max(Fraction(unit.count, records) for unit in group) <= asked.largest_share
        and squares <= asked.largest_squares
    )


def centre_of(group: Group) -> list[float]:
    """The mean over the records."""
    records = sum(unit.records for unit in group)
    return [sum(unit.records * unit.value[j] for unit in group) / records for j in range(len(group[0].value))]


def share_of_category(group: Group, j: int, category: int) -> float:
    having = sum(unit.records for unit in group if unit.category[j] == category)
    return having / sum(unit.records for unit in group)


def loss(group: Group) -> float:
    """Over persons, how far they are from the centre; of a category, the share of records that have another one."""
    centre = centre_of(group)
    total = 0.0
    for unit in group:
        away = sum(max(abs(v - c), blur) for v, c, blur in zip(unit.value, centre, unit.blur, strict=True))
        away += sum(1 - share_of_category(group, j, own) for j, own in enumerate(unit.category))
        total += unit.persons * away
    return total


def room_for(asked: Asked, group: Group) -> float:
    """How many groups there is room for, as if records were evenly spread over as many persons as they are worth."""
    persons, records = sum(unit.persons for unit in group), sum(unit.records for unit in group)
    worth = records**2 / sum(unit.records * unit.count for unit in group)
    return min(
        persons / asked.least_persons,
        records / asked.least_records,
        worth * float(asked.largest_share),
        worth * float(asked.largest_squares),
    )


def left_over(spread: Sequence[float], room: float) -> float:
    """The least sum of spread_j / g_j, each g_j at least 1 and their product the room: the wide sink to one level."""
    if room <= 1:
        return sum(spread)
    low, high = 0.0, max(spread, default=0.0)
    if high == 0:
        return 0.0
    for _ in range(200):
        level = (low + high) / 2
        slices = 1.0
        for width in spread:
            slices *= max(width / level, 1.0) if level else float("inf")
        low, high = (level, high) if slices > room else (low, level)
    return sum(min(width, high) for width in spread)


def spread_of(group: Group, turned: Callable[[Unit], Sequence[float]]) -> list[float]:
    """The standard deviation over persons in each direction; of a category, how often person and record differ."""
    persons = sum(unit.persons for unit in group)
    spread = []
    for j in range(len(turned(group[0]))):
        mean = sum(unit.persons * turned(unit)[j] for unit in group) / persons
        spread.append((sum(unit.persons * (turned(unit)[j] - mean) ** 2 for unit in group) / persons) ** 0.5)
    for j in range(len(group[0].category)):
        alike = sum(unit.persons * share_of_category(group, j, unit.category[j]) for unit in group) / persons
        spread.append(1 - alike)
    return spread


def promise(asked: Asked, group: Group, share_of_room: float, turned: Callable[[Unit], Sequence[float]]) -> float:
    """What a side of a cut is reckoned to lose once it is cut on."""
    persons = sum(unit.persons for unit in group)
    return persons * left_over(spread_of(group, turned), share_of_room * room_for(asked, group))


def cuts(units: Group, turned: Callable[[Unit], Sequence[float]]) -> list[frozenset[int]]:
    """Every cut, as the places of the units on its left: by a direction, by number of records, by a category."""
    found = []
    directions = [[turned(unit)[j] for unit in units] for j in range(len(turned(units[0])))]
    for key in [*directions, [float(unit.count) for unit in units]]:
        for bound in sorted(set(key))[:-1]:
            found.append(frozenset(i for i, value in enumerate(key) if value <= bound))
    for j in range(len(units[0].category)):
        for category in {unit.category[j] for unit in units}:
            found.append(frozenset(i for i, unit in enumerate(units) if unit.category[j] == category))
    return [cut for cut in found if 0 < len(cut) < len(units)]
