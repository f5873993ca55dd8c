"""Special uniques (SUDA2): who is alone already by a few of the quasi-identifiers, and how much each column does.

A minimal sample unique of a person is a set of columns by which nobody else is like them, and of which no column can be
left out. Who has many of them, and small ones, is a special unique: unique in the population too, probably.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_SETS = 5_000
"""So many sets of columns are looked at; of more columns only small sets are."""
DIS_FRACTION = 0.01
"""The share of the population that is taken to be in the sample where no weights say it; sdcMicro's default."""


@dataclass(frozen=True, kw_only=True)
class SudaRisk:
    """Special uniques of a table.

    Attributes
    ----------
    max_size
        Up to how many columns minimal sample uniques were looked for.
    persons
        How many persons have some.
    total_score, max_score
        The sum and the largest of the scores: (M - s)! for each minimal sample unique of s of the M columns.
    expected_found, max_dis
        The sum and the largest of the DIS scores: the chance that a match of a unique is right.
    contributions
        In percent of the total score, what of it comes from minimal sample uniques that have each column.
    """

    max_size: int
    persons: int
    total_score: float
    max_score: float
    expected_found: float
    max_dis: float
    contributions: dict[str, float]


@dataclass(frozen=True)
class SudaScores:
    """The scores of every person, and the weight of each column in them."""

    score: FloatArray
    dis: FloatArray
    of_columns: FloatArray
    """The part of the score of each person (line) that each column (row) has a part in."""
    max_size: int


def suda_of(codes: Sequence[tuple[IntArray, int]], names: Sequence[str], *, fraction: float | None = None) -> SudaRisk:
    """Special uniques of persons by their codes in each column."""
    scores = suda_scores(codes, fraction=DIS_FRACTION if fraction is None else fraction)
    total = float(scores.score.sum())
    shares = scores.of_columns.sum(axis=0) / total * 100 if total else np.zeros(len(names))
    return SudaRisk(
        max_size=scores.max_size,
        persons=int(np.count_nonzero(scores.score)),
        total_score=total,
        max_score=float(scores.score.max(initial=0.0)),
        expected_found=math.fsum(scores.dis.tolist()),
        max_dis=float(scores.dis.max(initial=0.0)),
        contributions={name: float(share) for name, share in zip(names, shares, strict=True)},
    )


def suda_scores(
    codes: Sequence[tuple[IntArray, int]],
    *,
    max_size: int | None = None,
    fraction: float = DIS_FRACTION,
    points: Literal["factorial", "sets"] = "factorial",
) -> SudaScores:
    """The SUDA2 score and the DIS score of every person (Elliot and others; Manning and others 2008).

    Parameters
    ----------
    max_size
        Up to how many columns a minimal sample unique may have; unless told as many as 5,000 sets allow.
    fraction
        The share of the population that is in the sample, by which it is told how likely a match of a unique is right.
    points
        What a minimal sample unique of s of the M columns counts: "factorial", (M - s)!; "sets", how many sets of
        columns go beyond it, 2^(M - s) - 1, divided by how many sets of s columns there are (sdcMicro's
        original_scores=FALSE).
    """
    from shoal.judging.observation import number_alike

    n_columns = len(codes)
    largest = min(n_columns, max_size or _largest(n_columns))
    whole, n_whole = number_alike([(code.astype(np.int32), n_codes) for code, n_codes in codes])
    sizes = np.bincount(whole, minlength=n_whole)
    first = np.zeros(n_whole, np.int64)
    first[whole[::-1]] = np.arange(len(whole))[::-1]
    of_classes = [(code[first].astype(np.int32), n_codes) for code, n_codes in codes]
    score, of_columns = np.zeros(n_whole), np.zeros((n_whole, n_columns))
    for columns, alone in _minimal(of_classes, sizes.astype(np.int64), largest):
        counted = _points(n_columns, len(columns), points)
        score[alone] += counted
        of_columns[alone[:, None], columns] += counted
    score = score[whole]
    return SudaScores(score, _dis(sizes, n_columns, score, fraction), of_columns[whole], largest)


def _points(n_columns: int, size: int, points: str) -> float:
    if points == "factorial":
        return float(math.factorial(n_columns - size))
    return (2 ** (n_columns - size) - 1) / math.comb(n_columns, size)


def _largest(n_columns: int) -> int:
    n_sets = 0
    for size in range(1, n_columns + 1):
        n_sets += math.comb(n_columns, size)
        if n_sets > MOST_SETS:
            return max(1, size - 1)
    return n_columns


def _minimal(
    codes: Sequence[tuple[NDArray[np.int32], int]], sizes: IntArray, largest: int
) -> Iterator[tuple[tuple[int, ...], IntArray]]:
    """Each set of columns with the classes of one person of whom it is a minimal sample unique, small sets first.

    Who is alone by some columns is alone by more: so a set is minimal where no set with one column less does it.
    """
    from shoal.kernels import uniques

    n = len(sizes)
    room = np.zeros(1 << max(4, int(2 * n - 1).bit_length()), np.int32)
    before: dict[tuple[int, ...], NDArray[np.int32]] = {}
    alone_before: dict[tuple[int, ...], BoolArray] = {(): np.zeros(n, np.bool_)}
    for size in range(1, largest + 1):
        numbered: dict[tuple[int, ...], NDArray[np.int32]] = {}
        alone_now: dict[tuple[int, ...], BoolArray] = {}
        for columns in combinations(range(len(codes)), size):
            found = codes[columns[0]]
            if size > 1:
                found = uniques.joined(before[columns[:-1]], *codes[columns[-1]], room)
            alone = uniques.who_is_alone(*found, sizes)
            alone_now[columns] = alone
            if size < largest:
                numbered[columns] = found[0]
            is_minimal = alone.copy()
            for fewer in combinations(columns, size - 1):
                is_minimal[alone_before[fewer]] = False
            who = np.flatnonzero(is_minimal)
            if len(who):
                yield columns, who
        before, alone_before = numbered, alone_now


def _dis(sizes: IntArray, n_columns: int, score: FloatArray, fraction: float) -> FloatArray:
    """How likely a match of each unique is right: DIS (Skinner and Elliot 2002), shared out by the scores.

    The exponent and the odds of all uniques together are held in 32 bits, as sdcMicro holds them, so that the scores
    are the same to the last digit.
    """
    dis = np.zeros(len(score))
    has = score > 0
    if not has.any():
        return dis
    n_unique, n_paired = np.float32((sizes == 1).sum()), int(2 * (sizes == 2).sum())
    share = np.float32(fraction)
    drawn = float(n_unique * share)
    chance = np.float32(drawn / (drawn + n_paired * (1 - float(share))))
    against = float(n_unique / chance - n_unique)
    power = score[has] ** float(np.float32(1 + (8 - n_columns) / 20))
    dis[has] = 1 / (1 + against / (power * float((1 / power).sum())))
    return dis
