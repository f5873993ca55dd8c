"""Longest edge: cut the minimum spanning tree at its longest edges (Laszlo and Mukherjee, 2005)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.model_check import Judge
from shoal.grouping.options import NOMINAL, M, Nominal
from shoal.grouping.person_points import points_of_persons
from shoal.grouping.tree_cutting import cut_tree, fewest_persons, grouping_of, models_to_ask, refuse_too_few
from shoal.kernels import spanning
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class LongestEdge(Method):
    """Cut the longest removable edge of the minimum spanning tree of persons, again and again.

    Parameters
    ----------
    m
        The fewest persons in a group. None is the larger of k and person-k asked for, else 3.
    nominal
        How nominal quasi-identifiers count in distances: "zero-one", two different categories are 1 apart; or "coded",
        one column of 0 and 1 per category.

    Notes
    -----
    An edge is removable if both sides have m persons and meet every model; with t-closeness this is the benchmark of
    Li and Sarkar (2013). Persons are the vertices: the mean of their records, each column scaled to [0, 1]. Sensitive
    attributes play no part but through the models. Deterministic; where edges have the same length, the order of
    persons decides. Exact, in about O(n log n) time in a few columns, more in many; O(n) memory.
    """

    m: int | None = field(default=None, metadata=M)
    nominal: Nominal = field(default="zero-one", metadata=NOMINAL)
    name: ClassVar[str] = "longest-edge"
    title: ClassVar[str] = "Longest edge"
    sentence: ClassVar[str] = "Persons are joined to their minimum spanning tree, whose longest edges are cut."
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        progress("grouping", 0.0)
        m = fewest_persons(self.m, models)
        refuse_too_few(table, m)
        located = points_of_persons(table, nominal=self.nominal)
        class_of_person = np.zeros(table.n_persons, np.int32)
        one_class, whole = np.ones((1, 1), np.int64), np.ones(1)
        start = int(table.person_of_record[0])
        divisor = float(located.n_columns)
        edges = spanning.grow(located.points, divisor, class_of_person, one_class, whole, 1.0, 2, start, True)
        progress("grouping", 0.6)
        judge = Judge(table, models_to_ask(models, m))
        component_of_person = cut_tree(edges, one_class[class_of_person], whole, m, judge, longest=True)
        progress("grouping", 1.0)
        return grouping_of(component_of_person, warned=located.warnings)
