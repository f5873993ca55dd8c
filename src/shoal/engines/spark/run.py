"""The whole method on Spark, in the order in which the data flow: facts, persons, cells, groups, masks, verdict."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.engines.spark import errors
from shoal.engines.spark.code import Cells, Grower, has_bound, is_countable
from shoal.engines.spark.group import PersonPoints, SparkSource, persons_of, records_in_cells, with_extents
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
from shoal.engines.spark.read import Facts, facts_of, quoted, refuse_misfits
from shoal.engines.spark.recount import Apart, recount
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.session import case_sensitive, persisted
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping import METHODS, Method
from shoal.grouping.feasibility import refuse_broken, refuse_unfit_values
from shoal.judging.alone import AloneLimit
from shoal.masking.parting import refuse_what_links
from shoal.masking.publish import Mask
from shoal.measuring.utility import utility_of_parts
from shoal.models.contract import Model, listed
from shoal.models.counts import SPREAD
from shoal.pipeline import check_asked, checked_seed, choose, not_met, refuse_no_model, refuse_visible
from shoal.progress import Progress, silent
from shoal.table.own_columns import GROUP, MEMBER
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENGINE = "spark"
CELL_PERSONS = 100_000
"""How many persons a cell has at the most: they and their records lie in the memory of one executor at a time."""

KEY_BYTES = 32


def protect(
    spark_frame: DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    method: str | Method = "balance-tree",
    mask: str | Mask = "range",
    seed: int | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    cell_persons: int = CELL_PERSONS,
    measure_input: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> SparkRelease:
    """Group the persons of a Spark frame so that every group meets every model, mask the groups, and verify the result.

    Parameters
    ----------
    spark_frame, schema, models
        The table, the roles of its columns, and what every group must meet.
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
        Whether to measure the risk of the input too, which takes one more pass.

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
    started = time.perf_counter()
    chosen_method, chosen_mask = choose(method, mask, options)
    check_asked(schema, models)
    refuse_visible(chosen_mask, models)
    refuse_unoffered(chosen_method, chosen_mask, schema, models)
    if isinstance(cell_persons, bool) or not isinstance(cell_persons, int) or cell_persons < 2:
        raise ParameterError("cell_persons must be a whole number of persons, 2 or more.")
    seed = checked_seed(seed)
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    refuse_misfits(spark_frame, schema)
    with errors.explained(), case_sensitive(spark_frame.sparkSession):
        progress("reading", 0.0)
        asks_of_values = any(not model.needs <= SPREAD for model in models)
        frame, facts = facts_of(spark_frame, schema, with_persons=asks_of_values)
        refuse_unfit_values(facts.missing_and_codes(), models, n_records=facts.n_records)
        before = recount(frame, schema, [], n_records=facts.n_records, is_release=False)[0] if measure_input else None
        with persisted(persons_of(frame, facts, with_values=False)) as persons:
            grown, facts = _cells(frame, persons, facts, models, chosen_method, cell_persons, progress)
            refuse_several(facts, chosen_mask)
            n_cells = len(grown.persons_of_cell)
            key = secrets.token_bytes(KEY_BYTES)
            work = Work(facts, tuple(models), chosen_method, chosen_mask, key, n_cells == 1)
            progress("masking", 0.0)
            records = records_in_cells(frame, persons, facts, PersonPoints.of(facts), grown.tree)
            lines = _on_disk(cells(records, work))
            told = lines.filter(lines[KIND] == LOST).select(LOSS).collect()
        parts = losses([row[LOSS] for row in told])
        data, tables, linked = _published(lines, work, is_shuffled=True)
        progress("verifying", 0.0)
        same = _published(lines, work, is_shuffled=False)
        apart = Apart(type(chosen_mask), same[1], same[2]) if linked is not None else None
        risk, verdict = recount(same[0], schema, models, n_records=facts.n_records, apart=apart, limit=limit)
        verdict = _saying_what_is_lost(verdict, risk, facts, grown, has_pseudonyms=schema.person in data.columns)
        if not verdict.holds:
            lines.unpersist()
            raise not_met(verdict)
        notes = (*facts.notes, *_notes(grown, cell_persons))
    return SparkRelease(
        data=data,
        tables=tables,
        linked=linked,
        verdict=verdict,
        risk=risk,
        utility=utility_of_parts(parts, exact_quasi=chosen_mask.shows_identities),
        before=before,
        schema=schema,
        models=tuple(models),
        method=chosen_method,
        mask=chosen_mask,
        alone_limit=limit,
        kinds={name: column.kind for name, column in facts.quasi.items()},
        seed=seed,
        n_cells=n_cells,
        largest_cell=grown.largest,
        seconds=time.perf_counter() - started,
        notes=notes,
        shared_dates=facts.shared_dates,
        _kept=(lines,),
    )


def refuse_unoffered(method: Method, mask: Mask, schema: Schema, models: Sequence[Model]) -> None:
    """Refuse what Spark does not do, with the reason, before anything is run."""
    refuse_no_model(models)
    if not schema.links_records:
        raise SchemaError(
            "person_ids = 'none' is not offered on Spark: which records belong to one person would have to be kept row "
            "by row for the steward. Protect the table in memory, or publish pseudonyms."
        )
    if ENGINE not in method.engines:
        offered = listed([name for name, each in METHODS.items() if ENGINE in each.engines])
        raise ParameterError(
            f"The method {method.name} looks at all persons at once, which no executor can. On "
            f"Spark there are {offered}, whose cuts part the work: choose one of them."
        )
    if ENGINE not in mask.engines:
        raise ParameterError(
            f"The mask {mask.name} is not offered on Spark: perturb adds noise by the covariance "
            "of the whole table, and suppress says less than range at the same risk. Choose range, mean, anatomize or "
            "permute."
        )
    for reason in (*method.why_not_on(ENGINE), *mask.why_not_on(ENGINE)):
        raise ParameterError(reason)
    for model in models:
        if not model.monotone or not has_bound(model):
            raise ParameterError(
                f"{model.name} asks who has which values together, and no counts of parts of a table can prove it. "
                "Protect the table in memory, or ask for h-affiliation, l-diversity or joint-diversity."
            )
    if not schema.links_records:
        raise ParameterError(
            "person_ids = 'none' leaves the recount to what the steward keeps, row by row, in an order that Spark does "
            "not have. Publish pseudonyms, or protect the table in memory."
        )
    if not mask.links_values:
        refuse_what_links(schema, str(mask.name), own=BESIDE)
        taken = [name for name, _ in schema.roles() if name in BESIDE]
        if taken:
            raise SchemaError(f"The mask {mask.name} makes columns called {', '.join(taken)}: give yours other names.")


def refuse_several(facts: Facts, mask: Mask) -> None:
    """Refuse masks for one record a person where persons have several."""
    if facts.one_record_a_person:
        return
    if not (mask.links_values or mask.has_tables):
        raise SchemaError(
            "The mask permute is for one record a person, but persons have several. Use anatomize or range."
        )
    if mask.has_tables and facts.schema.kept:
        raise SchemaError(
            "The mask anatomize has one row a person, so it cannot keep columns of records: "
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
    points = PersonPoints.of(facts)
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
    facts = replace(facts, one_record_a_person=int(whole.persons[0]) == facts.n_records)
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
