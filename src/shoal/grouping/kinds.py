"""Persons with equal quasi-identifiers as one kind, and the nodes of each kind at every level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import counting
from shoal.kernels.recoding import Kinds, Shares
from shoal.table.levels import Levels
from shoal.table.table import Table


@dataclass(frozen=True)
class KindsOfPersons:
    """Which kind each person is, and what is known of kinds.

    A person whose records are several nodes of a level has a node of their own there, behind those of the level.
    """

    kind_of_person: NDArray[np.int32]
    counts: Kinds

    @cached_property
    def _by_kind(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Persons sorted by kind, and where each kind starts."""
        everyone = np.arange(len(self.kind_of_person), dtype=np.int32)
        n_kinds = len(self.counts.node)
        order = counting.order_by_code(self.kind_of_person, n_kinds, everyone)
        return order, counting.start_of_code(self.kind_of_person, n_kinds)

    def persons_of(self, kinds: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The persons of some kinds, one kind behind the other, and where each starts (one entry more)."""
        order, start = self._by_kind
        sizes = start[kinds + 1] - start[kinds]
        ends = np.cumsum(sizes)
        at = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(start[kinds] - ends + sizes, sizes)
        return order[at], np.concatenate([[0], ends])

    def shares(self, levels: Sequence[Levels]) -> Shares:
        """Which share of the domain each node covers."""
        of_node = [own.share[_first_of_nodes(own, level), level] for own in levels for level in range(own.n_levels)]
        starts = np.concatenate([[0], np.cumsum([len(shares) for shares in of_node])])
        return Shares(np.concatenate(of_node), starts.astype(np.int64))

    def mean_shares(self, levels: Sequence[Levels]) -> list[NDArray[np.float64]]:
        """For each quasi-identifier and level, the mean over persons of the share that their nodes cover."""
        means = []
        for own, start in zip(levels, self.counts.start, strict=False):
            mean = np.zeros(own.n_levels)
            for level in range(own.n_levels):
                shares = np.append(own.share[_first_of_nodes(own, level), level], 1.0)
                node = np.minimum(self.counts.node[:, start + level], len(shares) - 1)
                persons = np.bincount(node, weights=self.counts.persons, minlength=len(shares))
                mean[level] = (persons * shares).sum() / len(self.kind_of_person)
            means.append(mean)
        return means


def _first_of_nodes(levels: Levels, level: int) -> NDArray[np.int64]:
    """A value under each node of a level."""
    nodes, first = np.unique(levels.node[:, level], return_index=True)
    value = np.zeros(int(nodes[-1]) + 1, np.int64)
    value[nodes] = first
    return value


def kinds_of_persons(table: Table, levels: Sequence[Levels]) -> KindsOfPersons:
    """Find the persons of a table who agree in every quasi-identifier.

    Kinds are numbered in the order of their values, whatever the order of the records. O(q n) time.
    """
    codes = [own.nodes_of_persons(table, 0) for own in levels]
    found = np.zeros(table.n_persons, np.int32)  # kinds in the order in which they appear
    for code in codes:
        found, _ = counting.number_distinct(found.astype(np.int64) * (int(code.max()) + 1) + code)
    n_kinds = int(found.max()) + 1
    first_of_kind = np.empty(n_kinds, np.int64)
    first_of_kind[found[::-1]] = np.arange(table.n_persons)[::-1]
    order = np.lexsort([code[first_of_kind] for code in reversed(codes)])
    number = np.empty(n_kinds, np.int32)
    number[order] = np.arange(n_kinds, dtype=np.int32)
    kind_of_person = number[found]
    first_of_kind = first_of_kind[order]
    places = []
    for own, code in zip(levels, codes, strict=True):
        if int(code.max()) < own.n_values:
            places.append(own.node[code[first_of_kind]])
        else:
            nodes = [own.nodes_of_persons(table, level)[first_of_kind] for level in range(own.n_levels)]
            places.append(np.stack(nodes, axis=1).astype(np.int32))
    records = table.records_of_person
    most = np.zeros(n_kinds, np.int64)
    np.maximum.at(most, kind_of_person, records)
    persons, all_records, squared = (
        np.bincount(kind_of_person, weights=each, minlength=n_kinds).astype(np.int64)
        for each in (np.ones(len(records)), records, records**2)
    )
    start = np.concatenate([[0], np.cumsum([own.n_levels for own in levels])])
    node = np.ascontiguousarray(np.concatenate(places, axis=1))
    return KindsOfPersons(kind_of_person, Kinds(node, start.astype(np.int64), persons, all_records, squared, most))
