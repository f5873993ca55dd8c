"""The balance tree: Kartal and Li's recursive partitioning, and a better cut than theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.grouping.tree import Sweep, Tree
from shoal.kernels import trees
from shoal.kernels.trees import Cuts, Orders, Segments
from shoal.models.contract import Model, least_persons
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class BalanceTree:
    """Cut the table in two, and the parts again, as long as both sides meet every model.

    Parameters
    ----------
    cut
        "best": of all cuts of all quasi-identifiers whose sides meet every model, the one that takes most off the sum
        of squares inside groups. "median": the paper's (Kartal and Li, 2020, Table 5): at the median of the
        quasi-identifier with the smallest balance-variance ratio; where that fails, the next smallest.
    ties
        For "median": "together" keeps persons of equal values on one side; "split" cuts also between them.

    Notes
    -----
    Every group meets every model; the same table gives the same grouping, in whatever order its records stand.
    O(q n log n) time for q quasi-identifiers and n persons where the tree is balanced; O(q n) memory.
    """

    cut: str = "best"
    ties: str = "together"
    name: ClassVar[str] = "balance-tree"
    keeps_models: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.cut not in ("best", "median"):
            raise ParameterError("cut must be 'best' or 'median'.")
        if self.ties not in ("together", "split"):
            raise ParameterError("ties must be 'together' or 'split'.")
        if self.ties == "split" and self.cut != "median":
            raise ParameterError("ties='split' goes with cut='median' only.")

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        space = person_space(table, ties_by_records=self.ties == "split")
        if self.cut == "median":
            sweep = median_sweep(space, trees.BALANCE_VARIANCE, split_ties=self.ties == "split")
        else:
            sweep = best_sweep(space, models)
        return Tree(space, models, sweep).grow(progress)


def best_sweep(space: PersonSpace, models: Sequence[Model]) -> Sweep:
    """A sweep of all cuts, by what they take off the sum of squares inside groups."""
    needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
    fewest = least_persons(models)

    def sweep(orders: Orders, segments: Segments, first: int, last: int) -> Cuts:
        return trees.sweep_all_cuts(  # type: ignore[no-any-return]
            orders, segments, first, last, space.persons, space.n_categories, 1.0 / float(space.grid) ** 2,
            fewest, "most_records" in needs, "log_records" in needs,
        )  # fmt: skip

    return sweep


def median_sweep(space: PersonSpace, criterion: int, *, split_ties: bool = False) -> Sweep:
    """A sweep of median cuts only, by the criterion given."""
    numeric_of_order = np.array(space.numeric_of_order)
    span_of_order = np.array(space.span_of_order)

    def sweep(orders: Orders, segments: Segments, first: int, last: int) -> Cuts:
        return trees.sweep_median_cuts(  # type: ignore[no-any-return]
            orders, segments, first, last, space.persons, numeric_of_order, float(space.grid), span_of_order,
            criterion, split_ties,
        )  # fmt: skip

    return sweep
