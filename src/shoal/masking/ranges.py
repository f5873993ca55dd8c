"""Mask "range": a group shows the range of its numbers and the set of its categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Mask, Published, published_by_labels
from shoal.parts import option
from shoal.table.coding import Coding
from shoal.table.columns import CategoryColumn, NumberColumn, has_hierarchy
from shoal.table.hierarchy import Hierarchy
from shoal.table.label_sets import EVERYTHING, MISSING, as_end, as_one, as_set
from shoal.table.levels import texts_in_hierarchy
from shoal.table.node_sets import NodeSets, node_sets
from shoal.table.rounding import Step, is_rounded, rounded_out, step_of_groups
from shoal.table.table import QuasiColumn, Table
from shoal.table.units import codes_in_units, texts_of_floats, texts_of_units

Ends = NDArray[Any]
"""Range ends in units, or in floats where a column keeps floats."""


@dataclass(frozen=True, kw_only=True)
class Range(Mask):
    """Show 84-86 for numbers, {a, b} for categories, `*` where every category is covered.

    Parameters
    ----------
    code_extremes
        Where only one person has the lowest or highest value of a column, show the ranges that end there as "17 or
        less" or "at least 90", open where that person's value would stand.
    also
        Sensitive columns that are changed besides, person by person, by masks as those of the mask columns:
        "noise:columns=income:amount=0.2; pram:columns=job". In Python also a list of masks. Models are recounted from
        what is published then.

    Notes
    -----
    A column with a hierarchy shows the lowest common ancestor of a group's values; where that covers more than half of
    the hierarchy's values, the few nodes below it that cover less together, {A, B}. A missing value is shown as such:
    "84-86 or missing". A single value stays itself.
    """

    code_extremes: bool = field(
        default=False, metadata=option("Top- and bottom-code an extreme value that only one person has.")
    )
    also: str | Sequence[Any] = field(
        default="", metadata=option("Change sensitive columns besides, such as 'noise:columns=income:amount=0.2'.")
    )
    name: ClassVar[str] = "range"
    form: ClassVar[str] = "generalized"
    title: ClassVar[str] = "Ranges and sets"
    sentence: ClassVar[str] = "A group shows ranges of numbers and sets of categories."
    is_in_app: ClassVar[bool] = True
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})
    has_scheme: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.also:
            from shoal.masking.by_column import ByColumn

            object.__setattr__(self, "also", ByColumn(by=self.also).by)
        super().__post_init__()

    @property
    def changes_beside(self) -> bool:
        """Where it changes sensitive columns too."""
        return bool(self.also)

    def publish(self, table: Table, grouping: Grouping, *, rng: np.random.Generator | None = None) -> Published:
        """The labels of groups, and what else is changed."""
        published = published_by_labels(table, grouping, self)
        if not self.also:
            return published
        from shoal.masking.by_column import changed_beside

        return changed_beside(published, table, str(self.also), rng)

    def why_not_on(self, engine: str) -> list[str]:
        """Why an engine does not change other columns, or code extremes."""
        if self.also:
            return ["also changes persons one by one, which is done in memory."]
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
        if records.level_of(column):
            return pl.repeat(EVERYTHING, records.n_groups, dtype=pl.String, eager=True)
        if isinstance(column, CategoryColumn):
            return _sets(column, records)
        return self._ranges(column, records, table)

    def _ranges(self, column: NumberColumn, records: GroupedRecords, table: Table) -> pl.Series:
        low, high, n_missing = shown_ends(column, records)
        low_texts, high_texts = _texts(column, low), _texts(column, high)
        spaced = column.kind != "number" or _has_dashes(column, low_texts, high_texts)
        labels = between(low_texts, high_texts, spaced=spaced)
        lowest, highest = column.extent
        if column.categories and lowest == 0 and highest == len(column.categories) - 1:
            covered = pl.Series((low == lowest) & (high == highest) & (low != high))
            labels = pl.select(pl.when(covered).then(pl.lit(EVERYTHING)).otherwise(labels)).to_series()
        ends = records.ends(column)[:2]
        if self.code_extremes:
            labels = _code_extremes(column, table, *ends, labels)
        coding = table.schema.codings.get(column.name)
        if coding is not None:
            labels = _open_at_codes(column, coding, ends, (low_texts, high_texts), labels)
        return or_missing(labels, n_missing, records.n_records)


def as_it_is(column: QuasiColumn) -> QuasiColumn:
    """The column, of which the ends of ranges are not rounded."""
    if column.source is None or column.source.round is None:
        return column
    return replace(column, source=replace(column.source, round=None))


def shown_ends(column: NumberColumn, records: GroupedRecords) -> tuple[Ends, Ends, NDArray[np.int64]]:
    """The ends of each group's range as they are shown, rounded where that is asked, and how many records miss it."""
    low, high, n_missing = records.ends(column)
    step = step_of_groups(column, low, high, records.n_records)
    return *rounded_out(column, low, high, step), n_missing


def steps_shown(quasi: Mapping[str, QuasiColumn], records: GroupedRecords, mask: Mask) -> dict[str, Step]:
    """To what the ends of ranges are rounded, for each column of which they are."""
    if mask.form != "generalized" or mask.shows_identities:
        return {}
    numbers = [
        column
        for column in quasi.values()
        if isinstance(column, NumberColumn) and is_rounded(column) and not records.level_of(column)
    ]
    steps = {column.name: step_of_groups(column, *records.ends(column)[:2], records.n_records) for column in numbers}
    return {name: step for name, step in steps.items() if step is not None}


class EndOwners:
    """Whose own values the ends of a column's ranges are, as records are seen some by some."""

    def __init__(self, column: NumberColumn, records: GroupedRecords) -> None:
        low, high, _ = shown_ends(column, records)
        self.ends = (low, high)
        self.is_range = low != high
        self.owner = [np.full(records.n_groups, -1, np.int32) for _ in self.ends]
        self.is_shared = [np.zeros(records.n_groups, np.bool_) for _ in self.ends]

    def see(self, column: NumberColumn, person: NDArray[np.int32], group: NDArray[np.int32]) -> None:
        """See some records."""
        values = column.units if column.floats is None else column.floats
        for end, owner, is_shared in zip(self.ends, self.owner, self.is_shared, strict=True):
            is_there = values == end[group]
            if column.is_missing is not None:
                is_there &= ~column.is_missing
            where, who = group[is_there], person[is_there]
            is_first = owner[where] < 0
            owner[where[is_first]] = who[is_first]  # of several who are first, any
            is_shared[where[owner[where] != who]] = True

    def counted(self) -> dict[str, int]:
        """How many ends there are, and how many are the own value of exactly one person of the group."""
        ends = zip(self.owner, self.is_shared, strict=True)
        lone = sum(int(((owner >= 0) & ~is_shared)[self.is_range].sum()) for owner, is_shared in ends)
        return {"ends": 2 * int(self.is_range.sum()), "lone": lone}


def end_owners(quasi: Mapping[str, QuasiColumn], records: GroupedRecords, mask: Mask) -> dict[str, EndOwners]:
    """Nobody seen yet, for each number and date that is shown as ranges."""
    if mask.form != "generalized" or mask.shows_identities:
        return {}
    ranged = [
        column
        for column in quasi.values()
        if isinstance(column, NumberColumn)
        and not column.categories
        and not has_hierarchy(column)
        and not records.level_of(column)
    ]
    return {column.name: EndOwners(column, records) for column in ranged}


def lone_ends(table: Table, records: GroupedRecords, mask: Mask) -> dict[str, dict[str, int]]:
    """How many ends of ranges are published of each number and date, and how many are one person's own value alone."""
    owners = end_owners(table.quasi, records, mask)
    for name, seen in owners.items():
        column = table.quasi[name]
        assert isinstance(column, NumberColumn)
        seen.see(column, table.person_of_record, records.group_of_record)
    return {name: seen.counted() for name, seen in owners.items()}


def _has_dashes(column: NumberColumn, low: pl.Series, high: pl.Series) -> bool:
    """Whether some range ends are written with a dash, which could be mistaken for that of the range."""
    if column.whole is not None and column.whole.has_dashes is not None:
        return column.whole.has_dashes
    return bool((low.str.contains("-", literal=True) | high.str.contains("-", literal=True)).any())


def _texts(column: NumberColumn, values: Ends) -> pl.Series:
    texts = texts_of_units(column, values) if column.floats is None else texts_of_floats(values)
    odd = {name: as_end(name) for name in column.categories or () if as_end(name) != name}
    return texts.replace(odd) if odd else texts


def lone_extremes(column: NumberColumn, table: Table) -> int:
    """How many of the column's two extremes only one person has, though others have values: 0, 1 or 2."""
    values, persons = _values_and_persons(column, table)
    if not len(values):
        return 0
    owners = (_lone_owner(values, persons, extreme) for extreme in (values.min(), values.max()))
    return sum(owner is not None and bool((persons != owner).any()) for owner in owners)


def _values_and_persons(column: NumberColumn, table: Table) -> tuple[Ends, NDArray[np.int32]]:
    """The values that are not missing, and their persons."""
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
    return _opened(labels, at_bottom, at_top, _texts(column, end), _texts(column, start))


def _open_at_codes(
    column: NumberColumn,
    coding: Coding,
    ends: tuple[Ends, Ends],
    texts: tuple[pl.Series, pl.Series],
    labels: pl.Series,
) -> pl.Series:
    """Labels of groups that reach a top or bottom code, which stands for all values beyond: open there."""
    at_bottom, at_top = (
        np.zeros(len(end), np.bool_) if code is None else (end <= code if is_bottom else end >= code)
        for end, code, is_bottom in zip(ends, codes_in_units(column, coding), (True, False), strict=True)
    )
    return _opened(labels, at_bottom, at_top, texts[1], texts[0])


def _opened(
    labels: pl.Series, at_bottom: NDArray[np.bool_], at_top: NDArray[np.bool_], end: pl.Series, start: pl.Series
) -> pl.Series:
    """Labels that are open below, above, or at both ends."""
    return pl.select(
        pl.when(pl.Series(at_bottom & at_top)).then(pl.lit(EVERYTHING))
        .when(pl.Series(at_bottom)).then(end + " or less")
        .when(pl.Series(at_top)).then("at least " + start)
        .otherwise(labels)
    ).to_series()  # fmt: skip


def _sets(column: CategoryColumn, records: GroupedRecords) -> pl.Series:
    start, codes, _ = records.categories(column)
    names: list[str | None] = [*column.categories.cast(pl.String), None]
    of_one = [None if name is None else as_one(name) for name in names]  # nothing where all miss the value
    labels: list[str | None] = pl.Series(of_one, dtype=pl.String).gather(codes[start[:-1]]).to_list()
    known: dict[tuple[int, ...], str] = {}
    starts, members = start.tolist(), codes.tolist()
    for group in np.flatnonzero(np.diff(start) > 1).tolist():
        together = tuple(members[starts[group] : starts[group + 1]])
        if together not in known:
            is_everything = len(together) == column.n_codes
            known[together] = EVERYTHING if is_everything else as_set(names[code] for code in together)
        labels[group] = known[together]
    return pl.Series(labels, dtype=pl.String)


def _ancestors(column: QuasiColumn, hierarchy: Hierarchy, records: GroupedRecords) -> pl.Series:
    """The lowest node of the hierarchy above all values of a group; where it covers too much, a few below it."""
    known, group, codes = _values_of_groups(column, hierarchy, records)
    lowest = records.level_of(column)
    labels = hierarchy.common_ancestor_of_groups(known, group, codes, records.n_groups, lowest=lowest)
    if lowest and lowest == hierarchy.n_levels - 1:  # nothing is shown, not even who misses the value
        return pl.Series(labels, dtype=pl.String)
    if not records.levels:
        sets = node_sets(hierarchy, known, group, codes)
        for number in sets.nodes_of_group:
            labels[number] = sets.text(number)
    return or_missing(pl.Series(labels, dtype=pl.String), records.n_missing(column), records.n_records)


def sets_of_groups(column: QuasiColumn, hierarchy: Hierarchy, records: GroupedRecords) -> NodeSets:
    """The groups that show several nodes of a column's hierarchy."""
    if records.levels:
        return NodeSets({}, [])
    return node_sets(hierarchy, *_values_of_groups(column, hierarchy, records))


def _values_of_groups(
    column: QuasiColumn, hierarchy: Hierarchy, records: GroupedRecords
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """The different values as the hierarchy writes them, and in which group which of them is."""
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
    return known, group[present], codes[present]


def between(low: pl.Series, high: pl.Series, *, spaced: bool) -> pl.Series:
    """Ranges: 84-86, or -5 to -2 where a dash could be mistaken (`spaced`); a single value stays itself."""
    joined = low + (" to " if spaced else "-") + high
    return joined.zip_with(low != high, low)


def or_missing(labels: pl.Series, n_missing: NDArray[np.int64], n_records: NDArray[np.int64]) -> pl.Series:
    """Labels of groups in which some records miss the value ("84-86 or missing") or all do (null)."""
    some = pl.Series(n_missing > 0)
    every = pl.Series(n_missing == n_records)
    labels = (labels + f" or {MISSING}").zip_with(some & ~every, labels)
    return pl.select(pl.when(every).then(None).otherwise(labels)).to_series()


def names_of_codes(column: CategoryColumn) -> list[str]:
    """The text of each category, missing last."""
    names = column.categories.cast(pl.String).to_list()
    return [*names, MISSING] if column.has_missing else names
