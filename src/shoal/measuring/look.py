"""Looking at a table or a release: its risk, and the verdict of the models, from what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.errors import SchemaError
from shoal.measuring.risk import NEEDS, Risk, measure_risk, risk_of_counts
from shoal.models.contract import Model
from shoal.models.counts import EVERYTHING, JOINT, GroupCounts
from shoal.models.verdict import NOT_SHOWN, PUBLISHED_TABLE, STEWARD, TABLE, Verdict, judge
from shoal.table.apart import (
    GROUP,
    MEMBER,
    count_anatomized,
    count_linked,
    observe_linked,
    observe_permuted,
    publishes_apart,
)
from shoal.table.columns import code_values
from shoal.table.observe import Observation, number_alike
from shoal.table.schema import Schema

IDENTITIES_VISIBLE = (
    "Quasi-identifiers are published exactly: identities are visible, and k and person-k are only sizes of groups. "
    "What is hidden is which sensitive value belongs to whom."
)

TAKEN_AS_PERMUTED = (
    "Sensitive values are taken as permuted inside the groups that the column 'group' names: a table cannot show that "
    "they are."
)


GROUPS_HIDDEN = (
    "Values are perturbed, so no groups are visible: models are those of the grouping, which the steward keeps. What "
    "protects a person is measured by linkage."
)


def look_at_table(frame: pl.DataFrame, schema: Schema, models: Sequence[Model]) -> tuple[Risk, Verdict]:
    """A table as it is: records with equal quasi-identifiers form a group."""
    seen = Observation.of_frame(frame, schema)
    counts = seen.counts(NEEDS.union(*(model.needs for model in models)))
    return measure_risk(seen, counts), judge(models, counts, checked_from=TABLE)


def look_at_release(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    tables: Mapping[str, pl.DataFrame] | None = None,
    linked: pl.DataFrame | None = None,
) -> tuple[Risk, Verdict]:
    """A published table, or tables; what they do not show is taken from what the steward keeps (`linked`)."""
    problems = _problems(frame, schema)
    if linked is not None and not tables and not publishes_apart(frame, schema):
        return _look_at_perturbed(frame, schema, models, linked, problems)
    if not tables and not publishes_apart(frame, schema):
        seen = Observation.of_frame(frame, schema)
        several = seen.persons_in_several_groups
        if several:
            problems.append(f"{several:,} of {seen.n_persons:,} persons have records in more than one group.")
        counts = seen.counts(NEEDS.union(*(model.needs for model in models)))
        return measure_risk(seen, counts), judge(models, counts, checked_from=PUBLISHED_TABLE, problems=problems)
    if tables:
        counts, misfits = count_anatomized(frame, tables, schema)
        problems += [*_values_beside(frame, tables, schema), *misfits]
    else:
        needs = EVERYTHING - JOINT - {"values_of_person"}
        counts = observe_permuted(frame, schema).counts(needs)
        counts = _knowing(counts, needs)
        problems += _several_records(frame, schema)
    notes = [] if _groups_are_alike(frame, schema) else [IDENTITIES_VISIBLE]
    if not tables:
        notes.append(TAKEN_AS_PERMUTED)
    verdict = judge(models, counts, checked_from=PUBLISHED_TABLE, problems=problems, notes=notes)
    if linked is not None and any(model.checked_from == NOT_SHOWN for model in verdict.models):
        needs = NEEDS.union(*(model.needs for model in models))
        kept, misfits = count_linked(linked, schema, needs, published=counts)
        problems += misfits
        verdict = judge(models, counts, checked_from=PUBLISHED_TABLE, problems=problems, notes=notes, steward=kept)
    return _with_identities(risk_of_counts(counts), frame, schema), verdict


def _look_at_perturbed(
    frame: pl.DataFrame, schema: Schema, models: Sequence[Model], linked: pl.DataFrame, problems: list[str]
) -> tuple[Risk, Verdict]:
    """A release whose groups cannot be seen: models are those of the grouping that the steward keeps."""
    absent = [name for name in (GROUP, MEMBER, *schema.sensitive) if name not in linked.columns]
    if absent:
        raise SchemaError(f"What the steward keeps of the release lacks the columns: {', '.join(absent)}.")
    seen = observe_linked(linked, schema)
    n_persons = len(frame) if schema.person is None else frame[schema.person].n_unique()
    if len(linked) != len(frame) or seen.n_persons != n_persons:
        problems.append("What the steward keeps of the release has other records or persons than were published.")
    problems += [
        f"What the steward keeps of '{name}' is not what was published."
        for name in schema.sensitive
        if not _same_values(frame[name], linked[name])
    ]
    counts = seen.counts(NEEDS.union(*(model.needs for model in models)))
    verdict = judge(models, counts, checked_from=STEWARD, problems=problems, notes=[GROUPS_HIDDEN])
    return measure_risk(seen, counts), verdict


def _same_values(published: pl.Series, kept: pl.Series) -> bool:
    """Whether two columns have the same values equally often, whatever type a file gave them."""
    first, second = (sorted(column.cast(pl.String).value_counts()["count"].to_list()) for column in (published, kept))
    return first == second


def _values_beside(frame: pl.DataFrame, tables: Mapping[str, pl.DataFrame], schema: Schema) -> list[str]:
    """What must not stand beside the quasi-identifiers of an anatomized release, and tables that must not be there."""
    apart = [*schema.sensitive, *(name for name in (schema.person, schema.time) if name is not None)]
    problems = [f"'{name}' is published beside the quasi-identifiers." for name in apart if name in frame.columns]
    return problems + [
        f"A table of '{name}' is published, which is no sensitive attribute of the policy."
        for name in tables
        if name not in schema.sensitive
    ]


def _several_records(frame: pl.DataFrame, schema: Schema) -> list[str]:
    """What tells that a permuted table has not one record a person."""
    if schema.person is None or frame[schema.person].n_unique() == len(frame):
        return []
    return [f"A permuted table has one record a person, but '{schema.person}' names persons more than once."]


def _with_identities(risk: Risk, frame: pl.DataFrame, schema: Schema) -> Risk:
    """The risk of being found by quasi-identifiers, which need not be alike inside a group here."""
    columns = [code_values(frame[name]) for name in schema.quasi_names]
    alike, n_alike = number_alike([(codes, len(distinct) + 1) for codes, distinct in columns])
    persons = np.bincount(alike, minlength=n_alike)
    largest = float(1 / persons.min())
    return replace(
        risk, prosecutor_risk=largest, journalist_risk=largest, marketer_risk=n_alike / len(frame),
        unique_persons=int((persons == 1).sum()),
    )  # fmt: skip


def _knowing(counts: GroupCounts, known: frozenset[str]) -> GroupCounts:
    return GroupCounts(
        persons=counts.persons, records=counts.records, squared_records=counts.squared_records,
        most_records=counts.most_records, log_records=counts.log_records, values=counts.values, known=known,
    )  # fmt: skip


def _groups_are_alike(frame: pl.DataFrame, schema: Schema) -> bool:
    """Whether all rows of a group show the same quasi-identifiers."""
    shown = frame.select(GROUP, *schema.quasi_names).unique()
    return len(shown) == frame[GROUP].n_unique()


def _problems(frame: pl.DataFrame, schema: Schema) -> list[str]:
    """What a release must not show, whatever the models say."""
    problems = [f"'{name}' is published, but the policy drops it." for name in schema.dropped if name in frame.columns]
    named = {name for name, _ in schema.roles()}
    return problems + [
        f"'{name}' is published, but the policy gives it no role."
        for name in frame.columns
        if name not in named and name != GROUP
    ]
