"""The lattice of levels: one level per quasi-identifier for all persons, what that leaves out and what it loses."""

from __future__ import annotations

import heapq
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.model_check import Judge
from shoal.kernels import lattice as kernels
from shoal.kernels.trees import Limits
from shoal.models.contract import Model, SpreadLimits, limits_of
from shoal.models.counts import IN_POPULATION, SPREAD, WEIGHTS, GroupCounts, PopulationCounts
from shoal.table.columns import has_hierarchy
from shoal.table.levels import Levels, levels_of
from shoal.table.table import QuasiColumn, Table

Vector = tuple[int, ...]
"""A level for each quasi-identifier."""

DIGITS = 10
"""Losses that agree to so many digits are equal."""

MOST_CELLS_KEPT = 2_000_000
"""So many cells are kept at the most, from which those of higher levels are made."""


def levels_for_all(column: QuasiColumn) -> Levels:
    """The levels at which a column can be shown for all alike: those of its hierarchy, else its values or nothing."""
    levels = levels_of(column)
    if has_hierarchy(column):
        return levels
    ends = [0, levels.n_levels - 1]
    return Levels(levels.code_of_record, levels.node[:, ends], levels.share[:, ends])


class Tree(NamedTuple):
    """A quasi-identifier: its nodes of all levels under one number each, and what they become at a level."""

    node_of_person: NDArray[np.int64]
    """The lowest node above all records of each person."""
    up: NDArray[np.int32]
    """(levels, nodes): the node itself where it lies at the level or above, else the one above it at the level."""
    share: NDArray[np.float64]
    """Which share of the domain each node covers."""

    @property
    def n_levels(self) -> int:
        """How many levels there are, the values and everything included."""
        return len(self.up)


def tree_of(table: Table, levels: Levels) -> Tree:
    """The nodes of a quasi-identifier, level behind level, and the lowest that is above all records of each person."""
    sizes = [int(levels.node[:, level].max()) + 1 for level in range(levels.n_levels)]
    start = np.concatenate([[0], np.cumsum(sizes)])
    share = np.empty(start[-1])
    up = np.tile(np.arange(start[-1], dtype=np.int32), (levels.n_levels, 1))
    for level in range(levels.n_levels):
        here = start[level] + levels.node[:, level]
        share[here] = levels.share[:, level]
        for higher in range(level + 1, levels.n_levels):
            up[higher, here] = start[higher] + levels.node[:, higher]
    node_of_person = np.full(table.n_persons, -1, np.int64)
    for level in range(levels.n_levels):
        node = levels.nodes_of_persons(table, level)
        found = (node_of_person < 0) & (node < sizes[level])  # a node behind all is that of records which differ
        node_of_person[found] = start[level] + node[found]
    return Tree(node_of_person, up, share)


def _n_values(column: QuasiColumn) -> int:
    """How many values a column may have: those that its hierarchy lists, else those that there are."""
    if column.source is not None and column.source.hierarchy is not None:
        return len(column.source.hierarchy.paths)
    return levels_of(column).n_values


def _by_bits(tree: Tree, n_values: int) -> Tree:
    """The same nodes, with the share of bits that each hides in the place of the share of values."""
    if n_values < 2:
        return tree
    return tree._replace(share=np.log1p(tree.share * (n_values - 1)) / np.log(n_values))


class Cells(NamedTuple):
    """The persons who are alike at some levels, and how the kinds of persons lie in them."""

    node: NDArray[np.int32]
    counts: NDArray[np.int64]
    cell_of_kind: NDArray[np.int32]
    drawn_from: NDArray[np.float64]
    """Where models of samples are asked: the persons of the population, and the weights of those of the table."""


@dataclass(frozen=True)
class Looked:
    """What was found at some levels."""

    vector: Vector
    left_out: int
    """The persons of cells that break a model."""
    loss: float
    """The mean over quasi-identifiers, as `Lattice` takes it, of the mean share of the domain that a record's cell
    covers; a record that is left out loses all."""
    granularity: float
    """1 less the plain mean."""
    meets: bool
    """Whether no more persons are left out than may be, and somebody stays."""
    max_gidr: float
    """The largest share of a published cell's records that is one person's; 1 where nobody is published."""
    prosecutor_risk: float
    """One divided by the fewest persons of a published cell."""
    marketer_risk: float
    """The share of the published persons who can be expected to be found: cells by persons."""


@dataclass(frozen=True)
class Found:
    """The best levels that were found."""

    best: Looked | None
    at_least: float
    """No levels lose less than this."""
    explored: tuple[Looked, ...]
    ruled_out: int
    """Levels that were passed over, since higher ones leave out too many already."""
    n_vectors: int

    @property
    def is_optimal(self) -> bool:
        """Whether no levels can lose less."""
        return self.best is not None and round(self.best.loss, DIGITS) <= round(self.at_least, DIGITS)


class Lattice:
    """Levels for all persons, asked about one combination at a time.

    Parameters
    ----------
    weights, aggregate
        How what is lost of several columns becomes one number: by their weighted mean, "arithmetic" or "geometric" (of
        1 + loss, less 1, as ARX has it); or "entropy", the share of all bits that is lost (log of the values under a
        node, by the log of all values), as ARX counts what a release is worth to its publisher.
    """

    def __init__(
        self,
        table: Table,
        models: Sequence[Model],
        *,
        may_leave_out: int,
        weights: Sequence[float] | None = None,
        aggregate: str = "geometric",
    ) -> None:
        self.table = table
        self.models = tuple(models)
        self.may_leave_out = may_leave_out
        whole = table.beside or table
        self.trees = [tree_of(whole, levels_for_all(column)) for column in whole.quasi.values()]
        given = np.ones(len(self.trees)) if weights is None else np.asarray(weights, np.float64)
        if aggregate == "entropy":
            n_values = np.array([_n_values(column) for column in whole.quasi.values()])
            self.trees = [_by_bits(tree, n) for tree, n in zip(self.trees, n_values, strict=True)]
            given = given * np.log(np.maximum(n_values, 2))
        self.weights = given / given.sum()
        self.aggregate = aggregate
        self.of_whole = [model for model in models if model.is_of_whole_table]
        self.of_population = [
            model for model in models if not model.is_of_whole_table and model.needs & (IN_POPULATION | WEIGHTS)
        ]
        models = [model for model in models if model not in self.of_whole and model not in self.of_population]
        limits = limits_of(models)
        decides = limits is not None and limits.fits(table.n_records)
        self.limits = Limits(*(limits if limits is not None and decides else SpreadLimits()).in_whole_numbers)
        self.judge = Judge(table, [model for model in models if not decides or not model.needs <= SPREAD])
        self.kind_of_person, self.base = self._kinds()
        self._share = np.concatenate([tree.share for tree in self.trees])
        self._start = np.concatenate([[0], np.cumsum([len(tree.share) for tree in self.trees])])[:-1].astype(np.int64)
        self._losses = self._losses_of_levels()
        self._kept: OrderedDict[Vector, Cells] = OrderedDict()
        self._n_kept = 0
        self.looked: dict[Vector, Looked] = {}

    def _kinds(self) -> tuple[NDArray[np.int32], Cells]:
        """The kind of each person, and all kinds at the lowest levels, in the order of their values."""
        nodes = np.stack([tree.node_of_person for tree in self.trees], axis=1).astype(np.int32)
        distinct, inverse = np.unique(nodes, axis=0, return_inverse=True)
        kind, others = np.split(inverse.reshape(-1).astype(np.int32), [self.table.n_persons])
        records = self.table.records_of_person
        counts = np.zeros((len(distinct), 4), np.int64)
        for at, each in enumerate((np.ones_like(records), records, records**2)):
            np.add.at(counts[:, at], kind, each)
        np.maximum.at(counts[:, 3], kind, records)
        drawn_from = np.zeros((len(distinct), 2 if self.of_whole or self.of_population else 0))
        if drawn_from.shape[1]:
            drawn_from[:, 0] = np.bincount(others, minlength=len(distinct))
            drawn_from[:, 1] = np.bincount(kind, weights=self._weights(), minlength=len(distinct))
        return kind, Cells(np.ascontiguousarray(distinct), counts, np.arange(len(distinct), dtype=np.int32), drawn_from)

    def _weights(self) -> NDArray[np.float64]:
        """How many persons of the population each person stands for, as far as that is known."""
        weights = np.zeros(self.table.n_persons)
        sample = self.table.sample
        if sample is not None and sample.weight is not None:
            weights[self.table.person_of_record] = sample.weight
        return weights

    def _losses_of_levels(self) -> list[NDArray[np.float64]]:
        """For each quasi-identifier and level what is lost where nobody is left out; it rises with the level."""
        records = self.base.counts[:, 1] / self.table.n_records
        return [
            (tree.share[tree.up[:, self.base.node[:, j]]] * records).sum(axis=1) for j, tree in enumerate(self.trees)
        ]

    @property
    def top(self) -> Vector:
        """The highest level of each quasi-identifier, where nothing is shown."""
        return tuple(tree.n_levels - 1 for tree in self.trees)

    @property
    def prunes(self) -> bool:
        """Whether lower levels leave out everybody whom higher levels leave out.

        So it is where a group that holds still holds with anybody beside; where nobody may be left out, it is enough
        that groups which hold still hold when merged.
        """
        is_silent = any(column.code_left_out is not None for column in self.table.sensitive.values())
        if self.may_leave_out == 0:
            return all(model.monotone for model in self.models)
        return not is_silent and all(model.holds_with_more for model in self.models)

    def bound(self, vector: Vector) -> float:
        """What is lost at the least."""
        return self._together(self._lost_by_levels(vector))

    def _lost_by_levels(self, vector: Vector) -> NDArray[np.float64]:
        """What is lost of each quasi-identifier where nobody is left out."""
        return np.array([own[level] for own, level in zip(self._losses, vector, strict=True)])

    def _together(self, lost: NDArray[np.float64]) -> float:
        """What is lost of all quasi-identifiers, in one number."""
        if self.aggregate != "geometric":
            return round(float((self.weights * lost).sum()), DIGITS)
        return round(math.expm1(float((self.weights * np.log1p(lost)).sum())), DIGITS)

    def cells(self, vector: Vector, below: Vector | None = None) -> Cells:
        """The persons who are alike at some levels; made from those at lower levels, if they are kept."""
        if vector in self._kept:
            self._kept.move_to_end(vector)
            return self._kept[vector]
        lower = [] if below is None else [below]
        lower += [(*vector[:j], level - 1, *vector[j + 1 :]) for j, level in enumerate(vector) if level]
        known = [self._kept[each] for each in lower if each in self._kept]
        source = min(known, key=lambda cells: len(cells.node), default=self.base)
        up = np.concatenate([tree.up[level] for tree, level in zip(self.trees, vector, strict=True)])
        cell_of, node, counts = kernels.rolled_up(source.node, up, self._start, source.counts)
        drawn_from = np.zeros((len(node), source.drawn_from.shape[1]))
        for at in range(drawn_from.shape[1]):
            drawn_from[:, at] = np.bincount(cell_of, weights=source.drawn_from[:, at], minlength=len(node))
        made = Cells(node, counts, cell_of[source.cell_of_kind], drawn_from)
        self._kept[vector] = made
        self._n_kept += len(node)
        while self._n_kept > MOST_CELLS_KEPT and len(self._kept) > 1:
            self._n_kept -= len(self._kept.popitem(last=False)[1].node)
        return made

    def look(self, vector: Vector, below: Vector | None = None) -> Looked:
        """Whether levels can be published, and what is lost."""
        if vector not in self.looked:
            cells = self.cells(vector, below)
            leaves = ~self._thinned(cells, self._holds(cells))
            self.looked[vector] = self._measured(vector, cells, leaves)
        return self.looked[vector]

    def _measured(self, vector: Vector, cells: Cells, leaves: NDArray[np.bool_]) -> Looked:
        left_out = int(cells.counts[leaves, 0].sum())
        meets = left_out <= self.may_leave_out and not bool(leaves.all())
        lost = kernels.lost_with(cells.node, cells.counts[:, 1], leaves, self._share, self._start)
        lost = self._lost_by_levels(vector) + lost / self.table.n_records
        persons, records, _, most = cells.counts[~leaves & (cells.counts[:, 0] > 0)].T
        risks = (1.0, 1.0, 1.0)
        if len(persons):
            risks = float((most / records).max()), float(1 / persons.min()), float(len(persons) / persons.sum())
        return Looked(vector, left_out, self._together(lost), round(1 - float(lost.mean()), DIGITS), meets, *risks)

    def _holds(self, cells: Cells) -> NDArray[np.bool_]:
        """Which cells meet every model; those of sensitive values are asked only where the others leave enough."""
        holds = kernels.keeps_to(cells.counts, self.limits)
        if self.of_population:
            holds &= self._holds_in_population(cells)
        if not self.judge.models or not holds.any():
            return holds
        if int(cells.counts[~holds, 0].sum()) > self.may_leave_out:
            return holds  # too many are left out already
        cell_of_person = cells.cell_of_kind[self.kind_of_person]
        has_persons, cell = np.unique(cell_of_person, return_inverse=True)  # others are of the population alone
        holds[has_persons] &= self._judged(self.judge, cell.reshape(-1).astype(np.int32), len(has_persons))
        return holds

    def _counts(self, cells: Cells, which: NDArray[np.int64]) -> GroupCounts:
        """Some cells as models of samples see them."""
        persons, records, squares, most = cells.counts[which].T
        in_population, weights = cells.drawn_from[which].T
        outside = int(cells.drawn_from[cells.counts[:, 0] == 0, 0].sum())
        return GroupCounts(
            persons=persons, records=records, squared_records=squares, most_records=most,
            population=PopulationCounts(persons=in_population.astype(np.int64), outside=outside, weights=weights),
        )  # fmt: skip

    def _holds_in_population(self, cells: Cells) -> NDArray[np.bool_]:
        """Which cells meet the models that ask for those of the population who are in the same cell."""
        which = np.flatnonzero(cells.counts[:, 0])
        counts = self._counts(cells, which)
        holds = np.zeros(len(cells.counts), np.bool_)
        holds[which] = np.logical_and.reduce([model.holds(counts) for model in self.of_population])
        return holds

    def _thinned(self, cells: Cells, keeps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The cells that are kept without the smallest, as few as it takes for models of the whole table to hold.

        Of equally small ones those go first that show least. None are kept where not even all that may go are enough.
        """
        may_leave = self.may_leave_out - int(cells.counts[~keeps, 0].sum())
        if not self.of_whole or may_leave < 0 or not keeps.any():
            return keeps
        at = np.flatnonzero(keeps)
        lost = self._share[self._start + cells.node[at]].sum(axis=1)
        at = at[np.lexsort((-lost, cells.counts[at, 0]))]

        def holds(n_left_out: int) -> bool:
            counts = self._counts(cells, at[n_left_out:])
            return all(bool(model.holds(counts).all()) for model in self.of_whole)

        all_but_one = np.cumsum(cells.counts[at[:-1], 0])  # somebody stays
        fails, meets = -1, int(np.searchsorted(all_but_one, may_leave, side="right"))
        if not holds(meets):
            return np.zeros_like(keeps)
        while meets - fails > 1:
            middle = (fails + meets) // 2
            fails, meets = (fails, middle) if holds(middle) else (middle, meets)
        kept = keeps.copy()
        kept[at[:meets]] = False
        return kept

    @staticmethod
    def _judged(judge: Judge, cell_of_person: NDArray[np.int32], n_cells: int) -> NDArray[np.bool_]:
        order = np.argsort(cell_of_person, kind="stable").astype(np.int32)
        start = np.concatenate([[0], np.cumsum(np.bincount(cell_of_person, minlength=n_cells))])
        return judge.holds(order, start.astype(np.int64))

    def settled(self, vector: Vector) -> Looked:
        """The same as `look`, once models that compare groups with all who are published are asked again."""
        cells = self.cells(vector)
        return self._measured(vector, cells, ~self._keeps(cells))

    def _keeps(self, cells: Cells) -> NDArray[np.bool_]:
        """Which cells are published: those that meet every model, also once the others are left out."""
        cell_of_person = cells.cell_of_kind[self.kind_of_person]
        keeps = self._holds(cells)
        while self.judge.models and not keeps.all() and keeps.any():
            out = ~keeps[cell_of_person]
            published = self.table.without_persons(out)
            old_of_new = np.empty(published.n_persons, np.int64)
            old_of_new[published.person_of_record] = self.table.person_of_record[~out[self.table.person_of_record]]
            _, cell = np.unique(cell_of_person[old_of_new], return_inverse=True)
            still = self._judged(Judge(published, self.judge.models), cell.astype(np.int32), int(cell.max()) + 1)
            if still.all():
                break
            keeps[np.flatnonzero(keeps)[~still]] = False
        return self._thinned(cells, keeps)

    def groups(self, vector: Vector) -> tuple[NDArray[np.int32], int]:
        """The group of each person at some levels, -1 of those who are left out; and how many groups there are."""
        cells = self.cells(vector)
        keeps = self._keeps(cells)
        number = np.where(keeps, np.cumsum(keeps) - 1, -1).astype(np.int32)
        return number[cells.cell_of_kind[self.kind_of_person]], int(keeps.sum())


class Search:
    """The levels that lose least, by their bound from the least up."""

    def __init__(self, lattice: Lattice, *, lowest: Vector, highest: Vector, seconds: float) -> None:
        self.lattice = lattice
        self.lowest, self.highest = lowest, highest
        self.until = time.monotonic() + seconds
        self.best: Looked | None = None
        self.broken: NDArray[np.int64] = np.zeros((0, len(lowest)), np.int64)
        self.ruled_out = 0

    def run(self, progress: Callable[[float], Any]) -> Found:
        """Look at levels until none can lose less, or the time is over."""
        self._try(self._first_that_meets())
        waiting = [(self.lattice.bound(self.lowest), self.lowest, 0)]
        at_least = math.inf
        n_done = 0
        n_vectors = self.n_vectors
        while waiting:
            bound, vector, last = heapq.heappop(waiting)
            if self.best is not None and (bound > self.best.loss or time.monotonic() > self.until):
                at_least = min(bound, self.best.loss)
                break
            self._look(vector)
            n_done += 1
            if n_done % 64 == 0:
                progress(min(n_done / n_vectors, 1.0))
            for j in range(last, len(vector)):  # each is reached once: attributes are raised from left to right
                if vector[j] < self.highest[j]:
                    higher = (*vector[:j], vector[j] + 1, *vector[j + 1 :])
                    heapq.heappush(waiting, (self.lattice.bound(higher), higher, j))
        if self.best is not None:
            at_least = min(at_least, self.best.loss)
        explored = sorted(self.lattice.looked.values(), key=lambda looked: (looked.loss, looked.vector))
        return Found(self.best, at_least, tuple(explored), self.ruled_out, n_vectors)

    @property
    def n_vectors(self) -> int:
        """How many combinations of levels there are."""
        return math.prod(high - low + 1 for low, high in zip(self.lowest, self.highest, strict=True))

    def _look(self, vector: Vector) -> None:
        if len(self.broken) and (np.asarray(vector) <= self.broken).all(axis=1).any():
            self.ruled_out += 1
            return
        looked = self.lattice.look(vector)
        self._try(looked)
        if not looked.meets and self.lattice.prunes:
            self._rule_out_from(vector)

    def _try(self, looked: Looked) -> None:
        """Take levels that can be published and lose less than the best so far."""
        if not looked.meets or (
            self.best is not None and (looked.loss, looked.vector) >= (self.best.loss, self.best.vector)
        ):
            return
        settled = self.lattice.settled(looked.vector)
        if settled.meets and (self.best is None or settled.loss < self.best.loss or settled == looked):
            self.best = settled

    def _way_up(self, vector: Vector) -> list[Vector]:
        """From some levels to the highest, always one level of the attribute that loses least by it."""
        way = [vector]
        while way[-1] != self.highest:
            at = way[-1]
            higher = [(*at[:j], at[j] + 1, *at[j + 1 :]) for j in range(len(at)) if at[j] < self.highest[j]]
            way.append(min(higher, key=lambda each: (self.lattice.bound(each), each)))
        return way

    def _first_that_meets(self) -> Looked:
        """Levels that can be published, from which the search goes on: the first on one way up."""
        way = self._way_up(self.lowest)
        if not self.lattice.prunes:
            found = next((looked for each in way if (looked := self.lattice.look(each)).meets), None)
            return found or self.lattice.look(way[-1])
        low, high = -1, len(way) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.lattice.look(way[middle]).meets else (middle, high)
        return self.lattice.look(way[high])

    def _rule_out_from(self, vector: Vector) -> None:
        """Find on one way up the highest levels that leave out too many: then all below them do."""
        way = self._way_up(vector)
        low, high = 0, len(way)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.lattice.look(way[middle], vector).meets else (middle, high)
        self.broken = np.vstack([self.broken, np.asarray(way[low])])
