"""Spanning tree: class-restricted clustering, CREST (Li and Sarkar, 2013)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.model_check import Judge
from shoal.grouping.options import ALPHA, NOMINAL, B, M, Nominal
from shoal.grouping.person_points import points_of_persons
from shoal.grouping.tree_cutting import cut_tree, fewest_persons, grouping_of, models_to_ask, refuse_too_few
from shoal.kernels import cutting, spanning
from shoal.models.contract import Model
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.table import Table

MOST_TREES = 12
"""Up to so many kinds of persons (by their classes) each kind has a kd-tree of its own."""

MOST_CELLS_COMPARED = 2**23
"""Persons times classes: beyond this persons who have several records are not compared for having the same."""

MOST_CELLS = 2**25
"""Persons times classes, each with a count in memory."""

MOST_HALVINGS = 200
"""How many ways to part an oversized group are tried."""


@dataclass(frozen=True, kw_only=True)
class SpanningTree(Method):
    """Grow a spanning tree of near persons with well mixed classes, then cut it where classes stay mixed.

    Parameters
    ----------
    alpha
        The weight of the distance in the quasi-identifiers, in [0, 1]; the rest is that of the class divergence. 1
        grows the plain minimum spanning tree ("partial" in the paper).
    b
        How many persons the neighbourhood of a candidate edge has, both ends included; None is m.
    m
        The fewest persons in a group. None is the larger of k and person-k asked for, else 3.
    start
        The record, counted from 0, whose person the tree starts from. It matters.
    repair
        Whether groups of 2m or more persons, which stay where the tree has a hub, are parted afterwards.
    nominal
        How nominal quasi-identifiers count in distances: "zero-one", two different categories are 1 apart; or "coded",
        one column of 0 and 1 per category.
    length
        What Euclidean distances are divided by: the number of "columns", as in the paper, or its "root", with which
        distances weigh as much in twenty columns as in two.

    Notes
    -----
    The class is the sensitive attribute; several are one compound attribute. Persons are the vertices: the mean of
    their records, each column scaled to [0, 1] over the records, and the classes of all of them. Every group has m
    persons at least and meets every model. Deterministic, but another start or another order of persons gives another
    tree: of equal candidates the first by (composite distance, length, u, v) joins. Exact, in about O(n log n) time in
    a few columns and classes, more in many; O(n) memory.
    """

    alpha: float = field(default=0.5, metadata=ALPHA)
    b: int | None = field(default=None, metadata=B)
    m: int | None = field(default=None, metadata=M)
    start: int = field(default=0, metadata=option("The record, counted from 0, that the tree starts from.", low=0))
    repair: bool = field(default=True, metadata=option("Whether groups of 2m or more persons are parted afterwards."))
    nominal: Nominal = field(default="zero-one", metadata=NOMINAL)
    length: Literal["columns", "root"] = field(
        default="columns", metadata=option("Distances are divided by the number of columns, or by its root.")
    )
    name: ClassVar[str] = "spanning-tree"
    title: ClassVar[str] = "Spanning tree"
    sentence: ClassVar[str] = "Near persons whose sensitive values mix well are joined to a tree, which is then cut."
    is_in_app: ClassVar[bool] = True
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        progress("grouping", 0.0)
        if self.start >= table.n_records:
            raise ParameterError(f"start names record {self.start:,}, but the table has {table.n_records:,} records.")
        m = fewest_persons(self.m, models)
        refuse_too_few(table, m)
        classes = classes_of_persons(table)
        located = points_of_persons(table, nominal=self.nominal)
        edges = spanning.grow(
            located.points, self._divisor(located.n_columns), classes.kind_of_person, classes.counts_of_kind,
            classes.whole, float(self.alpha), max(m, 2) if self.b is None else self.b,
            int(table.person_of_record[self.start]), len(classes.counts_of_kind) <= MOST_TREES,
        )  # fmt: skip
        progress("grouping", 0.6)
        counts = classes.counts_of_kind[classes.kind_of_person]
        judge = Judge(table, models_to_ask(models, m))
        component_of_person = cut_tree(edges, counts, classes.whole, m, judge, longest=False)
        notes = []
        if self.repair:
            whole_groups = component_of_person
            component_of_person = part_oversized(whole_groups, located.points, counts, classes.whole, m, judge)
            notes += _said_of_repair(whole_groups, component_of_person, m)
        progress("grouping", 1.0)
        warned = [*located.warnings, *warnings_of_single_classes(component_of_person, counts)]
        return grouping_of(component_of_person, warned=warned, notes=notes)

    def _divisor(self, n_columns: int) -> float:
        return float(n_columns) if self.length == "columns" else math.sqrt(n_columns)


@dataclass(frozen=True)
class Classes:
    """The classes of persons: how many records of each class, by kinds of persons who have the same."""

    kind_of_person: NDArray[np.int32]
    counts_of_kind: NDArray[np.int64]
    whole: NDArray[np.float64]
    """The share of each class among all records."""


def classes_of_persons(table: Table) -> Classes:
    """The classes: the values of the sensitive attribute, or the combinations of values of several."""
    if not table.sensitive:
        raise SchemaError(
            "The spanning tree mixes the values of a sensitive attribute, but none is named. Name at least one, or "
            "choose the method longest-edge."
        )
    class_of_record = np.zeros(table.n_records, np.int64)
    for column in table.sensitive.values():
        _, class_of_record = np.unique(class_of_record * column.n_codes + column.codes, return_inverse=True)
    n_classes = int(class_of_record.max()) + 1
    named = ", ".join(f"'{name}'" for name in table.sensitive)
    if n_classes == 1:
        raise SchemaError(
            f"The class attribute {named} has the same value in all {table.n_records:,} records, so that there is "
            "nothing to mix. Name another sensitive attribute, or choose the method longest-edge."
        )
    if n_classes * table.n_persons > MOST_CELLS:
        raise SchemaError(
            f"The class attribute {named} has {n_classes:,} values, too many to mix among {table.n_persons:,} persons. "
            "Join values to classes, or name fewer sensitive attributes."
        )
    cell = table.person_of_record * np.int64(n_classes) + class_of_record
    counts = np.bincount(cell, minlength=n_classes * table.n_persons).reshape(table.n_persons, n_classes)
    whole = counts.sum(axis=0) / table.n_records
    if table.n_records == table.n_persons:
        kinds, counts_of_kind = counts.argmax(axis=1), np.eye(n_classes, dtype=np.int64)
    elif counts.size <= MOST_CELLS_COMPARED:
        counts_of_kind, kinds = np.unique(counts, axis=0, return_inverse=True)
    else:
        kinds, counts_of_kind = np.arange(table.n_persons), counts
    return Classes(kinds.reshape(-1).astype(np.int32), np.ascontiguousarray(counts_of_kind, dtype=np.int64), whole)


def part_oversized(
    component_of_person: NDArray[np.int32],
    located: NDArray[np.float64],
    counts: NDArray[np.int64],
    whole: NDArray[np.float64],
    m: int,
    judge: Judge,
) -> NDArray[np.int32]:
    """Part groups of 2m or more persons in two, again and again, while both sides meet every model.

    A group is parted at a threshold of one column, that of the smallest divergence/length ratio, the length being
    that between the means of the sides; no side is left with one class where the group has several. Persons who stand
    at one point stay together.
    """
    component_of_person = component_of_person.copy()
    sizes = np.bincount(component_of_person)
    order = np.argsort(component_of_person, kind="stable").astype(np.int32)
    ends = np.cumsum(sizes)
    waiting = [order[ends[group] - sizes[group] : ends[group]] for group in np.flatnonzero(sizes >= 2 * m)]
    n_groups = len(sizes)
    while waiting:
        persons = waiting.pop()
        is_left = _best_halving(persons, located, counts, whole, m, judge)
        if is_left is None:
            continue
        component_of_person[persons[~is_left]] = n_groups
        n_groups += 1
        waiting += [side for side in (persons[is_left], persons[~is_left]) if len(side) >= 2 * m]
    return component_of_person


def _best_halving(
    persons: NDArray[np.int32],
    located: NDArray[np.float64],
    counts: NDArray[np.int64],
    whole: NDArray[np.float64],
    m: int,
    judge: Judge,
) -> NDArray[np.bool_] | None:
    inside = located[persons]
    most = MOST_HALVINGS if judge.models else 1
    for column, threshold in zip(*cutting.best_halvings(inside, counts[persons], whole, m, most), strict=True):
        is_left: NDArray[np.bool_] = inside[:, column] <= threshold
        if not judge.models:
            return is_left
        start = np.array([0, int(is_left.sum()), len(persons)])
        if judge.holds(np.concatenate([persons[is_left], persons[~is_left]]), start).all():
            return is_left
    return None


def _said_of_repair(before: NDArray[np.int32], after: NDArray[np.int32], m: int) -> list[str]:
    """How many groups were parted, and how large the largest was and is."""
    sizes, sizes_after = np.bincount(before), np.bincount(after)
    n_more = len(sizes_after) - len(sizes)
    if not n_more:
        return []
    return [
        f"Groups of {2 * m:,} or more persons, which the tree left, were parted: {len(sizes):,} groups became "
        f"{len(sizes_after):,}, and the largest, of {sizes.max():,} persons, one of {sizes_after.max():,}. The option "
        "repair turns this off."
    ]


def warnings_of_single_classes(component_of_person: NDArray[np.int32], counts: NDArray[np.int64]) -> list[str]:
    """How many groups have a class that only one of their persons has (the paper's section 7)."""
    n_groups = int(component_of_person.max()) + 1
    persons_of_class = np.zeros((n_groups, counts.shape[1]), np.int32)
    np.add.at(persons_of_class, component_of_person, counts > 0)
    n_single = int((persons_of_class == 1).any(axis=1).sum())
    if not n_single:
        return []
    return [
        f"{n_single:,} of {n_groups:,} groups hold a class of one person only. Whoever finds out the group of a person "
        "may learn that class: ask for a larger m, or for a model of sensitive values, if that must not be."
    ]
