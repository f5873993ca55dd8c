"""The records of a table by group, as masks need them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.kernels import counting
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import Table

Extremes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

NOT_MISSING = np.zeros(1, dtype=np.bool_)

DENSE = 4
"""Where groups times categories are at most so many times as many as records, all are counted side by side."""


@dataclass(frozen=True)
class GroupedRecords:
    """Which group each record is in."""

    group_of_record: NDArray[np.int32]
    n_groups: int
    levels: Mapping[str, int] = field(default_factory=dict)
    """The lowest level that is shown of a quasi-identifier, where one is for all (`Grouping.levels`)."""
    hidden: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Which groups hide a quasi-identifier, also where all their records agree (`Grouping.hidden`)."""
    _extremes: dict[int, tuple[NumberColumn, Extremes]] = field(default_factory=dict, repr=False, compare=False)
    """What was found already, by the column's identity."""

    @classmethod
    def of(cls, table: Table, grouping: Grouping) -> GroupedRecords:
        """The records of a table, grouped."""
        return cls(grouping.group_of_record(table), grouping.n_groups, grouping.levels, grouping.hidden)

    def level_of(self, column: NumberColumn | CategoryColumn) -> int:
        """The lowest level that is shown of a quasi-identifier."""
        return self.levels.get(column.name, 0)

    @cached_property
    def n_records(self) -> NDArray[np.int64]:
        """How many records each group has."""
        return np.bincount(self.group_of_record, minlength=self.n_groups).astype(np.int64)

    def extremes(self, column: NumberColumn) -> Extremes:
        """The lowest and the highest unit of each group, and how many records miss the value.

        Where all do, lowest and highest are the column's lowest unit, so that they are units all the same.
        """
        if id(column) not in self._extremes:
            self._extremes[id(column)] = column, self._found_extremes(column)
        low, high, n_missing = self._extremes[id(column)][1]
        return low.copy(), high.copy(), n_missing.copy()

    def _found_extremes(self, column: NumberColumn) -> Extremes:
        is_missing = column.is_missing if column.is_missing is not None else NOT_MISSING
        low, high, n_missing = counting.extremes_of_groups(
            column.units, is_missing, column.is_missing is not None, self.group_of_record, self.n_groups
        )
        nothing = n_missing == self.n_records
        low[nothing] = high[nothing] = column.extent[0]
        return low, high, n_missing

    def ends(self, column: NumberColumn) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """The lowest and the highest value of each group, in units or floats, and how many records miss it."""
        low, high, n_missing = self.extremes(column)
        if column.floats is None:
            return low, high, n_missing
        present = np.ones(len(column.units), np.bool_) if column.is_missing is None else ~column.is_missing
        float_low, float_high = np.full(self.n_groups, np.inf), np.full(self.n_groups, -np.inf)
        np.minimum.at(float_low, self.group_of_record[present], column.floats[present])
        np.maximum.at(float_high, self.group_of_record[present], column.floats[present])
        return float_low, float_high, n_missing

    def n_missing(self, column: NumberColumn | CategoryColumn) -> NDArray[np.int64]:
        """How many records of each group miss the value."""
        if isinstance(column, CategoryColumn):
            start, codes, counts = self.categories(column)
            group = np.repeat(np.arange(self.n_groups), np.diff(start))
            missing = codes == len(column.categories)
            return np.bincount(group[missing], weights=counts[missing], minlength=self.n_groups).astype(np.int64)
        return self.extremes(column)[2]

    def means(self, column: NumberColumn) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The mean of units (or floats) of each group, 0 where there is none, and how many records have one."""
        present = np.ones(len(column.units)) if column.is_missing is None else (~column.is_missing).astype(np.float64)
        counts = np.bincount(self.group_of_record, weights=present, minlength=self.n_groups).astype(np.int64)
        sizes = np.maximum(counts, 1)
        if column.floats is not None:  # each divided first, since sums of floats may exceed every float
            shares = on_grid(column.floats * present / sizes[self.group_of_record], column)
            means = np.bincount(self.group_of_record, weights=shares, minlength=self.n_groups)
            return means.astype(np.float64), counts
        sums = np.bincount(self.group_of_record, weights=column.units * present, minlength=self.n_groups)
        return sums / sizes, counts

    def categories(self, column: CategoryColumn) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The categories of each group, ascending, and how many records have them: starts, codes, records."""
        if self.n_groups * column.n_codes <= DENSE * len(self.group_of_record):
            counts = np.bincount(self.group_of_record.astype(np.int64) * column.n_codes + column.codes)
            found = np.flatnonzero(counts)
            group, code = np.divmod(found, column.n_codes)
            return np.searchsorted(group, np.arange(self.n_groups + 1)), code, counts[found].astype(np.int64)
        everything = np.arange(len(self.group_of_record), dtype=np.int32)
        order = counting.order_by_code(self.group_of_record, self.n_groups, everything)
        start, codes, records, _ = counting.values_of_groups(
            order, self.group_of_record, column.codes, self.group_of_record, self.n_groups
        )
        return start, codes, records


def on_grid(shares: NDArray[np.float64], column: NumberColumn) -> NDArray[np.float64]:
    """Shares of means on so coarse a grid that their sums are exact, in whatever order they are added up.

    The shares of a group add up to no more than the largest value of the column, at most 2^52 steps of the grid.
    """
    assert column.floats is not None
    present = column.floats if column.is_missing is None else column.floats[~column.is_missing]
    largest = float(np.abs(present).max(initial=0.0))
    step = math.ldexp(1.0, max(math.frexp(largest)[1] - 52, -1074))
    return np.rint(shares / step) * step if largest > 0 else shares
