"""Where the random numbers of a mask come from: a generator that the seed governs, or the system's secure source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.masking.secrecy import secret_order, secret_words


@dataclass(frozen=True)
class Draws:
    """Random numbers: from `rng`, or from the system's secure randomness where there is none."""

    rng: np.random.Generator | None = None

    def normal(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Standard normal ones."""
        if self.rng is not None:
            return self.rng.standard_normal(shape)
        from scipy.special import ndtri

        drawn: NDArray[np.float64] = ndtri(self.uniform(*shape))
        return drawn

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        """Numbers between 0 and 1, both excluded."""
        if self.rng is not None:
            return np.maximum(self.rng.random(shape), 2.0**-53)
        words = secret_words(int(np.prod(shape))) >> np.uint64(12)
        return ((words.astype(np.float64) + 0.5) / 2.0**52).reshape(shape)

    def order(self, n: int) -> NDArray[np.int64]:
        """A random order of n things."""
        return (secret_order(n) if self.rng is None else self.rng.permutation(n)).astype(np.int64)
