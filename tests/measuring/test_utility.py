"""What a grouping costs equals its definition."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.demo.clinics import clinics
from shoal.grouping.grouping import Grouping
from shoal.masking.publish import publish
from shoal.masking.ranges import Range
from shoal.measuring.utility import Utility, loss_of_part, measure_utility, utility_of_parts
from shoal.table.table import Table
from tests.naive import measures as naive

KINDS = ("number", "number", "nominal")
quasi_identifiers = st.tuples(
    st.integers(-3, 9),
    st.none() | st.integers(0, 40).map(lambda tenths: tenths / 10),
    st.none() | st.sampled_from("abc"),
)
persons = st.lists(
    st.tuples(st.integers(0, 3), st.lists(quasi_identifiers, min_size=1, max_size=4)), min_size=1, max_size=10
)


def as_records(drawn: list[tuple[int, list[tuple]]]) -> list[tuple]:
    numbers = sorted({group for group, _ in drawn})
    return [(numbers.index(group), person, row) for person, (group, rows) in enumerate(drawn) for row in rows]


def grouped(records: list[tuple]) -> tuple[Table, Grouping]:
    frame = pl.DataFrame(
        [(person, *row) for _, person, row in records],
        schema={"p": pl.Int64, "a": pl.Int64, "b": pl.Float64, "c": pl.String},
        orient="row",
    )
    schema = Schema(person="p", quasi=[shoal.Number("a"), shoal.Number("b"), shoal.Nominal("c")])
    table = Table.from_frame(frame, schema)
    group_of_person = np.zeros(table.n_persons, np.int32)
    for group, person, _ in records:
        group_of_person[person] = group
    return table, Grouping(group_of_person, int(group_of_person.max()) + 1)


def utility(records: list[tuple]) -> Utility:
    return measure_utility(*grouped(records))


@given(persons)
def test_costs_are_those_of_the_definitions(drawn: list[tuple[int, list[tuple]]]) -> None:
    records = as_records(drawn)
    found = utility(records)
    assert found.ane == pytest.approx(naive.ane(records, KINDS), abs=1e-9)
    for name, column, kind in zip("abc", naive.columns(records), KINDS, strict=True):
        assert found.ane_of_column[name] == pytest.approx(naive.ane_of_column(records, column, kind), abs=1e-9)
    assert found.discernability == pytest.approx(naive.discernability(records))
    assert found.average_group_size == pytest.approx(len(records) / len(naive.groups(records)))
    assert found.granularity == pytest.approx(naive.granularity(records, KINDS), abs=1e-9)
    assert found.within_variance == pytest.approx(naive.within_variance(records, KINDS), abs=1e-9)


@given(persons, st.integers(1, 3))
def test_parts_together_lose_what_the_whole_does(drawn: list[tuple[int, list[tuple]]], copies: int) -> None:
    table, grouping = grouped(as_records(drawn))
    part = loss_of_part(table, grouping, publish(table, grouping, Range()), Range())
    found, whole = utility_of_parts([part] * copies), measure_utility(table, grouping)
    mine, all_of_it = asdict(found), asdict(whole)
    columns = mine.pop("columns"), all_of_it.pop("columns")
    for one, another in [(mine, all_of_it), *((columns[0][name], columns[1][name]) for name in columns[1])]:
        assert one.keys() == another.keys()
        for name, value in another.items():
            assert one[name] == pytest.approx(value, abs=1e-9)


def test_the_error_is_a_mean_over_persons_of_the_mean_over_their_records() -> None:
    """One person with values 0, 0, 0 and one with 4 share the mean 1: errors 1 and 3 of a range of 4."""
    records = [(0, 0, (0, 1.0, "a"))] * 3 + [(0, 1, (4, 1.0, "a"))]
    assert utility(records).ane_of_column == {"a": 0.5, "b": 0.0, "c": 0.0}


def test_groups_of_equal_records_cost_nothing() -> None:
    found = utility([(0, 0, (1, 0.5, "a")), (0, 1, (1, 0.5, "a")), (1, 2, (9, None, None)), (1, 3, (9, None, None))])
    assert (found.ane, found.granularity, found.within_variance) == (0.0, 1.0, 0.0)
    assert (found.discernability, found.average_group_size) == (2.0, 2.0)


def test_everything_in_one_group_hides_everything() -> None:
    found = utility([(0, 0, (1, 0.5, "a")), (0, 1, (9, 4.0, "b"))])
    assert (found.granularity, found.within_variance) == (0.0, 1.0)


def test_columns_of_one_value_cost_nothing() -> None:
    found = utility([(0, person, (5, 5.0, "a")) for person in range(4)])
    assert (found.ane, found.granularity, found.within_variance) == (0.0, 1.0, 0.0)


def test_best_cuts_lose_less_than_median_cuts_on_the_clinics() -> None:
    schema = Schema(
        person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
    )
    models = [shoal.RecordRisk(rho=0.6)]
    best, improved, median = (
        shoal.protect(clinics(), schema, models, **options).utility
        for options in ({"effort": "low"}, {}, {"cut": "median"})
    )
    assert best.within_variance <= median.within_variance
    assert improved.ane <= best.ane


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308, 1.0], [10**18 - 1, -(10**18) + 1, 0], [1 / 3, 2 / 3, 1.0]])
def test_numbers_of_any_size_give_finite_costs(values: list[float]) -> None:
    frame = pl.DataFrame({"q": values})
    found = shoal.protect(frame, Schema(quasi=["q"]), [shoal.KAnonymity(k=3)]).utility
    assert 0 < found.ane < 1
    assert found.granularity == pytest.approx(0.0)
