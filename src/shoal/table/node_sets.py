"""Where the lowest node above a group covers most of the domain: the few nodes that cover less together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.table.hierarchy import Hierarchy, IntArray
from shoal.table.label_sets import as_set
from shoal.table.levels import Levels

WIDE = 0.5
"""A node that covers a larger share of the domain is told by several below it."""

MOST_NODES = 4
"""So many of them at the most."""

Node = tuple[int, int]
"""A level, and the number of a node in it."""


@dataclass(frozen=True)
class NodeSets:
    """The groups that are shown by several nodes."""

    nodes_of_group: dict[int, tuple[Node, ...]]
    labels_of_level: list[list[str | None]]

    def labels(self, group: int) -> list[str]:
        """The labels of a group's nodes."""
        return [str(self.labels_of_level[level][node]) for level, node in self.nodes_of_group[group]]

    def text(self, group: int) -> str:
        """What a group shows: {A, B}."""
        return as_set(self.labels(group))


def node_sets(
    hierarchy: Hierarchy,
    categories: Sequence[str],
    group_of_record: NDArray[np.integer],
    code_of_record: NDArray[np.integer],
) -> NodeSets:
    """The groups whose lowest common node covers more than half of the domain, by the nodes that show them better.

    Parameters
    ----------
    categories
        The values of the coded column, none of them missing.
    group_of_record, code_of_record
        For each record that misses no value its group, and its position in `categories`.

    Notes
    -----
    A node is parted into those right below it that have values of the group, and each of these stands for the lowest
    node above its values; the parting that leaves fewest values open goes first, as long as there are at most four.
    What a group shows depends on its values and on the hierarchy alone. Nodes whose labels could be misread in a set
    (they have a comma, or stand for other values at another level) are not shown so.
    """
    node, labels_of_level = hierarchy.codes(categories)
    groups, number = np.unique(group_of_record, return_inverse=True)
    levels = Levels(code_of_record.astype(np.int32), node.astype(np.int32), hierarchy.shares(categories))
    found = NodeSets({}, labels_of_level)
    if not len(groups):
        return found
    is_wide = levels.share_of_groups(number.astype(np.int32), len(groups)) > WIDE
    wide = is_wide[number]
    pairs = np.unique(number[wide] * np.int64(len(categories)) + code_of_record[wide])
    place, codes = pairs // len(categories), pairs % len(categories)
    parting = _Parting(levels, labels_of_level, hierarchy.n_values)
    for own in np.split(np.arange(len(pairs)), np.flatnonzero(place[1:] != place[:-1]) + 1) if len(pairs) else ():
        nodes = parting.nodes_of(tuple(codes[own].tolist()))
        if len(nodes) > 1:
            found.nodes_of_group[int(groups[place[own[0]]])] = nodes
    return found


class _Parting:
    """Parts sets of values, each set once."""

    def __init__(self, levels: Levels, labels_of_level: list[list[str | None]], n_values: int) -> None:
        self.n_values = n_values
        self.node = levels.node
        self.share = levels.share
        self.labels_of_level = labels_of_level
        self._below: dict[str | None, set[int]] = {}
        for level, labels in enumerate(labels_of_level):
            for code, node in enumerate(self.node[:, level].tolist()):
                self._below.setdefault(labels[node], set()).add(code)
        self._known: dict[tuple[int, ...], tuple[Node, ...]] = {}

    def nodes_of(self, codes: tuple[int, ...]) -> tuple[Node, ...]:
        """The few nodes above some values, in the order of their first values."""
        if codes not in self._known:
            ways = [[np.array(codes)]]
            while len(smaller := self._parted(ways[-1])) > len(ways[-1]):
                ways.append(smaller)
            parts = min(ways, key=lambda way: (self._open(way), len(way)))
            nodes = tuple(self._lowest(own) for own in sorted(parts, key=lambda own: int(own[0])))
            self._known[codes] = nodes if self._are_clear(nodes) else nodes[:0]
        return self._known[codes]

    def _parted(self, parts: list[IntArray]) -> list[IntArray]:
        """The parts with one of them parted, the one by which fewest values stay open; or as they are."""
        best, least = parts, self.n_values + 1
        for at, own in enumerate(parts):
            level, _ = self._lowest(own)
            if level == 0:
                continue
            below = self.node[own, level - 1]
            smaller = [*parts[:at], *(own[below == each] for each in np.unique(below)), *parts[at + 1 :]]
            if len(smaller) <= MOST_NODES and self._open(smaller) < least:
                best, least = smaller, self._open(smaller)
        return best

    def _lowest(self, codes: IntArray) -> Node:
        agree = (self.node[codes] == self.node[codes[0]]).all(axis=0)
        level = int(agree.argmax())
        return level, int(self.node[codes[0], level])

    def _open(self, parts: list[IntArray]) -> int:
        """How many values the lowest nodes above some parts leave open."""
        shares = (self.share[own[0], self._lowest(own)[0]] for own in parts)
        return sum(round(float(share) * (self.n_values - 1)) + 1 for share in shares)

    def _are_clear(self, nodes: Sequence[Node]) -> bool:
        """Whether labels in a set say what is meant, and the set is no label itself."""
        labels = [str(self.labels_of_level[level][node]) for level, node in nodes]
        same = [
            self._below[label] == set(np.flatnonzero(self.node[:, level] == node).tolist())
            for label, (level, node) in zip(labels, nodes, strict=True)
        ]
        misread = [label for label in labels if ", " in label or label.startswith("{")]
        return all(same) and not misread and as_set(labels) not in self._below
