"""Persons move inside a pool as the plain definition says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.kernels import gathering
from shoal.kernels.trees import Limits
from tests.naive import gathering as naive

N_ITEMS = 4
TOO_CLOSE = 1e-6
"""Where two groups are nearly as good, floats may choose the other; such an example says nothing."""

places = st.integers(0, 20).map(lambda place: place / 20)
persons = st.builds(
    naive.Person, st.tuples(places, places), st.integers(1, 4), st.frozensets(st.integers(0, N_ITEMS - 1))
)
a_price = st.floats(0, 2, allow_nan=False).map(lambda price: round(price, 3))
all_prices = st.builds(
    naive.Prices,
    st.lists(a_price, min_size=N_ITEMS, max_size=N_ITEMS),
    st.lists(a_price, min_size=2, max_size=2),
    st.lists(a_price, min_size=2, max_size=2),
)
asked = st.builds(
    lambda least, share, squares: Limits(least, 1, *share, *squares),
    st.integers(1, 4),
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.sampled_from([(1, 1), (1, 2)]),
)
pools = st.lists(st.tuples(persons, st.integers(0, 3)), min_size=1, max_size=14)


def keeps(limits: Limits, counts: list[int]) -> bool:
    """Whether persons with so many records keep to the limits together."""
    return (
        len(counts) >= limits.least_persons
        and Fraction(max(counts), sum(counts)) <= Fraction(limits.share, limits.share_of)
        and sum(Fraction(n, sum(counts)) ** 2 for n in counts) <= Fraction(limits.squares, limits.squares_of)
    )


def numbered(groups: list[int]) -> list[int]:
    """The same groups without gaps."""
    return [sorted(set(groups)).index(group) for group in groups]


def as_lists(people: list[naive.Person]) -> tuple[np.ndarray, np.ndarray]:
    start = np.cumsum([0, *(len(person.items) for person in people)])
    return start, np.array([item for person in people for item in sorted(person.items)], np.int64)


@settings(max_examples=150, deadline=None)
@given(st.lists(pools, min_size=1, max_size=3), all_prices, st.integers(1, 4), st.integers(1, 3), asked)
def test_persons_move_as_the_definition_says(
    drawn: list[list[tuple[naive.Person, int]]], prices: naive.Prices, k: int, passes: int, limits: Limits
) -> None:
    ramp = 2.0

    def allowed(group: naive.Group) -> bool:
        return keeps(limits, [person.records for person in group])

    expected, groups, groups_of_pool = [], [], []
    for pool in drawn:
        own = numbered([group for _, group in pool])
        after, closest = naive.gathered([person for person, _ in pool], own, prices, k, ramp, allowed, passes)
        assume(closest > TOO_CLOSE)
        expected += after
        groups += own
        groups_of_pool.append(max(own) + 1)
    people = [person for pool in drawn for person, _ in pool]
    worth = np.array([naive.worth(n, k, ramp) for n in range(k + 1)])
    found, moves = gathering.gather_pools(
        as_lists(people),
        np.array(prices.of_item),
        worth,
        np.array([person.value for person in people]),
        np.array([prices.of_distance, prices.of_width]),
        np.array([person.records for person in people]),
        limits,
        np.cumsum([0, *map(len, drawn)]),
        np.array(groups),
        np.array(groups_of_pool),
        passes,
    )
    assert found.tolist() == expected
    assert (moves.sum() == 0) <= (expected == groups)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), asked)
def test_who_may_leave_and_join(counts: list[int], limits: Limits) -> None:
    """The first of some persons leaves their group, or comes to the group of the others."""
    n, others = len(counts), counts[1:]
    records, value = np.array(counts), np.zeros((n, 1))
    counted, measured = np.zeros((2, 4), np.int64), np.zeros((4, 2, 1))
    member = np.array([[*range(n)], [*range(1, n), 0]])
    for group, persons in enumerate((n, n - 1)):
        counted[group, gathering.PERSONS] = persons
        gathering.measure_group(value, records, counted, measured, member, group)
    expected = bool(others) and keeps(limits, others)
    assert gathering.may_leave(records, limits, counted, member, 0, 0) == expected
    assert gathering.may_join(records, limits, counted, 1, 0) == keeps(limits, counts)
