"""The release folder of related tables: a file for each table, and what the steward keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import ParameterError
from shoal.publishing.cells import how_cells_are_written
from shoal.publishing.codebook import HOW_SHOWN, grammar_of, models_in, write_codebook
from shoal.publishing.folder import replacing_folder
from shoal.publishing.json_file import finite, write_json
from shoal.publishing.manifest import write_manifest
from shoal.publishing.pages import policy_in, write_pages
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.related.protect import StarRelease
from shoal.publishing.related.verify import verify_star
from shoal.publishing.report.build import report_of
from shoal.publishing.tables import as_files_show, refuse_unmet_in_files, write_table
from shoal.publishing.write import codebook
from shoal.reading import CsvOptions
from shoal.reading.csv import csv_that_holds
from shoal.reading.formats import written_format


def write_star(
    release: StarRelease,
    folder: str | Path,
    *,
    policy_text: str,
    overwrite: bool = False,
    format: str = "csv",
    keep_person_map: bool = False,
    report: bool = True,
    inputs: Sequence[Path] = (),
    csv: CsvOptions | None = None,
    started: datetime | None = None,
    safe_cells: bool = False,
) -> Path:
    """Write release-<table>.* for each table, codebook.json and steward/, in one step."""
    written_format(format)
    refuse_unreadable(release.release.models)
    plain = {name: re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.").lower() for name in release.tables}
    files = {name: f"release-{word}.{format}" for name, word in plain.items()}
    if len(set(files.values())) < len(files):
        raise ParameterError("Two tables would get files of one name. Give them names of letters and digits.")
    shown = {name: as_files_show(frame, format) for name, frame in release.tables.items()}
    if any(shown[name] is not frame for name, frame in release.tables.items()):
        inner = release.release
        found = verify_star(shown, release.star, release.schema, inner.models, **vars(inner.alone_limit))
        refuse_unmet_in_files(found.verdict, format)
    csv = csv_that_holds(release.tables.values(), csv)
    with replacing_folder(folder, overwrite=overwrite, inputs=inputs) as new:
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        for name, frame in release.tables.items():
            write_table(frame, new / files[name], format, csv=csv, safe_cells=safe_cells)
        book = _codebook(release, files, how_cells_are_written(format, csv, safe_cells=safe_cells))
        write_codebook(book, new)
        (steward / "policy.toml").write_text(policy_text, encoding="utf-8")
        groups = _groups(release)
        groups.write_parquet(steward / "groups.parquet")
        if keep_person_map:
            release.pseudonyms.write_parquet(steward / "persons.parquet")
        if report:
            inner = release.release
            told = report_of(inner, columns=codebook(inner)["columns"], policy=policy_in(policy_text))
            write_json(steward / "report.json", {**release.to_dict(), "report": told})
        write_manifest(
            new, inputs=inputs, policy_text=policy_text, seed=release.release.seed,
            started=started or datetime.now(UTC), finished=datetime.now(UTC),
            extra={"verdict": finite(release.verdict.to_dict()), "format": format},
        )  # fmt: skip
        if report:
            write_pages(new)
    return Path(folder)


def _codebook(release: StarRelease, files: dict[str, str], cells: dict[str, str]) -> dict[str, Any]:
    """What a reader must know: the columns by table, keys, links and files."""
    book = codebook(release.release)
    entry_of = {entry["name"]: entry for entry in book["columns"]}
    names = release.star.joined_names(release.tables, release.schema)
    star: dict[str, dict[str, Any]] = {}
    for name, table in release.star.tables.items():
        columns: list[dict[str, Any]] = []
        for column in release.tables[name].columns:
            if column in table.key_columns:
                columns.append({"name": column, "role": "key", "form": "key", "shown_as": HOW_SHOWN["key"]})
                continue
            called = names[name][column]
            joined_as = {"joined_as": called} if called != column else {}
            columns.append({**entry_of[called], "name": column, **joined_as})
        links = {"links": dict(table.links)} if table.links else {}
        key = {"key": table.key} if table.key is not None else {}
        star[name] = {"file": files[name], **key, **links, "columns": columns}
    entries = [entry for table in star.values() for entry in table["columns"]]
    models = models_in(release.release.models, release.verdict)
    told = {key: value for key, value in book.items() if key not in ("columns", "delimiter")}
    return {**told, "models": models, "grammar": grammar_of(entries), **cells, "star": star}


def _groups(release: StarRelease) -> pl.DataFrame:
    """The group of each published person."""
    published = release.release.published
    person = published.frame[release.star.person].cast(pl.String)
    return pl.DataFrame({"pseudonym": person, "group": published.group_of_record}).unique("pseudonym").sort("pseudonym")
