"""Mondrian: cut the widest quasi-identifier at its median (LeFevre, DeWitt and Ramakrishnan, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.grouping.balance_tree import MedianSweep
from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import person_space
from shoal.grouping.tree import Tree, count_values
from shoal.kernels import trees
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Cut at the median of the quasi-identifier with the widest range; where that fails, the next widest.

    Notes
    -----
    A person's records stay together: persons are ordered by the mean of their records, the median is that of the
    records. Nominal quasi-identifiers are cut category against the rest, their width is the share of their categories
    that is present. Every group meets every model. O(q n log n) time.
    """

    name: ClassVar[str] = "mondrian"
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        space = person_space(table, with_variance=False, with_values=count_values(models))
        return Tree(space, models, MedianSweep(space, trees.WIDEST)).grow(progress)
