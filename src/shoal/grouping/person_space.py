"""Persons as points: the mean of their records in every quasi-identifier, on exact whole-number grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import counting, trees
from shoal.kernels.trees import SEVERAL, Orders, Persons, Segments
from shoal.models.background import Background
from shoal.models.exact import IntArray
from shoal.models.joint import Items, join_lists
from shoal.models.related import Related
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import QuasiColumn, Table

MOST_GRID_BITS = 29


@dataclass(frozen=True)
class PersonSpace:
    """What a tree needs to know of persons, and one sorted order per quasi-identifier."""

    persons: Persons
    orders: Orders
    """One a quasi-identifier, in the schema's order, and the persons by their number of records, most first."""
    whole_table: Segments
    """Where each order starts and ends; of a table that is parted, where each part does."""
    numeric_of_order: tuple[int, ...]
    """The number of the numeric attribute of each order, or -1 for a nominal one."""
    span_of_order: tuple[float, ...]
    """The extent of the keys over the whole table; for a nominal order its number of categories less one."""
    grid: int
    """How many steps the whole-number grid has from the lowest to the highest value of an attribute."""
    n_categories: int
    pairs: dict[str, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]
    """For each sensitive attribute, the values of each person: starts, values, records. Missing is one, but where it
    tells nothing."""
    whole: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    """For each sensitive attribute, how many records and persons of the whole table have each value."""
    told: dict[str, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)
    """For each attribute of which a missing value tells nothing: who has a value, and in how many records, as `pairs`
    of one value."""
    items: Items | None = None
    """The values of all sensitive attributes of each person, for models that look at them together."""
    background: Background | None = None
    """What an adversary's rules leave for each person, for models that reckon with them."""
    related: Related | None = None
    """The rows that each person has in several tables, where they leave together."""
    key: NDArray[np.uint64] | None = None
    """A random number per person, by which nodes are known again from tree to tree."""

    def in_order(self, order: NDArray[np.uint32]) -> PersonSpace:
        """The same persons numbered in another order; the sorted orders are left to the caller."""
        old = self.persons
        start, category, count = np.empty_like(old.start), np.zeros_like(old.category), np.zeros_like(old.count)
        for j in range(len(old.start)):  # shorter lists leave the end of their line empty
            start[j], categories, counts = trees.gather_lists(old.start[j], old.category[j], old.count[j], order)
            category[j, : len(categories)], count[j, : len(counts)] = categories, counts
        within = old.within[order] if len(old.within) else old.within
        persons = Persons(old.row[order], old.n_numeric, within, start, category, count)
        pairs, told = (
            {name: trees.gather_lists(*values, order) for name, values in lists.items()}
            for lists in (self.pairs, self.told)
        )
        items = self.items
        if items is not None:
            start, item, _ = trees.gather_lists(items.start, items.item, items.item, order)
            items = items._replace(start=start, item=item)
        background = None if self.background is None else self.background.in_order(order)
        related = None if self.related is None else self.related.in_order(order)
        key = None if self.key is None else self.key[order]
        return replace(
            self, persons=persons, pairs=pairs, told=told, items=items, background=background, related=related, key=key
        )

    def parted(self, group_of_person: NDArray[np.int32], n_groups: int) -> PersonSpace:
        """The same persons, group by group in every order: what a tree goes on from that was begun elsewhere."""
        ends = self.whole_table.end[:, 0]
        starts = np.append(0, ends[:-1])
        orders = Orders(*(np.empty_like(part) for part in self.orders))
        first = np.empty((len(ends), n_groups + 1), np.int64)
        for j, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            group = group_of_person[self.orders.person[start:end]]
            order = counting.order_by_code(group, n_groups, np.arange(end - start, dtype=np.int32))
            first[j] = start + counting.start_of_code(group, n_groups)
            for new, old in zip(orders, self.orders, strict=True):
                new[start:end] = old[start:end][order]
        segments = Segments(np.ascontiguousarray(first[:, :-1]), np.ascontiguousarray(first[:, 1:]))
        return replace(self, orders=orders, whole_table=segments)

    def without_orders(self) -> PersonSpace:
        """The persons alone, once a tree is grown: orders are what takes most memory."""
        return replace(self, orders=Orders(*(part[:0].copy() for part in self.orders)))

    def without_variance(self) -> PersonSpace:
        """The persons without the variance inside them, which only median cuts and what comes after the tree need."""
        return replace(self, persons=self.persons._replace(within=self.persons.within[:0]))

    @property
    def n_persons(self) -> int:
        """How many persons there are."""
        return len(self.persons.row)

    @property
    def n_records(self) -> int:
        """How many records they have."""
        return int(self.persons.row[:, 0].sum())


def person_space(
    table: Table,
    *,
    one_record_per_person: bool = False,
    ties_by_records: bool = False,
    with_variance: bool = True,
    with_values: bool = True,
    with_items: bool = False,
    with_background: bool = False,
    with_related: bool = False,
    codes_as_numbers: bool = False,
) -> PersonSpace:
    """Lay out the persons of a table.

    Parameters
    ----------
    one_record_per_person
        Count each person as one record (Tao's decomposition).
    ties_by_records
        Sort persons of equal keys by their number of records, for cuts inside ties.
    with_variance
        Whether the variance inside persons is needed (median cuts by the balance-variance ratio).
    with_values
        Whether the sensitive values of persons are needed (models that count them).
    with_items
        Whether the values of all sensitive attributes together are needed (models that look at them jointly).
    with_background
        Whether it is needed which values an adversary's rules leave for each person.
    with_related
        Whether it is needed which rows each person has in several tables.
    codes_as_numbers
        Take categories by the number of their code, and spread by standard deviation (Gal, Chen and Gangopadhyay).

    Notes
    -----
    O(q n log n) time for q quasi-identifiers and n persons, plus O(records). Nothing depends on the order of the
    records: keys are quotients of exact sums, masses are whole numbers.
    """
    records = np.ones(table.n_persons, np.int64) if one_record_per_person else table.records_of_person
    grid = grid_of(table.n_records)
    columns = [as_number(column) if codes_as_numbers else column for column in table.quasi.values()]
    numeric = [column for column in columns if isinstance(column, NumberColumn)]
    nominal = [column for column in columns if isinstance(column, CategoryColumn)]
    mass = np.zeros((table.n_persons, len(numeric)), np.int64)
    within = np.zeros((table.n_persons if with_variance else 0, len(numeric)), np.float64)
    keys: list[NDArray[np.float64]] = []
    for j, numbers in enumerate(numeric):
        key, mass[:, j], around_mean = _place(numbers, table, grid, with_variance=with_variance)
        within[:, j] = around_mean
        keys.append(key)
    if one_record_per_person:
        mass //= table.records_of_person[:, None]
        within[:] = 0
    pairs = [table.values_of_persons(column) for column in nominal]
    if one_record_per_person:
        pairs = [_most_frequent(*pair) for pair in pairs]
    persons = _persons(records, mass, within, pairs)
    del mass
    listed = _Listed.room_for(table.n_persons * (len(numeric) + 1) + sum(len(value) for _, value, _ in pairs))
    ties = records if ties_by_records else None
    numeric_of_order, spans = _listed_orders(listed, columns, keys, pairs, records, ties, codes_as_numbers)
    ends = np.array(listed.ends)[:, None]
    sensitive = table.sensitive if with_values else {}
    value_pairs = {name: values_told(table, column) for name, column in sensitive.items()}
    return PersonSpace(
        persons=persons,
        orders=listed.orders(),
        whole_table=Segments(np.concatenate([[[0]], ends[:-1]]), ends),
        numeric_of_order=tuple(numeric_of_order),
        span_of_order=tuple(spans),
        grid=grid,
        n_categories=max((column.n_codes for column in nominal), default=1),
        pairs=value_pairs,
        whole={name: whole_counts(table, column) for name, column in sensitive.items()},
        told={name: who_is_told_of(value_pairs[name]) for name, column in sensitive.items()
              if column.code_left_out is not None},
        items=_items(table) if with_items else None,
        background=table.background() if with_background else None,
        related=table.related if with_related else None,
    )  # fmt: skip


def _listed_orders(
    listed: _Listed,
    columns: Sequence[QuasiColumn],
    keys: list[NDArray[np.float64]],
    pairs: Sequence[tuple[IntArray, IntArray, IntArray]],
    records: IntArray,
    ties: IntArray | None,
    codes_as_numbers: bool,
) -> tuple[list[int], list[float]]:
    """List the persons by each column, then by their records; gives which numeric column each is, and its span.

    Keys are let go of one after the other, so that they do not lie in memory with the orders.
    """
    numeric_of_order, spans, n_numeric = [], [], len(keys)
    nominal_left = iter(pairs)
    for column in columns:
        if isinstance(column, NumberColumn):
            key = keys.pop(0)
            listed.add(_numeric_order(key, ties))
            numeric_of_order.append(n_numeric - len(keys) - 1)
            spans.append(deviation_of(column) if codes_as_numbers else extent_of_means(column, key))
        else:
            listed.add(_nominal_order(*next(nominal_left), records, column.n_codes))
            numeric_of_order.append(-1)
            spans.append(float(max(column.n_codes - 1, 1)))
    listed.add(_numeric_order(-records.astype(np.float64), None))
    return numeric_of_order, spans


@dataclass
class _Listed:
    """Orders one after the other, in arrays that are large enough for all: none of them lies in memory twice."""

    parts: Orders
    ends: list[int]

    @classmethod
    def room_for(cls, n: int) -> _Listed:
        return cls(Orders(np.empty(n, np.uint32), np.empty(n, np.float64), np.empty(n, np.int32)), [])

    def add(self, order: Orders) -> None:
        start = self.ends[-1] if self.ends else 0
        self.ends.append(start + len(order.person))
        for place, part in zip(self.parts, order, strict=True):
            place[start : self.ends[-1]] = part

    def orders(self) -> Orders:
        n = self.ends[-1]
        return Orders(*(part if len(part) == n else part[:n].copy() for part in self.parts))


def grid_of(n_records: int) -> int:
    """How many steps the grid has for so many records: such that sums of steps are exact as floats, too."""
    return int(2 ** min(MOST_GRID_BITS, 51 - int(n_records).bit_length()))


def as_number(column: QuasiColumn) -> NumberColumn:
    """A column of categories by the number of their code, in the order of their names."""
    if isinstance(column, NumberColumn):
        return column
    return NumberColumn(column.name, "number", column.codes.astype(np.int64), None)


def deviation_of(column: NumberColumn) -> float:
    """The standard deviation over all records, by which values become z-scores."""
    if column.whole is not None and column.whole.deviation is not None:
        return column.whole.deviation or 1.0
    return float(column.units_with_missing().std()) or 1.0


def extent_of_means(column: NumberColumn, means: NDArray[np.float64]) -> float:
    """How far the means of persons are apart, in the whole table."""
    if column.whole is not None and column.whole.mean_extent is not None:
        return column.whole.mean_extent or 1.0
    return float(means.max() - means.min()) or 1.0


def _items(table: Table) -> Items:
    lists = []
    for column in table.sensitive.values():
        start, value, _ = table.values_of_persons(column)
        lists.append((start, value, column.n_codes))
    return join_lists(lists)


def mean_of_persons(column: NumberColumn, table: Table) -> NDArray[np.float64]:
    """The mean over each person's records, counted from the lowest unit."""
    sums, _, _ = table.sums_of_persons(column, 0)
    return sums / table.records_of_person


def _place(
    column: NumberColumn, table: Table, grid: int, *, with_variance: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """The person's mean above the lowest unit, mass on the grid, and squares around the own mean scaled to [0, 1]."""
    count = table.records_of_person
    sums, mass, squares = table.sums_of_persons(column, grid, with_squares=with_variance)
    within = np.zeros(0)
    if with_variance:
        within = np.maximum(squares - np.asarray(mass, np.float64) ** 2 / count, 0.0) / float(grid) ** 2
    return sums / count, mass, within


def _most_frequent(
    start: NDArray[np.int64], value: NDArray[np.int64], records: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """One value per person: the one that most of their records have (of equals, the lowest code)."""
    person = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.lexsort((value, -records, person))
    first = order[start[:-1]]
    return np.arange(len(start), dtype=np.int64), value[first], np.ones(len(first), np.int64)


def _persons(
    records: NDArray[np.int64],
    mass: NDArray[np.int64],
    within: NDArray[np.float64],
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]],
) -> Persons:
    longest = max((len(value) for _, value, _ in pairs), default=0)
    start = np.zeros((len(pairs), len(records) + 1), np.int64)
    category = np.zeros((len(pairs), longest), np.int32)
    count = np.zeros((len(pairs), longest), np.int64)
    one_category = np.full((len(records), len(pairs)), SEVERAL, np.int64)
    for j, (starts, values, counts) in enumerate(pairs):
        start[j], category[j, : len(values)], count[j, : len(values)] = starts, values, counts
        single = np.diff(starts) == 1
        one_category[single, j] = values[starts[:-1][single]]
    row = np.empty((len(records), 1 + mass.shape[1] + len(pairs)), np.float64)
    row[:, 0], row[:, 1 : 1 + mass.shape[1]], row[:, 1 + mass.shape[1] :] = records, mass, one_category
    return Persons(row, mass.shape[1], within, start, category, count)


def _numeric_order(key: NDArray[np.float64], records: NDArray[np.int64] | None) -> Orders:
    order = np.argsort(key, kind="stable") if records is None else np.lexsort((records, key))
    return Orders(order.astype(np.uint32), key[order], np.zeros(len(key), np.int32))


def _nominal_order(
    start: NDArray[np.int64],
    category: NDArray[np.int64],
    count: NDArray[np.int64],
    records: NDArray[np.int64],
    n_categories: int,
) -> Orders:
    """Persons by category, those with the largest share first; of two categories one run says it all."""
    person = np.repeat(np.arange(len(start) - 1), np.diff(start))
    if n_categories == 2 and (category == 0).any():
        only = category == 0
        person, category, count = person[only], category[only], count[only]
    share = count / records[person]
    order = np.lexsort((-share, category))
    return Orders(person[order].astype(np.uint32), share[order], category[order].astype(np.int32))


def whole_counts(table: Table, column: CategoryColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many records and persons of the whole table have each value of a sensitive attribute."""
    if column.in_table is not None:
        return column.in_table
    _, value, _ = values_told(table, column)
    records = table.records_of_code(column)
    if column.code_left_out is not None:
        records[column.code_left_out] = 0
    return records, np.bincount(value, minlength=column.n_codes).astype(np.int64)


def values_told(table: Table, column: CategoryColumn) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The values of each person: starts, values, records; without missing where that tells nothing."""
    start, value, records = table.values_of_persons(column)
    if column.code_left_out is None:
        return start, value, records
    kept = value != column.code_left_out
    return np.append(0, np.cumsum(kept))[start], value[kept], records[kept]


def who_is_told_of(
    lists: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Who has a value at all, and in how many records, from lists of values: as lists of one value."""
    start, _, records = lists
    behind = np.append(0, np.cumsum(records))
    of_person = behind[start[1:]] - behind[start[:-1]]
    has_one = of_person > 0
    return np.append(0, np.cumsum(has_one)), np.zeros(int(has_one.sum()), np.int64), of_person[has_one]
