"""What can be seen where sensitive attributes are published apart: groups by their own column, values by counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.judging.observation import Observation
from shoal.models.background import BackgroundCounts, background_of
from shoal.models.counts import BACKGROUND, SPREAD, VALUE_SUMMARIES, GroupCounts, ValueCounts
from shoal.table.adversary import KnownRules, known_by_steward, types_by_rules
from shoal.table.columns import category_column, code_values, sensitive_columns
from shoal.table.own_columns import COUNT, GROUP, MEMBER, PERSONS, RECORDS
from shoal.table.schema import Schema

GROUP_TYPES = (pl.Int32, pl.Int64, pl.String)
"""Groups are whole numbers, which CSV files hold as texts."""

LARGEST_COUNT = 2.0**53
"""Whole numbers up to here are exact as floats."""

PERSONS_COUNTED = frozenset({"persons", "persons_of_value"}) | (VALUE_SUMMARIES - {"most_records_of_value"})
"""What sensitive tables show that count persons."""

RECORDS_COUNTED = frozenset({"records", "values_of_group", "most_records_of_value"})
"""What they show besides where they count records too."""


def observe_permuted(frame: pl.DataFrame, schema: Schema) -> Observation:
    """Look at a permuted table: one record per person, groups by their column."""
    codes, distinct = code_values(_comparable([frame])[0])
    sensitive = sensitive_columns(frame, schema)
    everyone = np.arange(len(frame), dtype=np.int32)
    return Observation(codes, len(distinct), everyone, len(frame), sensitive)


def observe_linked(linked: pl.DataFrame, schema: Schema, *, is_linked: bool = False) -> Observation:
    """Look at what the steward keeps of a release that publishes attributes apart, or hides its groups.

    Parameters
    ----------
    is_linked
        Whether the release itself shows which values of different attributes belong to one person.
    """
    absent = [name for name in (GROUP, MEMBER, *schema.sensitive) if name not in linked.columns]
    if absent:
        raise SchemaError(f"What the steward keeps of the release lacks the columns: {', '.join(absent)}.")
    if not len(linked) or linked[GROUP].null_count() or linked[MEMBER].null_count():
        raise SchemaError("What the steward keeps of the release has no records, or some without group or person.")
    group, groups = code_values(linked[GROUP])
    member, members = code_values(linked[MEMBER])
    sensitive = sensitive_columns(linked, schema)
    known = known_by_steward(linked, sensitive, is_linked=is_linked)
    return Observation(group, len(groups), member, len(members), sensitive, known)


def only_by(rules: KnownRules | None, seen: Observation) -> Observation:
    """The same, believing of what the steward keeps about an adversary's rules only what is by these."""
    return seen if seen.known is None else replace(seen, known=seen.known.only_by(rules))


def with_excluded(seen: Observation, excluded: pl.DataFrame) -> Observation:
    """What is seen in a table whose groups show equal quasi-identifiers, with what the steward keeps of its rows.

    Parameters
    ----------
    excluded
        For each row of the table the values that its person cannot have.

    Raises
    ------
    SchemaError
        It is not of this table.
    """
    if len(excluded) != seen.n_records:
        raise SchemaError(
            f"What the steward keeps has {len(excluded):,} records, and {seen.n_records:,} were published: it is of "
            "another release."
        )
    known = known_by_steward(excluded, seen.sensitive, is_linked=True)
    if known is None:
        raise SchemaError("What the steward keeps does not tell which values persons cannot have.")
    for type_of_record, _ in known.types_of_record.values():
        of_person = np.full(seen.n_persons, -1, np.int32)
        of_person[seen.person_of_record] = type_of_record
        if (of_person[seen.person_of_record] != type_of_record).any():
            raise SchemaError("What the steward keeps says different things of one person: it is of another release.")
    return replace(seen, known=known)


def with_background_shown(
    counts: GroupCounts,
    frame: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    schema: Schema,
    rules: KnownRules,
    *,
    are_own: bool = True,
) -> GroupCounts:
    """Counts of attributes that are published apart, and what rules leave for persons who show who they are.

    For one record per person and exact quasi-identifiers. Who has which value is not known, so that values are given to
    the rows of a group in any order; models that reckon with rules find an order that these admit.

    Parameters
    ----------
    are_own
        Whether rules that were mined were mined from this table, so that each of them is about values it has.

    Raises
    ------
    SchemaError
        The rules do not fit what is published, or persons and values are not equally many.
    """
    group, groups = code_values(_comparable([frame, *tables.values()])[0])
    order = np.argsort(group, kind="stable")
    rows = frame.drop(schema.person) if schema.person in frame.columns else frame  # then each row is a person
    lists, types = {}, {}
    for name, attribute in counts.values.items():
        start, value, _, persons = attribute.lists
        if not np.array_equal(np.add.reduceat(persons, start[:-1]), counts.persons):
            raise SchemaError(f"The groups do not have as many values of '{name}' as persons.")
        shown = tables[name][name] if name in tables else frame[name]
        column = category_column(shown, spelling=schema.spelling_of(name))
        type_of_row, allowed = types_by_rules(rules, rows, schema, column, are_own=are_own)
        types[name] = type_of_row[order], allowed
        lists[name] = np.arange(len(frame) + 1), np.repeat(value, persons), column.n_codes
    start_of_group = np.append(0, np.cumsum(np.bincount(group, minlength=len(groups))))
    background = BackgroundCounts(
        start_of_group=start_of_group,
        who=np.arange(len(frame)),
        background=background_of(lists, types, is_linked=False),
    )
    return replace(counts, background=background, known=counts.known | BACKGROUND)


def counts_one_record_per_person(tables: Mapping[str, pl.DataFrame], schema: Schema) -> bool:
    """Whether sensitive tables count one record per person, as a permuted table does, which has none."""
    return all(name not in tables or COUNT in tables[name].columns for name in schema.sensitive)


def count_anatomized(
    quasi: pl.DataFrame, tables: Mapping[str, pl.DataFrame], schema: Schema
) -> tuple[GroupCounts, list[str]]:
    """Count anatomized tables: the counts of the groups, and what does not fit together.

    Where records are not counted each person has one with each of their values, the fewest that there can be.
    """
    one_each, has_records = _check_tables(tables, schema)
    own, *others = _comparable([quasi, *(tables[name] for name in schema.sensitive)])
    group, groups = code_values(own)
    persons = np.bincount(group, minlength=len(groups)).astype(np.int64)
    problems = []
    if quasi[GROUP].null_count():
        problems.append(f"{quasi[GROUP].null_count():,} rows of the quasi-identifier table have no group.")
    values = {}
    for name, group_of_row in zip(schema.sensitive, others, strict=True):
        position = group_of_row.to_frame().join(
            pl.DataFrame({GROUP: groups, "at": np.arange(len(groups))}), on=GROUP, how="left", maintain_order="left"
        )["at"]
        values[name], own_problems = _count_values(
            tables[name], schema.spelling_of(name), name, position, persons, one_each
        )
        problems += own_problems
    sums = [np.asarray(counted.sum_by_group(counted.lists[2]), np.int64) for counted in values.values()]
    apart = int(np.any([records != sums[0] for records in sums], axis=0).sum()) if has_records else 0
    if apart:
        problems.append(f"In {apart:,} groups the sensitive tables do not count equally many records.")
    records = np.max([*(sums[:1] if has_records else sums), persons], axis=0)
    known = PERSONS_COUNTED | (RECORDS_COUNTED if has_records else frozenset()) | (SPREAD if one_each else frozenset())
    counts = GroupCounts(
        persons=persons, records=records, squared_records=records, most_records=np.minimum(persons, 1),
        values=values, known=known, log_records=np.zeros(len(persons)),
    )  # fmt: skip
    return counts, problems


def count_linked(
    linked: pl.DataFrame,
    schema: Schema,
    needs: frozenset[str],
    *,
    published: GroupCounts,
    rules: KnownRules | None = None,
) -> tuple[GroupCounts | None, list[str]]:
    """Count what the steward keeps of a release that publishes attributes apart; nothing where it is not the same."""
    try:
        counts = only_by(rules, observe_linked(linked, schema)).counts(needs | VALUE_SUMMARIES)
    except SchemaError as refusal:
        return None, [str(refusal)]
    if not np.array_equal(counts.persons, published.persons):
        return None, ["What the steward keeps of the release has other groups than were published."]
    has_records = "records" in published.known
    others = [name for name, shown in published.values.items() if not _alike(counts.values[name], shown, has_records)]
    misfits = [f"What the steward keeps of '{name}' is not what was published." for name in others]
    return (None if misfits else counts), misfits


def _alike(kept: ValueCounts, published: ValueCounts, has_records: bool) -> bool:
    """Whether groups have equally common values, whatever these are: a CSV file may write them in another way."""
    counted = (2, 3) if has_records else (3,)
    first, second = (
        np.stack([each.group_of_entry, *(each.lists[count] for count in counted)]) for each in (kept, published)
    )
    return np.array_equal(first[:, np.lexsort(first)], second[:, np.lexsort(second)])


def _comparable(frames: Sequence[pl.DataFrame]) -> list[pl.Series]:
    """The group of each row of several tables as numbers, or as texts where some are none; missing is a group too."""
    columns = [frame[GROUP] for frame in frames]
    numbers = [column.cast(pl.Int64, strict=False) for column in columns if column.dtype in GROUP_TYPES]
    if len(numbers) == len(columns) and not any(column.null_count() for column in numbers):
        return numbers
    return [column.cast(pl.String).fill_null("") for column in columns]


def _check_tables(tables: Mapping[str, pl.DataFrame], schema: Schema) -> tuple[bool, bool]:
    """Refuse tables that are none of sensitive attributes; whether they count one record per person, and records."""
    absent = [name for name in schema.sensitive if name not in tables]
    if absent:
        raise SchemaError(f"The anatomized release lacks the sensitive table of: {', '.join(absent)}.")
    one_each, has_records = (all(c in tables[name].columns for name in schema.sensitive) for c in (COUNT, RECORDS))
    counted = (COUNT,) if one_each else (PERSONS, RECORDS) if has_records else (PERSONS,)
    for name in schema.sensitive:
        expected = {GROUP, name, *counted}
        if set(tables[name].columns) != expected:
            raise SchemaError(f"The sensitive table of '{name}' must have the columns {', '.join(sorted(expected))}.")
        if any(dtype.is_nested() for dtype in tables[name].dtypes):
            raise SchemaError(f"The sensitive table of '{name}' has a column that holds no single values.")
    return one_each, one_each or has_records


def names_of_counts(columns: Sequence[str]) -> tuple[str, str]:
    """The columns of a sensitive table that count persons and records; persons for both where it counts no records."""
    if COUNT in columns:
        return COUNT, COUNT
    return PERSONS, RECORDS if RECORDS in columns else PERSONS


def _counts_of(table: pl.DataFrame) -> list[pl.Series]:
    """How many persons and records each row of a sensitive table counts; 0 where that is no whole number above 0."""
    counts = []
    for name, column in zip((PERSONS, RECORDS), names_of_counts(table.columns), strict=True):
        written = table[column]
        number = written.cast(pl.Float64, strict=False).fill_nan(None).fill_null(0.0)
        is_count = (number >= 1) & (number == number.floor()) & (number < LARGEST_COUNT)
        counts.append(number.zip_with(is_count, pl.Series([0.0])).cast(pl.Int64).alias(name))
    return counts


def _count_values(
    table: pl.DataFrame, spelling: str, name: str, position: pl.Series, persons: NDArray[np.int64], one_each: bool
) -> tuple[ValueCounts, list[str]]:
    """The values of one attribute in every group, and what cannot be. Where a group has none, all share one unknown."""
    column = category_column(table[name], spelling=spelling)
    written = pl.Series("written", code_values(table[name])[0], pl.Int64)
    coded = pl.Series("code", column.codes, pl.Int64)
    rows = pl.DataFrame([position.alias("at"), coded, written, *_counts_of(table)])
    problems = []
    if position.null_count():
        rows = rows.filter(pl.col("at").is_not_null())
        problems.append(
            f"{position.null_count():,} rows of the sensitive table of '{name}' name a group that has no persons."
        )
    cannot_be = int(((rows[PERSONS] < 1) | (rows[RECORDS] < rows[PERSONS])).sum())
    at, code = rows["at"].to_numpy(), rows["code"].to_numpy()
    cannot_be += int((rows[PERSONS].to_numpy() > persons[at]).sum())
    if cannot_be:
        problems.append(f"{cannot_be:,} rows of the sensitive table of '{name}' have counts that cannot be.")
    order = np.lexsort((code, at))
    is_again = np.append(False, (at[order][1:] == at[order][:-1]) & (code[order][1:] == code[order][:-1]))
    n_again = len(rows) - rows.select("at", "written").n_unique()
    if n_again:
        problems.append(f"{n_again:,} rows of the sensitive table of '{name}' count a value once more.")
    sums = {what: np.bincount(at, weights=rows[what], minlength=len(persons)) for what in (PERSONS, RECORDS)}
    wrong = int((sums[PERSONS] != persons).sum() if one_each else (sums[PERSONS] < persons).sum())
    if wrong:
        problems.append(f"In {wrong:,} groups the sensitive table of '{name}' does not count every person.")
    n_persons, n_records = (np.maximum(rows[what].to_numpy()[order], 1) for what in (PERSONS, RECORDS))
    at, code, n_persons, n_records = _mended(
        (at[order], code[order], n_persons, n_records), is_again, persons, len(column.categories)
    )
    n_codes = len(column.categories) + 1
    return ValueCounts(
        records_in_table=np.bincount(code, weights=n_records, minlength=n_codes).astype(np.int64),
        persons_in_table=np.bincount(code, weights=n_persons, minlength=n_codes).astype(np.int64),
        start_of_group=np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(persons)))]).astype(np.int64),
        value=code, records=n_records, persons=n_persons,
    ), problems  # fmt: skip


def _mended(
    rows: tuple[NDArray[np.int64], ...], is_again: NDArray[np.bool_], persons: NDArray[np.int64], unknown: int
) -> tuple[NDArray[np.int64], ...]:
    """Rows (group, value, persons, records) in which each value stands once, and each group has one at least.

    In a group without rows everybody has the one unknown value, which is the least safe that can be.
    """
    at, code, n_persons, n_records = rows
    if is_again.any():
        first = np.flatnonzero(~is_again)
        n_persons, n_records = np.add.reduceat(n_persons, first), np.add.reduceat(n_records, first)
        at, code = at[first], code[first]
        n_persons = np.minimum(n_persons, persons[at])  # one person may have a value in several spellings
    empty = np.setdiff1d(np.arange(len(persons)), at)
    if len(empty):
        place = np.searchsorted(at, empty)
        at, code = np.insert(at, place, empty), np.insert(code, place, unknown)
        n_persons, n_records = (np.insert(counts, place, persons[empty]) for counts in (n_persons, n_records))
    return at, code, n_persons, n_records
