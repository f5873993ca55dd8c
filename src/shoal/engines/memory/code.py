"""From a frame to a coded table that can be grouped: read, with what an adversary knows, and cut to the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.attacking.mining.adversary import against_adversary
from shoal.engines.contract import Job
from shoal.errors import ParameterError
from shoal.grouping.budget import within_budget
from shoal.grouping.feasibility import refuse_excluded, refuse_impossible, refuse_unfit
from shoal.grouping.sampling import sampled
from shoal.judging.observation import Observation
from shoal.judging.population_table import (
    PopulationTable,
    population_for,
    refuse_unknown_population,
    with_population,
)
from shoal.judging.recount import risk_of_table
from shoal.judging.risk import Risk
from shoal.masking.episodes import with_episodes
from shoal.masking.ranges import Range
from shoal.masking.times import shared_in
from shoal.measuring.aggregates import refuse_no_numbers
from shoal.measuring.associations import refuse_no_rules
from shoal.measuring.spread import SPREAD_NEEDS, RiskSpread, spread_of_risk
from shoal.models.contract import Model
from shoal.models.every_table import asked_by_row
from shoal.policy.history import History
from shoal.publishing.noisy_counts import NoisyCounts, noisy_counts
from shoal.table.frames import to_polars
from shoal.table.roles import refuse_unconfirmed
from shoal.table.table import Table
from shoal.table.times import notes_on_shared, refuse_shared


@dataclass(frozen=True)
class Coded:
    """A table that can be grouped, what its groups must meet, and what was measured of it as it came."""

    table: Table
    models: tuple[Model, ...]
    of_groups: tuple[Model, ...]
    """The models, and of related tables and episodes that they meet them by their own rows."""
    history: History
    before: Risk | None
    spread_before: RiskSpread | None
    population: PopulationTable | None
    """The population that the table was drawn from, where there is a table of it."""
    told: dict[str, Any]
    """What is told of persons who were drawn by chance."""
    counts: NoisyCounts | None = None
    """Noisy counts of the table as it came, where they are asked for."""


def code_table(job: Job, rng: np.random.Generator) -> Coded:
    """The table of a job; one that no grouping could protect, or that does not show what is asked, is refused."""
    schema = job.given_schema or job.schema(to_polars(job.frame)[0])
    table = Table.from_frame(job.frame, schema, line_of=job.line_of_record)
    table = table if job.kind_of_frame is None else replace(table, kind_of_frame=job.kind_of_frame)
    refuse_unconfirmed(table.frame, schema)
    table, faced = against_adversary(table, job.models, job.policy.knowledge, is_linked=job.mask.links_values)
    models = tuple(model.when_hiding() for model in faced)
    population = population_for(models, job.policy.population, schema, folder=job.policy.folder)
    refuse_unknown_population(models, schema, population, is_drawn=job.policy.budget.sample is not None)
    refuse_unfit(table, models)
    table = replace(table, views=job.views)
    of_groups = asked_by_row(table, models)
    if job.measures.queries:
        refuse_no_numbers(table, job.measures.query_kinds)
    if job.measures.associations:
        refuse_no_rules(table)
    refuse_sample_of_sample(job)
    counts = None if job.policy.counts is None else noisy_counts(table, job.policy.counts, made_from_values=_made(job))
    before, spread_before = _measured(table, population) if job.measures.measure_input else (None, None)
    budget = job.policy.budget
    table, sampling = sampled(table, budget.sample, rng)
    table = within_budget(
        table, of_groups, max_suppressed=budget.max_suppressed, max_records=budget.max_records, rng=rng
    )
    history = job.history(table.frame)
    table = with_episodes(table, history, models)
    of_groups = asked_by_row(table, models)
    if schema.time is not None:
        table = replace(table, shared_dates=shared_in(table))
        refuse_shared(schema, table.shared_dates)
    refuse_excluded(table, models)
    refuse_impossible(table, [model for model in of_groups if model.monotone or job.method.starts_from_whole])
    return Coded(table, models, of_groups, history, before, spread_before, population, sampling, counts)


def _made(job: Job) -> set[str]:
    """The columns whose hierarchies are made from the values of the table."""
    given = {column.name: column.hierarchy for column in job.policy.columns.quasi}
    return {name for name, each in given.items() if each is not None and each.is_made_from_values}


def refuse_sample_of_sample(job: Job) -> None:
    """Refuse a sample for a method that draws one itself, and promises something by it."""
    if job.policy.budget.sample is not None and job.method.draws_persons:
        raise ParameterError(f"The method {job.method.name} draws a sample of persons itself: leave sample out.")


def _measured(table: Table, population: PopulationTable | None) -> tuple[Risk, RiskSpread]:
    """The risk of a table as it is, and how it is spread."""
    seen = Observation.of_frame(table.frame, table.schema)
    counts = seen.counts(SPREAD_NEEDS)
    counts = with_population(counts, seen, table.frame, table.schema, population, form=Range.form)
    return risk_of_table(seen, counts, table.frame, table.schema, table.sample), spread_of_risk(seen, counts)


def notes_on(table: Table) -> tuple[str, ...]:
    """What the steward should know of a table beside the numbers."""
    notes = list(table.notes)
    if table.adversary is not None:
        n_stated = sum(rule.source == "stated" for rule in table.adversary.rules)
        notes.append(
            f"An adversary is taken to know {len(table.adversary.rules):,} rules about sensitive values: "
            f"{len(table.adversary.rules) - n_stated:,} mined from a table, {n_stated:,} stated."
        )
    notes += notes_on_shared(table.schema, table.shared_dates)
    if table.suppressed_persons:
        notes.append(f"{table.suppressed_persons:,} persons were left out so that the others can be protected.")
    return tuple(notes)
