from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.models import TCloseness
from tests.models.builders import group_counts, groups_of_values
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    assert_equals_twin,
    assert_merging_keeps,
    counts,
    fractions_to_one,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("t", [*NOT_NUMBERS, 1.01, -0.1])
def test_a_threshold_out_of_range_is_refused(t: object) -> None:
    with pytest.raises(ParameterError, match="t must"):
        TCloseness(t=t)


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(ParameterError, match="distance must be one of 'equal', 'ordered'"):
        TCloseness(t=0.2, distance="euclid")
    with pytest.raises(ParameterError, match="count must be one of"):
        TCloseness(t=0.2, count="rows")


def test_values_that_a_group_lacks_count_too() -> None:
    groups = groups_of_values([[4, 0, 0, 0], [0, 0, 2, 2]])  # table: 4, 0, 2, 2 of 8
    assert TCloseness(t=0.5).reached(groups).tolist() == [0.5, 0.5]
    assert TCloseness(t=0.5).holds(groups).tolist() == [True, True]
    assert TCloseness(t=0.49).holds(groups).tolist() == [False, False]


def test_the_ordered_distance_by_hand() -> None:
    # table 3, 3, 3: the three lowest have to move 1 and 2 steps of 2, each for a third
    groups = groups_of_values([[3, 0, 0], [0, 3, 0], [0, 0, 3]])
    model = TCloseness(t="1/3", distance="ordered")
    assert model.reached(groups).tolist() == [0.5, 1 / 3, 0.5]
    assert model.holds(groups).tolist() == [False, True, False]
    assert TCloseness(t=0.33, distance="ordered").holds(groups).tolist() == [False, False, False]
    assert TCloseness(t=0.5, distance="ordered").holds(groups).tolist() == [True, True, True]


def test_the_salaries_of_the_paper() -> None:
    # Li, Li and Venkatasubramanian (2007, section 5): salaries 3k to 11k, groups {3k, 4k, 5k} and {6k, 8k, 11k}
    groups = groups_of_values([[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1], [0, 0, 0, 0, 1, 0, 1, 1, 0]])
    reached = TCloseness(t=1, distance="ordered").reached(groups)
    assert reached[:2].tolist() == pytest.approx([0.375, 0.167], abs=5e-4)


def test_codes_that_the_table_does_not_have_are_no_steps() -> None:
    with_gap = groups_of_values([[2, 0, 0, 0, 0], [0, 0, 0, 0, 2]])
    without = groups_of_values([[2, 0], [0, 2]])
    model = TCloseness(t=0.5, distance="ordered")
    assert model.reached(with_gap).tolist() == model.reached(without).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_table_of_one_value_is_as_close_as_can_be(distance: str) -> None:
    groups = groups_of_values([[3], [1]])
    assert TCloseness(t=0, distance=distance).holds(groups).tolist() == [True, True]


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_the_whole_table_is_at_no_distance(distance: str) -> None:
    groups = groups_of_values([[3, 1, 4, 1, 5]])
    assert TCloseness(t=0, distance=distance).holds(groups).tolist() == [True]


def test_persons_count_once_for_each_value() -> None:
    groups = group_counts([(0, "a", 0)] * 6 + [(0, "b", 1), (1, "c", 0), (1, "d", 1)])
    assert TCloseness(t=0, count="persons").holds(groups).tolist() == [True, True]
    assert TCloseness(t=0.2).holds(groups).tolist() == [True, False]


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_counts_whose_products_exceed_64_bits(distance: str) -> None:
    half = 2**40
    groups = groups_of_values([[half, 0, half], [half, 0, half], [half + 1, 0, half - 1]])
    model = TCloseness(t=0, distance=distance)
    assert model.holds(groups).tolist() == [False, False, False]
    table = Fraction(3 * half + 1, 6 * half)
    just = abs(Fraction(half + 1, 2 * half) - table)
    assert TCloseness(t=just, distance=distance).holds(groups).tolist() == [True, True, True]
    assert TCloseness(t=just - Fraction(1, 10**40), distance=distance).holds(groups).tolist() == [True, True, False]
    assert model.reached(groups)[2] == pytest.approx(float(just))


@settings(deadline=None)
@given(tables(), fractions_to_one, counts)
def test_equal_distance_equals_its_definition(table: list, t: Fraction, count: str) -> None:
    assert_equals_twin(
        TCloseness(t=t, count=count),
        lambda group, whole: naive.equal_t_closeness(group, whole, t=t, count=count),
        table,
    )


@settings(deadline=None, max_examples=300)
@given(tables(), fractions_to_one, counts)
def test_ordered_distance_equals_its_definition(table: list, t: Fraction, count: str) -> None:
    assert_equals_twin(
        TCloseness(t=t, distance="ordered", count=count),
        lambda group, whole: naive.ordered_t_closeness(group, whole, t=t, count=count),
        table,
    )


@settings(deadline=None)
@given(tables(), fractions_to_one, counts, st.sampled_from(["equal", "ordered"]))
def test_merging_groups_keeps_it(table: list, t: Fraction, count: str, distance: str) -> None:
    assert_merging_keeps(TCloseness(t=t, count=count, distance=distance), table)
