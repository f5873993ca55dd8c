"""Persons in a row, such that those who stand near each other are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import Table

MOST_CURVED = 20
"""A curve follows at most so many columns of numbers, those with most different values: more tell nothing apart."""
MOST_BITS = 16
LARGEST_KEY = 2**62


def in_a_row(table: Table, rng: np.random.Generator, *, window: int) -> NDArray[np.int64]:
    """The persons of a table in a row, alike ones near each other, shuffled inside a moving window.

    Categories come first, of the column with the fewest first, each running forwards and backwards in turn; numbers
    inside them along Hilbert's curve, by their ranks. Equal persons stand in random order.

    Parameters
    ----------
    window
        Everybody is moved at random, by about so many places at the most, so that quasi-identifiers do not tell who
        stood where.

    Notes
    -----
    Which persons the random numbers fall to does not depend on the order of the records. O(q n log n) time.
    """
    order, number_of_place = _canonical(table)
    mixed = np.lexsort((rng.random(table.n_persons), number_of_place))
    moved = np.arange(table.n_persons) + rng.random(table.n_persons) * window
    return order[mixed[np.argsort(moved, kind="stable")]]


def at_random(table: Table, rng: np.random.Generator) -> NDArray[np.int64]:
    """The persons of a table in random order, which does not depend on the order of the records."""
    order, _ = _canonical(table)
    return order[rng.permutation(table.n_persons)]


def _canonical(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Persons by likeness, those alike by name or else by sensitive values; and which of these places are alike."""
    columns = list(table.quasi.values())
    nominal = sorted((column for column in columns if isinstance(column, CategoryColumn)), key=lambda c: c.n_codes)
    numbers = [column for column in columns if isinstance(column, NumberColumn)]
    snake, is_odd = _snake([(_code_of_person(column, table), column.n_codes) for column in nominal], table.n_persons)
    curve = _curve([_mean_of_person(column, table) for column in numbers], table.n_persons)
    curve = np.where(is_odd, -curve, curve)
    ties: list[NDArray[Any]] = (
        [column.codes for column in table.sensitive.values()] if table.schema.person is None else []
    )
    order = np.lexsort([*ties, curve, snake])
    is_next = (np.diff(curve[order]) != 0) | (np.diff(snake[order]) != 0)
    return order, np.append(0, np.cumsum(is_next))


def _code_of_person(column: CategoryColumn, table: Table) -> NDArray[np.int64]:
    """The category that most of a person's records have; of equals the lowest code."""
    start, value, records = table.values_of_persons(column)
    if len(value) == table.n_persons:
        return value
    person = np.repeat(np.arange(table.n_persons), np.diff(start))
    return value[np.lexsort((value, -records, person))[start[:-1]]]


def _mean_of_person(column: NumberColumn, table: Table) -> NDArray[np.float64]:
    """The mean of a person's records, from an exact sum above the lowest unit."""
    units = column.units_with_missing()
    above = (units - units.min()).astype(np.float64)
    sums = np.bincount(table.person_of_record, weights=above, minlength=table.n_persons)
    return sums / table.records_of_person


def _snake(columns: list[tuple[NDArray[np.int64], int]], n_persons: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """One key of several codes, each running forwards and backwards in turn; and whether what follows runs back."""
    key = np.zeros(n_persons, np.int64)
    is_odd = np.zeros(n_persons, np.bool_)
    n_keys = 1
    for codes, n_codes in columns:
        turned = np.where(is_odd, n_codes - 1 - codes, codes)
        is_odd = is_odd ^ (turned % 2 == 1)
        if n_keys * n_codes > LARGEST_KEY:
            distinct, key = np.unique(key, return_inverse=True)
            n_keys = len(distinct)
        key = key * n_codes + turned
        n_keys *= n_codes
    return key, is_odd


def _curve(columns: list[NDArray[np.float64]], n_persons: int) -> NDArray[np.int64]:
    """The place of each person on a curve through the ranks of some numbers; of one number its rank."""
    if not columns:
        return np.zeros(n_persons, np.int64)
    ranked = [np.unique(column, return_inverse=True, return_counts=True) for column in columns]
    if len(ranked) == 1:
        return ranked[0][1].astype(np.int64)
    from shoal.kernels import curves

    ranked = sorted(ranked, key=lambda column: len(column[0]), reverse=True)[:MOST_CURVED]
    bits = min(MOST_BITS, curves.MOST_BITS // len(ranked))
    grid = []
    for _, number, counts in ranked:
        middle = (np.cumsum(counts) - counts / 2) / n_persons
        grid.append((middle * 2**bits).astype(np.int64)[number])
    return np.asarray(curves.hilbert_places(np.stack(grid, axis=1), bits))
