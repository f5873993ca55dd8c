"""The records of a file as codes, in portions on disk: read once from the file, many times from here.

They hold personal data. They lie in the private folder in which the release is filled, which only its owner can look
into, and are removed with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.stream.domain import Domain, with_records
from shoal.engines.stream.read import FileSource
from shoal.table.columns import CategoryColumn, Codes, NumberColumn, Persons
from shoal.table.schema import Schema

PERSON = "person"
"""Columns of the files are named by role and number, so that no two names meet: person, quasi-0, floats-0, ..."""


@dataclass(frozen=True)
class Portion:
    """Some records: whose they are, their codes, and the columns that are published as they are."""

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
    """Who the different values of the person column are."""
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


def code_file(source: FileSource, domain: Domain, schema: Schema, work: Path) -> CodedFile:
    """Code a file by what is known of its columns, portion by portion, into files of the folder `work`."""
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
        pl.DataFrame(columns).write_ipc(parts[-1], compression="uncompressed")
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
    """Who the different values of the person column are, in the order in which they are always coded."""
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
