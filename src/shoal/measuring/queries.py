"""How well a release answers COUNT queries: their true answers, estimates from what is published, and the error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from shoal.errors import ParameterError
from shoal.grouping.grouping import Grouping
from shoal.kernels import counting, querying
from shoal.measuring.asking import Queries, asked_of, random_queries
from shoal.measuring.shown import (
    PERTURBED,
    ApartView,
    Released,
    View,
    count_sensitive,
    grouped_view,
    perturbed_values,
    sensitive_values,
    shown_by,
    values_of,
    view_of,
)
from shoal.models.exact import FloatArray, IntArray
from shoal.table.table import Table

Count = Literal["records", "persons"]


SELECTIVITY_BANDS = (0.0, 0.001, 0.01, 0.1, 1.0)
"""The shares of the records between which errors are told apart."""


class ByConditions(NamedTuple):
    """The mean error of the queries with this many conditions, and how many these are."""

    conditions: int
    error: float
    n: int


class BySelectivity(NamedTuple):
    """The mean error of the queries that return at least and less than these shares of the records."""

    at_least: float
    below: float
    """1 includes queries that return everything."""
    error: float
    n: int


class ToldApart:
    """An error that is told apart by the number of conditions of a query, and by the share that it returns."""

    by_conditions: tuple[ByConditions, ...]
    by_selectivity: tuple[BySelectivity, ...]

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract."""
        return {
            **vars(self),
            "by_conditions": [part._asdict() for part in self.by_conditions],
            "by_selectivity": [part._asdict() for part in self.by_selectivity],
        }


@dataclass(frozen=True, kw_only=True)
class QueryError(ToldApart):
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
    by_conditions, by_selectivity
        The same error by the number of conditions, and by the share of the records that a query returns.
    """

    all: float | None
    below_1_percent: float | None
    at_least_1_percent: float | None
    n_queries: int
    n_below_1_percent: int
    n_at_least_1_percent: int
    n_empty: int
    by_conditions: tuple[ByConditions, ...] = ()
    by_selectivity: tuple[BySelectivity, ...] = ()


def true_counts(table: Table, queries: Queries, *, count: Count = "records") -> IntArray:
    """How many records of the table meet each query, or persons with at least one such record.

    Notes
    -----
    O(queries x records) time, a few records per nanosecond.
    """
    columns = {**table.quasi, **table.sensitive}
    values = {name: values_of(column) for name, column in columns.items()}
    return _count(table, values, queries, by_person=counts_persons(count))


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
    independent inside a group. So a record counts with the product of shares, one per condition:

    - range of whole units (years, days, steps of an order, of the last decimal): units in both ranges / units in the
      group's; set of categories: categories asked for / those in the set; with a hierarchy the table's values below
      the node shown; `*`: the whole extent of the column. Missing counts as one more value where the group shows it.
    - mean: 1 where the unit nearest to it, or the most frequent category, meets the condition, else 0.
    - sensitive attribute published apart: the share of the group's records that meet the condition.

    Where persons have several records and sensitive values are published apart, the number of a person's records is not
    told: each person stands for the mean number of their group, and beside exact quasi-identifiers, where no records
    are counted, for that of the table, with values by their persons; and a person who shows a range of their own values
    counts by the share of it. Persons are estimated as if all records of a person had one place in the range, and
    persons with a value of an interval as the sum over its values, at most all. O(queries x records) time at most.
    """
    by_person = counts_persons(count)
    return _estimate(table, grouped_view(table, grouping, shown), queries, by_person=by_person)


def estimated_on(release: Released, queries: Queries, *, count: Count = "records") -> FloatArray:
    """What somebody who has a release would answer: see `estimated_counts`.

    On a perturbed release records are counted as they are published: by the unit nearest to each number, since noise
    has decimals that the column has not.
    """
    table, by_person = release.table, counts_persons(count)
    if shown_by(release.mask) != PERTURBED:
        return _estimate(table, view_of(release), queries, by_person=by_person)
    values = perturbed_values(table, release.published)
    values.update({name: values_of(column) for name, column in table.sensitive.items()})
    return _count(table, values, queries, by_person=by_person).astype(np.float64)


def _estimate(table: Table, view: View, queries: Queries, *, by_person: bool) -> FloatArray:
    quasi = asked_of(table, queries, tuple(table.quasi))
    sensitive = asked_of(table, queries, tuple(table.sensitive))
    if isinstance(view, ApartView):
        counted = count_sensitive(table, view, by_person=by_person)
        weight = counted.total / np.diff(view.place_start_of_group)
        return querying.estimate_apart(view.quasi, quasi, counted, sensitive, view.place_start_of_group, weight)
    order = view.record_at
    return querying.estimate_linked(
        view.quasi,
        quasi,
        sensitive_values(table, order),
        sensitive,
        table.person_of_record[order].astype(np.int64),
        by_person,
        view.start_of_place,
    )


def _count(table: Table, values: Mapping[str, IntArray], queries: Queries, *, by_person: bool) -> IntArray:
    """How many records, or persons with at least one, have values that meet each query."""
    asked = asked_of(table, queries, tuple(values))
    everything = np.arange(table.n_records, dtype=np.int32)
    order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    at = np.stack([values_of_column[order] for values_of_column in values.values()])
    return querying.count_matching(at, asked, table.person_of_record[order].astype(np.int64), by_person)


def query_error(
    true: IntArray, estimated: FloatArray, n_records: int, *, n_conditions: IntArray | None = None
) -> QueryError:
    """The mean relative error of estimates; `n_records` is what 1 % is taken of (persons where persons are counted).

    With the number of conditions of each query the error is told apart by it too.
    """
    asked = true > 0
    error = np.abs(estimated[asked] - true[asked]) / true[asked]
    is_below = true[asked] * 100 < n_records
    below, others = error[is_below], error[~is_below]
    return QueryError(
        all=mean_error(error),
        below_1_percent=mean_error(below),
        at_least_1_percent=mean_error(others),
        n_queries=len(error),
        n_below_1_percent=len(below),
        n_at_least_1_percent=len(others),
        n_empty=len(true) - len(error),
        by_conditions=() if n_conditions is None else errors_by_conditions(error, n_conditions[asked]),
        by_selectivity=errors_by_selectivity(error, true[asked] / n_records),
    )


def errors_by_conditions(error: FloatArray, n_conditions: IntArray) -> tuple[ByConditions, ...]:
    """The mean error for each number of conditions that there is."""
    return tuple(
        ByConditions(int(number), float(error[n_conditions == number].mean()), int((n_conditions == number).sum()))
        for number in np.unique(n_conditions)
    )


def errors_by_selectivity(error: FloatArray, share: FloatArray) -> tuple[BySelectivity, ...]:
    """The mean error in each band of the share of records that a query returns; bands without queries are left out."""
    band_of_query = np.digitize(share, SELECTIVITY_BANDS[1:-1])
    return tuple(
        BySelectivity(
            SELECTIVITY_BANDS[band],
            SELECTIVITY_BANDS[band + 1],
            float(error[band_of_query == band].mean()),
            int((band_of_query == band).sum()),
        )
        for band in np.unique(band_of_query)
    )


def query_error_of(
    release: Released,
    *,
    n: int = 1000,
    seed: int = 0,
    conditions: tuple[int, int] = (1, 4),
    selectivity: float | None = None,
    count: Count = "records",
) -> QueryError:
    """The error of n random queries on a release, against the table that it was made from.

    Persons who were left out of the release are not counted in the truth either.
    """
    table = release.table
    queries = random_queries(table, n, seed=seed, conditions=conditions, selectivity=selectivity)
    estimated = estimated_on(release, queries, count=count)
    total = table.n_persons if count == "persons" else table.n_records
    n_conditions = np.array([len(query) for query in queries])
    return query_error(true_counts(table, queries, count=count), estimated, total, n_conditions=n_conditions)


def mean_error(errors: FloatArray) -> float | None:
    """The mean; None of no errors."""
    return float(errors.mean()) if len(errors) else None


def counts_persons(count: str) -> bool:
    """Whether persons are to be counted; what is neither records nor persons is refused."""
    if count not in ("records", "persons"):
        raise ParameterError(f"count must be 'records' or 'persons', got '{count}'.")
    return count == "persons"
