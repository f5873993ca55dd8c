"""A random order from given random words. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel


def shuffled(random_words: NDArray[np.uint64]) -> NDArray[np.int32]:
    """A random order of as many things as there are 64-bit random words (Fisher and Yates)."""
    order = np.arange(len(random_words), dtype=np.int32)
    shuffle(random_words, order)
    return order


@kernel
def shuffle(random_words, order):
    """Put an order into another."""
    for i in range(len(order) - 1, 0, -1):
        word = random_words[i]
        high, low = word >> np.uint64(32), word & np.uint64(0xFFFFFFFF)
        bound = np.uint64(i + 1)
        chosen = np.int64((high * bound + ((low * bound) >> np.uint64(32))) >> np.uint64(32))
        order[i], order[chosen] = order[chosen], order[i]
