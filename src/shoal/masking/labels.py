"""Numbers, dates and categories as text: what a group shows instead of its values."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.columns import CategoryColumn

EVERYTHING = "*"
MISSING = "missing"


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
