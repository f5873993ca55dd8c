"""Mask "range": a group shows the range of its numbers and the set of its categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.masking.grouped import GroupedRecords
from shoal.masking.labels import EVERYTHING, between, names_of_codes, or_missing, texts_of_floats, texts_of_units
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.table import QuasiColumn, Table


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Show 84-86 for numbers, {a, b} for categories, `*` where every category is covered.

    Parameters
    ----------
    code_extremes
        Where only one person has the lowest or highest value of a column, show the ranges that end there as "17 or
        less" or "at least 90", open where that person's value would stand.

    Notes
    -----
    A column with a hierarchy shows the lowest common ancestor of a group's values. A missing value is shown as such:
    "84-86 or missing". A single value stays itself.
    """

    code_extremes: bool = False
    name: ClassVar[str] = "range"

    def __post_init__(self) -> None:
        if not isinstance(self.code_extremes, bool):
            raise ParameterError("code_extremes must be true or false.")

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """What each group shows of a quasi-identifier."""
        if column.source is not None and column.source.hierarchy is not None:
            return _ancestors(column, column.source.hierarchy, records)
        if isinstance(column, CategoryColumn):
            return _sets(column, records)
        return self._ranges(column, records, table)

    def _ranges(self, column: NumberColumn, records: GroupedRecords, table: Table) -> pl.Series:
        low, high, n_missing = records.extremes(column)
        lowest, highest = column.extent
        spaced = column.kind != "number" or _has_negative(column)
        if column.floats is not None:
            labels = between(*_float_ends(column, records), spaced=spaced)
        else:
            labels = between(texts_of_units(column, low), texts_of_units(column, high), spaced=spaced)
        if column.categories and lowest == 0 and highest == len(column.categories) - 1:
            covered = pl.Series((low == lowest) & (high == highest) & (low != high))
            labels = pl.select(pl.when(covered).then(pl.lit(EVERYTHING)).otherwise(labels)).to_series()
        if self.code_extremes and column.floats is None:
            labels = _code_extremes(column, table, low, high, labels)
        return or_missing(labels, n_missing, records.n_records)


def _has_negative(column: NumberColumn) -> bool:
    if column.floats is not None:
        return bool((column.floats < 0).any())
    return column.extent[0] < 0


def _float_ends(column: NumberColumn, records: GroupedRecords) -> tuple[pl.Series, pl.Series]:
    assert column.floats is not None
    present = np.ones(len(column.floats), np.bool_) if column.is_missing is None else ~column.is_missing
    low, high = np.full(records.n_groups, np.inf), np.full(records.n_groups, -np.inf)
    np.minimum.at(low, records.group_of_record[present], column.floats[present])
    np.maximum.at(high, records.group_of_record[present], column.floats[present])
    return texts_of_floats(low), texts_of_floats(high)


def lone_extremes(column: NumberColumn, table: Table) -> tuple[int | None, int | None]:
    """Where only one person has the lowest (highest) value: the nearest value to it that another person has too.

    None where the extreme belongs to two persons or more.
    """
    persons = table.person_of_record
    present = np.arange(len(column.units)) if column.is_missing is None else np.flatnonzero(~column.is_missing)
    units = column.units[present]
    found: list[int | None] = []
    for extreme, nearest in ((units.min(), np.min), (units.max(), np.max)):
        owners = np.unique(persons[present][units == extreme])
        if len(owners) > 1:
            found.append(None)
            continue
        others = units[persons[present] != owners[0]]
        found.append(int(nearest(others)) if len(others) else None)
    return found[0], found[1]


def _code_extremes(
    column: NumberColumn, table: Table, low: NDArray[np.int64], high: NDArray[np.int64], labels: pl.Series
) -> pl.Series:
    bottom, top = lone_extremes(column, table)
    lowest, highest = column.extent
    at_bottom = (low == lowest) if bottom is not None else np.zeros(len(low), np.bool_)
    at_top = (high == highest) if top is not None else np.zeros(len(low), np.bool_)
    start = np.where(at_top & (low > (top or 0)), top or 0, low)
    end = np.where(at_bottom & (high < (bottom or 0)), bottom or 0, high)
    below = texts_of_units(column, end) + " or less"
    above = "at least " + texts_of_units(column, start)
    return pl.select(
        pl.when(pl.Series(at_bottom & at_top)).then(pl.lit(EVERYTHING))
        .when(pl.Series(at_bottom)).then(below)
        .when(pl.Series(at_top)).then(above)
        .otherwise(labels)
    ).to_series()  # fmt: skip


def _sets(column: CategoryColumn, records: GroupedRecords) -> pl.Series:
    start, codes, _ = records.categories(column)
    names = names_of_codes(column)
    missing_code = len(column.categories)
    known: dict[bytes, str | None] = {}
    labels: list[str | None] = []
    for group in range(records.n_groups):
        members = codes[start[group] : start[group + 1]]
        key = members.tobytes()
        if key not in known:
            if len(members) == 1:
                only = int(members[0])
                known[key] = None if only == missing_code else names[only]
            elif len(members) == column.n_codes:
                known[key] = EVERYTHING
            else:
                known[key] = "{" + ", ".join(names[code] for code in members) + "}"
        labels.append(known[key])
    return pl.Series(labels, dtype=pl.String)


def _ancestors(column: QuasiColumn, hierarchy: Hierarchy, records: GroupedRecords) -> pl.Series:
    """The lowest node of the hierarchy above all values of a group."""
    if isinstance(column, CategoryColumn):
        codes, texts = column.codes, column.categories.cast(pl.String).to_list()
        present = codes < len(column.categories)
    else:
        units, codes = np.unique(column.units, return_inverse=True)
        texts = texts_of_units(column, units).to_list()
        present = ~column.is_missing if column.is_missing is not None else np.ones(len(codes), np.bool_)
        hierarchy.check_covers([texts[code] for code in np.unique(codes[present])], column=column.name)
    group = records.group_of_record[present]
    labels = hierarchy.common_ancestor_of_groups(texts, group, codes[present], records.n_groups)
    n_missing = records.n_records - np.bincount(group, minlength=records.n_groups)
    return or_missing(pl.Series(labels, dtype=pl.String), n_missing, records.n_records)
