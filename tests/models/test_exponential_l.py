# l is the paper's name
# ruff: noqa: E741

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError, SchemaError
from shoal.models import ExponentialL, JointDiversity, LDiversity, Model
from shoal.models.exponential_l import _distinct_among, _numbered
from tests.models.builders import group_counts
from tests.models.refusals import NOT_COUNTS
from tests.models.test_joint_diversity import joint_groups, one_record_each
from tests.naive import covering as naive

records = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12)


@pytest.mark.parametrize("l", NOT_COUNTS)
def test_a_threshold_out_of_range_is_refused(l: object) -> None:
    with pytest.raises(ParameterError, match="l must be"):
        ExponentialL(l=l)


def test_the_model_keeps_the_contract() -> None:
    model = ExponentialL(l=3)
    assert isinstance(model, Model)
    assert model.asked == 3.0
    assert hash(model) == hash(ExponentialL(l=3))


@settings(max_examples=200)
@given(st.lists(records, min_size=1, max_size=3), st.integers(1, 3))
def test_it_equals_the_definition(groups, l) -> None:
    counts = joint_groups([one_record_each(*group) for group in groups])
    expected = [naive.exponential_l(group) for group in groups]
    assert ExponentialL(l=l).reached(counts).tolist() == expected
    assert ExponentialL(l=l).holds(counts).tolist() == [value >= l for value in expected]


@given(records, records, st.integers(1, 3))
def test_merging_keeps_it(first, second, l) -> None:
    model = ExponentialL(l=l)
    if model.holds(joint_groups([one_record_each(*first), one_record_each(*second)])).all():
        assert model.holds(joint_groups([one_record_each(*first, *second)]))[0]


@given(records, st.integers(1, 3))
def test_with_one_attribute_it_is_distinct_diversity(group, l) -> None:
    counts = joint_groups([one_record_each(*[record[:1] for record in group])], columns=("disease",))
    assert ExponentialL(l=l).reached(counts).tolist() == LDiversity(l=l, kind="distinct").reached(counts).tolist()


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10)


@given(pairs)
def test_pairs_are_numbered_apart(found) -> None:
    first, second = np.array(found).T
    numbers = _numbered(first, second).tolist()
    assert len(set(numbers)) == len(set(found)) == len(set(zip(numbers, found, strict=True)))
    assert sorted(set(numbers)) == list(range(len(set(found))))


@given(pairs)
def test_different_values_among_those_alike_are_counted(found) -> None:
    alike, values = np.array(found).T
    counted = _distinct_among(alike, values).tolist()
    assert counted == [len({v for a, v in found if a == number}) for number in range(max(alike) + 1)]


def test_l_values_of_m_attributes_take_l_to_the_m_persons() -> None:
    every = [(a, b, c) for a in range(2) for b in range(2) for c in range(2)]
    whole, without_one = (joint_groups([one_record_each(*persons)]) for persons in (every, every[1:]))
    assert ExponentialL(l=2).holds(whole).tolist() == [True]
    assert ExponentialL(l=2).holds(without_one).tolist() == [False]


def test_it_does_not_hold_where_joint_diversity_does() -> None:
    different = joint_groups([one_record_each(*[(n, n, n) for n in range(10)])])
    assert JointDiversity(l=10).holds(different).tolist() == [True]
    assert ExponentialL(l=2).reached(different).tolist() == [1.0]


def test_several_values_of_a_person_are_refused() -> None:
    groups = joint_groups([[[(0, 0, 0), (1, 0, 0)], [(1, 1, 1)]]])
    with pytest.raises(SchemaError, match=r"one record per person, but 1 of 2 persons have several"):
        ExponentialL(l=2).holds(groups)


def test_the_same_record_twice_is_one_value() -> None:
    groups = joint_groups([[[(0, 0, 0), (0, 0, 0)], [(1, 1, 1)]]])
    assert ExponentialL(l=2).reached(groups).tolist() == [1.0]


def test_no_groups_and_no_attributes() -> None:
    assert ExponentialL(l=2).holds(joint_groups([])).tolist() == []
    with pytest.raises(SchemaError, match="none is named"):
        ExponentialL(l=2).holds(group_counts([(0, "a"), (0, "b")], columns=()))
