"""Who is found again by all quasi-identifiers of a release that shows changed values: numbers, dates and categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.masking.publish import Published
from shoal.masking.shown_labels import numbers_of
from shoal.measuring.shown import MISSING, masked_codes
from shoal.measuring.statistics import Linkage, linked_by_distance, masked_numbers
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import QuasiColumn, Table

MOST_COORDINATES = 2**27
"""Persons times columns of their points that distances are measured over."""

Points = NDArray[np.float64]


def linkage_by_all(table: Table, published: Published) -> Linkage:
    """Record linkage of a release by all quasi-identifiers; a person's records are represented by their mean.

    Numbers are scaled by the extent of the original, and a missing one lies one extent below the lowest; two different
    categories are 1 apart, and missing is one of them. Distances are Euclidean.
    """
    widths = [1 if isinstance(column, NumberColumn) else column.n_codes for column in table.quasi.values()]
    if table.n_persons * sum(widths) > MOST_COORDINATES:
        widest = max(table.quasi.values(), key=lambda column: 1 if isinstance(column, NumberColumn) else column.n_codes)
        raise SchemaError(
            f"'{widest.name}' has {max(widths):,} categories, too many to measure who is linked among "
            f"{table.n_persons:,} persons. Group its categories, take it as a number, or do not publish it."
        )
    pairs = [_pair(column, table, published) for column in table.quasi.values()]
    own, where = (np.concatenate(side, axis=1) for side in zip(*pairs, strict=True))
    nearest, second = linked_by_distance(own, where)
    return Linkage(float(nearest.sum()), float(second.sum()), table.n_persons)


def _pair(column: QuasiColumn, table: Table, published: Published) -> tuple[Points, Points]:
    """Where persons stand by a column, as they are and as they are published."""
    if isinstance(column, CategoryColumn):
        shown = masked_codes(column, published)
        return (
            _shares(column.codes.astype(np.int64), column.n_codes, table),
            _shares(np.where(shown == MISSING, len(column.categories), shown), column.n_codes, table),
        )
    low, high = column.ends
    extent = high - low if high > low else 1.0
    own, where = (
        np.nan_to_num((numbers - low) / extent, nan=-1.0)
        for numbers in (numbers_of(column), masked_numbers(column, published))
    )
    return _means(own, table), _means(where, table)


def _means(values: Points, table: Table) -> Points:
    sums = np.bincount(table.person_of_record, weights=values, minlength=table.n_persons)
    return np.asarray(sums / table.records_of_person)[:, None]


def _shares(codes: NDArray[np.int64], n_codes: int, table: Table) -> Points:
    """The share of a person's records that have each category, such that two persons who differ are 1 apart."""
    n_codes = max(n_codes, int(codes.max(initial=0)) + 1)
    counts = np.bincount(table.person_of_record.astype(np.int64) * n_codes + codes, minlength=table.n_persons * n_codes)
    shares = counts.reshape(table.n_persons, n_codes) / table.records_of_person[:, None]
    return np.asarray(shares * np.sqrt(0.5))
