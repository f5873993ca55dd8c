from __future__ import annotations

import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.models import PersonKAnonymity
from tests.models.builders import group_counts
from tests.models.refusals import NOT_COUNTS
from tests.models.strategies import (
    assert_equals_twin,
    assert_merging_keeps,
    tables,
    wholes,
)
from tests.naive import models as naive


@pytest.mark.parametrize("k", NOT_COUNTS)
def test_a_threshold_out_of_range_is_refused(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1"):
        PersonKAnonymity(k=k)


def test_persons_are_counted() -> None:
    groups = group_counts([(0, "a", 0), (0, "a", 0), (0, "b", 0), (1, "c", 0), (1, "d", 1), (1, "e", 1)])
    assert PersonKAnonymity(k=3).reached(groups).tolist() == [2, 3]
    assert PersonKAnonymity(k=3).holds(groups).tolist() == [False, True]
    assert PersonKAnonymity(k=4).holds(groups).tolist() == [False, False]


def test_a_k_beyond_64_bits_is_not_met() -> None:
    assert PersonKAnonymity(k=2**70).holds(group_counts([(0, "a", 0)])).tolist() == [False]


@settings(deadline=None)
@given(tables(), wholes)
def test_equals_its_definition(table: list, k: int) -> None:
    assert_equals_twin(PersonKAnonymity(k=k), lambda group, whole: naive.person_k_anonymity(group, k=k), table)


@settings(deadline=None)
@given(tables(), wholes)
def test_merging_groups_keeps_it(table: list, k: int) -> None:
    assert_merging_keeps(PersonKAnonymity(k=k), table)
