"""Association rules of tables and releases equal their definitions; their errors are those of the paper."""

from __future__ import annotations

import json
from itertools import combinations
from math import inf, isinf
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
from shoal.masking import Mean
from shoal.measuring.associations import association_error_of, association_rules, released_rules
from shoal.measuring.conjunctions import Mining
from shoal.measuring.memberships import cuts_of, node_columns
from shoal.table.hierarchy import Hierarchy
from shoal.table.table import Table
from tests.measuring import test_queries as queries
from tests.measuring.test_aggregates import MASK_OF_SHOWN, released
from tests.naive import associations as naive

margins = st.fixed_dictionaries({}, optional={"age": st.sampled_from([1.0, 2.0, 2.5, 4.0])})
EVERYTHING = {"min_support": 1e-9, "min_conviction": 1 + 1e-9}


def rules_by_definition(rows: Any, table: Table, margin: dict, conjunction: str, shown: str, max_len: int) -> dict:
    labels = [
        (column.column.name, column.tree.labels) for column in node_columns(table, margin=margin, least_records=0)
    ]
    found = {}
    everything = naive.counts(rows, (), "disease", queries.KINDS, margin, "product", shown)
    for length in range(1, max_len + 1):
        for columns in combinations(labels, length):
            for when in products(columns):
                by_value = naive.counts(rows, when, "disease", queries.KINDS, margin, conjunction, shown)
                total = sum(by_value.values())
                for value, count in by_value.items():
                    conviction = naive.conviction(by_value, value, everything) if count > 1e-12 else 0
                    if conviction > 1 + 1e-6:
                        found[when, value or "missing"] = (count / len(rows), count / total, conviction)
    return found


def products(columns: tuple) -> list[tuple[tuple[str, str], ...]]:
    if not columns:
        return [()]
    (name, labels), *others = columns
    return [((name, label), *rest) for label in labels for rest in products(tuple(others))]


def as_dict(rules: Any) -> dict:
    return {
        (tuple((item.column, item.node) for item in rule.when), rule.then.node): (
            rule.support, rule.confidence, rule.conviction,
        )
        for rule in rules if rule.conviction > 1 + 1e-6
    }  # fmt: skip


def check_equal(found: dict, expected: dict) -> None:
    assert found.keys() == expected.keys()
    for rule, numbers in expected.items():
        assert found[rule] == pytest.approx(numbers, rel=1e-6), rule


def check(drawn: Any, margin: dict, conjunction: str, shown: str, max_len: int) -> None:
    rows = queries.as_records(drawn)
    table, grouping = queries.table_of(rows)
    mining = Mining(max_len=max_len, margin=margin, conjunction=conjunction, **EVERYTHING)
    expected = rules_by_definition(rows, table, margin, conjunction, shown, max_len)
    if shown == "table":
        check_equal(as_dict(association_rules(table, "disease", mining)), expected)
    else:
        release = released(table, grouping, MASK_OF_SHOWN[shown])
        check_equal(as_dict(released_rules(release, "disease", mining)), expected)


few = st.lists(st.tuples(st.integers(0, 1), st.lists(queries.records, min_size=1, max_size=2)), min_size=1, max_size=5)
kinds_of_release = st.sampled_from(["table", *MASK_OF_SHOWN])


@given(few, margins, st.sampled_from(["product", "minimum"]), kinds_of_release)
def test_rules_of_one_node_are_those_of_the_definitions(drawn: Any, margin: dict, conjunction: str, shown: str) -> None:
    check(drawn, margin, conjunction, shown, max_len=1)


@given(few, margins, st.sampled_from(["product", "minimum"]), kinds_of_release)
def test_rules_of_two_nodes_are_those_of_the_definitions(
    drawn: Any, margin: dict, conjunction: str, shown: str
) -> None:
    check(drawn, margin, conjunction, shown, max_len=2)


@given(queries.single, st.integers(1, 3))
def test_groups_of_one_person_lose_no_rule(drawn: Any, max_len: int) -> None:
    rows = [(number, number, values[0]) for number, (_, values) in enumerate(drawn)]
    table, grouping = queries.table_of(rows)
    mining = Mining(max_len=max_len, min_support=0.1, min_conviction=1.01)
    for mask in MASK_OF_SHOWN.values():
        found = association_error_of(released(table, grouping, mask), "disease", mining)
        assert found.n_rules == found.n_shown == len(association_rules(table, "disease", mining))
        if found.n_rules:
            assert found.confidence == pytest.approx(0)
            assert (found.false_positives, found.false_negatives, found.n_unanswered) == (0, 0, 0)


# --- by hand ---------------------------------------------------------------------------------------------------------


def injected() -> pl.DataFrame:
    """Li and Li (2008), Table I: sexes and diseases of nine patients."""
    return pl.DataFrame(
        {
            "sex": ["F", "F", "M", "M", "F", "M", "M", "M", "M"],
            "disease": ["Ovarian", "Ovarian", "Prostate", "Flu", "Heart", "Heart", "Heart", "Flu", "Flu"],
        }
    )


SCHEMA = Schema(quasi=["sex"], sensitive=["disease"])


def test_the_patients_of_the_paper() -> None:
    """Of three women two have ovarian cancer: confidence 2/3, conviction 3/9 x 7/9 / (1/9) = 7/3. Of six men three have
    flu (confidence 1/2, conviction 6/9 x 6/9 / (3/9) = 4/3) and one prostate cancer (6/9 x 8/9 / (5/9) = 16/15)."""
    table = Table.from_frame(injected(), SCHEMA)
    rules = association_rules(table, mining=Mining(min_support=0.1, min_conviction=1.05))
    assert [(rule.when[0].node, rule.then.node) for rule in rules] == [
        ("F", "Ovarian"), ("M", "Flu"), ("M", "Prostate"),
    ]  # fmt: skip
    assert [rule.support for rule in rules] == pytest.approx([2 / 9, 3 / 9, 1 / 9])
    assert [rule.confidence for rule in rules] == pytest.approx([2 / 3, 1 / 2, 1 / 6])
    assert [rule.conviction for rule in rules] == pytest.approx([7 / 3, 4 / 3, 16 / 15])


def test_the_anatomized_patients_of_the_paper() -> None:
    """Table II: groups of the first three, the next three, the last three.

    Ovarian and F: two women with 2/3 each, 4/3 of 3 women, confidence 4/9. Flu and M: in the second group two men with
    1/3, in the third three with 2/3: 8/3 of 6, confidence 4/9. Prostate and M: one man with 1/3, confidence 1/18, no
    rule any more. Two rules are new: prostate and F, two women with 1/3 each, confidence 2/9, conviction
    3/9 x 8/9 / (7/3/9) = 8/7; heart and M, 2 x 2/3 + 3 x 1/3 = 7/3 of 6, conviction 6/9 x 6/9 / (11/3/9) = 12/11.
    """
    table = Table.from_frame(injected(), SCHEMA)
    release = released(table, Grouping(np.repeat([0, 1, 2], 3).astype(np.int32), 3), MASK_OF_SHOWN["group"])
    mining = Mining(min_support=0.1 / 9, min_conviction=1.05)
    shown = {(rule.when[0].node, rule.then.node): rule for rule in released_rules(release, mining=mining)}
    assert set(shown) == {("F", "Ovarian"), ("M", "Flu"), ("F", "Prostate"), ("M", "Heart")}
    assert shown["F", "Ovarian"].confidence == pytest.approx(4 / 9)
    assert shown["M", "Flu"].confidence == pytest.approx(4 / 9)
    assert shown["F", "Prostate"].conviction == pytest.approx(8 / 7)
    assert shown["M", "Heart"].conviction == pytest.approx(12 / 11)
    found = association_error_of(release, mining=mining)
    assert (found.n_rules, found.n_shown, found.n_unanswered) == (3, 4, 0)
    assert found.confidence == pytest.approx((1 / 3 + 1 / 9 + 2 / 3) / 3)
    assert found.false_positives == pytest.approx(2 / 3)
    assert found.false_negatives == pytest.approx(1 / 3)


def test_a_rule_about_persons_whom_a_release_never_shows_is_unanswered_and_wholly_wrong() -> None:
    """One group, of which the mask mean shows the commonest sex: nothing is told of women."""
    table = Table.from_frame(injected(), SCHEMA)
    release = released(table, Grouping(np.zeros(9, np.int32), 1), Mean())
    found = association_error_of(release, mining=Mining(min_support=0.1, min_conviction=1.05))
    assert (found.n_rules, found.n_unanswered) == (3, 1)
    assert found.false_negatives == 1.0
    of_all = {"flu": 3 / 9, "prostate": 1 / 9}
    errors = [1.0, abs(of_all["flu"] - 1 / 2) / (1 / 2), abs(of_all["prostate"] - 1 / 6) / (1 / 6)]
    assert found.confidence == pytest.approx(sum(errors) / 3)


def test_a_rule_without_exceptions_has_infinite_conviction() -> None:
    frame = pl.DataFrame({"sex": ["f", "f", "m"], "disease": ["a", "a", "b"]})
    rules = association_rules(Table.from_frame(frame, SCHEMA))
    assert [rule.conviction for rule in rules] == [inf, inf]
    assert all(isinf(rule.conviction) for rule in rules)


def ages() -> Table:
    """Ages 20, 21, 24 and 30, of which 20 and 24 have a."""
    hierarchy = Hierarchy.of_intervals(low=20, width=5, high=34)
    frame = pl.DataFrame({"age": [20, 21, 24, 30], "year": [1, 2, 3, 9], "disease": list("abab")})
    return Table.from_frame(frame, Schema(quasi=[shoal.Number("age", hierarchy), "year"], sensitive=["disease"]))


@pytest.mark.parametrize(
    ("conjunction", "support"),
    [
        # by 20 within 2 the age 21 belongs by 1/2; by year 1 within 4 year 2 belongs by 3/4 and year 3 by 1/2
        ("product", {"a": 1.0, "b": 3 / 8}),
        ("minimum", {"a": 1.0, "b": 1 / 2}),
    ],
)
def test_both_conjunctions_by_hand(conjunction: str, support: dict[str, float]) -> None:
    mining = Mining(max_len=2, margin={"age": 2, "year": 4}, conjunction=conjunction, **EVERYTHING)
    rules = {
        tuple(item.node for item in rule.when): rule
        for rule in association_rules(ages(), mining=mining)
        if rule.then.node == "a"
    }
    both = rules["20", "1"]
    assert both.support == pytest.approx(support["a"] / 4)
    assert both.confidence == pytest.approx(support["a"] / (support["a"] + support["b"]))
    assert rules["1",].support == pytest.approx((1 + 1 / 2) / 4)


def test_many_degrees_are_cut_into_equal_steps() -> None:
    frame = pl.DataFrame({"income": list(range(0, 3000, 7)), "disease": ["a", "b", "c"] * 143})
    table = Table.from_frame(frame, Schema(quasi=["income"], sensitive=["disease"]))
    columns = node_columns(table, margin={"income": 500.0}, least_records=1)
    cuts = cuts_of(columns)
    assert len(cuts) == 32
    assert sum(cut.weight for cut in cuts) == pytest.approx(1)
    exact = columns[0].degree.sum()
    assert sum(cut.weight * columns[0].of_values(cut.least).sum() for cut in cuts) == pytest.approx(exact, rel=1e-3)


def test_intervals_hold_units_that_the_table_does_not_have() -> None:
    """All that is shown is 20-27; of these eight years five lie in 20-24 or what the tree calls it."""
    frame = pl.DataFrame({"age": [20, 21, 25, 27] * 5 + [60] * 20, "disease": ["a"] * 20 + ["b"] * 20})
    table = Table.from_frame(frame, Schema(quasi=["age"], sensitive=["disease"]))
    grouping = Grouping(np.repeat([0, 1], 20).astype(np.int32), 2)
    mining = Mining(max_len=1, min_support=0.01, min_conviction=1.01)
    shown = released_rules(released(table, grouping, MASK_OF_SHOWN["range"]), mining=mining)
    for rule in shown:
        if rule.then.node == "a":
            years = [year for year in range(20, 28) if naive.covers(rule.when[0].node, year, "number")]
            assert rule.support == pytest.approx(len(years) / 8 / 2)
    assert any(len(rule.when[0].node) == 5 for rule in shown)


def test_dates_are_shared_out_by_days() -> None:
    frame = pl.DataFrame(
        {"born": ["2024-01-31", "2024-02-01", "2024-02-04"] * 4 + ["2020-01-01"] * 8, "disease": ["a"] * 12 + ["b"] * 8}
    )
    table = Table.from_frame(frame, Schema(quasi=[shoal.Date("born")], sensitive=["disease"]))
    grouping = Grouping(np.repeat([0, 1], [12, 8]).astype(np.int32), 2)
    shown = released_rules(
        released(table, grouping, MASK_OF_SHOWN["range"]), mining=Mining(max_len=1, min_support=0.01)
    )
    support = {rule.when[0].node: rule.support for rule in shown if rule.then.node == "a"}
    assert support["2024-02"] == pytest.approx(12 / 20 * 4 / 5)
    assert support["2024-01"] == pytest.approx(12 / 20 * 1 / 5)
    assert support["2024"] == pytest.approx(12 / 20)


# --- releases --------------------------------------------------------------------------------------------------------


def people() -> pl.DataFrame:
    rng, n = np.random.default_rng(3), 600
    age = rng.integers(20, 80, n)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "job": [str(rng.choice(list("abc"), p=[0.8, 0.1, 0.1] if one > 50 else [0.1, 0.3, 0.6])) for one in age],
            "income": rng.integers(1, 6, n),
        }
    )


PEOPLE = Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["job", "income"])


@pytest.mark.parametrize("mask", ["range", "mean", "anatomize", "permute", "suppress"])
def test_large_groups_lose_more(mask: str) -> None:
    def error(k: int) -> float:
        release = shoal.protect(people(), PEOPLE, [shoal.KAnonymity(k=k)], mask=mask, seed=1)
        found = association_error_of(release, "job")
        assert found.confidence is not None
        assert found.n_rules > 5
        return found.confidence

    assert error(5) < error(250)


def test_a_perturbed_release_is_mined_as_it_is_published() -> None:
    asked = {"method": "mdav", "mask": "perturb", "round_to_domain": True}
    release = shoal.protect(people(), PEOPLE, [shoal.KAnonymity(k=5)], seed=1, **asked)  # type: ignore[arg-type]
    shown = {
        (rule.when, rule.then): rule for rule in released_rules(release, "job", Mining(max_len=1, min_support=0.02))
    }
    again = Table.from_frame(release.data, PEOPLE)
    for rule in association_rules(again, "job", Mining(max_len=1, min_support=0.02)):
        if rule.when[0].column == "age" and "-" in rule.when[0].node:
            assert shown[rule.when, rule.then].support == pytest.approx(rule.support)


def test_protect_measures_rules_where_it_is_asked_to() -> None:
    release = shoal.protect(people(), PEOPLE, [shoal.KAnonymity(k=5)], seed=1, associations=2)
    assert release.association_error == association_error_of(release, mining=Mining(max_len=2))
    told = json.loads(json.dumps(release.to_dict()))["association_error"]
    assert list(told) == [
        "confidence", "false_positives", "false_negatives", "n_rules", "n_shown", "n_unanswered",
    ]  # fmt: skip
    without = shoal.protect(people(), PEOPLE, [shoal.KAnonymity(k=5)], seed=1)
    assert without.association_error is None
    assert "association_error" not in without.to_dict()


def test_a_table_without_rules_has_no_error() -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 4, "disease": ["a", "a", "b", "b"] * 2})
    release = shoal.protect(frame, SCHEMA, [shoal.KAnonymity(k=2)], seed=1, associations=1)
    assert release.association_error is not None
    assert (release.association_error.n_rules, release.association_error.confidence) == (0, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_len": 0}, "max_len must be a whole number of at least 1"),
        ({"min_support": 0}, r"min_support must lie in \(0, 1\]"),
        ({"min_conviction": 1}, "min_conviction must be above 1"),
        ({"conjunction": "sum"}, "conjunction must be one of product, minimum"),
    ],
)
def test_bad_parameters_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Mining(**options)


def test_what_cannot_be_mined_is_refused() -> None:
    table = Table.from_frame(injected(), SCHEMA)
    with pytest.raises(SchemaError, match="'sex' is none"):
        association_rules(table, "sex")
    with pytest.raises(ParameterError, match="'sex'"):
        association_rules(table, mining=Mining(margin={"sex": 1.0}))
    with pytest.raises(SchemaError, match="need a sensitive attribute"):
        association_rules(Table.from_frame(injected(), Schema(quasi=["sex"], dropped=["disease"])))
    with pytest.raises(ParameterError, match="associations must be"):
        shoal.protect(injected(), SCHEMA, [shoal.KAnonymity(k=3)], associations=-1)
    with pytest.raises(SchemaError, match="need a sensitive attribute"):
        shoal.protect(
            injected(), Schema(quasi=["sex"], dropped=["disease"]), [shoal.KAnonymity(k=3)], associations=1
        )  # fmt: skip


def test_rules_are_about_the_nodes_of_a_hierarchy_too() -> None:
    """The table's own left and right: all of the left have flu, half of the right."""
    frame = pl.DataFrame({"q": list("ppqqrrss"), "disease": ["flu"] * 4 + ["flu", "gout"] * 2})
    schema = Schema(quasi=[shoal.Nominal("q", queries.HIERARCHY)], sensitive=["disease"])
    table = Table.from_frame(frame, schema)
    (column,) = node_columns(table, margin={}, least_records=0)
    assert {"left", "right", "p", "q", "r", "s"} <= set(column.tree.labels)
    found = {
        (rule.when[0].node, rule.then.node): rule for rule in association_rules(table, mining=Mining(**EVERYTHING))
    }
    assert found["left", "flu"].confidence == 1.0
    assert found["left", "flu"].support == 0.5
    assert found["right", "gout"].confidence == 0.5
