"""Adding up the records of persons. Arrays in, arrays out; no tables, no checks, no randomness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel


@kernel
def add_sums(units, person_of_record, lowest, steps_a_unit, sums):
    """Add a portion of records to the sums of their persons: of units and of grid steps above the lowest unit."""
    for i in range(len(units)):
        person = person_of_record[i]
        above = units[i] - lowest
        sums[person, 0] += above
        sums[person, 1] += np.int64(np.rint(above * steps_a_unit))


@kernel
def add_squares(units, person_of_record, lowest, steps_a_unit, squares):
    """Add a portion of records to the sums of their persons of squared grid steps above the lowest unit."""
    for i in range(len(units)):
        steps = np.rint((units[i] - lowest) * steps_a_unit)
        squares[person_of_record[i]] += steps * steps


def sums_of_persons(
    units: NDArray[np.int64], person_of_record: NDArray[np.int32], n_persons: int, lowest: int, steps_a_unit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each person the sum of units, and the sum of grid steps, both counted from the lowest unit."""
    sums = np.zeros((n_persons, 2), np.int64)
    add_sums(units, person_of_record, lowest, steps_a_unit, sums)
    return sums[:, 0], sums[:, 1]


def squares_of_persons(
    units: NDArray[np.int64], person_of_record: NDArray[np.int32], n_persons: int, lowest: int, steps_a_unit: float
) -> NDArray[np.float64]:
    """For each person the sum of squared grid steps above the lowest unit."""
    squares = np.zeros(n_persons, np.float64)
    add_squares(units, person_of_record, lowest, steps_a_unit, squares)
    return squares
