"""Matching, written to be read: every way to give values away is tried. Never optimise this file."""

from __future__ import annotations

from collections.abc import Sequence


def matching_size(values_of_person: Sequence[set[int]]) -> int:
    """How many persons can each be given a different value of their own."""
    return _most(list(values_of_person), frozenset())


def _most(values_of_person: list[set[int]], taken: frozenset[int]) -> int:
    if not values_of_person:
        return 0
    first, others = values_of_person[0], values_of_person[1:]
    without = _most(others, taken)
    return max([without] + [1 + _most(others, taken | {value}) for value in first - taken])
