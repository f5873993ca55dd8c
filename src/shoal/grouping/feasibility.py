"""Whether a table can be protected at all: where the whole table breaks a monotone model, every grouping does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import polars as pl

from shoal.attacking.mining.rules import persons_satisfying
from shoal.errors import CannotSatisfyError, SchemaError
from shoal.grouping.person_space import values_told, whole_counts
from shoal.judging.observation import Observation
from shoal.kernels.counting import spread_of_person_parts
from shoal.models.contract import Model, listed, worst_of
from shoal.models.counts import BACKGROUND, JOINT, RELATED, VALUE_SUMMARIES, VALUE_TABLES, GroupCounts, ValueCounts
from shoal.models.related import FEWEST_PERSONS, RelatedCounts
from shoal.table.adversary import Adversary, KnownRules
from shoal.table.columns import CategoryColumn
from shoal.table.schema import Schema
from shoal.table.table import Table

SIZES = frozenset({"records", "persons"})
"""What models of sizes alone need."""
DIGITS = Decimal("0.0001")
MOST_RULES_NAMED = 20
"""So many rules an error names by their numbers."""


def counts_of_whole(table: Table, models: Sequence[Model]) -> GroupCounts:
    """The counts of the whole table as one group."""
    needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
    if needs & (VALUE_TABLES | JOINT | BACKGROUND | RELATED):
        return Observation.of_whole(table).counts(needs)
    everyone = np.arange(table.n_persons, dtype=np.int32)
    spread = spread_of_person_parts(everyone, np.array([0, table.n_persons]), table.records_of_person)
    persons, records, squared, most, logs = spread
    values = {}
    if needs & VALUE_SUMMARIES:
        values = {name: _summaries(table, column) for name, column in table.sensitive.items()}
    return GroupCounts(
        persons=persons, records=records, squared_records=squared, most_records=most, log_records=logs, values=values
    )


def _summaries(table: Table, column: CategoryColumn) -> ValueCounts:
    lists = values_told(table, column)
    records, persons = whole_counts(table, column)
    summaries = {
        "most_persons_of_value": persons.max(keepdims=True),
        "most_records_of_value": records.max(keepdims=True),
        "distinct_values": np.array([np.count_nonzero(records)]),
        "person_values": np.array([len(lists[1])]),
    }
    counted = ValueCounts(records_in_table=records, persons_in_table=persons, summaries=summaries)
    if column.code_left_out is None:
        return counted
    return counted.with_told(np.array([np.count_nonzero(np.diff(lists[0]))]), records.sum(keepdims=True))


def refuse_unfit(table: Table, models: Sequence[Model]) -> None:
    """Refuse sensitive attributes that a model of all of them together cannot be asked about, naming all of them.

    A constant attribute is deleted by one value, and nobody knows which value a missing one is. Attributes that a cap
    of 0 leaves unprotected may be either.
    """
    refuse_missing_that_tells_nothing(table, models)
    seen = {
        name: (int(np.count_nonzero(column.codes == len(column.categories))), column.n_codes)
        for name, column in table.sensitive.items()
    }
    refuse_unfit_values(seen, models, n_records=table.n_records)


def refuse_missing_that_tells_nothing(table: Table, models: Sequence[Model]) -> None:
    """Refuse models that cannot leave out records which miss a value, where these tell nothing."""
    silent = [name for name, column in table.sensitive.items() if column.code_left_out is not None]
    for model in models:
        about = [name for name in silent if model.column is None or model.column == name]
        is_of_values = bool(model.needs & (BACKGROUND | RELATED)) or (model.dial is not None and model.dial.of_values)
        if about and is_of_values and not model.leaves_out_missing and not model.needs & JOINT:
            named = listed([f"'{name}'" for name in about])
            raise SchemaError(
                f"{model.name} counts a missing value as one that a person may have, and a missing {named} is said to "
                "tell nothing. Let it be a value (take it out of missing_tells_nothing), or ask for another model."
            )


def refuse_unfit_values(seen: Mapping[str, tuple[int, int]], models: Sequence[Model], *, n_records: int) -> None:
    """The same from how many records miss each attribute, and how many values it has."""
    for model in models:
        if not model.needs & JOINT:
            continue
        caps = model.caps or {}
        protected = [name for name in seen if caps.get(name) != 0]
        unfit = [problem for name in protected for problem in _unfit(name, *seen[name], n_records, model)]
        if unfit:
            raise SchemaError("\n".join(unfit))
        most = sum(caps.get(name, 0) for name in seen)
        if set(seen) <= caps.keys() and 0 < most < model.asked:
            hint = f"Ask for at most {most:,}, raise the caps, or leave one out."
            raise CannotSatisfyError(
                f"{model.name} {model.asked:g} cannot be met: its caps admit {most:,} values to be deleted, never "
                f"{model.asked:g}. {hint}",
                hint=hint,
            )


def _unfit(name: str, n_missing: int, n_codes: int, n_records: int, model: Model) -> list[str]:
    """Why a sensitive attribute does not go with a model of all of them together."""
    may_cap = model.takes("caps")
    instead = "drop the column, or leave it unprotected with a cap of 0" if may_cap else "or drop the column"
    if n_missing:
        return [
            f"The sensitive attribute '{name}' is missing in {n_missing:,} of {n_records:,} records, "
            f"and {model.name} needs to know every value. Complete it, leave these records out, {instead}."
        ]
    if n_codes == 1:
        return [
            f"The sensitive attribute '{name}' has the same value in all {n_records:,} records, so that "
            f"everybody's is known and {model.name} cannot be met: {instead.removeprefix('or ')}."
        ]
    return []


def refuse_impossible(table: Table, models: Sequence[Model], counts: GroupCounts | None = None) -> None:
    """Refuse a table that breaks a model as a whole; say which, and what could be met.

    `counts` are those of the whole table, where they are known already.
    """
    if table.n_persons == 1:
        raise CannotSatisfyError(
            f"The table has {table.n_records:,} records of one person only. One person cannot be hidden among others: "
            "their risk is 1 whatever is masked."
        )
    counts = counts if counts is not None else counts_of_whole(table, models)
    refuse_broken(models, counts, n_suppressed=table.suppressed_persons)


def refuse_broken(models: Sequence[Model], counts: GroupCounts, *, n_suppressed: int = 0) -> None:
    """Refuse a table whose counts as one group break a model; say which, and what could be met."""
    broken = [model for model in models if not model.holds(counts).all()]
    impossible = [_explain(model, counts, n_suppressed) for model in broken if not model.needs & RELATED]
    if counts.related is not None:
        impossible += _explain_tables(counts.related, n_suppressed)
    if impossible:
        raise CannotSatisfyError(
            "\n".join(f"{said} {hint}" for said, hint in impossible), hint="\n".join(hint for _, hint in impossible)
        )


def _explain(model: Model, counts: GroupCounts, n_suppressed: int) -> tuple[str, str]:
    """Why a whole table breaks a model, and what to do."""
    n_records, n_persons = int(counts.records.sum()), int(counts.persons.sum())
    reached = worst_of(model, model.reached(counts))
    column = model.column
    where = f" on '{column}'" if column else ""
    without = f", without the {n_suppressed:,} persons left out," if n_suppressed else ""
    said = (
        f"{model.name} {model.asked:g}{where} {_not_met(model)}: all {n_records:,} records of {n_persons:,} persons "
        f"together{without}"
    )
    if model.needs & JOINT:
        reach, hint = _reach_together(model, counts, reached)
        return f"{said} {reach}", hint
    if model.needs & BACKGROUND:
        reach, hint = _reach_by_rules(model, counts, reached)
        return f"{said} {reach}", hint
    if reached >= model.asked if model.higher_is_safer else reached <= model.asked:  # what else a model asks for
        return f"{said} are too few.", f"Ask for a group of at most {n_records:,} records."
    if not model.needs - SIZES:  # whoever is left out makes the table smaller
        return f"{said} reach {reached:.4g}.", f"Ask for at most {_within_reach(reached, model.higher_is_safer)}."
    leave_out = "allow persons to be left out (max_suppressed) or records of persons who have many (max_records)."
    if model.higher_is_safer and reached <= 0:
        return f"{said} reach 0, so that no smaller threshold can be met either.", f"To go on, {leave_out}"
    limit = f"{'at most' if model.higher_is_safer else 'at least'} {_within_reach(reached, model.higher_is_safer)}"
    return f"{said} reach {reached:.4g}.", f"Ask for {limit}, or {leave_out}"


def _not_met(model: Model) -> str:
    """What follows where the whole table breaks a model."""
    if model.monotone or model.is_searched:
        return "cannot be met by any grouping"
    return "is not met by the whole table, which groups are formed from"


def _explain_tables(related: RelatedCounts, n_suppressed: int) -> Iterator[tuple[str, str]]:
    """Which tables cannot be protected by their own rows, and what could be met."""
    for view, counts, broken in related.broken():
        if counts.persons[0] < FEWEST_PERSONS:
            asked = ", ".join(f"{model.name} {model.asked:g}" for model in view.rows.models) or "what is asked for"
            yield (
                f"{view.name}: {asked} cannot be kept by any grouping: all {int(counts.records[0]):,} rows are those "
                f"of one of {len(related.who):,} persons, who has nobody to hide among there.",
                "Leave the table out, or allow persons to be left out (max_suppressed).",
            )
            continue
        for model in broken:
            said, hint = _explain(model, counts, n_suppressed)
            yield f"{view.name}: {said}", hint


def _reach_together(model: Model, counts: GroupCounts, reached: float) -> tuple[str, str]:
    """What all sensitive attributes together reach; leaving persons out makes it smaller."""
    if model.gave_up(counts)[0]:
        return f"are proved to reach {reached:g}, and a longer search was given up.", f"Ask for at most {reached:g}."
    caps = ", or cap the attributes that have few values" if model.takes("caps") else ""
    return f"reach {reached:g}.", f"Ask for at most {reached:g}{caps}."


def _reach_by_rules(model: Model, counts: GroupCounts, reached: float) -> tuple[str, str]:
    """What rules that an adversary knows leave, and what to relax."""
    below = model.members_below(counts)
    n_below = 0 if below is None else int(below.sum())
    if not model.higher_is_safer:
        return (
            f"leave {n_below:,} persons a value with a probability of more than {model.asked:g}, the highest "
            f"{reached:.4g}, once the rules are known.",
            f"Ask for at least {_within_reach(reached, model.higher_is_safer)}, reckon with fewer rules, or allow "
            "persons to be left out (max_suppressed).",
        )
    fewer = f"Ask for at most {reached:g}, reckon" if reached >= 2 else "Reckon"
    return (
        f"leave {n_below:,} persons fewer than {model.asked:g} values, the fewest {reached:g}, once the rules are "
        "known.",
        f"{fewer} with fewer rules (a higher min-expectation, a lower max-len, or strike those that no adversary can "
        f"know), or allow {n_below:,} persons or more to be left out (max_suppressed).",
    )


def refuse_excluded(table: Table, models: Sequence[Model]) -> None:
    """Refuse a table with persons for whom rules leave too few values, whoever they are grouped with.

    Says how many they are, which rules exclude the others, by their place in the list of rules, and what to relax.
    """
    if table.adversary is None:
        return
    told = []
    for model in models:
        if model.needs & BACKGROUND:
            column = model.column
            names = list(table.sensitive) if column is None else [column]
            told += [_excluded(table, table.adversary, model, name) for name in names if name in table.sensitive]
    problems = [problem for problem in told if problem is not None]
    if problems:
        raise CannotSatisfyError("\n".join(problems))


def _excluded(table: Table, adversary: Adversary, model: Model, column: str) -> str | None:
    """Why persons are left with fewer values of an attribute than a model asks for, or None."""
    type_of_person, weight = adversary.types_of_person[column]
    n_left = (weight > 0).sum(axis=1)[type_of_person]
    is_below = n_left < model.asked
    if not is_below.any():
        return None
    n_values, fewest = table.sensitive[column].n_codes, int(n_left.min())
    said = f"{model.name} {model.asked:g} on '{column}' cannot be met by any grouping:"
    if n_values < model.asked:
        return f"{said} it has {n_values:,} values only. Ask for at most {fewest:,}."
    theirs = pl.Series(is_below[table.person_of_record])
    causes = _rules_about(adversary.rules, table.frame.filter(theirs), table.schema, column)
    fewer = f"Ask for at most {fewest:,}, strike" if fewest >= 2 else "Strike"
    return (
        f"{said} {int(is_below.sum()):,} of {table.n_persons:,} persons can have fewer than {model.asked:g} of its "
        f"{n_values:,} values once the rules are known, the fewest {fewest:,}. {causes} {fewer} rules that no "
        "adversary can know, mine with a higher min-expectation or a lower max-len, or allow these persons to be left "
        "out (max_suppressed)."
    )


def _rules_about(rules: KnownRules, records: pl.DataFrame, schema: Schema, column: str) -> str:
    """Which rules exclude values for some persons, by their place in the list, counted from 1, and their columns."""
    records = records.unique(subset=[*schema.quasi_names, *([schema.person] if schema.person else [])])
    causes: list[int] = []
    columns: list[str] = []
    for place, rule in enumerate(rules, start=1):
        if rule.never.column != column:
            continue
        if persons_satisfying(rule, records, schema).any():
            causes.append(place)
            columns += [item.column for item in rule.when if item.column not in columns]
    shown = ", ".join(map(str, causes[:MOST_RULES_NAMED])) + (", ..." if len(causes) > MOST_RULES_NAMED else "")
    named = ", ".join(f"'{name}'" for name in columns)
    return f"The others are excluded by {len(causes):,} of {len(rules):,} rules, about {named}: numbers {shown}."


def _within_reach(reached: float, higher_is_safer: bool) -> str:
    """The value reached, rounded to the side that can be met."""
    if reached != reached or reached in (float("inf"), float("-inf")):
        return "a value that the whole table reaches"
    rounding = ROUND_FLOOR if higher_is_safer else ROUND_CEILING
    return f"{Decimal(f'{reached:.12g}').quantize(DIGITS, rounding=rounding).normalize():f}"
