"""The engine of all trees: propose cuts, keep those whose two sides meet every model, part, go on.

A node is cut at the best cut whose two sides meet every model, else it is final. Models that count records and
persons are asked about every cut of the sweep; models that count sensitive values are asked about the best cut only,
and only where that fails about the others too (one more sweep for models that need summaries; one by one, in order of
merit, for models that need whole lists). The result is the same as asking about all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import PersonSpace
from shoal.kernels import counting, trees
from shoal.kernels.trees import Cuts, Order, Segments
from shoal.models.contract import Model
from shoal.models.counts import SPREAD, VALUE_SUMMARIES, VALUE_TABLES, GroupCounts, ValueCounts
from shoal.progress import Progress

MOST_TRIES = 200
"""How many cuts of a node are tried with models that need whole lists of values, before the node is final."""

SUMMARY_NAMES = ("most_persons_of_value", "most_records_of_value", "distinct_values", "person_values")

Sweep = Callable[[int, Order, Segments, NDArray[np.int32], Segments], Cuts]
"""Proposes the cuts of one order (by its number) for the nodes of a level: order, where the nodes stand in it, persons by
their number of records, where the nodes stand there."""


@dataclass
class _Candidates:
    """The cuts of a level that pass the models of records and persons, of all orders, one behind the other."""

    order: NDArray[np.int8]
    node: NDArray[np.int32]
    run_start: NDArray[np.int32]
    position: NDArray[np.int32]
    merit: NDArray[np.float64]
    allowed: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.allowed = np.ones(len(self.node), np.bool_)

    def best_of_nodes(self, n_nodes: int) -> NDArray[np.int64]:
        """The best cut of each node that is still allowed, or -1."""
        best = np.full(n_nodes, -1, np.int64)
        merit = np.full(n_nodes, -np.inf)
        trees.keep_best(best, merit, self.node, self.merit, self.allowed, 0)
        return best


class Tree:
    """Grows groups from the whole table down, level by level."""

    def __init__(self, space: PersonSpace, models: Sequence[Model], sweep: Sweep) -> None:
        self.space = space
        self.sweep = sweep
        self.orders = [Order(*(part.copy() for part in order)) for order in space.orders]
        self.by_count = Order(
            space.by_count.copy(), np.zeros(space.n_persons), np.zeros(space.n_persons, np.int32)
        )
        self.models = list(models)
        self.spread_models = [model for model in models if model.needs <= SPREAD]
        self.value_models = [model for model in models if not model.needs <= SPREAD]
        self.summary_models = [model for model in self.value_models if model.needs <= SPREAD | VALUE_SUMMARIES]
        self.needs = frozenset().union(*(model.needs for model in models)) if models else frozenset()
        self._is_left = np.zeros(space.n_persons, np.int32)

    def grow(self, progress: Progress) -> Grouping:
        """Cut until no node can be cut any more; the whole table must meet every model."""
        n = self.space.n_persons
        segments = [Segments(np.zeros(1, np.int64), np.array([len(order.person)])) for order in self.orders]
        everyone = Segments(np.zeros(1, np.int64), np.array([n]))
        group_of_person = np.zeros(n, np.int32)
        n_groups = 0
        final_persons = 0
        while len(everyone.start):
            chosen, candidates = self._choose(segments, everyone)
            final = chosen < 0
            for start, end in zip(everyone.start[final], everyone.end[final], strict=True):
                group_of_person[self.by_count.person[start:end]] = n_groups
                n_groups += 1
                final_persons += int(end - start)
            progress("grouping", final_persons / n)
            segments, everyone = self._cut(segments, everyone, chosen, candidates)
        return Grouping(group_of_person, n_groups)

    def _choose(self, segments: list[Segments], everyone: Segments) -> tuple[NDArray[np.int64], _Candidates]:
        """For each node of a level the number of its best cut whose sides meet every model, or -1."""
        n_nodes = len(everyone.start)
        candidates = self._propose(segments, everyone)
        chosen = candidates.best_of_nodes(n_nodes)
        if not self.value_models:
            return chosen, candidates
        open_nodes = self._struck(chosen, everyone, candidates)
        if len(open_nodes) and self.summary_models:
            self._sweep_values(open_nodes, segments, everyone, candidates)
        for _ in range(MOST_TRIES):
            if not len(open_nodes):
                break
            again = candidates.best_of_nodes(n_nodes)
            chosen[open_nodes] = again[open_nodes]
            open_nodes = self._struck(chosen, everyone, candidates, open_nodes)
        chosen[open_nodes] = -1
        return chosen, candidates

    def _propose(self, segments: list[Segments], everyone: Segments) -> _Candidates:
        parts = []
        for number, order in enumerate(self.orders):
            cuts = self.sweep(number, order, segments[number], self.by_count.person, everyone)
            passes = np.ones(len(cuts.node), np.bool_)
            for side in (_side(cuts, "left"), _side(cuts, "right")):
                for model in self.spread_models:
                    passes &= model.holds(side)
            order_of_cut = np.full(int(passes.sum()), number, np.int8)
            parts.append(
                (order_of_cut, cuts.node[passes], cuts.run_start[passes], cuts.position[passes], cuts.merit[passes])
            )
        return _Candidates(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _struck(
        self,
        chosen: NDArray[np.int64],
        everyone: Segments,
        candidates: _Candidates,
        nodes: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Strike chosen cuts with a side that breaks a model of values; give the nodes they belong to."""
        cuts = chosen[chosen >= 0] if nodes is None else chosen[nodes][chosen[nodes] >= 0]
        failing = []
        for number in range(len(self.orders)):
            of_order = cuts[candidates.order[cuts] == number]
            if not len(of_order):
                continue
            laid_out, start = self._lay_out(number, of_order, everyone, candidates)
            sides = self._counts_of_parts(laid_out, start)
            holds = np.ones(len(of_order), np.bool_)
            for model in self.value_models:
                holds &= model.holds(sides).reshape(-1, 2).all(axis=1)
            failing.append(of_order[~holds])
        if not failing:
            return np.zeros(0, np.int64)
        failed = np.concatenate(failing)
        candidates.allowed[failed] = False
        return np.sort(candidates.node[failed]).astype(np.int64)

    def _lay_out(
        self, number: int, cuts: NDArray[np.int64], everyone: Segments, candidates: _Candidates
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        node = candidates.node[cuts]
        n_laid_out = int((everyone.end[node] - everyone.start[node]).sum())
        self._is_left[:] = 0
        return trees.lay_out_sides(  # type: ignore[no-any-return]
            self.orders[number].person, candidates.run_start[cuts], candidates.position[cuts],
            self.by_count.person, everyone, node, n_laid_out, self._is_left, 0,
        )  # fmt: skip

    def _counts_of_parts(self, laid_out: NDArray[np.int32], start: NDArray[np.int64]) -> GroupCounts:
        spread = counting.spread_of_person_parts(laid_out, start, self.space.persons.records)
        return _group_counts(spread, self._values_of_parts(laid_out, start))

    def _values_of_parts(self, laid_out: NDArray[np.int32], start: NDArray[np.int64]) -> dict[str, ValueCounts]:
        values = {}
        for name, pairs in self.space.pairs.items():
            records, persons = self.space.whole[name]
            arguments = (laid_out, start, *pairs, len(records))
            if self.needs & VALUE_TABLES:
                lists, who = trees.values_of_sides(*arguments)
                values[name] = ValueCounts(
                    records_in_table=records, persons_in_table=persons,
                    start_of_group=lists[0], value=lists[1], records=lists[2], persons=lists[3],
                    pair_start_of_group=who[0], pair_person=who[1], pair_value=who[2],
                )  # fmt: skip
            else:
                found = trees.summaries_of_sides(*arguments)
                summaries = dict(zip(SUMMARY_NAMES, found, strict=True))
                values[name] = ValueCounts(records_in_table=records, persons_in_table=persons, summaries=summaries)
        return values

    def _sweep_values(
        self, nodes: NDArray[np.int64], segments: list[Segments], everyone: Segments, candidates: _Candidates
    ) -> None:
        """Strike all cuts of some nodes that break a model which needs summaries of values only."""
        is_open = np.zeros(len(everyone.start), np.bool_)
        is_open[nodes] = True
        for number, order in enumerate(self.orders):
            cuts = np.flatnonzero((candidates.order == number) & candidates.allowed & is_open[candidates.node])
            if not len(cuts):
                continue
            swept = [
                trees.sweep_values(
                    order, segments[number], self.by_count.person, everyone, candidates.node[cuts],
                    candidates.run_start[cuts], candidates.position[cuts], *pairs, len(self.space.whole[name][0]),
                )
                for name, pairs in self.space.pairs.items()
            ]  # fmt: skip
            spread = self._spread_of_cuts(number, cuts, everyone, candidates)
            for side in (0, 1):
                values = {}
                for name, sides in zip(self.space.pairs, swept, strict=True):
                    records, persons = self.space.whole[name]
                    summaries = dict(zip(SUMMARY_NAMES, sides[side].T, strict=True))
                    values[name] = ValueCounts(records_in_table=records, persons_in_table=persons, summaries=summaries)
                counts = _group_counts(spread[side], values)
                for model in self.summary_models:
                    candidates.allowed[cuts] &= model.holds(counts)

    def _spread_of_cuts(
        self, number: int, cuts: NDArray[np.int64], everyone: Segments, candidates: _Candidates
    ) -> tuple[tuple[NDArray[np.int64], ...], tuple[NDArray[np.int64], ...]]:
        return trees.spread_of_cuts(  # type: ignore[no-any-return]
            self.orders[number].person, self.by_count.person, everyone, candidates.node[cuts],
            candidates.run_start[cuts], candidates.position[cuts], self.space.persons.records,
            self.space.persons.logs,
        )  # fmt: skip

    def _cut(
        self, segments: list[Segments], everyone: Segments, chosen: NDArray[np.int64], candidates: _Candidates
    ) -> tuple[list[Segments], Segments]:
        """Part every order at the chosen cuts; the two sides of each are the nodes of the next level."""
        nodes = np.flatnonzero(chosen >= 0)
        cuts = chosen[nodes]
        self._is_left[:] = 0
        for number, order in enumerate(self.orders):
            of_order = cuts[candidates.order[cuts] == number]
            trees.mark_left(order.person, candidates.run_start[of_order], candidates.position[of_order], self._is_left)
        parted = []
        for order, segment in zip([*self.orders, self.by_count], [*segments, everyone], strict=True):
            start, end = segment.start[nodes], segment.end[nodes]
            middle = trees.part_order(order, start, end, self._is_left)
            parted.append(
                Segments(np.stack([start, middle], axis=1).ravel(), np.stack([middle, end], axis=1).ravel())
            )
        return parted[:-1], parted[-1]


def _side(cuts: Cuts, side: str) -> GroupCounts:
    counts = [getattr(cuts, f"{side}_{what}") for what in ("persons", "records", "squared", "most", "logs")]
    return _group_counts(tuple(counts), {})


def _group_counts(spread: tuple[NDArray[np.int64], ...], values: dict[str, ValueCounts]) -> GroupCounts:
    persons, records, squared, most, logs = spread
    return GroupCounts(
        persons=persons, records=records, squared_records=squared, most_records=most, log_records=logs,  # type: ignore[arg-type]
        values=values,
    )  # fmt: skip
