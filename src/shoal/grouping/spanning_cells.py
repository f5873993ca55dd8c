"""Spanning cells: class-restricted spanning trees inside the cells of a large table, and moves between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.model_check import Judge
from shoal.grouping.options import ALPHA, NOMINAL, B, M, Nominal
from shoal.grouping.person_points import points_of_persons
from shoal.grouping.spanning_tree import (
    MOST_TREES,
    Classes,
    classes_of_persons,
    part_oversized,
    warnings_of_single_classes,
)
from shoal.grouping.tree_cutting import cut_tree, fewest_persons, grouping_of, models_to_ask, refuse_too_few
from shoal.kernels import mixing, spanning
from shoal.models.contract import Model
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.table import Table

MOST_PERSONS_IN_CELL = 50_000
"""Beyond this a cell is no help: moves between its groups would take longer than one tree of all."""

PASSES = 2
"""How often everybody is asked whether to move."""

CLASS_WEIGHT = 0.25
"""Directions in which classes differ count with this share of their extent when a cell is cut, so that cells keep the
classes of the table."""

CLASS_SHARE = 0.05
"""A direction is one in which classes differ where their means are spread by more than this share of all spread."""


@dataclass(frozen=True, kw_only=True)
class SpanningCells(Method):
    """Cut the persons into cells, group each cell by its own class-restricted spanning tree, then let persons move.

    Parameters
    ----------
    alpha, b, m, nominal
        As in the spanning tree.
    cell
        About how many persons a cell has.
    moves
        Whether persons may move to a nearer group of their cell afterwards. They do where it takes off squares, the
        divergence of the two groups does not rise and m persons stay; with models other than k and person-k nobody
        moves.

    Notes
    -----
    Every group has m persons at least and meets every model. A cell is halved across the direction of its largest
    extent, those in which classes differ shortened, as long as both halves meet every model. Classes are compared with
    those of the whole table, inside cells too. Deterministic, but it depends on the order of persons. O(n log n) time
    for n persons and a given cell, O(n) memory.
    """

    alpha: float = field(default=0.5, metadata=ALPHA)
    b: int | None = field(default=None, metadata=B)
    m: int | None = field(default=None, metadata=M)
    nominal: Nominal = field(default="zero-one", metadata=NOMINAL)
    cell: int = field(
        default=2_500, metadata=option("About how many persons a cell has.", low=10, high=MOST_PERSONS_IN_CELL)
    )
    moves: bool = field(default=True, metadata=option("Whether persons may move to a nearer group afterwards."))
    name: ClassVar[str] = "spanning-cells"
    title: ClassVar[str] = "Spanning trees of cells"
    sentence: ClassVar[str] = "The persons are cut into cells, and each cell is grouped by a spanning tree of its own."
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        progress("grouping", 0.0)
        m = fewest_persons(self.m, models)
        refuse_too_few(table, m)
        classes = classes_of_persons(table)
        located = points_of_persons(table, nominal=self.nominal)
        judge = Judge(table, models_to_ask(models, m))
        cells = part_in_cells(located.points, classes, table.n_persons // max(self.cell, 4 * m), judge)
        group_of_person = np.empty(table.n_persons, np.int32)
        n_groups = n_done = 0
        for persons in cells:
            cell = Cell(persons, located.points[persons], located.n_columns, table.records_of_person[persons], classes)
            inside = self._group_cell(cell, m, judge)
            group_of_person[persons] = n_groups + inside
            n_groups += int(inside.max()) + 1
            n_done += len(persons)
            progress("grouping", n_done / table.n_persons)
        counts = classes.counts_of_kind[classes.kind_of_person]
        warned = [*located.warnings, *warnings_of_single_classes(group_of_person, counts)]
        return grouping_of(group_of_person, warned=warned, notes=_said_of_cells(cells))

    def _group_cell(self, cell: Cell, m: int, judge: Judge) -> NDArray[np.int32]:
        """The group of each person of a cell."""
        kinds, kind = np.unique(cell.classes.kind_of_person[cell.persons], return_inverse=True)
        kind, counts_of_kind = kind.reshape(-1).astype(np.int32), cell.classes.counts_of_kind[kinds]
        whole = cell.classes.whole
        edges = spanning.grow(
            cell.points, float(cell.n_columns), kind, counts_of_kind, whole, float(self.alpha),
            max(m, 2) if self.b is None else self.b, 0, len(kinds) <= MOST_TREES,
        )  # fmt: skip
        inside = _Inside(judge, cell.persons)
        counts = counts_of_kind[kind]
        group = cut_tree(edges, counts, whole, m, inside, longest=False)
        group = part_oversized(group, cell.points, counts, whole, m, inside)
        if self.moves and not judge.models:
            n_groups = int(group.max()) + 1
            mixing.move_nearer(
                cell.points, cell.records, kind, counts_of_kind, whole, group, n_groups, m, PASSES
            )  # fmt: skip
        return group


@dataclass(frozen=True)
class Cell:
    """Some persons who are grouped by themselves; their classes are among those of the whole table."""

    persons: NDArray[np.int64]
    points: NDArray[np.float64]
    n_columns: int
    records: NDArray[np.int64]
    classes: Classes


class _Inside(Judge):
    """A judge of some persons, who are numbered anew."""

    def __init__(self, judge: Judge, persons: NDArray[np.int64]) -> None:
        self.judge = judge
        self.models = judge.models
        self.persons = persons.astype(np.int32)

    def holds(self, persons: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self.judge.holds(self.persons[persons], start)


def part_in_cells(
    located: NDArray[np.float64], classes: Classes, n_cells: int, judge: Judge
) -> list[NDArray[np.int64]]:
    """Persons in about so many cells of the same size, each of which meets every model; in order of persons."""
    cells = []
    waiting = [(np.arange(len(located)), max(n_cells, 1))]
    while waiting:
        persons, n_cells = waiting.pop()
        halves = _halved(persons, located[persons], classes, n_cells // 2, n_cells) if n_cells > 1 else None
        if halves is None or not _hold(halves, judge):
            cells.append(persons)
        else:
            waiting += [(halves[1], n_cells - n_cells // 2), (halves[0], n_cells // 2)]
    return cells


def _halved(
    persons: NDArray[np.int64], located: NDArray[np.float64], classes: Classes, share: int, of: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Persons on either side of a plane, such that the first side has share / of of them."""
    counts = classes.counts_of_kind[classes.kind_of_person[persons]]
    around_mean = located - located.mean(axis=0)
    along = around_mean @ _direction(around_mean, counts)
    order = np.argsort(along, kind="stable")
    first = len(persons) * share // of
    return np.sort(persons[order[:first]]), np.sort(persons[order[first:]])


def _direction(around_mean: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The direction of the largest extent, those in which classes differ shortened to CLASS_WEIGHT."""
    records = counts.sum(axis=0)
    present = records > 0
    means = counts[:, present].T @ around_mean / np.sqrt(records[present, None] * records.sum())
    _, spreads, directions = np.linalg.svd(means, full_matrices=False)
    spread = np.sqrt((around_mean**2).sum() / len(around_mean))
    of_classes = directions[spreads > CLASS_SHARE * spread]
    scatter = around_mean.T @ around_mean
    shorten = np.eye(len(scatter)) - (1 - CLASS_WEIGHT) * of_classes.T @ of_classes
    longest: NDArray[np.float64] = shorten @ np.linalg.eigh(shorten @ scatter @ shorten)[1][:, -1]
    return longest


def _said_of_cells(cells: Sequence[NDArray[np.int64]]) -> list[str]:
    """How many cells there were, and how large the largest was."""
    if len(cells) == 1:
        return []
    return [
        f"Persons were grouped in {len(cells):,} cells by themselves, the largest of {max(map(len, cells)):,} persons."
    ]


def _hold(halves: tuple[NDArray[np.int64], NDArray[np.int64]], judge: Judge) -> bool:
    if not judge.models:
        return True
    start = np.array([0, len(halves[0]), len(halves[0]) + len(halves[1])])
    return bool(judge.holds(np.concatenate(halves).astype(np.int32), start).all())
