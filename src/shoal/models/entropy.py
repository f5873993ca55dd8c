"""Effective numbers: two to the entropy of shares, the number of equal shares that would be as hard to guess."""

from __future__ import annotations

import numpy as np

from shoal.models.exact import BoolArray, FloatArray, IntArray

TWELVE_DIGITS = 1e-12
"""Entropies are irrational, so equality is decided to twelve digits: equal shares pass at their own number."""


def times_log2(counts: IntArray) -> FloatArray:
    """c log2 c for each count c of at least one."""
    as_floats = np.asarray(counts, dtype=np.float64)
    return as_floats * np.log2(as_floats)


def effective_number(total: IntArray, sum_of_c_log2_c: FloatArray, n_shares: IntArray) -> FloatArray:
    """Two to the entropy of counts that sum to `total`: between one and the number of shares.

    The entropy of shares c / total is log2 total - (sum of c log2 c) / total. What differs from a whole number beyond
    the twelfth digit is that number: rounding would show three equal shares as 2.9999999999999996.
    """
    entropy = np.log2(np.asarray(total, dtype=np.float64)) - sum_of_c_log2_c / total
    number = np.clip(np.exp2(entropy), 1, n_shares)
    whole = np.rint(number)
    return np.where(np.abs(number - whole) <= TWELVE_DIGITS * whole, whole, number)


def at_least(reached: FloatArray, asked: float) -> BoolArray:
    """Whether `reached` is at least `asked`, where a difference beyond the twelfth digit counts as none."""
    return reached >= asked * (1 - TWELVE_DIGITS)
