"""A release on Spark, and its folder: what leaves the house apart from what stays, verified from the written files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.engines.offered import SPARK
from shoal.engines.spark import errors
from shoal.engines.spark.files import format_of, read_tables
from shoal.engines.spark.read import frame_of, mapped, quoted
from shoal.engines.spark.recount import Apart, recount
from shoal.engines.spark.session import case_sensitive
from shoal.errors import OutputError, ParameterError
from shoal.judging.verdict import not_met
from shoal.publishing.codebook import files_of_tables
from shoal.publishing.folder import replacing_folder
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.release import Records, Release, Writing
from shoal.publishing.write import policy_text_of, write_beside
from shoal.reading import CsvOptions, formats_on, is_on
from shoal.reading.csv import missing_in_csv, refuse_for_csv
from shoal.reading.parquet import scan_parquet
from shoal.table.own_columns import GROUP
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, eq=False)
class OnSpark(Records):
    """Frames on Spark, each in a random order; they are the same to the last bit whenever they are computed."""

    schema: Schema
    frame: DataFrame
    frames_beside: Mapping[str, DataFrame]
    linked: DataFrame | None
    """What the steward keeps of a release that publishes attributes apart."""
    kept: tuple[DataFrame, ...] = ()
    engine = "spark"

    @property
    def data(self) -> DataFrame:
        """The published table, as a Spark frame."""
        return self.frame

    @property
    def tables(self) -> Mapping[str, DataFrame]:
        """The sensitive tables of an anatomized release, by attribute."""
        return self.frames_beside

    @property
    def columns(self) -> Sequence[str]:
        """The names of the published columns."""
        return self.frame.columns

    @property
    def columns_of_tables(self) -> Mapping[str, Sequence[str]]:
        """The names of the columns of each sensitive table."""
        return {name: table.columns for name, table in self.frames_beside.items()}

    @property
    def lone_extremes(self) -> Mapping[str, int]:
        """Not counted: no executor can tell who alone has the lowest or highest value of the whole table."""
        return {}

    @property
    def groups(self) -> DataFrame:
        """One line per group: what it shows, how many persons and records it has."""
        from pyspark.sql import functions

        every = functions.count(functions.lit(1))
        if self.linked is not None:
            return self.frame.groupBy(quoted(GROUP)).agg(every.alias("persons"))
        person = self.schema.person
        persons = every if person is None else functions.count_distinct(quoted(person))
        taken = self.schema.quasi_names
        names = [f"n_{name}" if name in taken else name for name in ("persons", "records")]
        return self.frame.groupBy(*map(quoted, taken)).agg(persons.alias(names[0]), every.alias(names[1]))

    def unpersist(self) -> None:
        """Let go of what executors keep on their disks; `data` is then computed anew where it is asked for."""
        for frame in self.kept:
            frame.unpersist()

    def write(self, release: Release, writing: Writing) -> Path:
        """Write the release folder, which the executors reach under the same path."""
        write_release(release, writing)
        return writing.folder


def write_release(release: Release, writing: Writing) -> Release:
    """Write a release to a folder in one step: filled beside, read back and recounted, and swapped in when it holds.

    Gives the release as it was recounted from the files. Reports are written where the risk was measured.
    """
    records = release.records
    assert isinstance(records, OnSpark)
    names = [str(path) for path in writing.inputs]
    format = writing.format or (format_of(names[0]) if names else "parquet")
    if not is_on(SPARK, format):
        raise ParameterError(f"On Spark a release is written as {formats_on(SPARK)}.")
    refuse_unreadable(release.models)
    csv = CsvOptions(delimiter=(writing.csv.delimiter if writing.csv is not None else None) or ",")
    writing = replace(
        writing, format=format, csv=csv, report=writing.report and release.spread is not None,
        started=writing.started or datetime.now(UTC),
        policy_text=writing.policy_text if writing.policy_text is not None else policy_text_of(release, CsvOptions()),
    )  # fmt: skip
    local = [Path(name) for name in names if "://" not in name]
    folder = replacing_folder(writing.folder, overwrite=writing.overwrite, inputs=local)
    with errors.explained(), case_sensitive(records.frame.sparkSession), folder as new:
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        data = _written(records.frame, new / f"release.{format}", format, csv)
        files = files_of_tables(records.tables, format)
        tables = {name: _written(records.tables[name], new / file, format, csv) for name, file in files.items()}
        linked = None
        if records.linked is not None:
            linked = _written(records.linked, steward / "linked.parquet", "parquet", csv)
        release = _verified(release, data, Apart(type(release.mask), tables, linked) if linked is not None else None)
        _written(records.groups, steward / "groups.parquet", "parquet", csv)
        sources = [Path(name.rstrip("/")).name for name in names]
        write_beside(release, new, writing, manifest={"sources": sources})
    return release


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
    delimiter, missing = csv.delimiter or ",", missing_in_csv(len(frame.columns))

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        is_first = True
        for batch in batches:
            if not batch.num_rows:
                continue
            with errors.ExecutorError.instead():
                text = frame_of(batch).write_csv(separator=delimiter, include_header=is_first, null_value=missing)
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
        samples[name] += [value if count else "-"]
    samples = {name: values or ["-"] * len(odd) for name, values in samples.items()}
    refuse_for_csv(pl.DataFrame(samples, schema_overrides=dict.fromkeys(samples, pl.String)))


def _verified(release: Release, data: DataFrame, apart: Apart | None) -> Release:
    """The release with the verdict of the files that were written; refused where they break a model."""
    risk, verdict, _ = recount(data, release.schema, release.models, n_records=release.risk.records, apart=apart,
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
