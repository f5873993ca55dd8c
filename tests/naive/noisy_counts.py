"""Discrete Laplace noise, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

from math import exp


def chance(x: int, scale: float) -> float:
    """How likely x is: in proportion to e^(-|x| / scale), over all whole numbers."""
    q = exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(x)


def variance(scale: float) -> float:
    """The variance of the noise."""
    q = exp(-1 / scale)
    return 2 * q / (1 - q) ** 2
