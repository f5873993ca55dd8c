"""Rules as things: what they say, how they are kept, and what they leave possible for each person."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacking.mining.rules import Item, Rule, Rules, as_node, persons_satisfying
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Date, Nominal, Number, Ordered, Schema


def rule(never: tuple[str, str] = ("disease", "flu"), **when: str) -> Rule:
    return Rule(tuple(Item(column, node) for column, node in when.items()), Item(*never))


def possible(rules: Rules, frame: pl.DataFrame, schema: Schema, column: str, values: list[Any]) -> list[list[Any]]:
    """For each person the values that are left."""
    found = rules.allowed(frame, schema, column, values)
    assert found.type_of_person.max() < found.n_types == len({row.tobytes() for row in found.allowed})
    rows = found.allowed[found.type_of_person]
    return [[value for value, may in zip(values, row, strict=True) if may] for row in rows]


texts = st.text(max_size=4)


@given(
    st.lists(
        st.builds(
            Rule,
            st.dictionaries(texts.map("q".__add__), texts, min_size=1, max_size=3).map(
                lambda when: tuple(Item(column, node) for column, node in when.items())
            ),
            st.builds(Item, st.just("s"), texts),
            st.integers(0, 10**6),
            st.none() | st.floats(0, 1),
            st.sampled_from(["mined", "stated"]),
        ),
        max_size=4,
    )
)
def test_rules_survive_a_file(some: list[Rule]) -> None:
    rules = Rules(tuple(some))
    assert Rules.from_json(rules.to_json()) == rules
    assert Rules.from_json(rules.to_json().encode()) == rules
    assert Rules.from_json(rules.to_dict()) == rules


@pytest.mark.parametrize(
    "told",
    ["", "[]", '{"rules": 3}', '{"rules": [{"when": {}}]}', '{"rules": [{"when": {"a": "b"}, "never": {}}]}',
     '{"rules": [{"when": {"a": ["b"]}, "never": {"s": "x"}}]}', {"other": []}, "\ud800"],
)  # fmt: skip
def test_what_holds_no_rules_is_refused(told: Any) -> None:
    with pytest.raises(InputError, match="The rules cannot be read"):
        Rules.from_json(told)


def test_a_sequence_of_rules() -> None:
    rules = Rules((rule(sex="m"), rule(("drug", "a"), sex="f")))
    assert len(rules) == 2
    assert rules[0] == rule(sex="m")
    assert rules[1:] == Rules((rules[1],))
    assert list(rules.about("drug")) == [rules[1]]
    assert rules[0].claim == Rule((Item("sex", "m"),), Item("disease", "flu"), 9, 0.5, "mined").claim


@pytest.mark.parametrize(
    ("when", "never", "words"),
    [
        ((), Item("disease", "flu"), "does not say whom"),
        ((Item("sex", "m"), Item("sex", "f")), Item("disease", "flu"), "each column once"),
        ((Item("disease", "cold"),), Item("disease", "flu"), "follows from itself"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(when: tuple[Item, ...], never: Item, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Rule(when, never)


def test_a_rule_of_unknown_source_and_an_item_that_is_no_text_are_refused() -> None:
    with pytest.raises(ParameterError, match="mined, stated"):
        Rule((Item("sex", "m"),), Item("disease", "flu"), source="heard")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must be text, not int"):
        Item("age", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "node"),
    [("m", "m"), (True, "true"), (3, "3"), (2.0, "2"), (0.5, "0.5"), (Decimal("1.50"), "1.5"), (None, "missing"),
     (date(2024, 5, 31), "2024-05-31")],
)  # fmt: skip
def test_what_somebody_wrote_as_rules_name_it(written: Any, node: str) -> None:
    assert as_node(written) == node


def test_a_person_satisfies_an_item_where_any_record_does(visits: pl.DataFrame) -> None:
    schema = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    values = ["asthma", "cold", "flu", None]
    rules = Rules(
        (
            rule(city="south"),
            rule(("disease", "cold"), age="30-39", city="north"),
            rule(("disease", "missing"), city="missing"),
        )
    )
    assert possible(rules, visits, schema, "disease", values) == [
        ["asthma", "flu", None],  # p1: thirty and in the north
        ["asthma", None],  # p2: also went south
        ["asthma", "cold", None],
        ["asthma", "cold", None],
        ["asthma", "cold", "flu", None],
        ["asthma", "cold", "flu"],  # p6: one city is missing
    ]
    assert persons_satisfying(rule(age="30-39", city="south"), visits, schema).tolist() == [
        False, True, False, False, False, False,
    ]  # fmt: skip


def test_persons_come_in_the_order_of_their_numbers_whatever_that_of_the_records(visits: pl.DataFrame) -> None:
    schema = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    rules = Rules((rule(city="south"), rule(("disease", "cold"), city="west")))
    values = ["asthma", "cold", "flu"]
    in_order = possible(rules, visits, schema, "disease", values)
    assert possible(rules, visits.reverse(), schema, "disease", values) == in_order
    without = possible(rules, visits.drop("person"), schema, "disease", values)
    assert len(without) == len(visits), "without the person column each record is a person"


def test_no_rule_leaves_everything(visits: pl.DataFrame) -> None:
    schema = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    found = Rules((rule(("drug", "a"), city="south"),)).allowed(visits, schema, "disease", ["flu", "cold"])
    assert found.allowed.tolist() == [[True, True]]
    assert found.type_of_person.tolist() == [0] * 6


def test_more_items_than_fit_a_word() -> None:
    n = 150
    frame = pl.DataFrame({"code": [f"c{i}" for i in range(n)], "disease": [str(i % 7) for i in range(n)]})
    schema = Schema(quasi=["code"], sensitive=["disease"])
    rules = Rules(tuple(rule(("disease", str(i % 7)), code=f"c{i}") for i in range(n)))
    assert possible(rules, frame, schema, "disease", list("0123456")) == [
        [value for value in "0123456" if value != str(i % 7)] for i in range(n)
    ]


AGES = Hierarchy.of_intervals(low=0, width=5, high=99)
ZIPS = Hierarchy.of_prefixes(["02139", "02140", "90210"], lengths=[3])
LISTED = Hierarchy.from_rows([["1", "low", "*"], ["2", "low", "*"], ["7", "high", "*"]])


@pytest.mark.parametrize(
    ("column", "values", "node", "satisfied"),
    [
        (Number("q"), [19, 20, 29, 30, None], "20-29", [0, 1, 1, 0, 0]),
        (Number("q"), [-6, -5, -1, 0], "-5 to -1", [0, 1, 1, 0]),
        (Number("q"), [1.4, 1.5, 1.99, 2.0], "[1.5, 2.0)", [0, 1, 1, 0]),
        (Number("q"), [20, 21], "21", [0, 1]),
        (Number("q"), ["02139", "02140"], "2139", [1, 0]),
        (Number("q"), [1, None], "missing", [0, 1]),
        (Number("q", AGES), [19, 20, 29, 30], "20-29", [0, 1, 1, 0]),
        (Number("q", AGES), [20, 21], "21", [0, 1]),
        (Nominal("q", ZIPS), ["02139", "02140", "90210", None], "021**", [1, 1, 0, 0]),
        (Nominal("q", LISTED), ["1", "2", "7"], "low", [1, 1, 0]),
        (Nominal("q"), ["a", "b", None], "b", [0, 1, 0]),
        (Nominal("q"), ["a", "b", None], "nobody has this", [0, 0, 0]),
        (Nominal("q"), ["missing", "b", None], "missing", [1, 0, 1]),
        (Nominal("q"), [True, False], "true", [1, 0]),
        (Ordered("q", order=("low", "high")), ["low", "high"], "high", [0, 1]),
        (Date("q"), ["2024-05-31", "2024-06-01", "2023-05-31"], "2024", [1, 1, 0]),
        (Date("q"), ["2024-05-31", "2024-06-01", "2023-05-31"], "2024-05", [1, 0, 0]),
        (Date("q"), ["2024-05-31", "2024-06-01", None], "2024-05-31", [1, 0, 0]),
    ],
)
def test_how_values_are_named(column: Any, values: list[Any], node: str, satisfied: list[int]) -> None:
    frame = pl.DataFrame({"q": values, "disease": ["flu"] * len(values)})
    schema = Schema(quasi=[column], sensitive=["disease"])
    left = possible(Rules((rule(q=node),)), frame, schema, "disease", ["flu"])
    assert [not values for values in left] == [bool(each) for each in satisfied]


@pytest.mark.parametrize(
    ("column", "values", "node"),
    [
        (Number("q"), [1, 2], "many"),
        (Number("q", AGES), [1, 2], "21-22"),
        (Number("q", AGES), [1, 2], "*"),
        (Nominal("q", LISTED), ["1", "7"], "middling"),
        (Nominal("q", LISTED), ["1", "7"], "*"),
        (Date("q"), ["2024-05-31"], "May"),
    ],
)
def test_a_node_that_nothing_knows_is_refused_without_naming_it(column: Any, values: list[Any], node: str) -> None:
    frame = pl.DataFrame({"q": values, "disease": ["flu"] * len(values)})
    with pytest.raises(SchemaError, match="a value that 'q' cannot have") as caught:
        Rules((rule(q=node),)).allowed(frame, Schema(quasi=[column], sensitive=["disease"]), "disease", ["flu"])
    assert node == "*" or node not in str(caught.value)


def test_columns_that_are_not_there_are_refused(visits: pl.DataFrame) -> None:
    schema = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    with pytest.raises(SchemaError, match=r"names 'citi', which is no quasi-identifier(.|\n)*Did you mean 'city'"):
        Rules((rule(citi="north"),)).allowed(visits, schema, "disease", ["flu"])
    with pytest.raises(SchemaError, match="These are: age"):
        Rules((rule(city="north"),)).allowed(visits.drop("city"), schema, "disease", ["flu"])
    with pytest.raises(SchemaError, match="'age' is none"):
        Rules((rule(city="north"),)).allowed(visits, schema, "age", [30])


def test_numbers_as_sensitive_values() -> None:
    frame = pl.DataFrame({"sex": ["m", "f"], "stage": [1.0, 2.5]})
    schema = Schema(quasi=["sex"], sensitive=["stage"])
    rules = Rules((rule(("stage", "1"), sex="f"), rule(("stage", "2.5"), sex="m"), rule(("stage", "missing"), sex="m")))
    assert possible(rules, frame, schema, "stage", [1.0, 2.5, None]) == [[1.0], [2.5, None]]
