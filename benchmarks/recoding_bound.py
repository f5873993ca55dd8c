"""How much granularity any grouping of Adult can reach: `python -m benchmarks.recoding_bound` (a minute of CPU).

Whatever the method, a group of at least k records that is shown by nodes of hierarchies shows one combination of nodes,
and at least k records of the table lie below it. So a record loses at least what the cheapest combination above it
loses that has k records of the table below it (`floor`). And as these combinations clash, a group loses more than the
sum of the floors of its records: at least, for each of its records, the smallest mean excess of any group that this
record can be in. The mean over all records of floor and excess is a bound on the loss of every grouping.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.arx_ground import SENSITIVE, K, adult_frame, schema_of_adult
from shoal.grouping.kinds import KindsOfPersons, kinds_of_persons
from shoal.table.levels import Levels, levels_of
from shoal.table.table import Table


def cells(
    kinds: KindsOfPersons, levels: list[Levels], shares: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For every combination of levels: the cell of each kind, and what a record of the kind loses there."""
    node, start = kinds.counts.node, kinds.counts.start
    for vector in itertools.product(*(range(own.n_levels) for own in levels)):
        places = start[:-1] + np.array(vector)
        key = np.zeros(len(node), np.int64)
        for place in places:
            key = key * (int(node[:, place].max()) + 1) + node[:, place]
        _, cell = np.unique(key, return_inverse=True)
        yield cell, shares[:, places].sum(axis=1)


@njit(cache=True)
def lower_excess(order, cell, loss, floor, records, k, excess):
    """Lower the excess of each kind to the smallest mean excess of a group of k that it can be in, in these cells.

    `order` lists kinds by cell, inside a cell from the highest floor to the lowest: who has a higher floor has less
    excess, so the best company of a kind is at the front of its cell.
    """
    begin = 0
    while begin < len(order):
        end = begin
        n_records = 0
        while end < len(order) and cell[order[end]] == cell[order[begin]]:
            n_records += records[order[end]]
            end += 1
        for at in range(begin, end):
            own = order[at]
            if n_records < k:
                break
            total, n = loss[own] - floor[own], 1
            for company in range(begin, end):
                other = order[company]
                more = loss[other] - floor[other]
                if n >= k and more >= total / n:
                    break
                available = records[other] - (1 if other == own else 0)
                needed = available if more < total / n else min(available, k - n)
                total += needed * more
                n += needed
            if n >= k:
                excess[own] = min(excess[own], total / n)
        begin = end


def bounds(table: Table, k: int) -> tuple[float, float]:
    """The granularity that no grouping exceeds: by floors alone, and with the excess over floors."""
    levels = [levels_of(column) for column in table.quasi.values()]
    kinds = kinds_of_persons(table, levels)
    records = kinds.counts.records
    share_of = kinds.shares(levels)
    places = range(kinds.counts.node.shape[1])
    shares = np.stack([share_of.of_node[share_of.start[p] + kinds.counts.node[:, p]] for p in places], axis=1)
    floor = np.full(len(records), np.inf)
    for cell, loss in cells(kinds, levels, shares):
        enough = np.bincount(cell, weights=records)[cell] >= k
        floor[enough] = np.minimum(floor[enough], loss[enough])
    excess = np.full(len(records), np.inf)
    for cell, loss in cells(kinds, levels, shares):
        lower_excess(np.lexsort((-floor, cell)), cell, loss, floor, records, k, excess)
    total = records.sum() * len(levels)
    return 1 - float((records * floor).sum() / total), 1 - float((records * (floor + excess)).sum() / total)


def main() -> None:
    """Print the bounds for Adult."""
    for sensitive in SENSITIVE:
        started = time.process_time()
        floors, both = bounds(Table.from_frame(adult_frame(), schema_of_adult(sensitive)), K)
        print(
            f"Granularity of any grouping of Adult, {sensitive} sensitive, k = {K}: below {floors:.5f} by floors, "
            f"below {both:.5f} with excess ({time.process_time() - started:.0f} s CPU)"
        )


if __name__ == "__main__":
    main()
