"""What is lost of a column, as somebody computes it who has release, codebook and original: written to be read."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import Any

EVERYTHING = "*"
OR_MISSING = " or missing"


def as_number(value: Any, order: tuple[str, ...]) -> Fraction:
    """A number, a date in days, or a category's place in its order."""
    if order:
        return Fraction(order.index(str(value)))
    if isinstance(value, date):
        return Fraction(value.toordinal())
    text = str(value)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return Fraction(date.fromisoformat(text).toordinal())
    return Fraction(text)


def ends_of(text: str, order: tuple[str, ...]) -> tuple[Fraction, Fraction]:
    """The two ends of a range, or one value twice."""
    for between in (" to ", "-"):
        for at in [place for place in range(len(text)) if text.startswith(between, place)]:
            low, high = text[:at], text[at + len(between) :]
            try:
                return as_number(low, order), as_number(high, order)
            except ValueError:
                continue
    return as_number(text, order), as_number(text, order)


def losses_of_numbers(
    own: list[Any], shown: list[Any], *, step: Fraction, order: tuple[str, ...] = (), is_point: bool = False
) -> list[Fraction]:
    """For each record, the share of the column's other values that its cell leaves open, or how far the cell is off.

    `step` is the distance between neighbouring values. A missing value is one more value of the column.
    """
    numbers = [as_number(value, order) for value in own if value is not None]
    lowest, highest = min(numbers), max(numbers)
    has_missing = any(value is None for value in own)
    n_values = (highest - lowest) / step + 1 + has_missing
    losses = []
    for value, cell in zip(own, shown, strict=True):
        if is_point:
            if value is None or cell is None:
                losses.append(Fraction((value is None) != (cell is None)))
            else:
                off = abs(as_number(value, order) - as_number(cell, order))
                losses.append(min(off / (highest - lowest), Fraction(1)))
        elif cell is None:
            losses.append(Fraction(0))
        elif str(cell).removesuffix(OR_MISSING) == EVERYTHING:
            losses.append(Fraction(1))
        else:
            low, high = ends_of(str(cell).removesuffix(OR_MISSING), order)
            possible = (high - low) / step + 1 + str(cell).endswith(OR_MISSING)
            losses.append((possible - 1) / (n_values - 1))
    return losses


def losses_of_categories(own: list[Any], shown: list[Any], *, is_point: bool = False) -> list[Fraction]:
    """The same for categories: sets in braces, of names without commas."""
    values = {"missing" if value is None else str(value) for value in own}
    losses = []
    for value, cell in zip(own, shown, strict=True):
        if is_point:
            losses.append(Fraction(value != cell))
        elif cell is None:
            losses.append(Fraction(0))
        elif cell == EVERYTHING:
            losses.append(Fraction(1))
        else:
            members = cell[1:-1].split(", ") if cell.startswith("{") else [cell]
            losses.append(Fraction(len(members) - 1, max(len(values) - 1, 1)))
    return losses


def losses_of_nodes(own: list[Any], shown: list[Any], paths: list[tuple[str, ...]]) -> list[Fraction]:
    """The same for nodes of a hierarchy, whose values are the first of each path."""
    has_missing = any(value is None for value in own)
    losses = []
    for cell in shown:
        if cell is None:
            losses.append(Fraction(0))
        elif cell.removesuffix(OR_MISSING) in (EVERYTHING, paths[0][-1]):
            losses.append(Fraction(1))
        else:
            text = cell.removesuffix(OR_MISSING)
            nodes = text[1:-1].split(", ") if text.startswith("{") else [text]
            below = {path[0] for path in paths for node in nodes if node in path}
            possible = len(below) + cell.endswith(OR_MISSING)
            losses.append(Fraction(possible - 1, len(paths) - 1 + has_missing))
    return losses
