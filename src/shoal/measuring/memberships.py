"""How far the records of a release belong to nodes: values, hierarchy nodes and intervals that association rules name.

A place that shows one value belongs to the nodes above it; one that shows several belongs to a node by the share of
them that do. With a margin, numbers near a node belong to it in part: nodes are then fuzzy sets (Li and Li, 2008,
section IV-B). A fuzzy set is the mean of its cuts, the crisp sets of what belongs to it at least so far.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.attacking.mining import nodes
from shoal.attacking.mining.trees import ValueTree, check_margin, tree_of
from shoal.kernels import querying
from shoal.measuring.shown import numbers_of_units, values_of
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_CUTS = 32
"""How many cuts a fuzzy set is the mean of, where its degrees are more than this."""
FEW_VALUES = 1024
"""Up to this many different numbers of a column each is a node of its own; of more only the frequent ones are."""


@dataclass(frozen=True)
class Cut:
    """What belongs to a node with at least this degree, and how much of the mean of all cuts it is."""

    least: float
    weight: float


CRISP = (Cut(1.0, 1.0),)


@dataclass(frozen=True)
class NodeColumn:
    """The nodes of a quasi-identifier, and how far each value of the table belongs to them."""

    column: QuasiColumn
    values: nodes.Values
    tree: ValueTree
    units: IntArray
    """The value that each code stands for, as the table holds it; without missing."""
    code: IntArray
    node: IntArray
    degree: FloatArray
    """By pair of code and node; of pairs that are absent it is 0."""
    margin: float = 0.0

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return self.tree.n_nodes

    def of_values(self, least: float) -> csr_array:
        """By code and node 1 where the value belongs to the node with at least this degree."""
        from scipy.sparse import csr_array

        is_member = self.degree >= least
        places = (self.code[is_member], self.node[is_member])
        return csr_array((np.ones(len(places[0])), places), shape=(self.values.n_codes, self.n_nodes))

    def of_ranges(self, low: IntArray, high: IntArray, has_missing: BoolArray, least: float) -> csr_array:
        """By range of units and node the share of the range that belongs to the node with at least this degree."""
        from scipy.sparse import csr_array

        size = np.maximum(high - low + 1, 0) + has_missing
        rows, columns, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]

        def add(node: int, count: IntArray) -> None:
            at = np.flatnonzero(count > 0)
            rows.append(at)
            columns.append(np.full(len(at), node))
            shares.append(count[at] / size[at])

        first, last = self._cut(least)
        for node in np.flatnonzero(first <= last):
            add(int(node), np.minimum(high, last[node]) - np.maximum(low, first[node]) + 1)
        if self.values.has_missing:
            add(int(self.node[self.code == len(self.units)][0]), has_missing.astype(np.int64))
        places = (np.concatenate(rows), np.concatenate(columns))
        return csr_array((np.concatenate(shares), places), shape=(len(low), self.n_nodes))

    def _cut(self, least: float) -> tuple[IntArray, IntArray]:
        """The first and last unit that belong to each node with at least this degree; none where first > last."""
        first, last = self._ends
        if not self.margin:
            return first, last
        assert isinstance(self.column, NumberColumn)
        lowest, highest = self._inside
        reach = int((1 - least) * self.margin / numbers_of_units(self.column)[1] + 1e-9)
        known = lowest <= highest
        return (
            np.where(known, np.minimum(first, lowest - reach), first),
            np.where(known, np.maximum(last, highest + reach), last),
        )

    @cached_property
    def _inside(self) -> tuple[IntArray, IntArray]:
        """The lowest and the highest value of the table in each node; the first is the larger where there is none."""
        lowest, highest = np.full(self.n_nodes, 2**60), np.full(self.n_nodes, -(2**60))
        is_inside = (self.degree >= 1) & (self.code < len(self.units))
        np.minimum.at(lowest, self.node[is_inside], self.units[self.code[is_inside]])
        np.maximum.at(highest, self.node[is_inside], self.units[self.code[is_inside]])
        return lowest, highest

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        """The first and the last unit that each node covers, whether the table has them or not."""
        first, last = (ends.copy() for ends in self._inside)
        if not isinstance(self.column, NumberColumn) or self.column.kind == "ordered":
            return first, last
        extent = self.column.extent[1] - self.column.extent[0] + 1
        for node in np.flatnonzero(first <= last):
            covers = self._covering(self.tree.labels[node])
            first[node] -= _steps(covers, int(first[node]), -1, extent)
            last[node] += _steps(covers, int(last[node]), 1, extent)
        return first, last

    def _covering(self, label: str) -> Callable[[int], bool]:
        """Whether a node covers a unit."""
        column = self.column
        assert isinstance(column, NumberColumn)
        offset, scale = numbers_of_units(column)
        one = replace(self.values, has_missing=False)

        def covers(unit: int) -> bool:
            if column.kind == "date":
                day = str(pl.Series([unit], dtype=pl.Int32).cast(pl.Date)[0])
                covered = replace(one, texts=(day,)).covered_by(label)
            else:
                number = offset + scale * unit if column.floats is not None else unit / 10.0**column.decimals
                covered = replace(one, texts=("",), numbers=np.array([number])).covered_by(label)
            return covered is not None and bool(covered[0])

        return covers


def _steps(covers: Callable[[int], bool], unit: int, direction: int, most: int) -> int:
    """How many steps from a unit on everything is covered, at most so many; a node has no gaps."""
    return bisect_left(range(1, most + 1), True, key=lambda step: not covers(unit + direction * step))


def node_columns(table: Table, *, margin: Mapping[str, float], least_records: float) -> list[NodeColumn]:
    """The nodes of each quasi-identifier: of its hierarchy, intervals of numbers, months and years, or its values.

    Parameters
    ----------
    margin
        For quasi-identifiers of numbers: how far around a node a number still belongs to it in part.
    least_records
        How many records a number needs to be a node of its own, in a column of many numbers without hierarchy.
    """
    known = {
        name: nodes.values_of(column, column.source.hierarchy if column.source is not None else None)
        for name, column in table.quasi.items()
    }
    check_margin(list(known.values()), dict(margin))
    return [
        _node_column(table.quasi[name], values, float(margin.get(name, 0.0)), least_records)
        for name, values in known.items()
    ]


def _node_column(column: QuasiColumn, values: nodes.Values, margin: float, least_records: float) -> NodeColumn:
    is_enough = None
    if values.n_codes > FEW_VALUES:
        is_enough = np.bincount(values.codes, minlength=values.n_codes) >= least_records
    tree = tree_of(values, is_enough=is_enough)
    start, node, degree = tree.memberships(values.numbers, margin)
    code = np.repeat(np.arange(values.n_codes), np.diff(start))
    units = np.zeros(values.n_codes, dtype=np.int64)
    units[values.codes] = values_of(column)
    return NodeColumn(column, values, tree, units[: len(values.known)], code, node, degree, margin)


def cuts_of(columns: list[NodeColumn]) -> tuple[Cut, ...]:
    """Cuts whose mean is each fuzzy set: exact for up to MOST_CUTS different degrees, else of equal steps."""
    degrees = {1.0}
    for column in columns:
        if column.margin:
            degrees |= set(np.round(np.unique(column.degree), 12).tolist())
            if isinstance(column.column, NumberColumn):
                step = numbers_of_units(column.column)[1] / column.margin
                degrees |= {round(1 - k * step, 12) for k in range(1, min(int(1 / step), MOST_CUTS + 1) + 1)}
    ends = sorted(degree for degree in degrees if degree > 0)
    if len(ends) > MOST_CUTS:
        ends = [(k + 1) / MOST_CUTS for k in range(MOST_CUTS)]
    starts = [0.0, *ends[:-1]]
    return tuple(Cut((start + end) / 2, end - start) for start, end in zip(starts, ends, strict=True))


# --- what places show ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownNodes:
    """Of one quasi-identifier what each place shows, and how far that belongs to each node."""

    shown_of_place: IntArray
    at: Callable[[float], csr_array]
    """By what is shown and node the share that belongs to the node with at least the degree given."""


def exactly(column: NodeColumn) -> ShownNodes:
    """Records that show their own values."""
    return ShownNodes(column.values.codes.astype(np.int64), column.of_values)


def as_shown(column: NodeColumn, shown: querying.Shown, attribute: int) -> ShownNodes:
    """Places that show ranges or sets.

    Of a range every unit is as likely; where the column has a hierarchy or no order, every value of the table in it. A
    single number that the table does not have is then taken as the nearest that it has.
    """
    low, high, has_missing = shown.low[attribute], shown.high[attribute], shown.has_missing[attribute]
    if not shown.is_set[attribute] and column.values.hierarchy is None and isinstance(column.column, NumberColumn):
        distinct, shown_of_place = np.unique(np.stack([low, high, has_missing], axis=1), axis=0, return_inverse=True)
        first, last, some = distinct.T
        return ShownNodes(
            shown_of_place.reshape(-1), lambda least: column.of_ranges(first, last, some.astype(np.bool_), least)
        )
    if shown.is_set[attribute]:
        begin, end, members = low, high, np.searchsorted(column.units, shown.members)
    else:
        begin, end = _codes_between(column.units, low, high)
        members = np.arange(len(column.units))
    return _as_sets(column, begin, end, has_missing, members)


def _codes_between(units: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Where the values of the table in each range begin and end; the nearest where there is none in it."""
    begin, end = np.searchsorted(units, low, "left"), np.searchsorted(units, high, "right")
    nothing = (begin >= end) & (low <= high) & (len(units) > 0)
    if nothing.any():
        after = np.minimum(begin, len(units) - 1)
        before = np.maximum(after - 1, 0)
        is_before = np.abs(units[before] - low) <= np.abs(units[after] - high)
        begin = np.where(nothing, np.where(is_before, before, after), begin)
        end = np.where(nothing, begin + 1, end)
    return begin, np.where(low <= high, end, begin)


def _as_sets(
    column: NodeColumn, begin: IntArray, end: IntArray, has_missing: BoolArray, members: IntArray
) -> ShownNodes:
    """Places that show the values from begin to end in `members`; single ones are shown as by records."""
    from scipy.sparse import csr_array, vstack

    n_codes = column.values.n_codes
    is_single, is_missing = (end - begin == 1) & ~has_missing, (begin == end) & has_missing
    several = np.flatnonzero(~is_single & ~is_missing)
    keys = np.stack([begin, end, has_missing.astype(np.int64)], axis=1)[several]
    distinct, number = np.unique(keys, axis=0, return_inverse=True)
    shown_of_place = np.full(len(begin), n_codes - 1, dtype=np.int64)  # missing has the last code
    shown_of_place[is_single] = members[begin[is_single]]
    shown_of_place[several] = n_codes + number.reshape(-1)
    first, last, some = distinct.T
    size = last - first
    row = np.repeat(np.arange(len(distinct)), size)
    at = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size) + np.repeat(first, size)
    rows = np.concatenate([row, np.flatnonzero(some)])
    codes = np.concatenate([members[at], np.full(int(some.sum()), n_codes - 1)])
    share = csr_array((1.0 / (size + some)[rows], (rows, codes)), shape=(len(distinct), n_codes))

    def of(least: float) -> csr_array:
        values = column.of_values(least)
        return vstack([values, share @ values], format="csr")

    return ShownNodes(shown_of_place, of)
