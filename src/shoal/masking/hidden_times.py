"""Times that are hidden so that nobody is found by the days between their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.judging.observation import ShownTimes
from shoal.masking.times import masked_times
from shoal.models.exact import BoolArray, IntArray
from shoal.models.histories import NOTHING, Asked, HistoryCounts, alike
from shoal.table.table import Table


def of_times(asked: Sequence[Asked], table: Table) -> list[Asked]:
    """What models ask of the days between records: those that name the time column, which stands by itself there."""
    time = table.schema.time
    found = [each for each in asked if each.columns is not None and time is not None and time in each.columns]
    for each in found:
        if len(each.columns or ()) > 1 or each.c is not None or each.knows != "values":
            raise SchemaError(
                f"A model of histories names '{time}', whose days between records are hidden by themselves: ask for "
                f"history-k with columns=['{time}'] and knows='values', and for other columns beside it."
            )
        if table.schema.time_as != "shift":
            raise SchemaError(
                f"A model of histories names '{time}', but times that are published as sequence numbers show no days."
            )
    return found


def hide_times(table: Table, grouping: Grouping, asked: Sequence[Asked]) -> BoolArray:
    """Which records show no time, such that what is asked of the days between records holds.

    Of a number of days that too few persons of a group show, the later time is hidden; the days from the time before to
    the next one then count. Where only combinations are shown by too few, a group shows no times.
    """
    hidden = np.zeros(table.n_records, np.bool_)
    while True:
        counts = _counts(table, grouping, hidden)
        more = np.logical_or.reduce([_to_hide(counts, each) for each in asked]) & ~hidden
        if not more.any():
            return hidden
        hidden |= more


def _counts(table: Table, grouping: Grouping, hidden: BoolArray) -> HistoryCounts:
    """What is shown of the days between records."""
    name = table.schema.time
    assert name is not None
    frame = table.frame.with_columns(without_times(table.frame[name], hidden))
    shown = ShownTimes(name, masked_times(replace(table, frame=frame)), are_dates=True)
    return HistoryCounts(
        group_of_record=grouping.group_of_record(table).astype(np.int64),
        n_groups=grouping.n_groups,
        person_of_record=table.person_of_record.astype(np.int64),
        codes={},
        time=name,
        pseudonym_of_record=table.pseudonym_of_record.astype(np.int64),
        gap_of_record=shown.gaps(table.pseudonym_of_record),
    )


def _to_hide(counts: HistoryCounts, asked: Asked) -> BoolArray:
    """Records whose times must go, as far as can be told at once."""
    counts = counts if asked.with_quasi else counts.as_one_group
    gap = counts.gap_of_record
    assert gap is not None
    assert counts.time is not None
    if asked.m == 0:
        return np.zeros(len(gap), np.bool_)
    rare = (gap != NOTHING) & (_persons_of_gap(counts, gap) < asked.k)
    if rare.any():
        return rare
    fewest = counts.fewest(asked.m, [counts.time], "values", model="history-k")
    return np.asarray((fewest < asked.k)[counts.group_of_record] & (gap != NOTHING))


def _persons_of_gap(counts: HistoryCounts, gap: IntArray) -> IntArray:
    """For each record how many persons of its group show the same days."""
    pair = alike([counts.group_of_record, gap])
    _, number = np.unique(pair, return_inverse=True)
    _, first = np.unique(alike([number, counts.person_of_record]), return_index=True)
    persons: IntArray = np.bincount(number[first])[number]
    return persons


def without_times(times: pl.Series, hidden: BoolArray) -> pl.Series:
    """The times of a table, missing where they are hidden."""
    return pl.select(pl.when(~pl.Series(hidden)).then(times)).to_series().rename(times.name)
