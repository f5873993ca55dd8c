"""Numbers, dates and categories as text: what a group shows instead of its values."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.columns import CategoryColumn, NumberColumn

EVERYTHING = "*"
MISSING = "missing"


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


def between(low: pl.Series, high: pl.Series, *, spaced: bool) -> pl.Series:
    """Ranges: 84-86, or -5 to -2 where a dash could be mistaken (`spaced`); a single value stays itself."""
    joined = low + (" to " if spaced else "-") + high
    return joined.zip_with(low != high, low)


def or_missing(labels: pl.Series, n_missing: NDArray[np.int64], n_records: NDArray[np.int64]) -> pl.Series:
    """Labels of groups in which some records miss the value ("84-86 or missing") or all do (null)."""
    some = pl.Series(n_missing > 0)
    every = pl.Series(n_missing == n_records)
    labels = (labels + f" or {MISSING}").zip_with(some & ~every, labels)
    return pl.select(pl.when(every).then(None).otherwise(labels)).to_series()


def names_of_codes(column: CategoryColumn) -> list[str]:
    """The text of each category, missing last."""
    names = column.categories.cast(pl.String).to_list()
    return [*names, MISSING] if column.has_missing else names
