"""After the groups are formed: persons move to near groups in which what they show of their history is common.

Groups by quasi-identifiers alone leave most values of a history with fewer than k persons of their group, and these
must be hidden or made coarser. Some moves change that: of several near groups one is as good as another for
quasi-identifiers, and not for histories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.improve import (
    Pools,
    commonest_categories,
    fewest_persons,
    limits_for,
    mixed,
    numbered,
    where_models_hold,
)
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.grouping.tree import what_is_counted
from shoal.kernels import gathering, improving
from shoal.kernels.trees import Limits
from shoal.models.contract import Model
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.progress import Progress, silent
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.levels import texts_in_hierarchy
from shoal.table.lines import on_lines
from shoal.table.table import Table
from shoal.threads import fair_parts, side_by_side

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

Measured = Callable[[IntArray, IntArray, int], FloatArray]
"""Persons, the group of each and how many groups there are, to what the persons of each group lose together."""

NO_HIERARCHIES: Mapping[str, Hierarchy] = MappingProxyType({})

WEIGHT = 1.0
"""A column of histories counts as much as a quasi-identifier."""

GROWTHS = (1.7, 1.3)
"""Larger groups that are tried have at least so many times the persons that groups had on average: first in large
steps while hardly more is lost, then in small ones."""

MOST_SIZES = 5
"""So many sizes of groups are tried at the most."""

NEARLY = 1.02
"""Of two sizes the larger one is taken where it loses no more than so many times what the smaller one does."""

COMPARED_PERSONS = 20_000
"""Sizes of groups are compared on about so many persons of a large table, which has more than twice as many."""

COMPARED_REGIONS = 4
"""In so many regions they live about; what lies beside each other stays beside each other there."""

SAMPLED_PERSONS = 5_000
"""Where sizes of groups are compared, about so many persons are moved to see what that saves."""

TINY = 1e-9
"""What is not above this is nothing."""

QUICK_RAMPS = (2.0, 4.0)
"""As `RAMPS`, where sizes of groups are compared."""

MOST_MERGES = 10
"""So often groups are asked whether they lose less together with a near one, at the most."""

LEAST_SAVED = 0.001
"""It ends where that saves less than this share of all that is lost."""

PERSONS_PER_THREAD = 2_000
"""With fewer persons than this a thread of their own would not pay."""

GROUPS_OF_POOL = 24
"""Near groups that exchange persons in a round."""

PASSES = 2
"""How often the persons of a pool are asked in a round."""

RAMPS = (2.0, 4.0, 8.0)
"""Round by round: where only n persons show what k must show, they count as n (n / k)^ramp. At first a way on which
one after the other can come, in the end nearly what they are worth, nothing."""

WIDTH_OF_DISTANCE = 4.0
"""How wide evenly spread values reach, in mean distances from their mean."""

MOST_CATEGORIES = 16
"""Of a nominal quasi-identifier so many categories are told apart, the commonest; the others are one."""


@dataclass(frozen=True)
class Shown:
    """What each person shows of their history, one person behind the other."""

    start: IntArray
    item: IntArray
    price: FloatArray
    """What it counts that one person shows an item. Where everybody shows everything it adds up to 1 per person and
    column."""

    def in_order(self, persons: IntArray) -> Shown:
        """The same of some persons, in their order."""
        sizes = np.diff(self.start)[persons]
        start = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(start[-1]) + np.repeat(self.start[persons] - start[:-1], sizes)
        return Shown(start, self.item[places], self.price)


def group_by_histories(
    method: Method,
    table: Table,
    models: Sequence[Model],
    columns: Sequence[str],
    *,
    k: int,
    weight: float = WEIGHT,
    with_counts: bool = False,
    hierarchies: Mapping[str, Hierarchy] = NO_HIERARCHIES,
    measured: Measured | None = None,
    progress: Progress = silent,
    rng: Rng = None,
) -> Grouping:
    """Group by a method and gather alike histories, in groups of the size at which least is lost in all.

    Parameters
    ----------
    method, models
        How groups are formed, and what every group must meet.
    columns, k, weight, with_counts, hierarchies
        As in `gather_histories`.
    measured
        What some persons lose of their histories together in their groups, where that is more than what fewer than k
        persons show: where several values are known, values that are common go too.

    Notes
    -----
    Larger groups lose more of the quasi-identifiers and less of the histories. Groups as the models ask for them come
    first, then with at least GROWTHS times as many persons as they had on average, and so on while hardly more is lost;
    sizes are tried with the quick form of the method, in some regions of a large table, and with moves of some persons.
    The groups of a large table are those of the quick form, moved. Every group meets every model; with weight 0 they
    are those of the method.

    Where what is lost is measured and the number of records is not known, the groups that a table which is not large
    has without all this are merged with near ones while that lowers the loss, as Poulis and others (2013) do, and those
    are taken that lose less. It takes models that merging keeps.
    """
    _check(table, columns, k, weight)
    if weight == 0:
        return method.group(table, models, progress, rng=rng)
    work = _Work.of(table, models, columns, k, weight, with_counts, hierarchies)
    asked = _best_size(method, work, measured, rng)
    first = method.quick() if _is_large(table) else method
    groups = work.gathered(first.group(table, asked, progress, rng=rng), RAMPS, progress)
    may_merge = all(model.monotone for model in models) and not with_counts and not _is_large(table)
    if measured is None or not may_merge:
        return groups
    merged = work.merged(method.group(table, models, progress, rng=rng), measured, progress)
    return min(merged, groups, key=lambda each: work.measured_in_all(each, measured))


def _is_large(table: Table) -> bool:
    """Whether some persons stand for all where sizes are compared, and moves take the place of a method's looking on.

    A method has few rounds for so many persons, and what they gain the moves gain as well.
    """
    return table.n_persons > 2 * COMPARED_PERSONS


def _best_size(method: Method, work: _Work, measured: Measured | None, rng: Rng) -> Sequence[Model]:
    """What groups are asked for, so that they have the size at which least is lost in all."""
    everybody = np.arange(work.table.n_persons), work.table
    some = _some_regions(method, work, rng)
    try:
        return _best_size_of(*(some or everybody), method, work, measured, rng)
    except CannotSatisfyError:
        if some is None:
            raise
        return _best_size_of(*everybody, method, work, measured, rng)


def _best_size_of(
    persons: IntArray, table: Table, method: Method, work: _Work, measured: Measured | None, rng: Rng
) -> Sequence[Model]:
    """The same by what some persons lose, who are those of the table."""
    lost_of_size: dict[int, float] = {}
    persons_of_size: dict[int, float] = {}

    def asked_for(size: int) -> Sequence[Model]:
        return [*work.models, PersonKAnonymity(k=size)] if size > 1 else work.models

    def lost_at(size: int) -> float:
        if size not in lost_of_size and len(lost_of_size) < MOST_SIZES and 2 * size <= table.n_persons:
            groups = method.quick().group(table, asked_for(size), silent, rng=rng)
            persons_of_size[size] = table.n_persons / groups.n_groups
            lost_of_size[size] = work.estimated(persons, groups, measured)
        return lost_of_size.get(size, np.inf)

    best, least = 1, lost_at(1)
    if best not in persons_of_size:
        return work.models
    for growth in GROWTHS:
        while (lost := lost_at(size := max(best + 1, ceil(growth * persons_of_size[best])))) <= NEARLY * least:
            best, least = size, min(least, lost)
    return asked_for(best)


def _some_regions(method: Method, work: _Work, rng: Rng) -> tuple[IntArray, Table] | None:
    """Persons of a large table on whom sizes are compared, and their table; None where that would be most of it.

    They are those of some large groups of the method's, so that their groups are about what they would be in the whole.
    Which ones is decided by who is in them, not by the order of the table.
    """
    table = work.table
    if not _is_large(table) or table.beside is not None:
        return None
    regions = PersonKAnonymity(k=COMPARED_PERSONS // COMPARED_REGIONS)
    region = method.quick().group(table, [*work.models, regions], silent, rng=rng).group_of_person
    order = np.argsort(_numbers_of_groups(work.own, region), kind="stable")
    sizes = np.bincount(region)[order]
    taken = order[: np.searchsorted(np.cumsum(sizes), COMPARED_PERSONS) + 1]
    keep = np.isin(region, taken)[table.person_of_record]
    smaller = table.with_records(keep, "")
    persons = np.empty(smaller.n_persons, np.int64)
    persons[smaller.person_of_record] = table.person_of_record[keep]
    return persons, smaller


def lost_in_all(
    table: Table,
    grouping: Grouping,
    columns: Sequence[str],
    *,
    k: int,
    weight: float = WEIGHT,
    with_counts: bool = False,
    hierarchies: Mapping[str, Hierarchy] = NO_HIERARCHIES,
) -> float:
    """What a grouping loses per person: of every quasi-identifier, and of histories what fewer than k persons show."""
    _check(table, columns, k, weight)
    return _Work.of(table, (), columns, k, weight, with_counts, hierarchies).lost(grouping)


def gather_histories(
    table: Table,
    models: Sequence[Model],
    grouping: Grouping,
    columns: Sequence[str],
    *,
    k: int,
    weight: float = WEIGHT,
    with_counts: bool = False,
    hierarchies: Mapping[str, Hierarchy] = NO_HIERARCHIES,
    progress: Progress = silent,
) -> Grouping:
    """Groups in which more of what histories show is shown by at least k persons; every group still meets every model.

    Parameters
    ----------
    grouping
        Groups that meet every model. Larger ones than the models ask for leave room to move.
    columns
        The sensitive columns of which histories consist.
    k
        How many persons of a group have to show a value so that it may be shown.
    weight
        What a column of histories counts beside a quasi-identifier; 0 leaves the groups as they are.
    with_counts
        Whether the number of a person's records is to be shared with k persons, too.
    hierarchies
        What values of a column are part of. Each step upwards loses the same.

    Notes
    -----
    In every round all groups are put in pools of near ones, and the persons of a pool are asked in turn which of its
    groups is best: by how far they are from its mean, by how wide it gets, and by how many persons there show the same.
    Limits on records and persons are kept at every step; other models are asked about the groups of every pool, and
    where one breaks, the pool stays as it was.

    The same persons give the same groups, in whatever order they stand. Per round O(items x groups of a pool) time.
    """
    _check(table, columns, k, weight)
    if weight == 0:
        return grouping
    return _Work.of(table, models, columns, k, weight, with_counts, hierarchies).gathered(grouping, RAMPS, progress)


@dataclass(frozen=True)
class _Work:
    """What is needed of a table to gather histories, and to say what is lost."""

    table: Table
    models: Sequence[Model]
    space: PersonSpace
    shown: Shown
    value: FloatArray
    prices: FloatArray
    k: int
    weight: float
    own: NDArray[np.uint64]
    """A number for what each person is; the same for those who are alike."""

    @classmethod
    def of(
        cls,
        table: Table,
        models: Sequence[Model],
        columns: Sequence[str],
        k: int,
        weight: float,
        with_counts: bool,
        hierarchies: Mapping[str, Hierarchy],
    ) -> _Work:
        space = person_space(on_lines(table), with_variance=False, **what_is_counted(models)).without_orders()
        shown = what_is_shown(table, columns, with_counts=with_counts, hierarchies=hierarchies)
        shown = replace(shown, price=weight * shown.price)
        value, prices = _places(table, space)
        return cls(table, models, space, shown, value, prices, k, weight, _own_numbers(value, space, shown))

    def gathered(self, grouping: Grouping, ramps: Sequence[float], progress: Progress) -> Grouping:
        """The groups after a round of moves per ramp."""
        limits = limits_for(self.space, self.models)
        if limits is None or grouping.n_groups < 2:
            return grouping
        order, group, n_groups = self._in_order(grouping, np.arange(self.table.n_persons))
        place_of_person = np.empty(len(order), np.int64)
        place_of_person[order] = np.arange(len(order))
        asked = [model for model in self.models if model.limits is None]
        if asked:
            fewest = fewest_persons(np.ones_like(group), group)
            limits = limits._replace(least_persons=max(limits.least_persons, fewest))
        chance = np.random.default_rng(0)
        for number, ramp in enumerate(ramps):
            progress("gathering histories", number / len(ramps))
            pools = self._pools(order, group, n_groups, chance)
            better, gain = self._moved(order, group, n_groups, pools, limits, ramp)
            if asked and gain.any():
                better, gain = where_models_hold(self.space, asked, place_of_person, group, better, pools, gain)
            group, n_groups = numbered(better)
            if not gain.any():
                break
        progress("gathering histories", 1.0)
        return Grouping(group[place_of_person].astype(np.int32), n_groups, grouping.notes)

    def merged(self, grouping: Grouping, measured: Measured, progress: Progress) -> Grouping:
        """Near groups taken together, two by two, where that lowers what is lost in all; again and again."""
        order, group, n_groups = self._in_order(grouping, np.arange(self.table.n_persons))
        lost = self._measured_of(measured, order, group, n_groups)
        chance = np.random.default_rng(0)
        for number in range(MOST_MERGES):
            progress("merging groups", number / MOST_MERGES)
            before = lost.sum()
            pair_of_group, n_pairs = self._pairs(order, group, n_groups, lost, chance)
            of_pair = self._measured_of(measured, order, pair_of_group[group], n_pairs)
            is_merged = (of_pair < np.bincount(pair_of_group, weights=lost) - TINY)[pair_of_group]
            lost = np.where(is_merged, of_pair[pair_of_group], lost)
            # those that stay apart get numbers behind those of pairs
            kept, first, number_of_group = np.unique(
                np.where(is_merged, pair_of_group, n_pairs + np.arange(n_groups)),
                return_index=True,
                return_inverse=True,
            )
            lost, group, n_groups = lost[first], number_of_group[group], len(kept)
            if before - lost.sum() <= LEAST_SAVED * before:
                break
        progress("merging groups", 1.0)
        of_person = np.empty(len(order), np.int32)
        of_person[order] = group
        return Grouping(of_person, n_groups, grouping.notes)

    def _pairs(
        self, order: IntArray, group: IntArray, n_groups: int, lost: FloatArray, chance: np.random.Generator
    ) -> tuple[IntArray, int]:
        """For each group the number of the pair that it forms with a near one, and how many there are.

        In every pool those choose first that lose most per person, and take the nearest that is free.
        """
        pools = self._pools(order, group, n_groups, chance)
        n_persons = np.bincount(group, minlength=n_groups)
        columns = [np.bincount(group, column, n_groups) / n_persons for column in self.value[order].T]
        centre = np.stack([np.zeros(n_groups), *columns], axis=1) * np.append(0.0, self.prices.sum(axis=0))
        pair_of_group, n_pairs = np.full(n_groups, -1), 0
        for near in np.split(pools.order, pools.start[1:-1]):
            distance = np.abs(centre[near, None] - centre[None, near]).sum(axis=2)
            np.fill_diagonal(distance, np.inf)
            for one in np.argsort(-(lost / n_persons)[near], kind="stable").tolist():
                if pair_of_group[near[one]] < 0:
                    other = int(distance[one].argmin())
                    pair_of_group[near[one]] = n_pairs
                    if np.isfinite(distance[one, other]):
                        pair_of_group[near[other]] = n_pairs
                    distance[:, [one, other]] = np.inf
                    n_pairs += 1
        return pair_of_group, n_pairs

    def estimated(self, persons: IntArray, grouping: Grouping, measured: Measured | None = None) -> float:
        """What a grouping of some persons would lose after some moves, by what they save in some pools of near groups.

        Models that have no limits are not asked: they stand in the way of some moves, at every size.
        """
        limits = limits_for(self.space, self.models)
        order, group, n_groups = self._in_order(grouping, persons)
        lost = self._lost_of(order, group, n_groups) / len(order)
        if limits is None or n_groups < 2:
            return lost
        chance = np.random.default_rng(0)
        pools = self._pools(order, group, n_groups, chance)
        n_pools = len(pools.start) - 1
        some = np.arange(0, n_pools, max(1, round(len(order) / SAMPLED_PERSONS)))
        is_some = np.zeros(n_groups, np.bool_)
        for pool in some:
            is_some[pools.order[pools.start[pool] : pools.start[pool + 1]]] = True
        order, (group, n_groups) = order[is_some[group]], numbered(group[is_some[group]])
        before = self._lost_of(order, group, n_groups)
        for ramp in QUICK_RAMPS:
            pools = self._pools(order, group, n_groups, chance)
            group, n_groups = numbered(self._moved(order, group, n_groups, pools, limits, ramp)[0])
        if measured is not None:
            return float(self._measured_of(measured, order, group, n_groups).sum()) / len(order)
        return lost + (self._lost_of(order, group, n_groups) - before) / len(order)

    def _in_order(self, grouping: Grouping, persons: IntArray) -> tuple[IntArray, IntArray, int]:
        """Persons in an order that depends on them alone, and their groups, numbered in this order."""
        order = _canonical(self.own[persons], self.table.records_of_person[persons], grouping.group_of_person)
        return persons[order], *numbered(grouping.group_of_person[order].astype(np.int64))

    def _pools(self, order: IntArray, group: IntArray, n_groups: int, chance: np.random.Generator) -> Pools:
        return _pools(self.value[order], self.table.records_of_person[order], group, n_groups, chance, GROUPS_OF_POOL)

    def _moved(
        self, order: IntArray, group: IntArray, n_groups: int, pools: Pools, limits: Limits, ramp: float
    ) -> tuple[IntArray, FloatArray]:
        """One round: the group of each person in the order, and how many moves each pool has made."""
        by_pool, start, group_in_pool = _by_pool(group, n_groups, pools)
        worth = np.arange(self.k + 1) * (np.arange(self.k + 1) / self.k) ** ramp
        groups_of_pool = np.diff(pools.start)

        def moved(some: slice) -> tuple[IntArray, IntArray]:
            first, end = start[some.start], start[some.stop]
            persons = order[by_pool[first:end]]
            here = self.shown.in_order(persons)
            return gathering.gather_pools(
                (here.start, here.item), here.price, worth, self.value[persons], self.prices,
                self.table.records_of_person[persons], limits, start[some.start : some.stop + 1] - first,
                group_in_pool[first:end], groups_of_pool[some], PASSES,
            )  # fmt: skip

        parts = side_by_side(moved, fair_parts(np.diff(start), PERSONS_PER_THREAD))
        groups, moves = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        better = np.empty_like(group)
        better[by_pool] = pools.order[np.repeat(pools.start[:-1], np.diff(start)) + groups]
        return better, moves.astype(np.float64)

    def lost(self, grouping: Grouping) -> float:
        """See `lost_in_all`."""
        everybody = np.arange(self.table.n_persons)
        group = grouping.group_of_person.astype(np.int64)
        return self._lost_of(everybody, group, grouping.n_groups) / self.table.n_persons

    def _lost_of(self, persons: IntArray, group: IntArray, n_groups: int) -> float:
        """What some persons lose together in their groups."""
        lost = float(self._lost_of_quasi(persons, group, n_groups).sum())
        shown = self.shown.in_order(persons)
        pairs = np.sort(np.repeat(group, np.diff(shown.start)) * np.int64(len(shown.price)) + shown.item)
        start = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1])) if len(pairs) else np.zeros(0, np.int64)
        n_persons = np.diff(np.append(start, len(pairs)))
        is_rare = n_persons < self.k
        of_item = shown.price[pairs[start[is_rare]] % len(shown.price)]
        return lost + float((of_item * n_persons[is_rare]).sum())

    def measured_in_all(self, grouping: Grouping, measured: Measured) -> float:
        """What a grouping loses where histories are measured."""
        everybody, group = np.arange(self.table.n_persons), grouping.group_of_person.astype(np.int64)
        return float(self._measured_of(measured, everybody, group, grouping.n_groups).sum())

    def _measured_of(self, measured: Measured, persons: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """What the persons of each group lose where histories are measured."""
        return self._lost_of_quasi(persons, group, n_groups) + self.weight * measured(persons, group, n_groups)

    def _lost_of_quasi(self, persons: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """What the persons of each group lose of quasi-identifiers."""
        records = self.table.records_of_person[persons].astype(np.float64)
        n_records = np.bincount(group, weights=records, minlength=n_groups)
        n_persons = np.bincount(group, minlength=n_groups)
        lost = np.zeros(n_groups)
        for column, (of_distance, of_width) in zip(self.value[persons].T, self.prices.T, strict=True):
            mean = np.bincount(group, weights=records * column, minlength=n_groups) / n_records
            low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
            np.minimum.at(low, group, column)
            np.maximum.at(high, group, column)
            lost += np.bincount(group, weights=of_distance * np.abs(column - mean[group]), minlength=n_groups)
            lost += of_width * (high - low) * n_persons
        return lost


def _check(table: Table, columns: Sequence[str], k: int, weight: float) -> None:
    unknown = [name for name in columns if name not in table.sensitive]
    if unknown:
        raise ParameterError(
            f"Histories consist of sensitive columns; {', '.join(map(repr, unknown))} is none. "
            f"The sensitive columns are: {', '.join(table.sensitive)}."
        )
    if k < 1:
        raise ParameterError(f"k must be at least 1, got {k}.")
    if not 0 <= weight < np.inf:
        raise ParameterError(f"weight must be 0 or more, got {weight}.")


def what_is_shown(
    table: Table,
    columns: Sequence[str],
    *,
    with_counts: bool = False,
    hierarchies: Mapping[str, Hierarchy] = NO_HIERARCHIES,
) -> Shown:
    """What each person shows: the values of some columns, what these are part of, and the number of records."""
    lists = []
    for name in columns:
        column = table.sensitive[name]
        start, value, _ = table.values_of_persons(column)
        person = np.repeat(np.arange(table.n_persons), np.diff(start))
        nodes = _nodes(column, hierarchies.get(name))
        lists += [(person, node[value], 1.0 / len(nodes)) for node in nodes]
    if with_counts:
        lists.append((np.arange(table.n_persons), table.records_of_person, 1.0))
    persons, items, prices, n_items = [], [], [], 0
    for person, item, share in lists:
        is_there = np.bincount(item) > 0
        n = int(is_there.sum())
        pairs = np.sort(person * n + (np.cumsum(is_there) - 1)[item])
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]]
        persons.append(pairs // n)
        items.append(pairs % n + n_items)
        prices.append(np.full(n, share * table.n_persons / len(pairs)))
        n_items += n
    order = np.argsort(np.concatenate(persons), kind="stable")
    counts = np.bincount(np.concatenate(persons), minlength=table.n_persons)
    return Shown(np.concatenate([[0], np.cumsum(counts)]), np.concatenate(items)[order], np.concatenate(prices))


def _nodes(column: CategoryColumn, hierarchy: Hierarchy | None) -> list[IntArray]:
    """For each level but the last, which shows nothing, the node of each value."""
    if hierarchy is None:
        return [np.arange(column.n_codes)]
    texts, _ = texts_in_hierarchy(column)
    hierarchy.check_covers((text for text in texts if text is not None), column=column.name)
    node, _ = hierarchy.codes(texts)
    return list(node.T[:-1].astype(np.int64))


def _places(table: Table, space: PersonSpace) -> tuple[FloatArray, FloatArray]:
    """Where persons stand in quasi-identifiers, and what it costs there to be away from the mean, and to be wide.

    A range or a set loses by its width, a mean by distance: half of each is what a quasi-identifier costs.
    """
    persons = space.persons
    means = persons.row[:, 1 : 1 + persons.n_numeric] / persons.row[:, :1] / float(space.grid)
    places = list(means.T)
    prices = [(WIDTH_OF_DISTANCE / 2, 0.5)] * len(places)
    nominal = [column for column in on_lines(table).quasi.values() if not isinstance(column, NumberColumn)]
    for codes in commonest_categories(space)[:, : len(nominal)].T:
        _, code = np.unique(codes, return_inverse=True)
        commonest = np.argsort(-np.bincount(code), kind="stable")[:MOST_CATEGORIES]
        is_two = len(commonest) == 2
        places += [(code == each).astype(np.float64) for each in commonest[: 1 if is_two else None]]
        of_one = (0.5, 0.5) if is_two else (0.25, 0.5 / len(commonest))
        prices += [of_one] * (1 if is_two else len(commonest))
    value = np.stack(places, axis=1) if places else np.zeros((space.n_persons, 0))
    return np.ascontiguousarray(value), np.ascontiguousarray(np.array(prices).reshape(-1, 2).T)


def _own_numbers(value: FloatArray, space: PersonSpace, shown: Shown) -> NDArray[np.uint64]:
    of_items = np.zeros(len(shown.start) - 1, np.uint64)
    np.add.at(
        of_items,
        np.repeat(np.arange(len(of_items)), np.diff(shown.start)),
        mixed(shown.item[:, None].astype(np.float64) + 1.0),
    )
    return mixed(np.column_stack([space.persons.row[:, 0], value, of_items.astype(np.float64)]))


def _canonical(own: NDArray[np.uint64], records: IntArray, group: NDArray[np.int32]) -> IntArray:
    """Persons in an order that depends on them alone: those with most records first, then in a mixed order.

    Those who are alike and in groups that are alike are interchangeable.
    """
    return np.lexsort((_numbers_of_groups(own, group)[group], own, -records)).astype(np.int64)


def _numbers_of_groups(own: NDArray[np.uint64], group: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A number for who is in each group."""
    of_group = np.zeros(int(group.max()) + 1, np.uint64)
    np.add.at(of_group, group, own)
    return of_group


def _pools(
    value: FloatArray, records: IntArray, group: IntArray, n_groups: int, chance: np.random.Generator, most: int
) -> Pools:
    """Near groups in pools, so many of them in each."""
    weight = records.astype(np.float64)
    total = np.bincount(group, weights=weight, minlength=n_groups)
    columns = [np.bincount(group, weights=weight * column, minlength=n_groups) / total for column in value.T]
    centre = np.stack(columns, axis=1) if columns else np.zeros((n_groups, 1))
    sizes = np.bincount(group, minlength=n_groups)
    return Pools(*improving.pool_groups(centre, sizes, len(group), most, chance.random(1024)))


def _by_pool(group: IntArray, n_groups: int, pools: Pools) -> tuple[IntArray, IntArray, IntArray]:
    """Persons pool by pool: who they are, where each pool starts, and the group of each inside the pool."""
    groups_of_pool = np.diff(pools.start)
    pool_of_group, place_of_group = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    pool_of_group[pools.order] = np.repeat(np.arange(len(groups_of_pool)), groups_of_pool)
    place_of_group[pools.order] = np.arange(n_groups) - np.repeat(pools.start[:-1], groups_of_pool)
    pool = pool_of_group[group]
    by_pool = np.argsort(pool, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(pool, minlength=len(groups_of_pool)))])
    return by_pool, start, place_of_group[group[by_pool]]
