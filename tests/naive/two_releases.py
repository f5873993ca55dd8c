"""Two releases of ranges laid over one another, written to be read. Never import the package here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Range = tuple[int, int]


def fitting(values: Sequence[int], groups: Sequence[Range]) -> set[int]:
    """The groups whose range holds all values of a person."""
    return {number for number, (low, high) in enumerate(groups) if all(low <= value <= high for value in values)}


def candidates(person: str, values_of: Mapping[str, Sequence[int]], groups: Sequence[Range]) -> set[str]:
    """Who fits a group that fits a person."""
    own = fitting(values_of[person], groups)
    return {other for other, values in values_of.items() if fitting(values, groups) & own}


def chance(
    person: str,
    first: tuple[Mapping[str, Sequence[int]], Sequence[Range]],
    second: tuple[Mapping[str, Sequence[int]], Sequence[Range]],
) -> float:
    """One over the number of persons who fit in both releases."""
    return 1 / len(candidates(person, *first) & candidates(person, *second))
