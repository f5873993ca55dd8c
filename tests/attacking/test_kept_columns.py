"""Kept columns: whoever knows what is published unchanged finds the persons who have it alone."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from tests.naive import attacks as naive

SCHEMA = shoal.Schema(person="who", quasi=[shoal.Nominal("age")], sensitive=["ill"], kept=["weight", "ward"])


def table(rows: Sequence[tuple[int, str, int, str]]) -> pl.DataFrame:
    columns = {"who": pl.Int64, "age": pl.String, "weight": pl.Int64, "ward": pl.String}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(ill=pl.lit("flu"))


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab"), st.integers(0, 3), st.sampled_from("xy")),
                min_size=1, max_size=12))  # fmt: skip
def test_chances_are_those_of_the_definition(rows: list[tuple[int, str, int, str]]) -> None:
    by_kept, with_quasi = shoal.attack(table(rows), schema=SCHEMA, attacks=["kept-columns"]).results
    assert by_kept.success == pytest.approx(naive.found_by([row[0] for row in rows], [row[2:] for row in rows]))
    assert with_quasi.success == pytest.approx(naive.found_by([row[0] for row in rows], [row[1:] for row in rows]))


def test_it_names_the_columns_and_is_not_tried_without_them() -> None:
    rows = [(1, "a", 70, "x"), (2, "a", 70, "x"), (3, "a", 81, "x")]
    found = shoal.attack(table(rows), schema=SCHEMA, attacks=["kept-columns"]).results[0]
    assert (found.success, found.blind, found.details["certain"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3), 1)
    assert found.knows == "'weight', 'ward' of one record of the person."
    bare = shoal.Schema(person="who", quasi=[shoal.Nominal("age")], sensitive=["ill"], dropped=["weight", "ward"])
    (why,) = shoal.attack(table(rows).drop("weight", "ward"), schema=bare, attacks=["kept-columns"]).not_tried
    assert why.why == "No column is published unchanged."


def test_records_without_ids_give_a_lower_bound() -> None:
    rows = table([(1, "a", 70, "x"), (1, "a", 70, "x"), (3, "a", 81, "x")]).drop("who")
    schema = shoal.Schema(
        person="who", quasi=[shoal.Nominal("age")], sensitive=["ill"], kept=["weight", "ward"], person_ids="none"
    )
    found = shoal.attack(rows, schema=schema, attacks=["kept-columns"]).results[0]
    assert (found.success, found.is_exact) == (pytest.approx(2 / 3), False)
