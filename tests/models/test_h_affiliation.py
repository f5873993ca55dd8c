from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import HAffiliation
from tests.models.builders import group_counts, groups_of_values
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    assert_equals_twin,
    assert_merging_keeps,
    fractions_to_one,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("h", [*NOT_NUMBERS, 0, 1.5, -0.1])
def test_a_threshold_out_of_range_is_refused(h: object) -> None:
    with pytest.raises(ParameterError, match="h must"):
        HAffiliation(h=h)


def test_l_can_be_given_instead() -> None:
    assert HAffiliation.for_l(4, column="disease") == HAffiliation(h=0.25, column="disease")
    assert HAffiliation.for_l(3).h == Fraction(1, 3)
    with pytest.raises(ParameterError, match="l must be a whole number"):
        HAffiliation.for_l(2.5)


def test_a_value_counts_once_for_each_person() -> None:
    groups = group_counts([(0, "a", 0), (0, "a", 0), (0, "a", 0), (0, "b", 1), (0, "c", 2)])
    assert HAffiliation(h="1/3").reached(groups).tolist() == [1 / 3]
    assert HAffiliation(h="1/3").holds(groups).tolist() == [True]
    assert HAffiliation(h=0.33).holds(groups).tolist() == [False]


def test_a_person_with_several_values_is_affiliated_with_each() -> None:
    groups = group_counts([(0, "d", 0), (0, "d", 1), (0, "e", 2), (0, "e", 1)])
    assert HAffiliation(h=0.99).reached(groups).tolist() == [1.0]
    assert HAffiliation(h=0.99).holds(groups).tolist() == [False]
    assert HAffiliation(h=1).holds(groups).tolist() == [True]


def test_one_person_has_the_highest_affiliation() -> None:
    assert HAffiliation(h=0.5).reached(group_counts([(0, "a", 0), (0, "a", 1)])).tolist() == [1.0]


def test_a_person_in_several_groups_counts_in_each() -> None:
    groups = group_counts([(0, "a", 0), (1, "a", 0), (1, "b", 1)])
    assert HAffiliation(h=0.5).reached(groups).tolist() == [1.0, 0.5]


def test_counts_whose_products_exceed_64_bits() -> None:
    groups = groups_of_values([[2**61, 2**61, 2**61], [2**61 + 1, 2**61, 2**61 - 1]])
    assert HAffiliation(h="1/3").holds(groups).tolist() == [True, False]


@settings(deadline=None)
@given(tables(), fractions_to_one)
def test_equals_its_definition(table: list, h: Fraction) -> None:
    assert_equals_twin(HAffiliation(h=h), lambda group, whole: naive.h_affiliation(group, h=h), table)


@settings(deadline=None)
@given(tables(), fractions_to_one)
def test_merging_groups_keeps_it(table: list, h: Fraction) -> None:
    assert_merging_keeps(HAffiliation(h=h), table)
