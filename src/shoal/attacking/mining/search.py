"""The search for rules: itemsets level by level, and the values that they exclude and nothing more general does.

An itemset takes one node of each of some quasi-identifiers. Whoever satisfies it satisfies all that are more general,
so with an itemset's persons shrinks the chance that its rules say something, and with its generality grows the set of
values that somebody among them has. A rule is therefore most general where every itemset one step above (a parent in
place of a node, or an item less) has somebody with the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.mining.people import BitArray, IntArray, People, Targets
from shoal.attacking.mining.trees import ABSENT

Excluded = tuple[tuple[int, ...], int, int, float]
"""The nodes of an itemset, a value it excludes, how many persons satisfy it, and how many with those in part."""
NOBODY = -1
"""In `Level.above`: the itemset has no place, because too few satisfy it."""


@dataclass(frozen=True)
class Level:
    """Itemsets of one length. Each is an itemset of the level below (`prefix`) and one node of a later column."""

    prefix: IntArray
    node: IntArray
    support: NDArray[np.float64]
    persons: IntArray
    met: BitArray
    """The values that somebody has who satisfies the itemset, as bits."""
    above: IntArray
    """For each item: the itemset one step above, with the item's parent in place of it, or without the item."""
    is_shorter: NDArray[np.bool_]
    """For each item: whether that one is shorter, and so stands in the level below."""
    key: IntArray
    """Prefix and node in one ascending number."""

    def __len__(self) -> int:
        return len(self.node)

    def find(self, key: IntArray) -> IntArray:
        """The places of keys; NOBODY for those that have none."""
        if not len(self):
            return np.full(len(key), NOBODY)
        place = np.minimum(np.searchsorted(self.key, key), len(self) - 1)
        return np.where(self.key[place] == key, place, NOBODY)


def most_general(people: People, targets: Targets, *, max_len: int, use_minimum: bool) -> Iterator[Excluded]:
    """Every most general (itemset, excluded value), the shortest itemsets first."""
    search = _RuleSearch(people, targets, use_minimum)
    levels = [search.empty_itemset(), search.single_nodes()]
    while True:
        yield from _excluded(levels, targets)
        if len(levels) > max_len or not len(levels[-1]):
            return
        levels.append(search.one_more(levels))


def _excluded(levels: list[Level], targets: Targets) -> Iterator[Excluded]:
    last, below = levels[-1], levels[-2]
    exclude = targets.within_reach(last.support) & ~last.met
    for item in range(last.above.shape[1]):
        above, is_shorter = last.above[:, item], last.is_shorter[:, item]
        met = np.zeros_like(last.met)
        for holds, level in ((is_shorter, below), (~is_shorter, last)):
            held = np.flatnonzero(holds & (above != NOBODY))
            met[held] = level.met[above[held]]
        exclude &= met
    for place in np.flatnonzero(exclude.any(axis=1) & (last.persons > 0)):
        nodes = _nodes_of(levels, int(place))
        for value in _numbers_of(exclude[place]):
            yield nodes, value, int(last.persons[place]), float(last.support[place])


def _numbers_of(bits: BitArray) -> list[int]:
    """The places of the bits that are set."""
    found: list[int] = np.flatnonzero(np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little")).tolist()
    return found


def _nodes_of(levels: list[Level], place: int) -> tuple[int, ...]:
    nodes: list[int] = []
    for level in reversed(levels[1:]):
        nodes.append(int(level.node[place]))
        place = int(level.prefix[place])
    return tuple(reversed(nodes))


class _RuleSearch:
    """Counts itemsets with the kernels, one prefix at a time."""

    def __init__(self, people: People, targets: Targets, use_minimum: bool) -> None:
        from shoal.kernels import mining

        self._mining = mining
        self._people, self._targets, self._use_minimum = people, targets, use_minimum
        self._n_nodes = len(people.items)
        self._first_after = np.searchsorted(people.column, people.column, side="right")
        kinds = people.kinds
        self._with_node = mining.kinds_of_nodes(kinds.start, kinds.nodes, kinds.degrees, self._n_nodes)
        self._count = np.zeros(self._n_nodes)
        self._crisp = np.zeros(self._n_nodes, dtype=np.int64)
        self._met = np.zeros((self._n_nodes, targets.n_words), dtype=np.uint64)
        self._touched = np.empty(self._n_nodes, dtype=np.int64)
        self._known: dict[int, tuple[int, NDArray[np.int32], NDArray[np.float64]]] = {}

    def empty_itemset(self) -> Level:
        """The level of the empty itemset, which everybody satisfies."""
        everything = self._targets.within_reach(np.array([np.inf]))
        n = self._targets.n_persons
        return Level(
            prefix=np.zeros(1, np.int64), node=np.full(1, ABSENT), support=np.array([float(n)]),
            persons=np.array([n]), met=everything, above=np.empty((1, 0), np.int64),
            is_shorter=np.empty((1, 0), np.bool_), key=np.zeros(1, np.int64),
        )  # fmt: skip

    def single_nodes(self) -> Level:
        """The level of single nodes."""
        everybody = np.arange(len(self._people.kinds.persons), dtype=np.int32)
        node, support, persons, met = self._counted(everybody, np.ones(len(everybody)), 0)
        held = self._targets.within_reach(support).any(axis=1)
        prefix = np.zeros(int(held.sum()), np.int64)
        return self._level([self.empty_itemset()], prefix, node[held], support[held], persons[held], met[held])

    def one_more(self, levels: list[Level]) -> Level:
        """The next level: every itemset of the last one with one node more of a later column.

        Only those are kept about which there may be a rule: for some value within reach, somebody who satisfies the
        prefix has it, and so has somebody at the node. What stands above such an itemset is kept for the same value.
        """
        last, singles = levels[-1], levels[1]
        met_by_node = np.zeros_like(self._met)
        met_by_node[singles.node] = singles.met
        is_open = (self._targets.within_reach(last.support) & last.met).any(axis=1)
        parts: list[tuple[Any, ...]] = []
        for prefix in np.flatnonzero(is_open & (self._first_after[last.node] < self._n_nodes)):
            some, weights = self._satisfy(levels, int(prefix))
            node, support, persons, met = self._counted(some, weights, int(self._first_after[last.node[prefix]]))
            reach = self._targets.within_reach(support) & last.met[prefix] & met_by_node[node]
            held = reach.any(axis=1)
            parts.append((np.full(int(held.sum()), prefix), node[held], support[held], persons[held], met[held]))
        if not parts:
            parts = [(self._touched[:0], self._touched[:0], self._count[:0], self._crisp[:0], self._met[:0])]
        return self._level(levels, *(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _counted(
        self, some: NDArray[np.int32], weights: NDArray[np.float64], first_node: int
    ) -> tuple[IntArray, NDArray[np.float64], IntArray, BitArray]:
        """The nodes from `first_node` on that some kinds have, ascending, with support, persons and values met."""
        n_touched = self._mining.count_with(
            self._people.kinds, some, weights, first_node, self._use_minimum,
            self._count, self._crisp, self._met, self._touched,
        )  # fmt: skip
        node = np.sort(self._touched[:n_touched])
        found = self._count[node], self._crisp[node], self._met[node]
        self._count[node], self._crisp[node], self._met[node] = 0, 0, 0
        return node, *found

    def _satisfy(self, levels: list[Level], place: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The kinds that satisfy an itemset of the last of these levels, with their degrees."""
        level = levels[-1]
        node = int(level.node[place])
        start, kinds, degrees = self._with_node
        if len(levels) == 2:
            held = slice(start[node], start[node + 1])
            return kinds[held], degrees[held] if len(degrees) else np.ones(start[node + 1] - start[node])
        prefix = int(level.prefix[place])
        if self._known.get(len(levels), (NOBODY,))[0] != prefix:
            self._known[len(levels)] = (prefix, *self._satisfy(levels[:-1], prefix))
        _, some, weights = self._known[len(levels)]
        narrowed: tuple[NDArray[np.int32], NDArray[np.float64]] = self._mining.narrow(
            self._people.kinds, some, weights, node, self._use_minimum
        )
        return narrowed

    def _level(
        self, levels: list[Level], prefix: IntArray, node: IntArray, support: NDArray[np.float64], persons: IntArray,
        met: BitArray,
    ) -> Level:  # fmt: skip
        """A level on top of the others, with what stands one step above each of its itemsets."""
        below = levels[-1]
        length = len(levels)
        key = prefix * self._n_nodes + node
        level = Level(
            prefix, node, support, persons, met, np.empty((len(node), length), np.int64),
            np.empty((len(node), length), np.bool_), key,
        )  # fmt: skip
        for item in range(length - 1):
            other, is_shorter = below.above[prefix, item], below.is_shorter[prefix, item]
            wanted = np.where(other == NOBODY, NOBODY, other * self._n_nodes + node)
            level.above[:, item] = np.where(is_shorter, below.find(wanted), level.find(wanted))
            level.is_shorter[:, item] = is_shorter
        parent = self._people.parent[node]
        level.is_shorter[:, -1] = parent == ABSENT
        level.above[:, -1] = np.where(parent == ABSENT, prefix, level.find(prefix * self._n_nodes + parent))
        return level
