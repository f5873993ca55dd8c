"""Times as they are given: the day on which each was, where it was, and what puts them in order.

A time that is given with a zone or an offset is on the day that the clock showed there. A time in UTC was written by a
machine: on which day it was where it was is not told, unless it is midnight and thus a day itself.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from shoal.errors import InputError, SchemaError

TEXTS = (pl.String, pl.Categorical, pl.Enum)
NAMES_OF_UTC = frozenset(
    {"utc", "uct", "gmt", "gmt0", "gmt+0", "gmt-0", "greenwich", "universal", "zulu"}
    | {"etc/utc", "etc/uct", "etc/gmt", "etc/gmt0", "etc/gmt+0", "etc/gmt-0", "etc/greenwich", "etc/universal"}
    | {"etc/zulu"}
)
OFFSET = r"^(.*\d:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)$"
"""A time with hours, and how far its clock is from UTC: Z, +02:00, +0200 or +02."""


class Written(NamedTuple):
    """Texts as times."""

    clock: pl.Series
    """What the clock showed: dates where all are, else date-times; missing where a text is neither."""
    offset: pl.Series | None
    """By how many seconds the clock was before UTC, missing where that is not written; None where it nowhere is."""


class Days(NamedTuple):
    """The day of each time."""

    days: pl.Series
    """Dates; missing where there is no time, or a text is none."""
    is_untold: pl.Series
    """Whether a time is in UTC, so that the day where it was is not known."""


def read_times(texts: pl.Series) -> pl.Series:
    """Texts such as 2024-12-31 as dates, or with hours as date-times; those that are neither become missing.

    Of texts with an offset it is what the clock showed there. Other forms are not guessed: nobody can tell whether
    01/02/2024 is in January.
    """
    return written_times(texts).clock


def written_times(texts: pl.Series) -> Written:
    """Texts as times, and how far their clocks are from UTC."""
    dates = texts.str.to_date("%Y-%m-%d", strict=False)
    if dates.null_count() == texts.null_count():
        return Written(dates, None)
    signs = texts.str.extract(OFFSET, 2)
    has_offsets = signs.null_count() < len(signs)
    clocks = texts.str.replace(OFFSET, "$1") if has_offsets else texts
    moments = dates.cast(pl.Datetime("us"))
    for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"):
        read = clocks.str.replace("T", " ", literal=True).str.to_datetime(form, strict=False, time_unit="us")
        moments = moments.fill_null(read)
    return Written(moments, _seconds(signs) if has_offsets else None)


def _seconds(signs: pl.Series) -> pl.Series:
    digits = signs.str.replace_all(r"\D", "")
    hours, minutes = (digits.str.slice(at, 2).cast(pl.Int64, strict=False).fill_null(0) for at in (0, 2))
    is_west = signs.str.starts_with("-")
    size = hours * 3600 + minutes * 60
    return pl.select(pl.when(is_west).then(-size).when(signs.is_not_null()).then(size)).to_series()


def local_days(times: pl.Series, zone: str | None = None) -> Days:
    """The day on which each time was.

    Parameters
    ----------
    times
        Dates, date-times with or without a time zone, or texts of them.
    zone
        The time zone of the place: times that tell a zone or an offset are on the day that it was there then.
    """
    if times.dtype in (*TEXTS, pl.Null):
        clock, offset = written_times(times.cast(pl.String))
        if offset is None:
            return Days(clock.cast(pl.Date), _nowhere(times))
        if zone is None:
            return Days(clock.cast(pl.Date), (offset == 0).fill_null(False) & _has_hours(clock))
        there = in_zone(clock, offset, zone).dt.replace_time_zone(None)
        return Days(there.zip_with(offset.is_not_null(), clock).cast(pl.Date), _nowhere(times))
    own = zone_of(times)
    if own is None:
        return Days(times.cast(pl.Date), _nowhere(times))
    there = times if zone is None else times.dt.convert_time_zone(zone)
    clock = there.dt.replace_time_zone(None)
    is_untold = _has_hours(clock) if zone is None and own.lower() in NAMES_OF_UTC else _nowhere(times)
    return Days(clock.cast(pl.Date), is_untold)


def times_of_day(times: pl.Series) -> pl.Series:
    """What the clock showed, of a column of times or of texts; missing where there are only days."""
    clock = read_times(times.cast(pl.String)) if times.dtype in TEXTS else times
    if clock.dtype != pl.Datetime:
        return pl.Series(times.name, [None], dtype=pl.Time).new_from_index(0, len(times))
    return clock.dt.replace_time_zone(None).dt.time()


def in_zone(clock: pl.Series, offset: pl.Series, zone: str) -> pl.Series:
    """Times as texts tell them, with their offsets, as the same moments in a zone."""
    moments = clock.cast(pl.Datetime("us")) - (offset * 1_000_000).cast(pl.Duration("us"))
    return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(zone).alias(clock.name)


def zone_of(times: pl.Series) -> str | None:
    """The time zone of a column of date-times that has one."""
    return times.dtype.time_zone if isinstance(times.dtype, pl.Datetime) else None


def refuse_unknown_zone(zone: object) -> None:
    """Refuse what is not the name of a time zone."""
    if zone is None:
        return
    try:
        if not zone:
            raise TypeError
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone(zone)  # type: ignore[arg-type]
    except (TypeError, pl.exceptions.PolarsError):
        raise SchemaError("zone must be the name of a time zone, such as 'Europe/Berlin' or 'UTC'.") from None


def refuse_untold(name: str, n_untold: int) -> None:
    """Refuse a column of which days are asked for, where they cannot be told."""
    if n_untold:
        raise SchemaError(
            f"'{name}' holds {n_untold:,} times in UTC, which do not tell the day at the place that they are from. Say "
            "in which time zone days are counted: zone = 'Europe/Berlin' for example, or zone = 'UTC'."
        )


def _nowhere(times: pl.Series) -> pl.Series:
    return pl.Series(times.name, [False], dtype=pl.Boolean).new_from_index(0, len(times))


def _has_hours(clock: pl.Series) -> pl.Series:
    return (clock != clock.dt.truncate("1d")).fill_null(False)


def beyond_calendar(name: str) -> pl.Expr:
    """How many dates of a column lie before the year 1 or after 9999; infinity is such a one."""
    column, year = pl.col(name), pl.col(name).dt.year()
    return (column.is_not_null() & ~year.is_between(1, 9999).fill_null(False)).sum().alias(name)


def n_beyond_calendar(dates: pl.Series) -> int:
    """The same of a column at hand."""
    return int(dates.to_frame().select(beyond_calendar(dates.name)).item())


def refuse_beyond_calendar(counts: dict[str, int]) -> None:
    """Refuse dates that no calendar of ours has, by their number in each column."""
    found = [f"{count:,} in '{name}'" for name, count in counts.items() if count]
    if found:
        raise InputError(
            f"Dates before the year 1 or after 9999, such as infinity, cannot be published: {', '.join(found)}. Make "
            "them missing, or write the columns as texts."
        )
