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
    """The units of a pool, whose categories are numbered from 0 on."""
    n, (value, blur, category) = len(units), (np.array([u[i] for u in units]) for i in range(3))
    category = category.reshape(n, -1)
    for codes in category.T:
        codes[:] = np.unique(codes, return_inverse=True)[1]
    return Units(
        value.reshape(n, -1).astype(np.float64), blur.reshape(n, -1).astype(np.float64),
        category.reshape(n, -1).astype(np.int32), np.array([u.persons for u in units]),
        np.array([u.count for u in units]),
    )  # fmt: skip


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
    group_of_unit = np.empty(len(units), np.int32)
    arrays = as_arrays(units)
    return group_of_unit, improving.grow(arrays.value, arrays, as_limits(asked), share, group_of_unit)


def assume_together(asked: Asked, units: list[Unit]) -> Asked:
    """The limits where all units together keep to them, else none."""
    return asked if naive.keeps(asked, units) else Asked(1, 1, Fraction(1), Fraction(1))


@given(drawn_units(), asked_limits)
def test_loss_and_limits_equal_their_definitions(units: list[Unit], asked: Asked) -> None:
    arrays = as_arrays(units)
    centre, records_of = np.empty(arrays.value.shape[1]), np.zeros(len(units) + 3, np.int64)
    listed = np.arange(len(units))
    assert improving.loss_of(arrays, listed, centre, records_of) == pytest.approx(naive.loss(units))
    assert centre.tolist() == pytest.approx(naive.centre_of(units))
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
    left = improving.left_over(np.array(spread), room, np.zeros(len(spread)))
    assert left == pytest.approx(naive.left_over(spread, room), abs=ROUNDING)


@given(st.lists(st.integers(-5, 5).map(float), max_size=40))
def test_places_are_sorted_and_equals_keep_their_order(key: list[float]) -> None:
    assert improving.places_sorted(np.array(key)).tolist() == sorted(range(len(key)), key=lambda i: key[i])


@given(drawn_units(), asked_limits, shares)
def test_the_best_cut_promises_least_of_all_that_keep_to_the_limits(
    units: list[Unit], asked: Asked, share: float
) -> None:
    arrays = as_arrays(units)
    order = improving._sort_orders(arrays.value, arrays)
    found, first, last = improving.best_cut(arrays.value, arrays, order, 0, len(units), as_limits(asked), share)
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
    arrays, records_of = as_arrays(units), np.zeros(len(units) + 3, np.int64)
    groups = improving.lay_out(arrays, group_of_unit, n_groups, records_of)
    lost = improving.settle(arrays, as_limits(asked), groups, ways(0.4, 3), records_of)
    after = groups_of(units, group_of_unit)
    assert len(after) == n_groups
    assert all(naive.keeps(asked, group) for group in after)
    assert lost == pytest.approx(sum(naive.loss(group) for group in after))
    assert lost <= before + ROUNDING
    assert groups.loss.tolist() == pytest.approx([naive.loss(group) for group in after])
    for g, group in enumerate(after):
        assert groups.centre[g].tolist() == pytest.approx(naive.centre_of(group))
        assert groups.spread[g, :2].tolist() == [sum(u.persons for u in group), sum(u.records for u in group)]
        assert sorted(groups.member[g, : groups.size[g]]) == np.flatnonzero(group_of_unit == g).tolist()


def test_two_units_in_the_wrong_groups_are_swapped() -> None:
    units = [Unit((x,), (0.0,), (), 1, 1) for x in (0.0, 0.1, 1.0, 0.9, 0.95, 0.05)]
    group_of_unit = np.array([0, 0, 0, 1, 1, 1], np.int32)
    arrays, records_of = as_arrays(units), np.zeros(6, np.int64)
    groups = improving.lay_out(arrays, group_of_unit, 2, records_of)
    improving.settle(arrays, Limits(3, 1, 1, 1, 1, 1), groups, ways(0.4), records_of)
    assert group_of_unit.tolist() == [0, 0, 1, 1, 1, 0]


def test_a_unit_moves_to_the_group_where_it_belongs() -> None:
    units = [Unit((x,), (0.0,), (), 1, 1) for x in (0.0, 0.1, 0.9, 1.0, 0.95)]
    group_of_unit = np.array([0, 0, 0, 1, 1], np.int32)
    arrays, records_of = as_arrays(units), np.zeros(5, np.int64)
    groups = improving.lay_out(arrays, group_of_unit, 2, records_of)
    improving.settle(arrays, Limits(2, 1, 1, 1, 1, 1), groups, ways(0.4), records_of)
    assert group_of_unit.tolist() == [0, 0, 1, 1, 1]


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
    member = np.argsort(group_of_unit, kind="stable")
    member_start = np.concatenate([[0], np.cumsum(np.bincount(group_of_unit))])
    pool_order = chance.permutation(n_groups)
    pool_start = np.unique(np.concatenate([np.arange(0, n_groups, 4), [n_groups]]))
    turn = np.eye(arrays.value.shape[1]) + 0.3 * chance.normal(size=(arrays.value.shape[1],) * 2)
    group_in_pool = np.zeros(len(units), np.int32)
    groups_of_pool, gain = improving.improve_pools(
        arrays, as_limits(asked), member, member_start, pool_order, pool_start, turn, ways(share), group_in_pool
    )
    for pool, (first, last) in enumerate(itertools.pairwise(pool_start)):
        old = [before[g] for g in pool_order[first:last]]
        inside = np.isin(group_of_unit, pool_order[first:last])
        new = groups_of([u for u, here in zip(units, inside, strict=True) if here], group_in_pool[inside])
        assert len(new) == groups_of_pool[pool]
        assert all(naive.keeps(asked, group) for group in new)
        gained = sum(map(naive.loss, old)) - sum(map(naive.loss, new))
        assert gained == pytest.approx(gain[pool], abs=ROUNDING)
        assert gained >= -ROUNDING
