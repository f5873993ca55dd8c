"""Queries over sets of values, against the definition written out."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError
from shoal.measuring.shown import values_of
from shoal.measuring.value_sets import (
    SetQuery,
    estimated_set_counts,
    random_set_queries,
    set_query_error_of,
    true_set_counts,
)
from tests.naive import queries as naive

SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("city")], sensitive=["disease"])
rows = st.lists(
    st.tuples(st.integers(20, 25), st.sampled_from("uvw"), st.sampled_from(["flu", "cold", "gout"])),
    min_size=6, max_size=25,
).filter(lambda rows: len({disease for _, _, disease in rows}) > 1)  # fmt: skip


def released(given_rows: list[tuple[int, str, str]]) -> shoal.Release:
    frame = pl.DataFrame(given_rows, schema=["age", "city", "disease"], orient="row")
    return shoal.protect(frame, SCHEMA, [shoal.KAnonymity(k=2)], mask="anatomize", effort="low", seed=1)


@settings(max_examples=20)
@given(rows, st.integers(0, 99))
def test_counts_and_estimates_are_those_of_the_definition(drawn: list[tuple[int, str, str]], seed: int) -> None:
    release = released(drawn)
    table = release.table
    queries = random_set_queries(table, 12, dimension=seed % 3, selectivity=0.9, seed=seed)
    assert all(len(query.values) == 1 + seed % 3 for query in queries)
    columns = {name: values_of(column).tolist() for name, column in (*table.quasi.items(), *table.sensitive.items())}
    group = [0] * table.n_records
    for at, number in zip(release.published.record_of_published, release.published.group_of_record, strict=True):
        group[at] = int(number)
    expected = [naive.set_count(columns, query.values) for query in queries]
    assert true_set_counts(table, queries).tolist() == expected
    guessed = [naive.estimated_set_count(columns, group, query.values, sensitive="disease") for query in queries]
    assert estimated_set_counts(release, queries).tolist() == pytest.approx(guessed)


def test_sets_are_as_large_as_asked_for_and_may_be_empty() -> None:
    table = released([(20 + n % 6, "uvw"[n % 3], ["flu", "cold", "gout"][n % 3]) for n in range(18)]).table
    sizes = [len(query.values["age"]) for query in random_set_queries(table, 400, dimension=2, selectivity=0.5, seed=3)]
    assert set(sizes) == {0, 1, 2, 3}
    again = random_set_queries(table, 5, dimension=1, selectivity=0.5, seed=3)
    assert again == random_set_queries(table, 5, dimension=1, selectivity=0.5, seed=3)


def test_a_query_by_hand() -> None:
    """One group of four, two of 41 or 43, half of whom have the flu: 2 x 2/4 = 1."""
    frame = pl.DataFrame({"age": [41, 42, 43, 44], "city": list("uuuv"), "disease": ["flu", "flu", "cold", "gout"]})
    release = shoal.protect(frame, SCHEMA, [shoal.KAnonymity(k=4)], mask="anatomize", seed=1)
    flu = release.table.sensitive["disease"].categories.to_list().index("flu")
    query = SetQuery({"age": frozenset({41, 43}), "disease": frozenset({flu})})
    assert true_set_counts(release.table, [query]).tolist() == [1]
    assert estimated_set_counts(release, [query]).tolist() == [1.0]
    error = set_query_error_of(release, n=50, dimension=1)
    assert error.n_queries + error.n_empty == 50


def test_what_is_refused() -> None:
    ranges = shoal.protect(
        pl.DataFrame({"age": [1, 2], "city": ["u", "v"], "disease": ["a", "b"]}),
        SCHEMA,
        [shoal.KAnonymity(k=2)],
        seed=1,
    )
    with pytest.raises(ParameterError, match="exact quasi-identifiers"):
        set_query_error_of(ranges, n=5, dimension=1)
    for wrong in ({"dimension": 3, "selectivity": 0.5}, {"dimension": 1, "selectivity": 0.0}):
        with pytest.raises(ParameterError):
            random_set_queries(ranges.table, 5, seed=1, **wrong)
