"""Models of records and persons said as limits."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from shoal.models import EntropyBalance, GBalance, HAffiliation, KAnonymity, PersonKAnonymity, RecordRisk
from shoal.models.contract import SpreadLimits, limits_of
from tests.models.builders import group_counts
from tests.models.strategies import tables

MODELS = [GBalance(g=0.6), RecordRisk(rho="1/3"), KAnonymity(k=4), PersonKAnonymity(k=3)]


def test_nothing_asked_limits_nothing() -> None:
    assert limits_of([]) == SpreadLimits()
    assert SpreadLimits().in_whole_numbers == (1, 1, 1, 1, 1, 1)


def test_the_stricter_of_two_is_kept_whichever_comes_first() -> None:
    loose = SpreadLimits(least_persons=2, least_records=3, largest_share=Fraction(1, 2), largest_squares=Fraction(2, 3))
    strict = SpreadLimits(
        least_persons=4, least_records=5, largest_share=Fraction(1, 5), largest_squares=Fraction(3, 7)
    )
    assert loose.and_also(strict) == strict.and_also(loose) == strict
    assert strict.in_whole_numbers == (4, 5, 1, 5, 3, 7)


def test_models_of_values_are_passed_over_and_one_that_has_no_limits_ends_it() -> None:
    assert limits_of([HAffiliation(h=0.5), KAnonymity(k=4)]) == SpreadLimits(least_records=4)
    assert limits_of([KAnonymity(k=4), EntropyBalance(k=2)]) is None


@pytest.mark.parametrize(("n_records", "fits"), [(2**30, True), (2**31 - 1, True), (2**31, False), (2**40, False)])
def test_squares_stay_within_64_bits(n_records: int, fits: bool) -> None:
    assert SpreadLimits().fits(n_records) is fits


def test_large_fractions_leave_less_room() -> None:
    limits = SpreadLimits(largest_share=Fraction(1, 2**20))
    assert limits.fits(2**21 - 1)
    assert not limits.fits(2**21)


@given(tables())
def test_limits_say_what_the_models_say(table: list) -> None:
    groups = group_counts(table)
    limits = limits_of(MODELS)
    assert limits is not None
    by_models = [all(model.holds(groups)[group] for model in MODELS) for group in range(len(groups))]
    records, squared, most = groups.records.tolist(), groups.squared_records.tolist(), groups.most_records.tolist()
    by_limits = [
        persons >= limits.least_persons
        and records[group] >= limits.least_records
        and Fraction(most[group], records[group]) <= limits.largest_share
        and Fraction(squared[group], records[group] ** 2) <= limits.largest_squares
        for group, persons in enumerate(groups.persons.tolist())
    ]
    assert by_limits == by_models
