"""Every tree gives the groups of its plain definition, on tables small enough to work that out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.grouping import BalanceTree, Decomposition, Mondrian
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    EntropyBalance,
    GBalance,
    HAffiliation,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
    TCloseness,
)
from tests.grouping.tables import Small, assume_clear, assume_feasible, small_tables
from tests.naive import trees as naive

OF_RECORDS: list[list[Model]] = [
    [KAnonymity(k=3)],
    [PersonKAnonymity(k=2)],
    [GBalance(g=0.5)],
    [GBalance(g="2/3")],
    [RecordRisk(rho=0.5)],
    [RecordRisk(rho=0.4), KAnonymity(k=2)],
    [EntropyBalance(k=2)],
    [GBalance(g=0.3), EntropyBalance(k="1.7"), PersonKAnonymity(k=2)],
]
OF_SUMMARIES: list[list[Model]] = [
    [HAffiliation(h=0.5)],
    [HAffiliation(h="2/3"), GBalance(g=0.4)],
    [HAffiliation(h=0.75), RecordRisk(rho=0.6), EntropyBalance(k=2)],
    [LDiversity(l=2)],
    [LDiversity(l=2, count="persons")],
    [LDiversity(l=2, kind="distinct")],
    [AlphaKAnonymity(alpha=0.6, k=3)],
    [LDiversity(l=2, kind="distinct"), LDiversity(l=1.5), PersonKAnonymity(k=2)],
]
OF_LISTS: list[list[Model]] = [
    [LDiversity(l=2, kind="entropy")],
    [LDiversity(l=1.5, kind="entropy", count="persons")],
    [LDiversity(l=2, kind="distinct", count="persons")],
    [LDiversity(l=2, kind="recursive", c=2)],
    [LDiversity(l=2, kind="recursive", c=1.5, count="persons")],
    [TCloseness(t=0.4)],
    [TCloseness(t=0.25, distance="ordered")],
    [TCloseness(t=0.5, count="persons"), HAffiliation(h=0.75)],
    [BetaLikeness(beta=2)],
    [BetaLikeness(beta=2, kind="enhanced"), GBalance(g=0.3)],
    [DeltaDisclosure(delta=2)],
]


def any_of(*choices: list[list[Model]]) -> st.SearchStrategy[list[Model]]:
    return st.sampled_from([models for choice in choices for models in choice])


def assert_best(small: Small, models: Sequence[Model]) -> None:
    assume_feasible(small, models)
    groups, closest = naive.best_tree(small.records, small.attributes, small.holds(models))
    assume_clear(closest)
    assert small.groups(BalanceTree(effort="low").group(small.table, models)) == groups


@settings(max_examples=80)
@given(small_tables(), any_of(OF_RECORDS))
def test_best_cut_with_models_of_records(small: Small, models: list[Model]) -> None:
    assert_best(small, models)


@settings(max_examples=80)
@given(small_tables(may_tell_nothing=True), any_of(OF_SUMMARIES))
def test_best_cut_with_models_of_value_summaries(small: Small, models: list[Model]) -> None:
    assert_best(small, models)


@settings(max_examples=80)
@given(small_tables(may_tell_nothing=True), any_of(OF_LISTS))
def test_best_cut_with_models_of_value_lists(small: Small, models: list[Model]) -> None:
    assert_best(small, models)


@settings(max_examples=100)
@given(
    small_tables(may_tell_nothing=True), any_of(OF_RECORDS, OF_SUMMARIES, OF_LISTS), st.sampled_from([0.2, 0.5, 0.9])
)
def test_best_cut_that_mixes_sensitive_values(small: Small, models: list[Model], alpha: float) -> None:
    assume_feasible(small, models)
    assume(len({value for *_, value in small.records}) > 1)
    groups, closest = naive.mixing_tree(small.records, small.attributes, small.holds(models), alpha=alpha)
    assume_clear(closest)
    assert small.groups(BalanceTree(alpha=alpha).group(small.table, models)) == groups


@settings(max_examples=100)
@given(small_tables(), any_of(OF_RECORDS, OF_SUMMARIES, OF_LISTS))
def test_median_cut(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    groups, closest = naive.median_tree(small.records, small.attributes, small.holds(models))
    assume_clear(closest)
    assert small.groups(BalanceTree(cut="median").group(small.table, models)) == groups


@settings(max_examples=50)
@given(small_tables(kinds=("number", "number", "number")), any_of(OF_RECORDS, OF_SUMMARIES))
def test_median_cut_inside_ties(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    groups, closest = naive.median_tree(small.records, small.attributes, small.holds(models), ties="split")
    assume_clear(closest)
    assert small.groups(BalanceTree(cut="median", ties="split").group(small.table, models)) == groups


@settings(max_examples=100)
@given(small_tables(may_tell_nothing=True), any_of(OF_RECORDS, OF_SUMMARIES, OF_LISTS))
def test_mondrian(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    groups, _ = naive.mondrian(small.records, small.attributes, small.holds(models))
    assert small.groups(Mondrian().group(small.table, models)) == groups


@settings(max_examples=60)
@given(small_tables(), st.sampled_from([KAnonymity(k=2), PersonKAnonymity(k=3), GBalance(g=0.5), RecordRisk(rho=0.4)]))
def test_decomposition_sees_one_record_per_person(small: Small, model: Model) -> None:
    models = [model]
    groups, _ = naive.decomposition(small.records, small.attributes, small.holds(models))
    assert small.groups(Decomposition().group(small.table, models)) == groups


@pytest.mark.parametrize(
    "method", [BalanceTree(), BalanceTree(effort="low"), BalanceTree(cut="median"), Mondrian(), Decomposition()]
)
def test_persons_who_are_alike_stay_together(method: BalanceTree | Mondrian | Decomposition) -> None:
    records = [(person, {"age": 40, "sex": "f"}, "flu") for person in range(9)]
    alike = Small(records, [("age", "number"), ("sex", "nominal")])
    assert alike.groups(method.group(alike.table, [PersonKAnonymity(k=2)])) == {frozenset(range(9))}


def test_a_category_is_cut_from_the_rest() -> None:
    records = [(person, {"city": "aabbbccc"[person]}, "flu") for person in range(8)]
    small = Small(records, [("city", "nominal")])
    expected = {frozenset({0, 1}), frozenset({2, 3, 4}), frozenset({5, 6, 7})}
    for method in (BalanceTree(), BalanceTree(effort="low"), BalanceTree(cut="median"), Mondrian()):
        assert small.groups(method.group(small.table, [PersonKAnonymity(k=2)])) == expected


def test_a_missing_value_is_a_value_of_its_own() -> None:
    ages = [30, 31, None, None, 32, 33]
    small = Small([(person, {"age": age}, "flu") for person, age in enumerate(ages)], [("age", "number")])
    groups = small.groups(BalanceTree().group(small.table, [PersonKAnonymity(k=2)]))
    assert groups == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})}
