from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import GBalance
from tests.models.builders import one_group
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    assert_equals_twin,
    assert_merging_keeps,
    fractions_to_one,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("g", [*NOT_NUMBERS, 1, 1.5, -0.1, "-1/3"])
def test_a_threshold_out_of_range_is_refused(g: object) -> None:
    with pytest.raises(ParameterError, match="g must"):
        GBalance(g=g)


def test_k_can_be_given_instead() -> None:
    assert GBalance.for_k(5) == GBalance(g=0.8) == GBalance(g="4/5")
    assert GBalance.for_k(3).g == Fraction(2, 3)
    with pytest.raises(ParameterError, match="k must be a whole number"):
        GBalance.for_k(2.5)


@pytest.mark.parametrize(
    ("records_of_person", "reached"),
    [([1], 0.0), ([7], 0.0), ([1, 1], 0.5), ([1] * 5, 0.8), ([3] * 5, 0.8), ([5, 1, 1], 22 / 49)],
)
def test_small_groups_reach_what_one_computes_by_hand(records_of_person: list[int], reached: float) -> None:
    assert GBalance(g=0).reached(one_group(records_of_person)).tolist() == [reached]


@pytest.mark.parametrize(
    ("g", "records_of_person", "holds"),
    [
        (0, [4], True),
        (0.01, [4], False),
        (0.8, [1] * 5, True),
        (0.80001, [1] * 5, False),
        (0.9, [1] * 10, True),
        ("2/3", [1] * 3, True),
        (0.67, [1] * 3, False),
        (0.66, [1] * 3, True),
        (0.8, [2, 1, 1, 1, 1], False),
    ],
)
def test_equality_passes_exactly(g: object, records_of_person: list[int], holds: bool) -> None:
    assert GBalance(g=g).holds(one_group(records_of_person)).tolist() == [holds]


def test_counts_whose_products_exceed_64_bits() -> None:
    half = one_group([2**30, 2**30])
    assert GBalance(g="0.5").holds(half).tolist() == [True]
    assert GBalance(g="0.500000000000000000000001").holds(half).tolist() == [False]
    a_little_less = one_group([2**30 + 1, 2**30])
    assert GBalance(g="0.5").holds(a_little_less).tolist() == [False]
    assert GBalance(g="0.4999999999").holds(a_little_less).tolist() == [True]


@settings(deadline=None)
@given(tables(), fractions_to_one)
def test_equals_its_definition(table: list, g: Fraction) -> None:
    assert_equals_twin(GBalance(g=g), lambda group, whole: naive.g_balance(group, g=g), table)


@settings(deadline=None)
@given(tables(), fractions_to_one)
def test_merging_groups_keeps_it(table: list, g: Fraction) -> None:
    assert_merging_keeps(GBalance(g=g), table)
