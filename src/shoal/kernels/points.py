"""Adding up the records of persons. Arrays in, arrays out; no tables, no checks, no randomness."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sums_of_persons(units, person_of_record, n_persons, lowest, steps_a_unit):
    """For each person: the sum of units, the sum of grid steps above the lowest unit, and the sum of their squares."""
    sums = np.zeros(n_persons, np.int64)
    mass = np.zeros(n_persons, np.int64)
    squares = np.zeros(n_persons, np.float64)
    for i in range(len(units)):
        person = person_of_record[i]
        steps = np.int64(np.rint((units[i] - lowest) * steps_a_unit))
        sums[person] += units[i]
        mass[person] += steps
        squares[person] += np.float64(steps) * np.float64(steps)
    return sums, mass, squares
