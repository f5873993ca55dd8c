"""How well a release answers questions: random COUNT queries, their true answers, estimates from what is published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.grouping.grouping import Grouping
from shoal.kernels import counting, querying
from shoal.masking.grouped import GroupedRecords
from shoal.masking.labels import names_of_codes, texts_of_floats, texts_of_units
from shoal.masking.publish import Published
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.table import QuasiColumn, Table

MISSING = querying.MISSING
"""The value that stands for a missing one in conditions."""

Count = Literal["records", "persons"]
SHOWN = ("range", "mean", "suppress", "group", "range+group")
"""The kinds of releases that queries can be answered on."""


class Condition(NamedTuple):
    """That a column's value lies between two values, ends included; equality where both are the same.

    Values are whole numbers as the table holds them: units of numbers, dates and ordered categories, codes of
    categories. `MISSING` as both ends asks for the missing value, which lies in no other interval.
    """

    column: str
    low: int
    high: int


Query = tuple[Condition, ...]
"""COUNT of what meets all conditions, which are on different columns."""
Queries = Sequence[Query]


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """The mean relative error |estimate - truth| / truth of queries; None where there is no such query.

    Attributes
    ----------
    all
        Of all queries whose true answer is above 0.
    below_1_percent, at_least_1_percent
        Of those which return less than 1 % of the records, and of the others.
    n_queries, n_below_1_percent, n_at_least_1_percent
        How many these are.
    n_empty
        Queries whose true answer is 0; no relative error is defined for them, and they are left out.
    """

    all: float | None
    below_1_percent: float | None
    at_least_1_percent: float | None
    n_queries: int
    n_below_1_percent: int
    n_at_least_1_percent: int
    n_empty: int


class Released(Protocol):
    """What `query_error_of` needs of a release."""

    @property
    def table(self) -> Table:
        """The table that was protected."""
        ...

    @property
    def published(self) -> Published:
        """What is published of it."""
        ...

    @property
    def mask(self) -> object:
        """What is shown of a group."""
        ...


# --- drawing queries -----------------------------------------------------------------------------------------------


def random_queries(table: Table, n: int, *, seed: int, conditions: tuple[int, int] = (1, 4)) -> list[Query]:
    """Draw COUNT queries: one condition on a sensitive attribute, the others on different quasi-identifiers.

    Parameters
    ----------
    n
        How many queries; some may be equal.
    seed
        Same table, same seed: same queries.
    conditions
        The fewest and the most conditions of a query, drawn uniformly; where the table has too few quasi-identifiers
        for the most, as many as there can be.

    Notes
    -----
    A condition on numbers, dates or ordered categories is an equality or a range, at even odds; on nominal columns
    it is an equality. Sensitive attributes have an order where they are numbers, dates or times. The equalities of a
    query take the values of one record, drawn for the query, so that they do not exclude each other; a range lies
    between the values of two records, drawn for it among those that have one. Missing is a value like others in
    equalities, and never an end of a range. After Gal, Chen and Gangopadhyay (2008), "Experimental Evaluation".
    """
    fewest, most = _conditions_possible(table, n, conditions)
    rng = np.random.default_rng(seed)
    n_quasi = len(table.quasi)
    names = [*table.quasi, *table.sensitive]
    n_conditions = rng.integers(fewest, most + 1, size=n)
    drawn = np.empty((n, 1 + n_quasi), dtype=np.int64)
    drawn[:, 0] = n_quasi + rng.integers(len(table.sensitive), size=n)
    drawn[:, 1:] = rng.permuted(np.tile(np.arange(n_quasi), (n, 1)), axis=1)
    drawn = drawn[:, :most]
    record = rng.integers(table.n_records, size=n)
    is_range = rng.random(drawn.shape) < 0.5
    ends = rng.random((*drawn.shape, 2))
    low, high = np.empty_like(drawn), np.empty_like(drawn)
    for attribute, name in enumerate(names):
        at = drawn == attribute
        low[at], high[at] = _draw_ends(table, name, record[np.nonzero(at)[0]], is_range[at], ends[at])
    drawn_queries = zip(drawn.tolist(), low.tolist(), high.tolist(), n_conditions.tolist(), strict=True)
    return [
        tuple(map(Condition, [names[attribute] for attribute in attributes[:length]], lows, highs))
        for attributes, lows, highs, length in drawn_queries
    ]


def _conditions_possible(table: Table, n: int, conditions: tuple[int, int]) -> tuple[int, int]:
    """The fewest and most conditions of a query on this table."""
    if not table.sensitive:
        raise SchemaError("Queries need a sensitive attribute, but the schema names none.")
    if n < 1:
        raise ParameterError(f"n must be at least 1, got {n}.")
    fewest, most = conditions
    possible = 1 + len(table.quasi)
    if not 1 <= fewest <= most:
        raise ParameterError(f"conditions must be two numbers, at least 1 and ascending, got {fewest} and {most}.")
    if fewest > possible:
        raise ParameterError(
            f"Queries of {fewest} conditions need {fewest - 1} quasi-identifiers, but the table has {len(table.quasi)}."
        )
    return fewest, min(most, possible)


def _draw_ends(
    table: Table, name: str, record: NDArray[np.int64], is_range: BoolArray, ends: FloatArray
) -> tuple[IntArray, IntArray]:
    """The ends of conditions on a column: a record's value twice, or the values of two records that have one."""
    values = _values(_column(table, name))
    low, high = values[record], values[record]
    present = np.flatnonzero(values != MISSING)
    if len(present) and _has_order(_column(table, name)):
        two = values[present[(ends[is_range] * len(present)).astype(np.int64)]]
        low[is_range], high[is_range] = two.min(axis=1), two.max(axis=1)
    return low, high


def _has_order(column: QuasiColumn) -> bool:
    if isinstance(column, NumberColumn):
        return True
    dtype = column.categories.dtype
    return column.source is None and (dtype.is_numeric() or dtype.is_temporal())


def _column(table: Table, name: str) -> QuasiColumn:
    columns = {**table.quasi, **table.sensitive}
    if name not in columns:
        raise SchemaError(
            f"A query asks for '{name}', which is neither quasi-identifier nor sensitive attribute. "
            f"These are: {', '.join(columns)}.{did_you_mean(name, columns)}"
        )
    return columns[name]


def _values(column: QuasiColumn) -> IntArray:
    """The value of each record as a whole number, or MISSING."""
    if isinstance(column, NumberColumn):
        return column.units if column.is_missing is None else np.where(column.is_missing, MISSING, column.units)
    return np.where(column.codes == len(column.categories), MISSING, column.codes.astype(np.int64))


# --- answers -------------------------------------------------------------------------------------------------------


def true_counts(table: Table, queries: Queries, *, count: Count = "records") -> IntArray:
    """How many records of the table meet each query, or persons with at least one such record.

    Notes
    -----
    O(queries x records) time, a few records a nanosecond.
    """
    by_person = _counts_persons(count)
    columns = {**table.quasi, **table.sensitive}
    asked = _asked(table, queries, tuple(columns))
    everything = np.arange(table.n_records, dtype=np.int32)
    order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    values = np.stack([_values(column)[order] for column in columns.values()])
    return querying.count_matching(values, asked, table.person_of_record[order].astype(np.int64), by_person)


def estimated_counts(
    table: Table, grouping: Grouping, queries: Queries, *, shown: str, count: Count = "records"
) -> FloatArray:
    """What somebody who has the release, and not the table, would answer.

    Parameters
    ----------
    shown
        What the release shows. "range": each group a range of every quasi-identifier, records with their sensitive
        values. "mean", "suppress": the same with the mean of the group, or `*` where its records differ. "group":
        exact quasi-identifiers, and the counts of sensitive values by group and attribute (anatomize, permute).
        "range+group": both masked.
    count
        "records", or "persons": those with at least one record that meets the query.

    Returns
    -------
    An estimate for each query, in general no whole number.

    Notes
    -----
    A record is taken to have each value that its group shows with equal chance, and attributes are taken to be
    independent inside a group. So a record counts with the product of shares, one a condition:

    - range of whole units (years, days, steps of an order, of the last decimal): units in both ranges / units in the
      group's; set of categories: categories asked for / those in the set; with a hierarchy the table's values below
      the node shown; `*`: the whole extent of the column. Missing counts as one more value where the group shows it.
    - mean: 1 where the unit nearest to it, or the most frequent category, meets the condition, else 0.
    - sensitive attribute published apart: the share of the group's records that meet the condition.

    Where persons have several records and sensitive values are published apart, the number of a person's records is not
    told: each person stands for the mean number of their group; and who shows a range of their own values counts by the
    share of it. Persons are estimated as if all records of a person had one place in the range, and persons with a
    value of an interval as the sum over its values, at most all. O(queries x records) time at most.
    """
    if shown not in SHOWN:
        raise ParameterError(f"shown must be one of {', '.join(SHOWN)}, got '{shown}'.")
    by_person = _counts_persons(count)
    quasi = _asked(table, queries, tuple(table.quasi))
    sensitive = _asked(table, queries, tuple(table.sensitive))
    if shown in ("group", "range+group"):
        return _estimate_apart(table, grouping, quasi, sensitive, exact=shown == "group", by_person=by_person)
    return _estimate_linked(table, grouping, quasi, sensitive, shown=shown, by_person=by_person)


def query_error(true: IntArray, estimated: FloatArray, n_records: int) -> QueryError:
    """The mean relative error of estimates; `n_records` is what 1 % is taken of (persons where persons are counted)."""
    asked = true > 0
    error = np.abs(estimated[asked] - true[asked]) / true[asked]
    is_below = true[asked] * 100 < n_records
    below, others = error[is_below], error[~is_below]
    return QueryError(
        all=_mean(error),
        below_1_percent=_mean(below),
        at_least_1_percent=_mean(others),
        n_queries=len(error),
        n_below_1_percent=len(below),
        n_at_least_1_percent=len(others),
        n_empty=len(true) - len(error),
    )


def query_error_of(
    release: Released, *, n: int = 1000, seed: int = 0, conditions: tuple[int, int] = (1, 4), count: Count = "records"
) -> QueryError:
    """The error of n random queries on a release, against the table that it was made from.

    Persons who were left out of the release are not counted in the truth either.
    """
    table = release.table
    queries = random_queries(table, n, seed=seed, conditions=conditions)
    estimated = estimated_counts(table, grouping_of(release), queries, shown=shown_by(release.mask), count=count)
    total = table.n_persons if count == "persons" else table.n_records
    return query_error(true_counts(table, queries, count=count), estimated, total)


def grouping_of(release: Released) -> Grouping:
    """The group of each person, from what the steward knows of a release."""
    table, published = release.table, release.published
    at = published.record_of_published
    person = at if published.tables else table.person_of_record[at]  # sensitive tables: one row a person
    group_of_person = np.empty(table.n_persons, dtype=np.int32)
    group_of_person[person] = published.group_of_record
    return Grouping(group_of_person, int(group_of_person.max()) + 1)


def shown_by(mask: object) -> str:
    """The kind of release that a mask makes, as `estimated_counts` calls it."""
    if not getattr(mask, "links_values", True):
        return "group" if getattr(mask, "quasi_as", "exact") == "exact" else "range+group"
    name = getattr(mask, "name", None)
    if name not in SHOWN:
        raise ParameterError(f"Queries are not answered on the mask '{name}'. Known kinds: {', '.join(SHOWN)}.")
    return str(name)


def _mean(errors: FloatArray) -> float | None:
    return float(errors.mean()) if len(errors) else None


def _counts_persons(count: str) -> bool:
    if count not in ("records", "persons"):
        raise ParameterError(f"count must be 'records' or 'persons', got '{count}'.")
    return count == "persons"


def _asked(table: Table, queries: Queries, columns: tuple[str, ...]) -> querying.Asked:
    """The conditions on some columns, as arrays."""
    number_of_column = {name: number for number, name in enumerate(columns)}
    start, attribute, low, high = [0], [], [], []
    for query in queries:
        if len({condition.column for condition in query}) < len(query):
            raise ParameterError("The conditions of a query must be on different columns. Join those on one column.")
        for column, lowest, highest in query:
            number = number_of_column.get(column)
            if number is None:
                _column(table, column)  # refuses what the table does not have
                continue
            attribute.append(number)
            low.append(lowest)
            high.append(highest)
        start.append(len(attribute))
    return querying.Asked(*(np.array(entries, dtype=np.int64) for entries in (start, attribute, low, high)))


def _estimate_linked(
    table: Table,
    grouping: Grouping,
    quasi: querying.Asked,
    sensitive: querying.Asked,
    *,
    shown: str,
    by_person: bool,
) -> FloatArray:
    records = GroupedRecords.of(table, grouping)
    everything = np.arange(table.n_records, dtype=np.int32)
    order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    order = counting.order_by_code(records.group_of_record, records.n_groups, order)
    start = counting.start_of_code(records.group_of_record, records.n_groups)
    values = [_values(column)[order] for column in table.sensitive.values()]
    return querying.estimate_linked(
        _what_places_show(table, records, shown),
        quasi,
        np.stack(values) if values else np.empty((0, table.n_records), np.int64),
        sensitive,
        table.person_of_record[order].astype(np.int64),
        by_person,
        start,
    )


def _estimate_apart(
    table: Table,
    grouping: Grouping,
    quasi: querying.Asked,
    sensitive: querying.Asked,
    *,
    exact: bool,
    by_person: bool,
) -> FloatArray:
    records = GroupedRecords.of(table, grouping)
    persons = np.bincount(grouping.group_of_person, minlength=grouping.n_groups)
    total = persons if by_person else records.n_records
    if exact:
        everyone = np.arange(table.n_persons, dtype=np.int32)
        order = counting.order_by_code(grouping.group_of_person, grouping.n_groups, everyone)
        place_of_person = np.empty(table.n_persons, dtype=np.int32)
        place_of_person[order] = everyone
        places = GroupedRecords(place_of_person[table.person_of_record], table.n_persons)
        place_start = counting.start_of_code(grouping.group_of_person, grouping.n_groups)
        weight = total / persons
    else:
        places, place_start, weight = records, np.arange(grouping.n_groups + 1), total.astype(np.float64)
    return querying.estimate_apart(
        _what_places_show(table, places, "range"),
        quasi,
        _count_values(table, records, total, by_person),
        sensitive,
        place_start,
        weight,
    )


def _count_values(table: Table, records: GroupedRecords, total: IntArray, by_person: bool) -> querying.Counted:
    """How many records or persons of each group have each sensitive value."""
    everything = np.arange(table.n_records, dtype=np.int32)
    by_person_order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    starts, values, counts = [], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    n_before = 0
    for column in table.sensitive.values():
        order = counting.order_by_code(column.codes, column.n_codes, by_person_order)
        order = counting.order_by_code(records.group_of_record, records.n_groups, order)
        start, value, n_records, n_persons = counting.values_of_groups(
            order, records.group_of_record, column.codes, table.person_of_record, records.n_groups
        )
        starts.append(start + n_before)
        values.append(np.where(value == len(column.categories), MISSING, value))
        counts.append(n_persons if by_person else n_records)
        n_before += len(value)
    start = np.stack(starts) if starts else np.zeros((0, records.n_groups + 1), np.int64)
    return querying.Counted(start, np.concatenate(values), np.concatenate(counts), total)


# --- what groups or persons show of quasi-identifiers ----------------------------------------------------------------


class _ShownColumn(NamedTuple):
    """One quasi-identifier as places show it: ranges, or sets in `members` from low to high."""

    is_set: bool
    low: IntArray
    high: IntArray
    has_missing: BoolArray
    members: IntArray


def _what_places_show(table: Table, places: GroupedRecords, shown: str) -> querying.Shown:
    describe: Callable[[QuasiColumn, GroupedRecords], _ShownColumn]
    describe = {"range": _as_range, "mean": _as_mean, "suppress": _as_suppressed}[shown]
    columns = [describe(column, places) for column in table.quasi.values()]
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
    if isinstance(column, CategoryColumn):
        return _as_set(column, places)
    low, high, n_missing = places.extremes(column)
    return _range(low, high, n_missing, places)


def _range(low: IntArray, high: IntArray, n_missing: IntArray, places: GroupedRecords) -> _ShownColumn:
    """Ranges, empty where every record misses the value."""
    nothing = n_missing == places.n_records
    return _ShownColumn(
        False, np.where(nothing, 0, low), np.where(nothing, -1, high), n_missing > 0, np.empty(0, np.int64)
    )


def _as_set(column: CategoryColumn, places: GroupedRecords) -> _ShownColumn:
    """The categories of each place; missing, which is the last of them, is told apart."""
    start, codes, _ = places.categories(column)
    has_missing = codes[start[1:] - 1] == len(column.categories)
    return _ShownColumn(True, start[:-1], start[1:] - has_missing, has_missing, codes)


def _as_node(column: QuasiColumn, hierarchy: Hierarchy, places: GroupedRecords) -> _ShownColumn:
    """The table's values below the lowest node of a hierarchy that is above all values of a place."""
    coded, texts, value_of_code = _as_categories(column)
    start, codes, _ = places.categories(coded)
    has_missing = codes[start[1:] - 1] == len(texts)
    node_of_code, _ = hierarchy.codes(texts)
    low, high = np.zeros(places.n_groups, np.int64), np.zeros(places.n_groups, np.int64)
    present = codes < len(texts)
    place = np.repeat(np.arange(places.n_groups), np.diff(start))[present]
    unsettled = np.bincount(place, minlength=places.n_groups) > 0
    members: list[IntArray] = []
    n_before = 0
    for level in range(hierarchy.n_levels):
        nodes = node_of_code[:, level]
        first = np.full(places.n_groups, np.iinfo(np.int64).max)
        last = np.full(places.n_groups, -1)
        np.minimum.at(first, place, nodes[codes[present]])
        np.maximum.at(last, place, nodes[codes[present]])
        settled = unsettled & (first == last)
        order = np.argsort(nodes, kind="stable")
        start_of_node = np.concatenate([[0], np.cumsum(np.bincount(nodes))])
        low[settled] = n_before + start_of_node[first[settled]]
        high[settled] = n_before + start_of_node[first[settled] + 1]
        members.append(value_of_code[order])
        n_before += len(order)
        unsettled &= ~settled
    return _ShownColumn(True, low, high, has_missing, np.concatenate(members))


def _as_categories(column: QuasiColumn) -> tuple[CategoryColumn, list[str], IntArray]:
    """A column as categories, their texts without missing, and the value that each code stands for."""
    if isinstance(column, CategoryColumn):
        n = len(column.categories)
        return column, names_of_codes(column)[:n], np.arange(n)
    values = _values(column)
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
    return _range(mean, mean, np.where(nothing, n_missing, 0), places)


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
    shown = _range(low, high, n_missing, places)
    return shown._replace(
        low=np.where(agree, shown.low, lowest),
        high=np.where(agree, shown.high, highest),
        has_missing=np.where(agree, shown.has_missing, column.is_missing is not None),
    )
