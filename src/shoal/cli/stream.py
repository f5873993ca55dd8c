"""shoal protect on files larger than memory: which engine, and the run in portions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.choices import csv_options

if TYPE_CHECKING:
    import polars as pl

    from shoal.engines.stream import StreamedRelease
    from shoal.policy import Policy


def engine_of_run(
    engine: str,
    files: Sequence[str],
    policy: Policy,
    folder: Path,
    flags: Mapping[str, Any],
    format: str | None,
    asked: Sequence[str],
) -> bool:
    """Whether a run is done in portions; refuses one that has no room, or cannot be done as asked."""
    from shoal.engines.stream import why_not_streamed
    from shoal.engines.stream.engine import STREAM, engine_for
    from shoal.pipeline import choose
    from shoal.reading import is_address
    from shoal.reading.read import FORMAT_OF_ENDING

    if engine == "memory":
        return False
    paths = [Path(file) for file in files if not is_address(file)]
    formats = [str(FORMAT_OF_ENDING.get(path.suffix.lower(), "other")) for path in paths]
    method, mask = choose(policy.method, policy.mask, policy.options)
    why = why_not_streamed(
        policy.schema_of_release(), policy.models, method, mask, formats=[*formats, *([format] if format else [])],
        csv=csv_options(policy), max_suppressed=policy.budget.max_suppressed, max_records=policy.budget.max_records,
        asked=[*asked, *_other_sources(files, policy)],
    )  # fmt: skip
    why += _hierarchies(policy, formats)
    if len(paths) < len(files) and engine != STREAM:
        return False
    schema = policy.schema_of_release()
    return engine_for(engine, paths, formats, schema, why_not=why, csv=csv_options(policy)) == STREAM


def _other_sources(files: Sequence[str], policy: Policy) -> list[str]:
    """What is asked of the input that takes more than one file, by name."""
    named = {
        "A policy with [tables]": bool(policy.tables),
        "A database": any("://" in file for file in files),
        "Putting several files under one another": len(files) > 1,
        "--join": policy.source.join is not None,
        "--safe-cells": policy.safe_cells,
        "--rename": any(policy.source.rename),
    }
    return [name for name, is_asked in named.items() if is_asked]


def _hierarchies(policy: Policy, formats: Sequence[str]) -> list[str]:
    """Hierarchies that do not go with portions: schemas of releases do not have them, so they are looked up here."""
    why = []
    for column in policy.columns.quasi:
        if column.hierarchy is None:
            continue
        if column.kind in ("number", "ordered", "date") or column.order is not None:
            why.append(f"The hierarchy of '{column.name}', which is not nominal, lists all its values.")
        elif formats == ["csv"] and (column.hierarchy.prefixes is not None or column.hierarchy.icd):
            why.append(f"The hierarchy of '{column.name}' is made from all values of a CSV file; name a file with it.")
    return why


def protect_in_portions(
    file: str,
    policy: Policy,
    folder: Path,
    output: str,
    *,
    overwrite: bool,
    format: str | None,
    report: bool,
    keep_person_map: bool,
    started: datetime,
) -> StreamedRelease:
    """Protect one file in portions, as the policy says."""
    from shoal.cli import output as say
    from shoal.engines.stream import protect_file

    path = Path(file)
    with say.progress_bar() as progress, say.warnings_as_notes() as told:
        release = protect_file(
            path, policy.schema(folder, _values_of(path, policy)), policy.models, output, method=policy.method,
            mask=policy.mask, seed=policy.seed, format=format, csv=csv_options(policy), overwrite=overwrite,
            report=report, keep_person_map=keep_person_map,
            policy_text=policy.moved(folder, Path(output) / "steward").to_toml(),
            inputs=(path, *policy.files(folder)), started=started, progress=progress, **policy.budget.alone,
            **policy.options,
        )  # fmt: skip
    say.say_notes(note for note in release.notes if note not in told)
    return release


def _values_of(path: Path, policy: Policy) -> pl.DataFrame:
    """The different values of columns whose hierarchies are made from them."""
    import polars as pl

    from shoal.engines.stream.read import FileSource

    made = [
        column.name
        for column in policy.columns.quasi
        if column.hierarchy is not None and (column.hierarchy.prefixes is not None or column.hierarchy.icd)
    ]
    if not made:
        return pl.DataFrame()
    source = FileSource.of_parquet(path)
    known = [name for name in made if name in source.schema]
    columns = [source.collected(source.scan.select(pl.col(name).unique())) for name in known]
    return pl.concat(columns, how="horizontal") if columns else pl.DataFrame()
