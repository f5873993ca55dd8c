"""Tables for formats that know fewer types than a frame: what has no type there becomes text, as in a CSV file."""

from __future__ import annotations

import numpy as np
import polars as pl

LARGEST_EXACT_INTEGER = 2**53
"""Up to here every whole number is a number of its own in 64-bit floats."""


def in_fewer_types(column: pl.Series) -> pl.Series:
    """A column as 64-bit floats, whole numbers that these hold, truths, dates, times without a zone, or texts."""
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    if kind.is_integer():
        large = column.drop_nulls().cast(pl.Int128).abs() > LARGEST_EXACT_INTEGER
        return column.cast(pl.String if large.any() else pl.Int64)
    if kind.is_decimal():
        floats = column.cast(pl.Float64)
        is_exact = floats.cast(kind, strict=False).equals(column, null_equal=True, check_names=False)
        return floats if is_exact else column.cast(pl.String)
    if kind == pl.Float32:
        return column.cast(pl.Float64)
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return column.cast(pl.String)
    return column


def as_whole_numbers(column: pl.Series) -> pl.Series:
    """Floats as whole numbers where each of them is one; other columns as they are."""
    present = column.drop_nulls().to_numpy()
    if not len(present) or not np.isfinite(present).all() or (np.abs(present) > LARGEST_EXACT_INTEGER).any():
        return column
    return column.cast(pl.Int64) if (present == np.rint(present)).all() else column
