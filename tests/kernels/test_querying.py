"""The kernels of queries equal their definitions on plain arrays."""

from __future__ import annotations

from fractions import Fraction
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import querying
from shoal.kernels.querying import AVERAGE, MAX, MIN, MISSING, SUM

KINDS = [SUM, AVERAGE, MIN, MAX]
numbers = st.integers(-3, 6)
ranges = st.tuples(numbers, numbers).map(sorted)
intervals = st.tuples(numbers, numbers)  # also empty ones


def asked(conditions: list[list[tuple[int, int, int]]]) -> querying.Asked:
    start = np.cumsum([0, *(len(query) for query in conditions)])
    columns = np.array([one for query in conditions for one in query], dtype=np.int64).reshape(-1, 3)
    return querying.Asked(start, *(np.ascontiguousarray(column) for column in columns.T))


def shown(places: list[tuple[list[int], bool]]) -> querying.Shown:
    """One attribute of which places show ranges, some with missing."""
    low, high = (np.array([[ends[end] for ends, _ in places]]) for end in (0, 1))
    missing = np.array([[has for _, has in places]])
    n_values = (high - low + 1 + missing).astype(np.float64)
    return querying.Shown(np.array([False]), low, high, missing, n_values, np.empty(0, np.int64))


def spread(places: list[tuple[list[int], bool]]) -> querying.Spread:
    """The same attribute as the one that is asked for."""
    seen, nothing = shown(places), np.empty(0)
    low, high, total = seen.low[0], seen.high[0], seen.n_values[0]
    return querying.Spread(False, low, high, total, np.empty(0, np.int64), nothing, nothing, 1.0, 2.0)


def own_values(values: list[int]) -> querying.Spread:
    """What records have themselves: places among the numbers 10, 11, ... of which they are the halves."""
    at = np.arange(len(values))
    ones = np.ones(len(values))
    return querying.Spread(True, at, at + 1, ones, np.array(values), ones, np.arange(10) / 2 + 5, 0.0, 1.0)


def answer(kind: int, holders: list[tuple[Fraction, int, list[float | None]]]) -> float:
    """What is asked for, of holders with a chance, how many records they stand for, and numbers they can have."""
    parts = [(chance * times, [value for value in values if value is not None], len(values))
             for chance, times, values in holders]  # fmt: skip
    count = sum(weight * Fraction(len(values), n) for weight, values, n in parts)
    total = sum(float(weight) * sum(values) / n for weight, values, n in parts)
    if kind == SUM:
        return total
    if not count:
        return nan
    if kind == AVERAGE:
        return total / float(count)

    def none_of(is_reached: Any) -> Fraction:
        none = Fraction(1)
        for chance, times, values in holders:
            reached = sum(value is not None and is_reached(value) for value in values)
            none *= (1 - chance * Fraction(reached, len(values))) ** times
        return none

    candidates = sorted({value for _, values, _ in parts for value in values}, reverse=kind == MAX)
    nobody = none_of(lambda value: True)
    for candidate in candidates:
        is_reached = (
            (lambda value, at=candidate: value <= at) if kind == MIN else (lambda value, at=candidate: value >= at)
        )
        if 1 - none_of(is_reached) >= (1 - nobody) / 2:
            return candidate
    raise AssertionError


def check(found: float, expected: float) -> None:
    assert isnan(found) == isnan(expected)
    if not isnan(expected):
        assert found == pytest.approx(expected, abs=1e-9)


def numbers_between(ends: list[int], own: tuple[int, int]) -> list[float | None]:
    """The number of each unit of a range; none where it is not in the interval asked for."""
    return [1.0 + 2 * unit if own[0] <= unit <= own[1] else None for unit in range(ends[0], ends[1] + 1)]


def chance_of(place: tuple[list[int], bool], low: int, high: int) -> Fraction:
    (first, last), has_missing = place
    return Fraction(max(0, min(last, high) - max(first, low) + 1), last - first + 1 + has_missing)


places_with_records = st.lists(
    st.tuples(st.tuples(ranges, st.booleans()), st.lists(st.integers(0, 4), min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)


@given(
    places_with_records, intervals, st.tuples(st.integers(0, 4), st.integers(0, 4)), intervals, st.sampled_from(KINDS)
)
def test_of_linked_records(drawn: Any, quasi: Any, sensitive: Any, own: Any, kind: int) -> None:
    """Places show a range; records have values of their own, of which the query asks for an interval."""
    places, values = [place for place, _ in drawn], [records for _, records in drawn]
    start = np.cumsum([0, *map(len, values)])
    flat = np.concatenate(values)
    others = shown(places)
    arguments = (others, asked([[(0, *quasi)]]), flat[None, :], asked([[(0, *sensitive)]]), start)
    asker = querying.Asker(np.array([kind]), np.array([own[0]]), np.array([own[1]]))
    chances = [chance_of(place, *quasi) for place in places]
    by_place = [
        (chances[at], 1, numbers_between(ends, own) + [None] * missing)
        for at, (ends, missing) in enumerate(places)
        for value in values[at]
        if sensitive[0] <= value <= sensitive[1]
    ]
    check(querying.aggregate_linked(*arguments, spread(places), True, asker)[0], answer(kind, by_place))
    by_record = [
        (chances[at], 1, [5 + value / 2 if own[0] <= value <= own[1] else None])
        for at in range(len(places))
        for value in values[at] if sensitive[0] <= value <= sensitive[1]
    ]  # fmt: skip
    check(querying.aggregate_linked(*arguments, own_values(flat), False, asker)[0], answer(kind, by_record))


@given(places_with_records, intervals, intervals, st.sampled_from(KINDS))
def test_of_values_counted_by_group(drawn: Any, quasi: Any, own: Any, kind: int) -> None:
    """Each group is one place that shows a range, and stands for as many records as it has values."""
    places, values = [place for place, _ in drawn], [records for _, records in drawn]
    n = np.array([len(records) for records in values])
    start = np.cumsum([0, *n])
    counted = querying.Counted(start[None, :], np.concatenate(values), np.ones(start[-1], np.int64), n)
    group_values = querying.Spread(
        True, start[:-1], start[1:], n.astype(np.float64), np.concatenate(values), np.ones(start[-1]),
        np.arange(5) * 1.0, 0.0, 1.0,
    )  # fmt: skip
    asker = querying.Asker(np.array([kind]), np.array([own[0]]), np.array([own[1]]))
    found = querying.aggregate_apart(
        shown(places), asked([[(0, *quasi)]]), counted, asked([[]]), np.arange(len(places) + 1), n.astype(np.float64),
        group_values, False, asker,
    )  # fmt: skip
    holders = [
        (chance_of(place, *quasi), len(records), [float(one) if own[0] <= one <= own[1] else None for one in records])
        for place, records in zip(places, values, strict=True)
    ]
    check(found[0], answer(kind, holders))


@given(st.lists(st.tuples(numbers | st.just(MISSING), st.none() | numbers), min_size=1, max_size=9), intervals)
def test_of_the_table_itself(records: list[tuple[int, int | None]], interval: tuple[int, int]) -> None:
    low, high = interval
    values = np.array([[value for value, _ in records]])
    number = np.array([nan if one is None else one for _, one in records], dtype=np.float64)
    count, total, lowest, highest = querying.aggregate_matching(values, asked([[(0, low, high)], []]), number)
    for query, is_met in enumerate([lambda value: low <= value <= high, lambda value: True]):
        found = [one for value, one in records if is_met(value) and one is not None]
        assert (count[query], total[query]) == (len(found), sum(found))
        check(lowest[query], min(found, default=nan))
        check(highest[query], max(found, default=nan))
