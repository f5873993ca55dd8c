"""Writing a release folder from Spark: what leaves the house apart from what stays, verified from the written files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError, ParameterError
from shoal.pipeline import not_met
from shoal.policy import Policy
from shoal.publishing.cells import how_cells_are_written
from shoal.publishing.codebook import CODEBOOK, codebook_of, files_of_tables, with_files
from shoal.publishing.folder import replacing_folder
from shoal.publishing.manifest import write_manifest
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.write import write_json
from shoal.spark import errors
from shoal.spark.measuring import Apart, recount
from shoal.spark.release import SparkRelease

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("parquet", "csv")


def write_release(
    release: SparkRelease,
    folder: str | Path,
    *,
    overwrite: bool,
    format: str,
    policy_text: str | None,
    inputs: Sequence[str],
    started: datetime | None,
) -> Path:
    """Write a release to a folder in one step: filled beside, read back and recounted, and swapped in when it holds."""
    if format not in FORMATS:
        raise ParameterError("On Spark a release is written as parquet or csv.")
    refuse_unreadable(release.models)
    started = started or datetime.now(UTC)
    policy_text = policy_text if policy_text is not None else policy_of(release).to_toml()
    local = [Path(path) for path in inputs if "://" not in path]
    with errors.explained(), replacing_folder(folder, overwrite=overwrite, inputs=local) as new:
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        data = _written(release.data, new / f"release.{format}", format)
        names = files_of_tables(release.tables, format)
        tables = {name: _written(release.tables[name], new / file, format) for name, file in names.items()}
        linked = None
        if release.linked is not None:
            linked = _written(release.linked, steward / "linked.parquet", "parquet")
        release = _verified(release, data, Apart(type(release.mask), tables, linked) if linked is not None else None)
        _written(release.groups, steward / "groups.parquet", "parquet")
        write_json(new / CODEBOOK, with_files(codebook(release, format), new))
        (steward / "policy.toml").write_text(policy_text, encoding="utf-8")
        write_json(steward / "report.json", release.to_dict())
        write_manifest(
            new, inputs=(), policy_text=policy_text, seed=release.seed, started=started, finished=datetime.now(UTC),
            extra={"verdict": release.verdict.to_dict(), "format": format, "engine": "spark",
                   "sources": [Path(path.rstrip("/")).name for path in inputs]},
        )  # fmt: skip
    return Path(folder)


def _written(frame: DataFrame, path: Path, format: str) -> DataFrame:
    """Write a Spark frame as a folder of part files with plain names, and read it back."""
    place = path.absolute().as_uri()
    spark = frame.sparkSession
    writer = frame.write.option("header", True).option("escape", '"').option("emptyValue", '""')
    if format == "parquet":
        writer.parquet(place)
    else:
        writer.csv(place)
    if not path.is_dir():
        raise OutputError(
            "The executors wrote the release where the driver cannot see it. Name a folder that all of them share. "
            "Nothing was written."
        )
    parts = sorted(part for part in path.iterdir() if part.name.startswith("part-"))
    for part in path.iterdir():
        if part not in parts:
            part.unlink()
    for number, part in enumerate(parts):
        part.rename(path / f"part-{number:05d}.{format}")
    if format == "parquet":
        return spark.read.parquet(place)
    return spark.read.option("header", True).option("escape", '"').schema(frame.schema).csv(place)


def _verified(release: SparkRelease, data: DataFrame, apart: Apart | None) -> SparkRelease:
    """The release with the verdict of the files that were written; refused where they break a model."""
    risk, verdict = recount(data, release.schema, release.models, n_records=release.risk.records, apart=apart,
                            limit=release.alone_limit)  # fmt: skip
    problems = list(verdict.problems)
    if (risk.records, risk.persons) != (release.risk.records, release.risk.persons):
        problems.append(
            f"{risk.records:,} records of {risk.persons:,} persons were written, and {release.risk.records:,} of "
            f"{release.risk.persons:,} were to be."
        )
    verdict = replace(verdict, problems=tuple(problems))
    if not verdict.holds:
        raise not_met(verdict)
    return replace(release, risk=risk, verdict=verdict)


def codebook(release: SparkRelease, format: str) -> dict[str, Any]:
    """What a reader of the released table must know; nothing of single persons, and nothing of its files yet."""
    book = codebook_of(
        release.schema,
        release.mask,
        release.models,
        release.verdict,
        columns=release.data.columns,
        kinds=release.kinds,
        format=format,
        tables={name: table.columns for name, table in release.tables.items()},
        limit=release.alone_limit,
    )
    return {**book, **how_cells_are_written(format, None, safe_cells=False)}


def policy_of(release: SparkRelease) -> Policy:
    """The policy of a run that was started from Python."""
    return Policy.of(
        release.schema,
        release.models,
        method=release.method.name,
        method_options=release.method.options,
        mask=release.mask.name,
        mask_options=release.mask.options,
        max_alone=release.alone_limit.max_alone,
        allow_alone=release.alone_limit.allow_alone,
        seed=release.seed,
    )
