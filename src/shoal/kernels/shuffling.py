"""A random order from given random words. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def shuffled(random_words):
    """A random order of as many things as there are 64-bit random words (Fisher and Yates)."""
    n = len(random_words)
    order = np.arange(n, dtype=np.int32)
    for i in range(n - 1, 0, -1):
        word = random_words[i]
        high, low = word >> np.uint64(32), word & np.uint64(0xFFFFFFFF)
        bound = np.uint64(i + 1)
        chosen = np.int64((high * bound + ((low * bound) >> np.uint64(32))) >> np.uint64(32))
        order[i], order[chosen] = order[chosen], order[i]
    return order
