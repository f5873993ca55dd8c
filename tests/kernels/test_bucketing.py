from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.kernels import bucketing
from shoal.kernels.bucketing import NOBODY, Kinds
from tests.naive import buckets as naive
from tests.naive.buckets import Person

ORDERS = {"rarest": bucketing.RAREST, "balanced": bucketing.BALANCED, "similar": bucketing.SIMILAR}
N_VALUES = 8


@st.composite
def some_persons(draw: st.DrawFn, *, most: int = 16, most_values: int = 1) -> list[Person]:
    """Persons of a few types, who have values that their type does not exclude."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    n_values = draw(st.integers(2, 6))
    forbidding = draw(st.sampled_from([0.0, 0.1, 0.3]))
    types = [frozenset(v for v in range(n_values) if chance.random() < forbidding) for _ in range(4)]
    persons = []
    for _ in range(draw(st.integers(1, most))):
        never = chance.choice(types)
        allowed = [v for v in range(n_values) for _ in range(1 + 3 * (v == 0)) if v not in never]
        own = {chance.choice(allowed) for _ in range(chance.randint(1, most_values))} if allowed else set()
        if own:
            persons.append(Person(frozenset(own), never))
    assume(persons)
    return persons


def kinds_of(persons: list[Person]) -> tuple[np.ndarray, Kinds, list[Person]]:
    """The kind of each person, and the kinds as the kernel takes them."""
    distinct = sorted(set(persons), key=lambda person: (sorted(person.has), sorted(person.never)))
    compatible = np.array([[naive.are_compatible(a, b) for b in distinct] for a in distinct])
    may_have = np.array([[naive.may_have(a, b) for b in distinct] for a in distinct])
    item = [value for person in distinct for value in sorted(person.has)]
    start = np.cumsum([0] + [len(person.has) for person in distinct])
    kind_at = np.array([distinct.index(person) for person in persons], dtype=np.int32)
    return kind_at, Kinds(compatible, may_have, start, np.array(item, dtype=np.int32), N_VALUES), distinct


def grouped(bucket_at: np.ndarray) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for place, bucket in enumerate(bucket_at.tolist()):
        if bucket != NOBODY:
            found.setdefault(bucket, []).append(place)
    return [found[bucket] for bucket in sorted(found)]


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=150)
@given(persons=some_persons(most_values=2), size=st.integers(1, 4))
def test_dealing_equals_its_definition(order: str, persons: list[Person], size: int) -> None:
    kind_at, kinds, _ = kinds_of(persons)
    bucket_at, n_buckets = bucketing.deal(kind_at, kinds, size, ORDERS[order])
    buckets, over = naive.deal(persons, size, order)
    assert grouped(bucket_at) == [sorted(bucket) for bucket in buckets]
    assert n_buckets == len(buckets)
    assert np.flatnonzero(bucket_at == NOBODY).tolist() == over


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=150)
@given(persons=some_persons(most=9, most_values=2), size=st.integers(1, 3))
def test_everybody_may_have_as_many_values_as_a_bucket_has_persons(
    order: str, persons: list[Person], size: int
) -> None:
    kind_at, kinds, _ = kinds_of(persons)
    bucket_at, n_buckets, n_over = bucketing.form_buckets(kind_at, kinds, size, ORDERS[order])
    found = grouped(bucket_at)
    assert len(found) == n_buckets
    assert sorted(set(bucket_at.tolist()) - {NOBODY}) == list(range(n_buckets))
    assert 0 <= n_over <= len(persons)
    assert (bucket_at == NOBODY).sum() <= n_over, "only those left over can fit nowhere"
    for bucket in found:
        assert naive.fewest_values([persons[place] for place in bucket]) >= size


@settings(max_examples=150)
@given(persons=some_persons(most=40), size=st.integers(2, 4))
def test_exchanges_keep_buckets_and_make_those_left_over_clash_less(persons: list[Person], size: int) -> None:
    kind_at, kinds, _ = kinds_of(persons)
    bucket_at, n_buckets = bucketing.deal(kind_at, kinds, size, bucketing.SIMILAR)
    members = np.array(grouped(bucket_at), dtype=np.int64).reshape(n_buckets, size)
    left_over = np.flatnonzero(bucket_at == NOBODY)
    before = n_clashes(persons, left_over)
    n_exchanged = bucketing.exchange(left_over, members, kind_at, kinds)
    assert sorted([*left_over.tolist(), *members.reshape(-1).tolist()]) == list(range(len(persons)))
    assert n_clashes(persons, left_over) <= before - n_exchanged
    for bucket in members.tolist():
        assert all(naive.are_compatible(persons[a], persons[b]) for a in bucket for b in bucket if a != b)


def n_clashes(persons: list[Person], places: np.ndarray) -> int:
    some = [persons[place] for place in places]
    return sum(not naive.are_compatible(a, b) for n, a in enumerate(some) for b in some[:n])


@pytest.mark.parametrize("order", ORDERS)
def test_who_fits_nowhere_is_told(order: str) -> None:
    never = frozenset({1, 2})
    persons = [Person(frozenset({v}), frozenset()) for v in (0, 1, 2, 0, 1, 2)] + [Person(frozenset({0}), never)]
    kind_at, kinds, _ = kinds_of(persons)
    bucket_at, n_buckets, n_over = bucketing.form_buckets(kind_at, kinds, 3, ORDERS[order])
    assert (n_buckets, n_over) == (2, 1)
    assert np.flatnonzero(bucket_at == NOBODY).tolist() == [6]


def test_who_is_left_over_joins_a_bucket_without_their_value() -> None:
    persons = [Person(frozenset({v}), frozenset()) for v in (0, 1, 2, 3, 4)]
    kind_at, kinds, _ = kinds_of(persons)
    bucket_at, n_buckets, n_over = bucketing.form_buckets(kind_at, kinds, 2, bucketing.BALANCED)
    assert (n_buckets, n_over) == (2, 1)
    assert sorted(Counter(bucket_at.tolist()).values()) == [2, 3]


def test_buckets_are_merged_for_somebody_who_fits_into_none_alone() -> None:
    # the last person may have 0, 1 and 2 only, and no bucket has more than one of the other two
    free = frozenset()
    persons = [Person(frozenset({v}), free) for v in (1, 3, 4, 2, 3, 4)]
    persons.append(Person(frozenset({0}), frozenset({3, 4})))
    kind_at, kinds, _ = kinds_of(persons)
    bucket_at = np.array([0, 0, 0, 1, 1, 1, NOBODY], dtype=np.int32)
    assert bucketing.join_left_over(bucket_at, 2, kind_at, kinds, 3) == 1
    assert bucket_at.tolist() == [0] * 7
    assert naive.fewest_values(persons) == 3


def test_a_value_that_most_have_is_spread_evenly() -> None:
    persons = [Person(frozenset({v}), frozenset()) for v in [0] * 30 + [1, 2] * 5]
    kind_at, kinds, _ = kinds_of(persons)
    for order in ORDERS.values():
        bucket_at, n_buckets, n_over = bucketing.form_buckets(kind_at, kinds, 3, order)
        assert (n_buckets, n_over) == (5, 25)
        assert Counter(bucket_at.tolist()) == dict.fromkeys(range(5), 8)


def test_values_are_used_up_together_so_that_few_are_left_over() -> None:
    # 60 persons of the commonest value stand first: those behind are drawn on for all of them
    chance = random.Random(5)
    values = [0] * 60 + [chance.randrange(1, 8) for _ in range(240)]
    persons = [Person(frozenset({v}), frozenset()) for v in values]
    kind_at, kinds, _ = kinds_of(persons)
    for size in (3, 4, 5):
        _, n_buckets, n_over = bucketing.form_buckets(kind_at, kinds, size, bucketing.SIMILAR)
        assert (n_buckets, n_over) == (300 // size, 300 % size)


def test_the_papers_one_female_is_not_in_a_bucket_with_males() -> None:
    # one female with ovarian cancer, males with l other diseases: simple counts hold, matching does not
    male = frozenset({0})
    persons = [Person(frozenset({0}), frozenset()), *(Person(frozenset({v}), male) for v in (1, 2, 3))]
    kind_at, kinds, _ = kinds_of(persons)
    assert naive.fewest_values(persons) == 1
    bucket_at, n_buckets, _ = bucketing.form_buckets(kind_at, kinds, 3, bucketing.SIMILAR)
    assert (n_buckets, bucket_at.tolist()) == (1, [NOBODY, 0, 0, 0])
