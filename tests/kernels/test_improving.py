"""Making groups better: what kernels count equals its definition, and no step breaks a limit or loses more."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import improving
from shoal.kernels.improving import Units, Ways
from shoal.kernels.trees import Limits
from tests.naive import improving as naive
from tests.naive.improving import Asked, Unit

ROUNDING = 1e-7


@st.composite
def drawn_units(draw: st.DrawFn, most: int = 12) -> list[Unit]:
    n_numeric, n_nominal = draw(st.sampled_from([(1, 0), (2, 0), (0, 1), (1, 1), (2, 2)]))
    value = st.tuples(*[st.integers(0, 8).map(lambda v: v / 8)] * n_numeric)
    blur = st.tuples(*[st.sampled_from([0.0, 0.0, 0.25])] * n_numeric)
    category = st.tuples(*[st.integers(0, 2)] * n_nominal)
    unit = st.builds(Unit, value, blur, category, st.integers(1, 3), st.integers(1, 5))
    return draw(st.lists(unit, min_size=2, max_size=most))


asked_limits = st.builds(
    Asked, st.integers(1, 4), st.integers(1, 6), st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 3)]),
    st.sampled_from([Fraction(1), Fraction(2, 3), Fraction(2, 5)]),
)  # fmt: skip
shares = st.sampled_from([0.3, 0.4, 0.7])


def as_arrays(units: list[Unit]) -> Units:
    n, (value, blur, category) = len(units), (np.array([u[i] for u in units]) for i in range(3))
    numbers = np.column_stack([value.reshape(n, -1), blur.reshape(n, -1)]).astype(np.float64)
    of_unit = np.array([[u.persons, u.count] for u in units])
    return Units(numbers, np.column_stack([of_unit, category.reshape(n, -1)]).astype(np.int64))


def as_limits(asked: Asked) -> Limits:
    return Limits(
        asked.least_persons, asked.least_records, *asked.largest_share.as_integer_ratio(),
        *asked.largest_squares.as_integer_ratio(),
    )  # fmt: skip


def ways(share_of_room: float, passes: int = 1) -> Ways:
    return Ways(share_of_room, recuts=True, passes=passes, most_near=3, swaps=True)


def groups_of(units: list[Unit], group_of_unit: np.ndarray) -> list[list[Unit]]:
    numbers = sorted(set(group_of_unit))
    return [[unit for unit, own in zip(units, group_of_unit, strict=True) if own == number] for number in numbers]


def parted(units: list[Unit], asked: Asked, share: float) -> tuple[np.ndarray, int]:
    """Groups that keep to the limits, where all units together do."""
    arrays = as_arrays(units)
    value = np.ascontiguousarray(arrays.value)
    whole = np.array([0, len(units)])
    group_of_unit, n_groups = improving.recut_pools(arrays, value, as_limits(asked), whole, share)
    return group_of_unit, int(n_groups[0])


def assume_together(asked: Asked, units: list[Unit]) -> Asked:
    """The limits where all units together keep to them, else none."""
    return asked if naive.keeps(asked, units) else Asked(1, 1, Fraction(1), Fraction(1))


@given(drawn_units(), asked_limits)
def test_loss_and_limits_equal_their_definitions(units: list[Unit], asked: Asked) -> None:
    arrays, n_numeric = as_arrays(units), len(units[0].value)
    measured, records_of = np.zeros((1, improving.CENTRE + n_numeric)), np.zeros(4, np.int64)
    member = np.arange(len(units))
    lost = improving.loss_of(*arrays, member, 0, len(units), measured, 0, records_of)
    assert lost == pytest.approx(naive.loss(units))
    assert measured[0, improving.CENTRE :].tolist() == pytest.approx(naive.centre_of(units))
    assert not records_of.any(), "what was counted is wiped away"
    spread = (
        sum(unit.persons for unit in units), sum(unit.records for unit in units),
        sum(unit.records * unit.count for unit in units),
    )  # fmt: skip
    most = max(unit.count for unit in units)
    assert improving.keeps(as_limits(asked), *spread, most) == naive.keeps(asked, units)
    assert improving.room_for(as_limits(asked), *spread) == pytest.approx(naive.room_for(asked, units))


quarters = st.integers(0, 12).map(lambda number: number / 4)


@given(st.lists(quarters, min_size=1, max_size=5), st.integers(1, 40).map(lambda number: number / 4))
def test_what_is_left_over_is_the_least_that_so_many_boxes_leave(spread: list[float], room: float) -> None:
    sums = np.zeros((6, len(spread)))
    sums[improving.SPREAD] = spread
    assert improving.left_over(sums, room) == pytest.approx(naive.left_over(spread, room), abs=ROUNDING)


@given(st.lists(st.integers(-5, 5).map(float), max_size=40))
def test_places_are_sorted_and_equals_keep_their_order(key: list[float]) -> None:
    work = np.empty((2, len(key)), np.int64)
    improving.sort_places(np.array(key), len(key), work, 0, 1)
    assert work[0].tolist() == sorted(range(len(key)), key=lambda i: key[i])


@given(drawn_units(), asked_limits, shares)
def test_the_best_cut_promises_least_of_all_that_keep_to_the_limits(
    units: list[Unit], asked: Asked, share: float
) -> None:
    arrays = as_arrays(units)
    n, value, n_nominal = len(units), np.ascontiguousarray(arrays.value), arrays.category.shape[1]
    keys = [*value.T, arrays.count, *arrays.category.T]
    order = np.array([np.argsort(key, kind="stable") for key in keys])
    having = np.zeros((n_nominal, 3, 4))
    found, first, last = improving.best_cut(
        value, arrays.counts, order, 0, n, as_limits(asked), share, np.empty((2, n + 1), np.int64),
        np.empty((6, value.shape[1] + n_nominal)), having,
    )  # fmt: skip
    assert not having.any(), "what was counted is wiped away"
    promises = {}
    for cut in naive.cuts(units, lambda unit: unit.value):
        sides = [[u for i, u in enumerate(units) if (i in cut) == is_left] for is_left in (True, False)]
        if all(naive.keeps(asked, side) for side in sides):
            promises[cut] = sum(naive.promise(asked, side, share, lambda unit: unit.value) for side in sides)
    if found < 0:
        assert not promises
    else:
        taken = frozenset(order[found, first : last + 1].tolist())
        assert promises[taken] == pytest.approx(min(promises.values()), abs=ROUNDING)


@given(drawn_units(20), asked_limits, shares)
def test_growing_ends_where_no_cut_keeps_to_the_limits(units: list[Unit], asked: Asked, share: float) -> None:
    asked = assume_together(asked, units)
    group_of_unit, n_groups = parted(units, asked, share)
    assert sorted(set(group_of_unit.tolist())) == list(range(n_groups))
    for group in groups_of(units, group_of_unit):
        assert naive.keeps(asked, group)
        for cut in naive.cuts(group, lambda unit: unit.value):
            sides = [[u for i, u in enumerate(group) if (i in cut) == is_left] for is_left in (True, False)]
            assert not all(naive.keeps(asked, side) for side in sides)


@given(drawn_units(20), asked_limits, shares)
def test_settling_keeps_to_the_limits_loses_no_more_and_counts_right(
    units: list[Unit], asked: Asked, share: float
) -> None:
    asked = assume_together(asked, units)
    group_of_unit, n_groups = parted(units, asked, share)
    before = sum(naive.loss(group) for group in groups_of(units, group_of_unit))
    lost = settled(units, asked, group_of_unit, n_groups, ways(0.4, 3))
    after = groups_of(units, group_of_unit)
    assert len(after) == n_groups
    assert all(naive.keeps(asked, group) for group in after)
    assert lost == pytest.approx(sum(naive.loss(group) for group in after))
    assert lost <= before + ROUNDING


def settled(units: list[Unit], asked: Asked, group_of_unit: np.ndarray, n_groups: int, how: Ways) -> float:
    """What one pool loses after moves and swaps."""
    pool = np.array([0, len(units)]), group_of_unit, np.array([n_groups])
    return float(improving.settle_pools(as_arrays(units), as_limits(asked), *pool, how)[0])


def test_two_units_in_the_wrong_groups_are_swapped() -> None:
    units = [Unit((x,), (0.0,), (), 1, 1) for x in (0.0, 0.1, 1.0, 0.9, 0.95, 0.05)]
    group_of_unit = np.array([0, 0, 0, 1, 1, 1])
    settled(units, Asked(3, 1, Fraction(1), Fraction(1)), group_of_unit, 2, ways(0.4))
    assert group_of_unit.tolist() == [0, 0, 1, 1, 1, 0]


def test_a_unit_moves_to_the_group_where_it_belongs() -> None:
    units = [Unit((x,), (0.0,), (), 1, 1) for x in (0.0, 0.1, 0.9, 1.0, 0.95)]
    group_of_unit = np.array([0, 0, 0, 1, 1])
    settled(units, Asked(2, 1, Fraction(1), Fraction(1)), group_of_unit, 2, ways(0.4))
    assert group_of_unit.tolist() == [0, 0, 1, 1, 1]


def test_pools_of_one_group_and_of_many_settle_beside_one_another_as_alone() -> None:
    units = [Unit((x,), (0.0,), (), 1, 1) for x in (0.0, 0.1, 0.9, 1.0, 0.95, 0.3, 0.4)]
    group_of_unit, limits = np.array([0, 0, 0, 1, 1, 0, 0]), Limits(2, 1, 1, 1, 1, 1)
    lost = improving.settle_pools(
        as_arrays(units), limits, np.array([0, 5, 7]), group_of_unit, np.array([2, 1]), ways(0.4)
    )
    assert group_of_unit.tolist() == [0, 0, 1, 1, 1, 0, 0]
    assert lost.tolist() == pytest.approx([0.2, 0.1])


@given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_pools_have_every_group_once_and_are_as_small_as_asked(
    n_groups: int, n_directions: int, most_units: int, most_groups: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    centre, units_of_group = chance.random((n_groups, n_directions)), chance.integers(1, 10, n_groups)
    order, start = improving.pool_groups(centre, units_of_group, most_units, most_groups, chance.random(64))
    assert sorted(order.tolist()) == list(range(n_groups))
    assert (start[0], start[-1]) == (0, n_groups)
    assert (np.diff(start) > 0).all()
    for first, last in itertools.pairwise(start):
        inside = order[first:last]
        assert len(inside) == 1 or (len(inside) <= most_groups and units_of_group[inside].sum() <= most_units)


@given(drawn_units(24), asked_limits, shares, st.integers(0, 2**32 - 1))
def test_a_pool_is_regrouped_only_where_it_loses_less(units: list[Unit], asked: Asked, share: float, seed: int) -> None:
    asked = assume_together(asked, units)
    group_of_unit, n_groups = parted(units, asked, share)
    before = groups_of(units, group_of_unit)
    arrays, chance = as_arrays(units), np.random.default_rng(seed)
    pool_of_group = chance.permutation(n_groups) // 4
    place_in_pool = np.array([(pool_of_group[:g] == pool_of_group[g]).sum() for g in range(n_groups)])
    groups_of_pool = np.bincount(pool_of_group)
    by_pool = np.argsort(pool_of_group[group_of_unit], kind="stable")
    pool_start = np.concatenate([[0], np.cumsum(np.bincount(pool_of_group[group_of_unit]))])
    turn = np.eye(arrays.value.shape[1]) + 0.3 * chance.normal(size=(arrays.value.shape[1],) * 2)
    group_in_pool, groups_of_pool, gain = improving.improve_pools(
        arrays.at(by_pool), as_limits(asked), pool_start, place_in_pool[group_of_unit[by_pool]], groups_of_pool, turn,
        ways(share),
    )  # fmt: skip
    for pool, (first, last) in enumerate(itertools.pairwise(pool_start)):
        old = [before[g] for g in np.flatnonzero(pool_of_group == pool)]
        new = groups_of([units[unit] for unit in by_pool[first:last]], group_in_pool[first:last])
        assert len(new) == groups_of_pool[pool]
        assert all(naive.keeps(asked, group) for group in new)
        gained = sum(map(naive.loss, old)) - sum(map(naive.loss, new))
        assert gained == pytest.approx(gain[pool], abs=ROUNDING)
        assert gained >= -ROUNDING
