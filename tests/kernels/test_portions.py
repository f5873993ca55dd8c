"""Counting portion by portion: whatever the portions are, the counts are those of the whole."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import counting, distances
from tests.naive import counting as naive

portions = st.lists(st.lists(st.integers(-3, 3), max_size=12), max_size=6)


@given(st.lists(st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 5), max_size=30), max_size=5))
def test_keys_are_numbered_on(parts: list[list[int]]) -> None:
    slots, known, n = np.empty(0, np.int32), np.empty(0, np.int64), 0
    numbers: list[int] = []
    for part in parts:
        found, slots, known, n = counting.number_more(np.array(part, np.int64), slots, known, n)
        numbers += found.tolist()
    keys = [key for part in parts for key in part]
    assert numbers == naive.numbered(keys)
    assert [known[number] for number in numbers] == keys
    assert n == len(set(keys))


def test_the_table_of_keys_grows() -> None:
    slots, known, n = np.empty(0, np.int32), np.empty(0, np.int64), 0
    for first in range(0, 5000, 700):
        keys = np.arange(max(first - 100, 0), first + 700, dtype=np.int64) * 2**33
        numbers, slots, known, n = counting.number_more(keys, slots, known, n)
        assert np.array_equal(numbers, keys // 2**33)
    assert n == 5600


@given(portions)
def test_counts_of_keys_are_merged(parts: list[list[int]]) -> None:
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int32)
    for part in parts:
        more = counting.runs_of_keys(np.sort(np.array(part, np.int64)))
        keys, counts = counting.merge_runs(keys, counts, *more)
    expected = naive.counted([key for part in parts for key in part])
    assert list(zip(keys.tolist(), counts.tolist(), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30), st.integers(0, 30))
def test_who_is_seen_in_several_groups(seen: list[tuple[int, int]], first: int) -> None:
    group, person = (np.array([pair[at] for pair in seen], np.int32) for at in (0, 1))
    group_of_person, several = np.full(6, -1, np.int32), np.zeros(6, np.bool_)
    for part in (slice(None, first), slice(first, None)):
        counting.add_groups_of_persons(group[part], person[part], group_of_person, several)
    firsts, in_several = naive.first_groups(group.tolist(), person.tolist())
    assert {who: int(place) for who, place in enumerate(group_of_person) if place >= 0} == firsts
    assert set(np.flatnonzero(several).tolist()) == in_several


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-50, 50), st.booleans()), min_size=1, max_size=30),
       st.integers(0, 30))  # fmt: skip
def test_extremes_and_errors_of_portions(records: list[tuple[int, int, bool]], first: int) -> None:
    group = np.array([each[0] for each in records], np.int32)
    units = np.array([each[1] for each in records], np.int64)
    missing = np.array([each[2] for each in records], np.bool_)
    weight = np.linspace(0.1, 1.0, len(units))
    low, high = np.full(4, np.iinfo(np.int64).max), np.full(4, np.iinfo(np.int64).min)
    n_missing, sums, totals = np.zeros(4, np.int64), np.zeros(4), np.zeros(3)
    parts = (slice(None, first), slice(first, None))
    for part in parts:
        counting.add_extremes(units[part], missing[part], True, group[part], low, high, n_missing)
        distances.add_to_groups(units[part], group[part], sums)
    whole = counting.extremes_of_groups(units, missing, True, group, 4)
    assert [array.tolist() for array in (low, high, n_missing)] == [array.tolist() for array in whole]
    means = sums / np.maximum(np.bincount(group, minlength=4), 1)
    for part in parts:
        distances.add_errors(units[part], group[part], means, units.mean(), weight[part], 100.0, totals)
    assert np.allclose(totals, distances.errors_of_persons(units, group, 4, weight, 100.0), rtol=1e-12)
