"""Rivals on the promise of history-k: k^m-anonymity, plain, for the whole table, in groups, and with merged clusters.

Written from the papers: Terrovitis, Mamoulis and Kalnis (2008), apriori anonymization with cuts through the hierarchy
(what Amnesia offers), and Poulis, Loukides, Gkoulalas-Divanis and Skiadopoulos (2013), (k, k^m)-anonymity by clusters
that are merged. Both look at sets: a value that a person has twice counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
MOST_PASSES = 10
"""How often every cluster is asked whether it loses less merged with its neighbour."""


@dataclass(frozen=True)
class Tree:
    """The nodes of a hierarchy: leaves first, the root last."""

    names: list[str]
    parent: IntArray
    share: NDArray[np.float64]
    """What showing a node loses: 0 for a leaf, 1 for the root."""
    leaves: list[IntArray]
    """The leaves below each node."""

    @property
    def root(self) -> int:
        """Its number."""
        return len(self.names) - 1

    @classmethod
    def of(cls, paths: Sequence[Sequence[str]]) -> Tree:
        """From paths of leaves to the root, all of the same length."""
        number: dict[tuple[int, str], int] = {}
        for level in range(len(paths[0])):
            for path in paths:
                number.setdefault((level, path[level]), len(number))
        parent, leaves = np.zeros(len(number), np.int64), [[] for _ in number]
        for leaf, path in enumerate(paths):
            nodes = [number[level, label] for level, label in enumerate(path)]
            for node, above in zip(nodes, [*nodes[1:], nodes[-1]], strict=True):
                parent[node] = above
                leaves[node].append(leaf)
        share = np.array([(len(below) - 1) / max(len(paths) - 1, 1) for below in leaves])
        return cls([label for _, label in number], parent, share, [np.array(below) for below in leaves])


class _Cut:
    """What leaves show at present, and who has it."""

    def __init__(self, tree: Tree, person: IntArray, leaf: IntArray, *, hides: bool) -> None:
        self.tree, self.hides = tree, hides
        _, row = np.unique(person, return_inverse=True)
        self.has = np.zeros((row.max() + 1, len(tree.names)), np.float32)
        self.has[row, leaf] = 1
        self.records = np.bincount(leaf, minlength=len(tree.leaves[-1])).astype(np.float64)
        self.shown = np.arange(len(tree.leaves[-1]))
        self.is_shown, self.support = self.has.any(axis=0), self.has.sum(axis=0)

    def above(self, node: int) -> tuple[int, IntArray]:
        """What a node becomes when it is raised, and the leaves that show it then."""
        parent = int(self.tree.parent[node])
        return parent, self.tree.leaves[node if self.hides and parent == self.tree.root else parent]

    def cost(self, node: int) -> float:
        """What is lost where a node is raised."""
        parent, leaves = self.above(node)
        return float(self.records[leaves].sum() * self.tree.share[parent])

    def lift(self, node: int) -> int:
        """Raise a node."""
        parent, leaves = self.above(node)
        gone = np.unique(self.shown[leaves])
        self.has[:, parent] = self.has[:, gone].max(axis=1)
        self.has[:, gone[gone != parent]] = 0
        self.is_shown[gone], self.is_shown[parent] = False, parent != self.tree.root
        self.support[parent] = self.has[:, parent].sum()
        self.shown[leaves] = parent
        return parent

    def lift_rare(self, k: int) -> None:
        """Raise nodes until k persons show each."""
        while len(rare := np.flatnonzero(self.is_shown & (self.support < k))):
            self.lift(int(rare[0]))

    def lift_rare_pairs(self, k: int) -> None:
        """Raise of each pair that fewer than k persons show the one that loses less, the rarest pair first."""
        together = self.has.T @ self.has
        while True:
            live = np.flatnonzero(self.is_shown)
            among = together[np.ix_(live, live)]
            breaks = (among > 0) & (among < k)
            np.fill_diagonal(breaks, False)
            if not breaks.any():
                return
            at = int(np.where(breaks, among, np.inf).argmin())
            parent = self.lift(min((int(live[at // len(live)]), int(live[at % len(live)])), key=self.cost))
            together[:, parent] = together[parent, :] = self.has.T @ self.has[:, parent]


def cut(tree: Tree, person: IntArray, leaf: IntArray, *, k: int, m: int, hides: bool = True) -> IntArray:
    """The node that each leaf shows such that every set of at most m shown nodes is that of k persons or of nobody.

    A node that breaks it is raised to its parent, with all leaves below that (full-subtree recoding). The root shows
    nothing. With `hides` a node right below the root is hidden alone; without, as in the paper, all other values go to
    the root with it.
    """
    found = _Cut(tree, person, leaf, hides=hides)
    if m >= 1:
        found.lift_rare(k)
    if m >= 2:
        found.lift_rare_pairs(k)
    return found.shown


def cut_in_groups(tree: Tree, group: IntArray, person: IntArray, leaf: IntArray, *, k: int, m: int) -> IntArray:
    """The node that each record shows, with a cut for each group; arrays go by record."""
    shown = np.empty(len(leaf), np.int64)
    for records in parts(group):
        shown[records] = cut(tree, person[records], leaf[records], k=k, m=m)[leaf[records]]
    return shown


def parts(group: IntArray) -> list[IntArray]:
    """The records of each group."""
    order = np.argsort(group, kind="stable")
    return list(np.split(order, np.flatnonzero(np.diff(group[order])) + 1))


@dataclass
class _Cluster:
    records: IntArray
    persons: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    middle: NDArray[np.float64]
    lost: float


def merged_clusters(
    tree: Tree, group: IntArray, person: IntArray, quasi: NDArray[np.float64], leaf: IntArray, *, k: int, m: int
) -> IntArray:
    """Clusters merged with their nearest while that lowers the loss; by record, the number of its cluster.

    Loss per person: the width of each quasi-identifier as a share of its range, and the mean loss of the person's
    values, each column with the same weight. `quasi` is scaled to [0, 1].
    """
    records_of = np.bincount(person)

    def made(records: IntArray) -> _Cluster:
        own, rows = person[records], quasi[records]
        low, high = rows.min(axis=0), rows.max(axis=0)
        persons = len(np.unique(own))
        share = tree.share[cut(tree, own, leaf[records], k=k, m=m)[leaf[records]]]
        lost = persons * float((high - low).sum()) + float((share / records_of[own]).sum())
        return _Cluster(records, persons, low, high, rows.mean(axis=0), lost)

    clusters = [made(records) for records in parts(group)]
    for _ in range(MOST_PASSES):
        clusters, n_merged = _merged_once(clusters, made)
        if not n_merged:
            break
    number = np.empty(len(leaf), np.int64)
    for at, cluster in enumerate(clusters):
        number[cluster.records] = at
    return number


def _merged_once(clusters: list[_Cluster], made: Callable[[IntArray], _Cluster]) -> tuple[list[_Cluster], int]:
    """Each cluster asked once, those first that lose most per person."""
    middles = np.array([cluster.middle for cluster in clusters])
    is_free = np.ones(len(clusters), np.bool_)
    result, n_merged = [], 0
    for at in np.argsort([-cluster.lost / cluster.persons for cluster in clusters]).tolist():
        if not is_free[at]:
            continue
        is_free[at] = False
        one = clusters[at]
        if is_free.any():
            near = int(np.where(is_free, np.abs(middles - middles[at]).sum(axis=1), np.inf).argmin())
            both = made(np.concatenate([one.records, clusters[near].records]))
            if both.lost < one.lost + clusters[near].lost:
                is_free[near] = False
                one, n_merged = both, n_merged + 1
        result.append(one)
    return result, n_merged
