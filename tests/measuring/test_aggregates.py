"""Answers to SUM, AVERAGE, MIN and MAX queries equal their definitions, on every kind of release."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.engines.contract import checked_kinds
from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import MASKS
from shoal.measuring.aggregates import (
    KINDS,
    Aggregate,
    aggregate_error,
    aggregate_error_of,
    estimated_aggregates,
    numeric_columns,
    random_aggregates,
    refuse_no_numbers,
    true_aggregates,
)
from shoal.measuring.asking import Condition
from shoal.measuring.shown import MISSING
from shoal.table.table import Table
from tests.measuring import test_queries as counts
from tests.naive import aggregates as naive

MASK_OF_SHOWN = {
    "range": MASKS["range"](),
    "mean": MASKS["mean"](),
    "suppress": MASKS["suppress"](),
    "group": MASKS["anatomize"](),
    "range+group": MASKS["anatomize"](quasi_as="range"),
}
asked = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(["age", "dose"]), counts.conditions()), min_size=1, max_size=4
)


def released(table: Table, grouping: Grouping, mask: Any) -> SimpleNamespace:
    """A release of which only the grouping is looked at."""
    order = np.argsort(table.person_of_record, kind="stable") if mask.name != "anatomize" else None
    if order is None:
        published = SimpleNamespace(
            tables={"x": 0},
            record_of_published=np.arange(table.n_persons),
            group_of_record=grouping.group_of_person,
            levels={},
            hidden={},
        )
    else:
        group = grouping.group_of_person[table.person_of_record[order]]
        published = SimpleNamespace(tables={}, record_of_published=order, group_of_record=group, levels={}, hidden={})
    return SimpleNamespace(table=table, published=published, mask=mask)


def nearly(found: np.ndarray, expected: list[float | None]) -> None:
    assert [None if np.isnan(one) else one for one in found.tolist()] == [
        None if one is None else pytest.approx(one, abs=1e-8) for one in expected
    ]


def check(drawn: Any, queries: Any) -> None:
    rows = counts.as_records(drawn)
    table, grouping = counts.table_of(rows)
    known = numeric_columns(table)
    queries = [query for query in queries if query[1] in known]
    coded = [Aggregate(kind, column, counts.coded(query, rows)) for kind, column, query in queries]
    true, _ = true_aggregates(table, coded) if coded else (np.empty(0), None)
    nearly(true, [naive.true_answer(rows, kind, column, query) for kind, column, query in queries])
    for shown, mask in MASK_OF_SHOWN.items():
        found = estimated_aggregates(released(table, grouping, mask), coded) if coded else np.empty(0)
        expected = [
            naive.estimated_answer(rows, kind, column, query, counts.KINDS, shown) for kind, column, query in queries
        ]
        try:
            nearly(found, expected)
        except AssertionError as error:
            raise AssertionError(shown) from error


@given(counts.persons, asked)
def test_answers_are_those_of_the_definitions(drawn: Any, queries: Any) -> None:
    check(drawn, queries)


@given(counts.single, asked)
def test_answers_for_one_record_a_person_are_those_of_the_definitions(drawn: Any, queries: Any) -> None:
    check(drawn, queries)


@given(counts.single, asked)
def test_groups_of_one_person_lose_nothing(drawn: Any, queries: Any) -> None:
    rows = [(number, number, values[0]) for number, (_, values) in enumerate(drawn)]
    table, grouping = counts.table_of(rows)
    coded = [
        Aggregate(kind, column, counts.coded(query, rows))
        for kind, column, query in queries
        if column in numeric_columns(table)
    ]
    if not coded:
        return
    true, n_records = true_aggregates(table, coded)
    for mask in MASK_OF_SHOWN.values():
        found = estimated_aggregates(released(table, grouping, mask), coded)
        is_sum = np.array([query.kind == "sum" for query in coded])
        assert found[n_records > 0] == pytest.approx(true[n_records > 0])
        assert np.isnan(found[(n_records == 0) & ~is_sum]).all()
        assert (found[(n_records == 0) & is_sum] == 0).all()


# --- by hand ---------------------------------------------------------------------------------------------------------


def four() -> Table:
    """Two women of 30 and 40 and two men of 50 and 60; two have the flu (code 1) with doses 1 and 9, two a cold."""
    frame = pl.DataFrame(
        {
            "age": [30, 40, 50, 60],
            "sex": ["f", "f", "m", "m"],
            "disease": ["flu", "cold", "flu", "cold"],
            "dose": [1, 5, 9, 5],
        }
    )
    return Table.from_frame(frame, Schema(quasi=["age", "sex"], sensitive=["disease", "dose"]))


FLU = (Condition("disease", 1, 1),)
WOMEN = (Condition("sex", 0, 0),)


@pytest.mark.parametrize(
    ("shown", "kind", "column", "query", "true", "estimate"),
    [
        # ranges: everybody is 30 to 60, 45 on average; the two with flu are known
        ("range", "sum", "age", FLU, 80, 90),
        ("range", "average", "age", FLU, 40, 45),
        # two of 31 years each: the lower is 39 or less with 1 - (21/31)^2 = 0.541, 38 or less with 0.496
        ("range", "min", "age", FLU, 30, 39),
        ("range", "max", "age", FLU, 50, 51),
        # {f, m}: each of the four is a woman by half
        ("range", "sum", "dose", WOMEN, 6, 10),
        ("range", "average", "dose", WOMEN, 3, 5),
        # of 15 chances in 16 that there is any, the one with dose 1 is there in 8; dose 1 is the middle
        ("range", "min", "dose", WOMEN, 1, 1),
        ("range", "max", "dose", WOMEN, 5, 9),
        # exact ages and sexes, the doses of the group: 1, 5, 5, 9
        ("group", "average", "dose", WOMEN, 3, 5),
        ("group", "sum", "dose", WOMEN, 6, 10),
        # two women, each has 1 by a quarter (7/16 that any has: below half), 5 or less by three quarters
        ("group", "min", "dose", WOMEN, 1, 5),
        # by half each, the four ages with flu: 30 is there in 8 of the 15 chances that there is any
        ("group", "average", "age", FLU, 40, 45),
        ("group", "min", "age", FLU, 30, 30),
        ("group", "max", "age", (*FLU, *WOMEN), 30, 40),
        # the mean of all ages is 45
        ("mean", "min", "age", FLU, 30, 45),
        # the most frequent sex, of equally frequent ones the first: everybody is a woman
        ("mean", "sum", "dose", WOMEN, 6, 20),
        # a condition on what is asked for: of 30 to 60 those of 30 to 39 are ten, 34.5 on average
        ("range", "average", "age", (*FLU, Condition("age", 30, 39)), 30, 34.5),
        ("range", "sum", "age", (*FLU, Condition("age", 30, 39)), 30, 2 * 10 / 31 * 34.5),
        ("group", "sum", "dose", (*WOMEN, Condition("dose", 1, 2)), 5, 2 * (5 + 5 + 9) / 4),
    ],
)
def test_four_patients_in_one_group(
    shown: str, kind: str, column: str, query: tuple, true: float, estimate: float
) -> None:
    table, queries = four(), [Aggregate(kind, column, query)]
    assert true_aggregates(table, queries)[0].tolist() == [true]
    found = estimated_aggregates(released(table, Grouping(np.zeros(4, np.int32), 1), MASK_OF_SHOWN[shown]), queries)
    assert found.tolist() == pytest.approx([estimate])


def test_missing_numbers_are_left_out_and_can_be_all() -> None:
    frame = pl.DataFrame({"age": [30, None, 40, None], "disease": ["a", "a", "b", "c"]})
    table = Table.from_frame(frame, Schema(quasi=["age"], sensitive=["disease"]))
    release = released(table, Grouping(np.zeros(4, np.int32), 1), MASK_OF_SHOWN["range"])
    queries = [Aggregate("average", "age", (Condition("disease", code, code),)) for code in (0, 2)]
    queries.append(Aggregate("sum", "age", (Condition("age", MISSING, MISSING),)))
    true, n_records = true_aggregates(table, queries)
    assert true.tolist() == [30, pytest.approx(np.nan, nan_ok=True), pytest.approx(np.nan, nan_ok=True)]
    assert n_records.tolist() == [1, 0, 0]
    assert estimated_aggregates(release, queries).tolist() == pytest.approx([35, 35, 0])


def test_errors_are_relative_scaled_and_told_apart() -> None:
    table = four()
    queries = [Aggregate("average", "age", FLU), Aggregate("average", "dose", (*FLU, *WOMEN))] * 2
    true, estimated = np.array([40.0, 0.0, np.nan, 5.0]), np.array([50.0, 4.0, 1.0, np.nan])
    found = aggregate_error(table, queries, true, estimated, np.array([2, 1, 0, 1]))
    assert found.all == pytest.approx((10 / 40 + 1) / 2)  # no answer is wholly wrong
    assert found.scaled == pytest.approx((10 / 30 + 4 / 8 + 1) / 3)
    assert (found.n_queries, found.n_zero, found.n_empty, found.n_unanswered) == (2, 1, 1, 1)
    assert [tuple(part) for part in found.by_conditions] == [(1, 0.25, 1), (2, 1.0, 1)]
    assert [tuple(part) for part in found.by_selectivity] == [(0.1, 1.0, 0.625, 2)]
    sums = [query._replace(kind="sum") for query in queries]
    assert aggregate_error(table, sums, true, estimated, np.array([2, 1, 0, 1])).scaled is None


# --- which columns, which queries ------------------------------------------------------------------------------------


def test_numeric_attributes_are_those_that_have_a_sum() -> None:
    frame = pl.DataFrame(
        {
            "age": [30, 40],
            "zip": ["02139", "02140"],
            "born": ["2020-01-01", "2021-01-01"],
            "level": ["low", "high"],
            "city": ["1", "2"],
            "income": ["1200.5", "-3"],
            "icd": ["001", "002"],
            "dose": [1.5, None],
            "disease": ["a", "1"],
        }
    )
    quasi = ["age", "zip", shoal.Date("born"), shoal.Ordered("level"), shoal.Nominal("city")]
    schema = Schema(quasi=quasi, sensitive=["income", "icd", "dose", "disease"])
    assert numeric_columns(Table.from_frame(frame, schema)) == ("age", "income", "dose")


def test_queries_are_drawn_as_said() -> None:
    table = four()
    queries = random_aggregates(table, 600, kind="sum", seed=1)
    assert queries == random_aggregates(table, 600, kind="sum", seed=1)
    assert queries != random_aggregates(table, 600, kind="sum", seed=2)
    assert {query.column for query in queries} == {"age", "dose"}
    for query in queries:
        names = [condition.column for condition in query.conditions]
        assert query.column not in names
        assert [name in table.sensitive for name in names] == [True] + [False] * (len(names) - 1)
    assert {query.column for query in random_aggregates(table, 50, kind="max", seed=1, columns=["dose"])} == {"dose"}
    alone = Table.from_frame(table.frame.select("sex", "dose"), Schema(quasi=["sex"], sensitive=["dose"]))
    assert {query.conditions[0].column for query in random_aggregates(alone, 50, kind="min", seed=1)} == {"sex"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "median"}, ParameterError, "kind must be one of sum, average, min, max"),
        ({"kind": "sum", "n": 0}, ParameterError, "n must be at least 1"),
        ({"kind": "sum", "columns": ["sex"]}, SchemaError, "'sex' holds no numbers.*Numeric here: age, dose"),
        ({"kind": "sum", "columns": ["doze"]}, SchemaError, "asks for 'doze'"),
    ],
)
def test_impossible_queries_are_refused(options: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        random_aggregates(four(), options.pop("n", 5), seed=0, **options)


def test_a_table_without_numbers_has_no_sum() -> None:
    table = Table.from_frame(pl.DataFrame({"q": ["a"], "s": ["b"]}), Schema(quasi=["q"], sensitive=["s"]))
    with pytest.raises(SchemaError, match="need a numeric attribute"):
        random_aggregates(table, 5, kind="sum", seed=0)
    with pytest.raises(ParameterError, match="must be one of"):
        true_aggregates(four(), [Aggregate("median", "age", ())])


def test_kinds_are_checked() -> None:
    assert checked_kinds(["count", "sum", "count"]) == ("count", "sum")
    with pytest.raises(ParameterError, match=r"no kind of query 'avrage'[\s\S]*Did you mean 'average'"):
        checked_kinds(["avrage"])
    with pytest.raises(ParameterError, match="must be a list"):
        checked_kinds("sum")


# --- releases --------------------------------------------------------------------------------------------------------

SCHEMA = Schema(quasi=["age", "zip"], sensitive=["income", "job"])


def error_of(k: int, mask: str, kind: str, **options: Any) -> float:
    release = shoal.protect(counts.adults(), SCHEMA, [shoal.KAnonymity(k=k)], mask=mask, seed=1, **options)
    found = aggregate_error_of(release, kind=kind, n=200, seed=3)
    assert found == aggregate_error_of(release, kind=kind, n=200, seed=3)
    assert found.n_queries + found.n_empty + found.n_zero == 200
    assert found.all is not None
    return found.all


@pytest.mark.parametrize("kind", KINDS)
def test_small_groups_answer_better_than_large(kind: str) -> None:
    assert error_of(5, "range", kind) < error_of(200, "range", kind)
    assert error_of(5, "anatomize", kind) == pytest.approx(error_of(5, "permute", kind))


def test_a_perturbed_release_answers_from_its_own_numbers() -> None:
    release = shoal.protect(
        counts.adults(), SCHEMA, [shoal.KAnonymity(k=5)], method="mdav", mask="perturb", seed=1, round_to_domain=True
    )
    shown = release.data
    jobs = (Condition("job", 2, 2),)
    older = (Condition("age", 50, 59), *jobs)
    queries = [Aggregate(kind, "age", query) for kind in KINDS for query in (jobs, older)]
    queries.append(Aggregate("max", "income", older))
    with_job = shown.filter(pl.col("job") == "c")
    are_older = with_job.filter(pl.col("age").is_between(50, 59))
    expected = [
        with_job["age"].sum(), are_older["age"].sum(), with_job["age"].mean(), are_older["age"].mean(),
        with_job["age"].min(), are_older["age"].min(), with_job["age"].max(), are_older["age"].max(),
        are_older["income"].max(),
    ]  # fmt: skip
    assert estimated_aggregates(release, queries).tolist() == pytest.approx(expected)


def test_means_keep_sums_of_large_parts() -> None:
    release = shoal.protect(counts.adults(), SCHEMA, [shoal.KAnonymity(k=5)], mask="mean", seed=1)
    everybody = [Aggregate("sum", "age", ()), Aggregate("average", "zip", ())]
    true, _ = true_aggregates(release.table, everybody)
    assert estimated_aggregates(release, everybody) == pytest.approx(true, rel=1e-4)


def test_protect_answers_the_kinds_asked_for() -> None:
    asked_for = {"queries": 50, "query_kinds": ("count", "max", "sum")}
    release = shoal.protect(counts.adults(), SCHEMA, [shoal.KAnonymity(k=5)], seed=1, **asked_for)  # type: ignore[arg-type]
    assert release.query_error is not None
    assert list(release.aggregate_error) == ["max", "sum"]
    told = json.loads(json.dumps(release.to_dict()))["aggregate_error"]
    assert told == json.loads(json.dumps({kind: one.to_dict() for kind, one in release.aggregate_error.items()}))
    assert {part["conditions"] for part in told["sum"]["by_conditions"]} <= {1, 2, 3}
    only = shoal.protect(counts.adults(), SCHEMA, [shoal.KAnonymity(k=5)], seed=1, queries=50, query_kinds=["min"])
    assert only.query_error is None
    assert list(only.aggregate_error) == ["min"]
    none = shoal.protect(counts.adults(), SCHEMA, [shoal.KAnonymity(k=5)], seed=1)
    assert "aggregate_error" not in none.to_dict()


def test_what_cannot_be_asked_is_refused_before_the_work() -> None:
    with pytest.raises(ParameterError, match="no kind of query 'mode'"):
        shoal.protect(counts.adults(), SCHEMA, [shoal.KAnonymity(k=5)], queries=5, query_kinds=["mode"])
    texts = counts.adults().with_columns(pl.all().cast(pl.String))
    schema = Schema(quasi=[shoal.Nominal("age"), shoal.Nominal("zip")], sensitive=["job"], dropped=["income"])
    with pytest.raises(SchemaError, match="need a numeric attribute"):
        shoal.protect(texts, schema, [shoal.KAnonymity(k=400)], queries=5, query_kinds=["sum"])


def test_sums_on_a_table_without_numbers_are_refused_and_counts_are_not() -> None:
    table = Table.from_frame(pl.DataFrame({"city": ["x", "y"]}), Schema(quasi=["city"]))
    refuse_no_numbers(table, ["count"])
    with pytest.raises(SchemaError):
        refuse_no_numbers(table, ["count", "sum"])
    refuse_no_numbers(Table.from_frame(pl.DataFrame({"age": [1, 2]}), Schema(quasi=["age"])), ["sum"])
