"""Counting inside groups equals its definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import counting
from tests.naive import counting as naive

Records = list[tuple[int, int, int]]

one_record = st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3))
records_of_groups = st.lists(one_record, min_size=1, max_size=40)
"""(group, person, value); a person may stand in several groups, and groups may be empty."""
N_GROUPS, N_PERSONS = 6, 6


def arrays(records: Records) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    group, person, value = (np.array(part, dtype=np.int32) for part in zip(*records, strict=True))
    return group, person, value


def sorted_by(*keys: np.ndarray) -> np.ndarray:
    """The order of the records by the first key, then the next."""
    return np.lexsort(keys[::-1]).astype(np.int32)


def spread_of(counts: tuple[np.ndarray, ...], place: int) -> tuple[float, ...]:
    return tuple(part[place] for part in counts)


def assert_same_spread(fast: tuple[float, ...], plain: tuple[float, ...]) -> None:
    assert fast[:4] == plain[:4]
    assert math.isclose(fast[4], plain[4], rel_tol=1e-12, abs_tol=1e-12)


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**62), st.integers(-(2**63), -1)), max_size=60))
def test_number_distinct(keys: list[int]) -> None:
    numbers, distinct = counting.number_distinct(np.array(keys, dtype=np.int64))
    expected, n_distinct = naive.numbers_of_distinct(keys)
    assert numbers.tolist() == expected
    assert distinct.tolist() == list(dict.fromkeys(keys))
    assert len(distinct) == n_distinct


@pytest.mark.parametrize("step", [1, 1024, 2**20, 2**40, 2**52, 11400714819323198485 % 2**63])
def test_number_distinct_where_keys_collide(step: int) -> None:
    """Keys far apart fall into few places of a hash table; more keys than it first has room for."""
    different = [(i * step) % 2**63 for i in range(700)]
    keys = different + different[::-1] + different[::7]
    numbers, distinct = counting.number_distinct(np.array(keys, dtype=np.int64))
    assert numbers.tolist() == naive.numbers_of_distinct(keys)[0]
    assert distinct.tolist() == list(dict.fromkeys(keys))


@given(st.lists(st.integers(0, 6), max_size=40), st.randoms(use_true_random=False))
def test_order_by_code_sorts_and_keeps_the_order_of_equals(codes: list[int], chance: object) -> None:
    order = list(range(len(codes)))
    chance.shuffle(order)
    fast = counting.order_by_code(np.array(codes, dtype=np.int32), 7, np.array(order, dtype=np.int32))
    assert fast.tolist() == sorted(order, key=lambda record: codes[record])
    start = counting.start_of_code(np.array(codes, dtype=np.int32), 7)
    assert start.tolist() == [sum(code < limit for code in codes) for limit in range(8)]


@given(records_of_groups)
def test_spread_of_groups(records: Records) -> None:
    group, person, _ = arrays(records)
    counts = counting.spread_of_groups(sorted_by(group, person), group, person, N_GROUPS)
    for place in range(N_GROUPS):
        plain = naive.spread_of_group([(g, p) for g, p, _ in records], place)
        assert_same_spread(spread_of(counts, place), plain)


@given(st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=5))
def test_spread_of_person_parts(parts: list[list[int]]) -> None:
    records_of_person = [own for part in parts for own in part]
    start = np.cumsum([0] + [len(part) for part in parts])
    backwards = np.arange(len(records_of_person), dtype=np.uint32)[::-1].copy()
    reversed_records = np.array(records_of_person, dtype=np.float64)[::-1].copy()
    counts = counting.spread_of_person_parts(backwards, start, reversed_records)
    for place, part in enumerate(parts):
        assert_same_spread(spread_of(counts, place), naive.spread(part))


@given(records_of_groups)
def test_values_and_pairs_of_groups(records: Records) -> None:
    group, person, value = arrays(records)
    seen = (group, value, person, N_GROUPS)
    start, values, in_records, in_persons = counting.values_of_groups(sorted_by(group, person), *seen)
    pair_start, pair_person, pair_value = counting.pairs_of_groups(sorted_by(group, value, person), *seen)
    for place in range(N_GROUPS):
        entries = slice(start[place], start[place + 1])
        fast = list(zip(values[entries], in_records[entries], in_persons[entries], strict=True))
        assert fast == naive.values_of_group(records, place)
        pairs = slice(pair_start[place], pair_start[place + 1])
        listed = list(zip(pair_person[pairs], pair_value[pairs], strict=True))
        assert set(listed) == naive.pairs_of_group(records, place)
        assert len(listed) == len(set(listed))
    assert start[-1] == len(values)
    assert pair_start[-1] == len(pair_person) == len(pair_value)


@pytest.mark.parametrize("n_values", [1, 2, 5, 13, 39, 41, 45, 125, 200, 400])
def test_values_of_groups_that_have_many(n_values: int) -> None:
    """So many different values in one group, in any order, some of them several times and by several persons."""
    chance = np.random.default_rng(n_values)
    values = np.concatenate([chance.permutation(2000)[:n_values], chance.integers(0, 2000, 20)])
    records = [(int(at % 7 == 0), int(chance.integers(4)), int(value)) for at, value in enumerate(values)]
    group, person, value = arrays(records)
    start, *entries = counting.values_of_groups(sorted_by(group, person), group, value, person, 2)
    for place in range(2):
        fast = zip(*(part[start[place] : start[place + 1]].tolist() for part in entries), strict=True)
        assert list(fast) == naive.values_of_group(records, place)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
def test_order_by_start(records: list[tuple[int, int]]) -> None:
    """Codes may stand in any order, here backwards; records of a code keep theirs."""
    codes = np.array([code for code, _ in records], dtype=np.int32)
    start = np.array([int((codes > code).sum()) for code in range(4)])
    expected = sorted(range(len(codes)), key=lambda record: -codes[record])
    assert counting.order_by_start(codes, start).tolist() == expected


@given(records_of_groups)
def test_code_of_person(records: Records) -> None:
    _, person, value = arrays(records)
    fast = counting.code_of_person(value, person, N_PERSONS)
    for place in range(N_PERSONS):
        codes = {v for _, p, v in records if p == place}
        if codes:
            assert fast[place] == (codes.pop() if len(codes) == 1 else -1)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(-(2**62), 2**62))), min_size=1, max_size=30)
)
def test_extremes_of_groups(records: list[tuple[int, int | None]]) -> None:
    groups, units = [group for group, _ in records], [unit for _, unit in records]
    is_missing = np.array([unit is None for unit in units])
    filled = np.array([unit or 0 for unit in units], dtype=np.int64)
    group_of_record = np.array(groups, dtype=np.int32)
    low, high, missing = counting.extremes_of_groups(filled, is_missing, bool(is_missing.any()), group_of_record, 4)
    for place in range(4):
        ends, n_missing = naive.extremes_of_group(units, groups, place)
        assert missing[place] == n_missing
        if ends:
            assert {low[place], high[place]} == ends


@given(records_of_groups)
def test_persons_with_own(records: Records) -> None:
    group, person, value = arrays(records)
    order = sorted_by(group)
    has_own = counting.persons_with_own(group[order], value[order], person[order], 4, N_PERSONS)
    assert set(np.flatnonzero(has_own).tolist()) == naive.persons_with_own(records)
