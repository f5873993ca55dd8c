"""What does not matter to a tree: the order of records, the kind of frame, how persons are numbered, who decides."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.grouping import BalanceTree, Decomposition, Mondrian, balance_tree, mondrian, tree
from shoal.grouping.budget import within_budget
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, Model, PersonKAnonymity, RecordRisk, TCloseness
from shoal.table.table import Table
from tests.grouping.tables import SENSITIVE, Small, assume_feasible, small_tables

METHODS = [BalanceTree(), BalanceTree(effort="low"), BalanceTree(cut="median"), Mondrian(), Decomposition()]
MODELS: list[list[Model]] = [
    [PersonKAnonymity(k=2)],
    [GBalance(g=0.5)],
    [RecordRisk(rho=0.5), KAnonymity(k=3)],
    [HAffiliation(h=0.5), GBalance(g=0.4)],
    [LDiversity(l=2, kind="entropy")],
    [TCloseness(t=0.5), PersonKAnonymity(k=2)],
]
methods = st.sampled_from(METHODS)
asked = st.sampled_from(MODELS)


ATTRIBUTES = [("age", "number"), ("city", "nominal")]


@pytest.fixture
def small(visits: pl.DataFrame) -> Small:
    return Small.of(visits, ATTRIBUTES)


def larger_tables() -> st.SearchStrategy[Small]:
    return small_tables(max_persons=60, may_tell_nothing=True)


@settings(max_examples=50)
@given(small_tables(person_column=True), methods, asked, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(
    small: Small, method: Mondrian, models: list[Model], chance: random.Random
) -> None:
    assume_feasible(small, models)
    shuffled = Small(chance.sample(small.records, len(small.records)), small.attributes)
    assert shuffled.groups(method.group(shuffled.table, models)) == small.groups(method.group(small.table, models))


@settings(max_examples=30)
@given(small_tables(max_persons=20, person_column=False), methods, asked, st.randoms(use_true_random=False))
def test_without_persons_the_order_of_records_does_not_matter_either(
    small: Small, method: Mondrian, models: list[Model], chance: random.Random
) -> None:
    """Records have no names then, so the groups are compared by what they hold."""
    assume_feasible(small, models)
    order = chance.sample(range(len(small.records)), len(small.records))
    renamed = [(new, *small.records[old][1:]) for new, old in enumerate(order)]
    shuffled = Small(renamed, small.attributes, has_person_column=False)
    groups = {frozenset(order[new] for new in group) for group in shuffled.groups(method.group(shuffled.table, models))}
    assert groups == small.groups(method.group(small.table, models))


@pytest.mark.parametrize("method", METHODS)
def test_the_kind_of_frame_and_its_index_do_not_matter(method: Mondrian, small: Small) -> None:
    models = [GBalance(g=0.5)]
    expected = small.groups(method.group(small.table, models))
    pandas = small.frame.to_pandas()
    pandas.index = list(range(len(pandas)))[::-1]
    for frame in (pandas, pandas.sample(frac=1, random_state=3), small.frame.to_arrow(), small.frame.lazy()):
        table = Table.from_frame(frame, small.schema)
        assert small.groups(method.group(table, models), table) == expected


@pytest.mark.parametrize("method", METHODS)
def test_the_type_of_a_column_does_not_matter(method: Mondrian, small: Small) -> None:
    models = [GBalance(g=0.5)]
    expected = small.groups(method.group(small.table, models))
    for types in (
        {"age": pl.Float64, "city": pl.Categorical, SENSITIVE: pl.Categorical},
        {"age": pl.Int16, "city": pl.Enum(["west", "north", "east", "south"])},
        {"age": pl.String},
    ):
        table = Table.from_frame(small.frame.cast(types), small.schema)
        assert small.groups(method.group(table, models), table) == expected


@settings(max_examples=80)
@given(larger_tables(), methods, asked)
def test_numbering_persons_anew_changes_nothing(small: Small, method: Mondrian, models: list[Model]) -> None:
    assume_feasible(small, models)
    expected = small.groups(method.group(small.table, models))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "PERSONS_IN_CACHE", 1)
        patch.setattr(tree, "NODES_PER_NUMBERING", 1)
        patch.setattr(tree, "PERSONS_PER_SWEEP", 3)
        assert small.groups(method.group(small.table, models)) == expected


def test_persons_of_several_categories_are_numbered_anew() -> None:
    """Two nominal attributes of which one has persons with several categories."""
    records = [
        (person, {"age": person**2, "city": "ab"[person % 2], "job": "xyz"[(person + visit) % 3]}, "flu")
        for person in range(24)
        for visit in range(2)
    ]
    small = Small(records, [("age", "number"), ("city", "nominal"), ("job", "nominal")])
    models = [PersonKAnonymity(k=2)]
    expected = small.groups(BalanceTree().group(small.table, models))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "PERSONS_IN_CACHE", 1)
        patch.setattr(tree, "NODES_PER_NUMBERING", 2)
        assert small.groups(BalanceTree().group(small.table, models)) == expected


@settings(max_examples=60)
@given(larger_tables(), asked)
def test_it_does_not_matter_who_decides_the_limits(small: Small, models: list[Model]) -> None:
    """The sweep may decide models of records itself; where it cannot, they are asked about every cut."""
    assume_feasible(small, models)
    expected = small.groups(BalanceTree().group(small.table, models))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(balance_tree, "limits_of", lambda models: None)
        assert small.groups(BalanceTree().group(small.table, models)) == expected


def test_thresholds_too_fine_for_the_sweep_are_decided_all_the_same(small: Small) -> None:
    fine = GBalance(g="0.500000000000000000001")
    grouping = BalanceTree().group(small.table, [fine])
    holds = small.holds([fine])
    for group in small.groups(grouping):
        assert holds([record for record in small.records if record[0] in group])


@settings(max_examples=40)
@given(larger_tables(), st.sampled_from(METHODS[:4]), asked)
def test_every_group_meets_every_model(small: Small, method: Mondrian, models: list[Model]) -> None:
    assume_feasible(small, models)
    holds = small.holds(models)
    for group in small.groups(method.group(small.table, models)):
        assert holds([record for record in small.records if record[0] in group])


def test_progress_ends_at_everyone(small: Small) -> None:
    told: list[tuple[str, float]] = []
    BalanceTree().group(small.table, [PersonKAnonymity(k=2)], lambda stage, done: told.append((stage, done)))
    assert told[-1] == ("improving", 1.0)
    for stage in ("grouping", "improving"):
        shares = [done for name, done in told if name == stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_the_budget_of_nothing_leaves_the_table_alone(small: Small) -> None:
    table = small.table
    assert within_budget(table, [KAnonymity(k=10**6)], max_suppressed=0, max_records=None, rng=None) is table


@settings(max_examples=60)
@given(larger_tables(), st.sampled_from(MODELS[:3]), st.sampled_from(["range", "z-score"]))
def test_mondrian_on_rows_of_codes_gives_the_groups_of_sorted_orders(
    small: Small, models: list[Model], spread: str
) -> None:
    assume_feasible(small, models)
    method = Mondrian(spread=spread)
    on_rows = small.groups(method.group(small.table, models))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mondrian, "coded_persons", lambda table, **options: None)
        assert small.groups(method.group(small.table, models)) == on_rows


def test_mondrian_takes_rows_of_codes_where_it_can(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only models of records and persons, and nobody with two categories."""
    asked_of: list[int] = []
    halve = mondrian.halving.halve
    monkeypatch.setattr(mondrian.halving, "halve", lambda *args: (asked_of.append(1), halve(*args))[1])
    one_city = Small([(person, {**values, "city": "a"}, value) for person, values, value in small.records], ATTRIBUTES)
    Mondrian().group(one_city.table, [PersonKAnonymity(k=2)])
    assert len(asked_of) == 1
    Mondrian().group(one_city.table, [PersonKAnonymity(k=2), LDiversity(l=1, kind="distinct")])
    assert len(asked_of) == 1


@pytest.mark.parametrize("factor", [1, 10**9, 10**17])
def test_mondrian_halves_numbers_far_apart(factor: int) -> None:
    records = [(person, {"age": factor * (person % 8)}, "flu") for person in range(16)]
    small = Small(records, [("age", "number")])
    expected = {frozenset({low, low + 1, low + 8, low + 9}) for low in (0, 2, 4, 6)}
    assert small.groups(Mondrian().group(small.table, [PersonKAnonymity(k=4)])) == expected
