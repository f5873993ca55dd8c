"""Looking at a table or a release: its risk, and the verdict of the models, from what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacking.mining.adversary import items_of_nobody, rules_known
from shoal.attacking.mining.rules import Rules
from shoal.errors import SchemaError
from shoal.judging.alone import WHOLE_TABLE, Alone, AloneLimit, look_for_alone, look_for_alone_apart, values_of_one
from shoal.judging.observation import Observation, number_alike, number_equal
from shoal.judging.population import population_risk
from shoal.judging.population_table import PopulationTable, with_population, with_weights
from shoal.judging.risk import NEEDS, Risk, measure_risk, risk_of_counts
from shoal.judging.values_apart import (
    count_anatomized,
    count_linked,
    counts_one_record_per_person,
    observe_linked,
    observe_permuted,
    only_by,
    with_background_shown,
    with_excluded,
)
from shoal.judging.verdict import NOT_SHOWN, PUBLISHED_TABLE, STEWARD, TABLE, Verdict, judge, judge_episodes
from shoal.kernels.wildcards import matched, matched_alike
from shoal.masking import MASKS, Mask
from shoal.masking.ranges import Range
from shoal.models.contract import Model
from shoal.models.counts import BACKGROUND, EVERYTHING, HISTORIES, JOINT, SPREAD_OF_RECORDS, GroupCounts
from shoal.table.adversary import Known
from shoal.table.coding import n_beyond
from shoal.table.columns import Codes, code_values, persons_of
from shoal.table.label_sets import EVERYTHING as ANYTHING
from shoal.table.own_columns import GROUP, MEMBER, RECORDS
from shoal.table.sample import Sample
from shoal.table.schema import Schema
from shoal.table.times import n_gaps_beside, times_of_day

IDENTITIES_VISIBLE = (
    "Quasi-identifiers are published exactly: identities are visible, and k and person-k are only sizes of groups. "
    "What is hidden is which sensitive value belongs to whom. Record risk (max_gidr, avg_gidr) and g-balance tell of "
    "an adversary who knows a person's group and nothing else; the risks of being found (prosecutor_risk, "
    "journalist_risk, marketer_risk, unique_persons) tell of one who knows the exact quasi-identifiers, finds the row "
    "by them, and learns of its sensitive values what the group tells (max_gsar)."
)

TAKEN_AS_PERMUTED = (
    "Sensitive values are taken as permuted inside the groups that the column 'group' names: a table cannot show that "
    "they are."
)


RECORDS_BOUNDED = (
    "How many records persons have is not published: the numbers of records and k are the fewest that there can be, "
    "one record for each value of each person."
)


GROUPS_HIDDEN = (
    "Values are perturbed, so no groups are visible: models are those of the grouping, which the steward keeps. What "
    "protects a person is measured by linkage."
)


NO_GROUPS = (
    "Values are changed person by person, so there are no groups and no model is promised. Risks are those of records "
    "that look alike as published. What protects a person is measured by linkage, with the original at hand."
)


MATCHES_ANYTHING = (
    "A hidden cell is counted as matching anything, as sdcMicro does: models count for each row all who match it. "
    "Risks are those of rows that look the same, but for individual risks in a population. Whoever knows what is "
    "hidden of a person may rule out some who match."
)


RECORDS_UNLINKED = (
    "Records are not linked to persons in what is published. Models that count persons are checked from what the "
    "steward keeps."
)

EPISODES = (
    "A pseudonym stands for an episode, and a person may have several: how many persons there are is not shown. Models "
    "are asked about episodes as they are published, and about persons as the steward knows them; both must hold."
)


@dataclass(frozen=True)
class Drawn:
    """How the records of a table were drawn, in its order, and the population that they were drawn from."""

    sample: Sample | None = None
    population: PopulationTable | None = None
    is_told: bool = True
    """Whether the risk in the population is told, beside what models need to know of it."""


RECORDS_SHOWN = frozenset({"records", "most_records_of_value", "distinct_values"})
"""What can be counted without knowing whose a record is."""


QUASI_TAKEN_AS_EXACT = (
    "Rules that an adversary may know are applied to the quasi-identifiers as they are published, which are taken as "
    "exact."
)


def look_at_table(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    known: Known | None = None,
    sample: Sample | None = None,
    population: PopulationTable | None = None,
) -> tuple[Risk, Verdict]:
    """A table as it is: records with equal quasi-identifiers form a group."""
    seen = replace(Observation.of_frame(frame, schema), known=known)
    counts = seen.counts(NEEDS.union(*(model.needs for model in models)))
    counts = with_population(counts, seen, frame, schema, population, form=Range.form)
    counts = with_weights(counts, seen, sample)
    return risk_of_table(seen, counts, frame, schema, sample), judge(models, counts, checked_from=TABLE)


def risk_of_table(
    seen: Observation, counts: GroupCounts, frame: pl.DataFrame, schema: Schema, sample: Sample | None = None
) -> Risk:
    """The risk of a table as it is, with who is alone by what it has beside quasi-identifiers."""
    risk = _with_alone(measure_risk(seen, counts), look_for_alone(seen, frame, schema, is_release=False))
    return _with_population(risk, seen, counts, sample, frame, schema)


def _with_population(
    risk: Risk,
    seen: Observation,
    counts: GroupCounts | None,
    sample: Sample | None,
    frame: pl.DataFrame,
    schema: Schema,
) -> Risk:
    """The risk, and that with respect to the population where the table is a sample of one."""
    in_table = None if counts is None or counts.population is None else counts.population.persons
    if sample is None and in_table is None:
        return risk
    return replace(risk, population=population_risk(seen, sample or Sample(), frame, schema, in_table=in_table))


def _with_alone(risk: Risk, alone: Alone) -> Risk:
    return replace(risk, alone_by=dict(alone.by))


def look_at_release(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    mask: type[Mask] = Mask,
    tables: Mapping[str, pl.DataFrame] | None = None,
    linked: pl.DataFrame | None = None,
    excluded: pl.DataFrame | None = None,
    limit: AloneLimit | None = None,
    sample: Sample | None = None,
    population: PopulationTable | None = None,
    tells_population: bool = True,
) -> tuple[Risk, Verdict]:
    """A published table, or tables; what they do not show is taken from what the steward keeps (`linked`, `excluded`).

    What the table is taken to be is said by its mask, and by nothing in the table. A release in which more persons than
    `limit` says are alone in their group by what else leaves does not hold. How the records were drawn is said by
    `sample`, in the order of the table; `population` is the table that they were drawn from. The risk in it is left out
    where only the verdict is asked for (`tells_population=False`).
    """
    risk, verdict, alone = _look_at_release(
        frame, schema, models, mask=mask, tables=tables or {}, linked=linked, excluded=excluded,
        drawn=Drawn(sample, population, tells_population),
    )  # fmt: skip
    if not tells_population:
        return _with_alone(risk, alone), (limit or AloneLimit()).judged(verdict, alone, schema)
    if sample is not None and risk.population is None and mask.links_values and mask.shows_groups:
        seen = Observation.of_frame(frame, schema if schema.links_records else replace(schema, person=None,
                                    person_ids="pseudonyms"))  # fmt: skip
        if schema.has_episodes and linked is not None:  # several episodes are one person of the sample
            person, members = code_values(linked[MEMBER])
            seen = replace(seen, person_of_record=person, n_persons=len(members))
        risk = _with_population(risk, seen, None, sample, frame, schema)
    return _with_alone(risk, alone), (limit or AloneLimit()).judged(verdict, alone, schema)


def _look_at_release(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    mask: type[Mask],
    tables: Mapping[str, pl.DataFrame],
    linked: pl.DataFrame | None,
    excluded: pl.DataFrame | None,
    drawn: Drawn,
) -> tuple[Risk, Verdict, Alone]:
    """The risk, the verdict of the models, and who is alone by what else leaves.

    An adversary who knows rules knows the real quasi-identifiers too. So rules are applied to quasi-identifiers only
    where these are published as they are; elsewhere the steward's word is needed on what is excluded for whom.
    """
    problems = problems_of_columns(frame.columns, schema, mask=mask)
    problems += _problems_of_times(frame, schema)
    problems += problems_of_codes(
        cells for shown in (frame, *tables.values()) for cells in cells_beyond(shown, schema, mask).items()
    )
    problems += _tables_beside(tables, schema, mask)
    if mask.links_values and schema.has_episodes:
        return _look_at_episodes(frame, schema, models, linked, problems)
    if mask.links_values and not schema.links_records:
        return _look_at_unlinked(frame, schema, models, linked, excluded, problems)
    if linked is not None and not mask.shows_groups:
        return _look_at_perturbed(frame, schema, models, linked, problems)
    if mask.links_values:
        return _look_at_linked(frame, schema, models, mask, excluded, drawn, problems)
    return _look_at_apart(frame, schema, models, mask, tables, linked, problems)


def _look_at_linked(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    mask: type[Mask],
    excluded: pl.DataFrame | None,
    drawn: Drawn,
    problems: list[str],
) -> tuple[Risk, Verdict, Alone]:
    """A release in which every record shows its quasi-identifiers beside its sensitive values."""
    seen = Observation.of_frame(frame, schema)
    several = seen.persons_in_several_groups if mask.takes_groups else 0
    if several:
        problems.append(f"{several:,} of {seen.n_persons:,} persons have records in more than one group.")
    if mask.matches_anything:
        return _look_at_wildcards(seen, frame, schema, models, drawn, problems)
    needs = NEEDS.union(*(model.needs for model in models))
    counts = seen.counts(needs)
    if not mask.shows_groups:  # without what the steward keeps nobody can tell
        verdict = judge(
            models, _knowing(counts, frozenset()), checked_from=PUBLISHED_TABLE, problems=problems,
            notes=[GROUPS_HIDDEN if mask.takes_groups else NO_GROUPS],
        )  # fmt: skip
        return measure_risk(seen, counts), _saying_why(verdict, models, ()), _alone_in_whole(seen, frame, schema)
    counts = with_population(counts, seen, frame, schema, drawn.population, form=mask.form)
    kept, misfits = _kept_counts(seen, excluded, models)
    if schema.weight in frame.columns:
        counts = with_weights(counts, seen, drawn.sample)
    elif drawn.sample is not None:
        kept = with_weights(kept or counts, seen, drawn.sample)
    verdict = judge(models, counts, checked_from=PUBLISHED_TABLE, problems=[*problems, *misfits], steward=kept)
    why_not = ["the published quasi-identifiers may not be the real ones"]
    if rules_known(models) is None:
        why_not = ["no rules are known"]
    risk = measure_risk(seen, counts)
    if drawn.is_told:
        risk = _with_population(risk, seen, counts, drawn.sample, frame, schema)
    return risk, _saying_why(verdict, models, why_not), look_for_alone(seen, frame, schema)


def _look_at_apart(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    mask: type[Mask],
    tables: Mapping[str, pl.DataFrame],
    linked: pl.DataFrame | None,
    problems: list[str],
) -> tuple[Risk, Verdict, Alone]:
    """A release that publishes sensitive values apart from quasi-identifiers."""
    counts, misfits = count_apart(frame, schema, tables, mask=mask)
    problems += misfits
    is_visible = not groups_are_alike(frame, schema)
    notes = [IDENTITIES_VISIBLE] if is_visible else []
    if not mask.has_tables:
        notes.append(TAKEN_AS_PERMUTED)
    why_not: list[str] = []
    if not misfits and any(model.needs & BACKGROUND for model in models):
        counts, why_not = with_rules_applied(counts, frame, schema, tables, rules_known(models))
        notes += [] if why_not else [QUASI_TAKEN_AS_EXACT]
    risk = _with_identities(risk_of_counts(counts), frame, schema)
    notes += notes_on_records(told_by_records(counts), risk.persons)
    if is_visible:
        counts = without_spread(counts)
        problems += problems_of_spread(models, risk)
        problems += problems_of_records({name: table.columns for name, table in tables.items()})
    hides_records = "records" not in counts.known
    verdict = judge(models, counts, checked_from=PUBLISHED_TABLE, problems=problems, notes=notes)
    kept = None
    if linked is not None and (hides_records or any(model.checked_from == NOT_SHOWN for model in verdict.models)):
        needs = NEEDS.union(*(model.needs for model in models))
        kept, misfits = count_linked(linked, schema, needs, published=counts, rules=rules_known(models))
        problems += misfits
        kept = without_spread(kept) if kept is not None and is_visible else kept
        verdict = judge(models, counts, checked_from=PUBLISHED_TABLE, problems=problems, notes=notes, steward=kept)
    if hides_records and kept is not None:
        risk = replace(risk, records=int(kept.records.sum()), k=int(kept.records.min()))
    elif hides_records:
        verdict = replace(verdict, notes=(*verdict.notes, RECORDS_BOUNDED))
    return risk, _saying_why(verdict, models, why_not), look_for_alone_apart(counts, frame, schema)


def _look_at_wildcards(
    seen: Observation,
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    drawn: Drawn,
    problems: list[str],
) -> tuple[Risk, Verdict, Alone]:
    """A release whose hidden cells match anything: for each row the persons and records of all that match it."""
    counts = seen.counts(NEEDS)
    first = np.empty(seen.n_groups, np.int64)
    first[seen.group_of_record[::-1]] = np.arange(seen.n_records)[::-1]
    codes = []
    for name in schema.quasi_names:
        shown = frame[name].cast(pl.String).gather(first)
        codes.append(np.where((shown == ANYTHING).fill_null(False).to_numpy(), -1, code_values(shown)[0]))
    weighed = with_weights(counts, seen, drawn.sample).population
    weights = counts.persons if weighed is None or weighed.weights is None else weighed.weights
    counted = np.column_stack([counts.persons, counts.records, weights]).astype(np.float64)
    rows = np.stack(codes, axis=1).astype(np.int32)
    found = matched(rows, counted)
    persons, records = found[:, :2].astype(np.int64).T
    crowd = replace(_knowing(counts, frozenset({"persons", "records"})), persons=persons, records=records)
    crowd = replace(crowd, persons_by_known={m: fewest_by_known(rows, counted[:, :1], m) for m in _known(models)})
    verdict = judge(models, crowd, checked_from=PUBLISHED_TABLE, problems=problems, notes=[MATCHES_ANYTHING])
    risk = measure_risk(seen, counts)
    if drawn.sample is not None and drawn.is_told:
        told = population_risk(seen, drawn.sample, frame, schema, matched=(persons, found[:, 2]))
        risk = replace(risk, population=told)
    return risk, _saying_why(verdict, models, ["groups overlap"]), look_for_alone(seen, frame, schema)


def _known(models: Sequence[Model]) -> list[int]:
    """How many columns models take to be known, where not all."""
    return [model.known_columns for model in models if model.known_columns is not None]


def fewest_by_known(rows: NDArray[np.int32], persons: NDArray[np.float64], m: int) -> NDArray[np.int64]:
    """For each row the fewest persons who match it in any m of its columns."""
    n_columns = rows.shape[1]
    fewest = np.full(len(rows), np.inf)
    for columns in combinations(range(n_columns), min(m, n_columns)):
        part = np.ascontiguousarray(rows[:, columns])
        fewest = np.minimum(fewest, matched_alike(part, persons)[:, 0])
    return fewest.astype(np.int64)


def told_by_records(counts: GroupCounts) -> dict[str, tuple[int, int]]:
    """Where sensitive tables count records beside persons: what one person's values tell of their numbers of records.

    For each attribute how many values of groups are one person's, and how many persons these are at the most.
    """
    if "records" not in counts.known or "most_records" in counts.known:  # with one record each there is nothing to tell
        return {}
    told = {}
    for name, values in counts.values.items():
        alone = values_of_one(values)
        told[name] = int(alone.sum()), int(np.minimum(alone, counts.persons).sum())
    return told


def notes_on_records(told: Mapping[str, tuple[int, int]], n_persons: int) -> list[str]:
    """What counts of records tell of single persons, which no model is about."""
    return [
        f"The sensitive table of '{name}' counts records: {values:,} values of groups are one person's each, of at "
        f"most {persons:,} of {n_persons:,} persons, and how many records they have with it is told. Whoever knows "
        "that number learns whose the value is. Larger groups make them fewer."
        for name, (values, persons) in told.items()
        if values
    ]


def problems_of_records(columns_of_table: Mapping[str, Sequence[str]]) -> list[str]:
    """Sensitive tables that count records, which must not be where quasi-identifiers differ inside groups."""
    names = [name for name, columns in columns_of_table.items() if RECORDS in columns]
    if not names:
        return []
    return [
        f"The sensitive tables of {', '.join(names)} count records, though quasi-identifiers differ inside groups: "
        "whoever knows how many records a person has may find their value by it."
    ]


def without_spread(counts: GroupCounts) -> GroupCounts:
    """Counts that do not tell how records are spread, for groups whose persons are told apart by quasi-identifiers."""
    return replace(counts, known=counts.known - SPREAD_OF_RECORDS)


def problems_of_spread(models: Sequence[Model], risk: Risk) -> list[str]:
    """Why models of how records are spread cannot hold where quasi-identifiers differ inside groups."""
    names = [model.name for model in models if model.needs & SPREAD_OF_RECORDS]
    if not names:
        return []
    return [
        f"{', '.join(names)} cannot hold: quasi-identifiers differ inside groups and single out "
        f"{risk.unique_persons:,} of {risk.persons:,} persons, whom a group then does not hide."
    ]


def _problems_of_times(frame: pl.DataFrame, schema: Schema) -> list[str]:
    """What the time column of a release must not show."""
    if schema.time is None or schema.time not in frame.columns:
        return []
    times = frame[schema.time]
    if schema.time_as == "sequence":
        numbers = times.cast(pl.String).cast(pl.Float64, strict=False)
        n_others = len(times) - times.null_count() - int(((numbers >= 1) & (numbers == numbers.floor())).sum())
        told = f"'{schema.time}' holds {n_others:,} times that are not the person's own 1, 2, 3, as the policy says."
        return [told] if n_others else []
    if schema.time_of_day == "cut" and (times_of_day(times) != time(0)).any():
        return [f"'{schema.time}' shows times of day, but the policy cuts shifted times to days."]
    if schema.gap_days is not None and n_gaps_beside(times, persons_of(frame, schema)[0], schema.gap_days):
        return [f"'{schema.time}' shows days between records that are not rounded, as the policy says they are."]
    return []


def cells_beyond(frame: pl.DataFrame, schema: Schema, mask: type[Mask] = Range) -> dict[str, int]:
    """By column, how many published cells show a value beyond the code that the policy gives it.

    Noise is added to values that are coded, and may pass the code.
    """
    rounded = {column.name for column in schema.columns if column.round is not None}
    is_quasi = set(schema.quasi_names)
    return {
        name: n_beyond(frame[name], each, is_masked=name in is_quasi, is_rounded=name in rounded)
        for name, each in schema.codings.items()
        if name in frame.columns and not (name in is_quasi and mask.form == "noise")
    }


def problems_of_codes(cells: Mapping[str, int] | Iterable[tuple[str, int]]) -> list[str]:
    """What is wrong where cells show values beyond their codes."""
    return [
        f"'{name}' shows {n:,} values beyond its code, or categories that the policy puts together."
        for name, n in dict(cells).items()
        if n
    ]


def count_apart(
    frame: pl.DataFrame, schema: Schema, tables: Mapping[str, pl.DataFrame], *, mask: type[Mask]
) -> tuple[GroupCounts, list[str]]:
    """Count a release that publishes attributes apart: the counts of its groups, and what does not fit together."""
    if mask.has_tables:
        counts, misfits = count_anatomized(frame, tables, schema)
        return counts, [*_values_beside(frame, schema), *misfits]
    needs = EVERYTHING - JOINT - HISTORIES - {"values_of_person"}
    counts = observe_permuted(frame, schema).counts(needs)
    return _knowing(counts, needs), _several_records(frame, schema)


def with_rules_applied(
    counts: GroupCounts,
    frame: pl.DataFrame,
    schema: Schema,
    tables: Mapping[str, pl.DataFrame],
    rules: Rules | None,
    *,
    are_own: bool = True,
) -> tuple[GroupCounts, list[str]]:
    """Counts of attributes published apart with what rules leave for the persons, or why that cannot be seen.

    Parameters
    ----------
    are_own
        Whether rules that were mined were mined from this table. Then each of them is about somebody in it, and one
        that is about nobody tells that something is wrong.
    """
    if rules is None:
        return counts, ["no rules are known"]
    if not counts_one_record_per_person(tables, schema):
        return counts, ["persons have several records, and which values they have together is not published"]
    if groups_are_alike(frame, schema):
        return counts, ["all rows of a group show the same quasi-identifiers, which may not be the real ones"]
    try:
        of_nobody = items_of_nobody(rules, frame, schema) if are_own else 0
        if of_nobody:
            return counts, [
                f"{of_nobody:,} quasi-identifiers that mined rules name are those of nobody: they are masked, or a "
                "hierarchy is absent"
            ]
        return with_background_shown(counts, frame, tables, schema, rules, are_own=are_own), []
    except SchemaError as misfit:
        return counts, [str(misfit).replace("\n", " ").rstrip(".")]


def counts_by_rules(
    frame: pl.DataFrame,
    schema: Schema,
    rules: Rules | None,
    *,
    mask: type[Mask] = Mask,
    tables: Mapping[str, pl.DataFrame],
    linked: pl.DataFrame | None = None,
    excluded: pl.DataFrame | None = None,
) -> GroupCounts:
    """The groups of a release as they look to somebody who knows rules, or (None) those that it was made against.

    Raises
    ------
    SchemaError
        The release does not show whom the rules are about, or its tables do not fit together.
    """
    apart = not mask.links_values
    if rules is not None and not apart:
        raise SchemaError(
            "Rules are applied to exact quasi-identifiers, which only anatomized and permuted releases publish: say "
            "the mask where this is one of them. Leave the rules out to attack with those that the steward keeps."
        )
    if rules is not None:
        counts, misfits = count_apart(frame, schema, tables, mask=mask)
        if not misfits:
            counts, misfits = with_rules_applied(counts, frame, schema, tables, rules, are_own=False)
        if misfits:
            raise SchemaError(f"The attack cannot be tried: {'; '.join(misfits).rstrip('.')}.")
        return counts
    if linked is not None:
        seen = observe_linked(linked, schema, is_linked=not apart)
    elif excluded is not None and not apart:
        seen = with_excluded(Observation.of_frame(frame, schema), excluded)
    else:
        raise SchemaError("No rules are given, and what the steward keeps of the values that they exclude is absent.")
    if seen.known is None:
        raise SchemaError("What the steward keeps does not tell which values persons cannot have. Give rules.")
    return seen.counts(BACKGROUND)


def _kept_counts(
    seen: Observation, excluded: pl.DataFrame | None, models: Sequence[Model]
) -> tuple[GroupCounts | None, list[str]]:
    """Counts with what the steward keeps of the values that are excluded for each person, where a model needs it."""
    if excluded is None or not any(model.needs & BACKGROUND for model in models):
        return None, []
    try:
        seen = only_by(rules_known(models), with_excluded(seen, excluded))
        return seen.counts(NEEDS.union(*(model.needs for model in models))), []
    except SchemaError as misfit:
        return None, [str(misfit)]


def _saying_why(verdict: Verdict, models: Sequence[Model], why_not: Sequence[str]) -> Verdict:
    """The verdict, saying of models that reckon with rules why they could not be checked."""
    unchecked = [
        model.name
        for model, judged in zip(models, verdict.models, strict=True)
        if model.needs & BACKGROUND and judged.checked_from == NOT_SHOWN
    ]
    if not unchecked:
        return verdict
    why = f": {'; '.join(why_not)}" if why_not else ""
    told = (
        f"{unchecked[0]} could not be checked{why}. It takes the rules that an adversary may know (steward/rules.json) "
        "and exact quasi-identifiers, or what the steward keeps of the values that just these rules exclude."
    )
    return replace(verdict, problems=(*verdict.problems, told))


def _look_at_perturbed(
    frame: pl.DataFrame, schema: Schema, models: Sequence[Model], linked: pl.DataFrame, problems: list[str]
) -> tuple[Risk, Verdict, Alone]:
    """A release whose groups cannot be seen: models are those of the grouping that the steward keeps."""
    seen = only_by(rules_known(models), observe_linked(linked, schema, is_linked=True))
    _, n_persons = persons_of(frame, schema)
    if len(linked) != len(frame) or seen.n_persons != n_persons:
        problems.append("What the steward keeps of the release has other records or persons than were published.")
    problems += [
        f"What the steward keeps of '{name}' is not what was published."
        for name in schema.sensitive
        if not _same_values(frame[name], linked[name])
    ]
    counts = seen.counts(NEEDS.union(*(model.needs for model in models)))
    verdict = judge(models, counts, checked_from=STEWARD, problems=problems, notes=[GROUPS_HIDDEN])
    alone = _alone_in_whole(Observation.of_frame(frame, schema), frame, schema)
    return measure_risk(seen, counts), _saying_why(verdict, models, ()), alone


def _alone_in_whole(seen: Observation, frame: pl.DataFrame, schema: Schema) -> Alone:
    """Who is alone among everybody, where no groups can be seen."""
    everybody = replace(seen, group_of_record=np.zeros(len(frame), np.int32), n_groups=1)
    return replace(look_for_alone(everybody, frame, schema), crowd=WHOLE_TABLE)


def _look_at_unlinked(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    linked: pl.DataFrame | None,
    excluded: pl.DataFrame | None,
    problems: list[str],
) -> tuple[Risk, Verdict, Alone]:
    """A release that does not show which records belong to one person: that is taken from what the steward keeps.

    Without it every group is taken as one person's, the least safe that can be, and models of persons do not hold.
    """
    rows = replace(schema, person=None, person_ids="pseudonyms")
    shown = Observation.of_frame(frame.drop(schema.person or "", strict=False), rows)
    needs = NEEDS.union(*(model.needs for model in models))
    person, n_persons = shown.group_of_record, shown.n_groups
    misfits: list[str] = []
    if linked is not None:
        misfits = _misfits_of_rows(frame, schema, linked)
        if not misfits:
            codes, members = code_values(linked[MEMBER])
            person, n_persons = codes, len(members)
    each_alone = np.arange(shown.n_records)  # nobody sees which records belong together
    seen = replace(shown, person_of_record=person, n_persons=n_persons, pseudonym_of_record=each_alone)
    counts = seen.counts(needs)
    kept: GroupCounts | None = None
    if linked is not None and not misfits:
        several = seen.persons_in_several_groups
        if several:
            problems.append(f"{several:,} of {n_persons:,} persons have records in more than one group.")
        with_rules, more = _kept_counts(seen, excluded, models)
        kept = with_rules or counts
        misfits += more
    verdict = judge(
        models, _knowing(counts, RECORDS_SHOWN), checked_from=PUBLISHED_TABLE, problems=[*problems, *misfits],
        notes=[RECORDS_UNLINKED], steward=kept,
    )  # fmt: skip
    alone = replace(look_for_alone(shown, frame, rows), counts_records=True)
    return measure_risk(seen, counts), _saying_why(verdict, models, ()), alone


def _look_at_episodes(
    frame: pl.DataFrame, schema: Schema, models: Sequence[Model], linked: pl.DataFrame | None, problems: list[str]
) -> tuple[Risk, Verdict, Alone]:
    """A release in which pseudonyms stand for episodes: whose these are is taken from what the steward keeps.

    Without it every group is taken as one person's, the least safe that can be, and models of persons do not hold.
    """
    shown = Observation.of_frame(frame, schema)
    several = shown.persons_in_several_groups
    if several:
        problems.append(f"{several:,} of {shown.n_persons:,} episodes have records in more than one group.")
    needs = NEEDS.union(*(model.needs for model in models))
    misfits = [] if linked is None else _misfits_of_rows(frame, schema, linked)
    is_known = linked is not None and not misfits
    person, n_persons = shown.group_of_record, shown.n_groups
    if linked is not None and not misfits:
        codes, members = code_values(linked[MEMBER])
        person, n_persons = codes, len(members)
        problems += _problems_of_persons(shown, person, n_persons)
    seen = replace(shown, person_of_record=person, n_persons=n_persons, pseudonym_of_record=shown.person_of_record)
    counts = seen.counts(needs)
    verdict = judge_episodes(
        models, shown.counts(needs), counts if is_known else None, shown=RECORDS_SHOWN,
        problems=[*problems, *misfits], notes=[EPISODES],
    )  # fmt: skip
    return measure_risk(seen, counts), verdict, look_for_alone(seen if is_known else shown, frame, schema)


def _problems_of_persons(shown: Observation, person: Codes, n_persons: int) -> list[str]:
    """Why what the steward keeps of persons does not go with episodes and groups."""
    problems = []
    whose = replace(shown, group_of_record=person, n_groups=n_persons)
    if whose.persons_in_several_groups:
        problems.append(f"{whose.persons_in_several_groups:,} episodes are those of several persons.")
    several = replace(shown, person_of_record=person, n_persons=n_persons).persons_in_several_groups
    if several:
        problems.append(f"{several:,} of {n_persons:,} persons have records in more than one group.")
    return problems


def _misfits_of_rows(frame: pl.DataFrame, schema: Schema, linked: pl.DataFrame) -> list[str]:
    """Why what the steward keeps of the persons of published records, row by row, is not of this table."""
    absent = [name for name in (MEMBER, *schema.sensitive) if name not in linked.columns]
    if absent:
        return [f"What the steward keeps of the release lacks the columns: {', '.join(absent)}."]
    if len(linked) != len(frame) or linked[MEMBER].null_count():
        return ["What the steward keeps of the release has other records than were published."]
    return [
        f"What the steward keeps of '{name}' is not what was published."
        for name in schema.sensitive
        if not np.array_equal(number_equal([frame[name]])[0], number_equal([linked[name]])[0])
    ]


def _same_values(published: pl.Series, kept: pl.Series) -> bool:
    """Whether two columns have the same values equally often, whatever type a file gave them."""
    first, second = (
        sorted(column.cast(pl.String).rename("value").value_counts()["count"].to_list()) for column in (published, kept)
    )
    return first == second


def _values_beside(frame: pl.DataFrame, schema: Schema) -> list[str]:
    """What must not stand beside the quasi-identifiers of an anatomized release."""
    apart = [*schema.sensitive, *(name for name in (schema.person, schema.time) if name is not None)]
    return [f"'{name}' is published beside the quasi-identifiers." for name in apart if name in frame.columns]


def _tables_beside(tables: Mapping[str, pl.DataFrame], schema: Schema, mask: type[Mask]) -> list[str]:
    """Tables that must not be there."""
    if not mask.has_tables:
        return [f"A table of '{name}' is published, which the mask {mask.name} does not make." for name in tables]
    return [
        f"A table of '{name}' is published, which is no sensitive attribute of the policy."
        for name in tables
        if name not in schema.sensitive
    ]


def _several_records(frame: pl.DataFrame, schema: Schema) -> list[str]:
    """What tells that a permuted table has not one record per person."""
    if schema.person is not None and schema.person not in frame.columns:
        return ["A permuted table has one record per person, but person ids, which would show it, are not published."]
    if persons_of(frame, schema)[1] == len(frame):
        return []
    return [f"A permuted table has one record per person, but '{schema.person}' names persons more than once."]


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
    return replace(counts, joint=None, background=None, related=None, histories=None, known=known)


def groups_are_alike(frame: pl.DataFrame, schema: Schema) -> bool:
    """Whether all rows of a group show the same quasi-identifiers."""
    shown = frame.select(GROUP, *schema.quasi_names).unique()
    return len(shown) == frame[GROUP].n_unique()


def problems_of_columns(columns: Sequence[str], schema: Schema, *, mask: type[Mask] = Mask) -> list[str]:
    """What a release must not show, whatever the models say. A column of groups is one that some masks make."""
    problems = [
        f"'{name}' is published, but the policy "
        + ("drops it." if role == "dropped" else f"names it as {role}, which does not leave unless it is kept too.")
        for name, role in schema.hidden.items()
        if name in columns
    ]
    if not schema.links_records and schema.person in columns:
        problems.append(f"'{schema.person}' is published, but the policy publishes no person ids.")
    named = {name for name, _ in schema.roles()} | (set() if mask.links_values else {GROUP})
    return problems + [
        f"'{name}' is published, but the policy gives it no role." for name in columns if name not in named
    ]


def mask_meant(mask: str | None, schema: Schema, tables: Mapping[str, Any] | None, linked: Any) -> type[Mask]:
    """The mask that somebody says a release was made by, in words or by what is given beside the table."""
    if mask is None and tables:
        mask = "anatomize"
    elif mask is None:
        is_range = linked is None or schema.has_episodes or not schema.links_records
        mask = "range" if is_range else "perturb"
    meant: type[Mask] = Mask if mask == Mask.name else MASKS[str(mask)]
    if not meant.links_values and GROUP in {name for name, _ in schema.roles()}:
        raise SchemaError(f"The mask {mask} publishes a column '{GROUP}' of its own: give yours another name.")
    return meant
