"""The engine spark behind `shoal protect`: the same flags, the same folder, on a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

    from shoal.policy import Policy
    from shoal.table.schema import Schema
NOT_ON_SPARK = {
    "queries": "--queries and --associations ask for the original and the release side by side",
    "associations": "--queries and --associations ask for the original and the release side by side",
    "attack": "--attack asks for the original and the release side by side",
    "keep_person_map": "--keep-person-map would bring every person to one file",
    "into": "--into writes a frame that is in memory",
    "table": "--table and --query read into memory",
    "query": "--table and --query read into memory",
    "join": "--join reads into memory: join the tables with Spark before",
    "rename": "--rename is for files that are read into memory",
    "sheet": "Excel workbooks are read into memory",
}
"""Flags that go with other engines, and why."""


def protect_on_spark(
    policy: Policy,
    folder: Path,
    output: str,
    *,
    files: Sequence[str],
    flags: dict[str, Any],
    overwrite: bool,
    format: str | None,
    no_report: bool,
    as_json: bool,
    started: datetime,
) -> None:
    """Protect what Spark reads, and write the folder; the same answer as of the other engines."""
    from shoal.cli import output as say
    from shoal.cli.choices import csv_options
    from shoal.cli.protect import show_release
    from shoal.reading.extras import imported

    clock = time.perf_counter()
    _refuse_flags(policy, flags)
    if not files:
        raise click.UsageError("Name the files or folders to protect.")
    imported("pyspark", extra="spark", what="The engine spark")
    from shoal.engines.spark import protect
    from shoal.engines.spark.files import format_of, read_tables
    from shoal.engines.spark.session import case_sensitive, persisted, session

    written_as = format or format_of(files[0])
    csv = csv_options(policy)
    with ExitStack() as stack:
        spark = stack.enter_context(session(flags.get("master"), _settings(flags)))
        stack.enter_context(case_sensitive(spark))
        progress = stack.enter_context(say.progress_bar())
        tables = read_tables(spark, files, policy.schema_of_release(), csv=csv)
        frame = stack.enter_context(persisted(tables.frame))
        release = protect(
            frame,
            tables.kinds(_schema(policy, folder, frame)),
            policy.models,
            method=policy.method,
            mask=policy.mask,
            seed=policy.seed,
            measure_input=not no_report,
            progress=progress,
            **({"cell_persons": flags["cell_persons"]} if flags.get("cell_persons") else {}),
            **policy.budget.alone,
            **policy.options,
        )
        release = replace(release, notes=(*tables.notes, *release.notes))
        release.write(
            output,
            overwrite=overwrite,
            format=written_as,
            csv=csv,
            policy_text=policy.moved(folder, Path(output) / "steward").to_toml(),
            inputs=files,
            started=started,
        )
    say.say_notes(release.notes)
    answer = {**release.to_dict(), "seconds": time.perf_counter() - clock, "folder": output}
    if as_json:
        say.say_json(answer)
    else:
        show_release(say.console(), answer, output)


def _refuse_flags(policy: Policy, flags: dict[str, Any]) -> None:
    asked = [why for flag, why in NOT_ON_SPARK.items() if flags.get(flag)]
    if policy.source.join is not None and not flags.get("join"):
        asked.append(NOT_ON_SPARK["join"])
    if policy.tables:
        asked.append("a policy with [tables] joins tables in memory")
    if policy.budget.max_suppressed or policy.budget.max_records is not None:
        asked.append("a budget (--max-suppressed, --max-records) looks for the persons to leave out in the whole table")
    if policy.knowledge is not None:
        asked.append("[knowledge] is mined from the whole table")
    if policy.ledger is not None:
        asked.append("a ledger looks at every person on one machine")
    if policy.safe_cells:
        asked.append("--safe-cells changes files that are written in memory")
    if policy.max_linkage is not None:
        asked.append("--max-linkage goes with the mask perturb")
    if policy.columns.person_ids == "none":
        asked.append(
            "person_ids = 'none' keeps for the steward which records belong to one person, all of them at once"
        )
    if asked:
        raise ParameterError(f"Not with --engine spark: {'; '.join(dict.fromkeys(asked))}.")


def _settings(flags: dict[str, Any]) -> dict[str, str]:
    settings = {}
    for text in flags.get("spark_conf") or ():
        name, is_given, value = text.partition("=")
        if not is_given:
            raise click.UsageError("--spark-conf takes a setting and its value: --spark-conf spark.executor.memory=4g")
        settings[name.strip()] = value.strip()
    return settings


def _schema(policy: Policy, folder: Path, frame: DataFrame) -> Schema:
    """The schema, with hierarchies; those of prefixes and ICD codes are made from the values that a column has."""
    from shoal.engines.spark.read import distinct_values

    def hierarchy_of(column: Any) -> Any:
        if column.hierarchy is None or column.name not in frame.columns:
            return None
        from_values = column.hierarchy.prefixes is not None or column.hierarchy.icd is not None
        values = distinct_values(frame if from_values else frame.limit(0), column.name)
        return column.hierarchy.hierarchy(column.name, folder, values.to_frame())

    return policy.columns.schema_with(hierarchy_of)
