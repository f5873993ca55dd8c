"""The engine of all trees: propose cuts, keep those whose two sides meet every model, part, go on.

A node is cut at the best cut whose two sides meet every model, else it is final. Models that count records and
persons are asked about every cut of the sweep; models that count sensitive values are asked about the best cut only,
and only where that fails about the others too (one more sweep for models that need summaries; one by one, in order of
merit, for models that need whole lists). The result is the same as asking about all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.grouping.model_check import counts_of_sets, told_of_sets, value_lists
from shoal.grouping.person_space import PersonSpace
from shoal.kernels import counting, trees
from shoal.kernels.trees import Cuts, Orders, Segments
from shoal.models.contract import Model
from shoal.models.counts import (
    BACKGROUND,
    JOINT,
    RELATED,
    SPREAD,
    VALUE_SUMMARIES,
    VALUE_TABLES,
    GroupCounts,
    ValueCounts,
)
from shoal.progress import Progress

Persons = NDArray[np.uint32]
Starts = NDArray[np.int64]
Lists = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""The values of each person: starts, values, records."""
Whole = tuple[NDArray[np.int64], NDArray[np.int64]]
"""How many records and persons of the whole table have each value."""

MOST_TRIES = 200
"""How many cuts of a node are tried with models that need whole lists of values, before the node is final."""

PERSONS_PER_SWEEP = 100_000
"""About how many persons are swept at a time, so that the cuts found stay in the processor's cache."""

PERSONS_IN_CACHE = 20_000
"""Above so many persons their rows leave the processor's cache: they are then numbered anew, node by node, whenever
nodes have become NODES_PER_NUMBERING times as many, so that the rows of a node lie together in memory."""

NODES_PER_NUMBERING = 8

SUMMARY_NAMES = ("most_persons_of_value", "most_records_of_value", "distinct_values", "person_values")

BOUNDED = frozenset({"most_persons_of_value", "most_records_of_value"})
"""Counts that are never larger in a part than in the node: a model that holds with those of the node holds."""


class Sweep(Protocol):
    """Proposes cuts of the nodes of a level."""

    space: PersonSpace

    def best(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts | None:
        """The best cut of each node whose sides meet every model of records and persons; None where it cannot tell."""
        ...

    def all(self, orders: Orders, segments: Segments, nodes: NDArray[np.int64]) -> Cuts:
        """Every cut of some nodes that is worth asking the models about."""
        ...


@dataclass
class _Candidates:
    """The cuts of a level that pass the models of records and persons, sorted by node."""

    node: NDArray[np.int32]
    run_start: NDArray[np.int32]
    position: NDArray[np.int32]
    merit: NDArray[np.float64]
    allowed: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.allowed = np.ones(len(self.node), np.bool_)

    def beside(self, others: _Candidates) -> _Candidates:
        """These cuts and others; of equal merit these come first. Cuts that were struck stay so."""
        both = _Candidates(
            np.concatenate([self.node, others.node]),
            np.concatenate([self.run_start, others.run_start]),
            np.concatenate([self.position, others.position]),
            np.concatenate([self.merit, others.merit]),
        )
        both.allowed[: len(self.node)] = self.allowed
        return both

    def best_of_nodes(self, n_nodes: int) -> NDArray[np.int64]:
        """The best cut of each node that is still allowed, or -1."""
        best = np.full(n_nodes, -1, np.int64)
        trees.keep_best(best, np.full(n_nodes, -np.inf), self.node, self.merit, self.allowed)
        return best


class Tree:
    """Grows groups from the whole table down, level by level."""

    def __init__(
        self, space: PersonSpace, models: Sequence[Model], sweep: Sweep, *, keeps_orders: bool = False
    ) -> None:
        """With `keeps_orders` the orders of the space stay as they are; else they are parted in place."""
        self.space = space
        self.sweep = sweep
        self.orders = Orders(*(part.copy() for part in space.orders)) if keeps_orders else space.orders
        self.spread_models = [model for model in models if model.needs <= SPREAD]
        self.value_models = [model for model in models if not model.needs <= SPREAD]
        self.summary_models = [model for model in self.value_models if model.needs <= SPREAD | VALUE_SUMMARIES]
        self.needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
        self.is_bounded = not space.told and all(model.needs <= SPREAD | BOUNDED for model in self.value_models)
        self._is_left = np.zeros(space.n_persons, np.bool_)
        n_nodes = space.whole_table.start.shape[1]
        self._bounds = {name: np.repeat([[persons.max()], [records.max()]], n_nodes, axis=1)
                        for name, (records, persons) in space.whole.items()}  # fmt: skip
        """Of each node of the level: at most how many persons, and records, have one value (2, nodes)."""
        self._side_bounds: dict[str, NDArray[np.int64]] = {}
        """The same of the two sides of each node (2, nodes, 2)."""

    def grow(self, progress: Progress) -> Grouping:
        """Cut until no node can be cut any more; the nodes to begin with must meet every model."""
        segments = self.space.whole_table
        group_of_person = np.zeros(self.space.n_persons, np.int32)
        original_person = np.arange(self.space.n_persons, dtype=np.uint32)
        n_groups = 0
        final_persons = 0
        numbered_at = 1
        while segments.start.shape[1]:
            many_more = segments.start.shape[1] >= NODES_PER_NUMBERING * numbered_at
            if many_more and numbered_at < self.space.n_persons / PERSONS_IN_CACHE:
                numbered_at = segments.start.shape[1]
                listed = self._number_anew()
                group_of_person, original_person = group_of_person[listed], original_person[listed]
            chosen, candidates = self._choose(segments)
            final = chosen < 0
            first, last = segments.start[-1, final], segments.end[-1, final]
            trees.number_final(self.orders.person, first, last, group_of_person, n_groups)
            n_groups += len(first)
            final_persons += int((last - first).sum())
            progress("grouping", final_persons / self.space.n_persons)
            segments = self._cut(segments, chosen, candidates)
        group_of_original = np.empty_like(group_of_person)
        group_of_original[original_person] = group_of_person
        return Grouping(group_of_original, n_groups)

    def _number_anew(self) -> NDArray[np.uint32]:
        """Number persons in the order in which nodes list them; gives the former number of each."""
        listed = self.orders.person[self.space.whole_table.start[-1, 0] :].copy()
        self.space = self.space.in_order(listed)
        self.sweep.space = self.space
        new_of_old = np.empty(len(listed), np.uint32)
        new_of_old[listed] = np.arange(len(listed), dtype=np.uint32)
        trees.renumber(self.orders.person, new_of_old)
        return listed

    def _choose(self, segments: Segments) -> tuple[NDArray[np.int64], _Candidates]:
        """For each node of a level the number of its best cut whose sides meet every model, or -1."""
        n_nodes = segments.start.shape[1]
        everyone = np.arange(n_nodes)
        best = self.sweep.best(self.orders, segments, everyone)
        if best is None:
            candidates = self._propose(segments, everyone)
        else:
            candidates = _Candidates(best.node, best.run_start, best.position, best.merit)
        chosen = candidates.best_of_nodes(n_nodes)
        if not self.value_models:
            return chosen, candidates
        self._side_bounds = {name: np.repeat(bound[:, :, None], 2, axis=2) for name, bound in self._bounds.items()}
        doubtful = np.flatnonzero(chosen >= 0)
        if best is not None and self.is_bounded:
            doubtful = doubtful[~self._surely_holds(best)]
        open_nodes = self._strike(doubtful, chosen, segments, candidates)
        if best is not None and len(open_nodes):
            candidates = candidates.beside(self._propose(segments, open_nodes))
        if len(open_nodes) and self.summary_models:
            self._sweep_values(open_nodes, segments, candidates)
        for _ in range(MOST_TRIES):
            if not len(open_nodes):
                break
            chosen[open_nodes] = candidates.best_of_nodes(n_nodes)[open_nodes]
            open_nodes = open_nodes[chosen[open_nodes] >= 0]
            open_nodes = self._strike(open_nodes, chosen, segments, candidates)
        chosen[open_nodes] = -1
        return chosen, candidates

    def _surely_holds(self, best: Cuts) -> NDArray[np.bool_]:
        """Cuts whose sides meet every model of values even if they had the commonest value as often as the node has."""
        sides = [
            np.stack([getattr(best, f"left_{what}"), getattr(best, f"right_{what}")], axis=1).ravel()
            for what in ("persons", "records", "squared", "most", "logs")
        ]
        values = {}
        for name, bound in self._bounds.items():
            most_persons, most_records = np.repeat(bound[:, best.node], 2, axis=1)
            values[name] = _value_summaries(
                self.space.whole[name], (most_persons, most_records, most_persons, most_records)
            )
        counts = _group_counts(sides, values)
        holds = np.ones(len(best.node), np.bool_)
        for model in self.value_models:
            holds &= model.holds(counts).reshape(-1, 2).all(axis=1)
        return holds

    def _propose(self, segments: Segments, nodes: NDArray[np.int64]) -> _Candidates:
        """All cuts of some nodes that pass the models which count records and persons."""
        parts = []
        for portion in _portions(segments, nodes):
            cuts = self.sweep.all(self.orders, segments, portion)
            passes = np.ones(len(cuts.node), np.bool_)
            for side in (_side(cuts, "left"), _side(cuts, "right")):
                for model in self.spread_models:
                    passes &= model.holds(side)
            parts.append([array[passes] for array in (cuts.node, cuts.run_start, cuts.position, cuts.merit)])
        return _Candidates(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _strike(
        self, nodes: NDArray[np.int64], chosen: NDArray[np.int64], segments: Segments, candidates: _Candidates
    ) -> NDArray[np.int64]:
        """Strike the chosen cuts of some nodes where a side breaks a model of values; give the nodes they cut."""
        if not len(nodes):
            return nodes
        cuts = chosen[nodes]
        self._is_left[:] = False
        trees.mark_left(self.orders.person, candidates.run_start[cuts], candidates.position[cuts], self._is_left)
        laid_out, start = trees.lay_out_sides(self.orders, segments, nodes, self._is_left)
        sides = counts_of_parts(self.space, self.needs, laid_out, start)
        for name, attribute in sides.values.items():
            self._side_bounds[name][0, nodes] = attribute.most_persons.reshape(-1, 2)
            self._side_bounds[name][1, nodes] = attribute.most_records.reshape(-1, 2)
        holds = np.ones(len(nodes), np.bool_)
        for model in self.value_models:
            holds &= model.holds(sides).reshape(-1, 2).all(axis=1)
        candidates.allowed[cuts[~holds]] = False
        return nodes[~holds]

    def _sweep_values(self, nodes: NDArray[np.int64], segments: Segments, candidates: _Candidates) -> None:
        """Strike all cuts of some nodes that break a model which needs summaries of values only."""
        is_open = np.zeros(segments.start.shape[1], np.bool_)
        is_open[nodes] = True
        cuts = np.flatnonzero(candidates.allowed & is_open[candidates.node])
        if not len(cuts):
            return
        where = (candidates.node[cuts], candidates.run_start[cuts], candidates.position[cuts])
        swept = {
            name: trees.sweep_values(self.orders, segments, *where, *pairs, len(self.space.whole[name][0]))
            for name, pairs in self.space.pairs.items()
        }
        told = {
            name: trees.sweep_values(self.orders, segments, *where, *has_value, 1)
            for name, has_value in self.space.told.items()
        }
        spread = trees.spread_of_cuts(self.orders, segments, *where, self.space.persons)
        for side in (0, 1):
            values = {name: _value_summaries(self.space.whole[name], sides[side].T) for name, sides in swept.items()}
            values |= {name: values[name].with_told(*sides[side].T[:2]) for name, sides in told.items()}
            counts = _group_counts(spread[side], values)
            for model in self.summary_models:
                candidates.allowed[cuts] &= model.holds(counts)

    def _cut(self, segments: Segments, chosen: NDArray[np.int64], candidates: _Candidates) -> Segments:
        """Part every order at the chosen cuts; the two sides of each are the nodes of the next level."""
        nodes = np.flatnonzero(chosen >= 0)
        cuts = chosen[nodes]
        self._is_left[:] = False
        trees.mark_left(self.orders.person, candidates.run_start[cuts], candidates.position[cuts], self._is_left)
        self._bounds = {name: sides[:, nodes].reshape(2, -1) for name, sides in self._side_bounds.items()}
        return trees.part_orders(self.orders, segments, nodes, self._is_left)


def what_is_counted(models: Sequence[Model]) -> dict[str, bool]:
    """What of the sensitive values the models need, as options of `person_space`."""
    return {
        "with_values": any(not model.needs <= SPREAD | RELATED for model in models),
        "with_items": any(model.needs & JOINT for model in models),
        "with_background": any(model.needs & BACKGROUND for model in models),
        "with_related": any(model.needs & RELATED for model in models),
    }


def counts_of_parts(
    space: PersonSpace, needs: frozenset[str], laid_out: NDArray[np.uint32], start: NDArray[np.int64]
) -> GroupCounts:
    """What models need to know of lists of persons: part i has the persons laid_out[start[i]:start[i + 1]]."""
    spread = counting.spread_of_person_parts(laid_out, start, space.persons.row[:, 0])
    values = values_of_parts(space.pairs, space.whole, needs, laid_out, start)
    values |= {
        name: values[name].with_told(*told_of_sets(lists, laid_out, start))
        for name, lists in space.told.items()
        if name in values
    }
    return counts_of_sets(space, spread, values, laid_out, start)


def values_of_parts(
    pairs: Mapping[str, Lists], whole: Mapping[str, Whole], needs: frozenset[str], laid_out: Persons, start: Starts
) -> dict[str, ValueCounts]:
    """The sensitive values of lists of persons, as far as they are needed."""
    values = {}
    for name, lists in pairs.items() if needs & (VALUE_SUMMARIES | VALUE_TABLES) else ():
        arguments = (laid_out, start, *lists, len(whole[name][0]))
        if needs & VALUE_TABLES:
            values[name] = value_lists(whole[name], *trees.values_of_sides(*arguments))
        else:
            values[name] = _value_summaries(whole[name], trees.summaries_of_sides(*arguments))
    return values


def _value_summaries(whole: Whole, summaries: Sequence[NDArray[np.int64]]) -> ValueCounts:
    records, persons = whole
    named = dict(zip(SUMMARY_NAMES, summaries, strict=True))
    return ValueCounts(records_in_table=records, persons_in_table=persons, summaries=named)


def _portions(segments: Segments, nodes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Some nodes in portions of about PERSONS_PER_SWEEP persons."""
    behind = np.cumsum(segments.end[-1, nodes] - segments.start[-1, nodes])
    first = 0
    while first < len(nodes):
        done = int(behind[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(behind, done + PERSONS_PER_SWEEP, side="right")))
        yield nodes[first:last]
        first = last


def _side(cuts: Cuts, side: str) -> GroupCounts:
    counts = [getattr(cuts, f"{side}_{what}") for what in ("persons", "records", "squared", "most", "logs")]
    return _group_counts(counts, {})


def _group_counts(spread: Sequence[NDArray[Any]], values: dict[str, ValueCounts]) -> GroupCounts:
    persons, records, squared, most, logs = spread
    return GroupCounts(
        persons=persons, records=records, squared_records=squared, most_records=most, log_records=logs, values=values
    )
