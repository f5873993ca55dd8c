"""The whole method for files that are larger than memory: sum up, group, mask, verify, each in portions."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.engines.stream.code import CodedFile, code_file
from shoal.engines.stream.domain import domain_of
from shoal.engines.stream.group import GroupTotals, Losses, total_groups
from shoal.engines.stream.mask import Bucketing, Publisher, write_groups
from shoal.engines.stream.read import PORTION, FileSource, with_plain_floats, without_missing
from shoal.engines.stream.recount import look_at_file
from shoal.engines.stream.summary import SummaryTable, counts_of_groups, summarize
from shoal.engines.stream.supported import why_not_streamed
from shoal.errors import OutputError, ParameterError, PrivacyNotMetError
from shoal.grouping import Method
from shoal.grouping.feasibility import refuse_impossible
from shoal.judging.alone import AloneLimit
from shoal.judging.risk import Risk
from shoal.judging.verdict import Verdict
from shoal.masking import secrecy
from shoal.masking.publish import Mask, Published
from shoal.masking.scheme import scheme_of_groups
from shoal.measuring.utility import Utility
from shoal.models.contract import Model
from shoal.pipeline import check_asked, checked_seed, choose, not_met, refuse_no_model
from shoal.progress import Progress, silent
from shoal.publishing.cells import note_on_counts
from shoal.publishing.codebook import CODEBOOK, with_files
from shoal.publishing.folder import replacing_folder
from shoal.publishing.manifest import write_manifest
from shoal.publishing.read import refuse_unreadable
from shoal.publishing.write import codebook, finite, policy_text_of, write_json
from shoal.reading import CsvOptions
from shoal.reading.read import FORMAT_OF_ENDING
from shoal.table.columns import NumberColumn
from shoal.table.schema import Schema
from shoal.table.table import Table

WORK = "work"
"""The folder inside the release that is being filled in which records lie while they are worked on."""

NO_REPORT = "report.html and the risk of the input are left out: they need the whole table in memory."


@dataclass(frozen=True)
class StreamedRelease:
    """A release that was made in portions: its verdict, its numbers, and where it lies."""

    folder: Path
    verdict: Verdict
    risk: Risk
    utility: Utility
    schema: Schema = field(repr=False)
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    seed: int
    seconds: float
    notes: tuple[str, ...]
    lone_extremes: dict[str, int]

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract, but for those of the input."""
        return {
            **asdict(self.risk),
            **asdict(self.utility),
            "seconds": self.seconds,
            "suppressed_persons": 0,
            "lone_extremes": self.lone_extremes,
            "notes": list(self.notes),
            "verdict": self.verdict.to_dict(),
            "before": None,
            "engine": "stream",
        }


def protect_file(
    path: str | Path,
    schema: Schema,
    models: Sequence[Model],
    output: str | Path,
    *,
    method: str | Method = "balance-tree",
    mask: str | Mask = "range",
    seed: int | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    format: str | None = None,
    csv: CsvOptions | None = None,
    overwrite: bool = False,
    report: bool = True,
    keep_person_map: bool = False,
    policy_text: str | None = None,
    inputs: Sequence[Path] = (),
    started: datetime | None = None,
    progress: Progress = silent,
    portion: int = PORTION,
    **options: Any,
) -> StreamedRelease:
    """Protect a Parquet or CSV file that may be larger than memory, and write the release folder.

    The groups and the published values are those that `shoal.protect` gives for the same table; only pseudonyms and the
    order of the records, which are always random, differ.

    Parameters
    ----------
    path, schema, models
        The file, the roles of its columns, and what every group must meet.
    output
        The folder of the release. While it is filled, a hidden folder beside it holds the records as codes; only its
        owner can look into it, and it is removed also when the run fails.
    method, mask, options
        Of `balance-tree` and `mondrian`, and of `range`, `mean` and `suppress`.
    max_alone, allow_alone
        As in `shoal.protect`.
    report
        Whether to write steward/report.json. The pages are left out.
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
    clock = time.perf_counter()
    started = started or datetime.now(UTC)
    path = Path(path)
    chosen_method, chosen_mask = choose(method, mask, options)
    check_asked(schema, models)
    refuse_no_model(models)
    refuse_unreadable(models)
    read_as = FORMAT_OF_ENDING.get(path.suffix.lower(), "parquet")
    format = format or str(read_as)
    why = why_not_streamed(schema, models, chosen_method, chosen_mask, formats=[read_as, format], csv=csv)
    if why:
        raise ParameterError(f"This cannot be done in portions. {' '.join(why)} Choose the engine 'memory', or others.")
    if keep_person_map and schema.person is None:
        raise ParameterError("There is no person column, so there is no person map to keep.")
    seed = checked_seed(seed)
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    run = _Run(schema, tuple(models), chosen_method, chosen_mask, seed, portion, progress, limit)
    with replacing_folder(output, overwrite=overwrite, inputs=inputs or [path]) as new:
        work, steward = new / WORK, new / "steward"
        work.mkdir(mode=0o700)
        steward.mkdir(mode=0o700)
        progress("reading", 0.0)
        source = _opened(path, read_as, csv, work, portion)
        made = run.make(source, new / f"release.{format}", format, work, steward)
        shutil.rmtree(work)
        release = StreamedRelease(
            folder=Path(output), verdict=made.verdict, risk=made.risk, utility=made.utility, schema=schema,
            models=run.models, method=chosen_method, mask=chosen_mask, seed=seed,
            seconds=time.perf_counter() - clock, notes=made.notes, lone_extremes=made.lone_extremes,
        )  # fmt: skip
        like = run.described(made)
        text = policy_text if policy_text is not None else policy_text_of(like, source.csv or CsvOptions())
        write_json(new / CODEBOOK, with_files(codebook(like, format, csv=source.csv), new))
        (steward / "policy.toml").write_text(text, encoding="utf-8")
        if keep_person_map and made.persons is not None:
            made.persons.write_parquet(steward / "persons.parquet")
        if report:
            write_json(steward / "report.json", release.to_dict())
        write_manifest(
            new, inputs=inputs or [path], policy_text=text, seed=seed, started=started, finished=datetime.now(UTC),
            extra={"verdict": finite(made.verdict.to_dict()), "format": format, "engine": "stream"},
        )  # fmt: skip
    return release


@dataclass(frozen=True)
class _Described:
    """What the codebook and the policy say of a release."""

    table: Table
    published: Published
    verdict: Verdict
    schema: Schema
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    seed: int
    max_suppressed: int = 0
    max_records: int | None = None
    max_linkage: float | None = None
    alone_limit: AloneLimit = field(default_factory=AloneLimit)
    knowledge: None = None


@dataclass(frozen=True)
class _Made:
    """What a run gives beside the files."""

    table: SummaryTable
    published: Published
    verdict: Verdict
    risk: Risk
    utility: Utility
    notes: tuple[str, ...]
    lone_extremes: dict[str, int]
    persons: pl.DataFrame | None


@dataclass(frozen=True)
class _Run:
    """What was asked, and the stages one after the other."""

    schema: Schema
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    seed: int
    portion: int
    progress: Progress
    limit: AloneLimit

    def described(self, made: _Made) -> Any:
        """What the codebook and the policy say of what was made."""
        return _Described(
            made.table, made.published, made.verdict, self.schema, self.models, self.method, self.mask, self.seed,
            alone_limit=self.limit,
        )  # fmt: skip

    def make(self, source: FileSource, file: Path, format: str, work: Path, steward: Path) -> _Made:
        """Sum up, group, mask, write and verify; what is not met is refused."""
        source.refuse_unfit(self.schema)
        _refuse_full_disk(source, self.schema, work)
        source = without_missing(with_plain_floats(source, self.schema), self.schema)
        coded = code_file(source, domain_of(source, self.schema), self.schema, work)
        alike = [] if coded.persons is None else list(coded.persons.notes)
        alike += [note for column in coded.domain.sensitive.values() for note in column.notes]
        notes = (*source.notes, *alike)
        table = summarize(coded, self.schema, notes=source.notes, with_squares=self.method.needs_squares)
        needs: frozenset[str] = frozenset().union(*(model.needs for model in self.models))
        everyone = np.zeros(table.n_persons, np.int32)
        refuse_impossible(table, self.models, counts_of_groups(table, needs, everyone, 1))
        grouping = self.method.group(table, self.models, self.progress)
        table.forget_values()
        self.progress("masking", 0.0)
        groups = total_groups(coded, table, grouping)
        losses, buckets = Losses(table, groups), Bucketing(work, coded.n_records, self.portion)
        for portion in coded.portions():
            losses.add(portion)
            buckets.add(portion, self.schema)
        utility = losses.utility()
        shown = {name: self.mask.mask(column, groups, table) for name, column in table.quasi.items()}
        texts = {name: labels.cast(pl.String) for name, labels in shown.items()}
        scheme_of_groups(table, groups, texts, self.mask.name).write_parquet(steward / "scheme.parquet")
        del texts
        publisher = self._publisher(source, coded, grouping.group_of_person, shown)
        publisher.write(buckets.filled(), file, format, source.csv, work / "groups")
        write_groups(work / "groups", steward / "groups.parquet", self.portion)
        lone = _lone_extremes(table, groups)
        notes = (*notes, *note_on_counts(publisher.cells_that_run))
        persons, n_records = _person_map(coded, publisher), coded.n_records
        published = Published(pl.DataFrame({name: [] for name in publisher.columns}), everyone[:0], everyone[:0], None)
        described = table.without_lists()
        del table, groups, losses, publisher, coded, grouping, everyone
        self.progress("verifying", 0.0)
        csv = source.csv if format == "csv" else None
        risk, verdict = look_at_file(
            file, self.schema, self.models, csv=_as_written(csv, format), portion=self.portion, limit=self.limit
        )
        if not verdict.holds:
            raise not_met(verdict)
        if risk.records != n_records:
            raise PrivacyNotMetError(f"{risk.records:,} of {n_records:,} records are in the file. Nothing was written.")
        return _Made(described, published, verdict, risk, utility, (*notes, NO_REPORT), lone, persons)

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


def _opened(path: Path, read_as: str, csv: CsvOptions | None, work: Path, portion: int) -> FileSource:
    if read_as == "csv":
        return FileSource.of_csv(path, csv or CsvOptions(), work, portion=portion)
    return FileSource.of_parquet(path, portion=portion)


def _refuse_full_disk(source: FileSource, schema: Schema, work: Path) -> None:
    """Refuse a run for whose records there is no room on the disk: they lie there as codes, twice, and as a release."""
    needed = source.n_records * (8 + 16 * len(schema.published())) * 2
    free = shutil.disk_usage(work).free
    if needed > free:
        raise OutputError(
            f"While {source.n_records:,} records are protected in portions, about {needed / 1e9:,.1f} GB lie beside "
            f"the release, and the disk has {free / 1e9:,.1f} GB free. Nothing was written. Make room, or choose "
            "another disk for it."
        )


def _as_written(csv: CsvOptions | None, format: str) -> CsvOptions | None:
    """How a release is read back: shoal writes quotes, decimals and missing values in its own way."""
    if format != "csv":
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


def _lone_extremes(table: SummaryTable, groups: GroupTotals) -> dict[str, int]:
    return {
        name: groups.numbers[name].owners.n_lone
        for name, column in table.quasi.items()
        if isinstance(column, NumberColumn) and (column.source is None or column.source.hierarchy is None)
    }


def _person_map(coded: CodedFile, publisher: Publisher) -> pl.DataFrame | None:
    if coded.persons is None or publisher.pseudonyms is None:
        return None
    names = publisher.pseudonyms.gather(coded.persons.person_of_written)
    return pl.DataFrame([coded.persons.written.alias("person"), names.alias("pseudonym")])
