"""A loss that no grouping under record risk avoids."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.table.columns import NumberColumn
from shoal.table.table import Table


def bound_on_ane(table: Table, rho: str) -> float:
    """The average normalized error that every grouping has in which nobody holds more than rho of a group's records.

    Notes
    -----
    Such a group has at least m = 1 / rho persons, rounded up. Whatever its mean, two of its persons are together at
    least as far from it as they are from each other. Added up over all pairs of a group of n persons, its error is at
    least the sum over its persons of 1 / (2 n) times the distances to the others, and for each person that is least
    with the m - 1 nearest. What records of a person differ from each other no grouping avoids either; the larger of
    both bounds counts. Nominal quasi-identifiers count as 0 here, since somebody who differs may have next to no
    records. O(n log n) time for n persons, in few dimensions.
    """
    from scipy.spatial import KDTree

    numbers = [column for column in table.quasi.values() if isinstance(column, NumberColumn)]
    values = [_scaled(column) for column in numbers]
    floor = sum(_error_alone(table, own) for own in values)
    fewest = min(math.ceil(1 / Fraction(rho)), table.n_persons)
    if not numbers or fewest < 2:
        return floor / len(table.quasi)
    sums = [np.bincount(table.person_of_record, weights=own, minlength=table.n_persons) for own in values]
    points = [own / table.records_of_person for own in sums]
    at = np.stack(points, axis=1)
    distances, _ = KDTree(at).query(at, k=fewest, p=1)
    apart = float(distances.sum(axis=1).mean()) / (2 * fewest)
    return max(apart, floor) / len(table.quasi)


def _scaled(column: NumberColumn) -> NDArray[np.float64]:
    low, high = column.extent
    return (column.units_with_missing() - low) / float(max(high - low, 1))


def _error_alone(table: Table, value: NDArray[np.float64]) -> float:
    """The mean over persons of how far their records are from their own median, which nothing is nearer to."""
    order = np.lexsort((value, table.person_of_record))
    person, records = table.person_of_record[order], table.records_of_person
    rank = np.arange(len(order)) - np.repeat(np.cumsum(records) - records, records)
    side = np.sign(2 * rank + 1 - records[person])  # below the median, on it, above it
    apart = np.bincount(person, weights=side * value[order], minlength=table.n_persons)
    return float((apart / records).mean())
