"""The elimination attack, written to be read. Never optimise this file; never import the package here.

A group is a list of members, each the set of their values: (attribute, value).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Member = frozenset[tuple[str, object]]


def all_values(group: Sequence[Member]) -> list[tuple[str, object]]:
    return sorted(set().union(*group), key=repr)


def left_over(group: Sequence[Member], excluded: Sequence[tuple[str, object]]) -> list[int]:
    """The members who have none of the excluded values."""
    return [number for number, member in enumerate(group) if not member & set(excluded)]


def learned(group: Sequence[Member], e: int) -> list[set[tuple[str, object]]]:
    """For each member the values that become known by excluding at most e values."""
    known: list[set[tuple[str, object]]] = [set() for _ in group]
    for size in range(e + 1):
        for excluded in combinations(all_values(group), size):
            left = left_over(group, excluded)
            for member in left:
                known[member] |= frozenset.intersection(*(group[other] for other in left))
    return known


def smallest_deletion(group: Sequence[Member]) -> int:
    """The fewest values whose deletion deletes every member."""
    return next(
        size
        for size in range(len(group) + 1)
        for deleted in combinations(all_values(group), size)
        if not left_over(group, deleted)
    )
