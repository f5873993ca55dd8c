"""Groups that are improved after the tree: they lose less, meet every model, and depend on nothing but the persons."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.demo.patients import made_up_patients
from shoal.errors import ParameterError
from shoal.grouping import BalanceTree, improve
from shoal.grouping.person_space import person_space
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, Model, PersonKAnonymity, RecordRisk, TCloseness
from shoal.table.schema import Nominal
from shoal.table.table import Table
from tests.grouping.tables import Small, assume_feasible, small_tables
from tests.naive import measures

EFFORTS = ("normal", "high")
MODELS: list[list[Model]] = [
    [PersonKAnonymity(k=2)],
    [KAnonymity(k=4)],
    [GBalance(g=0.5)],
    [RecordRisk(rho="0.4")],
    [RecordRisk(rho=0.5), HAffiliation(h=0.7)],
    [PersonKAnonymity(k=2), LDiversity(l=2)],
    [TCloseness(t=0.5), PersonKAnonymity(k=2)],
    [shoal.EntropyBalance(k=2)],
]
asked = st.sampled_from(MODELS)
tables = small_tables(max_persons=40, may_tell_nothing=True)


def steady(small: Small) -> Small:
    """The same persons, whose quasi-identifiers stay as they were in their first record."""
    first: dict[Any, Any] = {}
    records = [(person, first.setdefault(person, values), disease) for person, values, disease in small.records]
    return Small(records, small.attributes, small.has_person_column)


def naive_loss(small: Small, groups: set[frozenset[Any]]) -> float:
    """The average normalized error by its definition."""
    group_of = {person: number for number, group in enumerate(groups) for person in group}
    records = [
        (group_of[person], person, [values[name] for name, _ in small.attributes])
        for person, values, _ in small.records
    ]
    return measures.ane(records, [kind for _, kind in small.attributes])


@settings(max_examples=60, deadline=None)
@given(tables, asked)
def test_no_more_is_lost_than_by_the_tree(small: Small, models: list[Model]) -> None:
    small = steady(small)
    assume_feasible(small, models)
    tree, improved = (small.groups(BalanceTree(effort=e).group(small.table, models)) for e in ("low", "normal"))
    assert naive_loss(small, improved) <= naive_loss(small, tree) + 1e-6


@settings(max_examples=60, deadline=None)
@given(tables, asked, st.sampled_from(EFFORTS))
def test_every_group_meets_every_model(small: Small, models: list[Model], effort: str) -> None:
    assume_feasible(small, models)
    holds = small.holds(models)
    for group in small.groups(BalanceTree(effort=effort).group(small.table, models)):
        assert holds([record for record in small.records if record[0] in group])


@settings(max_examples=40, deadline=None)
@given(small_tables(max_persons=40, person_column=True), asked, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(small: Small, models: list[Model], chance: random.Random) -> None:
    assume_feasible(small, models)
    shuffled = Small(chance.sample(small.records, len(small.records)), small.attributes)
    method = BalanceTree()
    assert shuffled.groups(method.group(shuffled.table, models)) == small.groups(method.group(small.table, models))


@settings(max_examples=40, deadline=None)
@given(small_tables(max_persons=40, person_column=True), asked)
def test_persons_who_are_alike_stay_together(small: Small, models: list[Model]) -> None:
    small = steady(small)
    assume_feasible(small, models)
    group_of = {p: group for group in small.groups(BalanceTree().group(small.table, models)) for p in group}
    kinds: dict[Any, set[frozenset[Any]]] = {}
    for person, values, _ in small.records:
        n_records = sum(record[0] == person for record in small.records)
        kind = (n_records, *(values[name] for name, _ in small.attributes))
        kinds.setdefault(kind, set()).add(group_of[person])
    assert all(len(groups) == 1 for groups in kinds.values())


@settings(max_examples=40, deadline=None)
@given(tables)
def test_units_are_persons_who_are_alike(small: Small) -> None:
    """Each person stands at the mean of their records and has the category that most of them have."""
    table = small.table
    tree = BalanceTree(effort="low").group(table, [PersonKAnonymity(k=2)])
    units, unit_of_person = improve.units_of(person_space(table), tree.group_of_person)
    for unit in range(len(units.count)):
        assert len(set(tree.group_of_person[unit_of_person == unit])) == 1
    assert np.bincount(unit_of_person).tolist() == units.persons.tolist()
    assert units.count[unit_of_person].tolist() == table.records_of_person.tolist()
    nominal = [name for name, kind in small.attributes if kind == "nominal"]
    for j, name in enumerate(nominal):
        codes = np.asarray(table.quasi[name].codes)
        for person in range(table.n_persons):
            own = np.bincount(codes[table.person_of_record == person])
            assert units.category[unit_of_person[person], j] == own.argmax()


SCHEMA = shoal.Schema(person="patient", quasi=["age", Nominal("gender"), "zip"], sensitive=["disease"])


@pytest.fixture(scope="module")
def patients() -> Table:
    return Table.from_frame(made_up_patients(400, seed=2).select("patient", "age", "gender", "zip", "disease"), SCHEMA)


@pytest.mark.slow
def test_more_effort_loses_less(patients: Table) -> None:
    losses = [
        shoal.protect(
            patients.frame, SCHEMA, [RecordRisk(rho="0.1")], effort=effort, seed=1, measure_input=False
        ).utility.ane
        for effort in ("low", "normal", "high")
    ]
    assert losses[0] > losses[1] > losses[2]


def test_all_pools_may_be_refused_by_a_model(patients: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is asked about groups, and says no to all that are new, leaves those of the tree."""
    models = [PersonKAnonymity(k=5), HAffiliation(h=0.9)]
    tree = BalanceTree(effort="low").group(patients, models)
    space = person_space(patients)
    monkeypatch.setattr(HAffiliation, "holds", lambda self, counts: np.zeros(len(counts.records), np.bool_))
    again = improve.improve(space, models, tree, effort=improve.EFFORTS["normal"])
    for group in range(tree.n_groups):
        assert len(set(again.group_of_person[tree.group_of_person == group])) == 1
    assert again.n_groups == tree.n_groups


def test_limits_too_fine_to_be_decided_leave_the_tree(patients: Table) -> None:
    fine = [GBalance(g="0.900000000000000000001")]
    tree, same = (BalanceTree(effort=effort).group(patients, fine) for effort in ("low", "normal"))
    assert same.group_of_person.tolist() == tree.group_of_person.tolist()


def test_large_tables_have_fewer_rounds() -> None:
    normal, high = improve.EFFORTS["normal"], improve.EFFORTS["high"]
    assert normal.rounds_for(10) == normal.most_rounds
    assert normal.rounds_for(10**7) == 1
    assert all(normal.rounds_for(n) <= high.rounds_for(n) for n in (1, 10**3, 10**5, 10**7))


def test_the_option_is_checked() -> None:
    with pytest.raises(ParameterError, match="effort must be 'low', 'normal' or 'high'"):
        BalanceTree(effort="heroic")
    for options in ({"cut": "median"}, {"alpha": 0.5}):
        with pytest.raises(ParameterError, match="effort='high' goes with"):
            BalanceTree(effort="high", **options)
