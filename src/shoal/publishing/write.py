"""What every engine writes of a release beside its records: codebook, policy, numbers, manifest and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shoal.policy.policy import SourceChoices, columns_of
from shoal.publishing.cells import how_cells_are_written
from shoal.publishing.codebook import codebook_of, write_codebook
from shoal.publishing.json_file import finite, write_json
from shoal.publishing.manifest import write_manifest
from shoal.publishing.pages import policy_in, with_codings, write_pages
from shoal.reading import CsvOptions, Labels

if TYPE_CHECKING:
    from shoal.publishing.release import Release, Writing


class Entry(Protocol):
    """What a ledger has to say while a release is written."""

    wrote_database: bool

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that must not lie in the release folder."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the report of the release says about it."""
        ...

    @property
    def manifest(self) -> dict[str, Any]:
        """What the manifest says besides."""
        ...

    def about_to_publish(self, staging: Path) -> None:
        """Remember the release: all files are written, and nothing is published yet."""
        ...


class AnyLedger(Protocol):
    """What remembers releases (`shoal.publishing.ledger`)."""

    def recording(self, release: Release, folder: str | Path, *, in_database: bool) -> AbstractContextManager[Entry]:
        """Check a release, and remember it when it is published."""
        ...


def write_beside(
    release: Release, new: Path, writing: Writing, *, inputs: Sequence[Path] = (), manifest: Mapping[str, Any]
) -> None:
    """What every engine writes once the records lie in the folder: codebook, policy, numbers, manifest and pages.

    Parameters
    ----------
    inputs
        The files that were read, whose hashes the manifest has.
    manifest
        What the manifest says besides.
    """
    from shoal.publishing.report.build import report_of

    format, csv, steward = str(writing.format), writing.csv, new / "steward"
    book = codebook(release, format, writing.labels, csv=csv, safe_cells=writing.safe_cells)
    write_codebook(book, new)
    text = writing.policy_text
    if text is None:
        text = policy_text_of(
            release, csv or CsvOptions(), safe_cells=writing.safe_cells, column_labels=writing.column_labels
        )
    text = with_codings(text, release.schema.codings)
    (steward / "policy.toml").write_text(text, encoding="utf-8")
    if writing.report:
        told = report_of(release, columns=codebook(release, format)["columns"], policy=policy_in(text))
        write_json(steward / "report.json", {**release.to_dict(), "report": told})
    finished = datetime.now(UTC)
    write_manifest(
        new, inputs=inputs, policy_text=text, seed=release.seed, started=writing.started or finished, finished=finished,
        extra={"verdict": finite(release.verdict.to_dict()), "format": format,
               **({} if release.engine == "memory" else {"engine": release.engine}), **manifest},
    )  # fmt: skip
    if writing.report:
        write_pages(new)


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
        columns=list(release.records.columns),
        kinds=release.kinds,
        format=format,
        tables=release.records.columns_of_tables,
        more={
            name: {
                **_labels_of(name, labels or Labels()),
                **_rounding_of(release.rounded.get(name)),
                **release.book.get(name, {}),
            }
            for name in release.records.columns
        },
        limit=release.alone_limit,
    )
    drawn = release.told.get("sampled")
    share = {"sampled": {"share": drawn["share"]}} if isinstance(drawn, dict) else {}
    return {**book, **share, **how_cells_are_written(format, csv, safe_cells=safe_cells)}


def _rounding_of(step: float | str | None) -> dict[str, Any]:
    """What the codebook says of ends of ranges that are rounded."""
    return {} if step is None else {"rounded_to": step}


def _labels_of(published: str, labels: Labels) -> dict[str, Any]:
    """What the codebook says of a column's labels."""
    label = labels.columns.get(published)
    of_texts = {str(code): text for code, text in labels.codes.get(published, {}).items()}
    return {**({"label": label} if label else {}), **({"value_labels": of_texts} if of_texts else {})}


def policy_text_of(release: Release, csv: CsvOptions, *, safe_cells: bool = False, column_labels: bool = False) -> str:
    """The policy that makes the same release again."""
    usual = CsvOptions()
    told = {field.name: getattr(csv, field.name) for field in fields(csv)}
    source = SourceChoices(**{name: value for name, value in told.items() if value != getattr(usual, name)})
    policy = replace(
        release.policy, columns=columns_of(release.schema), models=release.models,
        method_options=release.method.options, mask_options=release.mask.options, seed=release.seed, source=source,
        safe_cells=safe_cells, column_labels=column_labels, tables={}, ledger=None,
    )  # fmt: skip
    return policy.to_toml()
