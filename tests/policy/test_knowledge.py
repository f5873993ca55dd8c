"""[knowledge] in a policy: read, written, told in words, and refused with the place of each fault."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.mining.rules import Item, Rule
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.policy.explain import explain
from shoal.policy.write import rule_table, value_text
from shoal.table.schema import Schema

TEXT = """
[columns]
quasi = ["sex", "age"]
sensitive = ["disease"]

[knowledge]
min-expectation = 0.95
max-len = 2
margin = { age = 2.5 }
conjunction = "minimum"
strike = [{ when = { sex = "female", age = "20-29" }, never = { disease = "gout" } }]
facts = [
    { when = { sex = "male" }, never = { disease = "ovarian cancer" } },
    { when = { age = 21 }, never = { disease = "old age" } },
]
"""


def policy_of(knowledge: Any) -> Policy:
    return Policy.from_document({"columns": {"quasi": ["sex", "age"]}, "knowledge": knowledge})


def read_back(policy: Policy) -> Policy:
    return Policy.from_document(tomllib.loads(policy.to_toml(), parse_float=Decimal))


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(TEXT, encoding="utf-8")
    policy = Policy.load(tmp_path / "p.toml")
    assert policy.knowledge == Knowledge(
        min_expectation=Fraction(95, 100),
        max_len=2,
        margin={"age": 2.5},
        conjunction="minimum",
        strike=(Rule((Item("sex", "female"), Item("age", "20-29")), Item("disease", "gout")),),
        facts=(
            Rule((Item("sex", "male"),), Item("disease", "ovarian cancer")),
            Rule((Item("age", "21"),), Item("disease", "old age")),
        ),
    )
    assert read_back(policy) == policy


def test_a_policy_without_the_table_says_nothing() -> None:
    policy = Policy.from_document({"columns": {"quasi": ["sex"]}})
    assert policy.knowledge is None
    assert "knowledge" not in policy.to_toml()
    assert "adversary is taken" not in explain(policy)


def test_an_empty_table_says_that_the_defaults_hold() -> None:
    policy = policy_of({})
    assert policy.knowledge == Knowledge()
    assert read_back(policy) == policy
    assert policy_of({"min_expectation": 0.9, "max_len": 1}) == policy, "keys may have dashes or not"


labels = st.text(min_size=1, max_size=5)
rules = st.builds(
    lambda when, never: Rule(tuple(Item("q" + name, node) for name, node in when.items()), Item("s", never)),
    st.dictionaries(labels, labels, min_size=1, max_size=2),
    labels,
)


@given(st.lists(rules, max_size=2), st.lists(rules, max_size=2), st.sampled_from(["0.5", "0.99", "2/3"]))
def test_a_policy_survives_a_file(strike: list[Rule], facts: list[Rule], least: str) -> None:
    knowledge = Knowledge(
        min_expectation=Fraction(least), strike=tuple(strike), facts=tuple(facts), margin={"ä b": 0.1}
    )
    policy = Policy.of(Schema(quasi=["sex"]), [], knowledge=knowledge)
    assert read_back(policy) == policy


@given(rules)
def test_a_rule_on_one_line_can_be_pasted(rule: Rule) -> None:
    line = value_text(rule_table(rule))
    assert "\n" not in line
    document = tomllib.loads(f"strike = [{line}]")
    assert policy_of(document).knowledge == Knowledge(strike=(rule,))


def test_in_plain_words() -> None:
    said = explain(Policy.from_document(tomllib.loads(TEXT, parse_float=Decimal)))
    assert "would have broken the rule with at least 95 % (min-expectation)" in said
    assert "up to 2 of them at once" in said
    assert "2.5 around 'age' (minimum)" in said
    assert "Struck out of these rules, since nobody is taken to know them: 1." in said
    assert "It is known that, where 'sex' is male, 'disease' is never ovarian cancer." in said
    assert "No rules are mined" in explain(policy_of({"max-len": 0}))


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        ({"min-expectation": 1}, "knowledge: min_expectation must be a number above 0 and below 1"),
        ({"min-expectation": "often"}, "above 0 and below 1"),
        ({"min-confidence": 0.9}, "min_confidence must be 1"),
        ({"max-len": -1}, "max_len must be a whole number"),
        ({"max-len": "two"}, "knowledge.max_len: must be a whole number"),
        ({"conjunction": "sum"}, "knowledge.conjunction: must be 'product' or 'minimum'"),
        ({"margin": {"age": -2}}, "The margin of 'age'"),
        ({"fact": []}, "knowledge.fact: there is no such key.*Did you mean 'facts'"),
        ({"facts": "sex"}, "knowledge.facts: must be a list"),
        ({"facts": ["sex"]}, r"knowledge.facts\[1\]: a rule must be a table such as"),
        ({"facts": [{"when": {}, "never": {"s": "x"}}]}, "does not say whom"),
        (
            {"strike": [{"when": {"a": "b"}, "never": {"s": "x", "t": "y"}}]},
            r"knowledge.strike\[1\]: A rule needs `when`",
        ),
        ({"strike": [{"when": {"a": ["b"]}, "never": {"s": "x"}}]}, "not by a list"),
        ({"strike": [{"when": {"a": "b"}, "newer": {"s": "x"}}]}, "a rule has no key 'newer'"),
        ([], "knowledge: must be a table"),
    ],
)
def test_faults_are_told_with_their_place(knowledge: Any, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        policy_of(knowledge)


def test_all_faults_are_told_together() -> None:
    with pytest.raises(PolicyError, match="3 faults"):
        Policy.from_document({"columns": {"quasi": ["a"], "x": 1}, "knowledge": {"facts": ["x"], "max-len": "two"}})
