"""Li and Li (2008): the patients of Table II, and one female among males, against somebody who knows rules."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.attacking.mining import Item, Rule, Rules

DISEASES = [
    "Ovarian Cancer", "Ovarian Cancer", "Prostate Cancer", "Flu", "Heart Disease", "Heart Disease", "Heart Disease",
    "Flu", "Flu",
]  # fmt: skip
PATIENTS = pl.DataFrame(
    {
        "zip": [47677, 47602, 47678, 47905, 47909, 47906, 47605, 47673, 47607],
        "age": [29, 22, 27, 43, 52, 47, 30, 36, 32],
        "sex": ["F", "F", "M", "M", "F", "M", "M", "M", "M"],
    }
)
"""Table I without its diseases."""
SCHEMA = shoal.Schema(quasi=["zip", "age", shoal.Nominal("sex")], sensitive=["disease"])
NO_MAN_HAS_IT = Rules((Rule((Item("sex", "M"),), Item("disease", "Ovarian Cancer")),))


@pytest.fixture
def published() -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Table II: the quasi-identifier table and the sensitive table."""
    group = [1, 1, 1, 2, 2, 2, 3, 3, 3]
    counted = [
        (1, "Ovarian Cancer", 2), (1, "Prostate Cancer", 1), (2, "Flu", 1), (2, "Heart Disease", 2),
        (3, "Heart Disease", 1), (3, "Flu", 2),
    ]  # fmt: skip
    sensitive = pl.DataFrame(counted, schema=["group", "disease", "count"], orient="row")
    return PATIENTS.with_columns(group=pl.Series(group)), {"disease": sensitive}


def test_bob_has_prostate_cancer_and_then_the_women_are_known_too(
    published: tuple[pl.DataFrame, dict[str, pl.DataFrame]],
) -> None:
    """By elimination only the man of the first group is left with one value, by matching the two women as well."""
    table, tables = published
    (found,) = shoal.attacking.attack_background(table, SCHEMA, NO_MAN_HAS_IT, l=2, tables=tables)
    assert (found.vulnerable_by_matching, found.vulnerable_by_elimination) == (3, 1)
    assert (found.known_by_matching, found.known_by_elimination) == (3, 1)
    assert (found.vulnerable_without_rules, found.vulnerable_groups, found.groups) == (0, 1, 3)
    assert found.share == 3 / 9
    assert found.blind == 3 / 9
    assert found.persons_of_values == {1: 3, 2: 6}


def test_the_table_is_2_diverse_until_somebody_knows_the_rule(
    published: tuple[pl.DataFrame, dict[str, pl.DataFrame]],
) -> None:
    table, tables = published
    diverse = shoal.verify(table, SCHEMA, [shoal.LDiversity(l=2, kind="distinct")], tables=tables)
    assert diverse.holds
    answer = shoal.verify(table, SCHEMA, [shoal.MatchingDiversity(l=2, rules=NO_MAN_HAS_IT)], tables=tables)
    (model,) = answer.verdict.models
    assert not model.holds
    assert (model.reached, model.broken_groups, model.checked_from) == (1, 1, "published table")


def test_the_rule_is_the_only_one_that_is_mined_from_sex() -> None:
    """Table I at a minimum expectation of 0.75: six men, none of them with ovarian cancer."""
    whole = PATIENTS.with_columns(disease=pl.Series(DISEASES))
    schema = shoal.Schema(quasi=[shoal.Nominal("sex")], sensitive=["disease"], dropped=["zip", "age"])
    rules = shoal.mine(whole, schema, min_expectation=0.75)
    assert [rule.claim for rule in rules] == [rule.claim for rule in NO_MAN_HAS_IT]
    assert rules[0].support == 6


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
@pytest.mark.parametrize("method", ["balance-tree", "mondrian", "mdav"])
def test_protected_against_the_rule_nobody_is_vulnerable(method: str, mask: str) -> None:
    whole = PATIENTS.with_columns(disease=pl.Series(DISEASES))
    models = [shoal.MatchingDiversity(l=2, rules=NO_MAN_HAS_IT)]
    release = shoal.protect(whole, SCHEMA, models, method=method, mask=mask)
    (found,) = shoal.attacking.attack_background(
        release.data, SCHEMA, NO_MAN_HAS_IT, l=2, mask=mask, tables=release.published.tables
    )
    assert (found.vulnerable_by_matching, found.vulnerable_by_elimination) == (0, 0)


def test_one_female_and_three_males() -> None:
    """Section V-A with l = 3: each of them may have three values or more by itself, and yet hers is known."""
    people = pl.DataFrame({"age": [31, 32, 33, 34], "sex": ["F", "M", "M", "M"], "group": [1, 1, 1, 1]})
    values = ["Ovarian Cancer", "Flu", "Heart Disease", "Prostate Cancer"]
    sensitive = pl.DataFrame({"group": [1] * 4, "disease": values, "count": [1] * 4})
    schema = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["disease"])
    (found,) = shoal.attacking.attack_background(people, schema, NO_MAN_HAS_IT, l=3, tables={"disease": sensitive})
    assert found.vulnerable_by_elimination == 0
    assert (found.vulnerable_by_matching, found.known_by_matching) == (1, 1)
    assert found.persons_of_values == {1: 1, 3: 3}
    (four,) = shoal.attacking.attack_background(people, schema, NO_MAN_HAS_IT, l=4, tables={"disease": sensitive})
    assert four.vulnerable_by_elimination == 3, "simple counts are 4, 3, 3, 3"
