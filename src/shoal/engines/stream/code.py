"""The records of a file as codes, in portions on disk: read once from the file, many times from here.

What must be known of a whole column before a portion of it can be coded are a few values that stand for all: its kind,
its decimals, its extent and its categories depend on the lowest, the highest, one that needs many decimals, every
category once. Coding a portion together with these witnesses gives the same codes as coding the whole column.

The codes are personal data. They lie in the private folder in which the release is filled, which only its owner can
look into, and are removed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.stream.read import FileSource
from shoal.errors import SchemaError
from shoal.table.columns import (
    MOST_DECIMALS,
    CategoryColumn,
    Codes,
    NumberColumn,
    Persons,
    category_column,
    quasi_column,
)
from shoal.table.schema import Date, Nominal, Number, Ordered, Quasi, Schema
from shoal.table.spelling import TEXTS
from shoal.table.table import QuasiColumn
from shoal.table.times import local_days

PERSON = "person"
"""Columns of the files are named by role and number, so that no two names meet: person, quasi-0, floats-0, ..."""


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
    """By what the values of sensitive attributes are told apart."""
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


@dataclass(frozen=True)
class Portion:
    """Some records: their persons, their codes, and the columns that are published as they are."""

    person_of_record: Codes
    numbers: dict[str, NumberColumn]
    categories: dict[str, CategoryColumn]
    """Nominal quasi-identifiers and sensitive attributes."""
    others: pl.DataFrame


@dataclass(frozen=True)
class CodedFile:
    """All portions of a file, and what is known of the whole."""

    domain: Domain
    parts: tuple[Path, ...]
    n_records: int
    persons: Persons | None
    """Which persons the different values of the person column are."""
    records_of_person: NDArray[np.int64]
    others: tuple[str, ...]

    @property
    def n_persons(self) -> int:
        """How many persons there are."""
        return len(self.records_of_person)

    def portions(self) -> Iterator[Portion]:
        """The portions in the order of the records."""
        for part in self.parts:
            yield self.portion(pl.read_ipc(part))

    def portion(self, frame: pl.DataFrame) -> Portion:
        """Records as they were written to disk."""
        numbers: dict[str, NumberColumn] = {}
        categories: dict[str, CategoryColumn] = {}
        for at, (name, whole) in enumerate(self.domain.quasi.items()):
            if isinstance(whole, CategoryColumn):
                categories[name] = _with_codes(whole, frame[f"quasi-{at}"])
                continue
            units = frame[f"quasi-{at}"]
            is_missing = units.is_null().to_numpy() if units.null_count() else None
            floats = frame[f"floats-{at}"].to_numpy() if whole.floats is not None else None
            numbers[name] = with_records(whole, units.cast(pl.Int64).fill_null(0).to_numpy(), is_missing, floats)
        for at, (name, column) in enumerate(self.domain.sensitive.items()):
            categories[name] = _with_codes(column, frame[f"sensitive-{at}"])
        others = frame.select(pl.col(f"other-{at}").alias(name) for at, name in enumerate(self.others))
        return Portion(frame[PERSON].to_numpy(), numbers, categories, others)


def code_file(
    source: FileSource,
    domain: Domain,
    schema: Schema,
    work: Path,
    watch: Callable[[pl.DataFrame, pl.DataFrame], None] = lambda frame, coded: None,
) -> CodedFile:
    """Code a file by what is known of its columns, portion by portion, into files of the folder `work`.

    Each portion is shown to `watch`, as it stands in the file and as codes.
    """
    others = tuple(name for name in source.schema.names() if _is_published_as_it_is(source, schema, domain, name))
    persons = None if schema.person is None else _persons_of(source, schema.person, schema.spelling_of(schema.person))
    known = None if persons is None else _PersonCodes.of(persons)
    n_persons = source.n_records if persons is None else persons.n
    records_of_person = np.zeros(n_persons, np.int64)
    parts: list[Path] = []
    n_records = 0
    for frame in source.portions(sorted(schema.published())):
        first = np.arange(n_records, n_records + len(frame), dtype=np.int32)
        person = first if known is None else known.of_values(frame[schema.person or ""])
        n_records += len(frame)
        records_of_person += np.bincount(person, minlength=n_persons)
        columns = [pl.Series(PERSON, person), *_coded(frame, domain)]
        columns += [frame[name].alias(f"other-{at}") for at, name in enumerate(others)]
        parts.append(work / f"records-{len(parts):06d}.arrow")
        coded = pl.DataFrame(columns)
        watch(frame, coded)
        coded.write_ipc(parts[-1], compression="uncompressed")
    return CodedFile(domain, tuple(parts), n_records, persons, records_of_person, others)


def _is_published_as_it_is(source: FileSource, schema: Schema, domain: Domain, name: str) -> bool:
    """Kept columns, and sensitive ones whose codes do not say all that is published: no texts, or some are one."""
    if name not in schema.sensitive:
        return name in schema.kept
    return source.schema[name] != pl.String or domain.sensitive[name].n_written is not None


def _coded(frame: pl.DataFrame, domain: Domain) -> Iterator[pl.Series]:
    for at, name in enumerate(domain.quasi):
        column = domain.coded(frame[name])
        if isinstance(column, CategoryColumn):
            yield pl.Series(f"quasi-{at}", column.codes)
            continue
        units = pl.Series(f"quasi-{at}", column.units)
        if column.is_missing is not None and column.is_missing.any():
            units = pl.select(pl.when(pl.Series(~column.is_missing)).then(units).alias(units.name)).to_series()
        low, high = domain.quasi[name].extent  # type: ignore[union-attr]
        yield units.cast(pl.Int32) if low >= -(2**31) and high < 2**31 else units
        if column.floats is not None:
            yield pl.Series(f"floats-{at}", column.floats)
    for at, name in enumerate(domain.sensitive):
        column = domain.coded(frame[name])
        assert isinstance(column, CategoryColumn)
        yield pl.Series(f"sensitive-{at}", column.codes)


def _with_codes(whole: CategoryColumn, codes: pl.Series) -> CategoryColumn:
    return replace(whole, codes=codes.to_numpy())


def _persons_of(source: FileSource, name: str, spelling: str) -> Persons:
    """Which persons the different values of the person column are, in the order in which they are always coded."""
    values = pl.col(name)
    if source.schema[name] in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    distinct = source.collected(source.scan.select(values.unique())).to_series()
    return Persons.of(distinct.alias(name), spelling)


@dataclass(frozen=True)
class _PersonCodes:
    """Finds the code of a person: by their number among sorted ones, or by a hash of what names them."""

    numbers: NDArray[np.int64] | None
    code_of_person: pl.DataFrame | None

    @classmethod
    def of(cls, persons: Persons) -> _PersonCodes:
        written, wide = persons.written, (pl.UInt64, pl.Int128, pl.UInt128)
        if written.dtype.is_integer() and written.dtype not in wide:
            return cls(written.cast(pl.Int64).to_numpy(), None)
        return cls(None, pl.DataFrame([written.alias(PERSON), pl.Series("code", persons.person_of_written)]))

    def of_values(self, values: pl.Series) -> Codes:
        if self.numbers is not None:
            numbers = values.cast(pl.Int64).to_numpy()
            order = np.argsort(numbers)
            code = np.empty(len(numbers), np.int32)
            code[order] = np.searchsorted(self.numbers, numbers[order])
            return code
        assert self.code_of_person is not None
        asked = values.alias(PERSON).to_frame()
        if values.dtype in (pl.Categorical, pl.Enum):
            asked = asked.select(pl.col(PERSON).cast(pl.String))
        found = asked.join(self.code_of_person, on=PERSON, how="left", maintain_order="left", nulls_equal=True)
        return found["code"].to_numpy()
