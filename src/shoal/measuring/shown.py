"""What a release shows: of quasi-identifiers in each of its places, of sensitive attributes by record or by group.

A place is what is shown alike: a group, a person whose own values are published, or a record of a perturbed table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.kernels import counting, querying
from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Mask, Published
from shoal.masking.ranges import names_of_codes, shown_ends
from shoal.measuring.statistics import masked_numbers
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.hierarchy import Hierarchy, ends_of_groups
from shoal.table.node_sets import node_sets
from shoal.table.table import QuasiColumn, Table
from shoal.table.units import texts_of_floats, texts_of_units

MISSING = querying.MISSING
"""The value that stands for a missing one."""
SHOWN = ("range", "mean", "suppress", "group", "range+group")
"""The kinds of releases that show groups."""
PERTURBED = "perturb"
SHOWN_AS = {"generalized": "range", "mean": "mean", "agreed": "suppress", "noise": PERTURBED, "changed": PERTURBED}
"""The kind of release that each form of cells makes."""
FARTHEST = 2.0**62
"""No unit of a perturbed number lies farther from 0."""


class Released(Protocol):
    """What measures of a release need of it."""

    @property
    def table(self) -> Table:
        """The table that was protected."""
        ...

    @property
    def published(self) -> Published:
        """What is published of it."""
        ...

    @property
    def mask(self) -> Mask:
        """What is shown of a group."""
        ...


def is_read(mask: Mask) -> bool:
    """Whether what a mask shows can be read by others than its maker."""
    return not mask.links_values or mask.form in SHOWN_AS


def shown_by(mask: Mask) -> str:
    """The kind of release that a mask makes: one of SHOWN, or "perturb", which shows no groups."""
    if not mask.links_values:
        return "group" if mask.shows_identities else "range+group"
    if mask.form not in SHOWN_AS:
        raise ParameterError(
            f"Queries are not answered on the mask '{mask.name}'. Known kinds: {', '.join((*SHOWN, PERTURBED))}."
        )
    return SHOWN_AS[mask.form]


def grouping_of(release: Released) -> Grouping:
    """The group of each person, from what the steward knows of a release."""
    table, published = release.table, release.published
    at = published.record_of_published
    person = at if published.tables else table.person_of_record[at]  # sensitive tables: one row per person
    group_of_person = np.empty(table.n_persons, dtype=np.int32)
    group_of_person[person] = published.group_of_record
    return Grouping(group_of_person, int(group_of_person.max()) + 1, levels=published.levels, hidden=published.hidden)


def values_of(column: QuasiColumn) -> IntArray:
    """The value of each record as a whole number, or MISSING: units of numbers, codes of categories."""
    if isinstance(column, NumberColumn):
        return column.units if column.is_missing is None else np.where(column.is_missing, MISSING, column.units)
    return np.where(column.codes == len(column.categories), MISSING, column.codes.astype(np.int64))


# --- releases that show sensitive values by record, and releases that count them by group -----------------------------


class LinkedView(NamedTuple):
    """A release in which each record shows its own sensitive values and its place's quasi-identifiers."""

    quasi: querying.Shown
    record_at: IntArray
    """The records of the table by place, and by person inside a place."""
    start_of_place: IntArray
    """Where the records of each place start; one entry more than places."""


class ApartView(NamedTuple):
    """A release that shows quasi-identifiers by place, and counts of sensitive values by group."""

    quasi: querying.Shown
    place_start_of_group: IntArray
    """Where the places of each group start; one entry more than groups."""
    records: GroupedRecords
    """The records of the table by group."""
    n_persons: IntArray
    """How many persons each group has."""
    counts_records: bool
    """Whether records are counted, and not only persons."""

    @property
    def n_records(self) -> FloatArray:
        """How many records each group has; where they are not counted, each person stands for the table's mean."""
        if self.counts_records:
            return self.records.n_records.astype(np.float64)
        return np.asarray(self.n_persons * (self.records.n_records.sum() / self.n_persons.sum()))

    def weight_of_record(self, person_of_record: NDArray[Any], value_of_record: NDArray[Any]) -> FloatArray:
        """How many records of its group each stands for; where they are not counted, by the persons of its value."""
        if self.counts_records:
            return np.ones(len(value_of_record))
        group = self.records.group_of_record
        pair = person_of_record.astype(np.int64) * (int(value_of_record.max(initial=0)) + 1) + value_of_record
        _, number, n_alike = np.unique(pair, return_inverse=True, return_counts=True)
        once = 1.0 / n_alike[number.reshape(-1)]
        return np.asarray(once * (self.n_records / np.bincount(group, weights=once))[group])


View = LinkedView | ApartView


def view_of(release: Released) -> View:
    """What a release shows."""
    shown = shown_by(release.mask)
    if shown == PERTURBED:
        return perturbed_view(release.table, release.published)
    return grouped_view(release.table, grouping_of(release), shown)


def grouped_view(table: Table, grouping: Grouping, shown: str) -> View:
    """What a release of one of the kinds SHOWN shows."""
    if shown not in SHOWN:
        raise ParameterError(f"shown must be one of {', '.join(SHOWN)}, got '{shown}'.")
    if shown in ("group", "range+group"):
        return _apart_view(table, grouping, exact=shown == "group")
    records = GroupedRecords.of(table, grouping)
    everything = np.arange(table.n_records, dtype=np.int32)
    order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    order = counting.order_by_code(records.group_of_record, records.n_groups, order)
    start = counting.start_of_code(records.group_of_record, records.n_groups)
    return LinkedView(what_places_show(table, records, shown), order, start)


def _apart_view(table: Table, grouping: Grouping, *, exact: bool) -> ApartView:
    records = GroupedRecords.of(table, grouping)
    n_persons = np.bincount(grouping.group_of_person, minlength=grouping.n_groups)
    if not exact:
        places, place_start = records, np.arange(grouping.n_groups + 1)
    else:
        everyone = np.arange(table.n_persons, dtype=np.int32)
        order = counting.order_by_code(grouping.group_of_person, grouping.n_groups, everyone)
        place_of_person = np.empty(table.n_persons, dtype=np.int32)
        place_of_person[order] = everyone
        places = GroupedRecords(place_of_person[table.person_of_record], table.n_persons)
        place_start = counting.start_of_code(grouping.group_of_person, grouping.n_groups)
    counts_records = not exact or table.one_record_per_person
    return ApartView(what_places_show(table, places, "range"), place_start, records, n_persons, counts_records)


def perturbed_view(table: Table, published: Published) -> LinkedView:
    """What a perturbed release shows: of each record the unit nearest to its number, and its category."""
    shown = perturbed_values(table, published)
    columns = [
        _range(values, values, (values == MISSING).astype(np.int64), np.ones(table.n_records, np.int64))
        for values in shown.values()
    ]
    everything = np.arange(table.n_records)
    return LinkedView(_together(columns), everything, np.arange(table.n_records + 1))


def perturbed_values(table: Table, published: Published) -> dict[str, IntArray]:
    """Of each record of the table the quasi-identifiers as a perturbed release shows them, as whole numbers."""
    shown: dict[str, IntArray] = {}
    for name, column in table.quasi.items():
        if isinstance(column, NumberColumn):
            numbers = masked_numbers(column, published)
            units = np.clip(np.rint(units_of_numbers(column, np.nan_to_num(numbers))), -FARTHEST, FARTHEST)
            shown[name] = np.where(np.isnan(numbers), MISSING, units.astype(np.int64))
        else:
            shown[name] = masked_codes(column, published)
    return shown


def units_of_numbers(column: NumberColumn, numbers: FloatArray) -> FloatArray:
    """Numbers in the units of a column, in general no whole ones."""
    if column.floats is None:
        return numbers * 10.0**column.decimals
    offset, scale = numbers_of_units(column)
    return (numbers - offset) / scale


def numbers_of_units(column: NumberColumn) -> tuple[float, float]:
    """The number that the unit 0 stands for, and what a unit adds to it."""
    if column.floats is None:
        return 0.0, 10.0**-column.decimals
    present = column.floats if column.is_missing is None else column.floats[~column.is_missing]
    low, high = column.extent
    if high == low:
        return (float(present.min()) if len(present) else 0.0), 1.0
    return float(present.min()), float(np.ptp(present / 2)) / (high - low) * 2  # halves, which are never infinite


def masked_codes(column: CategoryColumn, published: Published) -> IntArray:
    """The category of each record of the table as a release shows it, or MISSING."""
    names = column.categories.cast(pl.String)
    texts = published.frame[column.name].cast(pl.String)
    codes = texts.replace_strict(names, pl.Series(np.arange(len(names))), default=None, return_dtype=pl.Int64)
    if codes.null_count() > texts.null_count():
        raise SchemaError(f"'{column.name}' is not published as single categories, so it cannot be counted by record.")
    shown = np.empty(len(column.codes), dtype=np.int64)
    shown[published.record_of_published] = codes.fill_null(MISSING).to_numpy()
    return shown


def count_sensitive(table: Table, view: ApartView, *, by_person: bool) -> querying.Counted:
    """How many records or persons of each group have each sensitive value.

    Where records are not counted, those to be expected of the group by the persons of each value.
    """
    records = view.records
    everything = np.arange(table.n_records, dtype=np.int32)
    order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    order = counting.order_by_code(records.group_of_record, records.n_groups, order)
    starts, values = [], [np.empty(0, np.int64)]
    counts: list[NDArray[Any]] = [np.empty(0, np.int64)]
    n_before = 0
    for column in table.sensitive.values():
        start, value, n_records, n_persons = counting.values_of_groups(
            order, records.group_of_record, column.codes, table.person_of_record, records.n_groups
        )
        starts.append(start + n_before)
        values.append(np.where(value == len(column.categories), MISSING, value))
        if by_person or view.counts_records:
            counts.append(n_persons if by_person else n_records)
        else:
            group = np.repeat(np.arange(records.n_groups), np.diff(start))
            counts.append(n_persons * (view.n_records / np.bincount(group, weights=n_persons))[group])
        n_before += len(value)
    start = np.stack(starts) if starts else np.zeros((0, records.n_groups + 1), np.int64)
    total = view.n_persons if by_person else records.n_records if view.counts_records else view.n_records
    return querying.Counted(start, np.concatenate(values), np.concatenate(counts), total)


def sensitive_values(table: Table, record_at: IntArray) -> IntArray:
    """The values of each sensitive attribute, records in the order given."""
    values = [values_of(column)[record_at] for column in table.sensitive.values()]
    return np.stack(values) if values else np.empty((0, table.n_records), np.int64)


# --- what places show of quasi-identifiers ----------------------------------------------------------------------------


class _ShownColumn(NamedTuple):
    """One quasi-identifier as places show it: ranges, or sets in `members` from low to high."""

    is_set: bool
    low: IntArray
    high: IntArray
    has_missing: BoolArray
    members: IntArray


def what_places_show(table: Table, places: GroupedRecords, shown: str) -> querying.Shown:
    """What each place shows of the quasi-identifiers as a "range", a "mean", or by "suppress"."""
    describe: Callable[[QuasiColumn, GroupedRecords], _ShownColumn]
    describe = {"range": _as_range, "mean": _as_mean, "suppress": _as_suppressed}[shown]
    return _together([describe(column, places) for column in table.quasi.values()])


def _together(columns: list[_ShownColumn]) -> querying.Shown:
    n_before = 0
    low, high, n_values = [], [], []
    for column in columns:
        n_values.append(column.high - column.low + (not column.is_set) + column.has_missing)
        offset = n_before if column.is_set else 0
        low.append(column.low + offset)
        high.append(column.high + offset)
        n_before += len(column.members)
    return querying.Shown(
        is_set=np.array([column.is_set for column in columns]),
        low=np.stack(low).astype(np.int64),
        high=np.stack(high).astype(np.int64),
        has_missing=np.stack([column.has_missing for column in columns]),
        n_values=np.stack(n_values).astype(np.float64),
        members=np.concatenate([column.members for column in columns]).astype(np.int64),
    )


def _as_range(column: QuasiColumn, places: GroupedRecords) -> _ShownColumn:
    if column.source is not None and column.source.hierarchy is not None:
        return _as_node(column, column.source.hierarchy, places)
    if places.level_of(column):
        return _as_anything(column, places)
    if isinstance(column, CategoryColumn):
        return _as_set(column, places)
    low, high, n_missing = places.extremes(column) if column.floats is not None else shown_ends(column, places)
    return _range(low, high, n_missing, places.n_records)


def _range(low: IntArray, high: IntArray, n_missing: IntArray, n_records: IntArray) -> _ShownColumn:
    """Ranges, empty where every record misses the value."""
    nothing = n_missing == n_records
    return _ShownColumn(
        False, np.where(nothing, 0, low), np.where(nothing, -1, high), n_missing > 0, np.empty(0, np.int64)
    )


def _as_anything(column: QuasiColumn, places: GroupedRecords) -> _ShownColumn:
    """All that the column can be, in every place."""
    everything = GroupedRecords(np.zeros(len(places.group_of_record), np.int32), 1)
    whole = _as_range(column, everything)
    nowhere = np.zeros(places.n_groups, np.int64)
    return whole._replace(low=whole.low[nowhere], high=whole.high[nowhere], has_missing=whole.has_missing[nowhere])


def _as_set(column: CategoryColumn, places: GroupedRecords) -> _ShownColumn:
    """The categories of each place; missing, which is the last of them, is told apart."""
    start, codes, _ = places.categories(column)
    has_missing = codes[start[1:] - 1] == len(column.categories)
    return _ShownColumn(True, start[:-1], start[1:] - has_missing, has_missing, codes)


def _as_node(column: QuasiColumn, hierarchy: Hierarchy, places: GroupedRecords) -> _ShownColumn:
    """The table's values below what a place shows: the lowest node above its values, or a few nodes below that."""
    coded, texts, value_of_code = as_categories(column)
    start, codes, _ = places.categories(coded)
    has_missing = codes[start[1:] - 1] == len(texts)
    node_of_code, _ = hierarchy.codes(texts)
    low, high = np.zeros(places.n_groups, np.int64), np.zeros(places.n_groups, np.int64)
    present = codes < len(texts)
    place = np.repeat(np.arange(places.n_groups), np.diff(start))[present]
    unsettled = np.bincount(place, minlength=places.n_groups) > 0
    members: list[IntArray] = []
    n_before = 0
    lowest = places.level_of(column)
    for level in range(lowest, hierarchy.n_levels):
        nodes = node_of_code[:, level]
        first, last = ends_of_groups(nodes[codes[present]], place, places.n_groups)
        settled = unsettled & (first == last)
        order = np.argsort(nodes, kind="stable")
        start_of_node = np.concatenate([[0], np.cumsum(np.bincount(nodes))])
        low[settled] = n_before + start_of_node[first[settled]]
        high[settled] = n_before + start_of_node[first[settled] + 1]
        members.append(value_of_code[order])
        n_before += len(order)
        unsettled &= ~settled
    sets = {} if places.levels else node_sets(hierarchy, texts, place, codes[present]).nodes_of_group
    for number, several in sets.items():
        below = np.any([node_of_code[:, level] == node for level, node in several], axis=0)
        low[number], high[number] = n_before, n_before + int(below.sum())
        members.append(value_of_code[below])
        n_before += int(below.sum())
    return _ShownColumn(True, low, high, has_missing, np.concatenate(members))


def as_categories(column: QuasiColumn) -> tuple[CategoryColumn, list[str], IntArray]:
    """A column as categories, their texts without missing, and the value that each code stands for."""
    if isinstance(column, CategoryColumn):
        n = len(column.categories)
        return column, names_of_codes(column)[:n], np.arange(n)
    values = values_of(column)
    present = values != MISSING
    distinct, at = np.unique(values[present], return_index=True)
    codes = np.where(present, np.searchsorted(distinct, values), len(distinct)).astype(np.int32)
    floats = None if column.floats is None else column.floats[present][at]
    texts = texts_of_units(column, distinct) if floats is None else texts_of_floats(floats)
    coded = CategoryColumn(column.name, codes, pl.Series(distinct), not present.all())
    return coded, texts.to_list(), distinct


def _as_mean(column: QuasiColumn, places: GroupedRecords) -> _ShownColumn:
    """The unit nearest to the mean, or the most frequent category (of equally frequent ones the first)."""
    if isinstance(column, CategoryColumn):
        start, codes, counts = places.categories(column)
        place = np.repeat(np.arange(places.n_groups), np.diff(start))
        most = codes[np.lexsort((codes, -counts, place))[start[:-1]]]
        is_missing = most == len(column.categories)
        return _ShownColumn(True, most, most + ~is_missing, is_missing, np.arange(column.n_codes))
    _, _, n_missing = places.extremes(column)
    present = 1.0 if column.is_missing is None else (~column.is_missing).astype(np.float64)
    sums = np.bincount(places.group_of_record, weights=column.units * present, minlength=places.n_groups)
    mean = np.rint(sums / np.maximum(places.n_records - n_missing, 1)).astype(np.int64)
    nothing = n_missing == places.n_records
    return _range(mean, mean, np.where(nothing, n_missing, 0), places.n_records)


def _as_suppressed(column: QuasiColumn, places: GroupedRecords) -> _ShownColumn:
    """The value that all records of a place share; where they differ, all that the column can be."""
    if isinstance(column, CategoryColumn):
        start, codes, _ = places.categories(column)
        agree, only = np.diff(start) == 1, codes[start[:-1]]
        is_missing = only == len(column.categories)
        low = np.where(agree, only, 0)
        high = np.where(agree, only + ~is_missing, len(column.categories))
        has_missing = np.where(agree, is_missing, column.has_missing)
        return _ShownColumn(True, low, high, has_missing, np.arange(column.n_codes))
    low, high, n_missing = places.extremes(column)
    nothing = n_missing == places.n_records
    agree = (low == high) & ((n_missing == 0) | nothing)
    lowest, highest = column.extent
    shown = _range(low, high, n_missing, places.n_records)
    return shown._replace(
        low=np.where(agree, shown.low, lowest),
        high=np.where(agree, shown.high, highest),
        has_missing=np.where(agree, shown.has_missing, column.is_missing is not None),
    )
