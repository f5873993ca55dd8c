"""Persons as rows of codes that lie together in memory, for methods that part them in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.person_space import as_number, deviation_of, extent_of_means, mean_of_persons
from shoal.kernels.halving import Attributes
from shoal.table.columns import CategoryColumn
from shoal.table.table import Table


@dataclass(frozen=True)
class CodedPersons:
    """One row per person: a code per quasi-identifier, the number of records, the number of the person."""

    row: NDArray[np.int32]
    attributes: Attributes
    all_alone: bool
    """Whether every person has one record."""

    @property
    def word(self) -> NDArray[np.int64]:
        """The rows in words of 64 bits."""
        return self.row.view(np.int64)


def coded_persons(table: Table, *, codes_as_numbers: bool = False) -> CodedPersons | None:
    """Lay out the persons of a table, or None where somebody has several categories of one quasi-identifier.

    Notes
    -----
    O(q n) time where every person has one record, O(q n log n) else; 4 (q + 2) n bytes.
    """
    columns = [as_number(column) if codes_as_numbers else column for column in table.quasi.values()]
    codes = {}
    for column in columns:  # asked first: what a table gives out only once is then still there
        if isinstance(column, CategoryColumn):
            code = table.code_of_person(column)
            if code is None:
                return None
            codes[column.name] = code
    n_quasi = len(columns)
    records = table.records_of_person
    all_alone = len(records) == table.n_records
    row = np.zeros((table.n_persons, n_quasi + 2 + n_quasi % 2), np.int32)
    row[:, n_quasi] = records
    row[:, n_quasi + 1] = np.arange(table.n_persons)
    n_categories, key_start = np.zeros(n_quasi, np.int64), np.full(n_quasi, -1, np.int64)
    span = np.ones(n_quasi)
    keys: list[NDArray[np.float64]] = []
    for j, column in enumerate(columns):
        if isinstance(column, CategoryColumn):
            row[:, j] = codes[column.name]
            n_categories[j] = column.n_codes
            span[j] = max(column.n_codes - 1, 1)
            continue
        key = mean_of_persons(column, table)
        span[j] = deviation_of(column) if codes_as_numbers else extent_of_means(column, key)
        if all_alone and key.max() < 2**31:  # whole numbers above the lowest: codes already
            row[:, j] = key
            continue
        distinct, row[:, j] = np.unique(key, return_inverse=True)
        key_start[j] = sum(len(known) for known in keys)
        keys.append(distinct)
    key_of_code = np.concatenate(keys) if keys else np.zeros(0)
    return CodedPersons(row, Attributes(n_categories, span, key_of_code, key_start), all_alone)
