"""What an adversary is taken to know: mined rules without those struck out, and facts, which the table must bear."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.attacking.mining.knowledge import Knowledge, knowledge_rules
from shoal.attacking.mining.mine import mine_rules
from shoal.attacking.mining.rules import Item, Rule, Rules
from shoal.errors import ParameterError, PolicyError, ShoalWarning
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Nominal, Schema
from shoal.table.table import Table

PATIENTS = pl.DataFrame(
    {
        "sex": ["m"] * 30 + ["f"] * 30,
        "age": [20 + i for i in range(30)] * 2,
        "disease": ["flu", "prostate"] * 15 + ["flu", "ovary"] * 15,
    }
)
SCHEMA = Schema(quasi=["sex", "age"], sensitive=["disease"])
NO_MAN = Rule((Item("sex", "m"),), Item("disease", "ovary"))
NO_WOMAN = Rule((Item("sex", "f"),), Item("disease", "prostate"))


def test_without_choices_it_is_what_is_mined() -> None:
    assert knowledge_rules(PATIENTS, SCHEMA) == mine_rules(PATIENTS, SCHEMA)
    assert {rule.claim for rule in knowledge_rules(PATIENTS, SCHEMA)} == {NO_MAN.claim, NO_WOMAN.claim}
    assert knowledge_rules(Table.from_frame(PATIENTS, SCHEMA)) == mine_rules(PATIENTS, SCHEMA)


def test_choices_are_handed_on() -> None:
    knowledge = Knowledge(min_expectation=Fraction(1, 2), max_len=2, margin={"age": 2}, conjunction="minimum")
    mined = mine_rules(
        PATIENTS, SCHEMA, min_expectation=Fraction(1, 2), max_len=2, margin={"age": 2}, conjunction="minimum"
    )
    assert knowledge_rules(PATIENTS, SCHEMA, knowledge) == mined
    assert mined != mine_rules(PATIENTS, SCHEMA, min_expectation=Fraction(1, 2), max_len=2)


def test_a_rule_that_is_struck_out_is_not_known() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        left = knowledge_rules(PATIENTS, SCHEMA, Knowledge(strike=(NO_MAN,)))
    assert [rule.claim for rule in left] == [NO_WOMAN.claim]


def test_striking_what_was_not_mined_is_said() -> None:
    other = Rule((Item("sex", "m"),), Item("disease", "flu"))
    with pytest.warns(ShoalWarning, match="1 of 2 rules that are struck out were not mined"):
        left = knowledge_rules(PATIENTS, SCHEMA, Knowledge(strike=(other, NO_MAN)))
    assert [rule.claim for rule in left] == [NO_WOMAN.claim]


def test_facts_come_first_with_the_number_of_persons_they_are_about() -> None:
    fact = Rule((Item("age", "20-24"), Item("sex", "f")), Item("disease", "prostate"))
    rules = knowledge_rules(PATIENTS, SCHEMA, Knowledge(facts=(fact, NO_WOMAN)))
    assert [(rule.claim, rule.support, rule.expectation, rule.source) for rule in rules[:2]] == [
        (fact.claim, 5, None, "stated"),
        (NO_WOMAN.claim, 30, None, "stated"),
    ]
    assert [rule.claim for rule in rules[2:]] == [NO_MAN.claim], "what is stated is not mined as well"


def test_facts_alone() -> None:
    assert knowledge_rules(PATIENTS, SCHEMA, Knowledge(max_len=0)) == Rules()
    (only,) = knowledge_rules(PATIENTS, SCHEMA, Knowledge(max_len=0, facts=(NO_MAN,)))
    assert only.claim == NO_MAN.claim


def test_a_fact_counts_persons_not_records(visits: pl.DataFrame) -> None:
    """Two persons lived in the west, in three records; of four in their thirties and forties, three had the flu."""
    schema = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    (fact, *_) = knowledge_rules(
        visits, schema, Knowledge(facts=(Rule((Item("city", "west"),), Item("disease", "asthma")),))
    )
    assert fact.support == 2
    with pytest.raises(PolicyError, match="3 of the 4 persons that it is about contradict it"):
        knowledge_rules(visits, schema, Knowledge(facts=(Rule((Item("age", "30-49"),), Item("disease", "flu")),)))


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (Rule((Item("sex", "f"),), Item("disease", "ovary")), "15 of the 30 persons that it is about contradict it"),
        (Rule((Item("sex", "female"),), Item("disease", "ovary")), "no record has the value that it names of 'sex'"),
        (Rule((Item("sex", "m"),), Item("disease", "ovarian")), "no record has the value that it names of 'disease'"),
        (Rule((Item("gender", "m"),), Item("disease", "ovary")), "'gender' is no quasi-identifier"),
        (Rule((Item("sex", "m"),), Item("diseases", "ovary")), "'diseases' is no sensitive attribute.*'disease'"),
        (Rule((Item("age", "old"),), Item("disease", "ovary")), "'age' can have no such value: numbers are named as"),
    ],
)
def test_a_fact_that_the_table_does_not_bear_is_refused(fact: Rule, words: str) -> None:
    with pytest.raises(PolicyError, match=words) as caught:
        knowledge_rules(PATIENTS, SCHEMA, Knowledge(facts=(fact,)))
    assert "facts[1]" in str(caught.value)
    assert "ovar" not in str(caught.value), "messages hold no values"


def test_all_faults_of_facts_are_told_together() -> None:
    wrong = (Rule((Item("sex", "f"),), Item("disease", "ovary")), NO_MAN, Rule((Item("zip", "1"),), Item("drug", "x")))
    with pytest.raises(PolicyError, match="has 3 faults") as caught:
        knowledge_rules(PATIENTS, SCHEMA, Knowledge(facts=wrong))
    assert [line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:]] == [
        "facts[1]", "facts[3]", "facts[3]",
    ]  # fmt: skip


def test_a_fact_about_a_node_that_nobody_is_under_is_borne_where_a_hierarchy_knows_it() -> None:
    rows = [["m", "grown", "*"], ["f", "grown", "*"], ["x", "other", "*"]]
    schema = Schema(quasi=[Nominal("sex", Hierarchy.from_rows(rows)), "age"], sensitive=["disease"])
    fact = Rule((Item("sex", "other"),), Item("disease", "flu"))
    assert knowledge_rules(PATIENTS, schema, Knowledge(facts=(fact,)))[0].support == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_expectation": 1}, "above 0 and below 1"),
        ({"max_len": -1}, "at least 0"),
        ({"max_len": True}, "at least 0"),
        ({"conjunction": "sum"}, "product, minimum"),
        ({"margin": {"age": float("nan")}}, "margin of 'age'"),
        ({"facts": ("sex = m",)}, "'facts' must be a list of rules"),
        ({"strike": ({"when": {}},)}, "'strike' must be a list of rules"),
    ],
)
def test_choices_out_of_range_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Knowledge(**options)


def test_the_public_names() -> None:
    assert shoal.attacking.mining.Knowledge is Knowledge
    assert shoal.mine is mine_rules
    assert (shoal.attacking.mining.Item, shoal.attacking.mining.Rule, shoal.attacking.mining.Rules) == (
        Item,
        Rule,
        Rules,
    )
