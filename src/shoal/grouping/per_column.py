"""Options that have a number for each of some columns, written as "age=2,zip=1"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import ParameterError, did_you_mean

PerColumn = str | Mapping[str, float] | None
"""A number for some columns, as "age=2,zip=1" or by name."""


def written(given: Any) -> Any:
    """As policies and flags have it."""
    if isinstance(given, Mapping):
        return ",".join(f"{column}={value:g}" for column, value in given.items())
    return given


def by_column(what: str, given: Any) -> dict[str, float]:
    """A number for each column that is named."""
    found: dict[str, float] = {}
    for part in (given or "").split(","):
        if not part.strip():
            continue
        name, _, number = part.rpartition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise ParameterError(f"{what} is written as column=number, separated by commas: age=2,zip=1.") from None
        if not name.strip() or not 0 <= found[name.strip()] < 1e9:
            raise ParameterError(f"{what} is written as column=number, with numbers of at least 0: age=2,zip=1.")
    return found


def of_columns(what: str, given: Any, names: Sequence[str]) -> dict[str, float]:
    """The same, where all that are named are quasi-identifiers."""
    found = by_column(what, given)
    for name in found:
        if name not in names:
            raise ParameterError(
                f"{what} names '{name}', which is not a quasi-identifier. These are: {', '.join(names)}."
                f"{did_you_mean(name, names)}"
            )
    return found
