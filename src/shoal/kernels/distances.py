"""Distances between records and what stands for their group. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel


@kernel
def add_to_groups(values, group_of_record, sums):
    """Add a portion of records to the sums of their groups, in the order of the records."""
    for i in range(len(values)):
        sums[group_of_record[i]] += values[i]


@kernel
def add_errors(units, group_of_record, mean_of_group, mean_of_all, weight_of_record, span, totals):
    """Add a portion of records to what `errors_of_persons` gives."""
    total, squares, squares_of_all = totals[0], totals[1], totals[2]
    for i in range(len(units)):
        away = abs(units[i] - mean_of_group[group_of_record[i]]) / span
        total += away * weight_of_record[i]
        squares += away * away
        away = (units[i] - mean_of_all) / span
        squares_of_all += away * away
    totals[0], totals[1], totals[2] = total, squares, squares_of_all


def errors_of_persons(
    units: NDArray[np.int64],
    group_of_record: NDArray[np.int32],
    n_groups: int,
    weight_of_record: NDArray[np.float64],
    span: float,
) -> tuple[float, float, float]:
    """How far records are from the mean of their group.

    Gives the sum over records of weight * |unit - group mean| / span, the sum of squares of the distance, and the sum
    of squares of the distance to the mean of all records.
    """
    sums = np.bincount(group_of_record, weights=units, minlength=n_groups)
    mean_of_all = float(np.cumsum(sums)[-1]) / len(units)  # not sum: that adds in another order
    sums /= np.maximum(np.bincount(group_of_record, minlength=n_groups), 1)
    totals = np.zeros(3)
    add_errors(units, group_of_record, sums, mean_of_all, weight_of_record, span, totals)
    return totals[0], totals[1], totals[2]


@kernel
def add_differences(codes, group_of_record, start, codes_of_group, differs, weight_of_record, total):
    """Add a portion of records to what `differences_of_persons` gives; gives the new total."""
    for i in range(len(codes)):
        low, high = start[group_of_record[i]], start[group_of_record[i] + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if codes_of_group[middle] <= codes[i]:
                low = middle
            else:
                high = middle
        total += differs[low] * weight_of_record[i]
    return total


def differences_of_persons(
    codes: NDArray[np.int32],
    group_of_record: NDArray[np.int32],
    start: NDArray[np.int64],
    codes_of_group: NDArray[np.int64],
    differs: NDArray[np.float64],
    weight_of_record: NDArray[np.float64],
) -> float:
    """The sum over records of weight * the share of the group's records that differ.

    Entries start[g]:start[g + 1] of `codes_of_group` (ascending) and `differs` belong to group g.
    """
    return add_differences(codes, group_of_record, start, codes_of_group, differs, weight_of_record, 0.0)
