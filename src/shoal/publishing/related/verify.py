"""Verifying published tables that belong together: joined again by their keys, and counted."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.engines.memory.recount import recounted
from shoal.errors import InputError, SchemaError
from shoal.judging.alone import COUNT, AloneLimit
from shoal.judging.risk import least_safe
from shoal.judging.verdict import ModelVerdict, TableVerdict, Verdict
from shoal.models.contract import Model
from shoal.policy.policy import refuse_no_model
from shoal.publishing.codebook import CODEBOOK
from shoal.publishing.read import lies_in, read_as_published
from shoal.publishing.related.star import Star, StarTable, check_tables, join_all
from shoal.publishing.related.views import TableView, asked_of, persons_alone_by_rows, views_of, with_labels
from shoal.publishing.release import Assessment
from shoal.reading import CsvOptions
from shoal.table.schema import Quasi, Schema


def verify_star(
    frames: Mapping[str, pl.DataFrame],
    star: Star,
    schema: Schema,
    models: Sequence[Model],
    *,
    max_alone: int | None = None,
    allow_alone: bool = False,
) -> Assessment:
    """Recount published tables: each by its own rows and the persons who have some, and all of them joined again.

    The numbers are those of all tables joined, with the risk that a table has by itself where that is less safe; what
    each table shows stands in the verdict (`tables`). A model holds where it holds in every table and in all of them
    joined, and what it reached is the least safe of it. A group in which a table has rows of one person only is a
    problem, whatever the models say. So are more persons than `max_alone` and `allow_alone` say, as in `shoal.verify`,
    who are alone in their group by what else leaves: in a table, in all joined, or by how many rows hang on which.
    """
    started = time.perf_counter()
    refuse_no_model(models, otherwise="there is nothing to verify")
    try:
        tables, notes = check_tables(star, frames, schema)
    except SchemaError as misfit:
        raise SchemaError(f"The published tables do not fit together: {misfit}") from None
    problems = [note.replace(" and were left out", "") for note in notes]
    plain = replace(schema, quasi=[Quasi(column.name) for column in schema.columns])
    names = star.joined_names(tables, plain)
    joined = with_labels(star, join_all(star, tables, plain), names, plain)
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    seen = [(view, *_seen(view, joined, names, plain, models, limit)) for view in views_of(star, joined)]
    _, whole, _ = seen[0]
    counted = {table.name: table for _, found, _ in seen for table in found.verdict.tables}
    n_alone = persons_alone_by_rows(star, tables, joined, plain)
    by_rows = _note_on_rows(n_alone, whole.risk.persons)
    problems += by_rows if limit.max_alone is not None and n_alone > limit.max_alone else []
    verdict = Verdict(
        tuple(_least_safe(model, seen) for model in models),
        whole.verdict.n_groups,
        tuple(dict.fromkeys([*_said([(view, found.problems) for view, found, _ in seen]), *problems])),
        (*_said([(view, found.verdict.notes) for view, found, _ in seen if view.is_whole or view.table]), *by_rows),
        tuple(counted.get(name, _without_rows(name)) for name in star.tables),
    )
    risk = least_safe(whole.risk, [found.risk for _, found, _ in seen[1:]])
    risk = replace(risk, alone_by={**risk.alone_by, COUNT: max(n_alone, risk.alone_by[COUNT])})
    return Assessment(risk, verdict, time.perf_counter() - started)


def _said(sentences_of_view: Sequence[tuple[TableView, Sequence[str]]]) -> Iterator[str]:
    """What is said of all tables joined, and what else is said of single views, with their names."""
    (_, of_whole), *others = sentences_of_view
    yield from of_whole
    for view, sentences in others:
        new = [sentence for sentence in sentences if sentence not in of_whole]
        yield from (sentence if view.name in sentence else f"In {view.name}: {sentence}" for sentence in new)


Seen = tuple[TableView, Assessment, Sequence[Model]]
"""A view, what was counted in it, and the models that were asked about it."""


def _seen(
    view: TableView,
    joined: pl.DataFrame,
    names: Mapping[str, Mapping[str, str]],
    schema: Schema,
    models: Sequence[Model],
    limit: AloneLimit,
) -> tuple[Assessment, Sequence[Model]]:
    """What is counted in a view, by what all tables show of a person."""
    columns = view.columns(names)
    there = {schema.person, *schema.quasi_names, *columns}
    frame = joined[view.records].select(name for name in joined.columns if name in there)
    narrowed = replace(
        schema,
        sensitive=[name for name in schema.sensitive if name in columns],
        kept=[name for name in schema.kept if name in columns],
        time=schema.time if schema.time in columns else None,
    )
    asked = asked_of(view, columns, schema, models)
    found = recounted(frame, narrowed, asked, limit=limit)
    if view.table is None:
        return found, asked
    own = frame.group_by(narrowed.quasi_names).agg(persons=pl.col(str(schema.person)).n_unique())
    by_group = own["persons"].to_numpy()
    table = TableVerdict(
        name=view.table, rows=frame.height, persons=found.risk.persons, groups=len(by_group),
        persons_per_group=(int(by_group.min()), float(np.median(by_group)), int(by_group.max())),
        models=found.verdict.models, alone_by=found.risk.alone_by,
    )  # fmt: skip
    n_alone = int((by_group == 1).sum())
    alone = (
        f"In {n_alone:,} of the {len(by_group):,} groups that have rows of '{view.table}' all of these rows are one "
        "person's."
    )
    problems = (*found.verdict.problems, *([alone] if n_alone else []))
    return replace(found, verdict=replace(found.verdict, problems=problems, tables=(table,))), asked


def _note_on_rows(n_alone: int, n_persons: int) -> list[str]:
    """What numbers of rows tell, which no model is about."""
    if not n_alone:
        return []
    return [
        f"{n_alone:,} of {n_persons:,} persons are alone in their group by how many rows they have in the tables, and "
        "how many hang on each: whoever knows these numbers of a person finds their rows. Fewer records per person "
        "(max_records) or larger groups make them fewer."
    ]


def _without_rows(name: str) -> TableVerdict:
    """What a table shows that has no rows: nothing."""
    return TableVerdict(name=name, rows=0, persons=0, groups=0, persons_per_group=None, models=(), alone_by={})


def _least_safe(model: Model, seen: Sequence[Seen]) -> ModelVerdict:
    """What a model reached where it is least safe, and where that is."""
    judged = []
    for view, found, asked in seen:
        for other, verdict in zip(asked, found.verdict.models, strict=True):
            if other is model:
                judged.append(replace(verdict, checked_from=f"{verdict.checked_from}, {view.name}"))
    broken = [verdict for verdict in judged if not verdict.holds] or judged
    unproved = [verdict for verdict in broken if math.isnan(verdict.reached)]
    sign = 1 if model.higher_is_safer else -1
    return (unproved or sorted(broken, key=lambda verdict: sign * verdict.reached))[0]


def why_not(verdict: Verdict) -> str:
    """Which models are broken, and in which tables, in one message."""
    broken = [
        f"{table.name}: {model.broken_groups:,} of the {table.groups:,} groups with rows break {model.name} "
        f"{model.asked:g} ({'lowest' if model.reached < model.asked else 'highest'}: {model.reached:.4g})."
        for table in verdict.tables
        for model in table.models
        if not model.holds
    ]
    joined = [
        f"{model.name} {model.asked:g} is broken ({model.checked_from})." for model in verdict.models if not model.holds
    ]
    return " ".join([*(broken or joined), *verdict.problems, "Nothing was written."])


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
    unnamed = sorted(path.name for path in folder.glob("release*") if path.name not in files.values())
    if unnamed:
        raise InputError(
            f"'{CODEBOOK}' does not name {', '.join(unnamed)}, which lies beside the tables, so that what it tells is "
            "not counted. Remove it, or make the release anew."
        )
    frames = {name: read_as_published(folder / file, csv=csv or CsvOptions()).frame for name, file in files.items()}
    return star, frames
