"""What masks and measures ask of groups, summed up over portions of the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.stream.code import CodedFile, Portion
from shoal.engines.stream.summary import Lists, SummaryTable
from shoal.grouping.grouping import Grouping
from shoal.kernels import counting, distances
from shoal.masking.grouped import NOT_MISSING, GroupedRecords, on_grid
from shoal.masking.publish import Mask
from shoal.masking.ranges import end_owners
from shoal.measuring.loss import ColumnLoss, LossSums, price_groups, sum_losses
from shoal.measuring.utility import (
    Utility,
    covered_by_nodes,
    covered_by_ranges,
    covered_by_sets,
    differing_categories,
    means_of_losses,
    squares_of_categories,
    utility_of_losses,
)
from shoal.table.columns import CategoryColumn, NumberColumn, has_hierarchy
from shoal.table.table import QuasiColumn


@dataclass
class NumberTotals:
    """What is counted of one numeric quasi-identifier, group by group."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    n_missing: NDArray[np.int64]
    sums: NDArray[np.float64]
    """Of units that are not missing, or of floats divided by the group's number of them."""
    sums_with_missing: NDArray[np.float64]
    float_low: NDArray[np.float64]
    float_high: NDArray[np.float64]
    owners: Owners

    @classmethod
    def none(cls, column: NumberColumn, n_groups: int) -> NumberTotals:
        """Before any record is seen."""
        n_floats = n_groups if column.floats is not None else 0
        return cls(
            low=np.full(n_groups, np.iinfo(np.int64).max, np.int64),
            high=np.full(n_groups, np.iinfo(np.int64).min, np.int64),
            n_missing=np.zeros(n_groups, np.int64),
            sums=np.zeros(n_groups),
            sums_with_missing=np.zeros(n_groups),
            float_low=np.full(n_floats, np.inf),
            float_high=np.full(n_floats, -np.inf),
            owners=Owners.of(column),
        )

    def add(
        self, column: NumberColumn, whole: NumberColumn, person: NDArray[np.int32], group: NDArray[np.int32]
    ) -> None:
        """See a portion of the records."""
        has_missing = column.is_missing is not None
        is_missing = column.is_missing if column.is_missing is not None else NOT_MISSING
        counting.add_extremes(column.units, is_missing, has_missing, group, self.low, self.high, self.n_missing)
        distances.add_to_groups(with_missing(column, whole), group, self.sums_with_missing)
        present = ~is_missing if has_missing else np.ones(len(column.units), np.bool_)
        if column.floats is None:
            distances.add_to_groups(column.units * present.astype(np.float64), group, self.sums)
            self.owners.see(column.units[present], person[present])
            return
        np.minimum.at(self.float_low, group[present], column.floats[present])
        np.maximum.at(self.float_high, group[present], column.floats[present])
        self.owners.see(column.floats[present], person[present])


@dataclass
class Owners:
    """The persons who have the lowest and the highest value of a column, where it is one person only."""

    ends: tuple[float, float]
    owner: list[int | None] = field(default_factory=lambda: [None, None])
    is_shared: list[bool] = field(default_factory=lambda: [False, False])
    persons: tuple[int, int] | None = None
    """Among the persons who have it, the lowest and the highest number."""

    @classmethod
    def of(cls, column: NumberColumn) -> Owners:
        """For the extremes of a whole column."""
        values = column.units if column.floats is None else column.floats
        present = values if column.is_missing is None else values[~column.is_missing]
        return cls((present.min(), present.max()) if len(present) else (0, 0))

    def see(self, values: NDArray[np.int64] | NDArray[np.float64], person: NDArray[np.int32]) -> None:
        """See some values that are not missing, and their persons."""
        if not len(values):
            return
        first, last = int(person.min()), int(person.max())
        known = self.persons or (first, last)
        self.persons = min(first, known[0]), max(last, known[1])
        for which, end in enumerate(self.ends):
            those = person[values == end]
            if not len(those):
                continue
            one = self.owner[which] if self.owner[which] is not None else int(those[0])
            self.owner[which] = one
            self.is_shared[which] |= bool((those != one).any())

    @property
    def n_lone(self) -> int:
        """How many of the two extremes only one person has, though others have values."""
        if self.persons is None or self.persons[0] == self.persons[1]:
            return 0
        return sum(not shared for shared in self.is_shared)


@dataclass(frozen=True)
class GroupTotals(GroupedRecords):
    """Groups of a file that was summed up: no record is known, but all that is asked of them together."""

    table: SummaryTable = field(kw_only=True)
    group_of_person: NDArray[np.int32] = field(kw_only=True)
    numbers: Mapping[str, NumberTotals] = field(kw_only=True)
    _categories: dict[str, Lists] = field(default_factory=dict, kw_only=True)

    @cached_property
    def n_records(self) -> NDArray[np.int64]:
        """How many records each group has."""
        records = np.zeros(self.n_groups, np.int64)
        np.add.at(records, self.group_of_person, self.table.records_of_person)
        return records

    def extremes(self, column: NumberColumn) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest unit of each group, and how many records miss the value."""
        totals = self.numbers[column.name]
        nothing = totals.n_missing == self.n_records
        lowest = column.extent[0]
        return np.where(nothing, lowest, totals.low), np.where(nothing, lowest, totals.high), totals.n_missing

    def ends(
        self, column: NumberColumn
    ) -> tuple[NDArray[np.float64] | NDArray[np.int64], NDArray[np.float64] | NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest value of each group, in units or floats, and how many records miss it."""
        if column.floats is None:
            return self.extremes(column)
        totals = self.numbers[column.name]
        return totals.float_low, totals.float_high, totals.n_missing

    def means(self, column: NumberColumn) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The mean of units (or floats) of each group, 0 where there is none, and how many records have one."""
        totals = self.numbers[column.name]
        counts = self.n_records - totals.n_missing
        if column.floats is not None:  # each was divided before it was added
            return totals.sums, counts
        return totals.sums / np.maximum(counts, 1), counts

    def categories(self, column: CategoryColumn) -> Lists:
        """The categories of each group, ascending, and how many records have them: starts, codes, records."""
        if column.name not in self._categories:
            self._categories[column.name] = self._counted(column)
        return self._categories[column.name]

    def _counted(self, column: CategoryColumn) -> Lists:
        start, value, records = self.table.lists[column.name]
        group = np.repeat(self.group_of_person, np.diff(start))
        keys = group.astype(np.int64) * column.n_codes + value
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        distinct = keys[first]
        starts = counting.start_of_code((distinct // column.n_codes).astype(np.int32), self.n_groups)
        return starts, distinct % column.n_codes, np.add.reduceat(records[order], first)


def total_groups(coded: CodedFile, table: SummaryTable, grouping: Grouping) -> GroupTotals:
    """Sum up the groups of a coded file, in one pass over its portions."""
    numeric = {name: column for name, column in table.quasi.items() if isinstance(column, NumberColumn)}
    numbers = {name: NumberTotals.none(column, grouping.n_groups) for name, column in numeric.items()}
    for portion in coded.portions():
        group = grouping.group_of_person[portion.person_of_record]
        for name, column in portion.numbers.items():
            numbers[name].add(column, numeric[name], portion.person_of_record, group)
    return GroupTotals(
        np.zeros(0, np.int32), grouping.n_groups, table=table, group_of_person=grouping.group_of_person, numbers=numbers
    )


class Losses:
    """What quasi-identifiers lose, added up portion by portion in the order of the records."""

    def __init__(self, table: SummaryTable, groups: GroupTotals) -> None:
        self.table, self.groups = table, groups
        self.weight_of_person = 1.0 / (table.records_of_person.astype(np.float64) * table.n_persons)
        self.mean_of_group = {
            name: totals.sums_with_missing / np.maximum(groups.n_records, 1) for name, totals in groups.numbers.items()
        }
        self.mean_of_all = {
            name: totals.sums_with_missing.sum() / table.n_records for name, totals in groups.numbers.items()
        }
        self.totals = {name: np.zeros(3) for name in groups.numbers}
        nominal = {name: column for name, column in table.quasi.items() if isinstance(column, CategoryColumn)}
        self.differing = {name: differing_categories(column, groups) for name, column in nominal.items()}
        self.differences = dict.fromkeys(nominal, 0.0)

    def add(self, portion: Portion) -> None:
        """See a portion; means of floats are added up here, too, since they are divided before."""
        group = self.groups.group_of_person[portion.person_of_record]
        weight = self.weight_of_person[portion.person_of_record]
        for name, column in portion.numbers.items():
            whole = self.table.quasi[name]
            assert isinstance(whole, NumberColumn)
            distances.add_errors(
                with_missing(column, whole), group, self.mean_of_group[name], self.mean_of_all[name], weight,
                _span(whole), self.totals[name],
            )  # fmt: skip
            if column.floats is not None:
                present = 1.0 if column.is_missing is None else (~column.is_missing).astype(np.float64)
                totals = self.groups.numbers[name]
                sizes = np.maximum(self.groups.n_records - totals.n_missing, 1)
                shares = on_grid(column.floats * present / sizes[group], whole)
                distances.add_to_groups(shares, group, totals.sums)
        for name, (start, codes, differs) in self.differing.items():
            self.differences[name] = distances.add_differences(
                portion.categories[name].codes, group, start, codes, differs, weight, self.differences[name]
            )

    def utility(self, cells: Mapping[str, ColumnLoss]) -> Utility:
        """What is lost in all, with what is lost in the published cells."""
        errors: dict[str, float] = {}
        covered: list[float] = []
        inside, total = 0.0, 0.0
        for name, column in self.table.quasi.items():
            if isinstance(column, CategoryColumn):
                errors[name] = float(self.differences[name])
                squares = squares_of_categories(column, self.groups, self.table.records_of_code(column))
                covers = covered_by_nodes if has_hierarchy(column) else covered_by_sets
                covered.append(covers(column, self.groups))
            else:
                errors[name] = float(self.totals[name][0])
                squares = (float(self.totals[name][1]), float(self.totals[name][2]))
                covered.append(covered_by_ranges(column, self.groups))
            inside, total = inside + squares[0], total + squares[1]
        return utility_of_losses(errors, covered, inside, total, self.groups, dict(cells))


def look_at_cells(
    coded: CodedFile, groups: GroupTotals, labels: Mapping[str, pl.Series], mask: Mask
) -> tuple[dict[str, ColumnLoss], dict[str, dict[str, int]]]:
    """What is lost in the cells that will be published, and whose ends of ranges are, in one pass over the portions."""
    quasi = groups.table.quasi
    priced = price_groups(quasi, labels, mask.form)
    sums = dict.fromkeys(quasi, LossSums())
    owners = end_owners(quasi, groups, mask)
    for portion in coded.portions():
        group = groups.group_of_person[portion.person_of_record]
        columns: dict[str, QuasiColumn] = {**portion.numbers, **portion.categories}
        for name, (prices, label_of_group) in priced.items():
            sums[name] = sums[name].plus(sum_losses(columns[name], prices, label_of_group[group]))
        for name, seen in owners.items():
            seen.see(portion.numbers[name], portion.person_of_record, group)
    lost = means_of_losses(sums, {name: column.kind for name, column in quasi.items()})
    return lost, {name: seen.counted() for name, seen in owners.items()}


def with_missing(column: NumberColumn, whole: NumberColumn) -> NDArray[np.int64]:
    """The units of a portion, missing ones where they stand in the whole column."""
    if column.is_missing is None:
        return column.units
    low, high = whole.extent
    return np.where(column.is_missing, low - max(high - low, 1), column.units)


def _span(column: NumberColumn) -> float:
    low, high = column.extent
    return float(max(high - low, 1))
