"""Answering COUNT, SUM, AVERAGE, MIN and MAX queries. Arrays in, arrays out; no tables, no checks, no randomness.

A condition is an interval of whole numbers, ends included. A missing value is the number MISSING, which lies in no
interval but its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

MISSING = -(2**63)
_BLOCK = 4096  # records that are looked at together, so that they stay in the cache


class Asked(NamedTuple):
    """Queries: the conditions of query q stand at start[q]:start[q + 1]."""

    start: NDArray[np.int64]
    attribute: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


class Shown(NamedTuple):
    """What places (groups or persons) show of each quasi-identifier: a range, or a set of values."""

    is_set: NDArray[np.bool_]
    """For each attribute whether places show sets."""
    low: NDArray[np.int64]
    """By attribute and place: the lower end of the range, or where the set starts in `members`."""
    high: NDArray[np.int64]
    """By attribute and place: the upper end of the range, or where the set ends in `members`."""
    has_missing: NDArray[np.bool_]
    """By attribute and place: whether missing is one of the values shown."""
    n_values: NDArray[np.float64]
    """By attribute and place: how many values the record can have, missing included."""
    members: NDArray[np.int64]


class Counted(NamedTuple):
    """How often each group has each value of the sensitive attributes."""

    start: NDArray[np.int64]
    """By attribute and group: where the values of the group start (one entry more than groups)."""
    value: NDArray[np.int64]
    count: NDArray[np.int64] | NDArray[np.float64]
    total: NDArray[np.int64] | NDArray[np.float64]
    """Of which the counts of each group are parts."""


@kernel
def _mark(values, asked, query, first, last, matches):
    """Mark which of the records first:last meet all conditions of a query."""
    n = last - first
    for i in range(n):
        matches[i] = True
    for condition in range(asked.start[query], asked.start[query + 1]):
        column = values[asked.attribute[condition], first:last]
        low, high = asked.low[condition], asked.high[condition]
        for i in range(n):
            matches[i] &= (low <= column[i]) & (column[i] <= high)


@kernel
def _count_marked(matches, person_at, by_person, counted):
    """How many records are marked, or persons beside the one `counted` last; and who was counted last."""
    n = 0
    if not by_person:
        for i in range(len(matches)):
            n += matches[i]
        return n, counted
    for i in range(len(matches)):
        if matches[i] and person_at[i] != counted:
            counted = person_at[i]
            n += 1
    return n, counted


@kernel
def count_matching(values, asked, person_at, by_person):
    """How many records meet each query, or persons with at least one such record; records stand by person."""
    n_records = len(person_at)
    found = np.zeros(len(asked.start) - 1, dtype=np.int64)
    matches = np.empty(min(_BLOCK, n_records), dtype=np.bool_)
    for query in range(len(found)):
        counted = np.int64(-1)
        for first in range(0, n_records, _BLOCK):
            last = min(first + _BLOCK, n_records)
            _mark(values, asked, query, first, last, matches)
            n, counted = _count_marked(matches[: last - first], person_at[first:last], by_person, counted)
            found[query] += n
    return found


@kernel
def _multiply_by_range_shares(first, last, has_missing, n_values, low, high, share):
    """Multiply by the share of each place's range that lies in an interval."""
    for place in range(len(share)):
        if low <= first[place] and last[place] <= high and not has_missing[place]:
            continue
        overlap = min(high, last[place]) - max(low, first[place]) + 1
        if overlap <= 0:
            share[place] = 0.0
        elif share[place] > 0.0:
            share[place] *= overlap / n_values[place]


@kernel
def _multiply_by_set_shares(first, last, members, n_values, low, high, share):
    """Multiply by the share of each place's set that lies in an interval."""
    for place in range(len(share)):
        if share[place] > 0.0:
            n = 0
            for at in range(first[place], last[place]):
                n += low <= members[at] <= high
            share[place] = share[place] * n / n_values[place] if n else 0.0


@kernel
def _shares_of_places(shown, asked, query, share):
    """For each place the product over the conditions of a query of the share of its values that meet them."""
    share[:] = 1.0
    for condition in range(asked.start[query], asked.start[query + 1]):
        attribute, low, high = asked.attribute[condition], asked.low[condition], asked.high[condition]
        first, last, n_values = shown.low[attribute], shown.high[attribute], shown.n_values[attribute]
        has_missing = shown.has_missing[attribute]
        if low == MISSING:
            for place in range(len(share)):
                share[place] = share[place] / n_values[place] if has_missing[place] else 0.0
        elif shown.is_set[attribute]:
            _multiply_by_set_shares(first, last, shown.members, n_values, low, high, share)
        else:
            _multiply_by_range_shares(first, last, has_missing, n_values, low, high, share)


@kernel
def estimate_linked(shown, quasi, values, sensitive, person_at, by_person, start_of_group):
    """Estimates where each record shows its own sensitive values, and its group's quasi-identifiers.

    Records stand by group, and by person inside a group.
    """
    n_groups, n_records = len(start_of_group) - 1, len(person_at)
    estimates = np.zeros(len(quasi.start) - 1, dtype=np.float64)
    matches = np.empty(n_records, dtype=np.bool_)
    share = np.empty(n_groups, dtype=np.float64)
    for query in range(len(estimates)):
        _shares_of_places(shown, quasi, query, share)
        _mark(values, sensitive, query, 0, n_records, matches)
        estimate = 0.0
        for group in range(n_groups):
            if share[group] > 0.0:
                first, last = start_of_group[group], start_of_group[group + 1]
                n, _ = _count_marked(matches[first:last], person_at[first:last], by_person, np.int64(-1))
                estimate += share[group] * n
        estimates[query] = estimate
    return estimates


@kernel
def _multiply_by_counted_shares(start, value, count, total, low, high, weight):
    """Multiply by the share of each group's values that lies in an interval."""
    for group in range(len(weight)):
        n = 0.0
        for at in range(start[group], start[group + 1]):
            if low <= value[at] <= high:
                n += count[at]
        weight[group] *= min(1.0, n / total[group])


@kernel
def estimate_apart(shown, quasi, counted, sensitive, place_start_of_group, weight_of_group):
    """Estimates where sensitive values are counted by group; every place of a group weighs `weight_of_group`."""
    n_groups = len(place_start_of_group) - 1
    estimates = np.zeros(len(quasi.start) - 1, dtype=np.float64)
    share = np.empty(place_start_of_group[n_groups], dtype=np.float64)
    weight = np.empty(n_groups, dtype=np.float64)
    for query in range(len(estimates)):
        _shares_of_places(shown, quasi, query, share)
        weight[:] = weight_of_group
        for condition in range(sensitive.start[query], sensitive.start[query + 1]):
            start = counted.start[sensitive.attribute[condition]]
            low, high = sensitive.low[condition], sensitive.high[condition]
            _multiply_by_counted_shares(start, counted.value, counted.count, counted.total, low, high, weight)
        estimate = 0.0
        for group in range(n_groups):
            places = 0.0
            if weight[group] > 0.0:
                for place in range(place_start_of_group[group], place_start_of_group[group + 1]):
                    places += share[place]
            estimate += places * weight[group]
        estimates[query] = estimate
    return estimates


# --- SUM, AVERAGE, MIN and MAX ----------------------------------------------------------------------------------------

SUM, AVERAGE, MIN, MAX = 0, 1, 2, 3
_HALF = 0.5 + 1e-9  # so that what is as likely as not is found in spite of rounding


class Spread(NamedTuple):
    """What holders (places, groups or records) can have of the attribute that is asked for."""

    is_set: bool
    low: NDArray[np.int64]
    """By holder: the lower end of its range, or where its set starts in `members`."""
    high: NDArray[np.int64]
    """By holder: the upper end of its range, or where its set ends in `members`."""
    total: NDArray[np.float64]
    """By holder: how many values it can have, missing included."""
    members: NDArray[np.int64]
    weight: NDArray[np.float64]
    """How often the holder has each member."""
    number: NDArray[np.float64]
    """The number that each whole one stands for; where this is empty, offset + scale times it."""
    offset: float
    scale: float


class Asker(NamedTuple):
    """Of each query what is asked for, and the interval in which it must lie itself."""

    kind: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@kernel
def aggregate_matching(values, asked, number):
    """Of the records that meet each query and have a number: how many, their sum, the lowest and the highest."""
    n_records, n_queries = len(number), len(asked.start) - 1
    count, total = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries, dtype=np.float64)
    lowest, highest = np.full(n_queries, np.nan), np.full(n_queries, np.nan)
    matches = np.empty(min(_BLOCK, n_records), dtype=np.bool_)
    for query in range(n_queries):
        for first in range(0, n_records, _BLOCK):
            last = min(first + _BLOCK, n_records)
            _mark(values, asked, query, first, last, matches)
            for i in range(last - first):
                one = number[first + i]
                if matches[i] and not np.isnan(one):
                    count[query] += 1
                    total[query] += one
                    lowest[query] = one if np.isnan(lowest[query]) else min(lowest[query], one)
                    highest[query] = one if np.isnan(highest[query]) else max(highest[query], one)
    return count, total, lowest, highest


@kernel
def _part_in(spread, holder, low, high):
    """The share of a holder's values that lie in an interval."""
    if not spread.is_set:
        overlap = min(high, spread.high[holder]) - max(low, spread.low[holder]) + 1
        return overlap / spread.total[holder] if overlap > 0 else 0.0
    found = 0.0
    for at in range(spread.low[holder], spread.high[holder]):
        if low <= spread.members[at] <= high:
            found += spread.weight[at]
    return found / spread.total[holder]


@kernel
def _sum_in(spread, holder, low, high):
    """The share of a holder's values that lie in an interval times their mean number."""
    if not spread.is_set:
        first, last = max(low, spread.low[holder]), min(high, spread.high[holder])
        if first > last:
            return 0.0
        middle = spread.offset + spread.scale * (first / 2 + last / 2)
        return (last - first + 1) / spread.total[holder] * middle
    found = 0.0
    for at in range(spread.low[holder], spread.high[holder]):
        unit = spread.members[at]
        if low <= unit <= high:
            found += spread.weight[at] * _number(spread, unit)
    return found / spread.total[holder]


@kernel
def _number(spread, unit):
    return spread.number[unit] if len(spread.number) else spread.offset + spread.scale * unit


@kernel
def _expect(spread, holder_of_entity, chance, times, low, high):
    """How many values in an interval there are by expectation, and what their sum is."""
    count, total = 0.0, 0.0
    for entity in range(len(chance)):
        if chance[entity] > 0.0:
            weight, holder = chance[entity] * times[entity], holder_of_entity[entity]
            count += weight * _part_in(spread, holder, low, high)
            total += weight * _sum_in(spread, holder, low, high)
    return count, total


@kernel
def _chance_of_none(spread, holder_of_entity, chance, times, low, high, at_most):
    """How likely it is that no entity has a value in an interval; less exact below `at_most`."""
    none = 1.0
    for entity in range(len(chance)):
        if chance[entity] > 0.0:
            has = min(1.0, chance[entity] * _part_in(spread, holder_of_entity[entity], low, high))
            if has > 0.0:
                none *= 1.0 - has if times[entity] == 1.0 else (1.0 - has) ** times[entity]
                if none <= at_most:
                    return none
    return none


@kernel
def _median_extreme(spread, holder_of_entity, chance, times, low, high, lowest):
    """The middle of what the lowest (else the highest) value can be, if there is one at all."""
    at_most = _HALF + 0.5 * _chance_of_none(spread, holder_of_entity, chance, times, low, high, 0.0)
    first, last = low, high
    while first < last:
        middle = first + (last - first) // 2 + (not lowest)
        begin, end = (low, middle) if lowest else (middle, high)
        if _chance_of_none(spread, holder_of_entity, chance, times, begin, end, at_most) <= at_most:
            first, last = (first, middle) if lowest else (middle, last)
        else:
            first, last = (middle + 1, last) if lowest else (first, middle - 1)
    return _number(spread, first)


@kernel
def _bounds(spread):
    """The lowest and the highest of all values that holders can have."""
    low, high = np.int64(2**62), np.int64(-(2**62))
    if spread.is_set:
        for unit in spread.members:
            low, high = min(low, unit), max(high, unit)
        return low, high
    for holder in range(len(spread.low)):
        if spread.low[holder] <= spread.high[holder]:
            low, high = min(low, spread.low[holder]), max(high, spread.high[holder])
    return low, high


@kernel
def _aggregate(spread, holder_of_entity, chance, times, kind, low, high):
    """What is asked for, of entities that meet the other conditions with some chance; NaN where nobody can."""
    count, total = _expect(spread, holder_of_entity, chance, times, low, high)
    if kind == SUM:
        return total
    if count <= 0.0:
        return np.nan
    if kind == AVERAGE:
        return total / count
    return _median_extreme(spread, holder_of_entity, chance, times, low, high, kind == MIN)


@kernel
def aggregate_linked(shown, quasi, values, sensitive, start_of_place, spread, by_place, asker):
    """Estimates where each record shows its own sensitive values; records stand by place, and are the entities.

    `by_place` says whether the attribute asked for is one that places show, or one that records have.
    """
    n_places, n_records = len(start_of_place) - 1, start_of_place[-1]
    estimates = np.empty(len(asker.kind), dtype=np.float64)
    holder_of_entity = np.arange(n_records)
    if by_place:
        for place in range(n_places):
            holder_of_entity[start_of_place[place] : start_of_place[place + 1]] = place
    matches, share = np.empty(n_records, dtype=np.bool_), np.empty(n_places, dtype=np.float64)
    chance, times = np.empty(n_records, dtype=np.float64), np.ones(n_records, dtype=np.float64)
    lowest, highest = _bounds(spread)
    for query in range(len(estimates)):
        _shares_of_places(shown, quasi, query, share)
        _mark(values, sensitive, query, 0, n_records, matches)
        for place in range(n_places):
            for entity in range(start_of_place[place], start_of_place[place + 1]):
                chance[entity] = share[place] if matches[entity] else 0.0
        low, high = max(asker.low[query], lowest), min(asker.high[query], highest)
        estimates[query] = _aggregate(spread, holder_of_entity, chance, times, asker.kind[query], low, high)
    return estimates


@kernel
def aggregate_apart(shown, quasi, counted, sensitive, place_start_of_group, times, spread, by_place, asker):
    """Estimates where sensitive values are counted by group; places are the entities, each stands for `times` records.

    `by_place` says whether the attribute asked for is one that places show, or one that is counted by group.
    """
    n_groups, n_places = len(place_start_of_group) - 1, place_start_of_group[-1]
    estimates = np.empty(len(asker.kind), dtype=np.float64)
    group_of_place = np.empty(n_places, dtype=np.int64)
    for group in range(n_groups):
        group_of_place[place_start_of_group[group] : place_start_of_group[group + 1]] = group
    holder_of_entity = np.arange(n_places) if by_place else group_of_place
    chance, weight = np.empty(n_places, dtype=np.float64), np.empty(n_groups, dtype=np.float64)
    lowest, highest = _bounds(spread)
    for query in range(len(estimates)):
        _shares_of_places(shown, quasi, query, chance)
        weight[:] = 1.0
        for condition in range(sensitive.start[query], sensitive.start[query + 1]):
            start = counted.start[sensitive.attribute[condition]]
            first, last = sensitive.low[condition], sensitive.high[condition]
            _multiply_by_counted_shares(start, counted.value, counted.count, counted.total, first, last, weight)
        for place in range(n_places):
            chance[place] *= weight[group_of_place[place]]
        low, high = max(asker.low[query], lowest), min(asker.high[query], highest)
        estimates[query] = _aggregate(spread, holder_of_entity, chance, times, asker.kind[query], low, high)
    return estimates
