"""Columns cut into classes that no single person can be seen in, for distributions before and after.

Every class has at least FEWEST_PERSONS persons of the table, or there are no classes. The first and the last class of
numbers and dates are open, so that no extreme is told, and ends of classes are round numbers, not values of the table.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.masking.ranges import names_of_codes
from shoal.measuring.shown import numbers_of_units
from shoal.models.exact import FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.label_sets import MISSING as MISSING_TEXT
from shoal.table.table import QuasiColumn, Table
from shoal.table.units import texts_of_units

FEWEST_PERSONS = 10
"""No class has fewer persons."""
MOST_CATEGORIES = 12
"""How many classes a column of categories has at the most."""
MOST_STEPS = 16
"""How many classes numbers, dates and ordered categories have at the most, about."""
FINEST_TABLE = 1 << 20
"""Units that are looked up one by one to find their class; beyond that their class is searched for."""
LOOKED_AT = 200_000
"""Values that are looked at to choose the ends of classes."""
EPOCH = dt.date(1970, 1, 1).toordinal()
LAST_DAY = dt.date.max.toordinal()


@dataclass(frozen=True)
class ColumnClasses:
    """The classes of a column: their names, and the class of any value of it."""

    labels: tuple[str, ...]
    class_of_record: NDArray[np.int8]
    """The class of each record of the table."""
    ends: IntArray | None
    """Of a column with an order, the lowest unit of each fine class but the first."""
    class_of_part: NDArray[np.int8]
    """The class of each fine class, or of each code of a column of categories; that of missing is the last entry."""

    def __len__(self) -> int:
        return len(self.labels)

    def class_of_values(self, values: IntArray) -> NDArray[np.int8]:
        """The class of each value, which is a unit or a code and not missing."""
        part = values if self.ends is None else np.searchsorted(self.ends, values, side="right")
        return self.class_of_part[part]

    def counts(self) -> IntArray:
        """How many records of the table are in each class."""
        return np.bincount(self.class_of_record, minlength=len(self))


def classes_of(column: QuasiColumn, table: Table) -> ColumnClasses | None:
    """The classes of a column, or None where there would be fewer than two."""
    if isinstance(column, CategoryColumn):
        classes = _classes_of_categories(column, table)
    else:
        classes = _classes_of_units(column, table)
    return classes if len(classes) > 1 else None


# --- persons of classes ----------------------------------------------------------------------------------------------


class _Having:
    """How many persons are in each part of the records, and in several parts together.

    A part with so many records that it must have enough persons is not counted out: its number is then a lower bound.
    """

    def __init__(self, part_of_record: NDArray[np.int8], n_parts: int, table: Table) -> None:
        self.records = np.bincount(part_of_record, minlength=n_parts)
        self._at_least = self.records // int(table.records_of_person.max())
        self._having: NDArray[np.bool_] | None = None
        if ((self._at_least < FEWEST_PERSONS) & (self.records > 0)).any():
            self._having = np.zeros((table.n_persons, n_parts), dtype=np.bool_)
            self._having[table.person_of_record, part_of_record] = True

    def persons(self, parts: Sequence[int]) -> int:
        """The persons of some parts together."""
        if self._having is None:
            return max((int(self._at_least[part]) for part in parts), default=0)
        return int(self._having[:, list(parts)].any(axis=1).sum())


# --- categories ------------------------------------------------------------------------------------------------------


def _classes_of_categories(column: CategoryColumn, table: Table) -> ColumnClasses:
    """The commonest categories, each a class; all the others together are one more, the last."""
    records = np.bincount(column.codes, minlength=column.n_codes)
    order = np.argsort(-records, kind="stable")[: MOST_CATEGORIES - (column.n_codes > MOST_CATEGORIES)]
    rank_of_code = np.full(column.n_codes, len(order), dtype=np.int8)
    rank_of_code[order] = np.arange(len(order))
    having = _Having(rank_of_code[column.codes], len(order) + 1, table)
    kept = [rank for rank in range(len(order)) if having.persons([rank]) >= FEWEST_PERSONS]
    others = [rank for rank in range(len(order) + 1) if rank not in kept]
    while kept and having.records[others].sum() and having.persons(others) < FEWEST_PERSONS:
        others.append(kept.pop())
    missing = len(column.categories)
    codes = sorted((int(order[rank]) for rank in kept), key=lambda code: code == missing)  # missing behind the others
    class_of_code = np.full(column.n_codes, len(codes), dtype=np.int8)
    class_of_code[codes] = np.arange(len(codes))
    names = names_of_codes(column)
    labels = [names[code] for code in codes]
    n_others = column.n_codes - len(codes)
    if n_others:
        labels.append(f"all others ({n_others:,})")
    part = class_of_code if column.has_missing else np.append(class_of_code, class_of_code[-1:])
    return ColumnClasses(tuple(labels), class_of_code[column.codes], None, part)


# --- numbers, dates and ordered categories ---------------------------------------------------------------------------


def _classes_of_units(column: NumberColumn, table: Table) -> ColumnClasses:
    """ColumnClasses between round ends; neighbours are put together until each has enough persons."""
    ends, named = _round_ends(column)
    part_of_record = _parts_of_units(column, ends)
    missing = len(ends) + 1
    if column.is_missing is not None:
        part_of_record[column.is_missing] = missing
    having = _Having(part_of_record, missing + 1, table)
    runs = _merged_runs(having, missing)
    labels = [named(first, last) for first, last in runs]
    class_of_part = np.zeros(missing + 1, dtype=np.int8)
    for number, (first, last) in enumerate(runs):
        class_of_part[first : last + 1] = number
    n_missing = having.persons([missing]) if having.records[missing] else 0
    if n_missing >= FEWEST_PERSONS and having.persons(range(missing)) >= FEWEST_PERSONS:
        class_of_part[missing] = len(runs)
        labels.append(MISSING_TEXT)
    elif n_missing:
        labels[0] += f" or {MISSING_TEXT}"
    return ColumnClasses(tuple(labels), class_of_part[part_of_record], ends, class_of_part)


def _parts_of_units(column: NumberColumn, ends: IntArray) -> NDArray[np.int8]:
    """The fine class of each record; of one that misses the value, any."""
    low, high = int(column.units.min()), int(column.units.max())
    if high - low >= FINEST_TABLE:
        return np.searchsorted(ends, column.units, side="right").astype(np.int8)
    part_of_unit = np.searchsorted(ends, np.arange(low, high + 1), side="right").astype(np.int8)
    return part_of_unit[column.units - low]


def _merged_runs(having: _Having, n_parts: int) -> list[tuple[int, int]]:
    """Neighbouring parts, first and last, put together until each run has enough persons, as far as that goes."""
    runs = [(part, part) for part in range(n_parts)]
    persons = [having.persons([part]) for part in range(n_parts)]
    while len(runs) > 1 and min(persons) < FEWEST_PERSONS:
        smallest = persons.index(min(persons))
        beside = [at for at in (smallest - 1, smallest + 1) if 0 <= at < len(runs)]
        first, last = sorted((smallest, min(beside, key=persons.__getitem__)))
        run = (runs[first][0], runs[last][1])
        runs[first : last + 1] = [run]
        persons[first : last + 1] = [having.persons(range(run[0], run[1] + 1))]
    return runs


Named = Callable[[int, int], str]
"""What a run of fine classes, first and last, is called."""


def _round_ends(column: NumberColumn) -> tuple[IntArray, Named]:
    """The lowest unit of every fine class but the first, and how classes are called."""
    if column.kind == "ordered":
        return _ends_of_steps(column)
    low, high = _bulk(column)
    if column.kind == "date":
        return _ends_of_dates(low, high)
    if column.floats is not None:
        return _ends_of_floats(column, low, high)
    ends = np.array(_multiples(low, high, max(_round_step((high - low) / MOST_STEPS), 1)), dtype=np.int64)
    if column.decimals:
        texts = texts_of_units(column, ends).to_list()
        return ends, lambda first, last: _between_texts(texts, first, last)
    lows, highs = texts_of_units(column, ends).to_list(), texts_of_units(column, ends - 1).to_list()
    return ends, lambda first, last: _whole_between(lows, highs, first, last)


def _bulk(column: NumberColumn) -> tuple[int, int]:
    """Where nearly all values lie: the first and the last percentile, of a part of the values of a large table."""
    present = column.units if column.is_missing is None else column.units[~column.is_missing]
    if not len(present):
        return 0, 0
    low, high = np.quantile(present[:: max(1, len(present) // LOOKED_AT)], (0.01, 0.99), method="nearest")
    return int(low), int(high)


def _multiples(low: int, high: int, step: int) -> list[int]:
    """The multiples of a step above `low` and up to `high`; around the only value where these are the same."""
    if low == high:
        return [low, low + 1]
    first = low // step + 1
    return [step * number for number in range(first, high // step + 1)]


def _round_step(width: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, ... that is at least so wide."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= width:
                return factor * power
        power *= 10


def _whole_between(lows: list[str], highs: list[str], first: int, last: int) -> str:
    if first == 0:
        return f"up to {highs[last]}" if last < len(highs) else "all"
    if last == len(lows):
        return f"{lows[first - 1]} and over"
    low, high = lows[first - 1], highs[last]
    return low if low == high else f"{low} to {high}"


def _between_texts(ends: list[str], first: int, last: int) -> str:
    if first == 0:
        return f"under {ends[last]}" if last < len(ends) else "all"
    return f"{ends[first - 1]} and over" if last == len(ends) else f"{ends[first - 1]} to under {ends[last]}"


def _ends_of_floats(column: NumberColumn, low: int, high: int) -> tuple[IntArray, Named]:
    offset, scale = numbers_of_units(column)
    width = (high - low) * scale / MOST_STEPS
    if not width > 0 or not np.isfinite(width):
        return np.empty(0, dtype=np.int64), lambda first, last: "all"
    power = 10.0 ** np.floor(np.log10(width))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)
    first, last = np.floor((offset + low * scale) / step) + 1, np.floor((offset + high * scale) / step)
    numbers: FloatArray = np.arange(first, last + 1) * step
    ends = np.ceil((numbers - offset) / scale).astype(np.int64)
    texts = [f"{number:.6g}" for number in numbers.tolist()]
    return ends, lambda first, last: _between_texts(texts, first, last)


def _ends_of_steps(column: NumberColumn) -> tuple[IntArray, Named]:
    """One class per category; where there are very many, several together."""
    n, names = len(column.categories), column.categories
    ends = np.arange(1, n)[:: max(1, -(-n // MOST_STEPS))]

    def named(first: int, last: int) -> str:
        low = 0 if first == 0 else int(ends[first - 1])
        high = n - 1 if last == len(ends) else int(ends[last]) - 1
        return names[low] if low == high else f"{names[low]} to {names[high]}"

    return ends, named


def _ends_of_dates(low: int, high: int) -> tuple[IntArray, Named]:
    """ColumnClasses of months or years; where all dates lie within two months, of days."""
    months = _month(high) - _month(low)
    if months < 2:
        days = np.array(_multiples(low, high, max(_round_step((high - low) / MOST_STEPS), 1)), dtype=np.int64)
        return days, lambda first, last: _whole_between(_dates(days), _dates(days - 1), first, last)
    step = next((step for step in (1, 3, 6) if months <= step * MOST_STEPS), 0)
    step = step or 12 * _round_step(months / 12 / MOST_STEPS)
    numbers = _multiples(_month(low), _month(high), step)
    ends = np.array([dt.date(number // 12, number % 12 + 1, 1).toordinal() - EPOCH for number in numbers])
    form = "%Y" if step % 12 == 0 else "%Y-%m"
    lows, highs = ([text[: 4 if form == "%Y" else 7] for text in _dates(days)] for days in (ends, ends - 1))
    return ends, lambda first, last: _whole_between(lows, highs, first, last)


def _month(day: int) -> int:
    """Months since the year 0 of the month that a day, counted from 1970, lies in."""
    date = dt.date.fromordinal(day + EPOCH)
    return 12 * date.year + date.month - 1


def _dates(days: IntArray) -> list[str]:
    """Days as texts; those before the first and after the last that there is are ends of classes without any date."""
    return [dt.date.fromordinal(min(max(int(day) + EPOCH, 1), LAST_DAY)).isoformat() for day in days]
