"""Verifying published tables that belong together: joined again by their keys, and counted."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, SchemaError
from shoal.models.contract import Model
from shoal.models.counts import JOINT, VALUE_SUMMARIES, VALUE_TABLES
from shoal.models.verdict import Verdict
from shoal.pipeline import verify
from shoal.publishing.read import lies_in, read_as_published
from shoal.publishing.release import Assessment
from shoal.reading import CsvOptions
from shoal.relating.star import ROW, Star, StarTable, check_tables, join_all
from shoal.table.schema import Schema

CODEBOOK = "codebook.json"


def verify_star(frames: Mapping[str, pl.DataFrame], star: Star, schema: Schema, models: Sequence[Model]) -> Assessment:
    """Recount published tables joined again: all of them together, and each table with those that it hangs on.

    The numbers are those of all tables together; a model holds where it holds on every path down to a table too. In all
    tables together the rows of a table count as often as what hangs on them asks for, so that a table in which one
    person has most of the rows can look balanced there.
    """
    started = time.perf_counter()
    problems: list[str] = []
    try:
        tables, notes = check_tables(star, frames)
    except SchemaError as misfit:
        raise SchemaError(f"The published tables do not fit together: {misfit}") from None
    problems += [note.replace(" and were left out", "") for note in notes]
    plain = _without_hierarchies(schema)
    whole = verify(_shown(join_all(star, tables, schema)), plain, models)
    verdict = whole.verdict
    for name in star.tables:
        path = star.path(name)
        if len(path) == len(star.tables):
            continue  # all tables together
        view = _shown(join_all(star, tables, schema, path))
        narrowed, asked = _of_view(plain, models, view)
        if asked:
            seen = verify(view, narrowed, asked)
            verdict = _with_view(verdict, seen.verdict, models, asked, " and ".join(f"'{each}'" for each in path))
    verdict = replace(verdict, problems=(*verdict.problems, *problems))
    return Assessment(whole.risk, verdict, time.perf_counter() - started)


def _shown(joined: pl.DataFrame) -> pl.DataFrame:
    return joined.drop([column for column in joined.columns if column.startswith(ROW)])


def _without_hierarchies(schema: Schema) -> Schema:
    return replace(schema, quasi=[type(column)(column.name) for column in schema.columns])


def _of_view(schema: Schema, models: Sequence[Model], view: pl.DataFrame) -> tuple[Schema, list[Model]]:
    """The schema and the models as far as they are about a path of tables."""
    there = set(view.columns)
    narrowed = replace(
        schema,
        quasi=[column for column in schema.columns if column.name in there],
        sensitive=[name for name in schema.sensitive if name in there],
        kept=[name for name in schema.kept if name in there],
        time=schema.time if schema.time in there else None,
    )
    asked = []
    for model in models:
        column = getattr(model, "column", None)
        is_about_values = bool(model.needs & (VALUE_SUMMARIES | VALUE_TABLES))
        if model.needs & JOINT or (column is not None and column not in there):
            continue  # about several attributes, or one that is elsewhere: judged on all tables together
        if is_about_values and not narrowed.sensitive:
            continue
        asked.append(model)
    return narrowed, asked


def _with_view(verdict: Verdict, seen: Verdict, models: Sequence[Model], asked: Sequence[Model], path: str) -> Verdict:
    """The verdict, with models that a path of tables breaks."""
    judged = list(verdict.models)
    for model, on_path in zip(asked, seen.models, strict=True):
        place = next(place for place, other in enumerate(models) if other is model)
        if not on_path.holds and judged[place].holds:
            judged[place] = replace(on_path, checked_from=f"{on_path.checked_from}, {path}")
    problems = [problem for problem in seen.problems if problem not in verdict.problems]
    return replace(verdict, models=tuple(judged), problems=(*verdict.problems, *problems))


def is_star(folder: Path) -> bool:
    """Whether a folder is the release of related tables."""
    try:
        return "star" in json.loads((folder / CODEBOOK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, TypeError):
        return False


def read_star(folder: Path, csv: CsvOptions | None = None) -> tuple[Star, dict[str, pl.DataFrame]]:
    """Read the published tables of a folder, by its codebook."""
    try:
        entries: dict[str, Any] = json.loads((folder / CODEBOOK).read_text(encoding="utf-8"))["star"]
        tables = {
            name: StarTable(key=entry.get("key"), links=dict(entry.get("links", {}))) for name, entry in entries.items()
        }
        star = Star(tables)
        files = {name: str(entry["file"]) for name, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"'{CODEBOOK}' does not tell which tables the release has.") from None
    outside = [name for name in files.values() if not lies_in(folder, name)]
    if outside:
        raise InputError(f"'{CODEBOOK}' names {len(outside)} files outside its folder.")
    frames = {name: read_as_published(folder / file, csv=csv or CsvOptions()).frame for name, file in files.items()}
    return star, frames
