"""Answering COUNT queries. Arrays in, arrays out; no tables, no checks, no randomness.

A condition is an interval of whole numbers, ends included. A missing value is the number MISSING, which lies in no
interval but its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
    count: NDArray[np.int64]
    total: NDArray[np.int64]
    """Of which the counts of each group are parts."""


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _multiply_by_set_shares(first, last, members, n_values, low, high, share):
    """Multiply by the share of each place's set that lies in an interval."""
    for place in range(len(share)):
        if share[place] > 0.0:
            n = 0
            for at in range(first[place], last[place]):
                n += low <= members[at] <= high
            share[place] = share[place] * n / n_values[place] if n else 0.0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _multiply_by_counted_shares(start, value, count, total, low, high, weight):
    """Multiply by the share of each group's values that lies in an interval."""
    for group in range(len(weight)):
        n = 0
        for at in range(start[group], start[group + 1]):
            if low <= value[at] <= high:
                n += count[at]
        weight[group] *= min(1.0, n / total[group])


@njit(cache=True, nogil=True)
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
