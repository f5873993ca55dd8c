"""Options that name columns: "age,zip", or with a number for each of them, "age=2,zip=1"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, did_you_mean
from shoal.parts import option
from shoal.table.table import Table

Columns = str | Sequence[str] | None
"""Names of columns, as "age,income" or one by one; None where nobody names any."""
STRATA = option("The columns inside whose values it is done, each stratum by itself.", metavar="C,C")
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


def written_names(names: Any) -> Any:
    """Names of columns as policies and flags have them."""
    if names is None or isinstance(names, str) or not isinstance(names, Iterable):
        return names
    names = [str(name) for name in names]
    for name in names:
        if any(sign in name for sign in ",:;"):
            raise ParameterError(f"The column '{name}' has a comma, a colon or a semicolon in its name: rename it.")
    return ",".join(names)


def names_in(text: str | None) -> list[str]:
    """The names of columns in a text."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def strata_of(table: Table, names: Sequence[str], what: str) -> tuple[NDArray[np.int64], int]:
    """The stratum of each record by the values of columns, numbered from 0, and how many there are."""
    unknown = [name for name in names if name not in table.frame.columns]
    if unknown:
        raise ParameterError(
            f"The {what} has strata by '{unknown[0]}', but the table has no such column.\n"
            f"Its columns are: {', '.join(table.frame.columns)}.{did_you_mean(unknown[0], table.frame.columns)}"
        )
    if not names:
        return np.zeros(table.n_records, np.int64), 1
    stratum = table.frame.select(pl.struct(names).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    return stratum, int(stratum.max()) + 1
