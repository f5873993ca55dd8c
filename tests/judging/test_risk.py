"""Risks equal their definitions, on any table, in any order, with missing values."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.demo.clinics import clinics, ten_records
from shoal.judging.risk import risk_of_counts
from shoal.publishing.release import Assessment
from tests.models.builders import group_counts
from tests.naive import measures as naive

SCHEMA = Schema(person="p", quasi=[shoal.Nominal("q")], sensitive=["s"])

records = st.lists(
    st.tuples(
        st.none() | st.sampled_from("abc"), st.integers(0, 6), st.none() | st.sampled_from(["flu", "ulcer", "gout"])
    ),
    min_size=1,
    max_size=40,
)


def assess(rows: list[tuple], schema: Schema = SCHEMA) -> Assessment:
    types = {"q": pl.String, "p": pl.Int64, "s": pl.String}
    return shoal.assess(pl.DataFrame(rows, schema=types, orient="row"), schema)


@given(records)
def test_risks_are_those_of_the_definitions(rows: list[tuple]) -> None:
    risk = assess(rows).risk
    groups = naive.groups(rows)
    assert (risk.records, risk.persons, risk.groups) == (len(rows), len(naive.persons(rows)), len(groups))
    of_records = [naive.gidr(rows, group) for group in groups]
    assert risk.max_gidr == max(of_records)
    assert risk.avg_gidr == pytest.approx(sum(of_records) / len(groups), abs=1e-12)
    of_values = [naive.gsar(rows, group) for group in groups]
    assert risk.max_gsar == {"s": max(of_values)}
    assert risk.avg_gsar["s"] == pytest.approx(sum(of_values) / len(groups), abs=1e-12)
    assert risk.h_affiliation == max(of_values)
    assert risk.g_balance == pytest.approx(min(naive.g_balance(rows, group) for group in groups), abs=1e-12)
    sizes = [naive.of_group(rows, group) for group in groups]
    assert (risk.k, risk.person_k) == (min(map(len, sizes)), min(len(naive.persons(own)) for own in sizes))
    assert risk.prosecutor_risk == pytest.approx(naive.prosecutor(rows), abs=1e-12)
    assert risk.journalist_risk == risk.prosecutor_risk  # the bound without knowing the population
    assert risk.marketer_risk == pytest.approx(naive.marketer(rows), abs=1e-12)
    assert risk.unique_persons == naive.unique_persons(rows)


@given(records, st.randoms())
def test_the_order_of_the_records_changes_no_digit(rows: list[tuple], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert assess(rows).risk == assess(shuffled).risk


def test_ten_records_where_counting_records_hides_the_risk() -> None:
    schema = Schema(person="person", quasi=["age", "zip"], sensitive=["disease"])
    risk = shoal.assess(ten_records(), schema).risk
    assert (risk.k, risk.groups, risk.person_k) == (5, 2, 1)  # 1/5 by records
    assert (risk.max_gidr, risk.avg_gidr, risk.unique_persons) == (1.0, 0.6, 1)
    by_records = shoal.assess(ten_records(), Schema(quasi=["age", "zip"], sensitive=["disease"], dropped=["person"]))
    assert by_records.risk.max_gidr == 0.2


def test_the_clinics_after_the_papers_partition() -> None:
    schema = Schema(
        person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
    )
    models = [shoal.GBalance(g=0.5), shoal.HAffiliation(h=0.5)]
    risk = shoal.protect(clinics(), schema, models, cut="median").risk
    assert (risk.groups, risk.max_gidr, risk.max_gsar) == (3, 0.5, {"disease": 0.5})
    assert risk.avg_gidr == pytest.approx(0.4667, abs=5e-5)
    assert (risk.g_balance, risk.h_affiliation) == (0.5, 0.5)


def test_several_sensitive_attributes_each_have_a_risk() -> None:
    frame = pl.DataFrame({"p": [1, 2, 3, 4], "q": ["a"] * 4, "s": ["x"] * 4, "t": ["u", "v", "w", "u"]})
    risk = shoal.assess(frame, Schema(person="p", quasi=["q"], sensitive=["s", "t"])).risk
    assert risk.max_gsar == {"s": 1.0, "t": 0.5}
    assert risk.h_affiliation == 1.0


def test_without_sensitive_attributes_there_is_no_such_risk() -> None:
    frame = pl.DataFrame({"p": [1, 2], "q": ["a", "a"]})
    risk = shoal.assess(frame, Schema(person="p", quasi=["q"])).risk
    assert (risk.max_gsar, risk.avg_gsar, risk.h_affiliation) == ({}, {}, None)


def test_a_missing_sensitive_value_is_a_value() -> None:
    assert assess([("a", 1, None), ("a", 2, None), ("a", 3, "flu")]).risk.max_gsar == {"s": 2 / 3}


def test_one_person_has_risk_one() -> None:
    risk = assess([("a", 1, "flu"), ("a", 1, "ulcer")]).risk
    assert (risk.max_gidr, risk.prosecutor_risk, risk.g_balance, risk.unique_persons) == (1.0, 1.0, 0.0, 1)


def test_groups_of_whole_persons_tell_all_risks_by_their_counts() -> None:
    risk = risk_of_counts(group_counts([(0, "a", 0), (0, "a", 1), (1, "b", 0), (1, "c", 0), (1, "c", 0), (2, "d", 1)]))
    assert (risk.records, risk.persons, risk.groups, risk.k, risk.person_k) == (6, 4, 3, 1, 1)
    assert risk.unique_persons == 2
    assert (risk.max_gidr, risk.g_balance, risk.h_affiliation) == (1.0, 0.0, 1.0)
    assert (risk.prosecutor_risk, risk.journalist_risk, risk.marketer_risk) == (1.0, 1.0, 0.75)
