"""Persons as points, for methods that go by exact lengths: the mean of their records, every column scaled to [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.kernels import points
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import QuasiColumn, Table

MOST_COORDINATES = 2**26
"""Persons times columns of their points: beyond this a nominal quasi-identifier has too many categories."""


@dataclass(frozen=True)
class PersonPoints:
    """Persons as points, and what the reader should know of how they were made."""

    points: NDArray[np.float64]
    n_columns: int
    """By how many columns the paper divides a distance."""
    warnings: tuple[str, ...] = ()


def points_of_persons(table: Table, *, nominal: str = "zero-one") -> PersonPoints:
    """Lay out persons as points; a constant column is left out, and a missing number is refused: it has no distance.

    Parameters
    ----------
    nominal
        "zero-one": two different categories are 1 apart, and a nominal quasi-identifier is one column. "coded": it is
        one column of 0 and 1 per category (of two categories one column), each as any other column.
    """
    _refuse_missing(table)
    varying = [column for column in table.quasi.values() if not _is_constant(column)]
    n_columns = sum(1 if nominal == "zero-one" else _width(column) for column in varying)
    _refuse_too_wide(varying, table)
    parts = [np.zeros((table.n_persons, 0))]
    for column in varying:
        if isinstance(column, NumberColumn):
            parts.append(_means(column, table)[:, None])
        else:
            is_coded = nominal == "coded" or column.n_codes == 2
            parts.append(_shares(column, table) * (1.0 if is_coded else np.sqrt(0.5)))
    if not varying:
        parts, n_columns = [np.zeros((table.n_persons, 1))], 1
    return PersonPoints(np.ascontiguousarray(np.hstack(parts)), n_columns, _warnings(table, nominal))


def _refuse_missing(table: Table) -> None:
    missing = [
        f"'{column.name}' in {int(column.is_missing.sum()):,}"
        for column in table.quasi.values()
        if isinstance(column, NumberColumn) and column.is_missing is not None and column.is_missing.any()
    ]
    if missing:
        raise SchemaError(
            f"Numbers are missing ({', '.join(missing)} of {table.n_records:,} records), and a missing number has no "
            "distance. Fill them in, leave these records out (missing='drop'), or choose the method balance-tree."
        )


def _refuse_too_wide(columns: list[QuasiColumn], table: Table) -> None:
    if table.n_persons * sum(map(_width, columns)) > MOST_COORDINATES:
        widest = max(columns, key=_width)
        raise SchemaError(
            f"'{widest.name}' has {_width(widest):,} categories, too many for distances between {table.n_persons:,} "
            "persons. Take it as a number or as ordered, drop it, or choose the method balance-tree."
        )


def _warnings(table: Table, nominal: str) -> tuple[str, ...]:
    """How constant and nominal columns count, each kind in one sentence."""
    told = []
    constant = [f"'{column.name}'" for column in table.quasi.values() if _is_constant(column)]
    if constant:
        verbs = ("has", "does") if len(constant) == 1 else ("have", "do")
        told.append(f"{', '.join(constant)} {verbs[0]} one value only and {verbs[1]} not count in distances.")
    coded = [
        f"'{column.name}' ({column.n_codes:,} categories)"
        for column in table.quasi.values()
        if isinstance(column, CategoryColumn) and not _is_constant(column)
    ]
    if coded:
        verb = "is" if len(coded) == 1 else "are"
        how = "two different categories are 1 apart"
        if nominal == "coded":
            how = "each category is a column of its own (of two categories one column)"
        told.append(f"{', '.join(coded)} {verb} nominal, coded as 0 and 1 for distances: {how}.")
    return tuple(told)


def _is_constant(column: QuasiColumn) -> bool:
    if isinstance(column, CategoryColumn):
        return column.n_codes <= 1
    low, high = column.extent
    return low == high


def _width(column: QuasiColumn) -> int:
    """How many columns of points a quasi-identifier takes; of two categories one says it all."""
    return 1 if isinstance(column, NumberColumn) or column.n_codes == 2 else column.n_codes


def _means(column: NumberColumn, table: Table) -> NDArray[np.float64]:
    """The mean of each person's records, scaled to [0, 1] over the records."""
    low, high = column.extent
    units = column.units
    if (high - low).bit_length() + int(table.records_of_person.max()).bit_length() > 62:
        units = np.rint((units - float(low)) / (float(high) - low) * 2.0**40).astype(np.int64)
        low, high = 0, 2**40
    sums, _ = points.sums_of_persons(units, table.person_of_record, table.n_persons, low, 0.0)
    a_unit = 10.0**column.decimals
    lowest, highest = low / a_unit, high / a_unit  # as the numbers were written
    means: NDArray[np.float64] = ((sums / table.records_of_person + low) / a_unit - lowest) / (highest - lowest)
    if column.floats is not None:  # units are on a grid: persons with one record stand where it is
        alone = table.records_of_person[table.person_of_record] == 1
        halves = column.floats / 2  # whose differences are never infinite
        means[table.person_of_record[alone]] = (halves[alone] - halves.min()) / (halves.max() - halves.min())
    return means


def _shares(column: CategoryColumn, table: Table) -> NDArray[np.float64]:
    """The share of a person's records that has each category; of two categories that of the second."""
    start, value, records = table.values_of_persons(column)
    person = np.repeat(np.arange(table.n_persons), np.diff(start))
    shares = np.zeros((table.n_persons, column.n_codes))
    shares[person, value] = records / table.records_of_person[person]
    return shares[:, 1:] if column.n_codes == 2 else shares
