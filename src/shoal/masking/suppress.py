"""Mask "suppress": a group shows a value that all its records have, and `*` otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Mask
from shoal.masking.ranges import Range
from shoal.table.columns import CategoryColumn
from shoal.table.label_sets import EVERYTHING
from shoal.table.table import QuasiColumn, Table


@dataclass(frozen=True, kw_only=True)
class Suppress(Mask):
    """Show a value only where all records of the group agree on it."""

    name: ClassVar[str] = "suppress"
    form: ClassVar[str] = "agreed"
    title: ClassVar[str] = "Only what a whole group shares"
    sentence: ClassVar[str] = "A group shows only what all of its records share."
    is_in_app: ClassVar[bool] = True
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream"})
    has_scheme: ClassVar[bool] = True

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """What each group shows of a quasi-identifier."""
        if isinstance(column, CategoryColumn):
            start, _, _ = records.categories(column)
            agree = pl.Series(start[1:] - start[:-1] == 1)
        else:
            low, high, n_missing = records.extremes(column)
            agree = pl.Series((low == high) & ((n_missing == 0) | (n_missing == records.n_records)))
        if column.name in records.hidden:
            agree = agree & ~pl.Series(records.hidden[column.name])
        shown = Range().mask(column, records, table)
        return pl.select(pl.when(agree).then(shown).otherwise(pl.lit(EVERYTHING))).to_series()
