"""The balance tree: Kartal and Li's recursive partitioning, and a better cut than theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.grouping.along_nodes import AlongNodes
from shoal.grouping.grouping import Grouping, Method, Prepared, Rng
from shoal.grouping.improve import EFFORTS, improve
from shoal.grouping.local_recoding import DIGITS
from shoal.grouping.mixing import classes_to_mix
from shoal.grouping.options import ALPHA, EFFORT
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.grouping.spanning_tree import Classes
from shoal.grouping.tree import Sweep, Tree, what_is_counted
from shoal.kernels import mixing, trees
from shoal.kernels.trees import Cuts, Limits, Orders, Segments
from shoal.models.contract import Model, SpreadLimits, limits_of
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.columns import NumberColumn
from shoal.table.lines import on_lines
from shoal.table.table import Table
from shoal.threads import fair_parts, side_by_side

Grown = Callable[[PersonSpace, Sequence[Model], Progress], Grouping]

ROUNDING = 1e-12
"""What is not above this is 0."""

PERSONS_PER_THREAD = 10_000
"""With fewer persons than this a thread of their own would not pay."""


@dataclass(frozen=True, kw_only=True)
class BalanceTree(Method):
    """Cut the table in two, and the parts again, as long as both sides meet every model.

    Parameters
    ----------
    cut
        "best": of all cuts of all quasi-identifiers whose sides meet every model, the one that takes most off the sum
        of squares inside groups. "median": the paper's (Kartal and Li, 2020, Table 5): at the median of the
        quasi-identifier with the smallest balance-variance ratio; where that fails, the next smallest.
    ties
        For "median": "together" keeps persons of equal values on one side; "split" cuts also between them.
    alpha
        For "best": the weight of the squares, in [0, 1]; the rest is that of the class divergence, so that groups keep
        the sensitive values of the table (what Li and Sarkar, 2013, section 8, ask for). 1 looks at squares only.
    effort
        For "best" with alpha 1: how long to look for groups that lose less, once the tree is grown. "low": not at all.
        "normal": little for a large table, more for a small one. "high": as long as it pays.

    Notes
    -----
    Quasi-identifiers with a hierarchy are laid on a line, on which values stand the closer the lower the node above
    them is. With "best" and alpha 1, groups along the nodes of hierarchies are formed and cut on, too; they are taken
    where they would show more.

    Every group meets every model; the same table gives the same grouping, in whatever order its records stand.
    O(q n log n) time for q quasi-identifiers and n persons where the tree is balanced; O(q n) memory.
    """

    cut: Literal["best", "median"] = field(
        default="best", metadata=option("Where to cut: at the best of all places, or at the median as in the paper.")
    )
    ties: Literal["together", "split"] = field(
        default="together",
        metadata=option("For the median: whether persons of equal values stay together or are split."),
    )
    alpha: float = field(default=1.0, metadata=ALPHA)
    effort: Literal["low", "normal", "high"] = field(default="normal", metadata=EFFORT)
    name: ClassVar[str] = "balance-tree"
    title: ClassVar[str] = "Balance tree"
    sentence: ClassVar[str] = "The table is cut in two, and the parts again, as long as both sides keep every promise."
    is_in_app: ClassVar[bool] = True
    keeps_models: ClassVar[bool] = True
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties == "split" and self.cut != "median":
            raise ParameterError("ties='split' goes with cut='median' only.")
        if self.alpha < 1 and self.cut != "best":
            raise ParameterError("alpha goes with cut='best' only.")
        if self.effort == "high" and not self.looks_on:
            raise ParameterError("effort='high' goes with cut='best' and alpha 1 only.")

    @property
    def cuts_best(self) -> bool:
        """Whether cuts are the best by squares alone."""
        return self.cut == "best" and self.alpha == 1

    def prepared(self, table: Table) -> Prepared | None:
        """With the best cut, trees that were grown before are gone on with."""
        from shoal.grouping.memory import PreparedTree

        return PreparedTree(self, table) if self.cuts_best else None

    @property
    def needs_squares(self) -> bool:
        """The median's choice of a quasi-identifier and looking on after the tree ask for them."""
        return self.cut == "median" or self.looks_on

    def quick(self) -> BalanceTree:
        """The same without looking on."""
        return replace(self, effort="low") if self.looks_on else self

    def why_not_on(self, engine: str) -> list[str]:
        """Why an engine does not weigh classes."""
        if self.alpha == 1:
            return []
        if engine == "stream":
            return ["balance-tree with alpha below 1 looks at classes of records."]
        return [
            "alpha below 1 weighs cuts by the values of the whole table at every step. On Spark leave alpha at 1, and "
            "ask for t-closeness where groups shall keep the values of the table."
        ]

    @property
    def looks_on(self) -> bool:
        """Whether groups that lose less are looked for once the tree is grown."""
        return self.cuts_best and self.effort != "low"

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        table = on_lines(table)
        space = person_space(
            table,
            ties_by_records=self.ties == "split",
            with_variance=self.cut == "median" or self.looks_on,
            **what_is_counted(models),
        )
        if self.cuts_best:
            return self.best_groups(table, space, models, _grown, progress)
        if self.cut == "median":
            sweep: Sweep = MedianSweep(space, trees.BALANCE_VARIANCE, split_ties=self.ties == "split")
        else:
            sweep = MixingSweep(space, models, classes_to_mix(table, self.name), float(self.alpha))
        return Tree(sweep.space, models, sweep).grow(progress)

    def best_groups(
        self, table: Table, space: PersonSpace, models: Sequence[Model], grown: Grown, progress: Progress
    ) -> Grouping:
        """The groups of the best cuts, or with hierarchies those along nodes where these lose less.

        Parameters
        ----------
        grown
            Grows a tree from the parts of a space; the orders of the space are then no longer needed.
        """
        along, finer = None, None
        if any(isinstance(column, NumberColumn) and column.laid is not None for column in table.quasi.values()):
            along = AlongNodes(table, space)
            cells = along.cells(models, _part_of(progress, 0.0, 0.3), effort=self.effort)
            progress = _part_of(progress, 0.3, 1.0)
            finer = grown(space.parted(cells.group_of_person, cells.n_groups), models, silent)
        grouping = grown(space, models, progress)
        if self.looks_on:
            space = space.without_orders()
            grouping = improve(space, models, grouping, effort=EFFORTS[self.effort], progress=progress)
        if along is None or finer is None:
            return grouping
        return min(finer, grouping, key=lambda each: round(along.loss(each), DIGITS))


def _part_of(progress: Progress, start: float, end: float) -> Progress:
    """Tells of work that is a part of the whole."""
    return lambda stage, done: progress(stage, start + (end - start) * done)


def _grown(space: PersonSpace, models: Sequence[Model], progress: Progress) -> Grouping:
    sweep = BestSweep(space.without_variance(), models)
    return Tree(sweep.space, models, sweep).grow(progress)


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
        self.limits = Limits(*limits.in_whole_numbers)

    def best(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts | None:
        """The best cut of each node whose sides meet every model of records and persons; None where it cannot tell."""
        if not self.decides_spread:
            return None
        persons = segments.end[-1, nodes] - segments.start[-1, nodes]
        parts = side_by_side(
            lambda some: self._sweep(orders, segments, nodes[some], only_best=True),
            fair_parts(persons, PERSONS_PER_THREAD),
        )
        return Cuts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def all(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts:
        """Every cut of some nodes that is worth asking the models about."""
        return self._sweep(orders, segments, nodes, only_best=False)

    def _sweep(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64], *, only_best: bool) -> Cuts:
        return trees.sweep_all_cuts(
            orders, segments, nodes, self.space.persons, self.space.n_categories, 1.0 / float(self.space.grid) ** 2,
            self.limits, only_best, self.keep_most, self.keep_logs,
        )  # fmt: skip


class MixingSweep(BestSweep):
    """All cuts, by what they take off the sum of squares and by how little they raise the divergence of classes.

    The merit is alpha * (what the cut takes off the squares) - (1 - alpha) * (by how much it raises the divergence of
    the classes from those of the table, the sides weighted by records), each as a share of the most that a cut of the
    group does.
    """

    def __init__(self, space: PersonSpace, models: Sequence[Model], classes: Classes, alpha: float) -> None:
        # the kind of a person stands behind what sweeps read of them, so that it moves with them
        row = np.column_stack([space.persons.row, classes.kind_of_person])
        super().__init__(replace(space, persons=space.persons._replace(row=row)), models)
        self.decides_spread = False
        self.limits = Limits(1, 1, 1, 1, 1, 1)
        self.classes = classes
        self.alpha = alpha

    def all(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts:
        """Every cut of some nodes."""
        cuts = super().all(orders, segments, nodes)
        rises = mixing.rises_of_cuts(
            orders.person, segments, cuts.node, cuts.run_start, cuts.position, self.space.persons.row,
            self.classes.counts_of_kind, self.classes.whole,
        )  # fmt: skip
        gain, loss = (_as_share(values, cuts.node, segments.start.shape[1]) for values in (cuts.merit, rises))
        return cuts._replace(merit=self.alpha * gain - (1 - self.alpha) * loss)


def _as_share(values: NDArray[np.float64], node: NDArray[np.int32], n_nodes: int) -> NDArray[np.float64]:
    """Values of cuts as shares of the largest in the same node; all 0 where that is 0 but for rounding."""
    most = np.zeros(n_nodes)
    np.maximum.at(most, node, values)
    share: NDArray[np.float64] = values / np.where(most > ROUNDING, most, np.inf)[node]
    return share


class MedianSweep:
    """One cut per quasi-identifier and category: at the median of the records."""

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
