"""The individual risk: the chance that a person of a sample is found in the population, as far as it can be told."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def individual_risk(f: IntArray, population: FloatArray, *, exact: bool = False) -> FloatArray:
    """The individual risk of classes of f persons in the sample and F in the population: E[1/F | f].

    Parameters
    ----------
    exact
        Whether the mean is taken exactly for classes of more than two persons too, and not by the approximation that
        Benedetti and Franconi give and that is usual.
    """
    f, population = np.asarray(f, np.float64), np.asarray(population, np.float64)
    p = np.minimum(1.0, f / population)
    if exact:
        keys, place = np.unique(np.stack([f, population], axis=1), axis=0, return_inverse=True)
        return np.array([all_right(1, int(own), total) for own, total in keys.tolist()])[place.reshape(-1)]
    risk = p / (f - (1 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / (1 - p)
        one, two = odds * -np.log(p), odds - odds**2 * -np.log(p)
    risk = np.where(f == 1, one, np.where(f == 2, two, risk))
    return np.where(p >= 1, 1 / f, risk)


def all_right(j: int, f: int, population: float) -> float:
    """The chance that j given persons of a class are all matched right: E[(F - j)! / F! | f].

    F has the distribution by which the individual risk is made: negative binomial, at least f.
    """
    p = min(1.0, f / population)
    if p >= 1:
        return 1 / math.perm(f, j)
    # E = p^j / (j - 1)! times the integral over (0, 1) of u^(f - j) (1 - u)^(j - 1) / (p + (1 - p) u)
    u, rest, step = _nodes()
    values = u ** (f - j) * rest ** (j - 1) / (p + (1 - p) * u)
    return float(p**j / math.factorial(j - 1) * (values * step).sum())


@cache
def _nodes() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Places in (0, 1), their distances from 1, and weights, by which integrals are summed (tanh-sinh)."""
    t = np.linspace(-4.0, 4.0, 321)
    y = np.pi / 2 * np.sinh(t)
    u, rest = 1 / (1 + np.exp(-2 * y)), 1 / (1 + np.exp(2 * y))
    return u, rest, np.pi / 2 * np.cosh(t) / np.cosh(y) ** 2 / 2 * (t[1] - t[0])
