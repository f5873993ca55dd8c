"""Quasi-identifiers as trees of values, level by level: the value, what it is part of, ..., everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.columns import CategoryColumn, Codes, NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.texts import texts_of_floats, texts_of_units

PARTS_OF_NUMBERS = (64, 16, 4)
"""Numbers without a hierarchy are seen in so many parts of equal width, from level to level."""


@dataclass(frozen=True)
class Levels:
    """The values of a column, and the node of each at every level.

    A missing value is a value that stands under everything directly. Codes and nodes do not depend on the order of
    the records.
    """

    code_of_record: Codes
    node: NDArray[np.int32]
    """(values, levels): nodes are numbered within their level; the last level has one."""
    share: NDArray[np.float64]
    """(values, levels): the share of the domain that the node covers, 0 for a single value, 1 for everything."""

    @property
    def n_values(self) -> int:
        """How many different values the column has."""
        return len(self.node)

    @property
    def n_levels(self) -> int:
        """How many levels there are, the values and everything included."""
        return self.node.shape[1]

    def share_of_groups(self, group_of_record: NDArray[np.int32], n_groups: int) -> NDArray[np.float64]:
        """The share of the lowest node above all records of each group."""
        walk = np.lexsort(self.node.T)
        place = np.empty(self.n_values, np.int64)
        place[walk] = np.arange(self.n_values)
        first, last = np.full(n_groups, self.n_values), np.full(n_groups, -1)
        np.minimum.at(first, group_of_record, place[self.code_of_record])
        np.maximum.at(last, group_of_record, place[self.code_of_record])
        share = np.ones(n_groups)
        for level in reversed(range(self.n_levels)):  # of values in the order of a walk, the ends say it all
            agree = self.node[walk[first], level] == self.node[walk[last], level]
            share[agree] = self.share[walk[first[agree]], level]
        return share


def has_hierarchy(column: NumberColumn | CategoryColumn) -> bool:
    """Whether the schema gives the column a hierarchy."""
    return column.source is not None and column.source.hierarchy is not None


def levels_of(column: NumberColumn | CategoryColumn) -> Levels:
    """The levels of a quasi-identifier: those of its hierarchy; without one, parts of a number's extent, or nothing."""
    if column.source is not None and column.source.hierarchy is not None:
        return _of_hierarchy(column, column.source.hierarchy)
    if isinstance(column, CategoryColumn):
        node = np.zeros((column.n_codes, 2), np.int32)
        node[:, 0] = np.arange(column.n_codes)
        return Levels(column.codes, node, np.tile([0.0, 1.0], (column.n_codes, 1)))
    return _of_number(column)


def texts_in_hierarchy(column: NumberColumn | CategoryColumn) -> tuple[list[str | None], Codes]:
    """The different values of a column as its hierarchy writes them, None for a missing one, and which a record has."""
    if isinstance(column, CategoryColumn):
        texts: list[str | None] = column.categories.cast(pl.String).to_list()
        return ([*texts, None] if column.has_missing else texts), column.codes
    values: NDArray[Any] = column.units if column.floats is None else column.floats
    present = np.ones(len(values), np.bool_) if column.is_missing is None else ~column.is_missing
    distinct, codes = np.unique(values[present], return_inverse=True)
    texts = (texts_of_units(column, distinct) if column.floats is None else texts_of_floats(distinct)).to_list()
    code_of_record = np.full(len(values), len(texts), np.int32)
    code_of_record[present] = codes
    return (texts if present.all() else [*texts, None]), code_of_record


def _of_hierarchy(column: NumberColumn | CategoryColumn, hierarchy: Hierarchy) -> Levels:
    texts, code_of_record = texts_in_hierarchy(column)
    hierarchy.check_covers((text for text in texts if text is not None), column=column.name)
    node, _ = hierarchy.codes(texts)
    return Levels(code_of_record, node.astype(np.int32), hierarchy.shares(texts))


def _of_number(column: NumberColumn) -> Levels:
    units = column.units_with_missing()
    low, high = column.extent
    distinct, codes = np.unique(units, return_inverse=True)
    is_missing = distinct < low
    node = np.zeros((len(distinct), 2 + len(PARTS_OF_NUMBERS)), np.int32)
    share = np.zeros(node.shape)
    node[:, 0] = np.arange(len(distinct))
    for level, parts in enumerate(PARTS_OF_NUMBERS, start=1):
        part = np.minimum(np.floor((distinct - low) / (float(high) - low + 1) * parts), parts - 1)
        node[:, level] = np.where(is_missing, parts, part)
        share[:, level] = np.where(is_missing, 0.0, 1.0 / parts)
    share[:, -1] = 1.0
    return Levels(codes.astype(np.int32), node, share)
