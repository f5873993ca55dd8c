"""How well a release answers queries for a SUM, AVERAGE, MIN or MAX of a numeric attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.errors import ParameterError, SchemaError
from shoal.kernels import querying
from shoal.masking.grouped import GroupedRecords
from shoal.masking.mean import Mean
from shoal.masking.shown_labels import numbers_of
from shoal.measuring.asking import Query, asked_of, column_of, random_conditions
from shoal.measuring.queries import (
    ByConditions,
    BySelectivity,
    ToldApart,
    errors_by_conditions,
    errors_by_selectivity,
    mean_error,
)
from shoal.measuring.shown import (
    MISSING,
    PERTURBED,
    ApartView,
    Released,
    View,
    count_sensitive,
    grouping_of,
    numbers_of_units,
    sensitive_values,
    shown_by,
    units_of_numbers,
    values_of,
    view_of,
)
from shoal.measuring.statistics import masked_numbers
from shoal.models.exact import FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import QuasiColumn, Table

KINDS = ("sum", "average", "min", "max")
QUERY_KINDS = ("count", *KINDS)
"""What a query can ask for."""
FARTHEST = 2**62


class Aggregate(NamedTuple):
    """A query for the sum, average, min or max of a numeric attribute, over the records that meet all conditions.

    Records that miss the attribute are left out, as in SQL.
    """

    kind: str
    column: str
    conditions: Query


@dataclass(frozen=True, kw_only=True)
class AggregateError(ToldApart):
    """How far the estimates of one kind of query are off; None where there is no query to take a mean of.

    Attributes
    ----------
    all
        The mean of |estimate - truth| / |truth|, over queries whose true answer is not 0.
    scaled
        The mean of |estimate - truth| / extent of the column, over all queries that have an answer; None for sums.
    n_queries
        Over how many queries the mean `all` is.
    n_zero
        Queries whose true answer is 0; they count in `scaled` only.
    n_empty
        Queries that no record with a number meets; they are left out.
    n_unanswered
        Queries that the release has no answer to, since it shows nobody who could meet them, though somebody does.
        They count as wholly wrong: with an error of 1.
    by_conditions, by_selectivity
        The error `all` by the number of conditions, and by the share of the records that a query is about.
    """

    all: float | None
    scaled: float | None
    n_queries: int
    n_zero: int
    n_empty: int
    n_unanswered: int
    by_conditions: tuple[ByConditions, ...] = ()
    by_selectivity: tuple[BySelectivity, ...] = ()


def refuse_no_numbers(table: Table, kinds: Sequence[str]) -> None:
    """Refuse queries for sums and the like on a table that has nothing to sum."""
    if any(kind in KINDS for kind in kinds):
        _numeric(table, None)


# --- which attributes, which queries ----------------------------------------------------------------------------------


def numeric_columns(table: Table) -> tuple[str, ...]:
    """The attributes that have a sum: quasi-identifiers that are numbers, sensitive attributes whose values all are.

    Dates and ordered categories are none, nor are codes that are padded with zeros.
    """
    return tuple(name for name in (*table.quasi, *table.sensitive) if _numbers_of(column_of(table, name)) is not None)


def random_aggregates(
    table: Table,
    n: int,
    *,
    kind: str,
    seed: int,
    conditions: tuple[int, int] = (1, 4),
    columns: Sequence[str] | None = None,
) -> list[Aggregate]:
    """Draw queries of one kind: a numeric attribute drawn uniformly, and conditions on other columns.

    Parameters
    ----------
    kind
        "sum", "average", "min" or "max".
    seed, conditions
        As for `random_queries`: of the conditions one is on a sensitive attribute, unless the only one is asked for.
    columns
        The attributes to ask for; None for all numeric ones.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got '{kind}'.")
    if n < 1:
        raise ParameterError(f"n must be at least 1, got {n}.")
    asked = _numeric(table, columns)
    rng = np.random.default_rng(seed)
    column_of_query = rng.integers(len(asked), size=n)
    found = [Aggregate(kind, "", ())] * n
    for number, name in enumerate(asked):
        places = np.flatnonzero(column_of_query == number)
        if len(places):
            drawn = random_conditions(table, len(places), besides=name, conditions=conditions, rng=rng)
            for place, query in zip(places, drawn, strict=True):
                found[place] = Aggregate(kind, name, query)
    return found


def _numeric(table: Table, columns: Sequence[str] | None) -> tuple[str, ...]:
    known = numeric_columns(table)
    if not known:
        raise SchemaError(
            "SUM, AVERAGE, MIN and MAX need a numeric attribute, but no quasi-identifier or sensitive attribute is one."
        )
    for name in columns or ():
        if name not in known:
            column_of(table, name)
            raise SchemaError(f"'{name}' holds no numbers, so it has no sum. Numeric here: {', '.join(known)}.")
    return tuple(columns) if columns else known


def _numbers_of(column: QuasiColumn) -> FloatArray | None:
    """The number of each record, NaN where it is missing; None where the column holds no numbers."""
    if isinstance(column, NumberColumn):
        if column.kind != "number" or column.width:
            return None
        return numbers_of(column)
    of_codes = _numbers_of_codes(column)
    return None if of_codes is None else np.append(of_codes, np.nan)[column.codes]


def _numbers_of_codes(column: CategoryColumn) -> FloatArray | None:
    """The number that each category stands for, ascending; None where one stands for none."""
    dtype = column.categories.dtype
    if column.source is not None or not (dtype.is_numeric() or dtype in (pl.String, pl.Categorical, pl.Enum)):
        return None
    texts = column.categories.cast(pl.String)
    numbers = texts.cast(pl.Float64, strict=False)
    is_code = texts.str.contains(r"^[+-]?0\d").any()
    if not len(numbers) or numbers.null_count() or not numbers.is_finite().all() or is_code:
        return None
    return numbers.to_numpy()


# --- answers -------------------------------------------------------------------------------------------------------


def true_aggregates(table: Table, queries: Sequence[Aggregate]) -> tuple[FloatArray, IntArray]:
    """The answer to each query, NaN where no record has one, and how many records it is taken from.

    Notes
    -----
    O(queries x records) time.
    """
    columns = {**table.quasi, **table.sensitive}
    values = np.stack([values_of(column) for column in columns.values()])
    answers, counts = np.full(len(queries), np.nan), np.zeros(len(queries), np.int64)
    for name, places in _places_by_column(table, queries).items():
        numbers = _numbers_of(columns[name])
        assert numbers is not None
        asked = asked_of(table, [queries[place].conditions for place in places], tuple(columns))
        count, total, lowest, highest = querying.aggregate_matching(values, asked, numbers)
        with np.errstate(invalid="ignore"):
            found = {"sum": np.where(count, total, np.nan), "average": total / count, "min": lowest, "max": highest}
        answers[places] = [found[queries[place].kind][at] for at, place in enumerate(places)]
        counts[places] = count
    return answers, counts


def estimated_aggregates(release: Released, queries: Sequence[Aggregate]) -> FloatArray:
    """What somebody who has the release, and not the table, would answer; NaN where it shows nobody to answer from.

    Notes
    -----
    A record meets the conditions with the chance with which it counts in `shoal.measuring.queries.estimated_counts`,
    and has each number that its place shows with equal chance: each whole unit of a range, each value of the table
    below a node; the mean itself and the perturbed number itself, with their decimals; or, where values are counted by
    group, each value by its count.

    - SUM is the sum over records of chance times mean number.
    - AVERAGE is that sum divided by the number of records to be expected.
    - MIN is the middle of its distribution: the lowest number such that a record that meets the conditions with this
      number or a lower one is at least as likely as not, if there is any record at all; records are taken as
      independent. MAX likewise. (The lowest number that anybody could have would be too low in general.)

    Where persons have several records and values are published apart, each person stands for the mean number of records
    of their group, and beside exact quasi-identifiers, where no records are counted, for that of the table, with values
    by their persons. O(queries x records) time, times the logarithm of the number of units for MIN and MAX.
    """
    table, view = release.table, view_of(release)
    estimates = np.full(len(queries), np.nan)
    for name, places in _places_by_column(table, queries).items():
        estimates[places] = _estimate(release, view, name, [queries[place] for place in places])
    return estimates


def _places_by_column(table: Table, queries: Sequence[Aggregate]) -> dict[str, IntArray]:
    """Which queries ask for each numeric attribute."""
    _numeric(table, tuple(dict.fromkeys(query.column for query in queries)))
    for query in queries:
        if query.kind not in KINDS:
            raise ParameterError(f"The kind of a query must be one of {', '.join(KINDS)}, got '{query.kind}'.")
    asked = np.array([query.column for query in queries], dtype=object)
    return {name: np.flatnonzero(asked == name) for name in dict.fromkeys(asked)}


def _estimate(release: Released, view: View, name: str, queries: Sequence[Aggregate]) -> FloatArray:
    """Estimates for queries that ask for one attribute."""
    table = release.table
    others = [tuple(one for one in query.conditions if one.column != name) for query in queries]
    quasi = asked_of(table, others, tuple(table.quasi))
    sensitive = asked_of(table, others, tuple(table.sensitive))
    spread, units = _spread(release, view, name)
    asker = _asker(queries, units)
    if isinstance(view, ApartView):
        counted = count_sensitive(table, view, by_person=False)
        places_of_group = np.diff(view.place_start_of_group)
        times = np.repeat(counted.total / places_of_group, places_of_group)
        return querying.aggregate_apart(
            view.quasi, quasi, counted, sensitive, view.place_start_of_group, times, spread, name in table.quasi, asker
        )
    values = sensitive_values(table, view.record_at)
    return querying.aggregate_linked(
        view.quasi, quasi, values, sensitive, view.start_of_place, spread, name in table.quasi, asker
    )


def _asker(queries: Sequence[Aggregate], units: IntArray | None) -> querying.Asker:
    """What queries ask for, and their conditions on the attribute itself: in units, or by place among those given."""
    own = [next((one for one in query.conditions if one.column == query.column), None) for query in queries]
    low = np.array([-FARTHEST if one is None else one.low for one in own], dtype=np.int64)
    high = np.array([FARTHEST if one is None else one.high for one in own], dtype=np.int64)
    if units is not None:
        low, high = np.searchsorted(units, low, "left"), np.searchsorted(units, high, "right") - 1
    asks_missing = np.array([one is not None and one.low == MISSING for one in own])
    low, high = np.where(asks_missing, 1, low), np.where(asks_missing, 0, high)  # nobody: they have no number
    return querying.Asker(np.array([KINDS.index(query.kind) for query in queries]), low, high)


# --- what is shown of the attribute that is asked for -----------------------------------------------------------------


def _spread(release: Released, view: View, name: str) -> tuple[querying.Spread, IntArray | None]:
    """The numbers that places, groups or records can have; and of single numbers the nearest units, ascending."""
    table = release.table
    if name in table.sensitive:
        return _spread_of_sensitive(table, view, name), None
    column = table.quasi[name]
    assert isinstance(column, NumberColumn)
    shown = shown_by(release.mask)
    if shown == PERTURBED:
        return _points(column, masked_numbers(column, release.published))
    if shown == "mean":
        records = GroupedRecords.of(table, grouping_of(release))
        means = Mean().mask(column, records, table).cast(pl.Float64).fill_null(float("nan"))
        return _points(column, means.to_numpy())
    return _spread_of_quasi(view.quasi, list(table.quasi).index(name), column), None


def _spread_of_quasi(shown: querying.Shown, attribute: int, column: NumberColumn) -> querying.Spread:
    offset, scale = numbers_of_units(column)
    low, high, total = shown.low[attribute], shown.high[attribute], shown.n_values[attribute]
    if not shown.is_set[attribute]:
        nothing = np.empty(0)
        return querying.Spread(False, low, high, total, np.empty(0, np.int64), nothing, nothing, offset, scale)
    spread = _set_of(low, high, total, shown.members, np.ones(len(shown.members)), np.empty(0))
    return spread._replace(offset=offset, scale=scale)


def _spread_of_sensitive(table: Table, view: View, name: str) -> querying.Spread:
    """By group the values as they are counted; by record its own."""
    number = _numbers_of_codes(table.sensitive[name])
    assert number is not None
    if isinstance(view, ApartView):
        counted = count_sensitive(table, view, by_person=False)
        start = counted.start[list(table.sensitive).index(name)]
        members, weight, total = counted.value, counted.count.astype(np.float64), counted.total.astype(np.float64)
    else:
        members = values_of(table.sensitive[name])[view.record_at]
        start, weight, total = np.arange(len(members) + 1), np.ones(len(members)), np.ones(len(members))
    ends_in_missing = members[start[1:] - 1] == MISSING  # its code is the last of a group
    return _set_of(start[:-1], start[1:] - ends_in_missing, total, members, weight, number)


def _points(column: NumberColumn, numbers: FloatArray) -> tuple[querying.Spread, IntArray]:
    """Holders that show one number each, or none; the lattice is that of the different numbers."""
    is_shown = ~np.isnan(numbers)
    distinct, place = np.unique(numbers[is_shown], return_inverse=True)
    members = np.zeros(len(numbers), np.int64)
    members[is_shown] = place.reshape(-1)
    start, ones = np.arange(len(numbers)), np.ones(len(numbers))
    units = np.clip(np.rint(units_of_numbers(column, distinct)), -float(FARTHEST), float(FARTHEST)).astype(np.int64)
    return _set_of(start, start + is_shown, ones, members, ones, distinct), units


def _set_of(
    low: IntArray, high: IntArray, total: FloatArray, members: IntArray, weight: FloatArray, number: FloatArray
) -> querying.Spread:
    """Sets of whole numbers, each from low to high in `members`; what lies in none of them is left out."""
    first, last = int(low.min()), int(high.max())
    members, weight = members[first:last], weight[first:last]
    members = np.where(members == MISSING, members.max(initial=0), members)  # stands in no set
    return querying.Spread(True, low - first, high - first, total, members, weight, number, 0.0, 1.0)


# --- errors --------------------------------------------------------------------------------------------------------


def aggregate_error(
    table: Table, queries: Sequence[Aggregate], true: FloatArray, estimated: FloatArray, n_records: IntArray
) -> AggregateError:
    """The error of estimates; `n_records` says how many records each query is about. All queries are of one kind."""
    asked = ~np.isnan(true)
    truth, found = true[asked], estimated[asked]
    is_unanswered = np.isnan(found)
    distance = np.where(is_unanswered, np.inf, np.abs(found - truth))
    is_zero = truth == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(is_unanswered, 1.0, distance / np.abs(truth))[~is_zero]
    scaled = None
    if len(queries) and queries[0].kind != "sum":
        extents = {name: _extent(table, name) for name in {query.column for query in queries}}
        extent = np.array([extents[query.column] for query in queries])[asked]
        scaled = mean_error(np.where(is_unanswered, 1.0, distance / extent))
    n_conditions = np.array([len(query.conditions) for query in queries])[asked][~is_zero]
    return AggregateError(
        all=mean_error(relative),
        scaled=scaled,
        n_queries=len(relative),
        n_zero=int(is_zero.sum()),
        n_empty=len(true) - len(truth),
        n_unanswered=int(is_unanswered.sum()),
        by_conditions=errors_by_conditions(relative, n_conditions),
        by_selectivity=errors_by_selectivity(relative, n_records[asked][~is_zero] / table.n_records),
    )


def aggregate_error_of(
    release: Released,
    *,
    kind: str,
    n: int = 1000,
    seed: int = 0,
    conditions: tuple[int, int] = (1, 4),
    columns: Sequence[str] | None = None,
) -> AggregateError:
    """The error of n random queries of one kind on a release, against the table that it was made from.

    Parameters
    ----------
    kind
        "sum", "average", "min" or "max".
    seed, conditions, columns
        As for `random_aggregates`.

    Notes
    -----
    Persons who were left out of the release are not in the truth either.
    """
    queries = random_aggregates(release.table, n, kind=kind, seed=seed, conditions=conditions, columns=columns)
    true, n_records = true_aggregates(release.table, queries)
    return aggregate_error(release.table, queries, true, estimated_aggregates(release, queries), n_records)


def _extent(table: Table, name: str) -> float:
    numbers = _numbers_of(column_of(table, name))
    assert numbers is not None
    present = numbers[~np.isnan(numbers)]
    return float(np.ptp(present)) or 1.0 if len(present) else 1.0
