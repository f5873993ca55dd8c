"""Answers to COUNT queries equal their definitions, on every kind of release."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import MASKS, Anatomize, Mask, Permute, Range
from shoal.masking.publish import publish
from shoal.measuring.asking import Condition, Query, _draw_interval, random_queries
from shoal.measuring.memberships import _codes_between
from shoal.measuring.queries import estimated_counts, query_error, query_error_of, true_counts
from shoal.measuring.shown import MISSING, SHOWN, grouping_of, shown_by
from shoal.table.hierarchy import Hierarchy
from shoal.table.table import Table
from tests.naive import queries as naive

PARENT = {"p": "left", "q": "left", "r": "right", "s": "right"}
HIERARCHY = Hierarchy.from_rows([(value, parent, "*") for value, parent in PARENT.items()])
KINDS = {"age": "number", "city": "nominal", "code": PARENT}
SCHEMA = Schema(
    person="person",
    quasi=[shoal.Number("age"), shoal.Nominal("city"), shoal.Nominal("code", HIERARCHY)],
    sensitive=["disease", "dose"],
)
TYPES = {"age": pl.Int64, "city": pl.String, "code": pl.String, "disease": pl.String, "dose": pl.Int64}
DOMAIN: dict[str, st.SearchStrategy[Any]] = {
    "age": st.integers(-3, 12),
    "city": st.sampled_from("abc"),
    "code": st.sampled_from("pqrs"),
    "disease": st.sampled_from(["flu", "cold", "gout"]),
    "dose": st.integers(1, 5),
}
records = st.fixed_dictionaries({name: st.none() | values for name, values in DOMAIN.items()})


@st.composite
def conditions(draw: st.DrawFn) -> list[naive.Condition]:
    columns = draw(st.lists(st.sampled_from(sorted(DOMAIN)), unique=True, max_size=5))
    query: list[naive.Condition] = []
    for column in columns:
        ends = draw(st.none() | st.tuples(DOMAIN[column], DOMAIN[column]).map(sorted))
        query.append((column, None, None) if ends is None else (column, *ends))
    return query


persons = st.lists(st.tuples(st.integers(0, 2), st.lists(records, min_size=1, max_size=3)), min_size=1, max_size=9)
single = st.lists(st.tuples(st.integers(0, 2), records.map(lambda record: [record])), min_size=1, max_size=12)


def as_records(drawn: list[tuple[int, list[dict]]]) -> list[naive.Record]:
    numbers = sorted({group for group, _ in drawn})
    return [(numbers.index(group), person, row) for person, (group, rows) in enumerate(drawn) for row in rows]


def table_of(rows: list[naive.Record]) -> tuple[Table, Grouping]:
    frame = pl.DataFrame(
        {"person": [person for _, person, _ in rows], **{name: [row[name] for _, _, row in rows] for name in TYPES}},
        schema={"person": pl.Int64, **TYPES},
    )
    table = Table.from_frame(frame, SCHEMA)
    group_of_person = np.zeros(table.n_persons, np.int32)
    group_of_person[table.person_of_record] = [group for group, _, _ in rows]
    return table, Grouping(group_of_person, int(group_of_person.max()) + 1)


def coded(query: list[naive.Condition], rows: list[naive.Record]) -> Query:
    """The query in the table's whole numbers: ages as they are, all others as places among the values there are."""
    found = []
    for column, low, high in query:
        if low is None:
            found.append(Condition(column, MISSING, MISSING))
        elif column == "age":
            found.append(Condition(column, low, high))
        else:
            known = sorted({row[column] for _, _, row in rows} - {None})
            found.append(Condition(column, bisect_left(known, low), bisect_right(known, high) - 1))
    return tuple(found)


def check(drawn: list[tuple[int, list[dict]]], asked: list[list[naive.Condition]], count: str) -> None:
    rows = as_records(drawn)
    table, grouping = table_of(rows)
    queries = [coded(query, rows) for query in asked]
    assert true_counts(table, queries, count=count).tolist() == [naive.true_count(rows, q, count) for q in asked]
    for shown in SHOWN:
        found = estimated_counts(table, grouping, queries, shown=shown, count=count)
        expected = [naive.estimated_count(rows, query, KINDS, shown, count) for query in asked]
        assert found.tolist() == pytest.approx(expected, abs=1e-9), shown


@given(persons, st.lists(conditions(), min_size=1, max_size=4), st.sampled_from(["records", "persons"]))
def test_answers_are_those_of_the_definitions(drawn: Any, asked: Any, count: str) -> None:
    check(drawn, asked, count)


@given(single, st.lists(conditions(), min_size=1, max_size=4), st.sampled_from(["records", "persons"]))
def test_answers_for_one_record_a_person_are_those_of_the_definitions(drawn: Any, asked: Any, count: str) -> None:
    check(drawn, asked, count)


@given(single, st.lists(conditions(), min_size=1, max_size=4))
def test_groups_of_one_person_lose_nothing(drawn: Any, asked: Any) -> None:
    rows = [(number, number, values[0]) for number, (_, values) in enumerate(drawn)]
    table, grouping = table_of(rows)
    queries = [coded(query, rows) for query in asked]
    for shown in SHOWN:
        found = estimated_counts(table, grouping, queries, shown=shown)
        assert found.tolist() == true_counts(table, queries).tolist(), shown


# --- by hand ---------------------------------------------------------------------------------------------------------


def figure_1() -> Table:
    """Gal, Chen and Gangopadhyay (2008), figure 1: codes of diseases are 0 flu, 1 heart, 2 stomach; of treatments
    0 intravenous therapy, 1 medicine, 2 surgery."""
    frame = pl.DataFrame(
        {
            "age": [42, 41, 49, 43],
            "disease": ["Heart disease", "Heart disease", "Flu", "Stomach disease"],
            "treatment": ["Medicine", "Surgery", "Intravenous therapy", "Intravenous therapy"],
        }
    )
    return Table.from_frame(frame, Schema(quasi=["age"], sensitive=["disease", "treatment"]))


ONE_GROUP = Grouping(np.zeros(4, np.int32), 1)


@pytest.mark.parametrize(
    ("query", "true", "from_ranges", "from_counts"),
    [
        ([("disease", 1, 1)], 2, 2, 2),
        ([("age", 49, 49), ("treatment", 0, 0)], 1, 2 / 9, 2 / 4),
        ([("age", 41, 43), ("disease", 1, 1)], 2, 2 * 3 / 9, 3 * 2 / 4),
        ([("disease", 1, 1), ("treatment", 0, 0)], 0, 0, 4 * 2 / 4 * 2 / 4),
        ([("age", 50, 90), ("disease", 0, 0)], 0, 0, 0),
        ([], 4, 4, 4),
    ],
)
def test_the_four_patients_of_the_paper(query: list[tuple], true: int, from_ranges: float, from_counts: float) -> None:
    table, queries = figure_1(), [tuple(Condition(*condition) for condition in query)]
    assert true_counts(table, queries).tolist() == [true]
    assert estimated_counts(table, ONE_GROUP, queries, shown="range").tolist() == pytest.approx([from_ranges])
    assert estimated_counts(table, ONE_GROUP, queries, shown="group").tolist() == pytest.approx([from_counts])


def test_a_value_of_an_interval_belongs_to_everybody_at_most() -> None:
    """The first has both values, the second one of them: 3 pairs, yet 2 persons; of 4 records each counts as 2."""
    values = {"age": 30, "city": "a", "code": "p", "disease": "flu"}
    rows = [(0, person, {**values, "dose": dose}) for person, dose in [(0, 1), (0, 2), (1, 1), (1, 7)]]
    table, grouping = table_of(rows)
    queries = [(Condition("dose", 0, 1),)]
    assert true_counts(table, queries, count="persons").tolist() == [2]
    assert estimated_counts(table, grouping, queries, shown="group", count="persons").tolist() == [2]
    assert estimated_counts(table, grouping, queries, shown="group", count="records").tolist() == [3]


def of_column(values: list, quasi: Any) -> Table:
    frame = pl.DataFrame({"q": values, "s": ["a"] * len(values)})
    return Table.from_frame(frame, Schema(quasi=[quasi], sensitive=["s"]))


@pytest.mark.parametrize(
    ("values", "quasi", "low", "high", "share"),
    [
        ([1.5, 2.5], shoal.Number("q"), 15, 19, 5 / 11),  # steps of the last decimal
        ([date(2024, 1, 1), date(2024, 1, 10)], shoal.Date("q"), 19723, 19724, 2 / 10),  # days
        (["low", "high"], shoal.Ordered("q", order=("low", "middle", "high")), 1, 2, 2 / 3),
        ([0, None], shoal.Number("q"), MISSING, MISSING, 1 / 2),
        ([0, 2, None], shoal.Number("q"), 0, 1, 2 / 4),
        ([0, 10**18 - 1], shoal.Number("q"), 0, 10**18 // 2, 1 / 2),
        ([12, 13], shoal.Number("q", Hierarchy.of_intervals(low=10, width=5, high=24)), 13, 13, 1 / 2),
        ([12, 13, 22], shoal.Number("q", Hierarchy.of_intervals(low=10, width=5, high=24)), 13, 22, 2 / 3),
    ],
)
def test_a_range_counts_by_its_share(values: list, quasi: Any, low: int, high: int, share: float) -> None:
    table = of_column(values, quasi)
    grouping = Grouping(np.zeros(len(values), np.int32), 1)
    found = estimated_counts(table, grouping, [(Condition("q", low, high),)], shown="range")
    assert found.tolist() == pytest.approx([share * len(values)])


def test_errors_are_split_at_one_percent_of_the_records() -> None:
    true = np.array([0, 1, 9, 10, 500])
    found = query_error(true, np.array([3.0, 2.0, 9.0, 5.0, 550.0]), 1000)
    assert (found.n_queries, found.n_empty) == (4, 1)
    assert (found.n_below_1_percent, found.n_at_least_1_percent) == (2, 2)
    assert found.all == pytest.approx((1 + 0 + 0.5 + 0.1) / 4)
    assert found.below_1_percent == pytest.approx(0.5)
    assert found.at_least_1_percent == pytest.approx(0.3)
    assert found.by_conditions == ()


def test_errors_are_told_apart_by_conditions_and_by_selectivity() -> None:
    true, conditions = np.array([0, 1, 9, 10, 500, 1000]), np.array([1, 1, 2, 2, 3, 3])
    found = query_error(true, np.array([3.0, 2.0, 9.0, 5.0, 550.0, 1000.0]), 1000, n_conditions=conditions)
    assert [(part.conditions, part.n) for part in found.by_conditions] == [(1, 1), (2, 2), (3, 2)]
    assert [part.error for part in found.by_conditions] == pytest.approx([1, 0.25, 0.05])
    bands = [(part.at_least, part.below, part.n) for part in found.by_selectivity]
    assert bands == [(0.001, 0.01, 2), (0.01, 0.1, 1), (0.1, 1.0, 2)]
    assert [part.error for part in found.by_selectivity] == pytest.approx([0.5, 0.5, 0.05])
    assert json.loads(json.dumps(found.to_dict()))["by_conditions"][1] == {"conditions": 2, "error": 0.25, "n": 2}


def test_where_no_query_has_an_answer_there_is_no_error() -> None:
    found = query_error(np.array([0, 0]), np.array([1.0, 0.0]), 10)
    assert (found.all, found.below_1_percent, found.at_least_1_percent, found.n_empty) == (None, None, None, 2)


# --- drawing ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients() -> Table:
    rng = np.random.default_rng(5)
    n = 500
    frame = pl.DataFrame(
        {
            "person": rng.integers(0, 300, n),
            "age": rng.integers(20, 80, n),
            "city": rng.choice(["a", "b", "c", None], n),
            "code": rng.choice(list("pqrs"), n),
            "disease": rng.choice(["flu", "cold", "gout", None], n),
            "dose": rng.integers(1, 40, n),
        }
    )
    return Table.from_frame(frame, SCHEMA)


def test_queries_are_drawn_as_said(patients: Table) -> None:
    queries = random_queries(patients, 2000, seed=1)
    assert {len(query) for query in queries} == {1, 2, 3, 4}
    for query in queries:
        names = [condition.column for condition in query]
        assert len(set(names)) == len(names)
        assert [name in patients.sensitive for name in names] == [True] + [False] * (len(names) - 1)
    drawn = [condition for query in queries for condition in query]
    assert {condition.column for condition in drawn} == {*patients.quasi, *patients.sensitive}
    ranges = {condition.column for condition in drawn if condition.low < condition.high}
    assert ranges == {"age", "dose"}
    assert {condition.column for condition in drawn if condition.low == MISSING} == {"city", "disease"}
    assert all((condition.low == MISSING) == (condition.high == MISSING) for condition in drawn)
    assert all(condition.low <= condition.high for condition in drawn)


def test_equalities_of_a_query_do_not_exclude_each_other(patients: Table) -> None:
    queries = random_queries(patients, 2000, seed=2)
    equalities = [query for query in queries if all(condition.low == condition.high for condition in query)]
    assert len(equalities) > 200
    counts = true_counts(patients, [query for query in equalities if len(query) == 4])
    assert (counts == 0).mean() < 0.1  # a range may have two equal ends by chance
    assert (true_counts(patients, queries) > 0).mean() > 0.7


def test_the_seed_decides(patients: Table) -> None:
    first = random_queries(patients, 50, seed=3)
    assert first == random_queries(patients, 50, seed=3)
    assert first != random_queries(patients, 50, seed=4)


def test_the_number_of_conditions_can_be_chosen(patients: Table) -> None:
    assert {len(query) for query in random_queries(patients, 50, seed=0, conditions=(2, 2))} == {2}
    assert {len(query) for query in random_queries(patients, 200, seed=0, conditions=(4, 9))} == {4}
    table = figure_1()
    assert {len(query) for query in random_queries(table, 100, seed=0)} == {1, 2}


def test_selectivity_says_how_many_values_a_condition_takes(patients: Table) -> None:
    queries = random_queries(patients, 1000, seed=1, conditions=(4, 4), selectivity=0.5)
    n_values = {name: len(set(column.codes.tolist()) - {len(column.categories)})
                for name, column in patients.sensitive.items()}  # fmt: skip
    asked_of = {name: set() for name in ("age", "city", "code", "disease", "dose")}
    for query in queries:
        for condition in query:
            asked_of[condition.column].add(condition.high - condition.low + 1)
    assert asked_of["city"] == {1}  # three cities, of which at most half
    assert asked_of["code"] == {1, 2}
    assert asked_of["dose"] == set(range(1, n_values["dose"] // 2 + 1))
    assert max(asked_of["age"]) <= 30
    assert MISSING not in {condition.low for query in queries for condition in query}


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (5, {"selectivity": 0.0}, "selectivity must lie in"),
        (5, {"selectivity": 1.5}, "selectivity must lie in"),
        (0, {}, "n must be at least 1, got 0"),
        (5, {"conditions": (0, 2)}, "at least 1 and ascending, got 0 and 2"),
        (5, {"conditions": (3, 2)}, "at least 1 and ascending, got 3 and 2"),
        (5, {"conditions": (5, 6)}, "need 4 quasi-identifiers, but the table has 3"),
    ],
)
def test_impossible_queries_are_refused(patients: Table, n: int, options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        random_queries(patients, n, seed=0, **options)


def test_a_table_without_sensitive_attributes_has_no_queries() -> None:
    table = Table.from_frame(pl.DataFrame({"q": [1, 2]}), Schema(quasi=["q"]))
    with pytest.raises(SchemaError, match="sensitive"):
        random_queries(table, 5, seed=0)


def test_what_cannot_be_answered_is_refused(patients: Table) -> None:
    grouping = Grouping(np.zeros(patients.n_persons, np.int32), 1)
    with pytest.raises(SchemaError, match=r"asks for 'doze'[\s\S]*Did you mean 'dose'"):
        true_counts(patients, [(Condition("doze", 0, 1),)])
    with pytest.raises(ParameterError, match="different columns"):
        true_counts(patients, [(Condition("age", 0, 30), Condition("age", 20, 40))])
    with pytest.raises(ParameterError, match="shown must be one of"):
        estimated_counts(patients, grouping, [()], shown="exact")
    with pytest.raises(ParameterError, match="count must be"):
        true_counts(patients, [()], count="rows")  # type: ignore[arg-type]


# --- releases --------------------------------------------------------------------------------------------------------


def test_masks_say_what_they_show() -> None:
    shown = {name: shown_by(mask()) for name, mask in MASKS.items() if getattr(mask, "shows_groups", True)}
    assert list(shown.values()) == ["range", "mean", "suppress", "suppress", "group", "group"]
    assert shown_by(MASKS["perturb"]()) == "perturb"
    assert {shown_by(mask(quasi_as="range")) for mask in (Anatomize, Permute)} == {"range+group"}
    with pytest.raises(ParameterError, match="not answered on the mask 'other'"):
        shown_by(type("Other", (Mask,), {"name": "other"})())


@pytest.mark.parametrize("mask", [Range(), Anatomize(), Anatomize(quasi_as="range")])
def test_the_grouping_of_a_release_is_found_again(patients: Table, mask: Any) -> None:
    group_of_person = np.random.default_rng(8).integers(0, 12, patients.n_persons).astype(np.int32)
    grouping = Grouping(group_of_person, 12)
    release = SimpleNamespace(table=patients, published=publish(patients, grouping, mask), mask=mask)
    assert grouping_of(release).group_of_person.tolist() == group_of_person.tolist()
    assert grouping_of(release).n_groups == 12


def adults() -> pl.DataFrame:
    rng, n = np.random.default_rng(11), 400
    age = rng.integers(20, 80, n)
    return pl.DataFrame(
        {
            "age": age,
            "zip": rng.integers(100, 200, n),
            "income": age * 10 + rng.integers(0, 100, n),
            "job": rng.choice(["a", "b", "c", "d", "e"], n),
        }
    )


def test_exact_quasi_identifiers_answer_better_than_ranges_and_small_groups_better_than_large() -> None:
    schema = Schema(quasi=["age", "zip"], sensitive=["income", "job"])

    def error(k: int, mask: str) -> float:
        release = shoal.protect(adults(), schema, [shoal.KAnonymity(k=k)], mask=mask, seed=1)
        found = query_error_of(release, n=300, seed=3)
        assert found == query_error_of(release, n=300, seed=3)
        assert found.n_queries + found.n_empty == 300
        assert found.all is not None
        return found.all

    assert error(8, "anatomize") < error(8, "range") < error(200, "range")
    assert error(8, "permute") == pytest.approx(error(8, "anatomize"))


def test_persons_can_be_counted_instead_of_records(patients: Table) -> None:
    release = shoal.protect(patients.frame, SCHEMA, [shoal.PersonKAnonymity(k=5)], seed=1)
    by_records, by_persons = (query_error_of(release, n=300, seed=0, count=count) for count in ("records", "persons"))
    assert by_records.n_empty == by_persons.n_empty
    assert by_records.all != by_persons.all


def test_intervals_are_drawn_from_the_first_value_to_the_last() -> None:
    column = Table.from_frame(pl.DataFrame({"q": [10, 20, 30, 40]}), Schema(quasi=["q"])).quasi["q"]
    drawn = np.array([[0.0, 0.0], [0.0, 0.99], [0.99, 0.0], [0.99, 0.99]])
    low, high = _draw_interval(column, 0.5, drawn)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [(10, 10), (40, 40), (10, 20), (30, 40)]


def test_a_range_without_a_value_of_the_table_takes_the_nearest() -> None:
    units = np.array([0, 10, 20])
    low, high = np.array([0, 5, 3, 8, 17, 25, -9, 1]), np.array([10, 25, 4, 9, 18, 30, -5, 0])
    begin, end = _codes_between(units, low, high)
    assert [units[first:last].tolist() for first, last in zip(begin, end, strict=True)] == [
        [0, 10], [10, 20], [0], [10], [20], [20], [0], [],
    ]  # fmt: skip
    nearest, _ = _codes_between(units, np.array([5]), np.array([5]))
    assert nearest.tolist() == [0]  # of two equally near the lower


def test_an_answer_of_just_one_percent_is_not_below_it() -> None:
    error = query_error(np.array([1, 1, 2, 100]), np.array([2.0, 1.0, 2.0, 100.0]), 100)
    assert (error.n_below_1_percent, error.n_at_least_1_percent) == (0, 4)
    error = query_error(np.array([1, 1, 2, 100]), np.array([2.0, 1.0, 2.0, 100.0]), 101)
    assert (error.n_below_1_percent, error.below_1_percent, error.n_at_least_1_percent) == (2, 0.5, 2)
