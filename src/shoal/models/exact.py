"""Thresholds as the user wrote them, compared with counts exactly: 0.8 is 4/5, and equality passes."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, did_you_mean

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Threshold = int | float | str | Decimal | Fraction
"""What a user may write for a threshold; `as_fraction` turns it into the number that was meant."""

LARGEST_INT64 = 2**63 - 1
LARGEST_L = 1_000_000
"""Of models that count values: far above any use, and small enough to count with."""

_EXPONENT_OUT_OF_REASON = re.compile(r"[eE][+-]?[\d_]{4,}")


def as_fraction(value: Threshold, *, name: str) -> Fraction:
    """The decimal or fraction that the user wrote: 0.8 becomes 4/5, '2/3' becomes 2/3, 0.67 stays 67/100."""
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, Rational):  # also numpy's whole numbers
            return Fraction(int(value.numerator), int(value.denominator))
        written = str(value)
        if _EXPONENT_OUT_OF_REASON.search(written):  # 1e999999999 would be worked out digit by digit
            raise ValueError
        return Fraction(written)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be a number such as 0.8 or 2/3, got {value!r}.") from None


def as_count(value: object, *, name: str, at_least: int = 1, at_most: int | None = None) -> int:
    """A whole number within limits; 2.5 and True are refused."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if isinstance(value, float) and value.is_integer():
        value, whole = int(value), True
    if not whole or int(value) < at_least:  # type: ignore[call-overload]
        raise ParameterError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    count = int(value)  # type: ignore[call-overload]
    if at_most is not None and count > at_most:
        raise ParameterError(f"{name} must be at most {at_most:,}, got {count:,}.")
    return count


def as_choice(value: object, *, name: str, choices: tuple[str, ...]) -> str:
    """One of the named choices; anything else is refused with the list of them."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"{name} must be one of {listed}, got {value!r}.{did_you_mean(str(value), choices)}")
    return value


def widen(largest: int, *counts: IntArray) -> tuple[IntArray, ...]:
    """The counts, as Python's whole numbers where results up to `largest` do not fit in 64 bits."""
    if largest <= LARGEST_INT64:
        return counts
    return tuple(cast(IntArray, each.astype(object)) for each in counts)


def squared(counts: IntArray) -> IntArray:
    """Each count times itself; also where that exceeds 64 bits."""
    (counts,) = widen(int(counts.max(initial=0)) ** 2, counts)
    return counts * counts


def ratio_at_most(part: IntArray, whole: IntArray, limit: Fraction) -> BoolArray:
    """Whether part / whole <= limit, entry by entry, in whole numbers; also where the products exceed 64 bits."""
    if part.size == 0:
        return np.zeros(0, dtype=np.bool_)
    largest = max(int(part.max()), 1) * limit.denominator, max(int(whole.max()), 1) * abs(limit.numerator)
    part, whole = widen(max(largest), part, whole)
    return np.asarray(part * limit.denominator <= limit.numerator * whole, dtype=np.bool_)


def share(part: IntArray | FloatArray, whole: IntArray) -> FloatArray:
    """part / whole as floats, for showing; deciding is `ratio_at_most`'s."""
    return np.asarray(part, dtype=np.float64) / np.asarray(whole, dtype=np.float64)
