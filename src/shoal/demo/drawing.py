"""Draws for made-up tables, the same on every machine.

Everything comes from the uniform numbers of one generator and from weights made by plain arithmetic. Functions whose
last digit depends on the processor (powers, logarithms) or whose draws may change with numpy's release (shuffles,
integers, other distributions) are not used.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def generator(seed: int) -> np.random.Generator:
    """The generator of a seed, by name, so that another default of numpy changes nothing."""
    return np.random.Generator(np.random.PCG64(seed))


def draw(rng: np.random.Generator, weights: FloatArray, n: int) -> IntArray:
    """Draw n positions, each with a chance in proportion to its weight."""
    return draw_from_rows(rng, weights[np.newaxis, :], np.zeros(n, dtype=np.int64))


def draw_from_rows(rng: np.random.Generator, weights: FloatArray, row_of_draw: IntArray) -> IntArray:
    """For each row of a table of weights, draw one position by the weights in it."""
    cumulated = np.cumsum(weights, axis=1)
    shares = cumulated / cumulated[:, -1:]
    n_rows, n_positions = weights.shape
    ladder = (shares + np.arange(n_rows)[:, np.newaxis]).ravel()
    rung = np.searchsorted(ladder, row_of_draw + rng.random(len(row_of_draw)), side="right")
    position: IntArray = np.minimum(rung - row_of_draw * n_positions, n_positions - 1)
    return position


def whole_numbers(rng: np.random.Generator, low: int, high: int, n: int) -> IntArray:
    """Draw n whole numbers from `low` to below `high`, all equally likely."""
    return low + (rng.random(n) * (high - low)).astype(np.int64)


def shuffled(rng: np.random.Generator, n: int) -> IntArray:
    """The numbers 0 to n - 1 in random order."""
    return np.argsort(rng.random(n), kind="stable")


def happens(rng: np.random.Generator, chance: float, n: int) -> npt.NDArray[np.bool_]:
    """For each of n, whether something of this chance happens."""
    return rng.random(n) < chance


def skewed_counts(rng: np.random.Generator, n: int, *, shift: float, largest: int) -> IntArray:
    """Counts of 1 to `largest` with a heavy tail: the chance of c falls as 1 / (c + shift)^3."""
    shifted = np.arange(1, largest + 1) + shift
    return draw(rng, 1.0 / (shifted * shifted * shifted), n) + 1


def scattered_numbers(rng: np.random.Generator, n: int, *, digits: int) -> IntArray:
    """n different numbers of so many digits, in no order and with gaps between them."""
    lowest = 10 ** (digits - 1)
    largest_gap = max(1, 9 * lowest // max(n, 1))
    ascending: IntArray = lowest - 1 + np.cumsum(whole_numbers(rng, 1, largest_gap + 1, n))
    return ascending[shuffled(rng, n)]


def texts(words: list[str], position_of_record: IntArray) -> pl.Series:
    """The word at each record's position, as a text column."""
    return pl.Series(words, dtype=pl.String).gather(position_of_record)
