"""Who is alone in their group by what else leaves, counted on a published file in portions.

Sensitive values and numbers of records are summed up by person already. Kept columns and times may have as many
different values as there are records, so that they are looked at in further passes, each of which counts some of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.stream.summary import SummaryTable
from shoal.judging.alone import COUNT, KEPT, TIME, TIME_OF_DAY, Alone, keeps_time_of_day, key_of
from shoal.kernels import counting
from shoal.table.schema import Schema
from shoal.table.times import moments_of, times_of_day

MOST_CELLS = 20_000_000
"""How many values in groups are looked at together at the most."""

MIXED_BY = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SeenValues:
    """A part of the published records: their persons, their groups, and what else they show."""

    person: NDArray[np.int32]
    group: NDArray[np.int32]
    frame: pl.DataFrame


Pass = Callable[[Sequence[str]], Iterable[SeenValues]]
"""Looks at all records once more: some of their columns."""


def look_for_alone_in_portions(
    table: SummaryTable, group_of_person: NDArray[np.int32], who: NDArray[np.int64], look: Pass, schema: Schema
) -> Alone:
    """As `shoal.judging.alone.look_for_alone`, which gives the same.

    Parameters
    ----------
    table, group_of_person
        The persons summed up, in groups; one who is in several stands there once for each.
    who
        The person of each.
    """
    n_persons = int(who.max()) + 1
    by = {}
    if schema.kept:
        by[KEPT] = _by_columns([*schema.kept], look, table.n_records, n_persons)
    if schema.person is not None:
        by[COUNT] = _with_own(group_of_person, table.records_of_person, who, n_persons)
    for name in table.sensitive:
        start, value, _ = table.lists[name]
        entry = np.repeat(np.arange(table.n_persons), np.diff(start))
        by[key_of(name)] = _with_own(group_of_person[entry], value, who[entry], n_persons)
    if schema.time is not None:
        timed = look if schema.time_as == "sequence" else _since_first(look, schema.time, n_persons)
        by[TIME] = _by_columns([schema.time], timed, table.n_records, n_persons)
        if keeps_time_of_day(schema):
            by[TIME_OF_DAY] = _by_columns([schema.time], _of_day(look, schema.time), table.n_records, n_persons)
    n_records = table.n_records
    return Alone(by, n_persons, by_column=lambda name: _by_columns([name], look, n_records, n_persons))


def _with_own(group: NDArray[np.integer], value: NDArray[np.integer], who: NDArray[np.integer], n_persons: int) -> int:
    """How many persons have a value in a group for themselves."""
    n_groups, n_values = int(group.max()) + 1, int(value.max()) + 1
    group, value, who = (part.astype(np.int32, copy=False) for part in (group, value, who))
    order = counting.order_by_code(group, n_groups, np.arange(len(group), dtype=np.int32))
    return int(counting.persons_with_own(group[order], value[order], who[order], n_values, n_persons).sum())


def _by_columns(names: Sequence[str], look: Pass, n_records: int, n_persons: int) -> int:
    """How many persons have values of some columns together for themselves in a group.

    Values are told apart by 64 bits that are made of them.
    """
    n_parts = math.ceil(n_records / MOST_CELLS)
    has_own = np.zeros(n_persons, np.bool_)
    for part in range(n_parts):
        slots, keys, n = np.empty(0, np.int32), np.empty(0, np.int64), 0
        owner, is_shared = np.full(0, -1, np.int32), np.zeros(0, np.bool_)
        for seen in look(names):
            key = keys_of(seen.frame, names, seen.group)
            is_of_part = key % np.uint64(n_parts) == part
            cells, slots, keys, n = counting.number_more(key[is_of_part].view(np.int64), slots, keys, n)
            more = len(keys) - len(owner)
            owner = np.append(owner, np.full(more, -1, np.int32))
            is_shared = np.append(is_shared, np.zeros(more, np.bool_))
            counting.add_groups_of_persons(seen.person[is_of_part], cells, owner, is_shared)
        has_own[owner[(owner >= 0) & ~is_shared]] = True
    return int(has_own.sum())


def keys_of(frame: pl.DataFrame, names: Sequence[str], group: NDArray[np.integer] | None = None) -> NDArray[np.uint64]:
    """64 bits of the values of each record, and of its group where that is given."""
    key = np.zeros(len(frame), np.uint64) if group is None else group.astype(np.uint64)
    for name in names:
        values = frame[name]
        if values.dtype in (pl.Categorical, pl.Enum):
            values = values.cast(pl.String)
        if values.dtype.is_float():
            values = values.fill_nan(None) + 0.0  # -0.0 and 0.0 are equal
        key = (key ^ values.hash().to_numpy()) * MIXED_BY
        key ^= key >> np.uint64(32)
    return key


def _of_day(look: Pass, time: str) -> Pass:
    """The same with times of day."""

    def timed(names: Sequence[str]) -> Iterator[SeenValues]:
        for seen in look(names):
            yield SeenValues(
                seen.person, seen.group, seen.frame.with_columns(times_of_day(seen.frame[time]).alias(time))
            )

    return timed


def _since_first(look: Pass, time: str, n_persons: int) -> Pass:
    """The same with times as they stand to the first day of their person; texts that are no times as they are."""
    first_day = np.full(n_persons, np.iinfo(np.int64).max)
    for seen in look([time]):
        moments = moments_of(seen.frame[time])
        if moments is None:
            return look
        days = moments.dt.truncate("1d").cast(pl.Int64)
        np.minimum.at(first_day, seen.person[days.is_not_null().to_numpy()], days.drop_nulls().to_numpy())

    def timed(names: Sequence[str]) -> Iterator[SeenValues]:
        for seen in look(names):
            moments = moments_of(seen.frame[time])
            assert moments is not None
            since = moments.cast(pl.Int64) - pl.Series(first_day[seen.person])
            yield SeenValues(seen.person, seen.group, seen.frame.with_columns(since.alias(time)))

    return timed
