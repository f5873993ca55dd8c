"""The rules of Li and Li (2008): its Table I by hand, and the Adult table where it is at hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from shoal.attacking.mining.expectation import needed_support
from shoal.attacking.mining.mine import mine_rules
from shoal.attacking.mining.rules import Item
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Nominal, Number, Schema
from studies import census, data

TABLE_I = pl.DataFrame(
    [
        ("47677", 29, "F", "Ovarian Cancer"),
        ("47602", 22, "F", "Ovarian Cancer"),
        ("47678", 27, "M", "Prostate Cancer"),
        ("47905", 43, "M", "Flu"),
        ("47909", 52, "F", "Heart Disease"),
        ("47906", 47, "M", "Heart Disease"),
        ("47605", 30, "M", "Heart Disease"),
        ("47673", 36, "M", "Flu"),
        ("47607", 32, "M", "Flu"),
    ],
    schema=["zip", "age", "sex", "disease"],
    orient="row",
)
ZIPS = Hierarchy.of_prefixes(TABLE_I["zip"].to_list())
AGES = Hierarchy.of_intervals(low=20, width=5, high=59)


@pytest.mark.parametrize(
    ("n_with", "needed"), [(3, 3.419), (2, 5.5162), (1, 11.7699)], ids=["flu and heart", "ovarian", "prostate"]
)
def test_what_a_rule_of_table_1_needs(n_with: int, needed: float) -> None:
    """n times Sup_Y at a minimum expectation of 0.75."""
    assert needed_support(9, n_with, Fraction("0.75")) == pytest.approx(needed, abs=5e-5)


@pytest.mark.parametrize("max_len", [1, 2, 3])
@pytest.mark.parametrize(
    "quasi",
    [[Nominal("zip", ZIPS), Number("age", AGES), "sex"], [Nominal("zip"), Nominal("age"), "sex"]],
    ids=["with hierarchies", "with values alone"],
)
def test_the_only_rule_of_table_1(quasi: list[object], max_len: int) -> None:
    schema = Schema(quasi=quasi, sensitive=["disease"])  # type: ignore[arg-type]
    (rule,) = mine_rules(TABLE_I, schema, min_expectation=0.75, max_len=max_len)
    assert rule.when == (Item("sex", "M"),)
    assert rule.never == Item("disease", "Ovarian Cancer")
    assert rule.support == 6
    assert rule.expectation == pytest.approx(1 - (7 / 9) ** 6)


# --- Adult ---------------------------------------------------------------------------------------------------------
# Hierarchies with the heights of the paper's Table III, values and root counted: age 5, workclass 3, education 4,
# marital status 3, race 3, sex 2. The paper does not print its own.


@pytest.fixture(scope="module")
def adult() -> pl.DataFrame:
    """The complete records of adult.data."""
    try:
        return data.adult().select(*census.QUASI, census.SENSITIVE)
    except data.MissingDataError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def schema() -> Schema:
    found = census.hierarchies()
    return Schema(quasi=[Nominal(name, found[name]) for name in census.QUASI], sensitive=["occupation"])


@pytest.mark.data
def test_adult_is_the_table_of_the_paper(adult: pl.DataFrame, schema: Schema) -> None:
    assert len(adult) == 30_162
    assert len(adult.unique(subset=census.QUASI)) == 9_727
    heights = {column.name: column.hierarchy.n_levels for column in schema.columns if column.hierarchy is not None}
    assert list(heights.values()) == [5, 3, 4, 3, 3, 2]


@pytest.mark.data
@pytest.mark.parametrize(
    ("min_expectation", "n_rules"), [("0.75", 38), ("0.80", 36), ("0.85", 32), ("0.90", 24), ("0.95", 17)]
)
def test_the_number_of_rules_on_adult(adult: pl.DataFrame, schema: Schema, min_expectation: str, n_rules: int) -> None:
    """Single quasi-identifiers, most general; the paper prints 45, 39, 32, 22 and 15."""
    rules = mine_rules(adult, schema, min_expectation=Fraction(min_expectation))
    assert len(rules) == n_rules
    named = {(rule.when[0], rule.never.node) for rule in rules}
    # the two rules that the paper prints
    assert (Item("education", "Doctorate"), "Handlers-cleaners") in named
    assert (Item("workclass", "government"), "Priv-house-serv") in named


@pytest.mark.data
def test_rules_on_adult_exclude_nobodys_own_value(adult: pl.DataFrame, schema: Schema) -> None:
    rules = mine_rules(adult, schema, max_len=2)
    values = adult["occupation"].unique().sort()
    allowed = rules.allowed(adult, schema, "occupation", values)
    own = adult["occupation"].cast(pl.Enum(values)).to_physical().to_numpy()
    assert allowed.allowed[allowed.type_of_person, own].all()
    assert not np.all(allowed.allowed)
