"""Rows in which a hidden cell matches anything. Arrays in, arrays out; a hidden cell is -1."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import kernel


@kernel
def matched(code, counted):
    """For each row the sums of what was counted (a column each) over all rows that match it, itself included.

    Rows are different from one another, so that two of them match only where one has a hidden cell.
    """
    n, n_columns = code.shape
    sums = counted.copy()
    hides = np.zeros(n, np.bool_)
    for i in range(n):
        for j in range(n_columns):
            hides[i] = hides[i] or code[i, j] < 0
    for i in range(n):
        if not hides[i]:
            continue
        for other in range(n):
            if other == i or (hides[other] and other < i):
                continue
            is_match = True
            for j in range(n_columns):
                if code[i, j] != code[other, j] and code[i, j] >= 0 and code[other, j] >= 0:
                    is_match = False
                    break
            if is_match:
                for what in range(counted.shape[1]):
                    sums[i, what] += counted[other, what]
                    sums[other, what] += counted[i, what]
    return sums


def matched_alike(code, counted):
    """The same as `matched` for rows that may be equal."""
    distinct, at = np.unique(code, axis=0, return_inverse=True)
    sums = np.zeros((len(distinct), counted.shape[1]))
    np.add.at(sums, at.reshape(-1), counted)
    return matched(distinct, sums)[at.reshape(-1)]


@kernel
def hide_cells(code, persons, records, order, subsets, least_persons, least_records):
    """Hide cells, row by row in an order, until each row is matched by enough persons and records.

    `subsets` has the sets of columns, as bits, from the cheapest to the dearest; the last has all columns. Rows that
    are changed match more than before, so that nobody who has enough loses any. Changes `code`.
    """
    n, n_columns = code.shape
    size = 1 << n_columns
    for i in order:
        found = np.zeros((size, 2), np.int64)  # by the columns in which rows differ from this one
        for other in range(n):
            differs = 0
            for j in range(n_columns):
                if code[i, j] != code[other, j] and code[i, j] >= 0 and code[other, j] >= 0:
                    differs |= 1 << j
            found[differs, 0] += persons[other]
            found[differs, 1] += records[other]
        if found[0, 0] >= least_persons and found[0, 1] >= least_records:
            continue
        for j in range(n_columns):  # sums over all subsets
            bit = 1 << j
            for some in range(size):
                if some & bit:
                    found[some, 0] += found[some ^ bit, 0]
                    found[some, 1] += found[some ^ bit, 1]
        for some in subsets:
            if found[some, 0] >= least_persons and found[some, 1] >= least_records:
                for j in range(n_columns):
                    if some & (1 << j):
                        code[i, j] = -1
                break
