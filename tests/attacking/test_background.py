from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.background import count_vulnerable
from shoal.attacking.mining import Item, Rule, Rules
from shoal.errors import ParameterError, SchemaError
from shoal.judging.observation import Observation
from shoal.models.counts import BACKGROUND
from shoal.table.adversary import Known
from shoal.table.columns import category_column
from tests.naive.matching_diversity import left_by_elimination, valid_by_trying

SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["disease"])


def rule(when: dict[str, str], value: str, *, mined: bool = False) -> Rule:
    items = tuple(Item(column, node) for column, node in when.items())
    return Rule(items, Item("disease", value), 1, None, "mined" if mined else "stated")


def permuted(rows: list[tuple[int, str, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "sex", "group", "disease"], orient="row")


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[int, str, int, str]], Rules]:
    """A permuted table, and rules that need not hold in it."""
    n_rows = draw(st.integers(2, 10))
    columns = [
        st.integers(30, 33), st.sampled_from("mf"), st.integers(1, 2), st.sampled_from(["flu", "cold", "asthma"])
    ]  # fmt: skip
    rows = [tuple(draw(column) for column in columns) for _ in range(n_rows)]
    rules = draw(
        st.lists(
            st.builds(
                rule,
                st.one_of(
                    st.sampled_from("mf").map(lambda sex: {"sex": sex}),
                    st.integers(30, 33).map(lambda age: {"age": str(age)}),
                ),
                st.sampled_from(["flu", "cold", "asthma", "gout"]),
            ),
            max_size=4,
            unique_by=lambda one: one.claim,
        )
    )
    return rows, Rules(tuple(rules))


@settings(max_examples=150)
@given(tables(), st.integers(1, 4))
def test_it_counts_as_trying_every_way_to_deal_values_out(
    drawn: tuple[list[tuple[int, str, int, str]], Rules],
    l: int,  # noqa: E741
) -> None:
    rows, rules = drawn
    groups = sorted({row[2] for row in rows})
    if all(len({row[:2] for row in rows if row[2] == group}) == 1 for group in groups):
        return  # then quasi-identifiers may be masked
    (found,) = shoal.attacking.attack_background(permuted(rows), SCHEMA, rules, l=l, mask="permute")
    left, by_itself, without, n_wrong = [], [], [], 0
    for group in groups:
        members = [row for row in rows if row[2] == group]
        values = [row[3] for row in members]
        excluded = [
            {one.never.node for one in rules if all(str(row[i.column == "sex"]) == i.node for i in one.when)}
            for row in members
        ]
        may = [set(values) - own for own in excluded]
        valid = valid_by_trying(may, values)
        if not valid[0]:
            n_wrong += len(members)
            continue
        left += [len(own) for own in valid]
        by_itself += [len(own) for own in left_by_elimination(may, values)]
        without += [len(set(values))] * len(members)
    assert (found.persons, found.groups, found.contradicted_persons) == (len(rows), len(groups), n_wrong)
    assert found.vulnerable_by_matching == sum(own < l for own in left)
    assert found.vulnerable_by_elimination == sum(own < l for own in by_itself)
    assert found.vulnerable_without_rules == sum(own < l for own in without)
    assert found.known_by_matching == left.count(1)
    assert found.known_by_elimination == by_itself.count(1)
    assert found.fewest == min(left, default=0)
    assert found.persons_of_values == {n: left.count(n) for n in set(left)}
    assert found.share == found.vulnerable_by_matching / len(rows)
    assert found.vulnerable_without_rules <= found.vulnerable_by_elimination <= found.vulnerable_by_matching


def test_without_rules_only_groups_with_few_values_are_vulnerable() -> None:
    table = permuted([(30, "m", 1, "flu"), (31, "f", 1, "cold"), (32, "m", 2, "flu"), (33, "f", 2, "flu")])
    (found,) = shoal.attacking.attack_background(table, SCHEMA, Rules(), l=2, mask="permute")
    assert found.vulnerable_without_rules == found.vulnerable_by_elimination == found.vulnerable_by_matching == 2
    assert found.vulnerable_groups == 1
    assert found.blind == 0.75


def test_rules_from_elsewhere_may_be_wrong_in_some_groups() -> None:
    """Where no way to deal values out fits, the adversary finds that a rule is wrong; the other groups are counted."""
    table = permuted([(30, "m", 1, "flu"), (31, "m", 1, "flu"), (32, "m", 2, "cold"), (33, "f", 2, "flu")])
    (found,) = shoal.attacking.attack_background(
        table, SCHEMA, Rules((rule({"sex": "m"}, "flu"),)), l=2, mask="permute"
    )
    assert (found.contradicted_persons, found.contradicted_groups) == (2, 1)
    assert found.vulnerable_by_matching == 2
    assert found.vulnerable_by_elimination == 1


def test_rules_from_elsewhere_may_name_what_nobody_here_has() -> None:
    table = permuted([(30, "m", 1, "flu"), (31, "f", 1, "cold")])
    elsewhere = Rules((rule({"sex": "x"}, "flu", mined=True), rule({"sex": "m"}, "gout", mined=True)))
    (found,) = shoal.attacking.attack_background(table, SCHEMA, elsewhere, l=2, mask="permute")
    assert found.vulnerable_by_matching == 0


def test_masked_quasi_identifiers_do_not_show_whom_rules_are_about() -> None:
    rows = [(30, "m", 1, "flu"), (31, "f", 1, "gout"), (40, "m", 1, "flu"), (41, "f", 1, "cold")]
    frame = permuted(rows).drop("group")
    rules = Rules((rule({"age": "41"}, "flu"),))
    models = [shoal.MatchingDiversity(l=2, rules=rules)]
    for mask, options in [("range", {}), ("permute", {"quasi_as": "range"})]:
        release = shoal.protect(frame, SCHEMA, models, mask=mask, **options)
        with pytest.raises(SchemaError, match=r"exact quasi-identifiers|real ones"):
            shoal.attacking.attack_background(release.data, SCHEMA, rules)
        with pytest.raises(SchemaError, match="absent"):
            shoal.attacking.attack_background(release.data, SCHEMA)
        kept = {"linked": release.published.linked, "excluded": release.published.excluded}
        (found,) = shoal.attacking.attack_background(release.data, SCHEMA, **kept)
        assert found.vulnerable_by_matching == 0
    plain = shoal.protect(frame, SCHEMA, [shoal.KAnonymity(k=2)], mask="permute", quasi_as="range")
    with pytest.raises(SchemaError, match="Give rules"):
        shoal.attacking.attack_background(plain.data, SCHEMA, linked=plain.published.linked)


def test_tables_that_do_not_fit_together_are_refused() -> None:
    quasi = pl.DataFrame({"age": [30, 31], "sex": ["m", "f"], "group": [1, 1]})
    wrong = pl.DataFrame({"group": [1], "disease": ["flu"], "count": [1]})
    with pytest.raises(SchemaError, match="does not count every person"):
        shoal.attacking.attack_background(quasi, SCHEMA, Rules(), tables={"disease": wrong})
    with pytest.raises(SchemaError, match="no sensitive attribute"):
        shoal.attacking.attack_background(quasi, replace(SCHEMA, sensitive=[]), Rules())


def test_what_cannot_be_asked_is_refused() -> None:
    column = category_column(pl.Series("disease", ["flu", "cold"]))
    codes = np.zeros(2, np.int32)
    seen = Observation(codes, 1, np.arange(2, dtype=np.int32), 2, {"disease": column})
    with pytest.raises(ParameterError, match="Nothing is known"):
        count_vulnerable(seen.counts(BACKGROUND), "disease", 2)
    known = Known({"disease": (codes, np.ones((1, 2), np.bool_))}, is_linked=False)
    counts = replace(seen, known=known).counts(BACKGROUND)
    with pytest.raises(ParameterError, match="at least 1"):
        count_vulnerable(counts, "disease", 0)
    assert asdict(count_vulnerable(counts, "disease", 2))["column"] == "disease"
