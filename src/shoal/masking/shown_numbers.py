"""Numbers that a mask has changed, as a column shows them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.masking.mean import MORE_DECIMALS
from shoal.table.columns import NumberColumn
from shoal.table.units import texts_of_units


def scaled(column: NumberColumn) -> NDArray[np.float64]:
    """The values of a column scaled to [0, 1]; a constant is 0."""
    low, high = column.extent
    return np.asarray((column.units - low) / max(high - low, 1))


def shown_numbers(column: NumberColumn, masked: NDArray[np.float64], *, to_domain: bool) -> pl.Series:
    """Masked values, scaled to [0, 1], in the column's own unit.

    Parameters
    ----------
    to_domain
        Whether they are rounded and clipped to what the column can hold. Dates and ordered categories always are
        rounded, and ordered categories clipped.
    """
    if to_domain:
        masked = np.clip(masked, 0.0, 1.0)
    if column.floats is not None:
        low, high = column.ends
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return pl.Series(np.clip(low * (1 - masked) + high * masked, -most, most)).round_sig_figs(6)
    lowest, highest = column.extent
    units = lowest + masked * (highest - lowest)
    if column.kind == "ordered":
        units = np.clip(units, 0, len(column.categories) - 1)
    if column.kind in ("date", "ordered") or (to_domain and column.width):
        return texts_of_units(column, np.rint(units).astype(np.int64))
    if to_domain and not column.decimals:
        return pl.Series(np.rint(units).astype(np.int64))
    decimals = column.decimals if to_domain else column.decimals + MORE_DECIMALS
    return pl.Series(units / 10.0**column.decimals).round(decimals)
