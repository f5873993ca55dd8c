"""Growing tree after tree under stricter and stricter models: a cut that stays feasible stays the best.

The best cut of a node is the best of all cuts whose sides keep to the limits. Under stricter limits fewer cuts do, so
that where the best of before still does, it is the best now, and where none did, none does now. Nodes are known again
by their persons: by the sum of a random number per person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.balance_tree import BalanceTree, BestSweep
from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.grouping.tree import Tree, what_is_counted
from shoal.kernels import trees
from shoal.kernels.trees import Cuts, Limits, Orders, Segments
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.lines import on_lines
from shoal.table.table import Table

SIDE_COUNTS = Cuts._fields[4:]
NO_CUT = -1


class PreparedTree:
    """A table laid out and sorted once, for growing tree after tree."""

    def __init__(self, method: BalanceTree, table: Table) -> None:
        self.method = method
        self.table = on_lines(table)
        self._spaces: dict[tuple[tuple[str, bool], ...], PersonSpace] = {}
        self._memory = Memory()

    def group(self, models: Sequence[Model], progress: Progress = silent) -> Grouping:
        """The same grouping as the method gives by itself."""
        return self.method.best_groups(self.table, self._space(models), models, self._grown, progress)

    def _grown(self, space: PersonSpace, models: Sequence[Model], progress: Progress) -> Grouping:
        sweep = RememberedSweep(space, models, self._memory)
        grouping = Tree(space, models, sweep, keeps_orders=True).grow(progress)
        self._memory.settle()
        return grouping

    def _space(self, models: Sequence[Model]) -> PersonSpace:
        counted = what_is_counted(models)
        known = tuple(sorted(counted.items()))
        if known not in self._spaces:
            space = person_space(self.table, with_variance=self.method.looks_on, **counted)
            keys = np.random.default_rng(0).integers(0, 2**64, space.n_persons, dtype=np.uint64)
            self._spaces[known] = replace(space, key=keys)
        return self._spaces[known]


@dataclass
class _Entries:
    """Nodes and their best cuts, sorted by node: places are counted from where the node starts in the order."""

    node: NDArray[np.uint64]
    generation: NDArray[np.int32]
    order: NDArray[np.int32]
    run_start: NDArray[np.int64]
    position: NDArray[np.int64]
    merit: NDArray[np.float64]
    counts: NDArray[np.float64]

    @classmethod
    def none(cls) -> _Entries:
        """No entries."""
        return cls(
            np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64),
            np.empty(0, np.int64), np.empty(0, np.float64), np.empty((0, len(SIDE_COUNTS))),
        )  # fmt: skip

    def at(self, where: NDArray[np.int64]) -> _Entries:
        """Some of them."""
        return _Entries(*(getattr(self, each.name)[where] for each in fields(self)))


@dataclass
class Memory:
    """The best cut of every node that was swept, and under which limits."""

    entries: _Entries = field(default_factory=_Entries.none)
    limits: list[tuple[Limits, bool, bool]] = field(default_factory=list)
    _new: list[_Entries] = field(default_factory=list)

    def generation(self, limits: Limits, keeps: tuple[bool, bool]) -> int:
        """A number for these limits and for what is counted."""
        known = (limits, *keeps)
        if known not in self.limits:
            self.limits.append(known)
        return self.limits.index(known)

    def usable(self, generation: int) -> NDArray[np.bool_]:
        """Of each generation, whether what it found holds under the limits of this one."""
        now, *keeps = self.limits[generation]
        return np.array([_is_stricter(now, then) and kept == keeps for then, *kept in self.limits], np.bool_)

    def find(self, nodes: NDArray[np.uint64], generation: int) -> NDArray[np.int64]:
        """The entry of each node that can be relied on, or -1."""
        if not len(self.entries.node):
            return np.full(len(nodes), -1, np.int64)
        at = np.minimum(np.searchsorted(self.entries.node, nodes), len(self.entries.node) - 1)
        is_known = (self.entries.node[at] == nodes) & self.usable(generation)[self.entries.generation[at]]
        return np.where(is_known, at, -1)

    def remember(self, entries: _Entries) -> None:
        """Keep what was found; it can be looked up once the tree is grown."""
        self._new.append(entries)

    def settle(self) -> None:
        """Sort in what is new; a node that was swept again is known by the later sweep."""
        parts = [*reversed(self._new), self.entries]
        merged = _Entries(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(_Entries)))
        _, first = np.unique(merged.node, return_index=True)
        self.entries, self._new = merged.at(first), []


def _is_stricter(now: Limits, then: Limits) -> bool:
    """Whether every cut that keeps to the limits now kept to those of then."""
    return bool(
        now.least_persons >= then.least_persons
        and now.least_records >= then.least_records
        and Fraction(now.share, now.share_of) <= Fraction(then.share, then.share_of)
        and Fraction(now.squares, now.squares_of) <= Fraction(then.squares, then.squares_of)
    )


class RememberedSweep(BestSweep):
    """All cuts, as in `BestSweep`, but nodes are swept only where what is remembered of them does not tell."""

    def __init__(self, space: PersonSpace, models: Sequence[Model], memory: Memory) -> None:
        super().__init__(space, models)
        self.memory = memory
        self.generation = memory.generation(self.limits, (self.keep_most, self.keep_logs))

    def best(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts | None:
        """The best cut of each node whose sides meet every model of records and persons; None where it cannot tell."""
        if not self.decides_spread:
            return None
        assert self.space.key is not None
        identity = trees.sums_of_keys(orders.person, segments.start[-1, nodes], segments.end[-1, nodes], self.space.key)
        entry = self.memory.find(identity, self.generation)
        known = entry >= 0
        entries = self.memory.entries.at(entry[known])
        known_nodes = nodes[known]
        has_cut = entries.order != NO_CUT
        recalled = _as_cuts(entries.at(np.flatnonzero(has_cut)), known_nodes[has_cut], segments)
        keeps = trees.keep_to_limits(recalled, self.limits)
        recalled = Cuts(*(column[keeps] for column in recalled))
        is_open = ~known
        is_open[np.flatnonzero(known)[np.flatnonzero(has_cut)[~keeps]]] = True
        swept = super().best(orders, segments, nodes[is_open])
        assert swept is not None
        self.memory.remember(self._entries(swept, segments, nodes[is_open], identity[is_open]))
        together = [np.concatenate(pair) for pair in zip(recalled, swept, strict=True)]
        by_node = np.argsort(together[0], kind="stable")
        return Cuts(*(column[by_node] for column in together))

    def _entries(
        self, cuts: Cuts, segments: Segments, nodes: NDArray[np.int64], identity: NDArray[np.uint64]
    ) -> _Entries:
        """What a sweep found, to be remembered; also of which nodes it found nothing."""
        n = len(nodes)
        found = _Entries(
            identity, np.full(n, self.generation, np.int32), np.full(n, NO_CUT, np.int32), np.zeros(n, np.int64),
            np.zeros(n, np.int64), np.zeros(n), np.zeros((n, len(SIDE_COUNTS))),
        )  # fmt: skip
        at = np.searchsorted(nodes, cuts.node)
        starts, ends = segments.start[:-1, cuts.node], segments.end[:-1, cuts.node]
        order = ((starts <= cuts.run_start) & (cuts.run_start < ends)).argmax(axis=0)
        begin = segments.start[order, cuts.node]
        found.order[at] = order
        found.run_start[at] = cuts.run_start - begin
        found.position[at] = cuts.position - begin
        found.merit[at] = cuts.merit
        found.counts[at] = np.stack([getattr(cuts, name) for name in SIDE_COUNTS], axis=1)
        return found


def _as_cuts(entries: _Entries, nodes: NDArray[np.int64], segments: Segments) -> Cuts:
    """Remembered cuts at the places where their nodes stand now."""
    begin = segments.start[entries.order, nodes]
    counts = [
        entries.counts[:, number].astype(np.float64 if name.endswith("logs") else np.int64)
        for number, name in enumerate(SIDE_COUNTS)
    ]
    places = (begin + entries.run_start).astype(np.int32), (begin + entries.position).astype(np.int32)
    return Cuts(nodes.astype(np.int32), *places, entries.merit, *counts)
