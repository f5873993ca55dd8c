"""The units of a number column: added up over records such that sums are exact within 64 bits, and as text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.coding import Coding
from shoal.table.columns import NumberColumn

MOST_BITS = 62
FINE_STEPS = 2**40
"""Where sums would need more bits, units are rounded to so many steps from the lowest to the highest."""


class Scale(NamedTuple):
    """From where units are counted, and how far they reach without missing ones."""

    lowest: int
    low: int
    high: int
    given: tuple[int, int, int] | None = None
    """The lowest unit and the extent of the column, where units are rounded."""
    missing_at: int = 0
    """Where a missing value stands: one whole extent below the lowest number."""

    @classmethod
    def of(cls, column: NumberColumn, most_records: int) -> Scale:
        """The scale of a column, where nobody has more than `most_records` records.

        Only the lowest and the highest unit count, and whether one is missing: a column that has these says it all.
        """
        low, high = column.extent
        missing_at = low - max(high - low, 1)
        units = column.units_with_missing()
        lowest, highest = int(units.min()), int(units.max())
        if (highest - lowest).bit_length() + most_records.bit_length() > MOST_BITS:
            return cls(0, 0, FINE_STEPS, (lowest, low, high), missing_at)
        return cls(lowest, low, high, None, missing_at)

    def units_of(self, column: NumberColumn) -> NDArray[np.int64]:
        """The units of a column, or of a portion of it, with missing ones in their place."""
        units = column.units
        if column.is_missing is not None:
            units = np.where(column.is_missing, self.missing_at, units)
        if self.given is None:
            return units
        lowest, _, high = self.given
        rounded: NDArray[np.int64] = np.rint((units - float(lowest)) / (float(high) - lowest) * 2.0**40).astype(
            np.int64
        )
        return rounded

    def steps_per_unit(self, grid: int) -> float:
        """How many steps of a grid over the extent one unit is."""
        return grid / max(self.high - self.low, 1)


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


def codes_in_units(column: NumberColumn, coding: Coding) -> tuple[float | None, float | None]:
    """The bottom and the top code of a column in its units, or in its floats where it keeps these."""

    def unit(code: float | str | None, whole: Callable[[Fraction], int]) -> float | None:
        if code is None or column.floats is not None:
            return code  # type: ignore[return-value]
        if isinstance(code, str):
            return date.fromisoformat(code).toordinal() - date(1970, 1, 1).toordinal()
        return whole(Fraction(str(code)) * 10**column.decimals)

    return unit(coding.bottom, floor), unit(coding.top, ceil)


def _as_decimals(units: pl.Series, decimals: int) -> pl.Series:
    """Whole units as decimals: -1250 with 3 decimals is -1.25."""
    digits = units.abs().cast(pl.String).str.zfill(decimals + 1)
    texts = digits.str.head(-decimals) + "." + digits.str.tail(decimals)
    texts = texts.str.strip_chars_end("0").str.strip_chars_end(".")
    return ("-" + texts).zip_with(units < 0, texts)


def texts_of_floats(floats: NDArray[np.float64]) -> pl.Series:
    """Floats in their shortest form."""
    return pl.Series(floats, dtype=pl.Float64).cast(pl.String).str.replace(r"\.0$", "")
