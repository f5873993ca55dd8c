"""Groups of alike histories: more is shown by k persons, every model is met, and nothing but the persons matters."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.demo.patients import made_up_patients
from shoal.errors import CannotSatisfyError, ParameterError
from shoal.grouping import BalanceTree, Grouping, alike_histories
from shoal.grouping.alike_histories import gather_histories, group_by_histories, lost_in_all, what_is_shown
from shoal.models import EntropyBalance, GBalance, HAffiliation, LDiversity, Model, PersonKAnonymity, RecordRisk
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Nominal, Schema
from shoal.table.table import Table
from tests.grouping.tables import SENSITIVE, Small, assume_feasible, small_tables
from tests.naive import gathering as naive

MODELS: list[list[Model]] = [
    [PersonKAnonymity(k=2)],
    [GBalance(g=0.5)],
    [RecordRisk(rho="0.4")],
    [RecordRisk(rho=0.5), HAffiliation(h=0.7)],
    [PersonKAnonymity(k=2), LDiversity(l=2)],
    [EntropyBalance(k=2)],
]
asked = st.sampled_from(MODELS)
tables = small_tables(max_persons=40)


def gathered(small: Small, models: list[Model], **options: Any) -> Grouping:
    table = small.table
    before = BalanceTree(effort="low").group(table, models)
    return gather_histories(table, models, before, [SENSITIVE], k=2, **options)


@settings(max_examples=80, deadline=None)
@given(tables, asked, st.sampled_from([0.3, 1.0, 50.0]), st.booleans())
def test_every_group_meets_every_model(small: Small, models: list[Model], weight: float, with_counts: bool) -> None:
    assume_feasible(small, models)
    holds = small.holds(models)
    for group in small.groups(gathered(small, models, weight=weight, with_counts=with_counts)):
        assert holds([record for record in small.records if record[0] in group])


@settings(max_examples=60, deadline=None)
@given(small_tables(max_persons=40, person_column=True), asked, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(small: Small, models: list[Model], chance: random.Random) -> None:
    assume_feasible(small, models)
    shuffled = Small(chance.sample(small.records, len(small.records)), small.attributes)
    assert shuffled.groups(gathered(shuffled, models)) == small.groups(gathered(small, models))


@settings(max_examples=20, deadline=None)
@given(tables)
def test_without_weight_groups_stay_as_they_are(small: Small) -> None:
    models: list[Model] = [PersonKAnonymity(k=2)]
    assume_feasible(small, models)
    before = BalanceTree(effort="low").group(small.table, models)
    assert (gathered(small, models, weight=0.0).group_of_person == before.group_of_person).all()


@settings(max_examples=60, deadline=None)
@given(small_tables(max_persons=20, person_column=True), st.booleans())
def test_what_persons_show_is_counted_once_each(small: Small, with_counts: bool) -> None:
    table = small.table
    shown = what_is_shown(table, [SENSITIVE], with_counts=with_counts)
    values: dict[Any, set[Any]] = {}
    for person, _, value in small.records:
        values.setdefault(person, set()).add(value)
    records = Counter(person for person, _, _ in small.records)
    names = sorted(values)
    sizes = np.diff(shown.start).tolist()
    assert sizes == [len(values[name]) + with_counts for name in names]
    own = [shown.item[first:end].tolist() for first, end in zip(shown.start[:-1], shown.start[1:], strict=True)]
    for one, its in zip(names, own, strict=True):
        for other, others in zip(names, own, strict=True):
            alike = len(values[one] & values[other]) + (with_counts and records[one] == records[other])
            assert len(set(its) & set(others)) == alike
    assert shown.price[shown.item].sum() == pytest.approx(len(names) * (1 + with_counts))


def visits(histories: list[list[str]]) -> Table:
    """Persons of one age, with their histories."""
    rows = [(person, 40, code) for person, history in enumerate(histories) for code in history]
    frame = pl.DataFrame(rows, schema=["person", "age", "code"], orient="row")
    return Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["code"]))


def test_persons_who_show_the_same_come_together() -> None:
    table = visits([["a"], ["b"]] * 6)
    halves = Grouping(np.repeat([0, 1], 6).astype(np.int32), 2)
    after = gather_histories(table, [PersonKAnonymity(k=3)], halves, ["code"], k=5)
    assert len(set(after.group_of_person[::2])) == len(set(after.group_of_person[1::2])) == 1
    assert after.n_groups == 2


def test_what_values_are_part_of_counts_too() -> None:
    table = visits([["a1"], ["b1"], ["a2"], ["b2"], ["a3"], ["b3"], ["a4"], ["b4"], ["a5"], ["b5"]])
    codes = table.sensitive["code"].categories.to_list()
    hierarchy = Hierarchy.from_rows([(code, code[0], "*") for code in codes])
    halves = Grouping(np.repeat([0, 1], 5).astype(np.int32), 2)
    models = [PersonKAnonymity(k=3)]
    same = gather_histories(table, models, halves, ["code"], k=4)
    assert (same.group_of_person == halves.group_of_person).all()
    after = gather_histories(table, models, halves, ["code"], k=4, hierarchies={"code": hierarchy})
    assert len(set(after.group_of_person[::2])) == len(set(after.group_of_person[1::2])) == 1


def test_fewer_values_of_made_up_patients_are_rare_in_their_group() -> None:
    schema = Schema(person="patient", quasi=["age", Nominal("gender"), "zip"], sensitive=["disease"])
    frame = made_up_patients(600, seed=2).select("patient", "age", "gender", "zip", "disease")
    table = Table.from_frame(frame, schema)
    before = BalanceTree(effort="low").group(table, [PersonKAnonymity(k=15)])
    after = gather_histories(table, [PersonKAnonymity(k=5)], before, ["disease"], k=5)
    assert rare(table, after) < 0.9 * rare(table, before)


@settings(max_examples=30, deadline=None)
@given(tables, asked)
def test_groups_of_the_best_size_meet_every_model(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    table, holds = small.table, small.holds(models)
    best = group_by_histories(BalanceTree(), table, models, [SENSITIVE], k=3)
    for group in small.groups(best):
        assert holds([record for record in small.records if record[0] in group])


def test_larger_groups_are_taken_where_less_is_lost() -> None:
    table = visits([["a"], ["b"], ["c"], ["d"]] * 10)
    models: list[Model] = [PersonKAnonymity(k=2)]
    pairs = BalanceTree(cut="median", ties="split")
    assert pairs.group(table, models).n_groups > 4
    best = group_by_histories(pairs, table, models, ["code"], k=5)
    assert rare(table, best) == 0
    assert (
        group_by_histories(pairs, table, models, ["code"], k=5, weight=0.0).group_of_person.tolist()
        == pairs.group(table, models).group_of_person.tolist()
    )


def lost_by_size(persons: Any, group: Any, n_groups: int) -> Any:
    """Everybody loses all in a group of fewer than four persons, and nothing in others."""
    sizes = np.bincount(group, minlength=n_groups)
    return np.where(sizes < 4, sizes, 0).astype(np.float64)


@settings(max_examples=40, deadline=None)
@given(small_tables(max_persons=30, person_column=True), asked, st.randoms(use_true_random=False))
def test_groups_are_larger_where_that_is_measured_to_lose_less(
    small: Small, models: list[Model], chance: random.Random
) -> None:
    assume_feasible(small, models)
    method, holds = BalanceTree(effort="low"), small.holds(models)
    after = group_by_histories(method, small.table, models, [SENSITIVE], k=3, weight=9.0, measured=lost_by_size)
    groups = small.groups(after)
    for group in groups:
        assert holds([record for record in small.records if record[0] in group])
    if all(model.monotone for model in models):
        assert [len(group) < 4 for group in groups].count(True) <= 1
    shuffled = Small(chance.sample(small.records, len(small.records)), small.attributes)
    again = group_by_histories(method, shuffled.table, models, [SENSITIVE], k=3, weight=9.0, measured=lost_by_size)
    assert shuffled.groups(again) == groups


def test_groups_stay_where_merging_saves_nothing() -> None:
    table = visits([["a"], ["b"]] * 10)
    pairs = BalanceTree(cut="median", ties="split")
    models: list[Model] = [PersonKAnonymity(k=4)]
    same = group_by_histories(pairs, table, models, ["code"], k=5, measured=lost_by_size)
    assert same.n_groups == pairs.group(table, models).n_groups > 1


@pytest.fixture
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of some hundred persons are large ones."""
    monkeypatch.setattr(alike_histories, "COMPARED_PERSONS", 120)


def patients(n: int) -> pl.DataFrame:
    return made_up_patients(n, seed=2).select("patient", "age", "gender", "zip", "disease")


SCHEMA = Schema(person="patient", quasi=["age", Nominal("gender"), "zip"], sensitive=["disease"])


@pytest.mark.usefixtures("small_regions")
def test_sizes_are_compared_in_some_regions_of_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    estimated = alike_histories._Work.estimated

    def spy(work: Any, persons: Any, grouping: Grouping, measured: Any = None) -> float:
        looked_at.append(len(persons))
        assert len(grouping.group_of_person) == len(persons)
        return estimated(work, persons, grouping, measured)

    monkeypatch.setattr(alike_histories._Work, "estimated", spy)
    table = Table.from_frame(patients(600), SCHEMA)
    models: list[Model] = [PersonKAnonymity(k=3)]
    best = group_by_histories(BalanceTree(), table, models, ["disease"], k=5)
    assert len(looked_at) > 1
    assert 120 <= max(looked_at) < 240
    assert len(best.group_of_person) == 600
    assert np.bincount(best.group_of_person).min() >= 3
    alone = BalanceTree(effort="low").group(table, models)
    assert lost_in_all(table, best, ["disease"], k=5) < lost_in_all(table, alone, ["disease"], k=5)


@pytest.mark.usefixtures("small_regions")
def test_regions_do_not_depend_on_the_order_of_records() -> None:
    frame = patients(400)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    groups = []
    for each in (frame, shuffled):
        table = Table.from_frame(each, SCHEMA)
        best = group_by_histories(BalanceTree(), table, [PersonKAnonymity(k=3)], ["disease"], k=5)
        of_record = best.group_of_person[table.person_of_record].tolist()
        members: dict[int, set[str]] = {}
        for person, group in zip(each["patient"].to_list(), of_record, strict=True):
            members.setdefault(group, set()).add(person)
        groups.append(sorted(map(sorted, members.values())))
    assert groups[0] == groups[1]


@pytest.mark.usefixtures("small_regions")
def test_where_regions_break_a_model_the_whole_table_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def group(self: BalanceTree, table: Table, *rest: Any, **options: Any) -> Grouping:
        asked.append(table.n_persons)
        if table.n_persons < 400:
            raise CannotSatisfyError("Too few persons.")
        return Grouping((np.arange(400) // 20).astype(np.int32), 20)

    monkeypatch.setattr(BalanceTree, "group", group)
    table = Table.from_frame(patients(400), SCHEMA)
    group_by_histories(BalanceTree(), table, [PersonKAnonymity(k=3)], ["disease"], k=5)
    assert min(asked) < 400
    assert asked[-1] == 400


people = st.builds(
    naive.Person,
    st.tuples(st.integers(0, 5).map(float)),
    st.integers(1, 3),
    st.frozensets(st.sampled_from([0, 1, 2]), min_size=1),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(people, st.integers(0, 2)), min_size=2, max_size=12), st.integers(1, 4), st.floats(0, 3))
def test_what_is_lost_is_what_the_definition_says(drawn: list[tuple[naive.Person, int]], k: int, weight: float) -> None:
    rows = [
        (number, int(person.value[0]), "abc"[item])
        for number, (person, _) in enumerate(drawn)
        for item in [*sorted(person.items), *[min(person.items)] * person.records]
    ]
    frame = pl.DataFrame(rows, schema=["person", "age", "code"], orient="row")
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["code"]))
    numbers = sorted({group for _, group in drawn})
    grouping = Grouping(np.array([numbers.index(group) for _, group in drawn], np.int32), len(numbers))
    ages = [int(person.value[0]) for person, _ in drawn]
    extent = max(ages) - min(ages) or 1
    price = weight * len(drawn) / sum(len(person.items) for person, _ in drawn)
    members: dict[int, list[naive.Person]] = {}
    for (person, group), age in zip(drawn, ages, strict=True):
        own = naive.Person(((age - min(ages)) / extent,), len(person.items) + person.records, person.items)
        members.setdefault(group, []).append(own)
    expected = naive.lost_in_all(list(members.values()), naive.Prices([price] * 3, [2.0], [0.5]), k)
    assert lost_in_all(table, grouping, ["code"], k=k, weight=weight) == pytest.approx(expected, abs=1e-6)


def rare(table: Table, grouping: Grouping, k: int = 5) -> int:
    """How many pairs of a person and a value have fewer than k persons in their group."""
    shown = what_is_shown(table, list(table.sensitive))
    persons = np.repeat(np.arange(table.n_persons), np.diff(shown.start))
    pairs = list(zip(grouping.group_of_person[persons].tolist(), shown.item.tolist(), strict=True))
    counts = Counter(pairs)
    return sum(counts[pair] < k for pair in pairs)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"k": 0}, "k must be"), ({"weight": -1.0}, "weight"), ({"columns": ["age"]}, "sensitive columns are: code")],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], told: str) -> None:
    table = visits([["a"], ["b"]])
    options: dict[str, Any] = {"columns": ["code"], "k": 2, "weight": 1.0} | wrong
    with pytest.raises(ParameterError, match=told):
        gather_histories(table, [], Grouping(np.zeros(2, np.int32), 1), options.pop("columns"), **options)
