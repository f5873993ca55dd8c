"""A table that cannot be protected is refused: which model, what the whole table reaches, and what could be met."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.errors import CannotSatisfyError
from shoal.grouping.feasibility import counts_of_whole, refuse_impossible
from shoal.models import (
    AlphaKAnonymity,
    EntropyBalance,
    GBalance,
    HAffiliation,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
)
from shoal.models.contract import worst_of
from shoal.table.schema import Schema
from shoal.table.table import Table
from tests.grouping.tables import Small, small_tables

TOO_STRICT: list[tuple[Model, str]] = [
    (GBalance(g=0.99), "g"),
    (HAffiliation(h=0.01), "h"),
    (RecordRisk(rho=0.01), "rho"),
    (EntropyBalance(k=99), "k"),
    (KAnonymity(k=999), "k"),
    (PersonKAnonymity(k=99), "k"),
    (LDiversity(l=99), "l"),
    (LDiversity(l=99, count="persons"), "l"),
    (LDiversity(l=99, kind="distinct"), "l"),
    (LDiversity(l=99, kind="distinct", count="persons"), "l"),
    (LDiversity(l=99, kind="entropy"), "l"),
    (LDiversity(l=99, kind="recursive", c=2), "l"),
    (AlphaKAnonymity(alpha=0.01, k=1), "alpha"),
]


def refused(table: Table, models: list[Model]) -> str:
    with pytest.raises(CannotSatisfyError) as caught:
        refuse_impossible(table, models)
    assert caught.value.exit_code == 3
    return str(caught.value)


@settings(max_examples=80)
@given(small_tables(may_miss=False), st.sampled_from(TOO_STRICT))
def test_the_message_names_what_is_reached_and_the_advice_can_be_met(small: Small, asked: tuple[Model, str]) -> None:
    model, parameter = asked
    table = small.table
    message = refused(table, [model])
    reached = worst_of(model, model.reached(counts_of_whole(table, [model])))
    assert message.startswith(f"{model.name} {model.asked:g} cannot be met by any grouping")
    assert f"{table.n_records:,} records of {table.n_persons:,} persons" in message
    assume(reached > 0)
    assert f"reach {reached:.4g}." in message
    advice = re.search(r"Ask for at (most|least) ([\d.]*\d)(?:, or|\.$)", message)
    assert advice is not None
    assert advice[1] == ("most" if model.higher_is_safer else "least")
    value: Any = Fraction(advice[2])
    assert abs(float(value) - reached) < 1.0001e-4
    refuse_impossible(table, [replace(model, **{parameter: int(value) if value.denominator == 1 else value})])


def test_where_no_threshold_can_be_met_none_is_advised() -> None:
    frame = pl.DataFrame({"person": ["a", "b", "c"], "age": [1, 2, 3], "disease": ["flu", "flu", "flu"]})
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["disease"]))
    message = refused(table, [LDiversity(l=2, kind="recursive", c=0.5)])
    assert "reach 0" in message
    assert "Ask for" not in message
    assert "no smaller threshold can be met" in message
    assert "max_suppressed" in message


def test_too_few_records_for_k_are_not_blamed_on_alpha() -> None:
    frame = pl.DataFrame({"person": ["a", "b", "c"], "age": [1, 2, 3], "disease": ["flu", "cold", "x"]})
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["disease"]))
    message = refused(table, [AlphaKAnonymity(alpha=0.5, k=5)])
    assert "too few" in message
    assert "at least 0.3334" not in message


def test_every_impossible_model_is_named_and_no_other() -> None:
    frame = pl.DataFrame({"person": ["a", "b", "b"], "age": [1, 2, 3], "disease": ["flu", "flu", "cold"]})
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["disease"]))
    message = refused(table, [GBalance(g=0.9), PersonKAnonymity(k=2), HAffiliation(h=0.2, column="disease")])
    assert message.splitlines() == [
        "g-balance 0.9 cannot be met by any grouping: all 3 records of 2 persons together reach 0.4444. Ask for at "
        "most 0.4444, or allow persons to be left out (max_suppressed) or records of persons who have many "
        "(max_records).",
        "h-affiliation 0.2 on 'disease' cannot be met by any grouping: all 3 records of 2 persons together reach 1. "
        "Ask for at least 1, or allow persons to be left out (max_suppressed) or records of persons who have many "
        "(max_records).",
    ]


def test_one_person_cannot_hide() -> None:
    frame = pl.DataFrame({"person": ["a", "a"], "age": [1, 2], "disease": ["flu", "cold"]})
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["disease"]))
    assert "one person only" in refused(table, [KAnonymity(k=1)])


def test_persons_left_out_are_counted_in_the_message() -> None:
    frame = pl.DataFrame({"person": ["a", "b", "c", "d"], "age": [1, 2, 3, 4], "disease": ["flu"] * 4})
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["disease"]))
    smaller = table.without_persons(table.person_of_record == 0)
    assert "without the 1 persons left out" in refused(smaller, [HAffiliation(h=0.5)])


@given(st.integers(1, 400), st.integers(1, 400))
def test_the_advice_is_rounded_to_the_side_that_can_be_met(one: int, other: int) -> None:
    """Two persons with so many records: g, rounded down to four digits, can be met."""
    rows = [("a", 1, "flu")] * one + [("b", 2, "cold")] * other
    table = Table.from_frame(
        pl.DataFrame(rows, schema=["person", "age", "disease"], orient="row"),
        Schema(person="person", quasi=["age"], sensitive=["disease"]),
    )
    for model, parameter in ((GBalance(g=0.999), "g"), (RecordRisk(rho=0.001), "rho")):
        advice = re.search(r"Ask for at \w+ ([\d.]+), or", refused(table, [model]))
        assert advice is not None
        assert -Decimal(advice[1]).as_tuple().exponent <= 4
        refuse_impossible(table, [replace(model, **{parameter: Fraction(advice[1])})])
