"""What must be known of a whole column before a portion of it can be coded: a few values that stand for all.

The kind of a column, its decimals, its extent and its categories depend on few of its values: the lowest, the highest,
one that needs many decimals, every category once. Coding a portion together with these witnesses gives the same codes
as coding the whole column.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.stream.read import FileSource
from shoal.errors import SchemaError
from shoal.table.columns import (
    MOST_DECIMALS,
    CategoryColumn,
    NumberColumn,
    category_column,
    quasi_column,
)
from shoal.table.schema import Date, Nominal, Number, Ordered, Quasi, Schema
from shoal.table.table import QuasiColumn
from shoal.table.times import TEXTS, local_days


@dataclass
class Witnesses:
    """The values of one column that stand for all of it, as more and more portions are seen."""

    values: pl.Series
    _failed: set[int] = field(default_factory=set)
    """With how many decimals numbers are known not to be exact."""

    def see_all(self, portion: pl.Series) -> None:
        """Keep every different value."""
        self._keep(portion.unique())

    def see_numbers(self, portion: pl.Series) -> None:
        """Keep what tells of which form the numbers are and how far they reach."""
        if not portion.dtype.is_numeric() and portion.dtype not in (*TEXTS, pl.Null):
            self._keep(portion.head(1))  # no numbers: the type tells
            return
        numbers = portion.cast(pl.Float64, strict=False) if portion.dtype in TEXTS else portion
        found = [*_ends(numbers), *_first(portion.is_null())]
        if portion.dtype in TEXTS:
            texts = portion.cast(pl.String)
            whole = texts.cast(pl.Int64, strict=False)
            found += [*_ends(whole), *_ends(texts.str.len_chars()), *_first(texts.str.starts_with("0"))]
            found += [*_first(texts.is_not_null() & whole.is_null()), *_first(texts.is_not_null() & numbers.is_null())]
            found += [*_first(~texts.str.contains(r"^[+-]?\d+$"))]
        if not numbers.dtype.is_integer():
            floats = numbers.cast(pl.Float64)
            odd = floats.is_nan() | floats.is_infinite()
            found += [*_first(odd), *self._inexact(floats.filter(~odd.fill_null(True)), floats)]
        self._keep(portion.gather(found))

    def see_dates(self, portion: pl.Series, zone: str | None) -> None:
        """Keep the first and the last date, and what is none or does not tell its day."""
        if portion.dtype not in (*TEXTS, pl.Null, pl.Date, pl.Datetime):
            self._keep(portion.head(1))  # no dates: the type tells
            return
        days, is_untold = local_days(portion, zone)
        is_wrong = days.is_null() & portion.is_not_null()
        self._keep(portion.gather([*_ends(days), *_first(is_wrong), *_first(portion.is_null()), *_first(is_untold)]))

    def _inexact(self, present: pl.Series, floats: pl.Series) -> list[int]:
        """For each number of decimals a value that it does not write exactly, where none is known yet."""
        values: NDArray[np.float64] = present.to_numpy()
        found = []
        for decimals in set(range(MOST_DECIMALS + 1)) - self._failed:
            with np.errstate(over="ignore", invalid="ignore"):
                is_off = np.rint(values * 10.0**decimals) / 10.0**decimals != values
            if is_off.any():
                self._failed.add(decimals)
                found += _first(floats == float(values[int(is_off.argmax())]))
        return found

    def _keep(self, more: pl.Series) -> None:
        self.values = pl.concat([self.values, more.rechunk()]).unique()


def _ends(values: pl.Series) -> list[int]:
    """Where the lowest and the highest value stand."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
    return [place for place in (values.arg_min(), values.arg_max()) if place is not None]


def _first(where: pl.Series) -> list[int]:
    """Where something is so for the first time."""
    found = where.fill_null(False)
    place = found.arg_max()
    return [place] if place is not None and found[place] else []


@dataclass(frozen=True)
class Domain:
    """The columns of a file, each known by its witnesses: kinds, extents and categories are those of the whole."""

    quasi: dict[str, QuasiColumn]
    sensitive: dict[str, CategoryColumn]
    witnesses: dict[str, pl.Series]
    roles: dict[str, Quasi | None]
    """The quasi-identifiers as the schema has them; None for sensitive attributes."""
    spelling: dict[str, str]
    """By what sensitive attributes are told apart."""
    zone: str | None = None
    """The time zone in which days are counted."""

    def coded(self, portion: pl.Series) -> QuasiColumn:
        """A portion of a column, coded as it would be with the whole column."""
        together = pl.concat([portion, self.witnesses[portion.name]])
        role = self.roles[portion.name]
        if role is not None:
            return _first_records(quasi_column(together, role, lambda _: None, self.zone), len(portion))
        return _first_records(category_column(together, spelling=self.spelling[portion.name]), len(portion))


def domain_of(source: FileSource, schema: Schema) -> Domain:
    """See every column of a file once, in portions."""
    roles: dict[str, Quasi | None] = {**{c.name: c for c in schema.columns}, **dict.fromkeys(schema.sensitive)}
    witnesses = {name: Witnesses(pl.Series(name, [], dtype=source.schema[name])) for name in roles}
    for portion in source.portions(list(roles)):
        for name, role in roles.items():
            _see(witnesses[name], portion[name], role, schema.zone)
    values = {name: seen.values for name, seen in witnesses.items()}
    quasi: dict[str, QuasiColumn] = {}
    for column in schema.columns:
        try:
            quasi[column.name] = quasi_column(values[column.name], column, lambda _: None, schema.zone)
        except SchemaError as error:
            raise _said_of_all(source, column, schema.zone, error) from None
    spelling = {name: schema.spelling_of(name) for name in schema.sensitive}
    sensitive = {name: category_column(values[name], spelling=form) for name, form in spelling.items()}
    return Domain(quasi, sensitive, values, roles, spelling, schema.zone)


def _see(witnesses: Witnesses, portion: pl.Series, role: Quasi | None, zone: str | None) -> None:
    """Keep what stands for a portion of a column in its role."""
    dtype = portion.dtype
    if role is None or role.hierarchy is not None or isinstance(role, Nominal | Ordered):
        witnesses.see_all(portion)
    elif isinstance(role, Date) or (not isinstance(role, Number) and dtype.is_temporal()):
        witnesses.see_dates(portion, zone)
    elif isinstance(role, Number) or dtype.is_numeric() or _has_numbers(portion):
        witnesses.see_numbers(portion)
    else:
        witnesses.see_all(portion)


def _has_numbers(portion: pl.Series) -> bool:
    """Whether some texts are numbers: if all are, few stand for them; if not, the column is refused or named nominal.

    Where a column has numbers in one portion and other texts in the next, both kinds are among its witnesses.
    """
    if portion.dtype != pl.String:
        return False
    return portion.cast(pl.Float64, strict=False).null_count() < len(portion)


def _said_of_all(source: FileSource, column: Quasi, zone: str | None, error: SchemaError) -> SchemaError:
    """The error with the counts and places of the whole column, which is read for it; it is only one."""
    values = source.collected(source.scan.select(column.name)).to_series()
    try:
        quasi_column(values, column, lambda _: None, zone)
    except SchemaError as of_all:
        return of_all
    return error


def _first_records(column: QuasiColumn, n: int) -> QuasiColumn:
    """The first records of a column; its categories stay those of all."""
    if isinstance(column, CategoryColumn):
        return replace(column, codes=column.codes[:n])
    return with_records(
        column,
        column.units[:n],
        None if column.is_missing is None else column.is_missing[:n],
        None if column.floats is None else column.floats[:n],
    )


def with_records(
    column: NumberColumn,
    units: NDArray[np.int64],
    is_missing: NDArray[np.bool_] | None,
    floats: NDArray[np.float64] | None,
) -> NumberColumn:
    """A column of the same form with other records."""
    return NumberColumn(
        column.name, column.kind, units, is_missing, column.decimals, column.width, floats, column.categories,
        column.source,
    )  # fmt: skip
