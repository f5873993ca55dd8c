from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.models.exact import as_choice, as_count, as_fraction, ratio_at_most, share, squared
from tests.models.refusals import NOT_COUNTS, NOT_NUMBERS


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.8, Fraction(4, 5)),
        (0.1, Fraction(1, 10)),
        (0.67, Fraction(67, 100)),
        ("1/3", Fraction(1, 3)),
        (" 2/3 ", Fraction(2, 3)),
        ("0.25", Fraction(1, 4)),
        (1e-7, Fraction(1, 10**7)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (3, Fraction(3)),
        (np.int64(3), Fraction(3)),
        (np.float64(0.8), Fraction(4, 5)),
        (np.float32(0.8), Fraction(4, 5)),
    ],
)
def test_a_threshold_is_the_number_that_was_written(written: object, meant: Fraction) -> None:
    result = as_fraction(written, name="g")
    assert result == meant
    assert type(result.numerator) is int


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="g must be a number such as"):
        as_fraction(value, name="g")


@pytest.mark.parametrize("value", NOT_COUNTS)
def test_what_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1"):
        as_count(value, name="k")


@pytest.mark.parametrize("value", [5, 5.0, np.int32(5)])
def test_a_whole_number_is_a_count(value: object) -> None:
    assert as_count(value, name="k") == 5


def test_a_mistyped_choice_is_named_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"(?s)one of 'equal', 'ordered'.*Did you mean 'ordered'"):
        as_choice("orderd", name="distance", choices=("equal", "ordered"))
    with pytest.raises(ParameterError):
        as_choice(None, name="distance", choices=("equal", "ordered"))


sizes = st.one_of(st.integers(0, 50), st.integers(0, 2**62))


@settings(deadline=None)
@given(
    st.lists(st.tuples(sizes, sizes.filter(bool)), max_size=5),
    st.one_of(st.fractions(0, 3, max_denominator=40), st.fractions(0, 3)),
)
def test_ratios_are_compared_exactly_at_any_size(entries: list[tuple[int, int]], limit: Fraction) -> None:
    part = np.array([part for part, _ in entries], dtype=np.int64)
    whole = np.array([whole for _, whole in entries], dtype=np.int64)
    expected = [Fraction(part) / whole <= limit for part, whole in entries]
    assert ratio_at_most(part, whole, limit).tolist() == expected


def test_a_long_decimal_does_not_overflow() -> None:
    limit = Fraction(1, 10**30)
    assert ratio_at_most(np.array([0, 1]), np.array([5, 5]), limit).tolist() == [True, False]


def test_squares_beyond_64_bits_are_whole() -> None:
    assert squared(np.array([3, 2**40])).tolist() == [9, 2**80]
    assert squared(np.array([3, 4])).dtype == np.int64


def test_shares_are_floats() -> None:
    assert share(np.array([1, 3]), np.array([4, 4])).tolist() == [0.25, 0.75]


def test_a_choice_is_given_back() -> None:
    assert as_choice("b", name="letter", choices=("a", "b")) == "b"
