from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import RecordRisk
from tests.models.builders import group_counts, one_group
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    assert_equals_twin,
    assert_merging_keeps,
    fractions_to_one,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("rho", [*NOT_NUMBERS, 0, 1.01, -0.1])
def test_a_threshold_out_of_range_is_refused(rho: object) -> None:
    with pytest.raises(ParameterError, match="rho must"):
        RecordRisk(rho=rho)


@pytest.mark.parametrize(
    ("rho", "records_of_person", "holds"),
    [
        (1, [1], True),
        (0.99, [6], False),
        (0.5, [3, 3], True),
        (0.1, [1] * 10, True),
        (0.1, [2] + [1] * 9, False),
        ("1/3", [2, 2, 2], True),
        (0.33, [2, 2, 2], False),
        (0.8, [4, 1], True),
        (0.7999, [4, 1], False),
    ],
)
def test_equality_passes_exactly(rho: object, records_of_person: list[int], holds: bool) -> None:
    assert RecordRisk(rho=rho).holds(one_group(records_of_person)).tolist() == [holds]


def test_it_sees_the_one_person_whom_record_counting_misses() -> None:
    five_visits_of_one = [(0, "a", 0)] * 5
    five_persons = [(1, person, 0) for person in "bcdef"]
    assert RecordRisk(rho=0.2).reached(group_counts(five_visits_of_one + five_persons)).tolist() == [1.0, 0.2]


def test_counts_whose_products_exceed_64_bits() -> None:
    heavy = 2**31
    groups = one_group([heavy, *[1] * 3])
    just = Fraction(heavy, heavy + 3)
    assert RecordRisk(rho=just).holds(groups).tolist() == [True]
    assert RecordRisk(rho=just - Fraction(1, 10**25)).holds(groups).tolist() == [False]


@settings(deadline=None)
@given(tables(), fractions_to_one)
def test_equals_its_definition(table: list, rho: Fraction) -> None:
    assert_equals_twin(RecordRisk(rho=rho), lambda group, whole: naive.record_risk(group, rho=rho), table)


@settings(deadline=None)
@given(tables(), fractions_to_one)
def test_merging_groups_keeps_it(table: list, rho: Fraction) -> None:
    assert_merging_keeps(RecordRisk(rho=rho), table)
