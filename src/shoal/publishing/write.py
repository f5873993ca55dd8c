"""Writing a release folder: what leaves the house apart from what stays."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from shoal.errors import ParameterError, ShoalWarning
from shoal.judging.recount import look_at_release
from shoal.masking.scheme import scheme_of
from shoal.publishing.cells import how_cells_are_written
from shoal.publishing.codebook import CODEBOOK, codebook_of, files_of_tables, with_files
from shoal.publishing.folder import replacing_folder
from shoal.publishing.labels import labels_that_leave, notes_on_labels
from shoal.publishing.manifest import write_manifest
from shoal.publishing.pages import policy_in, write_pages
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.sql import write_database
from shoal.publishing.tables import (
    FORMATS,
    as_files_show,
    csv_that_holds,
    refuse_unmet_in_files,
    write_table,
)
from shoal.reading import CsvOptions, Labels, Source
from shoal.reading.read import FORMAT_OF_ENDING
from shoal.reading.sql import parse_address, with_ending

if TYPE_CHECKING:
    from shoal.publishing.release import Release


class Entry(Protocol):
    """What a ledger has to say while a release is written."""

    wrote_database: bool

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that must not lie in the release folder."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the release's report says besides."""
        ...

    @property
    def manifest(self) -> dict[str, Any]:
        """What the manifest says besides."""
        ...

    def about_to_publish(self, staging: Path) -> None:
        """Remember the release: all files are written, and nothing is published yet."""
        ...


class Ledger(Protocol):
    """What remembers releases (`shoal.publishing.ledger`)."""

    def recording(self, release: Release, folder: str | Path, *, in_database: bool) -> AbstractContextManager[Entry]:
        """Check a release, and remember it when it is published."""
        ...


def write_release(
    release: Release,
    folder: str | Path,
    *,
    overwrite: bool,
    format: str | None,
    report: bool,
    keep_person_map: bool,
    policy_text: str | None,
    inputs: Sequence[Path],
    csv: CsvOptions | None,
    started: datetime | None,
    labels: Labels | None = None,
    sources: Sequence[str] = (),
    into: str | None = None,
    into_table: str | None = None,
    ledger: Ledger | None = None,
    safe_cells: bool = False,
    column_labels: bool = False,
) -> Path:
    """Write a release to a folder in one step: it is filled beside and swapped in when all is there."""
    started = started or datetime.now(UTC)
    format = format or _format_of(inputs)
    if format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}.")
    if (into is None) != (into_table is None):
        raise ParameterError("into and into_table go together: the address of a database, and a table in it.")
    if keep_person_map and release.schema.person is None:
        raise ParameterError("There is no person column, so there is no person map to keep.")
    if keep_person_map and release.published.pseudonym_of_person is None:
        raise ParameterError("This mask publishes no pseudonyms, so there is no person map to keep.")
    refuse_unreadable(release.models)
    _refuse_unmet_in_files(release, format)
    policy_text = (
        policy_text
        if policy_text is not None
        else policy_text_of(release, csv or CsvOptions(), safe_cells=safe_cells, column_labels=column_labels)
    )
    release, labels = _with_labels_that_leave(release, labels or Labels(), column_labels=column_labels)
    csv = csv_that_holds([release.published.frame, *release.published.tables.values()], csv)
    remembering = nullcontext() if ledger is None else ledger.recording(release, folder, in_database=into is not None)
    with (
        remembering as entry,
        replacing_folder(folder, overwrite=overwrite, inputs=(*inputs, *(entry.files if entry else ()))) as new,
    ):
        if entry is not None:
            release = replace(release, notes=(*release.notes, *entry.notes))
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        write_table(release.published.frame, new / f"release.{format}", format, csv=csv, labels=labels,
                    safe_cells=safe_cells)  # fmt: skip
        for name, file in files_of_tables(release.published.tables, format).items():
            write_table(
                release.published.tables[name], new / file, format, csv=csv, labels=labels, safe_cells=safe_cells
            )
        if release.published.linked is not None:
            release.published.linked.write_parquet(steward / "linked.parquet")
        if release.published.excluded is not None:
            release.published.excluded.write_parquet(steward / "excluded.parquet")
        if release.rules is not None:
            write_json(steward / "rules.json", release.rules.to_dict())
        book = codebook(release, format, labels, csv=csv, safe_cells=safe_cells)
        write_json(new / CODEBOOK, with_files(book, new))
        (steward / "policy.toml").write_text(policy_text, encoding="utf-8")
        _write_groups(release, steward / "groups.parquet")
        if release.mask.has_scheme:
            scheme_of(release.table, release.published, release.mask).write_parquet(steward / "scheme.parquet")
        if keep_person_map:
            _write_person_map(release, steward / "persons.parquet")
        if report:
            write_json(steward / "report.json", {**release.to_dict(), "report": _report(release, format, policy_text)})
        write_manifest(
            new, inputs=inputs, policy_text=policy_text, seed=release.seed, started=started,
            finished=datetime.now(UTC),
            extra={"verdict": finite(release.verdict.to_dict()), "format": format,
                   **_databases(release, sources, into, into_table), **(entry.manifest if entry else {})},
        )  # fmt: skip
        if report:
            write_pages(new)
        if entry is not None:
            entry.about_to_publish(new)
        if into is not None and into_table is not None:  # last, when only the folder's new name is left to do
            write_database(_tables_of(release, into_table), into, overwrite=overwrite,
                           about_to_commit=lambda: _note_written(entry))  # fmt: skip
    return Path(folder)


def _with_labels_that_leave(release: Release, labels: Labels, *, column_labels: bool) -> tuple[Release, Labels]:
    """The labels that may leave, and the release with what the steward is told of them; it is shown at once too."""
    leaving = labels_that_leave(labels, release.table, release.published, column_labels=column_labels)
    notes = notes_on_labels(labels, leaving, release.table)
    for note in notes:
        warnings.warn(note, ShoalWarning, stacklevel=4)
    return replace(release, notes=(*release.notes, *notes)), leaving


def _refuse_unmet_in_files(release: Release, format: str) -> None:
    """Count once more where files show empty texts as missing, which stand elsewhere in the order of values."""
    published = release.published
    frame = as_files_show(published.frame, format)
    tables = {name: as_files_show(table, format) for name, table in published.tables.items()}
    if frame is published.frame and all(table is published.tables[name] for name, table in tables.items()):
        return
    _, verdict = look_at_release(
        frame, release.schema, release.models, mask=type(release.mask), tables=tables, linked=published.linked,
        excluded=published.excluded, limit=release.alone_limit,
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
    """The format of the first input, where it can be written; CSV where there is none or its ending says nothing."""
    ending = Path(inputs[0]).suffix.lower() if inputs else ""
    return Source((), FORMAT_OF_ENDING.get(ending, "csv")).written_as


def _report(release: Release, format: str, policy_text: str) -> dict[str, Any]:
    from shoal.publishing.report.build import report_of

    return report_of(release, columns=codebook(release, format)["columns"], policy=policy_in(policy_text))


def codebook(
    release: Release,
    format: str = "csv",
    labels: Labels | None = None,
    *,
    csv: CsvOptions | None = None,
    safe_cells: bool = False,
) -> dict[str, Any]:
    """What a reader of the released table must know; nothing of single persons, and nothing of its files yet."""
    book = codebook_of(
        release.schema,
        release.mask,
        release.models,
        release.verdict,
        columns=release.published.frame.columns,
        kinds={name: column.kind for name, column in release.table.quasi.items()},
        format=format,
        tables={name: table.columns for name, table in release.published.tables.items()},
        more={name: _labels_of(name, labels or Labels()) for name in release.published.frame.columns},
        limit=release.alone_limit,
    )
    return {**book, **how_cells_are_written(format, csv, safe_cells=safe_cells)}


def _labels_of(published: str, labels: Labels) -> dict[str, Any]:
    """What the codebook says of a column's labels."""
    label = labels.columns.get(published)
    of_texts = {str(code): text for code, text in labels.codes.get(published, {}).items()}
    return {**({"label": label} if label else {}), **({"value_labels": of_texts} if of_texts else {})}


def policy_text_of(release: Release, csv: CsvOptions, *, safe_cells: bool = False, column_labels: bool = False) -> str:
    """The policy that makes the same release again."""
    from shoal.policy import Policy
    from shoal.policy.policy import SourceChoices

    source = SourceChoices(**{field.name: getattr(csv, field.name) for field in fields(csv)})
    policy = Policy.of(
        release.schema,
        release.models,
        method=release.method.name,
        method_options=release.method.options,
        mask=release.mask.name,
        mask_options=release.mask.options,
        max_linkage=release.max_linkage,
        max_suppressed=release.max_suppressed,
        max_records=release.max_records,
        max_alone=release.alone_limit.max_alone,
        allow_alone=release.alone_limit.allow_alone,
        seed=release.seed,
        knowledge=release.knowledge,
    )
    return replace(policy, source=source, safe_cells=safe_cells, column_labels=column_labels).to_toml()


def _write_groups(release: Release, path: Path) -> None:
    pl.DataFrame({"group": release.published.group_of_record}).with_row_index("record").write_parquet(path)


def _write_person_map(release: Release, path: Path) -> None:
    table, names, person = release.table, release.published.pseudonym_of_person, release.schema.person
    assert names is not None
    assert person is not None
    original = table.frame.select(person=person, code=pl.Series(table.person_of_record)).unique().sort("code", "person")
    original.select("person", pseudonym=names.gather(original["code"])).write_parquet(path)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file, with null in place of numbers that JSON cannot write."""
    path.write_text(json.dumps(finite(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def finite(content: Any) -> Any:
    """The same with null in place of numbers that JSON cannot write."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    return [finite(value) for value in content] if isinstance(content, list | tuple) else content
