"""By which text a person is known again, written to be read."""

from __future__ import annotations

import re


def plain(value: object) -> str | None:
    """An identifier without white space around it, a whole number without decimals."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    text = str(value).strip()
    whole = re.fullmatch(r"([+-]?[0-9]+)\.0*", text)
    return whole[1] if whole else text


def identifiers(values: list[object]) -> list[str | None]:
    """The plain form of each, and its own text where another value has the same plain form."""
    exact = [None if value is None or value != value else str(value) for value in values]
    exact = [plain(value) if isinstance(value, float) else text for value, text in zip(values, exact, strict=True)]
    owners: dict[str | None, set[str | None]] = {}
    for value, text in zip(values, exact, strict=True):
        owners.setdefault(plain(value), set()).add(text)
    return [plain(value) if len(owners[plain(value)]) == 1 else text for value, text in zip(values, exact, strict=True)]
