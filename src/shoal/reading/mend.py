"""What a policy mends in a table before it is protected, with counts of what was changed.

The steps have an order: trim, case, missing, map, dates, numbers, code, age, range, filter. Each is told with its
column and how many records it changed, never with values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, SchemaError, did_you_mean
from shoal.policy.mend import FilterChoices, MendChoices, RangeChoices
from shoal.reading.forms import SIGNS_OF_THOUSANDS, number_pattern
from shoal.reading.lines import counted
from shoal.reading.source import Reading
from shoal.table.date_forms import FIRST_DAY, ISO, as_iso

SENTENCES = {
    "trim": "lost white space at their ends", "case": "were written in one case",
    "missing": "were made missing, being marks",
    "map": "were replaced", "dates": "were rewritten as dates", "numbers": "were rewritten as numbers",
    "code": "were cut to their first part", "range": "were made missing, being out of range",
    "age": "have an age from the date of birth", "filter": "were left out by the filter",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A step of mending, its column, and how many records it changed."""

    step: str
    column: str
    records: int

    def sentence(self) -> str:
        """In words."""
        if self.step == "filter":
            return f"{counted(self.records, 'record')} {SENTENCES['filter']} on '{self.column}'."
        return f"{counted(self.records, 'value')} of '{self.column}' {SENTENCES[self.step]}."

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Refused:
    """A step of mending that does not take some values of a column."""

    column: str
    records: int
    why: str

    def error(self) -> InputError:
        """The error that says so."""
        return InputError(f"[mend]: {counted(self.records, 'value')} of '{self.column}' {self.why}")


@dataclass(frozen=True, eq=False)
class Mended:
    """A table that was mended, what was changed, and which of its records are left."""

    frame: pl.DataFrame
    changes: tuple[Change, ...]
    kept: NDArray[np.int64] | None = None
    """The places of the records before, where some were left out."""
    refused: tuple[Refused, ...] = ()
    """Of a part of a table: what refuses the whole of it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed, in words."""
        return sentences(change.to_dict() for change in self.changes)


def mend(frame: pl.DataFrame, choices: MendChoices, *, is_part: bool = False) -> Mended:
    """Mend a table as a policy says; every step looks at one record alone, so that parts of a table are mended alike.

    Parameters
    ----------
    is_part
        Whether it is some of the records: that a filter leaves none of them is no fault then, and what is refused is
        told in `refused`, so that it can be counted in all parts (`MendedParts`).

    Raises
    ------
    SchemaError
        A step names a column that the table does not have, or an age would replace one.
    InputError
        Values are not of the form that a step takes, or out of a range whose others are refused, or no record is left.
    """
    _refuse_absent(frame.columns, choices)
    work = _Work(frame, is_part=is_part)
    for name in choices.trim:
        work.change("trim", name, _text(frame, name).str.strip_chars())
    for name, case in choices.case.items():
        text = _text(frame, name)
        work.change("case", name, text.str.to_lowercase() if case == "lower" else text.str.to_uppercase())
    for name, marks in choices.missing.items():
        work.change("missing", name, pl.when(~_is_mark(frame, name, marks)).then(pl.col(name)))
    for name, others in choices.map.items():
        text = _text(work.frame, name)
        work.change("map", name, text.replace(others))
    for name, form in choices.dates.items():
        if form in FIRST_DAY and work.frame[name].dtype.is_numeric():  # as workbooks and databases hold them
            work.frame = work.frame.with_columns(pl.col(name).cast(pl.String))
        if work.frame[name].dtype == pl.String:
            work.change("dates", name, work.in_form(name, _iso_in(name, form), f"dates written as {form}"))
    for name, shape in choices.numbers.items():
        if work.frame[name].dtype == pl.String:
            work.change("numbers", name, work.in_form(name, _number_in(name, shape), f"numbers written as {shape}"))
    for name, code in choices.code.items():
        text = _text(work.frame, name)
        by_sign = text.str.split(code.before or "").list.first()
        work.change("code", name, text.str.slice(0, code.keep) if code.keep is not None else by_sign)
    for name, age in choices.age.items():
        work.add_age(name, age.born, date.fromisoformat(age.on))
    for name, limits in choices.range.items():
        work.within(name, limits)
    for each in choices.filter:
        work.keep(each)
    return Mended(work.frame, tuple(work.changes), work.kept, tuple(work.refused))


class MendedParts:
    """What was changed in the parts of a table, added up."""

    def __init__(self) -> None:
        self.n_records = 0
        self.changes: list[Change] = []
        self.refused: dict[tuple[str, str], Refused] = {}

    def add(self, n_records: int, changes: Sequence[Change], refused: Iterable[Refused]) -> None:
        """Add a part: how many records it had, and what was changed and refused in it."""
        self.n_records += n_records
        before = self.changes or [replace(change, records=0) for change in changes]
        self.changes = [
            replace(change, records=change.records + more.records) for change, more in zip(before, changes, strict=True)
        ]
        for each in refused:
            known = self.refused.get((each.column, each.why), replace(each, records=0))
            self.refused[each.column, each.why] = replace(each, records=known.records + each.records)

    def told(self) -> tuple[dict[str, Any], ...]:
        """What was changed in the whole table, as plain values; what `mend` refuses in a table is refused."""
        for each in self.refused.values():
            raise each.error()
        n_left = self.n_records
        for change in self.changes:
            n_left -= change.records if change.step == "filter" else 0
            if change.step == "filter" and not n_left:
                raise none_left(change.column)
        return tuple(change.to_dict() for change in self.changes)


def columns_of(choices: MendChoices) -> frozenset[str]:
    """The columns that some step looks at."""
    return frozenset(name for _, names in _named(choices) for name in names)


def none_left(column: str) -> InputError:
    """The error where a filter leaves no record."""
    return InputError(f"[mend]: no record is left by the filter on '{column}'. Check its values.")


def sentences(told: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What was changed, in words, of changes as plain values."""
    return tuple(f"Mended: {Change(**each).sentence()}" for each in told if each["records"])


def mended_reading(reading: Reading, choices: MendChoices) -> Reading:
    """A table as it stands in its files, mended as a policy says."""
    mended = mend(reading.frame, choices)
    lines = reading.lines
    if lines is not None and mended.kept is not None:
        lines = [int(lines[at]) for at in mended.kept]
    told = tuple(change.to_dict() for change in mended.changes)
    return replace(reading, frame=mended.frame, notes=(*reading.notes, *mended.notes), lines=lines, mended=told)


class _Work:
    """A table under work."""

    def __init__(self, frame: pl.DataFrame, *, is_part: bool) -> None:
        self.frame, self.is_part = frame, is_part
        self.changes: list[Change] = []
        self.refused: list[Refused] = []
        self.kept: NDArray[np.int64] | None = None

    def change(self, step: str, name: str, new: pl.Expr) -> None:
        """Put new values in the place of a column's, and count those that differ."""
        column = self.frame.select(new.alias(name)).to_series()
        old = self.frame[name]
        old = old if old.dtype == column.dtype else old.cast(pl.String)
        self._told(step, name, int(old.ne_missing(column).sum()))
        self.frame = self.frame.with_columns(column)

    def in_form(self, name: str, new: pl.Expr, what: str) -> pl.Expr:
        """New values, where each value has one."""
        lost = self.frame.select((new.is_null() & pl.col(name).is_not_null()).sum()).item()
        if lost:
            why = f"cannot be read as {what}. Correct the file, make such values missing first, or take the step out."
            self._refuse(name, lost, why)
        return new

    def within(self, name: str, limits: RangeChoices) -> None:
        """Make values out of a range missing, or refuse them."""
        is_wrong = ~_is_within(self.frame, name, limits.low, limits.high) & pl.col(name).is_not_null()
        n_wrong = int(self.frame.select(is_wrong.sum()).item())
        if n_wrong and limits.outside == "refuse":
            why = (
                "cannot be taken, by the range that the policy allows. Correct the file, or let such values be missing "
                '(outside = "missing").'
            )
            self._refuse(name, n_wrong, why)
        self.change("range", name, pl.when(~is_wrong).then(pl.col(name)))

    def add_age(self, name: str, born: str, on: date) -> None:
        """A column of ages in whole years."""
        column = self.frame[born]
        day = pl.col(born).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False) if column.dtype == pl.String else (
            pl.col(born).cast(pl.Date)
        )  # fmt: skip
        is_before = (day.dt.month().cast(pl.Int32) * 100 + day.dt.day()) > on.month * 100 + on.day
        years = (on.year - day.dt.year() - is_before.cast(pl.Int32)).cast(pl.Int64)
        ages = self.frame.select(pl.when(years >= 0).then(years).alias(name)).to_series()
        self._told("age", name, len(ages) - ages.null_count())
        self.frame = self.frame.with_columns(ages)

    def keep(self, asked: FilterChoices) -> None:
        """Leave out records."""
        name = asked.column
        text = pl.col(name).cast(pl.String)
        is_kept = pl.lit(True)
        if asked.values is not None:
            is_kept &= text.is_in(list(asked.values)).fill_null(False)
        if asked.without is not None:
            is_kept &= ~text.is_in(list(asked.without)).fill_null(False)
        if asked.low is not None or asked.high is not None:
            is_kept &= _is_within(self.frame, name, asked.low, asked.high)
        mask = self.frame.with_columns(is_kept.alias("\0kept")).get_column("\0kept")
        self._told("filter", name, len(mask) - int(mask.sum()))
        if not mask.any() and not self.is_part:
            raise none_left(name)
        before = np.arange(len(mask)) if self.kept is None else self.kept
        self.kept = before[mask.to_numpy()]
        self.frame = self.frame.filter(mask)

    def _told(self, step: str, name: str, records: int) -> None:
        self.changes.append(Change(step, name, records))

    def _refuse(self, name: str, records: int, why: str) -> None:
        self.refused.append(Refused(name, records, why))
        if not self.is_part:
            raise self.refused[-1].error()


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name) if frame[name].dtype == pl.String else pl.col(name).cast(pl.String)


def _is_mark(frame: pl.DataFrame, name: str, marks: Sequence[str]) -> pl.Expr:
    """Which values are marks; numbers are compared as such."""
    if not frame[name].dtype.is_numeric():
        return pl.col(name).cast(pl.String).is_in(list(marks)).fill_null(False)
    numbers = pl.Series(marks).cast(pl.Float64, strict=False).drop_nulls().to_list()
    return pl.col(name).cast(pl.Float64).is_in(numbers).fill_null(False)


def _is_within(frame: pl.DataFrame, name: str, low: Any, high: Any) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    is_within = number.is_not_null() & number.is_not_nan()
    if low is not None:
        is_within &= (number >= float(low)).fill_null(False)
    if high is not None:
        is_within &= (number <= float(high)).fill_null(False)
    return is_within


def _iso_in(name: str, form: str) -> pl.Expr:
    """Dates of a form as yyyy-mm-dd. Those that are so already stay, since the reader finds many forms by itself."""
    return as_iso(name, form) if form.startswith("yyyy-") else pl.coalesce(as_iso(name, form), as_iso(name, ISO))


def _number_in(name: str, shape: str) -> pl.Expr:
    """Numbers of a shape with a decimal point and nothing between thousands; missing where a text is none."""
    decimal = shape[-2]
    thousands = shape[1] if "nnn" in shape else ""
    text = pl.col(name)
    plain = text.str.replace_all(SIGNS_OF_THOUSANDS[thousands], "") if thousands else text
    plain = plain.str.replace(",", ".", literal=True) if decimal == "," else plain
    return pl.when(text.str.contains(number_pattern(decimal, thousands))).then(plain)


def _refuse_absent(columns: Sequence[str], choices: MendChoices) -> None:
    for step, names in _named(choices):
        for name in names:
            if name not in columns:
                known = [*columns, *choices.age] if step == "filter" else columns
                if name in known:
                    continue
                raise SchemaError(
                    f"[mend]: {step} names '{name}', but the table has no such column.{did_you_mean(name, columns)}"
                )
    taken = [name for name in choices.age if name in columns]
    if taken:
        raise SchemaError(f"[mend]: age would make a column '{taken[0]}', which the table has. Give it another name.")


def _named(choices: MendChoices) -> Iterable[tuple[str, Sequence[str]]]:
    by_column: dict[str, Any] = {
        "case": choices.case, "missing": choices.missing, "map": choices.map, "dates": choices.dates,
        "numbers": choices.numbers, "code": choices.code,
    }  # fmt: skip
    yield "trim", choices.trim
    yield from ((step, list(each)) for step, each in by_column.items())
    yield "range", [name for name in choices.range if name not in choices.age]
    yield "age", [each.born for each in choices.age.values()]
    yield "filter", [each.column for each in choices.filter]


MOST_VALUES = 50
"""Columns with more different values are not looked at for those that look alike."""


def lookalikes(frame: pl.DataFrame) -> dict[str, list[dict[str, int]]]:
    """By column, values that differ in case or white space alone, with their records, the most frequent first.

    Only columns of few different texts are looked at: names of persons that look alike are no faults.
    """
    found = {}
    for column in frame.iter_columns():
        if column.dtype != pl.String or column.n_unique() > MOST_VALUES:
            continue
        counts = column.drop_nulls().rename("value").value_counts().sort(["count", "value"], descending=[True, False])
        alike: dict[str, dict[str, int]] = {}
        for value, n in counts.iter_rows():
            alike.setdefault(" ".join(value.split()).casefold(), {})[value] = n
        several = [each for each in alike.values() if len(each) > 1]
        if several:
            found[column.name] = several
    return found
