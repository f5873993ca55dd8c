"""A file that is read portion by portion, always in the order of its records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.engines.memory_needed import PORTION
from shoal.errors import InputError, SchemaError
from shoal.policy.policy import Policy
from shoal.reading import CsvOptions, format_of
from shoal.reading.csv import read_csv_blocks, with_missing
from shoal.reading.detect import Look, Told, refuse_unanswered
from shoal.reading.forms import changes
from shoal.reading.mend import MendedParts, mend, sentences
from shoal.reading.parquet import check_parquet, refuse_times_beyond_the_day, scan_parquet
from shoal.reading.source import plain_or_refused, refuse_no_records
from shoal.table import coding
from shoal.table.schema import Schema
from shoal.table.table import dates_published, plain_floats, refuse_unpublishable
from shoal.table.times import beyond_calendar, refuse_beyond_calendar

if TYPE_CHECKING:
    from shoal.engines.contract import Files


@dataclass(frozen=True)
class FileSource:
    """A Parquet file, or a CSV file that was put into Parquet files of texts, as a lazy frame of polars."""

    name: str
    scan: pl.LazyFrame
    portion: int = PORTION
    csv: CsvOptions | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of_parquet(cls, path: Path, *, portion: int = PORTION) -> FileSource:
        """A Parquet file as it stands."""
        check_parquet(path)
        source = cls(path.name, scan_parquet([path]), portion)
        refuse_times_beyond_the_day(path, source.schema)
        return source

    @classmethod
    def of_csv(
        cls, path: Path, options: CsvOptions, work: Path, *, portion: int = PORTION, found: Told | None = None,
        dropped: Collection[str] = (),
    ) -> FileSource:  # fmt: skip
        """A CSV file, checked line by line as always, and put as texts into files in the folder `work`.

        With `found`, forms of values that are not told are found in all records, as the engine in memory does.
        """
        blocks = read_csv_blocks(path, replace(options, missing=(), missing_in={}))
        name = f"'{path.name}'"
        look = Look(options, found.found if found is not None else frozenset(), blocks.options().delimiter or ",")
        parts = []
        for number, frame in enumerate(blocks.frames):
            if look.find:
                look.at(frame)
            parts.append(work / f"texts-{number:06d}.parquet")
            frame.write_parquet(parts[-1], compression="lz4")
        options, findings = look.found() if look.find else (options, [])
        refuse_unanswered(name, findings, dropped)
        texts = with_missing(scan_parquet(parts), options)
        changed, notes = changes(name, texts, options)
        own = replace(options, delimiter=blocks.options().delimiter)
        return cls(path.name, texts.with_columns(changed), portion, own, (*blocks.notes(), *notes))

    @cached_property
    def schema(self) -> pl.Schema:
        """The columns and their types."""
        try:
            return self.scan.collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._damaged() from error

    @cached_property
    def n_records(self) -> int:
        """How many records there are."""
        return int(self.collected(self.scan.select(pl.len())).item())

    def portions(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The records in portions, in their order; of some columns only."""
        scan = self.scan if columns is None else self.scan.select(columns)
        return self._batches(scan)

    def collected(self, asked: pl.LazyFrame) -> pl.DataFrame:
        """The answer to a question, by polars' streaming engine."""
        try:
            return asked.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._damaged() from error

    def with_scan(self, scan: pl.LazyFrame, *notes: str) -> FileSource:
        """The same file with some of its records."""
        return FileSource(self.name, scan, self.portion, self.csv, (*self.notes, *notes))

    def refuse_unfit(self, schema: Schema) -> None:
        """Refuse columns that do not fit the schema, and a file without records."""
        like = self.schema.to_frame()
        plain_or_refused(self.name, like, schema.dropped)
        schema.check_against(like.columns)
        if not self.n_records:
            refuse_no_records(self.name, like)
        refuse_unpublishable(like, schema)
        dates = dates_published(like, schema)
        counts = self.collected(self.scan.select(beyond_calendar(name) for name in dates)) if dates else pl.DataFrame()
        refuse_beyond_calendar(counts.row(0, named=True) if dates else {})

    def _batches(self, scan: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        try:
            yield from scan.collect_batches(chunk_size=self.portion, maintain_order=True, engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._damaged() from error

    def _damaged(self) -> InputError:
        return InputError(f"'{self.name}' is damaged or cannot be read on. Fetch or write it again.")


def mended(source: FileSource, policy: Policy, work: Path) -> tuple[FileSource, tuple[dict[str, Any], ...]]:
    """The source mended as the policy says, portion by portion, and how many records each step changed."""
    if not policy.mend:
        return source, ()
    parts, seen = [], MendedParts()
    for number, frame in enumerate(source.portions()):
        made = mend(frame, policy.mend, is_part=True)
        seen.add(frame.height, made.changes, made.refused)
        parts.append(work / f"mended-{number:06d}.parquet")
        made.frame.write_parquet(parts[-1], compression="lz4")
    if not parts:
        return source, ()
    told = seen.told()
    return source.with_scan(scan_parquet(parts), *sentences(told)), told


def with_plain_floats(source: FileSource, schema: Schema) -> FileSource:
    """The source with floats that count as one value written as one: -0.0 as 0.0, NaN as missing."""
    plain = plain_floats(source.schema, schema)
    return source.with_scan(source.scan.with_columns(plain)) if plain else source


def with_codes(source: FileSource, schema: Schema) -> tuple[FileSource, dict[str, Any]]:
    """The source with values coded as the schema says, which leaves nothing to count; and what was coded."""
    codings = schema.codings
    if not codings:
        return source, {}
    person = pl.int_range(pl.len()) if schema.person is None else pl.col(schema.person)
    counted = source.collected(source.scan.select(coding.counts(codings, source.schema, person))).row(0, named=True)
    told = coding.told_of(codings, counted)
    notes = coding.sentences(told, codings)
    return source.with_scan(source.scan.with_columns(coding.coded(codings, source.schema)), *notes), told


def without_missing(source: FileSource, schema: Schema) -> FileSource:
    """The source without records that miss their person (refused) or a quasi-identifier (as the schema says)."""
    _refuse_missing_persons(source, schema)
    if schema.missing == "value":
        return source
    names = list(schema.quasi_names)
    counts = source.collected(source.scan.select(pl.col(names).null_count())).row(0, named=True)
    named = ", ".join(f"'{name}' in {count:,}" for name, count in counts.items() if count)
    if not named:
        return source
    if schema.missing == "refuse":
        raise SchemaError(f"Missing quasi-identifiers are refused: {named} of {source.n_records:,} records.")
    kept = source.with_scan(source.scan.filter(~pl.any_horizontal(pl.col(names).is_null())))
    if not kept.n_records:
        raise InputError(f"Every record misses a quasi-identifier ({named}); none is left.")
    dropped = source.n_records - kept.n_records
    note = f"{dropped:,} of {source.n_records:,} records were left out because a quasi-identifier is missing ({named})."
    return source.with_scan(kept.scan, note)


def _refuse_missing_persons(source: FileSource, schema: Schema) -> None:
    if schema.person is None:
        return
    is_missing = pl.col(schema.person).is_null()
    if source.schema[schema.person].is_float():
        is_missing |= pl.col(schema.person).is_nan().fill_null(False)
    asked = source.scan.select(n=is_missing.sum(), first=is_missing.arg_max())
    n_missing, first = source.collected(asked).row(0)
    if n_missing:
        raise SchemaError(
            f"The person column '{schema.person}' is missing in {n_missing:,} of {source.n_records:,} records, the "
            f"first in record {first + 1:,}. Without it their risk cannot be counted: fill it in, or leave those "
            "records out."
        )


def opened(files: Files, work: Path, portion: int, dropped: Collection[str] = ()) -> FileSource:
    """The one file of a job, of a format that is read in portions."""
    path = Path(files.names[0])
    if format_of(path).is_text:
        found = None if files.found is None else Told.of(files.found)
        return FileSource.of_csv(path, files.csv, work, portion=portion, found=found, dropped=dropped)
    return FileSource.of_parquet(path, portion=portion)


def values_of(source: FileSource, policy: Policy) -> pl.DataFrame:
    """The different values of columns whose hierarchies are made from them."""
    made = [
        column.name
        for column in policy.columns.quasi
        if column.hierarchy is not None and column.hierarchy.is_made_from_values and column.name in source.schema
    ]
    columns = [source.collected(source.scan.select(pl.col(name).unique())) for name in made]
    return pl.concat(columns, how="horizontal") if columns else pl.DataFrame()
