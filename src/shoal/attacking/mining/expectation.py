"""How many persons a rule needs before it says something: the minimum expectation of Li and Li (2008), section IV."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from shoal.errors import ParameterError

ROUNDING = 1e-13
"""Relative error within which two logarithms may not tell on which side of a whole number their ratio lies."""
LARGEST_EXACT = 10_000
"""Up to this power, what logarithms cannot tell is decided with whole numbers."""


def as_min_expectation(value: object) -> Fraction:
    """The least expectation that a rule needs, as the decimal that was written; refused outside (0, 1)."""
    written = _as_written(value)
    if written is None or not 0 < written < 1:
        raise ParameterError(
            f"min_expectation must be a number above 0 and below 1, such as 0.9, got {value}. It is how probable it "
            "must be that chance alone would have broken a rule: 0 makes every coincidence a rule, 1 makes none."
        )
    return written


def refuse_low_confidence(value: object) -> None:
    """Refuse rules that have exceptions: with them nobody can tell which values are possible."""
    if _as_written(value) != 1:
        raise ParameterError(
            f"min_confidence must be 1, got {value}. A rule with exceptions does not exclude a value, so counting "
            "the values that are left would say too little of some persons and too much of others."
        )


def _as_written(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        return None
    try:
        return Fraction(value) if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def needed_support(n_persons: int, n_with: int, min_expectation: Fraction) -> float:
    """How many persons must satisfy X for the rule "X never has Y", where `n_with` of all persons have Y.

    Notes
    -----
    The smallest C with 1 - (1 - n_with / n_persons)^C >= min_expectation. Equality passes: where rounding cannot tell,
    whole numbers decide. What everybody has, nothing excludes: then no number is enough.
    """
    if n_with >= n_persons:
        return math.inf
    needed = math.log1p(-float(min_expectation)) / math.log1p(-n_with / n_persons)
    nearest = round(needed)
    if 0 < nearest <= LARGEST_EXACT and abs(needed - nearest) <= ROUNDING * nearest:
        is_enough = Fraction(n_persons - n_with, n_persons) ** nearest <= 1 - min_expectation
        return float(nearest) if is_enough else math.nextafter(nearest, math.inf)
    return needed


def expectation(n_persons: int, n_with: int, support: float) -> float:
    """How probable it is that one of `support` persons has a value that `n_with` of all persons have."""
    if n_with >= n_persons:
        return 1.0
    return -math.expm1(support * math.log1p(-n_with / n_persons))
