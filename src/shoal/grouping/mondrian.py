"""Mondrian: cut the widest quasi-identifier at its median (LeFevre, DeWitt and Ramakrishnan, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.grouping.balance_tree import MedianSweep
from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import person_space
from shoal.grouping.tree import Tree, what_is_counted
from shoal.kernels import trees
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Cut at the median of the quasi-identifier with the widest range; where that fails, the next widest.

    Parameters
    ----------
    spread
        How wide a quasi-identifier is: "range", of values scaled to [0, 1] over the whole table; or "z-score", in
        standard deviations of the whole table, categories taken by the number of their code (Gal, Chen and
        Gangopadhyay, 2008).

    Notes
    -----
    A person's records stay together: persons are ordered by the mean of their records, the median is that of the
    records. Nominal quasi-identifiers are cut category against the rest, their width is the share of their categories
    that is present. Every group meets every model. O(q n log n) time.
    """

    spread: str = "range"
    name: ClassVar[str] = "mondrian"
    keeps_models: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.spread not in ("range", "z-score"):
            raise ParameterError("spread must be 'range' or 'z-score'.")

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        space = person_space(
            table, with_variance=False, codes_as_numbers=self.spread == "z-score", **what_is_counted(models)
        )
        return Tree(space, models, MedianSweep(space, trees.WIDEST)).grow(progress)
