"""Finding who is alone by a combination of columns. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel


@kernel
def joined(
    code: NDArray[np.int32], other: NDArray[np.int32], n_other: int, number_at: NDArray[np.int32]
) -> tuple[NDArray[np.int32], int]:
    """Number what is equal in two codes, by open addresses in `number_at`, whose length is a power of two."""
    n = len(code)
    mask = np.uint64(len(number_at) - 1)
    keys = np.full(len(number_at), -1, np.int64)
    numbers = np.empty(n, np.int32)
    n_found = 0
    for i in range(n):
        key = np.int64(code[i]) * n_other + other[i]
        place = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
        while keys[place] != -1 and keys[place] != key:
            place = (place + np.uint64(1)) & mask
        if keys[place] == -1:
            keys[place] = key
            number_at[place] = n_found
            n_found += 1
        numbers[i] = number_at[place]
    return numbers, n_found


@kernel
def who_is_alone(code: NDArray[np.int32], n_codes: int, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each class has one person and nobody else has its code; `sizes` are the persons of classes."""
    count = np.zeros(n_codes, np.int64)
    for i in range(len(code)):
        count[code[i]] += sizes[i]
    alone = np.empty(len(code), np.bool_)
    for i in range(len(code)):
        alone[i] = count[code[i]] == 1
    return alone
