"""Cells of a table rolled up to higher levels. Arrays in, arrays out; no tables, no randomness."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import kernel


@kernel
def rolled_up(node, up, start_of_up, counts):
    """Merge cells that are alike once each attribute has gone up.

    Parameters
    ----------
    node
        (cells, attributes) int32: the node of each cell.
    up, start_of_up
        What each node becomes: that of attribute j is up[start_of_up[j] + node].
    counts
        (cells, 4) int64: persons, records, squared records of persons, and the records of the person who has most.

    Gives the new cell of each, numbered in the order in which they first appear, and the nodes and counts of these.
    """
    n, n_attributes = node.shape
    size = 16
    while size < 2 * n:
        size *= 2
    slot = np.full(size, -1, np.int32)
    cell_of = np.empty(n, np.int32)
    higher = np.empty((n, n_attributes), np.int32)
    sums = np.zeros((n, 4), np.int64)
    n_cells = 0
    for i in range(n):
        key = np.uint64(0)
        for j in range(n_attributes):
            above = up[start_of_up[j] + node[i, j]]
            higher[n_cells, j] = above
            key = (key ^ np.uint64(above)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        at = np.int64(key & np.uint64(size - 1))
        while slot[at] >= 0:
            is_same = True
            for j in range(n_attributes):
                if higher[n_cells, j] != higher[slot[at], j]:
                    is_same = False
                    break
            if is_same:
                break
            at = (at + 1) & (size - 1)
        if slot[at] < 0:
            slot[at] = n_cells
            n_cells += 1
        cell = slot[at]
        cell_of[i] = cell
        for c in range(3):
            sums[cell, c] += counts[i, c]
        sums[cell, 3] = max(sums[cell, 3], counts[i, 3])
    return cell_of, higher[:n_cells].copy(), sums[:n_cells].copy()


@kernel
def keeps_to(counts, limits):
    """Whether each cell keeps to the limits."""
    keeps = np.empty(len(counts), np.bool_)
    for cell in range(len(counts)):
        persons, records, squared, most = counts[cell]
        keeps[cell] = (
            persons >= limits.least_persons
            and records >= limits.least_records
            and squared * limits.squares_of <= limits.squares * records * records
            and most * limits.share_of <= limits.share * records
        )
    return keeps


@kernel
def lost_with(node, records, leaves, share, start_of_share):
    """For each attribute what is lost more where cells are left out: records times what their nodes had still shown."""
    n_attributes = node.shape[1]
    lost = np.zeros(n_attributes)
    for cell in range(len(node)):
        if leaves[cell]:
            for j in range(n_attributes):
                lost[j] += records[cell] * (1.0 - share[start_of_share[j] + node[cell, j]])
    return lost
