"""Mask "range": a group shows the range of its numbers and the set of its categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.masking.grouped import GroupedRecords
from shoal.masking.labels import EVERYTHING, between, names_of_codes, or_missing
from shoal.masking.publish import Mask
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.levels import texts_in_hierarchy
from shoal.table.table import QuasiColumn, Table
from shoal.table.texts import texts_of_floats, texts_of_units

Ends = NDArray[Any]
"""Range ends in units, or in floats where a column keeps floats."""


@dataclass(frozen=True, kw_only=True)
class Ranges(Mask):
    """Show 84-86 for numbers, {a, b} for categories, `*` where every category is covered.

    Parameters
    ----------
    code_extremes
        Where only one person has the lowest or highest value of a column, show the ranges that end there as "17 or
        less" or "at least 90", open where that person's value would stand.

    Notes
    -----
    A column with a hierarchy shows the lowest common ancestor of a group's values. A missing value is shown as such:
    "84-86 or missing". A single value stays itself.
    """

    code_extremes: bool = False
    name: ClassVar[str] = "range"
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})
    has_scheme: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.code_extremes, bool):
            raise ParameterError("code_extremes must be true or false.")

    def why_not_on(self, engine: str) -> list[str]:
        """Why an engine does not code extremes."""
        if not self.code_extremes:
            return []
        if engine == "stream":
            return ["code_extremes looks at all records."]
        return [
            "code_extremes asks who alone has the lowest or highest value of the whole table, which no executor can "
            "tell. Cap such values before, or leave the option out."
        ]

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """What each group shows of a quasi-identifier."""
        if column.source is not None and column.source.hierarchy is not None:
            return _ancestors(column, column.source.hierarchy, records)
        if isinstance(column, CategoryColumn):
            return _sets(column, records)
        return self._ranges(column, records, table)

    def _ranges(self, column: NumberColumn, records: GroupedRecords, table: Table) -> pl.Series:
        low, high, n_missing = records.ends(column)
        low_texts, high_texts = _texts(column, low), _texts(column, high)
        spaced = column.kind != "number" or _has_dashes(column, low_texts, high_texts)
        labels = between(low_texts, high_texts, spaced=spaced)
        lowest, highest = column.extent
        if column.categories and lowest == 0 and highest == len(column.categories) - 1:
            covered = pl.Series((low == lowest) & (high == highest) & (low != high))
            labels = pl.select(pl.when(covered).then(pl.lit(EVERYTHING)).otherwise(labels)).to_series()
        if self.code_extremes:
            labels = _code_extremes(column, table, low, high, labels)
        return or_missing(labels, n_missing, records.n_records)


def _has_dashes(column: NumberColumn, low: pl.Series, high: pl.Series) -> bool:
    """Whether some range ends are written with a dash, which could be mistaken for that of the range."""
    if column.whole is not None and column.whole.has_dashes is not None:
        return column.whole.has_dashes
    return bool((low.str.contains("-", literal=True) | high.str.contains("-", literal=True)).any())


def _texts(column: NumberColumn, values: Ends) -> pl.Series:
    return texts_of_units(column, values) if column.floats is None else texts_of_floats(values)


def lone_extremes(column: NumberColumn, table: Table) -> int:
    """How many of the column's two extremes only one person has, though others have values: 0, 1 or 2."""
    values, persons = _values_and_persons(column, table)
    if not len(values):
        return 0
    owners = (_lone_owner(values, persons, extreme) for extreme in (values.min(), values.max()))
    return sum(owner is not None and bool((persons != owner).any()) for owner in owners)


def _values_and_persons(column: NumberColumn, table: Table) -> tuple[Ends, NDArray[np.int32]]:
    """The values that are not missing, and whose they are."""
    values = column.units if column.floats is None else column.floats
    if column.is_missing is None:
        return values, table.person_of_record
    return values[~column.is_missing], table.person_of_record[~column.is_missing]


def _lone_owner(values: Ends, persons: NDArray[np.int32], value: Any) -> int | None:
    """The person who alone has a value, or None."""
    owners = persons[values == value]
    return int(owners[0]) if (owners == owners[0]).all() else None


def _extremes_and_nearest(column: NumberColumn, table: Table) -> list[tuple[Any, Any]]:
    """The lowest and the highest value, each with the value nearest to it that another person has.

    That is None where the extreme belongs to two persons or more, or where nobody else has a value.
    """
    values, persons = _values_and_persons(column, table)
    if not len(values):
        return []
    found = []
    for extreme, nearest in ((values.min(), np.min), (values.max(), np.max)):
        owner = _lone_owner(values, persons, extreme)
        others = values[persons != owner] if owner is not None else values[:0]
        found.append((extreme, nearest(others) if len(others) else None))
    return found


def _code_extremes(column: NumberColumn, table: Table, low: Ends, high: Ends, labels: pl.Series) -> pl.Series:
    extremes = _extremes_and_nearest(column, table)
    if not extremes:
        return labels
    (lowest, bottom), (highest, top) = extremes
    at_bottom = (low == lowest) if bottom is not None else np.zeros(len(low), np.bool_)
    at_top = (high == highest) if top is not None else np.zeros(len(low), np.bool_)
    end = np.where(at_bottom, np.maximum(high, bottom), high) if bottom is not None else high
    start = np.where(at_top, np.minimum(low, top), low) if top is not None else low
    below = _texts(column, end) + " or less"
    above = "at least " + _texts(column, start)
    return pl.select(
        pl.when(pl.Series(at_bottom & at_top)).then(pl.lit(EVERYTHING))
        .when(pl.Series(at_bottom)).then(below)
        .when(pl.Series(at_top)).then(above)
        .otherwise(labels)
    ).to_series()  # fmt: skip


def _sets(column: CategoryColumn, records: GroupedRecords) -> pl.Series:
    start, codes, _ = records.categories(column)
    names = names_of_codes(column)
    of_one = [*names[: len(column.categories)], None]  # a group that misses the value as a whole shows nothing
    labels: list[str | None] = pl.Series(of_one, dtype=pl.String).gather(codes[start[:-1]]).to_list()
    known: dict[tuple[int, ...], str] = {}
    starts, members = start.tolist(), codes.tolist()
    for group in np.flatnonzero(np.diff(start) > 1).tolist():
        together = tuple(members[starts[group] : starts[group + 1]])
        if together not in known:
            is_everything = len(together) == column.n_codes
            known[together] = EVERYTHING if is_everything else "{" + ", ".join(names[code] for code in together) + "}"
        labels[group] = known[together]
    return pl.Series(labels, dtype=pl.String)


def _ancestors(column: QuasiColumn, hierarchy: Hierarchy, records: GroupedRecords) -> pl.Series:
    """The lowest node of the hierarchy above all values of a group."""
    if isinstance(column, CategoryColumn):
        start, categories, _ = records.categories(column)
        group = np.repeat(np.arange(records.n_groups, dtype=np.int32), np.diff(start))
        codes = categories.astype(np.int32)
        known: list[str] = column.categories.cast(pl.String).to_list()
    else:
        texts, codes = texts_in_hierarchy(column)
        group = records.group_of_record
        known = [text for text in texts if text is not None]
    hierarchy.check_covers(known, column=column.name)
    present = codes < len(known)
    labels = hierarchy.common_ancestor_of_groups(known, group[present], codes[present], records.n_groups)
    return or_missing(pl.Series(labels, dtype=pl.String), records.n_missing(column), records.n_records)
