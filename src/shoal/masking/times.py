"""The time column as it is published: each person's own sequence, or dates shifted by a random number of days."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.masking import secrecy
from shoal.table.schema import Schema
from shoal.table.spelling import TEXTS
from shoal.table.table import Table
from shoal.table.times import (
    SharedDates,
    in_zone,
    is_placeholder,
    local_days,
    refuse_untold,
    shared_dates,
    written_times,
    zone_of,
)


def how_times_are_shown(schema: Schema) -> str:
    """What a codebook says of the time column."""
    if schema.time_as == "sequence":
        return f"the {'episode' if schema.has_episodes else 'person'}'s own first, second, ... time"
    whose = "episode" if schema.has_episodes else "person"
    shown = f"dates shifted per {whose}"
    if schema.time_of_day == "keep":
        return f"{shown}, times of day kept"
    return shown if schema.gap_days is None else f"{shown}, the days since its first rounded to {schema.gap_days:,}"


def masked_times(table: Table) -> pl.Series:
    """The time column as a person's own sequence number, or as dates shifted by a random number of days per person.

    Shifted times are cut to days, unless the schema keeps the time of day.
    """
    schema = table.schema
    assert schema.time is not None
    times = table.frame[schema.time]
    if schema.time_as == "sequence":
        order = pl.DataFrame({"person": table.pseudonym_of_record, "time": in_order(times)})
        return order.select(pl.col("time").rank("dense").over("person").cast(pl.Int32)).to_series()
    refuse_no_dates(times)
    days = days_to_shift(times, schema)
    found = shared_in(table)
    assert found is not None
    is_hidden = is_placeholder(days)
    if schema.shared_dates == "hide":
        is_hidden |= days.to_physical().is_in(found.days).fill_null(False)
    shown = days if schema.time_of_day == "cut" else _with_time_of_day(times, schema)
    if shown.dtype == pl.Null:
        return shown
    by = pl.Series("days", secrecy.days_shifted(table.n_pseudonyms)).gather(table.pseudonym_of_record)
    if schema.gap_days is not None:
        shown = with_rounded_gaps(shown, is_hidden, table.pseudonym_of_record, schema.gap_days)
    shifted = pl.DataFrame({"shown": shown, "by": by, "hidden": is_hidden}).select(
        pl.when(~pl.col("hidden")).then(pl.col("shown")) + pl.duration(days="by")
    )
    moved = shifted.to_series()
    is_text = times.dtype in TEXTS
    return moved.dt.replace_time_zone(None) if is_text and zone_of(moved) is not None else moved


def with_rounded_gaps(
    days: pl.Series, is_hidden: pl.Series, pseudonym_of_record: NDArray[np.int32], step: int
) -> pl.Series:
    """Days such that the days between those of one pseudonym are whole steps, each at most half a step from its own.

    The first day that is shown stays, and all others count from it.
    """
    records = pl.DataFrame({"day": days, "hidden": is_hidden, "of": pseudonym_of_record})
    first = pl.col("day").filter(~pl.col("hidden")).min().over("of")
    since = (pl.col("day") - first).dt.total_days()
    rounded = (2 * since + step).floordiv(2 * step) * step  # halves go up
    return records.select((first + pl.duration(days=rounded)).alias(days.name)).to_series()


def shared_in(table: Table) -> SharedDates | None:
    """What the dates of a table have in common, where they are to be shifted."""
    schema = table.schema
    if schema.time is None or schema.time_as != "shift" or table.shared_dates is not None:
        return table.shared_dates
    times = table.frame[schema.time]
    refuse_no_dates(times)
    return shared_dates(table.person_of_record, days_to_shift(times, schema))


def days_to_shift(times: pl.Series, schema: Schema) -> pl.Series:
    """The days of times that are to be shifted; those that are not known are refused where only the day is shown."""
    days, is_untold = local_days(times, schema.zone)
    if schema.time_of_day == "cut":
        refuse_untold(times.name, int(is_untold.sum()))
    return days


def _with_time_of_day(times: pl.Series, schema: Schema) -> pl.Series:
    """Times to be shifted with the time of day, in the zone where one is named."""
    if times.dtype not in TEXTS:
        return times if schema.zone is None or zone_of(times) is None else times.dt.convert_time_zone(schema.zone)
    clock, offset = written_times(times.cast(pl.String))
    if offset is None:
        return clock
    refuse_no_zone(times.name, len(offset) - offset.null_count(), schema)
    return in_zone(clock, offset, str(schema.zone))


def refuse_no_zone(name: str, n_offsets: int, schema: Schema) -> None:
    """Refuse to keep the time of day of texts with offsets, where no zone says which clock is meant."""
    if n_offsets and schema.zone is None:
        raise SchemaError(
            f"The time column '{name}' holds {n_offsets:,} times with an offset from UTC, so that the time of day to "
            "keep is not told. Say the time zone: zone='Europe/Berlin' for example, or zone='UTC'."
        )


def refuse_some_offsets(name: str, n_without: int, n_with: int) -> None:
    """Refuse to put times in order of which only some say how far their clock is from UTC."""
    if n_with and n_without:
        raise SchemaError(
            f"The time column '{name}' holds {n_with:,} times with an offset from UTC and {n_without:,} without, so "
            "that their order is not told. Write all of them with an offset, or none."
        )


def refuse_no_dates(times: pl.Series) -> None:
    """Refuse to shift what holds no dates."""
    if in_order(times).dtype not in (pl.Date, pl.Datetime, pl.Null):
        raise no_dates(times.name)


def no_dates(name: str) -> SchemaError:
    """What to say of a time column that cannot be shifted."""
    return SchemaError(
        f"The time column '{name}' holds no dates, so it cannot be shifted. Publish it as a sequence: "
        "time_as='sequence'."
    )


def no_times(name: str, n_unread: int) -> SchemaError:
    """What to say of a time column that cannot be put in order."""
    return SchemaError(
        f"The time column '{name}' holds {n_unread:,} texts that are neither dates of the form 2024-12-31 or "
        "2024-12-31 23:59:59 nor numbers, so they cannot be put in order. Mend them, or drop the column."
    )


def in_order(times: pl.Series) -> pl.Series:
    """Times as they can be put in order: texts as dates, moments or numbers, whichever all of them are."""
    if times.dtype.is_float():
        return times.fill_nan(None)
    if times.dtype not in TEXTS:
        return times
    texts = times.cast(pl.String)
    clock, offset = written_times(texts)
    if clock.null_count() == texts.null_count():
        if offset is None:
            return clock
        refuse_some_offsets(times.name, offset.null_count() - texts.null_count(), len(texts) - offset.null_count())
        return in_zone(clock, offset, "UTC")
    numbers = texts.cast(pl.Float64, strict=False).fill_nan(None)
    if numbers.null_count() == texts.null_count():
        return numbers
    raise no_times(times.name, min(clock.null_count(), numbers.null_count()) - texts.null_count())
