"""What can be seen where sensitive attributes are published apart: groups by their own column, values by counts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.models.counts import SPREAD, VALUE_SUMMARIES, GroupCounts, ValueCounts
from shoal.table.columns import category_column, code_values
from shoal.table.observe import Observation
from shoal.table.schema import Schema

GROUP = "group"
"""The column that says which group a row belongs to, where quasi-identifiers do not."""

SHOWN_APART = frozenset({"persons", "records", "values_of_group"}) | VALUE_SUMMARIES


def publishes_apart(frame: pl.DataFrame, schema: Schema) -> bool:
    """Whether a published table has a column of group numbers that is none of the schema's."""
    return GROUP in frame.columns and GROUP not in {name for name, _ in schema.roles()}


def observe_permuted(frame: pl.DataFrame, schema: Schema) -> Observation:
    """Look at a permuted table: one record a person, groups by their column."""
    codes, distinct = code_values(frame[GROUP])
    sensitive = {name: category_column(frame[name]) for name in schema.sensitive}
    everyone = np.arange(len(frame), dtype=np.int32)
    return Observation(codes, len(distinct), everyone, len(frame), sensitive)


def observe_linked(linked: pl.DataFrame, schema: Schema) -> Observation:
    """Look at what the steward keeps of a release that publishes attributes apart."""
    group, groups = code_values(linked[GROUP])
    member, members = code_values(linked["member"])
    sensitive = {name: category_column(linked[name]) for name in schema.sensitive}
    return Observation(group, len(groups), member, len(members), sensitive)


def count_anatomized(
    quasi: pl.DataFrame, tables: Mapping[str, pl.DataFrame], schema: Schema
) -> tuple[GroupCounts, int, list[str]]:
    """Count anatomized tables: the counts of the groups, how many persons there are, and what does not fit together."""
    absent = [name for name in schema.sensitive if name not in tables]
    if absent:
        raise SchemaError(f"The anatomized release lacks the sensitive table of: {', '.join(absent)}.")
    group, groups = code_values(quasi[GROUP])
    persons = np.bincount(group, minlength=len(groups)).astype(np.int64)
    values, problems = {}, []
    records = persons
    one_each = all("count" in tables[name].columns for name in schema.sensitive)
    for name in schema.sensitive:
        counted, own_problems = _count_values(name, tables[name], groups, persons, one_each)
        values[name] = counted
        problems += own_problems
        records = np.asarray(counted.sum_by_group(counted.lists[2]), np.int64)
    counts = GroupCounts(
        persons=persons, records=records, squared_records=records, most_records=np.minimum(persons, 1),
        values=values, known=SHOWN_APART | (SPREAD if one_each else frozenset()), log_records=np.zeros(len(persons)),
    )  # fmt: skip
    return counts, int(persons.sum()), problems


def _count_values(
    name: str, table: pl.DataFrame, groups: pl.Series, persons: NDArray[np.int64], one_each: bool
) -> tuple[ValueCounts, list[str]]:
    expected = {GROUP, name, *(("count",) if one_each else ("persons", "records"))}
    if set(table.columns) != expected:
        raise SchemaError(f"The sensitive table of '{name}' must have the columns {', '.join(sorted(expected))}.")
    column = category_column(table[name])
    position = pl.DataFrame({GROUP: groups, "at": np.arange(len(groups))})
    at = table.select(pl.col(GROUP).cast(groups.dtype)).join(position, on=GROUP, how="left", maintain_order="left")[
        "at"
    ]
    problems = []
    unknown = at.null_count()
    if unknown:
        problems.append(f"{unknown:,} rows of the sensitive table of '{name}' name a group that has no persons.")
    group = at.fill_null(0).to_numpy()
    n_persons = table["count" if one_each else "persons"].cast(pl.Int64).to_numpy()
    n_records = table["count" if one_each else "records"].cast(pl.Int64).to_numpy()
    order = np.lexsort((column.codes, group))
    start = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(groups)))]).astype(np.int64)
    if (np.diff(start) == 0).any():
        empty = int((np.diff(start) == 0).sum())
        raise SchemaError(f"{empty:,} groups have no value in the sensitive table of '{name}'.")
    in_table = np.bincount(column.codes, weights=n_records, minlength=column.n_codes).astype(np.int64)
    counts = ValueCounts(
        records_in_table=in_table,
        persons_in_table=np.bincount(column.codes, weights=n_persons, minlength=column.n_codes).astype(np.int64),
        start_of_group=start, value=column.codes[order].astype(np.int64), records=n_records[order],
        persons=n_persons[order],
    )  # fmt: skip
    total = np.asarray(counts.sum_by_group(n_persons[order]), np.int64)
    wrong = int((total != persons).sum() if one_each else (total < persons).sum())
    if wrong:
        problems.append(f"In {wrong:,} groups the sensitive table of '{name}' does not count every person.")
    if (n_persons < 1).any() or (n_records < n_persons).any():
        problems.append(f"The sensitive table of '{name}' has counts that cannot be.")
    return counts, problems
