"""Distances between records and what stands for their group. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def errors_of_persons(units, group_of_record, n_groups, person_of_record, n_persons, span):
    """The mean over persons of the mean over their records of |unit - mean of the group| / span; squares inside groups."""
    sums = np.zeros(n_groups, np.float64)
    sizes = np.zeros(n_groups, np.int64)
    records_of_person = np.zeros(n_persons, np.int64)
    for i in range(len(units)):
        sums[group_of_record[i]] += units[i]
        sizes[group_of_record[i]] += 1
        records_of_person[person_of_record[i]] += 1
    for group in range(n_groups):
        if sizes[group]:
            sums[group] /= sizes[group]
    total = 0.0
    squares = 0.0
    for i in range(len(units)):
        away = abs(units[i] - sums[group_of_record[i]]) / span
        total += away / records_of_person[person_of_record[i]]
        squares += away * away
    return total / n_persons, squares


@njit(cache=True, nogil=True)
def differences_of_persons(codes, group_of_record, start, codes_of_group, differs, person_of_record, n_persons):
    """The mean over persons of the mean over their records of the share of the group's records that differ.

    Entries start[g]:start[g + 1] of `codes_of_group` (ascending) and `differs` belong to group g.
    """
    records_of_person = np.zeros(n_persons, np.int64)
    for i in range(len(codes)):
        records_of_person[person_of_record[i]] += 1
    total = 0.0
    for i in range(len(codes)):
        low, high = start[group_of_record[i]], start[group_of_record[i] + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if codes_of_group[middle] <= codes[i]:
                low = middle
            else:
                high = middle
        total += differs[low] / records_of_person[person_of_record[i]]
    return total / n_persons
