"""Counting rows in which a hidden cell matches anything. Never optimise this file; never import the package here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

HIDDEN = "*"


def match(row: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether no column shows two different values."""
    return all(a == b or HIDDEN in (a, b) for a, b in zip(row, other, strict=True))


def matched(rows: Sequence[Sequence[Any]], person_of_row: Sequence[Any]) -> list[tuple[int, int]]:
    """For each row how many persons and records match it, itself included."""
    found = []
    for row in rows:
        others = [person for other, person in zip(rows, person_of_row, strict=True) if match(row, other)]
        found.append((len(set(others)), len(others)))
    return found


def fewest_by_known(rows: Sequence[Sequence[Any]], person_of_row: Sequence[Any], m: int) -> list[int]:
    """For each row the fewest persons who match it in whatever m columns are known."""
    n_columns = len(rows[0])
    sets = list(combinations(range(n_columns), min(m, n_columns)))
    return [
        min(
            len({p for other, p in zip(rows, person_of_row, strict=True) if match(_of(row, s), _of(other, s))})
            for s in sets
        )
        for row in rows
    ]


def _of(row: Sequence[Any], columns: Sequence[int]) -> list[Any]:
    return [row[column] for column in columns]
