from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.models import BetaLikeness
from tests.models.builders import groups_of_values
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    above_zero,
    assert_equals_twin,
    assert_merging_keeps,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("beta", [*NOT_NUMBERS, 0, -0.1])
def test_a_threshold_out_of_range_is_refused(beta: object) -> None:
    with pytest.raises(ParameterError, match="beta must"):
        BetaLikeness(beta=beta)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="one of 'basic', 'enhanced'"):
        BetaLikeness(beta=1, kind="plain")


def test_equality_passes_exactly() -> None:
    # value 1 has 1/10 of the table; a share of 1/5 is a gain of 1, of 3/10 a gain of 2
    groups = groups_of_values([[8, 2], [7, 3], [75, 5]])
    assert BetaLikeness(beta=1).holds(groups).tolist() == [True, False, True]
    assert BetaLikeness(beta=0.99).holds(groups).tolist() == [False, False, True]
    assert BetaLikeness(beta=2).holds(groups).tolist() == [True, True, True]
    assert BetaLikeness(beta=1).reached(groups)[:2].tolist() == [1.0, 2.0]


def test_a_common_value_may_fill_a_group_unless_enhanced() -> None:
    # value 0 has 4/5 of the table: filling a group is a gain of 1/4, more than -ln 0.8 = 0.223
    groups = groups_of_values([[2, 0], [2, 1]])
    assert BetaLikeness(beta=1).holds(groups).tolist() == [True, True]
    assert BetaLikeness(beta=1, kind="enhanced").holds(groups).tolist() == [False, True]
    assert BetaLikeness(beta=1, kind="enhanced").reached(groups)[0] == pytest.approx(0.25 / 0.22314355131420976)
    assert BetaLikeness(beta=1).reached(groups)[0] == 0.25


@pytest.mark.parametrize("kind", ["basic", "enhanced"])
def test_a_table_of_one_value_gains_nothing(kind: str) -> None:
    groups = groups_of_values([[3], [1]])
    assert BetaLikeness(beta=0.1, kind=kind).holds(groups).tolist() == [True, True]
    assert BetaLikeness(beta=0.1, kind=kind).reached(groups).tolist() == [0.0, 0.0]


def test_counts_whose_products_exceed_64_bits() -> None:
    half = 2**40
    groups = groups_of_values([[half, half], [half + 1, half - 1]])
    gains = Fraction(1, 2 * half - 1), Fraction(1, 2 * half + 1)  # of value 1 in the first, of value 0 in the second
    assert BetaLikeness(beta=gains[0]).holds(groups).tolist() == [True, True]
    assert BetaLikeness(beta=gains[1]).holds(groups).tolist() == [False, True]
    assert BetaLikeness(beta=gains[1] - Fraction(1, 10**40)).holds(groups).tolist() == [False, False]


@settings(deadline=None)
@given(tables(), above_zero)
def test_basic_equals_its_definition(table: list, beta: Fraction) -> None:
    assert_equals_twin(
        BetaLikeness(beta=beta), lambda group, whole: naive.basic_beta_likeness(group, whole, beta=beta), table
    )


@settings(deadline=None)
@given(tables(), above_zero)
def test_enhanced_equals_its_definition(table: list, beta: Fraction) -> None:
    assert_equals_twin(
        BetaLikeness(beta=beta, kind="enhanced"),
        lambda group, whole: naive.enhanced_beta_likeness(group, whole, beta=beta),
        table,
    )


@settings(deadline=None)
@given(tables(), above_zero, st.sampled_from(["basic", "enhanced"]))
def test_merging_groups_keeps_it(table: list, beta: Fraction, kind: str) -> None:
    assert_merging_keeps(BetaLikeness(beta=beta, kind=kind), table)
