"""Gathering persons with alike histories: inside a few near groups persons move to where what they show is common.

An *item* is something that a person shows (a value, what it is part of, a number of records). A *pool* is what some
near groups hold together. An item that n persons of a group show is worth `worth[n]` there, and n behind the end of
`worth`. Arrays in, arrays out; everything is decided in the order in which persons stand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import plain_kernel
from shoal.kernels.improving import keeps

TINY = 1e-9
"""What is not above this is nothing."""

PERSONS, RECORDS, SQUARED, MOST = range(4)
"""Columns of what is counted of a group: persons, records, squared records, most records of a person."""

SUM, MEAN, LOW, HIGH = range(4)
"""What is measured of a group in each direction: sum and mean over records, the lowest and the highest person."""


def gather_pools(
    lists: tuple[NDArray[np.int64], NDArray[np.int64]],
    price_of_item: NDArray[np.float64],
    worth: NDArray[np.float64],
    value: NDArray[np.float64],
    prices: NDArray[np.float64],
    records: NDArray[np.int64],
    limits: tuple[int, ...],
    pool_start: NDArray[np.int64],
    group_in_pool: NDArray[np.int64],
    groups_of_pool: NDArray[np.int64],
    passes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Move persons inside their pools: the group of each person afterwards, and how many moves each pool made.

    Parameters
    ----------
    lists
        The items of the persons, who stand pool by pool: where each person starts, and the items.
    price_of_item, worth
        What an item is worth that counts as one, and how much n persons who show it count.
    value, prices
        Where persons stand, and for each direction what it costs to be 1 away from the group's mean, and what each
        person pays for a group that is 1 wide.
    limits
        What every group must keep to; groups that do stay so.
    """
    group_in_pool = group_in_pool.copy()
    moves = np.zeros(len(groups_of_pool), np.int64)
    most_groups = int(groups_of_pool.max(initial=0))
    longest = int(np.diff(pool_start).max(initial=0))
    gather(
        lists[0], lists[1], price_of_item, worth, value, prices, records, limits, pool_start, groups_of_pool, passes,
        np.zeros((len(price_of_item), most_groups), np.int32), np.zeros((most_groups, 4), np.int64),
        np.zeros((4, most_groups, value.shape[1])), np.empty((most_groups, longest), np.int64), group_in_pool, moves,
    )  # fmt: skip
    return group_in_pool, moves


@plain_kernel
def worth_of(worth, n):
    """How much n persons who show an item count."""
    return worth[n] if n < len(worth) else float(n)


@plain_kernel
def change_of_worth(start, item, price_of_item, worth, shown, group, person, step):
    """What the items of a person are worth more in a group once the person has come (step 1) or left (step -1)."""
    change = 0.0
    for at in range(start[person], start[person + 1]):
        n = shown[item[at], group]
        change += price_of_item[item[at]] * (worth_of(worth, n + step) - worth_of(worth, n))
    return change


@plain_kernel
def cost_to_join(value, prices, counted, measured, group, person):
    """What a person would pay in a group for being away from its mean, and all of it for being wider."""
    cost = 0.0
    for j in range(value.shape[1]):
        own, low, high = value[person, j], measured[LOW, group, j], measured[HIGH, group, j]
        wider = max(high, own) - min(low, own)
        cost += prices[0, j] * abs(own - measured[MEAN, group, j])
        cost += prices[1, j] * (wider + counted[group, PERSONS] * (wider - (high - low)))
    return cost


@plain_kernel
def saved_by_leaving(value, prices, counted, measured, member, group, person):
    """What a group pays less once a person has left it: the person's own cost, and that of being wider."""
    saved = 0.0
    n = counted[group, PERSONS]
    for j in range(value.shape[1]):
        own, low, high = value[person, j], measured[LOW, group, j], measured[HIGH, group, j]
        saved += prices[0, j] * abs(own - measured[MEAN, group, j])
        saved += prices[1, j] * (high - low)
        if prices[1, j] > 0.0 and (own <= low or own >= high):
            low, high = np.inf, -np.inf
            for at in range(n):
                if member[group, at] != person:
                    low, high = min(low, value[member[group, at], j]), max(high, value[member[group, at], j])
            if low <= high:
                saved += prices[1, j] * (n - 1) * (measured[HIGH, group, j] - measured[LOW, group, j] - (high - low))
    return saved


@plain_kernel
def count_person(value, records, counted, measured, group, person):
    """Count and measure a group with a person more, but for its mean."""
    own = records[person]
    counted[group, RECORDS] += own
    counted[group, SQUARED] += own * own
    counted[group, MOST] = max(counted[group, MOST], own)
    for j in range(value.shape[1]):
        measured[SUM, group, j] += own * value[person, j]
        measured[LOW, group, j] = min(measured[LOW, group, j], value[person, j])
        measured[HIGH, group, j] = max(measured[HIGH, group, j], value[person, j])


@plain_kernel
def find_mean(counted, measured, group):
    """The mean of a group that is counted and measured."""
    for j in range(measured.shape[2]):
        measured[MEAN, group, j] = measured[SUM, group, j] / max(counted[group, RECORDS], 1)


@plain_kernel
def measure_group(value, records, counted, measured, member, group):
    """Count and measure a group anew from its members."""
    counted[group, RECORDS], counted[group, SQUARED], counted[group, MOST] = 0, 0, 0
    for j in range(value.shape[1]):
        measured[SUM, group, j], measured[LOW, group, j], measured[HIGH, group, j] = 0.0, np.inf, -np.inf
    for at in range(counted[group, PERSONS]):
        count_person(value, records, counted, measured, group, member[group, at])
    find_mean(counted, measured, group)


@plain_kernel
def may_leave(records, limits, counted, member, group, person):
    """Whether a group keeps to the limits without a person."""
    own, most = records[person], counted[group, MOST]
    if own == most:
        most = 0
        for at in range(counted[group, PERSONS]):
            if member[group, at] != person:
                most = max(most, records[member[group, at]])
    n = counted[group, PERSONS] - 1
    return n > 0 and keeps(limits, n, counted[group, RECORDS] - own, counted[group, SQUARED] - own * own, most)


@plain_kernel
def may_join(records, limits, counted, group, person):
    """Whether a group keeps to the limits with a person more."""
    own = records[person]
    return keeps(
        limits, counted[group, PERSONS] + 1, counted[group, RECORDS] + own, counted[group, SQUARED] + own * own,
        max(counted[group, MOST], own),
    )  # fmt: skip


@plain_kernel
def gather(
    start, item, price_of_item, worth, value, prices, records, limits, pool_start, groups_of_pool, passes, shown,
    counted, measured, member, group_in_pool, moves,
):  # fmt: skip
    """See `gather_pools`. What lies between `passes` and `group_in_pool` is for working in; `shown` is all 0."""
    steepest = 0.0
    for n in range(len(worth)):
        steepest = max(steepest, worth_of(worth, n + 1) - worth[n])
    for pool in range(len(groups_of_pool)):
        first, end, n_groups = pool_start[pool], pool_start[pool + 1], groups_of_pool[pool]
        for group in range(n_groups):
            counted[group, PERSONS] = 0
        for person in range(first, end):
            group = group_in_pool[person]
            member[group, counted[group, PERSONS]] = person
            counted[group, PERSONS] += 1
            for at in range(start[person], start[person + 1]):
                shown[item[at], group] += 1
        for group in range(n_groups):
            measure_group(value, records, counted, measured, member, group)
        for _ in range(passes):
            n_moves = 0
            for person in range(first, end):
                here = group_in_pool[person]
                if not may_leave(records, limits, counted, member, here, person):
                    continue
                leaving = change_of_worth(start, item, price_of_item, worth, shown, here, person, -1)
                leaving += saved_by_leaving(value, prices, counted, measured, member, here, person)
                most = 0.0
                for at in range(start[person], start[person + 1]):
                    most += steepest * price_of_item[item[at]]
                best, there = TINY, -1
                for group in range(n_groups):
                    if group == here:
                        continue
                    gain = leaving - cost_to_join(value, prices, counted, measured, group, person)
                    if gain + most <= best:
                        continue
                    gain += change_of_worth(start, item, price_of_item, worth, shown, group, person, 1)
                    if gain > best and may_join(records, limits, counted, group, person):
                        best, there = gain, group
                if there < 0:
                    continue
                n_moves += 1
                for at in range(start[person], start[person + 1]):
                    shown[item[at], here] -= 1
                    shown[item[at], there] += 1
                last = counted[here, PERSONS] - 1
                for at in range(last):
                    if member[here, at] == person:
                        member[here, at] = member[here, last]
                        break
                counted[here, PERSONS] = last
                member[there, counted[there, PERSONS]] = person
                counted[there, PERSONS] += 1
                group_in_pool[person] = there
                measure_group(value, records, counted, measured, member, here)
                count_person(value, records, counted, measured, there, person)
                find_mean(counted, measured, there)
            moves[pool] += n_moves
            if n_moves == 0:
                break
        for person in range(first, end):
            for at in range(start[person], start[person + 1]):
                shown[item[at], group_in_pool[person]] = 0
