"""The whole method for files that are larger than memory: sum up, group, mask, verify, each in portions."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.contract import Engine, Files, Job, counts_of, refuse_unoffered
from shoal.engines.memory_needed import PORTION
from shoal.engines.offered import asked_without_search, why_not_in_portions
from shoal.engines.stream.code import PERSON, CodedFile, code_file, domain_of
from shoal.engines.stream.group import GroupTotals, Losses, look_at_cells, total_groups
from shoal.engines.stream.mask import DiskBucketing, Publisher, write_groups
from shoal.engines.stream.read import (
    FileSource,
    mended,
    opened,
    values_of,
    with_codes,
    with_plain_floats,
    without_missing,
)
from shoal.engines.stream.recount import InputRisk, look_at_file
from shoal.engines.stream.summary import SummaryTable, counts_of_groups, summarize
from shoal.engines.stream.write import InFiles
from shoal.errors import OutputError, ParameterError, PrivacyNotMetError
from shoal.grouping import Method
from shoal.grouping.feasibility import refuse_impossible
from shoal.grouping.grouping import Grouping
from shoal.judging.risk import Risk
from shoal.judging.verdict import Verdict, not_met_unhidden
from shoal.masking import secrecy
from shoal.masking.history import refuse_hidden_marks
from shoal.masking.publish import Mask
from shoal.masking.ranges import steps_shown
from shoal.masking.scheme import scheme_of_groups
from shoal.measuring.spread import RiskSpread
from shoal.measuring.utility import Utility
from shoal.models.contract import Model
from shoal.policy.policy import DEFAULT_MASK, DEFAULT_METHOD, Policy
from shoal.progress import Progress, silent, stage
from shoal.publishing.cells import note_on_counts
from shoal.publishing.folder import replacing_folder
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.release import Release, Writing
from shoal.publishing.write import write_beside
from shoal.reading import FORMATS, CsvOptions, format_of
from shoal.table.columns import NumberColumn
from shoal.table.roles import RECORDS_LOOKED_AT, refuse_unconfirmed
from shoal.table.sample import PersonWeights
from shoal.table.schema import Schema

WORK = "work"
"""The folder inside the release that is being filled in which records lie while they are worked on."""


def protect_file(
    path: str | Path,
    schema: Schema | Policy,
    models: Sequence[Model] | None = None,
    output: str | Path | None = None,
    *,
    method: str | Method = DEFAULT_METHOD,
    mask: str | Mask = DEFAULT_MASK,
    seed: int | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    format: str | None = None,
    csv: CsvOptions | None = None,
    overwrite: bool = False,
    report: bool = True,
    measure_input: bool | None = None,
    keep_person_map: bool = False,
    policy_text: str | None = None,
    inputs: Sequence[Path] = (),
    started: datetime | None = None,
    progress: Progress = silent,
    portion: int = PORTION,
    **options: Any,
) -> Release:
    """Protect a Parquet or CSV file that may be larger than memory, and write the release folder.

    The groups and the published values are those that `shoal.protect` gives for the same table; only pseudonyms and the
    order of the records, which are always random, differ.

    Parameters
    ----------
    path, schema, models
        The file, the roles of its columns, and what every group must meet; or the file and a `Policy`, which makes all
        choices but the seed.
    output
        The folder of the release. While it is filled, a hidden folder beside it holds the records as codes; only its
        owner can look into it, and it is removed also when the run fails.
    method, mask, options
        Of `balance-tree` and `mondrian`, and of `range`, `mean` and `suppress`.
    max_alone, allow_alone
        As in `shoal.protect`.
    report
        Whether to write the reports: steward/report.html, steward/report.json and summary.html. They are made from
        counts, and say what is left out.
    measure_input
        Whether to measure the risk of the input too; unless told, where there is a report.
    portion
        How many records are looked at together.

    Raises
    ------
    ParameterError
        Where what is asked needs the whole table in memory; every reason is named.
    CannotSatisfyError, PrivacyNotMetError
        As `shoal.protect`; nothing is written then.

    Notes
    -----
    Memory grows with the persons, their quasi-identifiers and their different sensitive values, not with the records.
    The published file is read again to verify it, from what it shows alone, before it takes its place.
    """
    if output is None:
        raise ParameterError("Say where the release goes: output='out'. It is written while it is made.")
    writing = Writing(
        folder=Path(output), overwrite=overwrite, format=format, report=report, keep_person_map=keep_person_map,
        policy_text=policy_text, inputs=inputs, started=started,
    )  # fmt: skip
    job = Job.of(
        Files(names=(str(path),), csv=csv or CsvOptions()), schema, models, method=method, mask=mask, seed=seed,
        max_alone=max_alone, allow_alone=allow_alone, measure_input=report if measure_input is None else measure_input,
        progress=progress, writing=writing, **options,
    )  # fmt: skip
    return StreamEngine(portion=portion).protect(job)


class StreamEngine(Engine):
    """One file in portions: memory grows with persons, and the release is written while it is made."""

    name = "stream"

    def __init__(self, *, portion: int = PORTION) -> None:
        self.portion = portion

    def why_not(self, job: Job) -> list[str]:
        """What needs the whole table in memory."""
        return why_not_in_portions(job)

    def protect(self, job: Job) -> Release:
        """Read, sum up, group, mask, write and recount, and swap the folder in when the file holds."""
        clock = time.perf_counter()
        refuse_unoffered(self, job)
        refuse_unreadable(job.models)
        if job.writing is None:
            raise ParameterError("In portions a release is written while it is made: say where it goes.")
        if job.writing.keep_person_map and job.roles.person is None:
            raise ParameterError("There is no person column, so there is no person map to keep.")
        path = Path(job.source.names[0])
        inputs = [Path(each) for each in job.writing.inputs] or [path]
        format = job.writing.format or format_of(path).name
        started = job.writing.started or datetime.now(UTC)
        with replacing_folder(job.writing.folder, overwrite=job.writing.overwrite, inputs=inputs) as new:
            work, steward = new / WORK, new / "steward"
            work.mkdir(mode=0o700)
            steward.mkdir(mode=0o700)
            run = _Run(job, path, self.portion, work, steward)
            made = run.make(new / f"release.{format}", format)
            shutil.rmtree(work)
            told = {
                "engine": self.name,
                **({"mended": list(run.mended[1])} if job.policy.mend else {}),
                **({"coded": run.coded[1]} if run.coded[1] else {}),
            }
            release = Release(
                records=InFiles(job.writing.folder, format, made.columns, made.lone_extremes), policy=job.policy,
                verdict=made.verdict, risk=made.risk, utility=made.utility, before=made.before,
                spread_before=made.spread_before, spread=made.spread, schema=run.schema, models=job.models,
                method=job.method, mask=job.mask, seed=job.seed, seconds=time.perf_counter() - clock, notes=made.notes,
                kinds=made.kinds, rounded=made.rounded, lone_ends=made.lone_ends, told=told,
            )  # fmt: skip
            writing = replace(job.writing, format=format, csv=run.opened.csv, started=started)
            write_beside(release, new, writing, inputs=inputs, manifest={})
        return release


@dataclass(frozen=True)
class _Read:
    """The file as it is published from, its codes, what is known of each person, and the risk of the file as it is."""

    source: FileSource
    coded: CodedFile
    table: SummaryTable
    before: Risk | None
    spread_before: RiskSpread | None


@dataclass(frozen=True)
class _Published:
    """What a run gives beside the published file."""

    columns: tuple[str, ...]
    kinds: dict[str, str]
    rounded: dict[str, float | str]
    lone_ends: dict[str, dict[str, int]]
    utility: Utility
    notes: tuple[str, ...]
    lone_extremes: dict[str, int]
    n_records: int
    before: Risk | None
    spread_before: RiskSpread | None


@dataclass(frozen=True)
class _Made(_Published):
    """The same with what was counted in the published file."""

    verdict: Verdict
    risk: Risk
    spread: RiskSpread | None


@dataclass(frozen=True)
class _Run:
    """The stages one after the other."""

    job: Job
    path: Path
    portion: int
    work: Path
    steward: Path

    @cached_property
    def mended(self) -> tuple[FileSource, tuple[dict[str, Any], ...]]:
        """The file, mended as the policy says, and how many records each step changed."""
        source = opened(self.job.source, self.work, self.portion, self.job.roles.dropped)
        return mended(source, self.job.policy, self.work)

    @property
    def opened(self) -> FileSource:
        """The file."""
        return self.mended[0]

    @cached_property
    def coded(self) -> tuple[FileSource, dict[str, Any]]:
        """The records that are worked on, with values coded as the schema says, and what was coded."""
        source = without_missing(with_plain_floats(self.opened, self.schema), self.schema)
        return with_codes(source, self.schema)

    @cached_property
    def schema(self) -> Schema:
        """The roles of its columns."""
        return self.job.schema(values_of(self.opened, self.job.policy))

    def make(self, file: Path, format: str) -> _Made:
        """Publish and verify; what is not met is refused. What publishing holds in memory is let go before."""
        job = self.job
        with stage("reading", job.progress) as told:
            self.opened.refuse_unfit(self.schema)
            refuse_unconfirmed(self.opened.collected(self.opened.scan.head(RECORDS_LOOKED_AT)), self.schema)
            _refuse_full_disk(self.opened, self.schema, self.work)
            source = self.coded[0]
            read = self._read(source)
            told.counts = {"records": read.coded.n_records, "persons": read.table.n_persons}
        published = self._publish(read, file, format)
        del read
        with stage("verifying", job.progress) as told:
            assert job.writing is not None
            risk, verdict, spread = look_at_file(
                file, self.schema, job.models, csv=_as_written(source.csv, format), portion=self.portion,
                limit=job.alone_limit, with_spread=job.writing.report,
            )  # fmt: skip
            told.counts = counts_of(verdict)
        if not verdict.holds:
            raise not_met_unhidden(verdict, job.models)
        n_records = published.n_records
        if risk.records != n_records:
            raise PrivacyNotMetError(f"{risk.records:,} of {n_records:,} records are in the file. Nothing was written.")
        return _Made(**vars(published), verdict=verdict, risk=risk, spread=spread)

    def _read(self, source: FileSource) -> _Read:
        """Code and sum up."""
        measures_input = self.job.measures.measure_input
        as_it_is = InputRisk(self.work, self.schema, source.n_records, self.portion)
        weights = None if self.schema.weight is None else PersonWeights(self.schema.weight)

        def watch(frame: pl.DataFrame, coded: pl.DataFrame) -> None:
            if weights is not None:
                weights.see(frame[weights.name], coded[PERSON].to_numpy())
            if measures_input:
                as_it_is.see(frame, coded)

        coded = code_file(source, domain_of(source, self.schema), self.schema, self.work, watch)
        weight_of_person = None if weights is None else weights.of_persons(coded.n_persons)
        table = summarize(coded, self.schema, notes=source.notes, with_squares=self.job.method.needs_squares)
        before: tuple[Risk | None, RiskSpread | None] = (None, None)
        if measures_input:
            before = as_it_is.measured(coded, _persons_of_code(table), weight_of_person)
        return _Read(source, coded, table, *before)

    def _publish(self, read: _Read, file: Path, format: str) -> _Published:
        """Group, mask and write."""
        job = self.job
        with stage("grouping", job.progress) as told:
            grouping = self._grouped(read.table)
            told.counts = {"groups": grouping.n_groups}
        read.table.forget_values()
        with stage("masking", job.progress):
            return self._mask(read, grouping, file, format)

    def _grouped(self, table: SummaryTable) -> Grouping:
        """The groups, where there can be any."""
        models = asked_without_search(self.job.models)
        if any(model.of_histories is not None for model in self.job.models):
            refuse_hidden_marks({name: column.categories for name, column in table.sensitive.items()})
        needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
        refuse_impossible(table, models, counts_of_groups(table, needs, np.zeros(table.n_persons, np.int32), 1))
        return self.job.method.group(table, models, self.job.progress)

    def _mask(self, read: _Read, grouping: Grouping, file: Path, format: str) -> _Published:
        """Write what is shown of the groups, and what the steward keeps."""
        job, source, coded, table = self.job, read.source, read.coded, read.table
        groups = total_groups(coded, table, grouping)
        losses, buckets = Losses(table, groups), DiskBucketing(self.work, coded.n_records, self.portion)
        for portion in coded.portions():
            losses.add(portion)
            buckets.add(portion, self.schema)
        shown = {name: job.mask.mask(column, groups, table) for name, column in table.quasi.items()}
        lost, lone = look_at_cells(coded, groups, shown, job.mask)
        utility = losses.utility(lost)
        texts = {name: labels.cast(pl.String) for name, labels in shown.items()}
        scheme_of_groups(table, groups, texts, job.mask.name).write_parquet(self.steward / "scheme.parquet")
        del texts
        publisher = self._publisher(source, coded, grouping.group_of_person, shown)
        publisher.write(buckets.filled(), file, format, source.csv, self.work / "groups")
        write_groups(self.work / "groups", self.steward / "groups.parquet", self.portion)
        self._write_person_map(coded, publisher)
        return _Published(
            columns=publisher.columns, kinds={name: column.kind for name, column in table.quasi.items()},
            utility=utility, notes=(*source.notes, *_alike(coded), *note_on_counts(publisher.cells_that_run)),
            lone_extremes=_lone_extremes(table, groups), rounded=steps_shown(table.quasi, groups, job.mask),
            lone_ends=lone, n_records=coded.n_records, before=read.before, spread_before=read.spread_before,
        )  # fmt: skip

    def _publisher(
        self, source: FileSource, coded: CodedFile, group_of_person: Any, shown: dict[str, pl.Series]
    ) -> Publisher:
        published = self.schema.published()
        return Publisher(
            coded=coded,
            schema=self.schema,
            columns=tuple(name for name in source.schema.names() if name in published),
            group_of_person=group_of_person,
            labels=shown,
            pseudonyms=secrecy.pseudonyms(coded.n_persons) if self.schema.person is not None else None,
            enums=_types_of_used(source, coded),
        )

    def _write_person_map(self, coded: CodedFile, publisher: Publisher) -> None:
        """Who has which pseudonym, where the steward is to keep it."""
        writing = self.job.writing
        if writing is None or not writing.keep_person_map or coded.persons is None or publisher.pseudonyms is None:
            return
        names = publisher.pseudonyms.gather(coded.persons.person_of_written)
        kept = pl.DataFrame([coded.persons.written.alias("person"), names.alias("pseudonym")])
        kept.write_parquet(self.steward / "persons.parquet")


def _alike(coded: CodedFile) -> list[str]:
    """What was taken for one: persons, and values of sensitive attributes."""
    notes = [] if coded.persons is None else list(coded.persons.notes)
    return notes + [note for column in coded.domain.sensitive.values() for note in column.notes]


def _refuse_full_disk(source: FileSource, schema: Schema, work: Path) -> None:
    """Refuse a run for whose records there is no room on the disk: as codes, in buckets twice, and as a release."""
    needed = source.n_records * (8 + 16 * len(schema.published())) * 3
    free = shutil.disk_usage(work).free
    if needed > free:
        raise OutputError(
            f"While {source.n_records:,} records are protected in portions, about {needed / 1e9:,.1f} GB lie beside "
            f"the release, and the disk has {free / 1e9:,.1f} GB free. Nothing was written. Make room, or choose "
            "another disk for it."
        )


def _as_written(csv: CsvOptions | None, format: str) -> CsvOptions | None:
    """How a release is read back: shoal writes quotes, decimals and missing values in its own way."""
    if not FORMATS[format].is_text:
        return None
    return CsvOptions(delimiter=(csv.delimiter if csv is not None else None) or ",")


def _types_of_used(source: FileSource, coded: CodedFile) -> dict[str, pl.DataType]:
    """Types for columns of categories that name only those that are published; others become texts."""
    types: dict[str, pl.DataType] = {}
    for name in coded.others:
        dtype = source.schema[name]
        if isinstance(dtype, pl.Enum):
            used = set(source.collected(source.scan.select(pl.col(name).unique())).to_series().cast(pl.String))
            types[name] = pl.Enum([category for category in dtype.categories if category in used])
        elif isinstance(dtype, pl.Categorical):
            types[name] = pl.String()
    return types


def _persons_of_code(table: SummaryTable) -> dict[str, NDArray[np.int64]]:
    """How many persons have each sensitive value."""
    return {
        name: np.bincount(table.lists[name][1], minlength=column.n_codes) for name, column in table.sensitive.items()
    }


def _lone_extremes(table: SummaryTable, groups: GroupTotals) -> dict[str, int]:
    return {
        name: groups.numbers[name].owners.n_lone
        for name, column in table.quasi.items()
        if isinstance(column, NumberColumn) and (column.source is None or column.source.hierarchy is None)
    }
