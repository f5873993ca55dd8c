"""How well columns, alone and together, tell persons apart: distinction, separation, and combinations that are rare."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

MOST_SETS = 1_000
"""So many sets of columns are looked at, the small ones first."""
RARE = (1, 3, 5)
"""Combinations of values that at most so many persons have are counted."""
MOST_PERSONS = 200_000
"""Of more persons single columns and pairs are looked at only."""


def columns_apart(
    codes: Sequence[tuple[IntArray, int]], names: Sequence[str], *, most: int | None = None
) -> dict[str, dict[str, float]]:
    """Distinction and separation of columns and of their combinations, by names joined with a plus.

    Distinction is the number of different values divided by the persons; separation the share of all pairs of persons
    who differ (Motwani and Xu 2007). `rare_1`, `rare_3` and `rare_5` are how many combinations of values at most 1, 3
    and 5 persons have (as sdcMicro's riskyCells counts them).

    Parameters
    ----------
    most
        Up to how many columns are taken together; unless told as many as a thousand sets allow.
    """
    from shoal.kernels import uniques

    n = len(codes[0][0])
    room = np.zeros(1 << max(4, int(2 * n - 1).bit_length()), np.int32)
    single = [(code.astype(np.int32), n_codes) for code, n_codes in codes]
    largest = most if most is not None else _largest(len(names), n)
    told = {}
    numbered: dict[tuple[int, ...], NDArray[np.int32]] = {}
    for size in range(1, largest + 1):
        before = numbered
        numbered = {}
        for chosen in combinations(range(len(names)), size):
            code, n_codes = single[chosen[-1]]
            if size > 1:
                code, n_codes = uniques.joined(before[chosen[:-1]], code, n_codes, room)
            numbered[chosen] = code
            persons = np.bincount(code, minlength=n_codes)
            told["+".join(names[i] for i in chosen)] = _apart(persons[persons > 0], n)
    return told


def _largest(n_columns: int, n_persons: int) -> int:
    """Up to how many columns are taken together."""
    n_sets, size = 0, 0
    for size in range(1, n_columns + 1):
        n_sets += len(list(combinations(range(n_columns), size)))
        if n_sets > MOST_SETS or (n_persons > MOST_PERSONS and size > 2):
            return max(1, size - 1)
    return size


def _apart(persons: IntArray, n: int) -> dict[str, float]:
    pairs = n * (n - 1) // 2
    alike = int((persons * (persons - 1) // 2).sum())
    rare = {f"rare_{most}": int(np.count_nonzero(persons <= most)) for most in RARE}
    return {"distinction": len(persons) / n, "separation": 1.0 if not pairs else (pairs - alike) / pairs, **rare}
