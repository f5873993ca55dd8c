"""The whole method on Spark, in the order in which the data flow: facts, persons, cells, groups, masks, verdict."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.engines.contract import Engine, Files, Job, counts_of, refuse_unoffered
from shoal.engines.offered import SPARK, asked_without_search, why_not_on_spark
from shoal.engines.spark import errors
from shoal.engines.spark.code import Cells, Grower, is_countable
from shoal.engines.spark.files import Tables, read_tables
from shoal.engines.spark.group import SparkPoints, SparkSource, persons_of, records_in_cells, with_extents
from shoal.engines.spark.mask import (
    BESIDE,
    KIND,
    LINKED,
    LOSS,
    LOST,
    OF_ATTRIBUTE,
    ORDER,
    PUBLISHED,
    Work,
    cells,
    columns_of_table,
    losses,
    published_columns,
)
from shoal.engines.spark.mend import mended
from shoal.engines.spark.read import (
    Facts,
    facts_of,
    frame_of,
    quoted,
    refuse_misfits,
    refuse_unfit_weights,
    schema_for,
)
from shoal.engines.spark.recount import Apart, recount
from shoal.engines.spark.session import case_sensitive, persisted, session
from shoal.engines.spark.write import OnSpark, write_release
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping import Method
from shoal.grouping.feasibility import refuse_broken, refuse_unfit_values
from shoal.judging.risk import Risk
from shoal.judging.verdict import not_met_unhidden
from shoal.masking.history import refuse_hidden_marks
from shoal.masking.parting import refuse_what_links
from shoal.masking.publish import Mask
from shoal.measuring.spread import RiskSpread
from shoal.measuring.utility import PartOfLoss, utility_of_parts
from shoal.models.contract import Model
from shoal.models.counts import SPREAD
from shoal.policy.policy import DEFAULT_MASK, DEFAULT_METHOD, Policy
from shoal.progress import Progress, silent, stage
from shoal.publishing.release import Release
from shoal.reading.mend import sentences
from shoal.table.own_columns import GROUP, MEMBER
from shoal.table.roles import RECORDS_LOOKED_AT, refuse_unconfirmed
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CELL_PERSONS = 100_000
"""How many persons a cell has at the most: they and their records lie in the memory of one executor at a time."""

KEY_BYTES = 32


def protect(
    spark_frame: DataFrame,
    schema: Schema | Policy,
    models: Sequence[Model] | None = None,
    *,
    method: str | Method = DEFAULT_METHOD,
    mask: str | Mask = DEFAULT_MASK,
    seed: int | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    cell_persons: int = CELL_PERSONS,
    measure_input: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> Release:
    """Group the persons of a Spark frame so that every group meets every model, mask the groups, and verify the result.

    Parameters
    ----------
    spark_frame, schema, models
        The table, the roles of its columns, and what every group must meet; or the table and a `Policy`, which makes
        all choices but the seed.
    method, mask
        Of the methods "balance-tree" and "mondrian", of the masks "range", "mean", "anatomize" and "permute"; their
        options are further keyword arguments.
    seed
        Kept in the manifest; nothing here draws by it. Pseudonyms and record order always come from secure randomness.
    max_alone, allow_alone
        As in `shoal.protect`.
    cell_persons
        How many persons are grouped at a time, on one executor. With more cells than one, groups do not reach over the
        borders of cells.
    measure_input
        Whether to measure the risk of the input too, and how risk is spread, which takes one more pass; a report
        needs it.

    Raises
    ------
    ParameterError
        The method, the mask, a model or an option is not offered on Spark; the message says why.
    CannotSatisfyError
        Where the whole table breaks a model, so that no grouping can meet it.
    PrivacyNotMetError
        Where the masked table breaks a model; nothing is returned then.

    Notes
    -----
    With one cell the groups are those of `shoal.protect`. The records never come to the driver: only counts, categories
    and sensitive values do. The verdict is recounted by executors from the table as it will be published.
    """
    job = Job.of(
        spark_frame, schema, models, method=method, mask=mask, seed=seed, max_alone=max_alone, allow_alone=allow_alone,
        measure_input=measure_input, progress=progress, **options,
    )  # fmt: skip
    return SparkEngine(cell_persons=cell_persons).protect(job)


class SparkEngine(Engine):
    """A Spark frame, or files that Spark reaches: persons in cells, each on one executor at a time.

    Parameters
    ----------
    cell_persons
        How many persons a cell has at the most.
    master, settings
        For files: where Spark runs, such as local[2] or spark://host:7077, and settings of its own.
    """

    name = SPARK

    def __init__(
        self,
        *,
        cell_persons: int = CELL_PERSONS,
        master: str | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if isinstance(cell_persons, bool) or not isinstance(cell_persons, int) or cell_persons < 2:
            raise ParameterError("cell_persons must be a whole number of persons, 2 or more.")
        self.cell_persons, self.master, self.settings = cell_persons, master, settings

    def why_not(self, job: Job) -> list[str]:
        """What needs the whole table on one machine."""
        return why_not_on_spark(job)

    def protect(self, job: Job) -> Release:
        """Protect a frame; or files, whose release is written before the session with Spark ends."""
        refuse_unoffered(self, job)
        refuse_names(job)
        if not isinstance(job.source, Files):
            return self._protect(job, job.source, job.source, ())
        with ExitStack() as stack:
            spark = stack.enter_context(session(self.master, self.settings))
            stack.enter_context(case_sensitive(spark))
            tables = read_tables(spark, job.source.names, job.roles, csv=job.source.csv, mends=job.policy.mend)
            frame = stack.enter_context(persisted(tables.frame))
            return self._protect(job, frame, tables, tables.notes)

    def _protect(self, job: Job, frame: DataFrame, given: DataFrame | Tables, notes: tuple[str, ...]) -> Release:
        """The release of a frame, written where it is to go."""
        started = time.perf_counter()
        with ExitStack() as stack:
            if job.policy.mend:
                stack.enter_context(errors.explained())
                frame, mends = mended(frame, job.policy.mend)
                frame = stack.enter_context(persisted(frame))
                job = replace(job, mends=mends)
            schema = schema_for(job, frame)
            schema = given.kinds(schema) if isinstance(given, Tables) else schema
            refuse_misfits(frame, schema)
            refuse_unconfirmed(frame_of(frame.limit(RECORDS_LOOKED_AT).toArrow()), schema)
            with errors.explained(), case_sensitive(frame.sparkSession):
                release = _Run(job, schema, self.cell_persons).release(frame, started, notes)
            if job.writing is not None:
                return write_release(release, job.writing)
            return release


@dataclass(frozen=True)
class _Run:
    """The stages one after the other: facts, persons, cells, groups, masks, verdict."""

    job: Job
    schema: Schema
    cell_persons: int

    def release(self, frame: DataFrame, started: float, notes: tuple[str, ...]) -> Release:
        """Group, mask and recount; what is not met is refused."""
        job, schema, models = self.job, self.schema, self.job.models
        with stage("reading", job.progress) as told:
            frame, facts = self._read(frame)
            of_value, before, spread_before = self._as_it_is(frame, facts)
            told.counts = {"records": facts.n_records}
        work, grown, lines, parts = self._masked(frame, facts)
        data, tables, linked = _published(lines, work, is_shuffled=True)
        with stage("verifying", job.progress) as told:
            same = _published(lines, work, is_shuffled=False)
            apart = Apart(type(job.mask), same[1], same[2]) if linked is not None else None
            risk, verdict, spread = recount(
                same[0], schema, models, n_records=facts.n_records, apart=apart, limit=job.alone_limit,
                persons_of_value=of_value,
            )  # fmt: skip
            told.counts = counts_of(verdict)
        verdict = _saying_what_is_lost(verdict, risk, facts, grown, has_pseudonyms=schema.person in data.columns)
        if not verdict.holds:
            lines.unpersist()
            raise not_met_unhidden(verdict, models)
        return Release(
            records=OnSpark(schema, data, tables, linked, (lines,)), policy=job.policy, verdict=verdict, risk=risk,
            utility=utility_of_parts(parts, exact_quasi=job.mask.shows_identities), before=before,
            spread_before=spread_before, spread=spread, schema=schema, models=models, method=job.method, mask=job.mask,
            seed=job.seed, seconds=time.perf_counter() - started,
            notes=(
                *notes, *sentences(job.mends), *facts.notes, *_notes(grown, self.cell_persons),
                *_not_counted(job, facts),
            ),
            kinds={name: column.kind for name, column in facts.quasi.items()}, shared_dates=facts.shared_dates,
            told={
                "engine": SPARK, "cells": len(grown.persons_of_cell), "largest_cell": grown.largest,
                **({"mended": list(job.mends)} if job.policy.mend else {}),
            },
        )  # fmt: skip

    def _read(self, frame: DataFrame) -> tuple[DataFrame, Facts]:
        """The records that are worked on, and what is known of all of them."""
        models = self.job.models
        asks_of_values = any(not model.needs <= SPREAD for model in models)
        with_persons = asks_of_values or self.job.measures.measure_input
        refuse_unfit_weights(frame, self.schema)
        frame, facts = facts_of(frame, self.schema, with_persons=with_persons)
        refuse_unfit_values(facts.missing_and_codes(), models, n_records=facts.n_records)
        if any(model.of_histories is not None for model in models):
            refuse_hidden_marks({name: column.categories for name, column in facts.sensitive.items()})
        return frame, facts

    def _as_it_is(
        self, frame: DataFrame, facts: Facts
    ) -> tuple[dict[str, NDArray[np.int64]] | None, Risk | None, RiskSpread | None]:
        """How many persons have each value, and the risk of the table as it is; nothing where that is not measured."""
        if not self.job.measures.measure_input:
            return None, None, None
        of_value = {name: column.persons for name, column in facts.sensitive.items()}
        before, _, spread = recount(
            frame, self.schema, [], n_records=facts.n_records, is_release=False, persons_of_value=of_value
        )
        return of_value, before, spread

    def _masked(self, frame: DataFrame, facts: Facts) -> tuple[Work, Cells, DataFrame, list[PartOfLoss]]:
        """The lines that cells give, and what they lose."""
        job, of_groups = self.job, asked_without_search(self.job.models)
        with persisted(persons_of(frame, facts, with_values=False)) as persons:
            with stage("grouping", job.progress) as told:
                grown, facts = _cells(frame, persons, facts, of_groups, job.method, self.cell_persons, job.progress)
                sizes = grown.persons_of_cell
                told.counts = {"persons": sum(sizes.values()), "cells": len(sizes)}
            refuse_several(facts, job.mask)
            key = secrets.token_bytes(KEY_BYTES)
            work = Work(facts, of_groups, job.method, job.mask, key, len(sizes) == 1)
            with stage("masking", job.progress):  # groups are formed in each cell before they are masked
                records = records_in_cells(frame, persons, facts, SparkPoints.of(facts), grown.tree)
                lines = _on_disk(cells(records, work))
                lost = lines.filter(lines[KIND] == LOST).select(LOSS).collect()
        return work, grown, lines, losses([row[LOSS] for row in lost])


def refuse_names(job: Job) -> None:
    """Refuse columns that are called as ours, where attributes are published apart."""
    if job.mask.links_values:
        return
    refuse_what_links(job.roles, str(job.mask.name), own=BESIDE)
    taken = [name for name, _ in job.roles.roles() if name in BESIDE]
    if taken:
        raise SchemaError(f"The mask {job.mask.name} makes columns called {', '.join(taken)}: give yours other names.")


def refuse_several(facts: Facts, mask: Mask) -> None:
    """Refuse masks for one record per person where persons have several."""
    if facts.one_record_per_person:
        return
    if not (mask.links_values or mask.has_tables):
        raise SchemaError(
            "The mask permute is for one record per person, but persons have several. Use anatomize or range."
        )
    if mask.has_tables and facts.schema.kept:
        raise SchemaError(
            "The mask anatomize has one row per person, so it cannot keep columns of records: "
            f"{', '.join(facts.schema.kept)}. Drop them."
        )


def _cells(
    frame: DataFrame,
    persons: DataFrame,
    facts: Facts,
    models: Sequence[Model],
    method: Method,
    cell_persons: int,
    progress: Progress,
) -> tuple[Cells, Facts]:
    """Grow the coarse tree; refuse a table that breaks a model as a whole."""
    points = SparkPoints.of(facts)
    source = SparkSource(frame, persons, facts)
    grower = Grower(
        source,
        models,
        is_nominal=points.is_nominal,
        top=points.top,
        cell_persons=cell_persons,
        by_width=method.cuts_by_width,
        in_table={name: (column.records, column.persons) for name, column in facts.sensitive.items()},
    )
    whole = grower.whole()
    if int(whole.persons[0]) == 1:
        raise CannotSatisfyError(
            f"The table has {facts.n_records:,} records of one person only. One person cannot be hidden among others: "
            "their risk is 1 whatever is masked."
        )
    refuse_broken([model for model in models if is_countable(model)], whole)
    grown = grower.grow(lambda level, n_cells: progress("grouping", 0.0))
    source.close()
    facts = replace(facts, one_record_per_person=int(whole.persons[0]) == facts.n_records)
    return grown, (with_extents(facts, persons) if len(grown.persons_of_cell) > 1 else facts)


def _on_disk(frame: DataFrame) -> DataFrame:
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def _published(
    lines: DataFrame, work: Work, *, is_shuffled: bool
) -> tuple[DataFrame, dict[str, DataFrame], DataFrame | None]:
    """The published tables and what the steward keeps, each in a random order that only the release's key knows.

    To count them the order does not matter, so that shuffling can be left out.
    """

    def in_random_order(kind: str, columns: Sequence[str]) -> DataFrame:
        own = lines.filter(lines[KIND] == kind)
        if is_shuffled:
            own = own.repartition(lines[ORDER]).sortWithinPartitions(ORDER)
        return own.select(*map(quoted, columns))

    data = in_random_order(PUBLISHED, published_columns(lines, work))
    if work.mask.links_values:
        return data, {}, None
    sensitive = work.facts.schema.sensitive
    tables = {}
    if work.mask.has_tables:
        tables = {name: in_random_order(OF_ATTRIBUTE + name, columns_of_table(work, name)) for name in sensitive}
    return data, tables, in_random_order(LINKED, [GROUP, MEMBER, *sensitive])


def _saying_what_is_lost(verdict: Any, risk: Any, facts: Facts, grown: Cells, *, has_pseudonyms: bool) -> Any:
    """The verdict, with what tells that records or persons were lost or mixed up on the way."""
    n_persons = sum(grown.persons_of_cell.values())
    problems = list(verdict.problems)
    if risk.records != facts.n_records:
        problems.append(f"{risk.records:,} records are published, and {facts.n_records:,} were read.")
    if risk.persons != n_persons:
        pseudonyms = " Two may have drawn the same pseudonym: run again." if has_pseudonyms else ""
        problems.append(f"{risk.persons:,} persons are published, and {n_persons:,} were read.{pseudonyms}")
    return replace(verdict, problems=tuple(problems))


def _not_counted(job: Job, facts: Facts) -> list[str]:
    """What other engines count of a release, and this one does not."""
    if job.mask.name != "range" or not any(column.whole is not None for column in facts.quasi.values()):
        return []
    return [
        "How many ends of published ranges are one person's own value is not counted on Spark. Rounding hides them."
    ]


def _notes(grown: Cells, cell_persons: int) -> list[str]:
    """What the steward should know beside the numbers."""
    n_cells = len(grown.persons_of_cell)
    notes = [
        f"Grouped on Spark in {n_cells:,} {'cell' if n_cells == 1 else 'cells'} of at most {grown.largest:,} persons."
    ]
    if grown.largest > cell_persons:
        notes.append(
            f"The largest cell has more than the {cell_persons:,} persons asked for: no cut of it leaves two sides "
            "that both meet every model."
        )
    return notes
