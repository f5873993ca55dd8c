from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import AlphaKAnonymity
from tests.models.builders import groups_of_values
from tests.models.refusals import NOT_COUNTS, NOT_NUMBERS
from tests.models.strategies import (
    assert_equals_twin,
    assert_merging_keeps,
    fractions_to_one,
    tables,
    wholes,
)
from tests.naive import models as naive


@pytest.mark.parametrize("alpha", [*NOT_NUMBERS, 0, 1.01, -0.1])
def test_a_threshold_out_of_range_is_refused(alpha: object) -> None:
    with pytest.raises(ParameterError, match="alpha must"):
        AlphaKAnonymity(alpha=alpha, k=2)


@pytest.mark.parametrize("k", NOT_COUNTS)
def test_a_k_out_of_range_is_refused(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1"):
        AlphaKAnonymity(alpha=0.5, k=k)


def test_both_parts_have_to_hold() -> None:
    groups = groups_of_values([[2, 2], [1, 1], [3, 1]])
    model = AlphaKAnonymity(alpha=0.5, k=4)
    assert model.holds(groups).tolist() == [True, False, False]
    assert model.reached(groups).tolist() == [0.5, 0.5, 0.75]
    assert model.asked == 0.5


def test_equality_passes_exactly() -> None:
    groups = groups_of_values([[1, 1, 1]])
    assert AlphaKAnonymity(alpha="1/3", k=3).holds(groups).tolist() == [True]
    assert AlphaKAnonymity(alpha=0.33, k=3).holds(groups).tolist() == [False]


def test_counts_whose_products_exceed_64_bits() -> None:
    groups = groups_of_values([[2**61, 2**61, 2**61], [2**61 + 1, 2**61, 2**61 - 1]])
    assert AlphaKAnonymity(alpha="1/3", k=2).holds(groups).tolist() == [True, False]


@settings(deadline=None)
@given(tables(), fractions_to_one, wholes)
def test_equals_its_definition(table: list, alpha: Fraction, k: int) -> None:
    assert_equals_twin(
        AlphaKAnonymity(alpha=alpha, k=k), lambda group, whole: naive.alpha_k_anonymity(group, alpha=alpha, k=k), table
    )


@settings(deadline=None)
@given(tables(), fractions_to_one, wholes)
def test_merging_groups_keeps_it(table: list, alpha: Fraction, k: int) -> None:
    assert_merging_keeps(AlphaKAnonymity(alpha=alpha, k=k), table)
