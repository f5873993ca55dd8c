"""Records in memory, and writing them to a release folder: what leaves the house apart from what stays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import ParameterError, ShoalWarning
from shoal.judging.recount import look_at_release
from shoal.judging.sizes import sample_of
from shoal.masking.publish import Published
from shoal.masking.ranges import lone_extremes
from shoal.masking.scheme import scheme_of
from shoal.publishing.codebook import files_of_tables
from shoal.publishing.folder import replacing_folder
from shoal.publishing.json_file import write_json
from shoal.publishing.labels import labels_that_leave, notes_on_labels
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.release import Records, Release, Writing
from shoal.publishing.sql import write_database
from shoal.publishing.tables import as_files_show, refuse_unmet_in_files, write_table
from shoal.publishing.write import Entry, policy_text_of, write_beside
from shoal.reading import CsvOptions, Labels, Source, format_of
from shoal.reading.csv import csv_that_holds
from shoal.reading.formats import written_format
from shoal.reading.sql import parse_address, with_ending
from shoal.table.columns import NumberColumn
from shoal.table.frames import like_the_given
from shoal.table.table import Table


@dataclass(frozen=True, eq=False)
class InMemory(Records):
    """The original and what is published of it, both in memory."""

    original: Table = field(repr=False)
    made: Published = field(repr=False)
    engine = "memory"
    holds_original = True

    @property
    def table(self) -> Table:
        """The original table with its columns coded."""
        return self.original

    @property
    def published(self) -> Published:
        """The published table and what only the steward may know of it."""
        return self.made

    @cached_property
    def data(self) -> Any:
        """The published table, as the kind of frame that was given; masked quasi-identifiers are plain texts."""
        frame = self.made.frame
        names = self.original.schema.quasi_names
        coded = [name for name in names if frame.schema.get(name) in (pl.Categorical,)]
        return like_the_given(frame.with_columns(pl.col(coded).cast(pl.String)), self.original.kind_of_frame)

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The sensitive tables, as the kind of frame that was given."""
        kind = self.original.kind_of_frame
        return {name: like_the_given(table, kind) for name, table in self.made.tables.items()}

    @cached_property
    def groups(self) -> Any:
        """The group of each published record, in the order of `data`."""
        return like_the_given(pl.DataFrame({"group": self.made.group_of_record}), self.original.kind_of_frame)

    @property
    def columns(self) -> list[str]:
        """The names of the published columns."""
        return self.made.frame.columns

    @property
    def columns_of_tables(self) -> dict[str, list[str]]:
        """The names of the columns of each sensitive table."""
        return {name: table.columns for name, table in self.made.tables.items()}

    @cached_property
    def lone_extremes(self) -> dict[str, int]:
        """Counted from the original."""
        return {
            name: lone_extremes(column, self.original)
            for name, column in self.original.quasi.items()
            if isinstance(column, NumberColumn) and (column.source is None or column.source.hierarchy is None)
        }

    def write(self, release: Release, writing: Writing) -> Path:
        """Write the release folder."""
        return write_release(release, writing)


def write_release(release: Release, writing: Writing) -> Path:
    """Write a release to a folder in one step: it is filled beside and swapped in when all is there."""
    writing = _completed(release, writing)
    release, labels = _with_labels_that_leave(release, writing.labels or Labels(), column_labels=writing.column_labels)
    writing = replace(writing, labels=labels)
    into, ledger = writing.into, writing.ledger
    remembering = (
        nullcontext() if ledger is None else ledger.recording(release, writing.folder, in_database=into is not None)
    )
    with (
        remembering as entry,
        replacing_folder(
            writing.folder, overwrite=writing.overwrite, inputs=(*_paths(writing), *(entry.files if entry else ()))
        ) as new,
    ):
        if entry is not None:
            release = _with_notes(release, entry.notes)
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        _write_what_leaves(release, new, writing)
        _write_what_stays(release, steward, writing)
        databases = _databases(release, writing.sources, writing.into, writing.into_table)
        write_beside(
            release, new, writing, inputs=_paths(writing), manifest={**databases, **(entry.manifest if entry else {})}
        )
        if entry is not None:
            entry.about_to_publish(new)
        if into is not None and writing.into_table is not None:  # last, when only the folder's new name is left to do
            write_database(_tables_of(release, writing.into_table), into, overwrite=writing.overwrite,
                           about_to_commit=lambda: _note_written(entry))  # fmt: skip
    return writing.folder


def _with_notes(release: Release, notes: Sequence[str]) -> Release:
    """The release with some notes more; itself where there are none, so that attacks are not tried once more."""
    return replace(release, notes=(*release.notes, *notes)) if notes else release


def _completed(release: Release, writing: Writing) -> Writing:
    """What was asked, with what was left open; what cannot be written is refused."""
    format = written_format(writing.format or _format_of(_paths(writing))).name
    if (writing.into is None) != (writing.into_table is None):
        raise ParameterError("into and into_table go together: the address of a database, and a table in it.")
    if writing.keep_person_map and release.schema.person is None:
        raise ParameterError("There is no person column, so there is no person map to keep.")
    if writing.keep_person_map and release.published.pseudonyms is None:
        raise ParameterError("This mask publishes no pseudonyms, so there is no person map to keep.")
    refuse_unreadable(release.models)
    _refuse_unmet_in_files(release, format)
    text = writing.policy_text
    if text is None:  # of the CSV options that were asked for
        text = policy_text_of(
            release, writing.csv or CsvOptions(), safe_cells=writing.safe_cells, column_labels=writing.column_labels
        )
    csv = csv_that_holds([release.published.frame, *release.published.tables.values()], writing.csv)
    return replace(writing, format=format, policy_text=text, csv=csv, started=writing.started or datetime.now(UTC))


def _paths(writing: Writing) -> list[Path]:
    return [Path(file) for file in writing.inputs]


def _write_what_leaves(release: Release, new: Path, writing: Writing) -> None:
    """The tables."""
    format = str(writing.format)
    tables = {f"release.{format}": release.published.frame}
    files = files_of_tables(release.published.tables, format)
    tables |= {file: release.published.tables[name] for name, file in files.items()}
    if release.counts is not None:
        tables[f"counts.{format}"] = release.counts.frame
    for file, table in tables.items():
        write_table(
            table, new / file, format, csv=writing.csv, labels=writing.labels or Labels(), safe_cells=writing.safe_cells
        )


def _write_what_stays(release: Release, steward: Path, writing: Writing) -> None:
    """What only the steward may know: who is with whom, and by what rules."""
    published = release.published
    if published.linked is not None:
        published.linked.write_parquet(steward / "linked.parquet")
    if published.excluded is not None:
        published.excluded.write_parquet(steward / "excluded.parquet")
    drawn = sample_of(release.table, published)
    if drawn is not None:
        drawn.to_frame().write_parquet(steward / "sample.parquet")
    if release.rules is not None:
        write_json(steward / "rules.json", release.rules.to_dict())
    groups = pl.DataFrame({"group": published.group_of_record}).with_row_index("record")
    groups.write_parquet(steward / "groups.parquet")
    if release.mask.has_scheme and not release.mask.changes_beside:
        scheme_of(release.table, published, release.mask).write_parquet(steward / "scheme.parquet")
    if writing.keep_person_map:
        _write_person_map(release, steward / "persons.parquet")


def _with_labels_that_leave(release: Release, labels: Labels, *, column_labels: bool) -> tuple[Release, Labels]:
    """The labels that may leave, and the release with notes on them for the steward, which are shown at once too."""
    leaving = labels_that_leave(labels, release.table, release.published, column_labels=column_labels)
    notes = notes_on_labels(labels, leaving, release.table)
    for note in notes:
        warnings.warn(note, ShoalWarning, stacklevel=5)
    return _with_notes(release, notes), leaving


def _refuse_unmet_in_files(release: Release, format: str) -> None:
    """Count once more where files show empty texts as missing, which stand elsewhere in the order of values."""
    published = release.published
    frame = as_files_show(published.frame, format)
    tables = {name: as_files_show(table, format) for name, table in published.tables.items()}
    if frame is published.frame and all(table is published.tables[name] for name, table in tables.items()):
        return
    _, verdict = look_at_release(
        frame, release.schema, release.models, mask=type(release.mask), tables=tables, linked=published.linked,
        excluded=published.excluded, limit=release.alone_limit, sample=sample_of(release.table, published),
        population=release.population,
    )  # fmt: skip
    refuse_unmet_in_files(verdict, format)


def _note_written(entry: Entry | None) -> None:
    """A ledger is told that the release may be in a database from now on, also where an error follows."""
    if entry is not None:
        entry.wrote_database = True


def _tables_of(release: Release, name: str) -> dict[str, pl.DataFrame]:
    """The published tables by the name that they have in a database."""
    tables = release.published.tables
    plain = {column: file.removeprefix("release-") for column, file in files_of_tables(tables, "").items()}
    beside = {with_ending(name, f"_{plain[column].rstrip('.')}"): table for column, table in tables.items()}
    return {name: release.published.frame, **beside}


def _databases(release: Release, sources: Sequence[str], into: str | None, table: str | None) -> dict[str, list[str]]:
    """What the manifest says of databases that were read and written: no host, no user, no password."""
    read = {"sources": list(sources)} if sources else {}
    if into is None or table is None:
        return read
    shown = parse_address(into).shown
    return {**read, "written_to": [f"table '{name}' of {shown}" for name in _tables_of(release, table)]}


def _format_of(inputs: Sequence[Path]) -> str:
    """The format of the first input, or what a release of it is written as; CSV where there is none."""
    return Source((), format_of(inputs[0]).name).written_as if inputs else "csv"


def _write_person_map(release: Release, path: Path) -> None:
    table, names, person = release.table, release.published.pseudonyms, release.schema.person
    assert names is not None
    assert person is not None
    codes = pl.Series(table.pseudonym_of_record)
    original = table.frame.select(person=person, code=codes).unique().sort("code", "person")
    original.select("person", pseudonym=names.gather(original["code"])).write_parquet(path)
