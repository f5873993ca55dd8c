"""The values of an ordered column as text."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.columns import NumberColumn


def texts_of_units(column: NumberColumn, units: NDArray[np.int64]) -> pl.Series:
    """Units of an ordered column as the text that stands for them: 84, 1.5, 02139, 2024-12-31, secondary."""
    whole = pl.Series(units, dtype=pl.Int64)
    if column.categories:
        return pl.Series(column.categories, dtype=pl.String).gather(whole)
    if column.kind == "date":
        return whole.cast(pl.Int32).cast(pl.Date).cast(pl.String)
    if column.decimals:
        return _as_decimals(whole, column.decimals)
    return whole.cast(pl.String).str.zfill(column.width) if column.width else whole.cast(pl.String)


def _as_decimals(units: pl.Series, decimals: int) -> pl.Series:
    """Whole units as decimals: -1250 with 3 decimals is -1.25."""
    digits = units.abs().cast(pl.String).str.zfill(decimals + 1)
    texts = digits.str.head(-decimals) + "." + digits.str.tail(decimals)
    texts = texts.str.strip_chars_end("0").str.strip_chars_end(".")
    return ("-" + texts).zip_with(units < 0, texts)


def texts_of_floats(floats: NDArray[np.float64]) -> pl.Series:
    """Floats in their shortest form."""
    return pl.Series(floats, dtype=pl.Float64).cast(pl.String).str.replace(r"\.0$", "")
