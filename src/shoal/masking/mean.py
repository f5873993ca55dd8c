"""Mask "mean": a group shows the mean of its numbers and its most frequent category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Mask
from shoal.masking.ranges import names_of_codes
from shoal.table.coding import within_codes
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import QuasiColumn, Table
from shoal.table.units import texts_of_units

MORE_DECIMALS = 2


@dataclass(frozen=True, kw_only=True)
class Mean(Mask):
    """Show the mean over a group's records: for numbers with two decimals more than the column has.

    Notes
    -----
    Dates and ordered categories show the one nearest to the mean; nominal columns the most frequent category (of
    equally frequent ones the first). A group whose records all miss the value shows a missing value.
    """

    name: ClassVar[str] = "mean"
    form: ClassVar[str] = "mean"
    title: ClassVar[str] = "Means and commonest values"
    sentence: ClassVar[str] = "A group shows the mean of its numbers and its commonest category."
    is_in_app: ClassVar[bool] = True
    changes_numbers: ClassVar[bool] = True
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})
    has_scheme: ClassVar[bool] = True

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """What each group shows of a quasi-identifier."""
        if isinstance(column, CategoryColumn):
            return _most_frequent(column, records)
        means, counts = records.means(column)
        rounded = {column.name: self._shown(column, pl.Series(means))}
        shown = within_codes(rounded, table.schema.codings)[column.name]
        return pl.select(pl.when(pl.Series(counts > 0)).then(shown)).to_series()

    def _shown(self, column: NumberColumn, means: pl.Series) -> pl.Series:
        if column.kind in ("date", "ordered"):
            return texts_of_units(column, means.round(0).cast(pl.Int64).to_numpy())
        if column.floats is not None:
            return means.round_sig_figs(6)
        decimals = column.decimals + MORE_DECIMALS
        return (means / 10.0**column.decimals).round(decimals)


def _most_frequent(column: CategoryColumn, records: GroupedRecords) -> pl.Series:
    start, codes, counts = records.categories(column)
    group = np.repeat(np.arange(records.n_groups), np.diff(start))
    first = np.lexsort((codes, -counts, group))[start[:-1]]
    names: list[str | None] = [*names_of_codes(column)]
    if column.has_missing:
        names[-1] = None
    return pl.Series(names, dtype=pl.String).gather(codes[first])
