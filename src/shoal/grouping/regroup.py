"""After local recoding: open groups around those who lose most, and keep what loses less and meets every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.kinds import KindsOfPersons
from shoal.grouping.model_check import Judge
from shoal.kernels import recoding, regrouping
from shoal.kernels.recoding import Values
from shoal.kernels.trees import Limits
from shoal.models.contract import Model, SpreadLimits, limits_of
from shoal.models.counts import SPREAD
from shoal.progress import Progress, silent
from shoal.table.table import Table

PENALTIES = np.array([0.1, 1.0])
"""What it counts, at the least and at the most, that a group lacks a person, until all is put right."""

SMALL = 4
"""Somebody may join persons with equal quasi-identifiers who are up to so many times as many as the smallest group."""

PARTS_JUDGED = 8
"""In so many parts of a round other models are asked about the groups that were changed."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """How long to look for better groups, and how far around everybody."""

    near: int
    """How many of the nearest each kind of persons knows."""
    views: int
    """In so many orders neighbours are looked for."""
    most_rounds: int
    kinds_in_rounds: int
    """Fewer rounds than `most_rounds` where kinds times rounds would exceed this."""
    spared: float = 0.0
    """Who loses less than this is asked the less often the less it is: shares of the domain, over all attributes."""
    heat: float = 0.0
    """How large a rise of the loss is kept now and then in the first round; it falls to 0 in the last."""
    window: int = 12
    """How many that follow in an order are looked at."""

    def rounds_for(self, n_kinds: int) -> int:
        """How many rounds, at least one."""
        return max(1, min(self.most_rounds, self.kinds_in_rounds // max(n_kinds, 1)))


SEARCHES = {
    "normal": Search(near=16, views=8, most_rounds=2, kinds_in_rounds=150_000),
    "high": Search(near=32, views=30, most_rounds=36, kinds_in_rounds=3_000_000, spared=1.0, heat=0.8),
}


@dataclass(frozen=True)
class Asked:
    """What is asked of groups: what kernels decide, and the models that have to be asked."""

    limits: SpreadLimits
    values: Values
    others: list[Model]

    def in_whole_numbers(self, least_persons: int = 1) -> Limits:
        """The limits as kernels take them, with so many persons at the least."""
        return Limits(*self.limits.and_also(SpreadLimits(least_persons=least_persons)).in_whole_numbers)


def asked_of(table: Table, kinds: KindsOfPersons, models: Sequence[Model]) -> Asked:
    """Part models into limits on records and persons, numbers of different values, and all others."""
    limits = limits_of(models)
    decides = limits is not None and limits.fits(table.n_records)
    least: dict[str, int] = {}
    others = []
    for model in models:
        if model.needs <= SPREAD:
            if not decides:
                others.append(model)
            continue
        columns = [] if model.least_values is None else model.columns_among(table.sensitive)
        if not columns or any(table.sensitive[name].code_left_out is not None for name in columns):
            others.append(model)
            continue
        for name in columns:
            least[name] = max(least.get(name, 1), model.least_values or 1)
    return Asked(limits if limits is not None and decides else SpreadLimits(), _values(table, kinds, least), others)


def _values(table: Table, kinds: KindsOfPersons, least: dict[str, int]) -> Values:
    """Different values of each kind, up to as many as are asked for."""
    n_kinds = len(kinds.counts.node)
    lists = [np.empty((n_kinds, 0), np.int32)]
    for name, most in least.items():
        column = table.sensitive[name]
        start, value, _ = table.values_of_persons(column)
        kind = np.repeat(kinds.kind_of_person, np.diff(start)).astype(np.int64)
        kind, value = np.divmod(np.unique(kind * column.n_codes + value), column.n_codes)
        place = np.arange(len(kind)) - np.searchsorted(kind, np.arange(n_kinds))[kind]
        listed = np.full((n_kinds, most), -1, np.int32)
        listed[kind[place < most], place[place < most]] = value[place < most]
        lists.append(listed)
    return Values(np.concatenate(lists, axis=1), np.append(0, np.cumsum(list(least.values()), dtype=np.int64)))


def regrouped(
    kinds: KindsOfPersons,
    shares: recoding.Shares,
    group_of_kind: NDArray[np.int32],
    asked: Asked,
    judge: Judge,
    *,
    search: Search,
    progress: Progress = silent,
) -> NDArray[np.int32]:
    """Groups of kinds that lose less, from groups that meet every model; every group still meets every model.

    Parameters
    ----------
    judge
        Asks the models that kernels do not decide.

    Notes
    -----
    Loss is what the lowest nodes above a group cover, times its records. In every round each kind of persons that
    loses something is asked, in an order that is drawn: is there a group near by in which less would be lost, or can a
    new one be opened with those around it? Groups that are too small by then are dissolved. What does not lower the
    loss is taken back. Near by are kinds that stand close to each other in orders by levels that are drawn.

    Numbers are drawn from a fixed seed: the same table gives the same groups. O(k m q) time per round for k kinds of
    persons who lose something, m neighbours and q quasi-identifiers.
    """
    chance = np.random.default_rng(0)
    size = np.bincount(group_of_kind)
    records = np.bincount(group_of_kind, weights=kinds.counts.records)
    may_change = (size[group_of_kind] > 1) | (records[group_of_kind] <= SMALL * records.min())
    active = np.flatnonzero(may_change).astype(np.int32)
    if (size > 1).sum() < 1 or len(size) < 2:
        return group_of_kind
    near = _neighbours(kinds, shares, active, search, chance)
    fewest = int(np.bincount(group_of_kind, weights=kinds.counts.persons).min()) if judge.models else 1
    groups = _Groups(kinds, shares, group_of_kind, asked, least_persons=fewest, n_rows=len(size) + len(active) // 4 + 2)
    rounds = search.rounds_for(len(active))
    best, least = groups.of_kind.copy(), groups.loss
    for number in range(rounds):
        progress("improving", number / rounds)
        heat = search.heat * (1 - number / (rounds - 1)) if rounds > 1 else 0.0
        for part in np.array_split(chance.permutation(active), PARTS_JUDGED if judge.models else 1):
            before = groups.of_kind.copy()
            groups.open(near, part, chance.random((len(part), 3)), heat=heat, spared=search.spared)
            if judge.models and _take_back(kinds, groups.of_kind, before, judge):
                groups.fill()
        if groups.loss < least:
            best, least = groups.of_kind.copy(), groups.loss
    return np.unique(best, return_inverse=True)[1].astype(np.int32)


class _Groups:
    """The arrays that kernels work on (`kernels.regrouping`)."""

    def __init__(
        self,
        kinds: KindsOfPersons,
        shares: recoding.Shares,
        group_of_kind: NDArray[np.int32],
        asked: Asked,
        *,
        least_persons: int,
        n_rows: int,
    ) -> None:
        counts, values = kinds.counts, asked.values
        n_kinds, n_attributes = len(group_of_kind), len(counts.start) - 1
        self.size = np.stack([counts.persons, counts.records, counts.squared, counts.most], axis=1)
        self.tree = (counts.node, counts.start, self.size, shares.of_node, shares.start, *values)
        self.limits = np.array(asked.in_whole_numbers(least_persons), np.int64)
        self.link = np.zeros((n_kinds, regrouping.LINKS), np.int64)
        self.of_kind[:] = group_of_kind
        self.relief = np.zeros(n_kinds)
        self.row = np.zeros((n_rows, regrouping.LEVEL + n_attributes + values.of_kind.shape[1]), np.int64)
        self.cover = np.zeros(n_rows)
        self.moved = np.zeros((regrouping.MOST_MOVES, 4), np.int64)
        self.free = np.zeros(n_rows, np.int64)
        self.fill()

    @property
    def of_kind(self) -> NDArray[np.int64]:
        """The group of each kind; write to it, and fill groups anew."""
        return self.link[:, regrouping.GROUP]

    @property
    def loss(self) -> float:
        """Records times what is covered, over all groups."""
        return float((self.cover * self.row[:, regrouping.SIZE + regrouping.RECORDS])[:-1].sum())

    def fill(self) -> None:
        """Count all groups anew from the groups of kinds."""
        regrouping.fill_groups(*self.tree, self.link, self.row, self.cover)

    def open(
        self,
        near: NDArray[np.int32],
        order: NDArray[np.int32],
        drawn: NDArray[np.float64],
        *,
        heat: float,
        spared: float,
    ) -> None:
        """Open groups around kinds in an order."""
        state = self.limits, self.link, self.relief, self.row, self.cover
        ways = near, order, drawn, PENALTIES, heat, spared
        regrouping.open_groups(*self.tree, *state, *ways, self.moved, self.free)


def _neighbours(
    kinds: KindsOfPersons,
    shares: recoding.Shares,
    active: NDArray[np.int32],
    search: Search,
    chance: np.random.Generator,
) -> NDArray[np.int32]:
    """For each kind the nearest that were found, in orders by the levels of attributes, which are drawn."""
    node, start = kinds.counts.node, kinds.counts.start
    near = np.full((len(node), search.near), -1, np.int32)
    distance = np.full(near.shape, np.inf)
    n_levels = np.diff(start)
    for _ in range(search.views):
        places = [int(start[j] + chance.integers(n_levels[j])) for j in chance.permutation(len(n_levels))]
        places += [int(start[j]) for j in chance.permutation(len(n_levels))]
        order = active[_sorted_by(node, active, places)]
        regrouping.offer_neighbours(node, start, *shares, order, search.window, near, distance)
    return near


def _sorted_by(node: NDArray[np.int32], rows: NDArray[np.int32], places: Sequence[int]) -> NDArray[np.int64]:
    """The order of some rows by several places, the first place first; ties in the order in which they stand."""
    words, room = [np.zeros(len(rows), np.int64)], 1
    for place in places:
        own = node[rows, place].astype(np.int64)
        n_nodes = int(own.max(initial=0)) + 1
        if room * n_nodes >= 2**62:
            words.append(np.zeros(len(rows), np.int64))
            room = 1
        words[-1] = words[-1] * n_nodes + own
        room *= n_nodes
    return np.lexsort(words[::-1])


def _take_back(
    kinds: KindsOfPersons, group_of_kind: NDArray[np.int64], before: NDArray[np.int64], judge: Judge
) -> bool:
    """Put kinds back to where they were before, as far as groups break a model now; whether any was.

    Groups that share kinds, before or now, are taken together: they are put back together.
    """
    is_changed = np.zeros(int(max(group_of_kind.max(), before.max())) + 1, np.bool_)
    differs = group_of_kind != before
    if not differs.any():
        return False
    is_changed[group_of_kind[differs]] = is_changed[before[differs]] = True
    concerned = np.flatnonzero(is_changed[group_of_kind] | is_changed[before]).astype(np.int32)
    concerned = concerned[np.argsort(group_of_kind[concerned], kind="stable")]
    now, sizes = np.unique(group_of_kind[concerned], return_counts=True)
    persons, starts = kinds.persons_of(concerned)
    holds = judge.holds(persons, starts[np.concatenate([[0], np.cumsum(sizes)])])
    broken = set(now[~holds].tolist())
    if not broken:
        return False
    kinds_now, kinds_before = _by_group(concerned, group_of_kind), _by_group(concerned, before)
    waiting, seen = list(broken), set(broken)
    back: set[int] = set()
    while waiting:
        for kind in kinds_now[waiting.pop()]:
            for other in kinds_before[int(before[kind])]:
                back.add(other)
                if int(group_of_kind[other]) not in seen:
                    seen.add(int(group_of_kind[other]))
                    waiting.append(int(group_of_kind[other]))
    put_back = np.array(sorted(back), np.int64)
    group_of_kind[put_back] = before[put_back]
    return True


def _by_group(some: NDArray[np.int32], group_of_kind: NDArray[np.int64]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for kind in some.tolist():
        found.setdefault(int(group_of_kind[kind]), []).append(kind)
    return found
