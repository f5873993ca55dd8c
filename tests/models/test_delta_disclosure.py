from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import DeltaDisclosure
from tests.models.builders import groups_of_values
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    above_zero,
    assert_equals_twin,
    assert_merging_keeps,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("delta", [*NOT_NUMBERS, 0, -0.1])
def test_a_threshold_out_of_range_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match="delta must"):
        DeltaDisclosure(delta=delta)


def test_a_value_that_a_group_lacks_breaks_it() -> None:
    groups = groups_of_values([[5, 0], [5, 10]])
    assert DeltaDisclosure(delta=1000).holds(groups).tolist() == [False, True]
    assert DeltaDisclosure(delta=1000).reached(groups)[0] == float("inf")


def test_codes_that_the_table_does_not_have_are_not_asked_for() -> None:
    groups = groups_of_values([[1, 0, 1], [2, 0, 2]])
    assert DeltaDisclosure(delta=0.001).holds(groups).tolist() == [True, True]
    assert DeltaDisclosure(delta=0.001).reached(groups).tolist() == [0.0, 0.0]


def test_the_logarithm_is_natural_and_a_fall_counts_like_a_rise() -> None:
    # value 1 has 1/10 of the table; in the second group 1/20: |ln 1/2| = 0.6931
    groups = groups_of_values([[17, 3], [19, 1]])
    assert DeltaDisclosure(delta=0.7).reached(groups).tolist() == pytest.approx([0.4054651, 0.6931472])
    assert DeltaDisclosure(delta=0.7).holds(groups).tolist() == [True, True]
    assert DeltaDisclosure(delta=0.69).holds(groups).tolist() == [True, False]


def test_counts_whose_products_exceed_64_bits() -> None:
    half = 2**40
    groups = groups_of_values([[half, half], [3 * half, half]])
    assert DeltaDisclosure(delta=1).reached(groups).tolist() == pytest.approx([0.4054651, 0.2876821])


@settings(deadline=None)
@given(tables(), above_zero)
def test_equals_its_definition(table: list, delta: Fraction) -> None:
    assert_equals_twin(
        DeltaDisclosure(delta=delta), lambda group, whole: naive.delta_disclosure(group, whole, delta=delta), table
    )


@settings(deadline=None)
@given(tables(), above_zero)
def test_merging_groups_keeps_it(table: list, delta: Fraction) -> None:
    assert_merging_keeps(DeltaDisclosure(delta=delta), table)
