"""Decomposition: group persons as if each had one record, then join their records (Tao et al., 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.grouping.balance_tree import MedianSweep
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.person_space import person_space
from shoal.grouping.tree import Tree, what_is_counted
from shoal.kernels import trees
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Decomposition(Method):
    """The baseline that the paper's section 2 argues against: models see one record per person while groups are formed.

    Notes
    -----
    The groups then meet a model such as g-balance only by chance once the records are joined: the release is judged
    on the joined table as always, and refused where it fails. Persons are cut as Mondrian does.
    """

    name: ClassVar[str] = "decomposition"
    title: ClassVar[str] = "Decomposition"
    sentence: ClassVar[str] = "Persons are grouped as if each had one record: a baseline for study."

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table by their means alone."""
        space = person_space(table, one_record_per_person=True, with_variance=False, **what_is_counted(models))
        return Tree(space, models, MedianSweep(space, trees.WIDEST)).grow(progress)
