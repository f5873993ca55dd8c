from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import EntropyBalance
from tests.models.builders import one_group
from tests.models.refusals import NOT_NUMBERS
from tests.models.strategies import (
    above_one,
    assert_equals_twin,
    assert_merging_keeps,
    tables,
)
from tests.naive import models as naive


@pytest.mark.parametrize("k", [*NOT_NUMBERS, 0, 0.99, -3])
def test_a_threshold_out_of_range_is_refused(k: object) -> None:
    with pytest.raises(ParameterError, match="k must"):
        EntropyBalance(k=k)


@pytest.mark.parametrize("n_persons", [1, 2, 3, 5, 7, 10, 49, 1000])
@pytest.mark.parametrize("records_each", [1, 3, 7, 1000])
def test_persons_with_equally_many_records_count_as_themselves(n_persons: int, records_each: int) -> None:
    groups = one_group([records_each] * n_persons)
    assert EntropyBalance(k=n_persons).holds(groups).tolist() == [True]
    assert EntropyBalance(k=n_persons + Fraction(1, 10**8)).holds(groups).tolist() == [False]
    assert EntropyBalance(k=1).reached(groups).tolist() == [n_persons], "a whole number is shown as it"


def test_one_heavy_person_lowers_the_effective_number() -> None:
    groups = one_group([5, 1, 1])
    assert EntropyBalance(k=2).reached(groups) == pytest.approx(7 / 5 ** (5 / 7), rel=1e-14)  # 2.217
    assert EntropyBalance(k=2.2).holds(groups).tolist() == [True]
    assert EntropyBalance(k=2.3).holds(groups).tolist() == [False]


def test_a_person_alone_counts_as_one() -> None:
    assert EntropyBalance(k=1.5).reached(one_group([12345])).tolist() == [1.0]
    assert EntropyBalance(k=1).holds(one_group([12345])).tolist() == [True]


def test_large_counts() -> None:
    assert EntropyBalance(k=2).holds(one_group([2**30, 2**30])).tolist() == [True]
    assert EntropyBalance(k=2).holds(one_group([2**30, 2**29])).tolist() == [False]


@settings(deadline=None)
@given(tables(), above_one)
def test_equals_its_definition(table: list, k: Fraction) -> None:
    assert_equals_twin(EntropyBalance(k=k), lambda group, whole: naive.entropy_balance(group, k=k), table)


@settings(deadline=None)
@given(tables(), above_one)
def test_merging_groups_keeps_it(table: list, k: Fraction) -> None:
    assert_merging_keeps(EntropyBalance(k=k), table)
