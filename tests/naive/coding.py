"""Coding of values, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

Record = tuple[Hashable, Any]
"""A person and a value, None where it is missing."""


def top_code(records: Sequence[Record], k: int) -> Any:
    """The largest value such that at least k persons have it or a larger one; None where there is none."""
    fits = [value for value in {value for _, value in records if value is not None} if persons_at(records, value) >= k]
    return max(fits, default=None)


def persons_at(records: Sequence[Record], code: Any) -> int:
    """How many persons have a value, or a larger one."""
    return len({person for person, value in records if value is not None and value >= code})


def bottom_code(records: Sequence[Record], k: int) -> Any:
    """The smallest value such that at least k persons have it or a smaller one; None where there is none."""
    code = top_code([(person, None if value is None else -value) for person, value in records], k)
    return None if code is None else -code


def coded(value: Any, bottom: Any, top: Any) -> Any:
    """A value beyond a code becomes the code; a missing one stays missing."""
    if value is None:
        return None
    if bottom is not None and value < bottom:
        return bottom
    return top if top is not None and value > top else value


def shown_categories(records: Sequence[Record], k: int, other: str) -> set[str]:
    """The categories that stay: at least k persons have each, and at least k have one of the rest, or nobody has."""
    persons: dict[str, set[Hashable]] = {}
    for person, value in records:
        if value is not None:
            persons.setdefault(value, set()).add(person)
    rest = {value for value, own in persons.items() if len(own) < k or value == other}
    while rest and len(set().union(*(persons[value] for value in rest))) < k and len(rest) < len(persons):
        rest.add(min((len(own), value) for value, own in persons.items() if value not in rest)[1])
    return set(persons) - rest
