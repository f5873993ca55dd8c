"""Dates that give a shift away: those that stand for none, and those that an unlikely number of persons share.

All dates of a person are shifted by the same number of days. Whoever knows one of them, since it is that of many (a
study's start, its end, the date that a program writes where none is known), knows the shift and so all the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import PrivacyNotMetError
from shoal.table.schema import Schema

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
            f"{_told(schema, found)} shared_dates = 'refuse' was asked for, so nothing was written. Publish these "
            "dates as missing with shared_dates = 'hide', or times as a sequence."
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
            f"{_told(schema, found)} Publish these dates as missing with shared_dates = 'hide', or times as a sequence."
        )
    return notes


def _told(schema: Schema, found: SharedDates) -> str:
    one = found.dates == 1
    end = ""
    if found.at_an_end:
        whose = "everybody" if found.at_an_end == found.persons else f"{found.at_an_end:,} of them"
        end = f" For {whose} it is the first or the last date, so that nobody need guess which it is."
    return (
        f"{found.dates:,} {'date' if one else 'dates'} in '{schema.time}' {'is' if one else 'are'} shared by unlikely "
        f"many: {found.sharing_persons:,} of {found.persons:,} persons have {'it' if one else 'one of them'}. Whoever "
        "knows such a date, a study's start or end for example, knows by how many days all dates of these persons were "
        f"shifted.{end}"
    )
