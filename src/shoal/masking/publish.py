"""The published table: masked quasi-identifiers, pseudonyms, times, sensitive and kept columns, in a secret order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import secrecy
from shoal.masking.grouped import GroupedRecords
from shoal.table.table import QuasiColumn, Table


class Mask(Protocol):
    """What is shown of a group."""

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """One text or number a group."""
        ...


@dataclass(frozen=True)
class Published:
    """A table as it will be published, and what only the steward may know of it."""

    frame: pl.DataFrame
    group_of_record: NDArray[np.int32]
    """The group of each published record."""
    record_of_published: NDArray[np.int32]
    """Which original record each published one is."""
    pseudonym_of_person: pl.Series | None


def publish(table: Table, grouping: Grouping, mask: Mask) -> Published:
    """Mask a table by groups.

    Columns keep their names and order; dropped columns are gone. Person ids become random pseudonyms that are not
    derived from the id, and records are shuffled by secure randomness, so that neither tells the original id or order.
    """
    records = GroupedRecords.of(table, grouping)
    order = secrecy.secret_order(table.n_records)
    group = records.group_of_record[order]
    names = secrecy.pseudonyms(table.n_persons) if table.schema.person is not None else None
    columns = []
    published = table.schema.published()
    for name in table.frame.columns:
        if name not in published:
            continue
        if name in table.quasi:
            columns.append(spread(mask.mask(table.quasi[name], records, table), group).alias(name))
        elif name == table.schema.person and names is not None:
            columns.append(names.gather(table.person_of_record[order]).alias(name))
        elif name == table.schema.time:
            columns.append(_masked_times(table).gather(order).alias(name))
        else:
            columns.append(table.frame[name].gather(order))
    return Published(pl.DataFrame(columns), group, order, names)


def spread(label_of_group: pl.Series, group_of_record: NDArray[np.int32]) -> pl.Series:
    """A label a record from a label a group; texts are dictionary-encoded, each stands in memory once."""
    if label_of_group.dtype == pl.String:
        label_of_group = label_of_group.cast(pl.Categorical)
    return label_of_group.gather(group_of_record)


def _masked_times(table: Table) -> pl.Series:
    """The time column as a person's own sequence number, or as dates shifted by a random number of days a person."""
    assert table.schema.time is not None
    times = table.frame[table.schema.time]
    if table.schema.time_as == "sequence":
        order = pl.DataFrame({"person": table.person_of_record, "time": _as_times(times, strict=False)})
        return order.select(pl.col("time").rank("dense").over("person").cast(pl.Int32)).to_series()
    dates = _as_times(times, strict=True)
    if dates.dtype not in (pl.Date, pl.Datetime):
        raise SchemaError(
            f"The time column '{times.name}' holds no dates, so it cannot be shifted. Publish it as a sequence: "
            "time_as = 'sequence'."
        )
    days = pl.Series(secrecy.days_shifted(table.n_persons)).gather(table.person_of_record)
    return dates + pl.select(pl.duration(days=days)).to_series()


def _as_times(times: pl.Series, *, strict: bool) -> pl.Series:
    """Texts as dates, date-times or numbers, whichever all of them are; texts of another kind stay as they are."""
    if times.dtype != pl.String:
        return times
    readings = [times.str.to_date("%Y-%m-%d", strict=False), times.str.to_datetime(strict=False, time_unit="us")]
    if not strict:
        readings.append(times.cast(pl.Float64, strict=False))
    for reading in readings:
        if reading.null_count() == times.null_count():
            return reading
    return times
