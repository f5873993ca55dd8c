"""Mining gives the rules of the definition, counted on persons, and only the most general ones."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.mining.expectation import expectation, needed_support
from shoal.attacking.mining.mine import mine_rules
from shoal.attacking.mining.rules import Item, Rules
from shoal.errors import ParameterError, SchemaError
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Nominal, Number, Ordered, Schema
from shoal.table.table import Table
from tests.naive import mining as naive

SIZE = [[str(size), "small" if size < 2 else "large", "*"] for size in range(4)]
AGE = [[str(age), f"{age // 2 * 2}-{age // 2 * 2 + 1}", "young" if age < 4 else "old", "*"] for age in range(8)]
JOB = [["clerk", "office", "*"], ["smith", "hand", "*"], ["baker", "hand", "*"]]

record = st.fixed_dictionaries(
    {
        "size": st.integers(0, 3),
        "age": st.integers(0, 7),
        "job": st.sampled_from([*(row[0] for row in JOB), None]),
        "disease": st.sampled_from(["flu", "cold", "asthma", "gout", None]),
        "drug": st.sampled_from(["a", "b"]),
    }
)
tables = st.lists(st.lists(record, min_size=1, max_size=3), min_size=1, max_size=10)

PATHS: naive.Paths = {
    "size": {int(row[0]): row for row in SIZE},
    "age": {int(row[0]): row for row in AGE},
    "job": {**{row[0]: row for row in JOB}, None: ["missing", "*"]},
}


def schema(*, sensitive: tuple[str, ...] = ("disease", "drug")) -> Schema:
    return Schema(
        person="person",
        quasi=[
            Number("size", Hierarchy.from_rows(SIZE)),
            Number("age", Hierarchy.from_rows(AGE)),
            Nominal("job", Hierarchy.from_rows(JOB)),
        ],
        sensitive=sensitive,
        dropped=[name for name in ("disease", "drug") if name not in sensitive],
    )


def frame_of(persons: list[list[dict[str, Any]]]) -> pl.DataFrame:
    """The records of all persons, in disorder."""
    records = [{"person": f"p{place}", **each} for place, person in enumerate(persons) for each in person]
    random.Random(len(records)).shuffle(records)
    types = dict.fromkeys(("person", "job", "disease", "drug"), pl.String)
    return pl.DataFrame(records, schema_overrides=types)


def as_naive(rules: Rules) -> dict[Any, tuple[int, float]]:
    return {
        (
            tuple((item.column, item.node) for item in rule.when),
            (rule.never.column, None if rule.never.node == "missing" else rule.never.node),
        ): (rule.support, rule.expectation)
        for rule in rules
    }


@settings(max_examples=60)
@given(
    persons=tables,
    min_expectation=st.sampled_from([0.3, 0.6, 0.75, 0.9]),
    max_len=st.integers(1, 3),
    margin=st.sampled_from([{}, {"age": 4.0}, {"age": 2.0, "size": 2.0}]),
    conjunction=st.sampled_from(["product", "minimum"]),
)
def test_mining_equals_its_definition(
    persons: list[list[dict[str, Any]]],
    min_expectation: float,
    max_len: int,
    margin: dict[str, float],
    conjunction: str,
) -> None:
    found = mine_rules(
        frame_of(persons), schema(), min_expectation=min_expectation, max_len=max_len, margin=margin,
        conjunction=conjunction,
    )  # fmt: skip
    every = naive.rules(
        persons, PATHS, ("disease", "drug"), min_expectation=min_expectation, max_len=max_len, margin=margin,
        conjunction=conjunction,
    )  # fmt: skip
    expected = naive.most_general(PATHS, every)
    answered = as_naive(found)
    assert answered.keys() == expected.keys()
    for rule, (support, chance) in expected.items():
        assert answered[rule] == (support, pytest.approx(chance))


@given(persons=tables, max_len=st.integers(1, 3))
def test_the_most_general_rules_exclude_what_all_rules_do(persons: list[list[dict[str, Any]]], max_len: int) -> None:
    options: dict[str, Any] = {"min_expectation": 0.5, "max_len": max_len}
    every = naive.rules(persons, PATHS, ("disease",), margin={}, conjunction="product", **options)
    frame, roles = frame_of(persons), schema(sensitive=("disease",))
    values = ["flu", "cold", "asthma", "gout", None]
    allowed = mine_rules(frame, roles, **options).allowed(frame, roles, "disease", values)
    order = sorted(f"p{place}" for place in range(len(persons)))
    for number, name in enumerate(order):
        person = persons[int(name[1:])]
        forbidden = {value for _, value in naive.forbidden(PATHS, every, person)}
        possible = allowed.allowed[allowed.type_of_person[number]]
        assert [value for value, may in zip(values, possible, strict=True) if not may] == [
            value for value in values if value in forbidden
        ]
        assert not any(naive.has(person, "disease", value) for value in forbidden), "somebody's own value is excluded"


def test_more_values_than_fit_a_word() -> None:
    """130 values need three words of bits; each is excluded by what its number leaves when divided by 3."""
    n = 130
    frame = pl.DataFrame({"side": ["abc"[i % 3] for i in range(n)], "code": [f"c{i}" for i in range(n)]})
    rules = mine_rules(frame, Schema(quasi=["side"], sensitive=["code"]), min_expectation=0.25)
    assert len(rules) == 2 * n
    assert all(rule.when[0].node != "abc"[int(rule.never.node[1:]) % 3] for rule in rules)


def test_persons_count_not_records() -> None:
    """One man with a hundred records is one man: he makes no rule."""
    frame = pl.DataFrame(
        {
            "person": ["m"] * 100 + [f"w{i}" for i in range(10)],
            "sex": ["male"] * 100 + ["female"] * 10,
            "disease": ["flu"] * 100 + ["gout"] * 5 + ["flu"] * 5,
        }
    )
    by_person = Schema(person="person", quasi=["sex"], sensitive=["disease"])
    assert not len(mine_rules(frame, by_person))
    by_record = Schema(quasi=["sex"], sensitive=["disease"], dropped=["person"])
    assert [(rule.when[0].node, rule.never.node, rule.support) for rule in mine_rules(frame, by_record)] == [
        ("male", "gout", 100)
    ]


def test_a_person_satisfies_an_item_where_any_record_does() -> None:
    frame = pl.DataFrame(
        {
            "person": [1, 1, 2, 2, 3, 3, 4, 5, 6, 7],
            "city": ["a", "b", "a", "b", "a", "b", "a", "c", "c", "c"],
            "disease": ["flu", "flu", "flu", "flu", "flu", "flu", "flu", "gout", "gout", "gout"],
        }
    )
    rules = mine_rules(frame, Schema(person="person", quasi=["city"], sensitive=["disease"]), min_expectation=0.8)
    assert {(rule.when[0].node, rule.never.node): rule.support for rule in rules} == {
        ("a", "gout"): 4, ("b", "gout"): 3, ("c", "flu"): 3,
    }  # fmt: skip


def test_a_table_brings_its_schema_and_its_order_does_not_matter(visits: pl.DataFrame) -> None:
    roles = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    options: dict[str, Any] = {"min_expectation": 0.3, "max_len": 2}
    rules = mine_rules(visits, roles, **options)
    assert len(rules)
    assert mine_rules(Table.from_frame(visits, roles), **options) == rules
    assert mine_rules(visits.reverse(), roles, **options) == rules
    assert shoal.mine(visits, roles, **options) == rules


def test_numbers_without_a_hierarchy_get_intervals() -> None:
    """Ages 17 to 90: intervals of 5, merged two by two; nobody below 40 has gout."""
    ages = [17, 19, 23, 25, 31, 33, 38, 39, 41, 47, 52, 58, 64, 71, 77, 90] * 4
    frame = pl.DataFrame({"age": ages, "disease": ["gout" if age >= 40 else "flu" for age in ages]})
    rules = mine_rules(frame, Schema(quasi=["age"], sensitive=["disease"]))
    assert {(rule.when[0].node, rule.never.node) for rule in rules} >= {("0-39", "gout"), ("40-79", "flu")}
    assert {rule.when[0].node for rule in rules if rule.never.node == "gout"} == {"0-39"}


def test_a_margin_lets_neighbours_support_and_break_a_rule() -> None:
    """Two persons of 21 are too few; with their neighbours they are enough, unless a neighbour has the value."""
    rows = [[str(age), "*"] for age in range(18, 26)]
    roles = Schema(quasi=[Number("age", Hierarchy.from_rows(rows))], sensitive=["disease"])
    ages = [18] * 6 + [20, 20, 20, 20, 21, 21, 22, 22, 22, 22] + [25] * 6
    diseases = ["gout"] * 6 + ["flu"] * 10 + ["gout"] * 6
    frame = pl.DataFrame({"age": ages, "disease": diseases})

    def of_21(frame: pl.DataFrame, margin: dict[str, float]) -> list[tuple[str, int]]:
        rules = mine_rules(frame, roles, min_expectation=0.95, margin=margin)
        return [(rule.never.node, rule.support) for rule in rules if rule.when[0].node == "21"]

    assert of_21(frame, {}) == []
    assert of_21(frame, {"age": 2}) == [("gout", 2)]  # 2 + 8 / 2 = 6 persons
    broken = pl.concat([frame, pl.DataFrame({"age": [22], "disease": ["gout"]})])
    assert of_21(broken, {"age": 2}) == []


def test_the_minimum_of_two_degrees_counts_more_than_their_product() -> None:
    """Two persons of 21 with one child, and eight who belong to either by a half: 4 persons, or 6. A rule needs 5.1."""
    flat = Hierarchy.from_rows([[str(number), "*"] for number in range(40)])
    roles = Schema(quasi=[Number("age", flat), Number("children", flat)], sensitive=["disease"])
    well = [(21, 1)] * 2 + [(20, 2)] * 8
    ill = [(21, 9), (35, 1)] + [(30 + i % 2, 9) for i in range(8)]
    frame = pl.DataFrame(
        {
            "age": [age for age, _ in well + ill],
            "children": [number for _, number in well + ill],
            "disease": ["flu"] * len(well) + ["gout"] * len(ill),
        }
    )
    for conjunction, n_found in (("product", 0), ("minimum", 1)):
        rules = mine_rules(
            frame, roles, min_expectation=0.97, max_len=2, margin={"age": 2, "children": 2}, conjunction=conjunction
        )
        about = [rule for rule in rules if rule.when == (Item("age", "21"), Item("children", "1"))]
        assert len(about) == n_found
        assert all(rule.support == 2 and rule.never == Item("disease", "gout") for rule in about)
        assert all(rule.expectation == pytest.approx(1 - 0.5**6) for rule in about)


def test_rules_about_some_attributes_only(visits: pl.DataFrame) -> None:
    frame = visits.with_columns(drug=pl.col("disease").str.head(1))
    roles = Schema(person="person", quasi=["age", "city"], sensitive=["disease", "drug"])
    about = [mine_rules(frame, roles, min_expectation=0.3, columns=[name]) for name in ("disease", "drug")]
    both = mine_rules(frame, roles, min_expectation=0.3)
    assert [len(both.about(name)) for name in ("disease", "drug")] == [len(rules) for rules in about]
    assert len(both) == sum(map(len, about)) > 0


def test_a_value_called_missing_and_a_missing_value_are_one() -> None:
    """Person 2 has both, and counts once: three of six have a missing disease."""
    frame = pl.DataFrame(
        {
            "person": [1, 2, 2, 3, 4, 5, 6],
            "sex": ["m", "m", "m", "m", "f", "f", "f"],
            "disease": ["missing", "missing", None, None, "flu", "flu", "flu"],
        }
    )
    rules = mine_rules(frame, Schema(person="person", quasi=["sex"], sensitive=["disease"]), min_expectation=0.8)
    assert {(rule.when[0].node, rule.never.node): rule.expectation for rule in rules} == {
        ("f", "missing"): pytest.approx(1 - 0.5**3),
        ("m", "flu"): pytest.approx(1 - 0.5**3),
    }


def test_a_label_at_two_levels_is_told_apart() -> None:
    rows = [["other", "other", "*"], ["rest", "other", "*"], ["red", "bright", "*"]]
    frame = pl.DataFrame({"colour": ["other", "rest", "red"] * 20, "sign": ["x", "y", "z"] * 20})
    roles = Schema(quasi=[Nominal("colour", Hierarchy.from_rows(rows))], sensitive=["sign"])
    rules = mine_rules(frame, roles)
    assert {(rule.when[0].node, rule.never.node) for rule in rules} == {
        ("other@0", "y"), ("rest", "x"), ("other@1", "z"), ("bright", "x"), ("bright", "y"),
    }  # fmt: skip
    allowed = rules.allowed(frame, roles, "sign", ["x", "y", "z"])
    assert allowed.allowed[allowed.type_of_person[:3]].tolist() == np.eye(3, dtype=bool).tolist()


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, float("nan"), "much", True, None])
def test_a_minimum_expectation_outside_0_and_1_is_refused(visits: pl.DataFrame, value: Any) -> None:
    with pytest.raises(ParameterError, match="above 0 and below 1"):
        mine_rules(visits, Schema(person="person", quasi=["age", "city"], sensitive=["disease"]), min_expectation=value)


@pytest.mark.parametrize("value", [0.99, 0, "high", True])
def test_rules_with_exceptions_are_refused_with_the_reason(visits: pl.DataFrame, value: Any) -> None:
    with pytest.raises(ParameterError, match="does not exclude a value"):
        mine_rules(visits, Schema(person="person", quasi=["age", "city"], sensitive=["disease"]), min_confidence=value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_len": 0}, "max_len must be a whole number of at least 1"),
        ({"max_len": 1.5}, "max_len must be a whole number"),
        ({"conjunction": "sum"}, "product, minimum"),
        ({"margin": {"age": -1}}, "margin of 'age'"),
        ({"margin": {"city": 2}}, "not with 'city'. These are: age"),
        ({"margin": 2}, "given by column"),
    ],
)
def test_parameters_out_of_range_are_refused(visits: pl.DataFrame, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        mine_rules(visits, Schema(person="person", quasi=["age", "city"], sensitive=["disease"]), **options)


def test_rules_need_a_sensitive_attribute(visits: pl.DataFrame) -> None:
    roles = Schema(person="person", quasi=["age", "city"], dropped=["disease"])
    with pytest.raises(SchemaError, match="sensitive attributes, and none is named"):
        mine_rules(visits, roles)
    named = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    with pytest.raises(SchemaError, match="Did you mean 'disease'"):
        mine_rules(visits, named, columns=["diseases"])
    with pytest.raises(SchemaError, match="Schema is expected, got NoneType"):
        mine_rules(visits)


def test_a_hierarchy_that_misses_values_is_refused_with_their_number() -> None:
    frame = pl.DataFrame({"age": [1, 2, 9], "disease": ["a", "b", "c"]})
    roles = Schema(quasi=[Number("age", Hierarchy.from_rows([["1", "*"], ["2", "*"]]))], sensitive=["disease"])
    with pytest.raises(SchemaError, match="misses 1 of 3 different values of column 'age'"):
        mine_rules(frame, roles)


def test_a_hierarchy_that_runs_in_a_circle_is_refused_without_naming_values() -> None:
    rows = [["secret", "a", "b", "a", "*"], ["other", "c", "d", "e", "*"]]
    frame = pl.DataFrame({"place": ["secret", "other"], "disease": ["x", "y"]})
    with pytest.raises(SchemaError, match="runs in a circle: for 1 values") as caught:
        mine_rules(frame, Schema(quasi=[Nominal("place", Hierarchy.from_rows(rows))], sensitive=["disease"]))
    assert "secret" not in str(caught.value)


def test_nothing_is_excluded_where_everybody_has_the_value() -> None:
    frame = pl.DataFrame({"sex": ["m", "f"] * 20, "disease": ["flu"] * 40})
    assert not len(mine_rules(frame, Schema(quasi=["sex"], sensitive=["disease"])))


def test_dates_and_ordered_values_are_named_in_their_own_way() -> None:
    n = 40
    frame = pl.DataFrame(
        {
            "born": [f"2001-0{1 + i % 3}-1{i % 7}" if i % 2 else f"2005-05-0{1 + i % 9}" for i in range(n)],
            "level": ["low" if i % 2 else "high" for i in range(n)],
            "disease": ["flu" if i % 2 else "gout" for i in range(n)],
        }
    )
    roles = Schema(quasi=[shoal.Date("born"), Ordered("level", order=("low", "high"))], sensitive=["disease"])
    rules = mine_rules(frame, roles)
    assert {(rule.when[0], rule.never.node) for rule in rules} == {
        (Item("born", "2001"), "gout"), (Item("born", "2005"), "flu"),
        (Item("level", "low"), "gout"), (Item("level", "high"), "flu"),
    }  # fmt: skip
    allowed = rules.allowed(frame, roles, "disease", ["flu", "gout"])
    assert allowed.allowed[allowed.type_of_person].tolist() == [[i % 2 == 1, i % 2 == 0] for i in range(n)]


# --- expectation ---------------------------------------------------------------------------------------------------


@given(n=st.integers(2, 300), data=st.data(), least=st.sampled_from(["0.5", "0.75", "0.9", "0.99", "1/3"]))
def test_the_needed_support_is_the_smallest_that_is_enough(n: int, data: st.DataObject, least: str) -> None:
    n_with = data.draw(st.integers(1, n - 1))
    chance = Fraction(least)
    needed = needed_support(n, n_with, chance)
    whole = next(count for count in range(10_000) if 1 - Fraction(n - n_with, n) ** count >= chance)
    assert whole - 1 < needed <= whole
    assert expectation(n, n_with, needed) == pytest.approx(float(chance))


def test_equality_is_enough() -> None:
    """Nine of ten have it: two persons are enough for 0.99 exactly, though logarithms say 2.0000000000000004."""
    assert needed_support(10, 9, Fraction("0.99")) == 2
    assert needed_support(10, 5, Fraction("0.75")) == 2
    assert needed_support(3, 3, Fraction("0.9")) == math.inf
