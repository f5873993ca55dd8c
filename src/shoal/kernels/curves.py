"""Curves through space on which near points stay near. Arrays in, arrays out; no tables, no checks, no randomness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

MOST_BITS = 62
"""So that a place on the curve is a whole number of 64 bits."""


@kernel
def hilbert_places(coordinates: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """The place of each point on Hilbert's curve through a grid of 2^bits steps a column.

    Parameters
    ----------
    coordinates
        Whole numbers from 0 to 2^bits - 1, one row per point. Columns times bits must be at most MOST_BITS.

    Notes
    -----
    Points that are next to each other on the curve are one step apart in one column. O(n columns bits) time. After
    Skilling (2004), "Programming the Hilbert curve".
    """
    n_points, n_columns = coordinates.shape
    places = np.empty(n_points, np.int64)
    at = np.empty(n_columns, np.int64)
    for point in range(n_points):
        at[:] = coordinates[point]
        bit = 1 << (bits - 1)
        while bit > 1:
            for column in range(n_columns):
                if at[column] & bit:
                    at[0] ^= bit - 1
                else:
                    exchanged = (at[0] ^ at[column]) & (bit - 1)
                    at[0] ^= exchanged
                    at[column] ^= exchanged
            bit >>= 1
        for column in range(1, n_columns):
            at[column] ^= at[column - 1]
        flipped = 0
        bit = 1 << (bits - 1)
        while bit > 1:
            if at[n_columns - 1] & bit:
                flipped ^= bit - 1
            bit >>= 1
        place = 0
        for level in range(bits - 1, -1, -1):
            for column in range(n_columns):
                place = (place << 1) | (((at[column] ^ flipped) >> level) & 1)
        places[point] = place
    return places
