"""Counting inside groups, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

import math
from collections import Counter


def numbers_of_distinct(keys: list[int]) -> tuple[list[int], int]:
    """Equal keys get equal numbers, in the order in which they first appear."""
    number_of_key: dict[int, int] = {}
    for key in keys:
        number_of_key.setdefault(key, len(number_of_key))
    return [number_of_key[key] for key in keys], len(number_of_key)


def spread(records_of_person: list[int]) -> tuple[int, int, int, int, float]:
    """Persons, records, squared records, most records and the sum of c log2 c."""
    return (
        len(records_of_person),
        sum(records_of_person),
        sum(own**2 for own in records_of_person),
        max(records_of_person, default=0),
        math.fsum(own * math.log2(own) for own in records_of_person),
    )


def spread_of_group(records: list[tuple[int, int]], group: int) -> tuple[int, int, int, int, float]:
    """The spread of one group of (group, person) records."""
    return spread(list(Counter(person for g, person in records if g == group).values()))


def values_of_group(records: list[tuple[int, int, int]], group: int) -> list[tuple[int, int, int]]:
    """The (value, records, persons) of one group of (group, person, value) records, by value."""
    inside = [(person, value) for g, person, value in records if g == group]
    return [
        (value, sum(v == value for _, v in inside), len({p for p, v in inside if v == value}))
        for value in sorted({value for _, value in inside})
    ]


def persons_with_own(records: list[tuple[object, object, object]]) -> set[object]:
    """Of (group, person, value) records: the persons who have, in some group, a value that nobody else in it has."""
    return {
        person
        for group, person, value in records
        if all(other == person for g, other, v in records if (g, v) == (group, value))
    }


def pairs_of_group(records: list[tuple[int, int, int]], group: int) -> set[tuple[int, int]]:
    """The different (person, value) pairs of one group."""
    return {(person, value) for g, person, value in records if g == group}


def summary_of_values(records: list[tuple[object, int]]) -> tuple[int, int, int, int]:
    """Of (person, value) records: most persons and most records of a value, different values, person-value pairs."""
    values = {value for _, value in records}
    return (
        max((len({p for p, v in records if v == value}) for value in values), default=0),
        max((sum(v == value for _, v in records) for value in values), default=0),
        len(values),
        len(set(records)),
    )


def extremes_of_group(units: list[int | None], group_of_record: list[int], group: int) -> tuple[set[int], int]:
    """The lowest and the highest unit of a group, as far as there are any, and how many records miss it."""
    inside = [unit for unit, g in zip(units, group_of_record, strict=True) if g == group]
    present = [unit for unit in inside if unit is not None]
    return {min(present), max(present)} if present else set(), len(inside) - len(present)


def shuffled(words: list[int]) -> list[int]:
    """Fisher and Yates: from the last place down, change with a place chosen by the word of 64 random bits."""
    order = list(range(len(words)))
    for i in range(len(words) - 1, 0, -1):
        chosen = words[i] * (i + 1) // 2**64
        order[i], order[chosen] = order[chosen], order[i]
    return order


def numbered(keys):
    """Equal keys get equal numbers, in the order in which they first appear."""
    number_of = {}
    return [number_of.setdefault(key, len(number_of)) for key in keys]


def counted(keys):
    """Every key, ascending, and how often it occurs."""
    return sorted((key, keys.count(key)) for key in set(keys))


def first_groups(groups, persons):
    """The group in which each person is seen first, and who is seen in another one too."""
    first, several = {}, set()
    for group, person in zip(groups, persons, strict=True):
        if first.setdefault(person, group) != group:
            several.add(person)
    return first, several
