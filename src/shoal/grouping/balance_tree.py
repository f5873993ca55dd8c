"""The balance tree: Kartal and Li's recursive partitioning, and a better cut than theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.grouping.tree import Sweep, Tree, what_is_counted
from shoal.kernels import trees
from shoal.kernels.trees import Cuts, Limits, Orders, Segments
from shoal.models.contract import Model
from shoal.models.limits import SpreadLimits, limits_of
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
        space = person_space(
            table,
            ties_by_records=self.ties == "split",
            with_variance=self.cut == "median",
            **what_is_counted(models),
        )
        if self.cut == "median":
            sweep: Sweep = MedianSweep(space, trees.BALANCE_VARIANCE, split_ties=self.ties == "split")
        else:
            sweep = BestSweep(space, models)
        return Tree(space, models, sweep).grow(progress)


class BestSweep:
    """All cuts, by what they take off the sum of squares inside groups."""

    def __init__(self, space: PersonSpace, models: Sequence[Model]) -> None:
        self.space = space
        needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
        limits = limits_of(models)
        self.decides_spread = limits is not None and limits.fits(space.n_records)
        if limits is None or not self.decides_spread:
            limits = SpreadLimits()
        self.keep_most = "most_records" in needs
        self.keep_logs = "log_records" in needs
        self.limits = Limits(
            limits.least_persons, limits.least_records, *limits.largest_share.as_integer_ratio(),
            *limits.largest_squares.as_integer_ratio(),
        )  # fmt: skip

    def best(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts | None:
        """The best cut of each node whose sides meet every model of records and persons; None where it cannot tell."""
        return self._sweep(orders, segments, nodes, only_best=True) if self.decides_spread else None

    def all(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts:
        """Every cut of some nodes that is worth asking the models about."""
        return self._sweep(orders, segments, nodes, only_best=False)

    def _sweep(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64], *, only_best: bool) -> Cuts:
        return trees.sweep_all_cuts(
            orders, segments, nodes, self.space.persons, self.space.n_categories, 1.0 / float(self.space.grid) ** 2,
            self.limits, only_best, self.keep_most, self.keep_logs,
        )  # fmt: skip


class MedianSweep:
    """One cut a quasi-identifier and category: at the median of the records."""

    def __init__(self, space: PersonSpace, criterion: int, *, split_ties: bool = False) -> None:
        self.space = space
        self.numeric_of_order = np.array(space.numeric_of_order)
        self.span_of_order = np.array(space.span_of_order)
        self.criterion = criterion
        self.split_ties = split_ties

    def best(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts | None:
        """None: median cuts are so few that the models are asked about all of them."""
        return None

    def all(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts:
        """The median cuts of some nodes."""
        return trees.sweep_median_cuts(
            orders, segments, nodes, self.space.persons, self.numeric_of_order, float(self.space.grid),
            self.span_of_order, self.criterion, self.split_ties,
        )  # fmt: skip
