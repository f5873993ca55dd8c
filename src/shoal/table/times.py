"""Times as they are given: the day on which each was, where it was, and what puts them in order.

A time that is given with a zone or an offset is on the day that the clock showed there. A time in UTC was written by a
machine: on which day it was where it was is not told, unless it is midnight and thus a day itself.

Dates that give a shift away are those that stand for none, and those that an unlikely number of persons share. All
dates of a person are shifted by the same number of days. Whoever knows one of them, since it is that of many (a study's
start, its end, the date that a program writes where none is known), knows the shift and so all the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, PrivacyNotMetError, SchemaError
from shoal.table.spelling import TEXTS

if TYPE_CHECKING:
    from shoal.table.schema import Schema

NAMES_OF_UTC = frozenset(
    {"utc", "uct", "gmt", "gmt0", "gmt+0", "gmt-0", "greenwich", "universal", "zulu"}
    | {"etc/utc", "etc/uct", "etc/gmt", "etc/gmt0", "etc/gmt+0", "etc/gmt-0", "etc/greenwich", "etc/universal"}
    | {"etc/zulu"}
)
OFFSET = r"^(.*\d:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)$"
"""A time with hours, and how far its clock is from UTC: Z, +02:00, +0200 or +02."""


DAYS_OF = {"day": 1, "week": 7, "month": 30, "year": 365}
_SPAN = re.compile(r"(?:(\d+) ?)?(day|week|month|year)s?")


def days_in(text: str) -> int | None:
    """How many days words such as "90 days", "2 weeks" or "week" say; None where they say none."""
    found = _SPAN.fullmatch(text.strip().lower())
    return int(found[1] or 1) * DAYS_OF[found[2]] or None if found else None


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


def moments_of(times: pl.Series) -> pl.Series | None:
    """What clocks showed, so that it can be subtracted; None where the times are none."""
    read = read_times(times) if times.dtype == pl.String else times
    if read.null_count() != times.null_count() or read.dtype not in (pl.Date, pl.Datetime):
        return None
    return (
        read.cast(pl.Datetime("us"))
        if read.dtype == pl.Date
        else read.dt.replace_time_zone(None).dt.cast_time_unit("us")
    )


def since_first(times: pl.Series, person_of_record: NDArray[np.int32]) -> pl.Series:
    """Times as they stand to the first day of their person, in microseconds; texts that are no times as they are."""
    moments = moments_of(times)
    if moments is None:
        return times
    first_day = pl.col("time").min().over("person").dt.truncate("1d")
    by_person = pl.DataFrame({"person": person_of_record, "time": moments})
    return by_person.select((pl.col("time") - first_day).cast(pl.Int64)).to_series()


def n_gaps_beside(times: pl.Series, pseudonym_of_record: NDArray[np.int32], step: int) -> int:
    """How many days since the first one of the same pseudonym are no whole steps."""
    since = since_first(times, pseudonym_of_record)
    if not since.dtype.is_integer():
        return len(times) - times.null_count()
    return int((since % (step * 24 * 3600 * 10**6) != 0).sum())


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
            "in which time zone days are counted: zone='Europe/Berlin' for example, or zone='UTC'."
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


PLACEHOLDERS = tuple(
    map(
        date.fromisoformat,
        (
            "0001-01-01", "1111-11-11", "1582-10-14", "1582-10-15", "1601-01-01", "1753-01-01", "1800-01-01",
            "1840-12-31", "1858-11-17", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01", "1904-01-01",
            "1960-01-01", "1969-12-31", "1970-01-01", "2099-12-31", "2100-01-01", "2262-04-11", "2999-12-31",
            "3000-01-01", "7777-07-07", "8888-08-08", "9999-01-01", "9999-09-09", "9999-12-30", "9999-12-31",
        ),
    )
)  # fmt: skip
"""Days that are written where there is none: where the calendars of programs begin and end, ones, sevens and nines."""

AT_LEAST = 3
"""So many persons, or all where there are fewer, have a date that counts as shared."""
MANY = 3
"""A date that one in so many persons has is shared, however many have others."""
SOME, TIMES_THE_USUAL = 100, 5
"""So is one that one in so many persons has, where it has so many times the persons that a date usually has."""


@dataclass(frozen=True)
class SharedDates:
    """What the dates of a time column that is shifted have in common.

    Attributes
    ----------
    persons
        How many persons have a date.
    placeholder_records, placeholder_persons
        Records with a date that stands for none, and whose they are.
    dates, sharing_records, sharing_persons
        How many dates are shared by an unlikely number of persons; records with one of them, and whose they are.
    at_an_end
        Of these persons, for how many such a date is their first or their last: nobody need guess which it is.
    days
        The shared dates, in days since 1970; they are values of the table, so nothing shows them.
    """

    persons: int
    placeholder_records: int
    placeholder_persons: int
    dates: int
    sharing_records: int
    sharing_persons: int
    at_an_end: int
    days: NDArray[np.int32] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, int]:
        """The counts, for JSON."""
        return {name: count for name, count in vars(self).items() if name != "days"}


def is_placeholder(days: pl.Series) -> pl.Series:
    """Which days stand for none."""
    return days.is_in(PLACEHOLDERS).fill_null(False)


def is_shared(persons_of_day: NDArray[np.int64], n_persons: int) -> NDArray[np.bool_]:
    """Which days an unlikely number of persons has: a third of all, or far more than have another day."""
    if n_persons < 2 or not len(persons_of_day):
        return np.zeros(len(persons_of_day), np.bool_)
    usual = float(np.median(persons_of_day))
    stands_out = (persons_of_day * SOME >= n_persons) & (persons_of_day >= TIMES_THE_USUAL * usual)
    return (persons_of_day >= min(AT_LEAST, n_persons)) & (stands_out | (persons_of_day * MANY >= n_persons))


def shared_dates(person_of_record: NDArray[np.int32], days: pl.Series) -> SharedDates:
    """What the dates of a column have in common; `days` are the dates of records, those of nobody missing."""
    records = pl.DataFrame({"person": person_of_record, "day": days}).drop_nulls("day")
    is_none = is_placeholder(records["day"])
    none, real = records.filter(is_none), records.filter(~is_none)
    persons_of_day = real.unique().group_by("day").len("persons")
    n_persons = real["person"].n_unique()
    found = persons_of_day.filter(is_shared(persons_of_day["persons"].to_numpy().astype(np.int64), n_persons))["day"]
    sharing = real.filter(real["day"].is_in(found.implode()))
    ends = real.group_by("person").agg(first=pl.col("day").min(), last=pl.col("day").max())
    is_end = ends["first"].is_in(found.implode()) | ends["last"].is_in(found.implode())
    return SharedDates(
        persons=n_persons,
        placeholder_records=len(none),
        placeholder_persons=none["person"].n_unique(),
        dates=len(found),
        sharing_records=len(sharing),
        sharing_persons=sharing["person"].n_unique(),
        at_an_end=int(is_end.sum()),
        days=found.to_physical().sort().to_numpy(),
    )


def refuse_shared(schema: Schema, found: SharedDates | None) -> None:
    """Refuse a table whose dates give shifts away, where the schema says so."""
    if found is not None and found.dates and schema.shared_dates == "refuse":
        raise PrivacyNotMetError(
            f"{_told(schema, found)} shared_dates='refuse' was asked for, so nothing was written. Publish these "
            "dates as missing with shared_dates='hide', or times as a sequence."
        )


def notes_on_shared(schema: Schema, found: SharedDates | None) -> list[str]:
    """What was done with dates that give shifts away, and what was not, in plain sentences with counts."""
    notes: list[str] = []
    if found is None:
        return notes
    if found.placeholder_records:
        notes.append(
            f"{found.placeholder_records:,} records of {found.placeholder_persons:,} persons have a date in "
            f"'{schema.time}' that stands for none, such as 1900-01-01 or 9999-12-31. They are published as missing: "
            "shifted, they would tell by how many days."
        )
    if found.dates and schema.shared_dates == "hide":
        notes.append(f"{_told(schema, found)} {found.sharing_records:,} records are published without their date.")
    elif found.dates:
        notes.append(
            f"{_told(schema, found)} Publish these dates as missing with shared_dates='hide', or times as a sequence."
        )
    return notes


def _told(schema: Schema, found: SharedDates) -> str:
    one = found.dates == 1
    end = ""
    if found.at_an_end:
        whose = "everybody" if found.at_an_end == found.persons else f"{found.at_an_end:,} of them"
        end = f" For {whose} it is the first or the last date, so that nobody need guess which it is."
    return (
        f"{found.dates:,} {'date' if one else 'dates'} in '{schema.time}' {'is' if one else 'are'} shared by "
        f"unlikely many persons: {found.sharing_persons:,} of {found.persons:,} have {'it' if one else 'one of them'}. "
        "Whoever knows such a date, a study's start or end for example, knows by how many days all dates of these "
        f"persons were shifted.{end}"
    )
