"""Every check of joint diversity agrees with trying all sets of values, and none ever says yes wrongly."""

# l is the paper's name
# ruff: noqa: E741

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import covering
from tests.naive import covering as naive

N_ATTRIBUTES, N_VALUES = 3, 4
PLENTY = 10**9

items = st.tuples(st.integers(0, N_ATTRIBUTES - 1), st.integers(0, N_VALUES - 1))
one_value_each = st.tuples(*[st.integers(0, N_VALUES - 1)] * N_ATTRIBUTES).map(
    lambda record: frozenset(enumerate(record))
)
some_values = st.frozensets(items, min_size=1, max_size=4)
small_groups = st.lists(one_value_each | some_values, min_size=1, max_size=8)
some_caps = st.dictionaries(st.integers(0, N_ATTRIBUTES - 1), st.integers(0, 3))
diversities = st.integers(1, 6)


def members_of(
    groups: Sequence[Sequence[naive.Member]],
    caps: naive.Caps | None = None,
    *,
    n_attributes: int = N_ATTRIBUTES,
    n_values: int = N_VALUES,
) -> covering.Members:
    """The groups as arrays; the members stand in reverse order, so that places and numbers of members differ."""
    everybody = [member for group in groups for member in group][::-1]
    lists = [sorted(attribute * n_values + value for attribute, value in member) for member in everybody]
    return covering.Members(
        start_of_group=np.cumsum([0] + [len(group) for group in groups]),
        who=np.arange(len(everybody))[::-1].copy(),
        item_start=np.cumsum([0] + [len(own) for own in lists]),
        item=np.array([item for own in lists for item in own], dtype=np.int32),
        attribute_of_item=np.repeat(np.arange(n_attributes), n_values).astype(np.int32),
        cap=np.array([(caps or {}).get(attribute, covering.NO_CAP) for attribute in range(n_attributes)]),
    )


def alone(group: Sequence[naive.Member], caps: naive.Caps | None = None) -> covering.Group:
    """One group as the checks see it."""
    members = members_of([group], caps)
    n_items = len(members.attribute_of_item)
    return covering._gather(members, 0, np.zeros(n_items, np.int64), np.empty(n_items, np.int32), 1)


def is_proved(group: Sequence[naive.Member], l: int, caps: naive.Caps, work: int = PLENTY) -> bool:
    return bool(covering.prove_groups(members_of([group], caps), l, work)[0] > 0)


def as_float(diversity: int) -> float:
    return math.inf if diversity == covering.NO_LIMIT else float(diversity)


# --- the whole chain -----------------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(small_groups, some_caps, diversities)
def test_with_time_to_search_the_answer_is_that_of_the_definition(group, caps, l) -> None:
    assert is_proved(group, l, caps) == (naive.joint_diversity(group, caps) >= l)


@settings(max_examples=300)
@given(small_groups, some_caps, diversities, st.sampled_from([0, 20, 100]))
def test_without_time_no_answer_is_a_wrong_yes(group, caps, l, work) -> None:
    if is_proved(group, l, caps, work):
        assert naive.joint_diversity(group, caps) >= l


@settings(max_examples=300)
@given(small_groups, some_caps, diversities)
def test_the_largest_diversity_is_that_of_the_definition(group, caps, l) -> None:
    largest = covering.largest_proved(members_of([group], caps), l, PLENTY, PLENTY)
    assert as_float(largest[0]) == naive.joint_diversity(group, caps)


@settings(max_examples=300)
@given(
    st.lists(small_groups, max_size=4), some_caps, diversities, st.sampled_from([0, 50, 200]), st.sampled_from([0, 99])
)
def test_the_largest_diversity_agrees_with_the_proof_and_is_never_too_large(groups, caps, l, work, total) -> None:
    members = members_of(groups, caps)
    proof = covering.prove_groups(members, l, work)
    largest = covering.largest_proved(members, l, work, total)
    assert (largest >= l).tolist() == (proof > 0).tolist()
    for group, diversity in zip(groups, largest, strict=True):
        assert as_float(diversity) <= naive.joint_diversity(group, caps)


@given(st.lists(small_groups, max_size=5), some_caps, diversities)
def test_groups_do_not_see_each_other(groups, caps, l) -> None:
    together = covering.prove_groups(members_of(groups, caps), l, PLENTY).tolist()
    assert together == [int(covering.prove_groups(members_of([group], caps), l, PLENTY)[0]) for group in groups]


def test_nobody_needs_no_deletion() -> None:
    members = members_of([[], [frozenset({(0, 0)})]])
    assert (covering.prove_groups(members, 1, PLENTY) > 0).tolist() == [False, True]
    assert covering.largest_proved(members, 1, PLENTY, PLENTY).tolist() == [0, 1]


def test_an_item_that_is_listed_twice_counts_once() -> None:
    members = members_of([[frozenset({(0, 0), (1, 0)}), frozenset({(0, 1), (1, 0)}), frozenset({(0, 2), (2, 0)})]])
    twice = members._replace(item=np.repeat(members.item, 2), item_start=members.item_start * 2)
    for l in range(1, 5):
        assert covering.prove_groups(twice, l, PLENTY).tolist() == covering.prove_groups(members, l, PLENTY).tolist()


@pytest.mark.parametrize("work", [0, 10, 400])
def test_a_group_that_takes_too_much_work_is_not_called_diverse(work: int) -> None:
    # triangles of values: two of three must be deleted, while a weight of a half on each side proves one and a half
    sides = [(0, 1), (1, 2), (0, 2)]
    triangles = [frozenset({(0, 3 * n + a), (0, 3 * n + b)}) for n in range(4) for a, b in sides]
    members = members_of([triangles, triangles[:3]], n_attributes=1, n_values=12)
    assert covering.prove_groups(members, 8, work).tolist() == [covering.LIMIT, covering.DELETED]
    assert covering.prove_groups(members, 8, PLENTY).tolist() == [covering.SEARCHED, covering.DELETED]
    assert covering.prove_groups(members, 6, work).tolist() == [covering.BOUND, covering.DELETED]
    assert covering.largest_proved(members, 8, work, PLENTY)[0] < 8


@pytest.mark.parametrize("work", [0, PLENTY])
def test_weights_prove_what_counts_do_not(work: int) -> None:
    # a triangle, and another with three on each side, whose values are the commonest: counted, two delete 12 of 12
    sides = [(0, 1), (1, 2), (0, 2)]
    group = [frozenset({(0, a), (0, b)}) for a, b in sides] + 3 * [frozenset({(1, a), (1, b)}) for a, b in sides]
    assert covering.prove_groups(members_of([group]), 3, work).tolist() == [covering.WEIGHTS]


# --- each check ----------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(small_groups, some_caps, st.lists(st.integers(0, 5), min_size=8, max_size=8))
def test_any_weights_prove_only_what_is_true(group, caps, weights) -> None:
    own = alone(group, caps)
    proved = covering.proved_by_weights(own, np.array(weights[: len(group)], dtype=np.int64), covering.NO_LIMIT)
    if any(weights[: len(group)]):
        assert as_float(proved) <= naive.joint_diversity(group, caps)


@given(small_groups)
def test_packed_weights_leave_every_item_at_one_unit_or_less(group) -> None:
    own = alone(group)
    weights = covering._packed_weights(own.start, own.item, len(own.count))
    loads = np.bincount(own.item, weights=np.repeat(weights, np.diff(own.start)))
    assert (weights >= 0).all()
    assert 0 < loads.max() <= covering._UNIT


def test_raised_weights_prove_all_where_nobody_shares_a_value() -> None:
    own = alone([frozenset({(0, value)}) for value in range(N_VALUES)])
    weights = covering.raised_weights(own.start, own.item, len(own.count))
    assert covering.proved_by_weights(own, weights, covering.NO_LIMIT) == N_VALUES


@settings(max_examples=300)
@given(small_groups, diversities)
def test_members_without_common_items_are_those_of_figure_6(group, l) -> None:
    own = alone(group)
    _, n_picked = covering.disjoint_members(own, covering.order_by_frequency(own), l)
    assert (n_picked >= l) == naive.figure_6(group, l)


@settings(max_examples=500)
@given(small_groups, some_caps, diversities)
def test_growing_with_caps_is_figure_7_repaired(group, caps, l) -> None:
    own = alone(group, caps)
    order = covering.order_by_frequency(own)
    picked, n_picked = covering.disjoint_members(own, order, l)
    trace = covering.grow_with_caps(own, order, picked, n_picked, l).tolist()
    assert trace == naive.figure_7_repaired(group, l, caps)
    assert trace[-1] <= naive.joint_diversity(group, caps)


@settings(max_examples=300)
@given(small_groups, some_caps, st.integers(1, 12))
def test_a_deletion_set_found_quickly_is_not_too_small(group, caps, most) -> None:
    own = alone(group, caps)
    if not covering._has_undeletable(own):
        size = covering.deletion_set_size(own, most)
        assert as_float(size) >= naive.joint_diversity(group, caps)
        assert size <= most or size == covering.NO_LIMIT


@settings(max_examples=500)
@given(small_groups, some_caps, st.integers(1, 6))
def test_the_search_alone_finds_a_set_just_where_there_is_one(group, caps, most) -> None:
    own = alone(group, caps)
    if not covering._has_undeletable(own):
        size, _ = covering.smallest_by_search(own, most, PLENTY)
        smallest = naive.joint_diversity(group, caps)
        assert (size <= most) == (smallest <= most)
        assert as_float(size) >= smallest


def test_bits_are_counted() -> None:
    for word in [0, 1, 2**63, 2**64 - 1, 0x5555555555555555, 0xFFFFFFFF00000000]:
        assert covering._n_bits(np.uint64(word)) == word.bit_count()


# --- groups too large to try everything ----------------------------------------------------------------------------


def smallest_by_milp(group: Sequence[naive.Member], caps: naive.Caps) -> float:
    """The smallest admitted deletion set, by integer programming."""
    from scipy.optimize import LinearConstraint, milp

    own_items = sorted(set().union(*group))
    has = np.array([[item in member for item in own_items] for member in group], dtype=np.float64)
    of = np.array([[item[0] == attribute for item in own_items] for attribute in caps], dtype=np.float64)
    constraints = [LinearConstraint(has, lb=1)]
    if caps:
        constraints.append(LinearConstraint(of, ub=np.array(list(caps.values()), dtype=np.float64)))
    ones = np.ones(len(own_items))
    solved = milp(ones, integrality=ones, bounds=(0, 1), constraints=constraints)
    if solved.status == 2:  # infeasible
        return math.inf
    assert solved.status == 0
    return float(round(solved.fun))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("caps", [{}, {1: 2}, {0: 1, 2: 3}, {0: 2, 1: 2, 2: 2}, {0: 0}])
def test_medium_groups_agree_with_integer_programming(seed: int, caps: naive.Caps) -> None:
    rng = np.random.default_rng(seed)
    n_members = int(rng.integers(20, 150))
    skewed = np.minimum(rng.zipf(1.5, size=(n_members, 3)), 12) - 1
    group = naive.members_of(skewed.tolist())
    smallest = smallest_by_milp(group, caps)
    members = members_of([group], caps, n_values=12)
    for l in range(1, 14):
        assert (covering.prove_groups(members, l, PLENTY)[0] > 0) == (smallest >= l)
    assert as_float(covering.largest_proved(members, 3, PLENTY, PLENTY)[0]) == smallest
