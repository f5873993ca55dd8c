"""Buckets by their definition, person by person: Li and Li (2008), figure 2. Never optimise this file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple


class Person(NamedTuple):
    """The values that somebody has, and those that they cannot have."""

    has: frozenset[int]
    never: frozenset[int]


def may_have(person: Person, other: Person) -> bool:
    return not other.has & person.never


def are_compatible(person: Person, other: Person) -> bool:
    """Definition 2: they have no value in common, and each may have what the other has."""
    return not person.has & other.has and may_have(person, other) and may_have(other, person)


def fits(person: Person, bucket: Sequence[Person]) -> bool:
    return all(are_compatible(person, member) for member in bucket)


def n_incompatible(bucket: Sequence[Person], kinds: Counter[Person]) -> int:
    """NIT: how many of those left are incompatible with somebody in the bucket, from the counts of kinds."""
    return sum(count for kind, count in kinds.items() if not fits(kind, bucket))


def commonest(person: Person, kinds: Counter[Person]) -> int:
    """How many of those left have the commonest value of a person."""
    return max(sum(count for kind, count in kinds.items() if value in kind.has) for value in person.has)


def has_urgent(person: Person, kinds: Counter[Person], size: int) -> bool:
    """Whether every bucket from now on must have a value of this person."""
    return any(value in urgent_values(kinds, size) for value in person.has)


def urgent_values(kinds: Counter[Person], size: int) -> set[int]:
    values = {value for kind, count in kinds.items() if count for value in kind.has}
    left = kinds.total()
    return {v for v in values if sum(n for kind, n in kinds.items() if v in kind.has) * size > left - size}


def deal(persons: Sequence[Person], size: int, order: str) -> tuple[list[list[int]], list[int]]:
    """Buckets of persons, by their numbers, and who is left over."""
    left = list(range(len(persons)))
    buckets: list[list[int]] = []
    over: list[int] = []
    while len(left) >= size:
        kinds = Counter(persons[p] for p in left)
        first = first_of_bucket(persons, left, kinds, size, order)
        bucket = filled(persons, first, left, kinds, size, order)
        if bucket is None and order == "balanced":
            bucket = filled(persons, first, left, kinds, size, "rarest")
        if bucket is None:
            over.append(first)
            left.remove(first)
        else:
            buckets.append(bucket)
            left = [p for p in left if p not in bucket]
    return buckets, sorted(over + left)


def first_of_bucket(persons: Sequence[Person], left: list[int], kinds: Counter[Person], size: int, order: str) -> int:
    if order == "rarest":  # line 3
        return max(left, key=lambda p: (n_incompatible([persons[p]], kinds), -p))
    if order == "balanced":
        return max(left, key=lambda p: (commonest(persons[p], kinds), n_incompatible([persons[p]], kinds), -p))
    if len(urgent_values(kinds, size)) >= size:
        return min(p for p in left if has_urgent(persons[p], kinds, size))
    return min(left)


def filled(
    persons: Sequence[Person], first: int, left: list[int], kinds: Counter[Person], size: int, order: str
) -> list[int] | None:
    """The bucket that begins with somebody, or None where nobody is compatible any more (lines 6 to 15)."""
    bucket = [first]
    while len(bucket) < size:
        inside = [persons[p] for p in bucket]
        compatible = [p for p in left if fits(persons[p], inside)]
        if not compatible:
            return None
        if order == "rarest":  # line 13
            chosen = min(compatible, key=lambda p: (n_incompatible([*inside, persons[p]], kinds), p))
        elif order == "balanced":
            chosen = max(
                compatible,
                key=lambda p: (commonest(persons[p], kinds), n_incompatible([persons[p]], kinds), -p),
            )
        else:
            chosen = min(compatible, key=lambda p: (not has_urgent(persons[p], kinds, size), p))
        bucket.append(chosen)
    return bucket


def fewest_values(group: Sequence[Person]) -> int:
    """The fewest values that must be excluded to exclude all that somebody of a group may have, by trying everything.

    Where everybody has one value it is the fewest values that stay possible for somebody (definition 1).
    """
    possible: list[set[frozenset[int]]] = [set() for _ in group]
    for dealt in permutations([person.has for person in group]):
        if all(not has & person.never for has, person in zip(dealt, group, strict=True)):
            for sets, has in zip(possible, dealt, strict=True):
                sets.add(has)
    return min(fewest_that_hit(sets) for sets in possible)


def fewest_that_hit(sets: set[frozenset[int]]) -> int:
    """The size of the smallest set of values that has one in common with each of some sets."""
    if not sets:
        return 0
    return 1 + min(fewest_that_hit({each for each in sets if value not in each}) for value in min(sets, key=sorted))
