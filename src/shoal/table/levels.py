"""Quasi-identifiers as trees of values, level by level: the value, what it is part of, ..., everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels import counting
from shoal.table.columns import CategoryColumn, Codes, NumberColumn
from shoal.table.hierarchy import Hierarchy, ends_of_groups
from shoal.table.table import Table
from shoal.table.units import texts_of_floats, texts_of_units

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

    @property
    def walk(self) -> NDArray[np.int64]:
        """The values in the order of a walk through the tree."""
        return np.lexsort(self.node.T)

    def nodes_of_persons(self, table: Table, level: int) -> NDArray[np.int64]:
        """The node of each person at a level; of those whose records have several, one of their own behind all."""
        node_of_record = self.node[:, level][self.code_of_record]
        if table.n_persons == table.n_records and table.schema.person is None:
            return node_of_record.astype(np.int64)
        node = counting.code_of_person(node_of_record, table.person_of_record, table.n_persons)
        return np.where(node < 0, self._n_nodes(level) + np.arange(table.n_persons), node)

    def _n_nodes(self, level: int) -> int:
        return int(self.node[:, level].max()) + 1

    def share_of_groups(
        self, group_of_record: NDArray[np.int32], n_groups: int, *, lowest: int = 0
    ) -> NDArray[np.float64]:
        """The share of the lowest node above all records of each group, of a level that is not below `lowest`."""
        walk = self.walk
        place = np.empty(self.n_values, np.int64)
        place[walk] = np.arange(self.n_values)
        first, last = ends_of_groups(place[self.code_of_record], group_of_record, n_groups)
        share = np.ones(n_groups)
        for level in reversed(range(lowest, self.n_levels)):  # of values in the order of a walk, the ends say it all
            agree = self.node[walk[first], level] == self.node[walk[last], level]
            share[agree] = self.share[walk[first[agree]], level]
        return share


@dataclass(frozen=True)
class ListedLevels(Levels):
    """Levels of a column of which the different values of each person are listed, one person behind the other.

    `code_of_record` has the lists.
    """

    start: NDArray[np.int64]
    """Where the values of each person start; one entry more."""
    value: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Of numbers: the different values, as shares of the extent."""

    def nodes_of_persons(self, table: Table, level: int) -> NDArray[np.int64]:
        """The node of each person at a level; of those who have several, one of their own behind all."""
        node = self.node[:, level][self.code_of_record].astype(np.int64)
        if len(node) == table.n_persons:
            return node
        low, high = (end.reduceat(node, self.start[:-1]) for end in (np.minimum, np.maximum))
        return np.where(low == high, low, self._n_nodes(level) + np.arange(table.n_persons))


def listed_levels(column: CategoryColumn, table: Table) -> ListedLevels:
    """The levels of categories, from the values that each person has."""
    levels = levels_of(column)
    start, value, _ = table.values_of_persons(column)
    return ListedLevels(value.astype(np.int32), levels.node, levels.share, start)


def levels_of_numbers(number_of_person: NDArray[np.float64]) -> ListedLevels:
    """The levels of numbers of which each person has one, as a share of the extent; below 0 it is missing."""
    distinct, code = np.unique(number_of_person, return_inverse=True)
    node, share = _parts_of_extent(distinct, distinct < 0)
    return ListedLevels(code.astype(np.int32), node, share, np.arange(len(code) + 1), distinct)


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
    node, share = _parts_of_extent((distinct - low) / (float(high) - low + 1), distinct < low)
    return Levels(codes.astype(np.int32), node, share)


def _parts_of_extent(
    distinct: NDArray[np.float64], is_missing: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The nodes of different numbers, given as shares of the extent, and what these cover."""
    node = np.zeros((len(distinct), 2 + len(PARTS_OF_NUMBERS)), np.int32)
    share = np.zeros(node.shape)
    node[:, 0] = np.arange(len(distinct))
    for level, parts in enumerate(PARTS_OF_NUMBERS, start=1):
        part = np.minimum(np.floor(distinct * parts), parts - 1)
        node[:, level] = np.where(is_missing, parts, part)
        share[:, level] = np.where(is_missing, 0.0, 1.0 / parts)
    share[:, -1] = 1.0
    return node, share
