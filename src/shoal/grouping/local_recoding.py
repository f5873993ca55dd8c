"""Local recoding: publish every person at the lowest levels of the hierarchies at which enough others are alike."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.kinds import KindsOfPersons, kinds_of_persons
from shoal.grouping.model_check import Judge
from shoal.grouping.options import EFFORT
from shoal.grouping.regroup import SEARCHES, Asked, asked_of, regrouped
from shoal.kernels import recoding
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.levels import Levels, levels_of
from shoal.table.table import Table

MOST_VECTORS = 10_000
"""How many combinations of levels are tried at the most."""

MOST_JUDGED = 150_000_000
"""The same times persons, where models of sensitive values have to be asked about every cell."""

LEAST_JUDGED = 1_000
"""So many combinations are tried also where a table is so large that they exceed that."""

TRIES = 64
"""How many groups somebody who is left over may be offered to."""

ASKED_FIRST = 8
"""So many of them are asked about before the others."""

DIGITS = 12
"""Losses that agree to so many digits are equal."""


@dataclass(frozen=True, kw_only=True)
class LocalRecoding(Method):
    """Try the combinations of levels from the least loss to the most; whoever meets the models there stays there.

    Parameters
    ----------
    effort
        How long to look for groups that lose less once everybody has one: not at all ("low"), shortly ("normal"), or
        for some twenty times as long ("high").

    Notes
    -----
    Every quasi-identifier is seen at the levels of its hierarchy; without one, a number in 64, 16 and 4 parts of its
    extent, and a nominal one as its value or not at all. A combination of levels puts persons who agree in every
    quasi-identifier at its level into one cell; a cell that meets every model is a group, and the others go on to the
    next combination. Those who are left over at the end join the groups whose loss rises least. Then groups that lose
    less are looked for: new ones are opened around those who lose most. Persons with equal quasi-identifiers stay
    together. The same table gives the same grouping, in whatever order its records stand.

    O(c q d) time for c combinations (at most 10,000), q quasi-identifiers and d different persons who are still left,
    plus O(q n), and O(q d) for each round of looking on.
    """

    effort: Literal["low", "normal", "high"] = field(default="normal", metadata=EFFORT)
    name: ClassVar[str] = "local-recoding"
    title: ClassVar[str] = "Local recoding, along hierarchies"
    sentence: ClassVar[str] = "Everybody is shown at the lowest levels of the hierarchies at which enough are alike."
    is_in_app: ClassVar[bool] = True
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        levels = [levels_of(column) for column in table.quasi.values()]
        return recoded(table, levels, models, progress, effort=self.effort)

    def quick(self) -> LocalRecoding:
        """The same without looking on."""
        return replace(self, effort="low")


def recoded(
    table: Table, levels: Sequence[Levels], models: Sequence[Model], progress: Progress, *, effort: str = "low"
) -> Grouping:
    """Group the persons of a table at given levels of its quasi-identifiers."""
    progress("grouping", 0.0)
    kinds = kinds_of_persons(table, levels)
    asked = asked_of(table, kinds, models)
    judge = Judge(table, asked.others)
    recoder = _Recoder(kinds, asked, judge)
    most = min(MOST_VECTORS, max(LEAST_JUDGED, MOST_JUDGED // table.n_persons)) if asked.others else MOST_VECTORS
    for vector in vectors_of(thinned(_losses(kinds, levels), most), most):
        if not len(recoder.left):
            break
        recoder.try_levels(vector)
        progress("grouping", 1 - recoder.left_share)
    shares = kinds.shares(levels)
    recoder.join_left(shares, Judge(table, models))
    group_of_kind = recoder.group_of_kind
    if effort != "low":
        group_of_kind = regrouped(
            kinds, shares, group_of_kind, asked, judge, search=SEARCHES[effort], progress=progress
        )
    return Grouping(group_of_kind[kinds.kind_of_person], int(group_of_kind.max()) + 1)


class _Recoder:
    """Kinds of persons, which group they are in, and who is left."""

    def __init__(self, kinds: KindsOfPersons, asked: Asked, judge: Judge) -> None:
        self.kinds = kinds
        self.limits = asked.in_whole_numbers()
        self.values = asked.values
        self.judge = judge
        self.group_of_kind = np.full(len(kinds.counts.node), -1, np.int32)
        self.n_groups = 0
        self.left = np.arange(len(self.group_of_kind), dtype=np.int32)

    @property
    def left_share(self) -> float:
        """The share of kinds that have no group yet."""
        return len(self.left) / len(self.group_of_kind)

    def try_levels(self, vector: Sequence[int]) -> None:
        """Make groups of the cells that meet every model at some levels."""
        places = self.kinds.counts.start[:-1] + np.asarray(vector)
        cell_of_left, holds = recoding.cells_of_kinds(self.kinds.counts, places, self.left, self.limits, self.values)
        if self.judge.models and holds.any():
            holds = self._judged(cell_of_left, holds)
        if not holds.any():
            return
        number = self.n_groups + np.cumsum(holds, dtype=np.int32) - 1
        found = holds[cell_of_left]
        self.group_of_kind[self.left[found]] = number[cell_of_left[found]]
        self.n_groups += int(holds.sum())
        self.left = self.left[~found]

    def _judged(self, cell_of_left: NDArray[np.int32], keeps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the cells that keep to the limits meet the other models too."""
        asked = np.flatnonzero(keeps[cell_of_left])
        asked = asked[np.argsort(cell_of_left[asked], kind="stable")]
        cells, sizes = np.unique(cell_of_left[asked], return_counts=True)
        persons, starts = self.kinds.persons_of(self.left[asked])
        holds = np.zeros(len(keeps), np.bool_)
        holds[cells] = self.judge.holds(persons, starts[np.concatenate([[0], np.cumsum(sizes)])])
        return holds

    def join_left(self, shares: recoding.Shares, judge: Judge) -> None:
        """Let those who are left join groups: the loss must rise least, and every model be met."""
        if not len(self.left):
            return
        counts = self.kinds.counts
        level, member = recoding.levels_of_groups(counts, self.group_of_kind, self.n_groups)
        in_group = self.group_of_kind >= 0
        records = np.bincount(
            self.group_of_kind[in_group], weights=counts.records[in_group], minlength=self.n_groups
        ).astype(np.int64)
        members = self._kinds_of_groups()
        refused = []
        for kind in self.left.tolist():
            rise = recoding.rises_of_groups(counts, shares, level, member, records, kind)
            group = self._first_that_holds(kind, rise, members, judge)
            if group is None:
                refused.append(kind)
                continue
            self.group_of_kind[kind] = group
            members[group].append(kind)
            records[group] += counts.records[kind]
            recoding.raise_levels(counts, level, member, group, kind)
        if refused:
            rises = [recoding.rises_of_groups(counts, shares, level, member, records, kind) for kind in refused]
            self._merge_until_it_holds(refused, np.argsort(sum(rises), kind="stable").tolist(), members, judge)

    def _kinds_of_groups(self) -> list[list[int]]:
        kinds = np.flatnonzero(self.group_of_kind >= 0)
        kinds = kinds[np.argsort(self.group_of_kind[kinds], kind="stable")]
        ends = np.cumsum(np.bincount(self.group_of_kind[kinds], minlength=self.n_groups))
        return [own.tolist() for own in np.split(kinds, ends[:-1])]

    def _first_that_holds(
        self, kind: int, rise: NDArray[np.float64], members: list[list[int]], judge: Judge
    ) -> int | None:
        """The group of the least rise that meets every model with a kind more, or None where the nearest do not."""
        best = int(rise.argmin())
        if self._holds([[kind, *members[best]]], judge)[0]:
            return best
        nearest = np.argsort(rise, kind="stable")
        for some in (nearest[1:ASKED_FIRST], nearest[ASKED_FIRST:TRIES]):  # asked together: a question costs more
            holds = self._holds([[kind, *members[group]] for group in some.tolist()], judge)
            if holds.any():
                return int(some[holds.argmax()])
        return None

    def _holds(self, sets: Sequence[Sequence[int]], judge: Judge) -> NDArray[np.bool_]:
        """Whether sets of kinds meet every model."""
        persons, starts = self.kinds.persons_of(np.array([kind for kinds in sets for kind in kinds], np.int32))
        return judge.holds(persons, starts[np.append(0, np.cumsum([len(kinds) for kinds in sets], dtype=np.int64))])

    def _merge_until_it_holds(
        self, left: list[int], nearest: list[int], members: list[list[int]], judge: Judge
    ) -> None:
        """Merge those who are left with as many groups as it takes, the nearest first: 1, 2, 4, ..., all."""
        n_merged, merged = 1, [*left, *members[nearest[0]]]
        while n_merged < len(nearest) and not self._holds([merged], judge)[0]:
            n_merged = min(2 * n_merged, len(nearest))
            merged = [*left, *(kind for group in nearest[:n_merged] for kind in members[group])]
        self.group_of_kind[merged] = nearest[0]
        kept, number = np.unique(self.group_of_kind, return_inverse=True)
        self.group_of_kind, self.n_groups = number.astype(np.int32), len(kept)


def _losses(kinds: KindsOfPersons, levels: Sequence[Levels]) -> list[list[tuple[int, float]]]:
    """For each quasi-identifier the levels worth trying, each with the mean share that its nodes cover.

    A level that joins nobody whom the level below does not join is left out.
    """
    found = []
    shares = kinds.mean_shares(levels)
    for own, means in zip(levels, shares, strict=True):
        n_nodes = [len(np.unique(own.node[:, level])) for level in range(own.n_levels)]
        worth = [level for level in range(own.n_levels) if level == 0 or n_nodes[level] < n_nodes[level - 1]]
        if worth[-1] != own.n_levels - 1:
            worth.append(own.n_levels - 1)
        found.append([(level, float(means[level])) for level in worth])
    return found


def thinned(losses: list[list[tuple[int, float]]], most: int) -> list[list[tuple[int, float]]]:
    """Fewer levels, so that there are at most so many combinations; values and everything always stay.

    The level that loses least more than the one below it goes first.
    """
    losses = [list(own) for own in losses]
    while np.prod([float(len(own)) for own in losses]) > most:
        inner = [
            (round(own[at][1] - own[at - 1][1], DIGITS), j, at)
            for j, own in enumerate(losses)
            for at in range(1, len(own) - 1)
        ]
        if not inner:
            break
        _, j, at = min(inner)
        del losses[j][at]
    return losses


def vectors_of(losses: Sequence[Sequence[tuple[int, float]]], most: int) -> Iterator[list[int]]:
    """Combinations of levels from the least loss to the most; of equal losses the lowest levels first.

    At most so many of them; then a last way up from the values to everything, always one level of the attribute
    that loses least by it.
    """

    def loss(at: tuple[int, ...]) -> float:
        return round(sum(losses[j][level][1] for j, level in enumerate(at)), DIGITS)

    # A higher level can lose less: persons whose records differ below it show nothing there, and a node above.
    if math.prod(len(own) for own in losses) <= most:
        every = itertools.product(*(range(len(own)) for own in losses))
        for at in sorted(every, key=lambda at: (loss(at), at)):
            yield [losses[j][level][0] for j, level in enumerate(at)]
        return
    start = (0,) * len(losses)
    waiting = [(loss(start), start, 0)]
    n_tried = 0
    while waiting and n_tried < most:
        _, at, last = heapq.heappop(waiting)
        yield [losses[j][level][0] for j, level in enumerate(at)]
        n_tried += 1
        for j in range(last, len(at)):  # every combination is reached once: attributes are raised from left to right
            if at[j] + 1 < len(losses[j]):
                higher = (*at[:j], at[j] + 1, *at[j + 1 :])
                heapq.heappush(waiting, (loss(higher), higher, j))
    if not waiting:
        return
    at = start
    while any(level + 1 < len(own) for level, own in zip(at, losses, strict=True)):
        raised = [
            (loss(higher), higher)
            for j in range(len(at))
            if at[j] + 1 < len(losses[j])
            for higher in [(*at[:j], at[j] + 1, *at[j + 1 :])]
        ]
        _, at = min(raised)
        yield [losses[j][level][0] for j, level in enumerate(at)]
