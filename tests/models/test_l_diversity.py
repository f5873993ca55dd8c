from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.models import LDiversity
from tests.models.builders import group_counts, groups_of_values
from tests.models.refusals import NOT_COUNTS, NOT_NUMBERS
from tests.models.strategies import (
    above_one,
    above_zero,
    assert_equals_twin,
    assert_merging_keeps,
    counts,
    tables,
    wholes,
)
from tests.naive import models as naive

KINDS = ["frequency", "distinct", "entropy", "recursive"]


def of_kind(kind: str, **parameters: object) -> LDiversity:
    return LDiversity(kind=kind, c=2 if kind == "recursive" else None, **parameters)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l", [*NOT_NUMBERS, 0, 0.5, -2])
def test_a_threshold_out_of_range_is_refused(kind: str, l: object) -> None:  # noqa: E741
    with pytest.raises(ParameterError, match="l must be"):
        of_kind(kind, l=l)


@pytest.mark.parametrize("kind", ["distinct", "recursive"])
@pytest.mark.parametrize("l", NOT_COUNTS)
def test_values_are_counted_in_whole_numbers(kind: str, l: object) -> None:  # noqa: E741
    with pytest.raises(ParameterError, match="l must be a whole number"):
        of_kind(kind, l=l)


def test_shares_and_effective_numbers_need_not_be_whole() -> None:
    assert LDiversity(l=2.5).asked == LDiversity(l="5/2", kind="entropy").asked == 2.5


@pytest.mark.parametrize("c", [*(bad for bad in NOT_NUMBERS if bad is not None), 0, -1])
def test_a_factor_out_of_range_is_refused(c: object) -> None:
    with pytest.raises(ParameterError, match="c must be"):
        LDiversity(l=2, kind="recursive", c=c)


def test_only_recursive_diversity_has_a_factor() -> None:
    with pytest.raises(ParameterError, match="asks for c"):
        LDiversity(l=2, kind="recursive")
    with pytest.raises(ParameterError, match="Leave c out"):
        LDiversity(l=2, kind="entropy", c=3)


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"(?s)kind of l-diversity.*Did you mean 'entropy'"):
        LDiversity(l=2, kind="entrop")
    with pytest.raises(ParameterError, match="count must be one of 'records', 'persons'"):
        LDiversity(l=2, count="rows")


def test_frequency_is_exact_at_the_threshold() -> None:
    groups = groups_of_values([[2, 2, 2], [3, 2, 1], [4, 3, 3]])
    assert LDiversity(l=3).holds(groups).tolist() == [True, False, False]
    assert LDiversity(l=2.5).holds(groups).tolist() == [True, False, True]
    assert LDiversity(l=3).reached(groups).tolist() == [3.0, 2.0, 2.5]


def test_entropy_passes_where_all_values_are_equally_common() -> None:
    groups = groups_of_values([[7, 7, 7, 7, 7], [7, 7, 7, 7, 6]])
    assert LDiversity(l=5, kind="entropy").holds(groups).tolist() == [True, False]


@pytest.mark.parametrize("l", [3, 5, 6, 10])
def test_an_entropy_that_is_met_exactly_is_shown_as_what_was_asked(l: int) -> None:  # noqa: E741
    assert LDiversity(l=l, kind="entropy").reached(groups_of_values([[1] * l])).tolist() == [l]


@pytest.mark.parametrize(
    ("counts", "c", "l", "holds"),
    [
        ([4, 2, 2], 2, 2, True),
        ([4, 2, 2], 1, 2, False),  # strictly less: 4 is not below 2 + 2
        ([4, 2, 2], "1.0000001", 2, True),
        ([1, 1, 1], "1/3", 1, False),
        ([1, 1, 1], 0.34, 1, True),
        ([5, 5], 3, 3, False),  # no third value
        ([1], 2, 1, True),
    ],
)
def test_recursive_diversity_by_hand(counts: list[int], c: object, l: int, holds: bool) -> None:  # noqa: E741
    assert LDiversity(l=l, c=c, kind="recursive").holds(groups_of_values([counts])).tolist() == [holds]


def test_recursive_diversity_reaches_the_largest_l_that_holds() -> None:
    groups = groups_of_values([[3, 3, 2, 1], [9, 1, 1, 1]])
    assert LDiversity(l=1, c=1.5, kind="recursive").reached(groups).tolist() == [3.0, 1.0]
    assert LDiversity(l=1, c=0.5, kind="recursive").reached(groups).tolist() == [1.0, 0.0]


def test_records_of_one_person_do_not_make_a_group_diverse_for_persons() -> None:
    groups = group_counts([(0, "c", 0), (0, "c", 1), (0, "c", 2)])
    assert LDiversity(l=3, kind="distinct").holds(groups).tolist() == [True]
    assert LDiversity(l=2, kind="distinct", count="persons").holds(groups).tolist() == [False]
    assert LDiversity(l=2, kind="distinct", count="persons").reached(groups).tolist() == [1.0]


def test_a_person_gives_way_so_that_another_gets_a_value() -> None:
    groups = group_counts([(0, "a", 0), (0, "a", 1), (0, "b", 0), (1, "c", 0), (1, "d", 0), (1, "d", 0)])
    model = LDiversity(l=2, kind="distinct", count="persons")
    assert model.holds(groups).tolist() == [True, False]
    assert model.reached(groups).tolist() == [2.0, 1.0]


def test_an_l_beyond_64_bits_is_not_met() -> None:
    groups = group_counts([(0, "a", 0), (0, "b", 1)])
    assert LDiversity(l=2**70, kind="distinct", count="persons").holds(groups).tolist() == [False]
    assert LDiversity(l=2**70, kind="distinct").holds(groups).tolist() == [False]


def test_persons_count_once_for_each_value() -> None:
    groups = group_counts([(0, "a", 0)] * 8 + [(0, "b", 1), (0, "c", 2)])
    assert LDiversity(l=3).holds(groups).tolist() == [False]
    assert LDiversity(l=3, count="persons").holds(groups).tolist() == [True]


def test_counts_whose_products_exceed_64_bits() -> None:
    groups = groups_of_values([[2**61, 2**61, 2**61], [2**61 + 1, 2**61, 2**61 - 1]])
    assert LDiversity(l=3).holds(groups).tolist() == [True, False]
    c = Fraction(2**61, 2**62)
    assert LDiversity(l=2, c=c, kind="recursive").holds(groups).tolist() == [False, False]
    assert LDiversity(l=2, c=c + Fraction(1, 2**90), kind="recursive").holds(groups).tolist() == [True, False]


@settings(deadline=None)
@given(tables(), above_one, counts)
def test_frequency_equals_its_definition(table: list, l: Fraction, count: str) -> None:  # noqa: E741
    assert_equals_twin(
        LDiversity(l=l, count=count), lambda group, whole: naive.frequency_l_diversity(group, l=l, count=count), table
    )


@settings(deadline=None)
@given(tables(), wholes, counts)
def test_distinct_equals_its_definition(table: list, l: int, count: str) -> None:  # noqa: E741
    assert_equals_twin(
        LDiversity(l=l, kind="distinct", count=count),
        lambda group, whole: naive.distinct_l_diversity(group, l=l, count=count),
        table,
    )


@settings(deadline=None)
@given(tables(), above_one, counts)
def test_entropy_equals_its_definition(table: list, l: Fraction, count: str) -> None:  # noqa: E741
    assert_equals_twin(
        LDiversity(l=l, kind="entropy", count=count),
        lambda group, whole: naive.entropy_l_diversity(group, l=l, count=count),
        table,
    )


@settings(deadline=None)
@given(tables(), wholes, above_zero, counts)
def test_recursive_equals_its_definition(table: list, l: int, c: Fraction, count: str) -> None:  # noqa: E741
    assert_equals_twin(
        LDiversity(l=l, kind="recursive", c=c, count=count),
        lambda group, whole: naive.recursive_l_diversity(group, l=l, c=c, count=count),
        table,
    )


@settings(deadline=None, max_examples=300)
@given(tables(), st.integers(1, 3), above_zero, counts, st.sampled_from(KINDS))
def test_merging_groups_keeps_it(table: list, l: int, c: Fraction, count: str, kind: str) -> None:  # noqa: E741
    assert_merging_keeps(LDiversity(l=l, kind=kind, c=c if kind == "recursive" else None, count=count), table)
