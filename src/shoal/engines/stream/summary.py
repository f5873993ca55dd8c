"""A file summed up by person: all that grouping asks of a table, without its records."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.stream.code import CodedFile
from shoal.grouping.person_space import grid_of
from shoal.grouping.tree import values_of_parts
from shoal.kernels import counting, points
from shoal.models.counts import EVERYTHING, HISTORIES, JOINT, GroupCounts
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.schema import Schema
from shoal.table.table import Table

Lists = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class SummaryTable(Table):
    """A table of which only sums and counts per person are known; it has no records.

    Its columns hold a few values that stand for all, so that extents, kinds and categories are those of the whole.
    """

    n_records_summed: int = 0
    records_summed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    sums: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = field(default_factory=dict)
    """Of each numeric quasi-identifier, by person: units and steps on the grid, and squared steps."""
    lists: dict[str, Lists] = field(default_factory=dict)
    """Of each nominal quasi-identifier and sensitive attribute: the values of each person."""
    counts_of_code: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def n_records(self) -> int:
        """How many records were summed up."""
        return self.n_records_summed

    @property
    def records_of_person(self) -> NDArray[np.int64]:
        """How many records each person has."""
        return self.records_summed

    def values_of_persons(self, column: CategoryColumn) -> Lists:
        """Which values each person has, ascending, and in how many records: starts, values, records."""
        return self.lists[column.name]

    def code_of_person(self, column: CategoryColumn) -> NDArray[np.int64] | None:
        """The one category of each person, or None where somebody has several."""
        _, value, _ = self.lists[column.name]
        return value if len(value) == self.n_persons else None

    def records_of_code(self, column: CategoryColumn) -> NDArray[np.int64]:
        """How many records have each category."""
        return self.counts_of_code[column.name]

    def sums_of_persons(
        self, column: NumberColumn, grid: int, *, with_squares: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """As in any table; but they are given out once and not kept, since they take much memory."""
        if column.laid is not None:
            return self.sums_of_laid(column, column.laid, grid)
        sums, squares = self.sums.pop(column.name)
        return sums[:, 0], sums[:, 1], squares

    def forget_values(self) -> None:
        """Let go of what only grouping asks for."""
        for name in self.sensitive:
            self.lists.pop(name, None)


def summarize(coded: CodedFile, schema: Schema, *, notes: tuple[str, ...], with_squares: bool) -> SummaryTable:
    """Sum up a coded file by person, in one pass."""
    domain = coded.domain
    table = SummaryTable(
        schema=schema,
        frame=pl.DataFrame(),
        kind_of_frame="polars",
        person_of_record=np.zeros(0, np.int32),
        n_persons=coded.n_persons,
        quasi=domain.quasi,
        sensitive=domain.sensitive,
        notes=notes,
        n_records_summed=coded.n_records,
        records_summed=coded.records_of_person,
    )
    categories = {**_categories(domain.quasi), **domain.sensitive}
    numeric = {name: column for name, column in domain.quasi.items() if isinstance(column, NumberColumn)}
    grid = grid_of(coded.n_records)
    scales = {name: table.scale_of(column) for name, column in numeric.items()}
    pairs = {name: PairCounts(column.n_codes) for name, column in categories.items()}
    n = coded.n_persons
    for name in numeric:
        table.sums[name] = np.zeros((n, 2), np.int64), np.zeros(n if with_squares else 0, np.float64)
    table.counts_of_code.update({name: np.zeros(each.n_codes, np.int64) for name, each in categories.items()})
    for portion in coded.portions():
        person = portion.person_of_record
        for name, numbers in portion.numbers.items():
            scale = scales[name]
            units, steps = scale.units_of(numbers), scale.steps_per_unit(grid)
            sums, squares = table.sums[name]
            points.add_sums(units, person, scale.lowest, steps, sums)
            if with_squares:
                points.add_squares(units, person, scale.lowest, steps, squares)
        for name, column in portion.categories.items():
            pairs[name].add(person, column.codes)
            table.counts_of_code[name] += np.bincount(column.codes, minlength=column.n_codes)
    for name in list(pairs):
        table.lists[name] = pairs.pop(name).lists(n)
    return table


def _categories(columns: object) -> dict[str, CategoryColumn]:
    assert isinstance(columns, dict)
    return {name: column for name, column in columns.items() if isinstance(column, CategoryColumn)}


class PairCounts:
    """How many records each person has of each value, counted portion by portion.

    Pairs are kept as one number each, in sorted lists of which no two are about equally long: adding costs O(log n) a
    record, and at no time are there more than twice the pairs.
    """

    def __init__(self, n_codes: int) -> None:
        self.n_codes = max(n_codes, 1)
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []

    def add(self, person_of_record: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
        """Count a portion of the records."""
        keys = person_of_record.astype(np.int64) * self.n_codes + codes
        keys.sort()
        self._runs.append(counting.runs_of_keys(keys))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(counting.merge_runs(*before, *last))

    def lists(self, n_persons: int) -> Lists:
        """The values of each person, ascending: starts, values, records. Counting ends with this."""
        while len(self._runs) > 1:
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(counting.merge_runs(*before, *last))
        keys, records = self._runs.pop() if self._runs else (np.zeros(0, np.int64), np.zeros(0, np.int32))
        start = np.zeros(n_persons + 1, np.int64)
        np.cumsum(np.bincount(keys // self.n_codes, minlength=n_persons), out=start[1:])
        keys %= self.n_codes
        return start, keys, records.astype(np.int64)


def counts_of_groups(
    table: SummaryTable, needs: frozenset[str], group_of_person: NDArray[np.int32], n_groups: int
) -> GroupCounts:
    """What models need to know of groups of persons, as far as sums and counts per person tell it."""
    start = counting.start_of_code(group_of_person, n_groups)
    everyone = np.arange(len(group_of_person), dtype=np.int32)
    laid_out = counting.order_by_code(group_of_person, n_groups, everyone).view(np.uint32)
    spread = counting.spread_of_person_parts(laid_out, start, table.records_of_person)
    persons, records, squared, most, logs = spread
    pairs = {name: table.lists[name] for name in table.sensitive}
    whole = {
        name: (table.counts_of_code[name], np.bincount(lists[1], minlength=column.n_codes).astype(np.int64))
        for (name, column), lists in zip(table.sensitive.items(), pairs.values(), strict=True)
    }
    return GroupCounts(
        persons=persons, records=records, squared_records=squared, most_records=most, log_records=logs,
        values=values_of_parts(pairs, whole, needs, laid_out, start), known=EVERYTHING - JOINT - HISTORIES,
    )  # fmt: skip
