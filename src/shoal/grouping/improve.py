"""After the tree: take near groups together, group them better, and keep what loses less and meets every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import PersonSpace
from shoal.grouping.tree import counts_of_parts
from shoal.kernels import counting, improving
from shoal.kernels.improving import Units, Ways
from shoal.kernels.trees import SEVERAL, Limits
from shoal.models.contract import Model, SpreadLimits, limits_of
from shoal.progress import Progress, silent
from shoal.threads import fair_parts, side_by_side

USUAL_DISTANCE = 0.8
"""The mean distance of what scatters around a mean, in standard deviations, as it is for a bell curve."""

BLUR_GRID = 2.0**20
"""How far records are from their person's mean is rounded to such steps, so that no order of records matters."""

UNITS_PER_THREAD = 2_000
"""With fewer units than this a thread of their own would not pay."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to look for better groups, and how."""

    most_rounds: int
    persons_per_round: int
    """Fewer rounds than `most_rounds` where persons times rounds would exceed this."""
    patience: int
    """After so many rounds in a row that gain nothing it ends."""
    wide_up_to: int
    """With more persons than this the first round has no wide pools."""
    wide_pool: int = 800
    """Units of a wide pool: large enough for all that cuts decide below."""
    groups_of_pool: int = 5
    """Groups of a pool in the other rounds."""
    recuts: bool = True
    """Whether pools are cut anew."""
    shares_of_room: tuple[float, ...] = (0.4, 0.3, 0.5, 0.4, 0.7)
    """Round by round: cuts reckon with this share of the groups for which there would be room at best."""
    turning: float = 0.3
    """How far cuts of later rounds turn away from the directions of the quasi-identifiers."""
    passes: int = 1
    """How often the units of a pool are asked, in turn, whether they would be better off elsewhere."""
    most_near: int = 3
    """To how many of the nearest groups a unit may go."""
    swaps_up_to: int = 300_000
    """With more persons than this units are moved, not swapped."""

    def rounds_for(self, n_persons: int) -> int:
        """How many rounds, at least one."""
        return max(1, min(self.most_rounds, self.persons_per_round // n_persons))

    def ways(self, number: int, n_persons: int) -> Ways:
        """What is done in a round."""
        share = self.shares_of_room[number % len(self.shares_of_room)]
        return Ways(share, self.recuts, self.passes, self.most_near, n_persons <= self.swaps_up_to)


EFFORTS = {
    "normal": Effort(most_rounds=40, persons_per_round=240_000, patience=6, wide_up_to=50_000),
    "high": Effort(most_rounds=120, persons_per_round=6_000_000, patience=40, wide_up_to=10**7, swaps_up_to=10**7),
}


class Pools(NamedTuple):
    """Near groups that are made better together: the groups in an order, and where each pool starts."""

    order: NDArray[np.int64]
    start: NDArray[np.int64]


def improve(
    space: PersonSpace, models: Sequence[Model], grouping: Grouping, *, effort: Effort, progress: Progress = silent
) -> Grouping:
    """Groups that lose less, from groups that meet every model; every group still meets every model.

    Parameters
    ----------
    space
        The persons, with the variance inside them.
    effort
        How long to look, and how; `EFFORTS` has those with a name.

    Notes
    -----
    Loss is the average normalized error (Kartal and Li, 2020, section 7), reckoned with the mean of a person's records
    and with their commonest category. It never rises. In every round all groups are put in pools of near ones. A pool
    is cut anew, with an eye on what later cuts can still reach, and persons are moved and swapped; it takes the place
    of the old groups where it loses less. Limits on records and persons are kept at every step; other models are asked
    about the groups of every pool, and where one breaks, the pool stays as it was.

    The same persons give the same groups, in whatever order they stand. O(q n) time per round.
    """
    limits = limits_for(space, models)
    if limits is None or grouping.n_groups < 1:
        return grouping
    units, unit_of_person = units_of(space, grouping.group_of_person)
    group_of_unit = np.empty(len(units.count), np.int64)
    group_of_unit[unit_of_person] = grouping.group_of_person
    asked = [model for model in models if model.limits is None]  # of others, limits say all that they ask
    if asked:
        limits = limits._replace(least_persons=max(limits.least_persons, fewest_persons(units.persons, group_of_unit)))
    chance = np.random.default_rng(0)
    rounds = effort.rounds_for(space.n_persons)
    group_of_unit, n_groups = numbered(group_of_unit)
    in_vain = 0
    for number in range(rounds):
        progress("improving", number / rounds)
        is_wide = number == 0 and space.n_persons <= effort.wide_up_to
        pools = _pools(units, group_of_unit, n_groups, effort, is_wide=is_wide, chance=chance)
        turn = _turn(units.value.shape[1], effort.turning if number else 0.0, chance)
        ways = effort.ways(number, space.n_persons)
        better, gain = _better(units, limits, group_of_unit, n_groups, pools, turn, ways)
        if asked and gain.any():
            better, gain = where_models_hold(space, asked, unit_of_person, group_of_unit, better, pools, gain)
        group_of_unit, n_groups = numbered(better)
        in_vain = 0 if gain.any() else in_vain + 1
        if in_vain == effort.patience:
            break
    progress("improving", 1.0)
    return Grouping(group_of_unit[unit_of_person].astype(np.int32), n_groups, grouping.notes)


def units_of(space: PersonSpace, group_of_person: NDArray[np.int32]) -> tuple[Units, NDArray[np.int64]]:
    """Persons of a group who are alike as units, in an order that only depends on them; and the unit of each person.

    A tree may tell persons apart who are alike here (by the share of a second category, say): they are then two units.
    """
    persons = space.persons
    count = persons.row[:, 0]
    last_numeric = 1 + persons.n_numeric
    blur = USUAL_DISTANCE * np.sqrt(persons.within / count[:, None])
    category = commonest_categories(space)
    rows = np.column_stack([persons.row[:, :last_numeric], np.rint(blur * BLUR_GRID), category, group_of_person])
    order = np.argsort(mixed(rows), kind="stable")
    rows = rows[order]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    unit_of_person = np.empty(len(rows), np.int64)
    unit_of_person[order] = np.cumsum(is_first) - 1
    own = rows[is_first]
    del rows, order
    return (
        Units(
            numbers=np.column_stack(
                [
                    own[:, 1:last_numeric] / own[:, :1] / float(space.grid),
                    own[:, last_numeric : last_numeric + persons.n_numeric] / BLUR_GRID,
                ]
            ),
            counts=np.column_stack(
                [np.bincount(unit_of_person), own[:, 0], own[:, last_numeric + persons.n_numeric : -1]]
            ).astype(np.int64),
        ),
        unit_of_person,
    )


def commonest_categories(space: PersonSpace) -> NDArray[np.float64]:
    """The category of each nominal quasi-identifier that most records of a person have; of equals the first."""
    persons = space.persons
    category = persons.row[:, 1 + persons.n_numeric : 1 + persons.n_numeric + len(persons.start)].copy()
    for j, start in enumerate(persons.start):
        several = np.flatnonzero(category[:, j] == SEVERAL)
        if len(several):
            count = persons.count[j, : start[-1]]
            is_most = count == np.repeat(np.maximum.reduceat(count, start[:-1]), np.diff(start))
            place = np.flatnonzero(is_most)
            category[several, j] = persons.category[j, place[np.searchsorted(place, start[several])]]
    return category


def mixed(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One number per row, different for different rows but for a chance of one in 2^64."""
    mixed = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        mixed ^= np.ascontiguousarray(column + 0.0).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def limits_for(space: PersonSpace, models: Sequence[Model]) -> Limits | None:
    """The limits of all models that can be said so; None where they are too fine to be decided."""
    limits = limits_of([model for model in models if model.limits is not None]) or SpreadLimits()
    if not limits.fits(space.n_records):
        return None
    return Limits(*limits.in_whole_numbers)


def fewest_persons(persons: NDArray[np.int64], group_of_unit: NDArray[np.int64]) -> int:
    """The persons of the smallest group: models that only judge groups when they are made seldom allow fewer."""
    return int(np.bincount(group_of_unit, weights=persons).min())


def numbered(group_of_unit: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Groups numbered in the order of their first units."""
    number, distinct = counting.number_distinct(group_of_unit)
    return number.astype(np.int64), len(distinct)


def _pools(
    units: Units,
    group_of_unit: NDArray[np.int64],
    n_groups: int,
    effort: Effort,
    *,
    is_wide: bool,
    chance: np.random.Generator,
) -> Pools:
    """Near groups in pools: wide ones of any number of groups, or small ones of a few."""
    records = (units.persons * units.count).astype(np.float64)
    total = np.bincount(group_of_unit, weights=records, minlength=n_groups)
    columns = [*units.value.T, *(codes / max(int(codes.max()), 1) for codes in units.category.T)]
    centre = np.stack(
        [np.bincount(group_of_unit, weights=records * column, minlength=n_groups) / total for column in columns], axis=1
    )
    most_units = effort.wide_pool if is_wide else len(group_of_unit)
    most_groups = n_groups if is_wide else effort.groups_of_pool
    chances = chance.random(1024)
    order, start = improving.pool_groups(centre, np.bincount(group_of_unit), most_units, most_groups, chances)
    return Pools(order, start)


def _turn(n_numeric: int, how_far: float, chance: np.random.Generator) -> NDArray[np.float64]:
    """Directions to cut in: those of the quasi-identifiers, stretched and mixed a little by chance."""
    stretch = np.exp(how_far * chance.normal(size=n_numeric))
    directions: NDArray[np.float64] = np.eye(n_numeric) + how_far * chance.normal(size=(n_numeric, n_numeric))
    return stretch[:, None] * directions


def _better(
    units: Units,
    limits: Limits,
    group_of_unit: NDArray[np.int64],
    n_groups: int,
    pools: Pools,
    turn: NDArray[np.float64],
    ways: Ways,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One round: the groups of all pools, better where that was found; and what each pool gains."""
    pool_of_unit = _pool_of_unit(group_of_unit, pools)
    units_of_pool = np.bincount(pool_of_unit)
    by_pool = _sorted_by(pool_of_unit, len(units_of_pool))
    unit_start = np.concatenate([[0], np.cumsum(units_of_pool)])
    place_of_group = np.empty(n_groups, np.int64)
    place_of_group[pools.order] = np.arange(n_groups) - np.repeat(pools.start[:-1], np.diff(pools.start))
    group_in_pool = np.empty(len(by_pool), np.int64)

    def improved(some: slice) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        start = unit_start[some.start : some.stop + 1]
        here = by_pool[start[0] : start[-1]]
        group_in_pool[here], groups_of_pool, gain = improving.improve_pools(
            units.at(here), limits, start - start[0], place_of_group[group_of_unit[here]],
            np.diff(pools.start)[some], turn, ways,
        )  # fmt: skip
        return groups_of_pool, gain

    parts = side_by_side(improved, fair_parts(units_of_pool, UNITS_PER_THREAD))
    groups_of_parts, gain_of_parts = zip(*parts, strict=True)
    first_of_pool = np.cumsum(np.concatenate([[0], *groups_of_parts]), dtype=np.int64)
    return first_of_pool[pool_of_unit] + group_in_pool, np.concatenate(gain_of_parts)


def _sorted_by(codes: NDArray[np.int64], n_codes: int) -> NDArray[np.int64]:
    """Places in the order of their codes; of equal codes in their own."""
    return counting.order_by_code(codes, n_codes, np.arange(len(codes), dtype=np.int32)).astype(np.int64)


def _pool_of_unit(group_of_unit: NDArray[np.int64], pools: Pools) -> NDArray[np.int64]:
    pool_of_group = np.empty(len(pools.order), np.int64)
    pool_of_group[pools.order] = np.repeat(np.arange(len(pools.start) - 1), np.diff(pools.start))
    return pool_of_group[group_of_unit]


def where_models_hold(
    space: PersonSpace,
    asked: Sequence[Model],
    unit_of_person: NDArray[np.int64],
    group_of_unit: NDArray[np.int64],
    better: NDArray[np.int64],
    pools: Pools,
    gain: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The better groups of the pools in which every model holds; the others as they were."""
    pool_of_unit = _pool_of_unit(group_of_unit, pools)
    is_new = (gain > 0)[pool_of_unit]
    persons = np.flatnonzero(is_new[unit_of_person])
    found = better[unit_of_person[persons]]
    is_there = np.zeros(int(found.max()) + 1, np.bool_)
    is_there[found] = True
    n_groups, group = int(is_there.sum()), (np.cumsum(is_there) - 1)[found]
    laid_out = persons[_sorted_by(group, n_groups)].astype(np.uint32)
    start = counting.start_of_code(group, n_groups)
    needs: frozenset[str] = frozenset().union(*(model.needs for model in asked))
    counts = counts_of_parts(space, needs, laid_out, start)
    holds = np.ones(n_groups, np.bool_)
    for model in asked:
        holds &= model.holds(counts)
    pool_of_group = np.empty(n_groups, np.int64)
    pool_of_group[group] = pool_of_unit[unit_of_person[persons]]
    is_kept = gain > 0
    is_kept[pool_of_group[~holds]] = False
    kept = is_kept[pool_of_unit]
    return np.where(kept, better, int(better.max()) + 1 + group_of_unit), gain * is_kept
