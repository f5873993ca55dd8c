"""Writing a release folder from Spark: what leaves the house apart from what stays, verified from the written files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.engines.spark import errors
from shoal.engines.spark.files import read_tables
from shoal.engines.spark.read import frame_of, mapped, quoted
from shoal.engines.spark.recount import Apart, recount
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.session import case_sensitive
from shoal.errors import OutputError, ParameterError
from shoal.pipeline import not_met
from shoal.policy import Policy
from shoal.publishing.cells import how_cells_are_written
from shoal.publishing.codebook import CODEBOOK, codebook_of, files_of_tables, with_files
from shoal.publishing.folder import replacing_folder
from shoal.publishing.manifest import write_manifest
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.tables import refuse_for_csv
from shoal.publishing.write import write_json
from shoal.reading import CsvOptions
from shoal.reading.parquet import scan_parquet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FORMATS = ("parquet", "csv")


def write_release(
    release: SparkRelease,
    folder: str | Path,
    *,
    overwrite: bool,
    format: str,
    csv: CsvOptions,
    policy_text: str | None,
    inputs: Sequence[str],
    started: datetime | None,
) -> Path:
    """Write a release to a folder in one step: filled beside, read back and recounted, and swapped in when it holds."""
    if format not in FORMATS:
        raise ParameterError("On Spark a release is written as parquet or csv.")
    refuse_unreadable(release.models)
    csv = CsvOptions(delimiter=csv.delimiter or ",")
    started = started or datetime.now(UTC)
    policy_text = policy_text if policy_text is not None else policy_of(release).to_toml()
    local = [Path(path) for path in inputs if "://" not in path]
    spark = release.data.sparkSession
    with errors.explained(), case_sensitive(spark), replacing_folder(folder, overwrite=overwrite, inputs=local) as new:
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        data = _written(release.data, new / f"release.{format}", format, csv)
        names = files_of_tables(release.tables, format)
        tables = {name: _written(release.tables[name], new / file, format, csv) for name, file in names.items()}
        linked = None
        if release.linked is not None:
            linked = _written(release.linked, steward / "linked.parquet", "parquet", csv)
        release = _verified(release, data, Apart(type(release.mask), tables, linked) if linked is not None else None)
        _written(release.groups, steward / "groups.parquet", "parquet", csv)
        write_json(new / CODEBOOK, with_files(codebook(release, format, csv), new))
        (steward / "policy.toml").write_text(policy_text, encoding="utf-8")
        write_json(steward / "report.json", release.to_dict())
        write_manifest(
            new, inputs=(), policy_text=policy_text, seed=release.seed, started=started, finished=datetime.now(UTC),
            extra={"verdict": release.verdict.to_dict(), "format": format, "engine": "spark",
                   "sources": [Path(path.rstrip("/")).name for path in inputs]},
        )  # fmt: skip
    return Path(folder)


def _written(frame: DataFrame, path: Path, format: str, csv: CsvOptions) -> DataFrame:
    """Write a Spark frame as a folder of part files with plain names, and read it back."""
    place = path.absolute().as_uri()
    if format == "parquet":
        frame.write.parquet(place)
    else:
        _refuse_for_csv(frame)
        _csv_texts(frame, csv).write.text(place)
    if not path.is_dir():
        raise OutputError(
            "The executors wrote the release where the driver cannot see it. Name a folder that all of them share. "
            "Nothing was written."
        )
    parts = sorted(part for part in path.iterdir() if part.name.startswith("part-") and _has_records(part, format))
    for part in path.iterdir():
        if part not in parts:
            shutil.rmtree(part) if part.is_dir() else part.unlink()
    for number, part in enumerate(parts):
        part.rename(path / f"part-{number:05d}.{format}")
    if format == "parquet":
        return frame.sparkSession.read.parquet(place)
    return read_tables(frame.sparkSession, [place], csv=csv).frame


def _has_records(part: Path, format: str) -> bool:
    """Whether a part file holds anything; of a partition without records Spark may write one that does not."""
    if format == "csv":
        return bool(part.stat().st_size)
    return bool(scan_parquet([part]).select(pl.len()).collect().item())


def _csv_texts(frame: DataFrame, csv: CsvOptions) -> DataFrame:
    """The content of CSV files as the engine in memory writes them: a text for each batch, the names in the first."""
    delimiter = csv.delimiter or ","

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        is_first = True
        for batch in batches:
            if not batch.num_rows:
                continue
            with errors.ExecutorError.instead():
                text = frame_of(batch).write_csv(separator=delimiter, include_header=is_first)
            is_first = False
            yield pa.RecordBatch.from_arrays([pa.array([text.removesuffix("\n")], pa.string())], names=["value"])

    return mapped(frame, write, "value string")


def _refuse_for_csv(frame: DataFrame) -> None:
    """Refuse what would not come back from CSV files, in the words of the engine in memory."""
    from pyspark.sql import functions
    from pyspark.sql.types import StringType

    samples: dict[str, list[str | None]] = {name: [] for name in frame.columns}
    texts = [field.name for field in frame.schema.fields if isinstance(field.dataType, StringType)]
    odd: dict[str | None, Callable[[Column], Column]] = {
        None: lambda column: column.isNull(),
        "": lambda column: column == functions.lit(""),
        "\0": lambda column: column.contains("\0"),
    }
    asked = [(name, value) for name in texts for value in odd]
    counts = frame.agg(
        functions.lit(0), *(functions.count_if(odd[value](quoted(name))) for name, value in asked)
    ).first()
    assert counts is not None
    for (name, value), count in zip(asked, counts[1:], strict=True):
        samples[name] += [value] if count else []
    refuse_for_csv(pl.DataFrame([pl.Series(name, values, pl.String) for name, values in samples.items()], strict=False))


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


def codebook(release: SparkRelease, format: str, csv: CsvOptions) -> dict[str, Any]:
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
    return {**book, **how_cells_are_written(format, csv, safe_cells=False)}


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
