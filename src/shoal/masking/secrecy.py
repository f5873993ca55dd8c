"""What must not be guessed: pseudonyms, record order and date shifts, from the system's secure randomness."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.shuffling import shuffled

LETTERS = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
"""32 signs without those that are easily mistaken for others (I, L, O, U)."""

PSEUDONYM_LENGTH = 8
SIGNS_OF_WORD = 12
MOST_DAYS_SHIFTED = 365

_SOURCE: ContextVar[Callable[[int], bytes]] = ContextVar("shoal_secure_bytes", default=os.urandom)


@contextmanager
def bytes_from(source: Callable[[int], bytes]) -> Iterator[None]:
    """Take the secure bytes of a block from elsewhere: from a secret key, where work may have to be done twice."""
    token = _SOURCE.set(source)
    try:
        yield
    finally:
        _SOURCE.reset(token)


def secret_words(n: int) -> NDArray[np.uint64]:
    """n random 64-bit words of the system's secure source."""
    return np.frombuffer(_SOURCE.get()(8 * n), dtype=np.uint64)


def secret_order(n: int) -> NDArray[np.int32]:
    """A random order of n records that nobody can repeat."""
    return shuffled(secret_words(n))


def pseudonyms(n: int) -> pl.Series:
    """n different random names such as P7K2M9QX, made from nothing but secure randomness."""
    drawn = np.zeros(0, np.uint64)
    while len(drawn) < n:
        more = secret_words(n - len(drawn)) >> np.uint64(64 - 5 * (PSEUDONYM_LENGTH - 1))
        drawn = _distinct(np.concatenate([drawn, more]))
    drawn = drawn[secret_order(n)]
    return _names([drawn], PSEUDONYM_LENGTH)


def long_pseudonyms(n: int) -> pl.Series:
    """n random names of 16 signs, 75 bits each, for parts of a table that cannot be compared while they are drawn."""
    return _names([secret_words(n), secret_words(n)], 2 * PSEUDONYM_LENGTH)


def _names(words: Sequence[NDArray[np.uint64]], length: int) -> pl.Series:
    """Names from random words, twelve signs per word."""
    signs = np.empty((len(words[0]), length), dtype=np.uint8)
    signs[:, 0] = ord("P")
    for place in range(length - 1):
        word, inside = divmod(place, SIGNS_OF_WORD)
        signs[:, place + 1] = LETTERS[(words[word] >> np.uint64(5 * inside)) & np.uint64(31)]
    return pl.Series(signs.view(f"S{length}").ravel()).cast(pl.String)


def _distinct(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    ascending = np.sort(words)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])]


def days_shifted(n: int) -> NDArray[np.int64]:
    """A random number of days for each of n persons, from a year back to a year on, never none."""
    days = (secret_words(n) % np.uint64(2 * MOST_DAYS_SHIFTED)).astype(np.int64) - MOST_DAYS_SHIFTED
    return np.where(days >= 0, days + 1, days)
