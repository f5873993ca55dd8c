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
        column = values[asked.attribute[condition]]
        low, high = asked.low[condition], asked.high[condition]
        for i in range(n):
            value = column[first + i]
            matches[i] &= (low <= value) & (value <= high)


@njit(cache=True, nogil=True)
def _count_marked(matches, person_at, first, last, by_person, counted):
    """How many records first:last are marked, or persons beside the one `counted` last; and who was counted last."""
    n = 0
    if not by_person:
        for i in range(last - first):
            n += matches[i]
        return n, counted
    for i in range(last - first):
        if matches[i] and person_at[first + i] != counted:
            counted = person_at[first + i]
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
            n, counted = _count_marked(matches, person_at, first, last, by_person, counted)
            found[query] += n
    return found


@njit(cache=True, nogil=True)
def _share_of_condition(shown, attribute, place, low, high):
    """The share of the values that a place shows which lie in an interval."""
    n_values = shown.n_values[attribute, place]
    if low == MISSING:
        return 1.0 / n_values if shown.has_missing[attribute, place] else 0.0
    first, last = shown.low[attribute, place], shown.high[attribute, place]
    if shown.is_set[attribute]:
        n = 0
        for at in range(first, last):
            n += low <= shown.members[at] <= high
        return n / n_values
    if low <= first and last <= high and not shown.has_missing[attribute, place]:
        return 1.0
    overlap = min(high, last) - max(low, first) + 1
    return overlap / n_values if overlap > 0 else 0.0


@njit(cache=True, nogil=True)
def _share_of_place(shown, asked, query, place):
    """The product of the shares of all conditions of a query."""
    share = 1.0
    for condition in range(asked.start[query], asked.start[query + 1]):
        share *= _share_of_condition(
            shown, asked.attribute[condition], place, asked.low[condition], asked.high[condition]
        )
        if share == 0.0:
            break
    return share


@njit(cache=True, nogil=True)
def estimate_linked(shown, quasi, values, sensitive, person_at, by_person, start_of_group):
    """Estimates where each record shows its own sensitive values, and its group's quasi-identifiers.

    Records stand by group, and by person inside a group.
    """
    n_groups = len(start_of_group) - 1
    estimates = np.zeros(len(quasi.start) - 1, dtype=np.float64)
    matches = np.empty(np.max(np.diff(start_of_group)), dtype=np.bool_)
    for query in range(len(estimates)):
        for group in range(n_groups):
            share = _share_of_place(shown, quasi, query, group)
            if share == 0.0:
                continue
            first, last = start_of_group[group], start_of_group[group + 1]
            _mark(values, sensitive, query, first, last, matches)
            n, _ = _count_marked(matches, person_at, first, last, by_person, np.int64(-1))
            estimates[query] += share * n
    return estimates


@njit(cache=True, nogil=True)
def _share_of_group(counted, asked, query, group):
    """The product over the conditions of a query of the group's share of values that meet them."""
    share = 1.0
    for condition in range(asked.start[query], asked.start[query + 1]):
        attribute, low, high = asked.attribute[condition], asked.low[condition], asked.high[condition]
        n = 0
        for at in range(counted.start[attribute, group], counted.start[attribute, group + 1]):
            if low <= counted.value[at] <= high:
                n += counted.count[at]
        if n == 0:
            return 0.0
        share *= min(1.0, n / counted.total[group])
    return share


@njit(cache=True, nogil=True)
def estimate_apart(shown, quasi, counted, sensitive, place_start_of_group, weight_of_group):
    """Estimates where sensitive values are counted by group; every place of a group weighs `weight_of_group`."""
    n_groups = len(place_start_of_group) - 1
    estimates = np.zeros(len(quasi.start) - 1, dtype=np.float64)
    for query in range(len(estimates)):
        for group in range(n_groups):
            share = _share_of_group(counted, sensitive, query, group)
            if share == 0.0:
                continue
            places = 0.0
            for place in range(place_start_of_group[group], place_start_of_group[group + 1]):
                places += _share_of_place(shown, quasi, query, place)
            estimates[query] += places * share * weight_of_group[group]
    return estimates
