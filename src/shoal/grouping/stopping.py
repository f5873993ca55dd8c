"""Where a tree stopped: the cuts of its final groups that it would have made, had both sides met the models of values.

Trees that cut at the median propose cuts by quasi-identifiers and numbers of records alone. Whether a cut is made
depends on sensitive values only through the models, so that everybody who knows the rest knows which cuts failed by
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.balance_tree import BalanceTree, MedianSweep
from shoal.grouping.grouping import Grouping
from shoal.grouping.mondrian import Mondrian
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.grouping.tree import what_is_counted
from shoal.kernels import trees
from shoal.kernels.trees import Cuts, Orders, Segments
from shoal.models.contract import Model
from shoal.models.counts import SPREAD, GroupCounts
from shoal.table.table import Table


class Stopped(NamedTuple):
    """The cuts at which a tree stopped, one behind the other, and who is on their left."""

    group: NDArray[np.int64]
    """The group that each cut would have cut."""
    start: NDArray[np.int64]
    """The persons on the left of cut i are left[start[i]:start[i + 1]]."""
    left: NDArray[np.int64]

    def left_of(self, cut: int) -> NDArray[np.int64]:
        """The persons on the left of a cut."""
        return self.left[self.start[cut] : self.start[cut + 1]]


def cuts_at_the_median(method: object) -> bool:
    """Whether a method is a tree whose cuts depend on sensitive values through the models only."""
    return isinstance(method, Mondrian) or (isinstance(method, BalanceTree) and method.cut == "median")


def stopped_at(table: Table, method: object, models: Sequence[Model], grouping: Grouping) -> Stopped:
    """The cuts of each final group whose sides meet every model of records and persons.

    Since the tree stopped there, each of them has a side that breaks some model of sensitive values.

    Parameters
    ----------
    table, models
        What the tree was grown on.
    method
        A tree that cuts at the median (`cuts_at_the_median`).
    grouping
        The groups that it formed.
    """
    space, sweep = _swept(table, method, models)
    orders, segments = _by_group(space, grouping)
    cuts = sweep.all(orders, segments, np.arange(grouping.n_groups))
    passes = np.ones(len(cuts.node), np.bool_)
    for model in models:
        if model.needs <= SPREAD:
            passes &= model.holds(_side(cuts, "left")) & model.holds(_side(cuts, "right"))
    kept = np.flatnonzero(passes)
    lengths = cuts.position[kept].astype(np.int64) - cuts.run_start[kept] + 1
    start = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(int(start[-1])) + np.repeat(cuts.run_start[kept] - start[:-1], lengths)
    return Stopped(cuts.node[kept].astype(np.int64), start, orders.person[at].astype(np.int64))


def _swept(table: Table, method: object, models: Sequence[Model]) -> tuple[PersonSpace, MedianSweep]:
    """Persons and proposed cuts as the method has them."""
    counted = what_is_counted(models)
    if isinstance(method, Mondrian):
        space = person_space(table, with_variance=False, codes_as_numbers=method.spread == "z-score", **counted)
        return space, MedianSweep(space, trees.WIDEST)
    assert isinstance(method, BalanceTree)
    splits = method.ties == "split"
    space = person_space(table, ties_by_records=splits, **counted)
    return space, MedianSweep(space, trees.BALANCE_VARIANCE, split_ties=splits)


def _by_group(space: PersonSpace, grouping: Grouping) -> tuple[Orders, Segments]:
    """The sorted orders with a segment for each final group, each still sorted."""
    n_orders = space.whole_table.start.shape[0]
    start = np.empty((n_orders, grouping.n_groups), np.int64)
    end = np.empty((n_orders, grouping.n_groups), np.int64)
    parts = []
    for number in range(n_orders):
        first, last = int(space.whole_table.start[number, 0]), int(space.whole_table.end[number, 0])
        group = grouping.group_of_person[space.orders.person[first:last]]
        order = np.argsort(group, kind="stable")
        parts.append(first + order)
        behind = np.cumsum(np.bincount(group, minlength=grouping.n_groups))
        end[number] = first + behind
        start[number] = end[number] - np.bincount(group, minlength=grouping.n_groups)
    at = np.concatenate(parts)
    return Orders(*(part[at] for part in space.orders)), Segments(start, end)


def _side(cuts: Cuts, side: str) -> GroupCounts:
    """The counts of records and persons on one side of cuts."""
    persons, records, squared, most, logs = (
        getattr(cuts, f"{side}_{what}") for what in ("persons", "records", "squared", "most", "logs")
    )
    return GroupCounts(persons=persons, records=records, squared_records=squared, most_records=most, log_records=logs)
