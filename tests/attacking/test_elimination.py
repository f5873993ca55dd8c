"""Who is exposed by excluding values equals the definition, and joint diversity keeps everybody hidden."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacking.elimination import EliminationResult, attack_elimination, linked_values
from shoal.errors import ParameterError
from shoal.grouping.grouping import Grouping
from shoal.models.joint import JointCounts
from shoal.table.table import Table
from tests.naive import elimination as naive

# Gal, Chen and Gangopadhyay (2008), figure 1
FIGURE_1 = [
    ("Heart disease", "Medicine"),
    ("Heart disease", "Surgery"),
    ("Flu", "Intravenous therapy"),
    ("Stomach disease", "Intravenous therapy"),
]

records = st.tuples(st.sampled_from("abcd"), st.integers(0, 3), st.sampled_from([None, "x", "y"]))
members = st.lists(records, min_size=1, max_size=2)
"""A person's records."""
groups = st.lists(st.lists(members, min_size=1, max_size=6), min_size=1, max_size=3)
plain_groups = st.lists(st.lists(records.map(lambda one: [one]), min_size=1, max_size=7), min_size=1, max_size=3)


def joint_of(persons_of_group: list[list[list[tuple]]]) -> JointCounts:
    rows = [
        (group, f"{group} {person:03}", *values)
        for group, persons in enumerate(persons_of_group)
        for person, own in enumerate(persons)
        for values in own
    ]
    columns = {f"s{number}": [row[2 + number] for row in rows] for number in range(len(rows[0]) - 2)}
    frame = pl.DataFrame({"person": [row[1] for row in rows], "q": [0] * len(rows), **columns}, strict=False)
    table = Table.from_frame(frame, shoal.Schema(person="person", quasi=["q"], sensitive=list(columns)))
    group_of_person = np.zeros(table.n_persons, np.int32)
    group_of_person[table.person_of_record] = [row[0] for row in rows]
    return linked_values(table, Grouping(group_of_person, len(persons_of_group)))


def as_sets(persons: list[list[tuple]]) -> list[naive.Member]:
    return [frozenset((f"s{at}", value) for record in own for at, value in enumerate(record)) for own in persons]


def attack(persons_of_group: list[list[list[tuple]]], e: int, **options: int) -> EliminationResult:
    return attack_elimination(joint_of(persons_of_group), e, **options)


def alone(rows: list[tuple]) -> list[list[list[tuple]]]:
    """One group of persons with one record each."""
    return [[[row] for row in rows]]


def check(drawn: list[list[list[tuple]]], e: int) -> None:
    found = attack(drawn, e, work_limit=100_000)
    known = [naive.learned(as_sets(persons), e) for persons in drawn]
    everybody = [member for group in known for member in group]
    assert found.is_exact
    assert found.exposed_persons == sum(bool(member) for member in everybody)
    assert found.share == found.exposed_persons / len(everybody)
    assert found.exposed_groups == sum(any(group) for group in known)
    assert found.groups == len(drawn)
    for column, n_exposed in found.exposed_of_column.items():
        assert n_exposed == sum(any(attribute == column for attribute, _ in member) for member in everybody)


@given(plain_groups, st.integers(0, 4))
def test_persons_with_one_record_are_exposed_as_defined(drawn: list[list[list[tuple]]], e: int) -> None:
    check(drawn, e)


@given(groups, st.integers(0, 3))
def test_persons_with_several_records_are_exposed_as_defined(drawn: list[list[list[tuple]]], e: int) -> None:
    check(drawn, e)


@given(groups, st.integers(0, 4), st.integers(0, 3))
def test_a_search_given_up_never_exposes_too_many(drawn: list[list[list[tuple]]], e: int, work_limit: int) -> None:
    bounded, exact = attack(drawn, e, work_limit=work_limit), attack(drawn, e, work_limit=100_000)
    assert bounded.exposed_persons <= exact.exposed_persons
    assert all(bounded.exposed_of_column[name] <= n for name, n in exact.exposed_of_column.items())
    if bounded.is_exact:
        assert bounded == exact


@given(groups)
def test_joint_diversity_hides_everybody_up_to_two_less_and_not_beyond(drawn: list[list[list[tuple]]]) -> None:
    """Theorem 1 and its converse: with e exclusions a group is exposed exactly if e + 1 values delete it."""
    smallest = [naive.smallest_deletion(as_sets(persons)) for persons in drawn]
    for e in range(4):
        assert attack(drawn, e, work_limit=100_000).exposed_groups == sum(fewest - 1 <= e for fewest in smallest)
    if min(smallest) >= 2:
        assert attack(drawn, min(smallest) - 2).exposed_persons == 0


def test_excluding_heart_disease_tells_the_treatment() -> None:
    """Each attribute alone is 3-diverse; the paper's introduction exposes patients 3 and 4 with one exclusion."""
    persons = as_sets([[row] for row in FIGURE_1])
    assert naive.left_over(persons, [("s0", "Heart disease")]) == [2, 3]
    assert all(len({row[attribute] for row in FIGURE_1}) == 3 for attribute in (0, 1))
    assert attack(alone(FIGURE_1), 0).exposed_persons == 0
    found = attack(alone(FIGURE_1), 1)
    assert found.exposed_of_column == {"s0": 2, "s1": 2}  # patients 1 and 2 are those without intravenous therapy
    assert (found.exposed_persons, found.share, found.exposed_groups, found.is_exact) == (4, 1.0, 1, True)
    assert found.blind == 0.5


def test_a_group_of_which_three_values_must_be_deleted_survives_one_exclusion() -> None:
    apart = [("a", 1), ("b", 2), ("c", 3), ("a", 2)]
    assert naive.smallest_deletion(as_sets([[row] for row in apart])) == 3
    assert attack(alone(apart), 1).exposed_persons == 0
    assert attack(alone(apart), 2).exposed_persons == 4


def test_nobody_is_exposed_by_excluding_what_they_have() -> None:
    """Without 1, only the one with b is left; the others have 1 and cannot be told so by excluding it."""
    rows = [("a", 1), ("c", 1), ("d", 1), ("b", 2)]
    found = attack(alone(rows), 1)
    assert found.exposed_of_column == {"s0": 1, "s1": 4}  # without b, and without 2, everybody left has 1


def test_a_person_is_excluded_by_any_of_their_values() -> None:
    """Who has flu in one record and gout in another is none of those without flu."""
    persons = [[("flu",), ("gout",)], [("gout",)], [("asthma",)]]
    found = attack([persons], 1)
    assert found.exposed_persons == 3  # gout of the second needs asthma excluded only: all left then have gout
    assert attack([persons], 0).exposed_persons == 0


def test_without_exclusions_groups_of_one_value_are_exposed() -> None:
    found = attack([[[("a", 1)], [("a", 2)]], [[("b", 1)], [("a", 2)]]], 0)
    assert (found.exposed_persons, found.exposed_groups, found.share) == (2, 1, 0.5)
    assert found.exposed_of_column == {"s0": 2, "s1": 0}
    assert found.blind_of_column == {"s0": 0.75, "s1": 0.5}


def test_missing_is_a_value_that_can_be_learned() -> None:
    assert attack([[[(None,)], [(None,)]]], 0).exposed_persons == 2


def test_members_may_lack_an_attribute() -> None:
    """The first has a value of the first attribute only, the second of the second: nothing is shared."""
    joint = JointCounts(
        start_of_group=np.array([0, 2]), who=np.arange(2), item_start=np.array([0, 1, 2]), item=np.array([0, 1]),
        attribute_of_item=np.array([0, 1]), columns=("a", "b"),
    )  # fmt: skip
    assert attack_elimination(joint, 0).exposed_persons == 0
    assert attack_elimination(joint, 1).exposed_of_column == {"a": 1, "b": 1}


def test_a_person_alone_is_exposed_whatever_they_have() -> None:
    assert attack([[[("a",), ("b",)]], [[("a",)], [("b",)]]], 0).exposed_persons == 1


def test_more_exclusions_than_are_searched_for_give_a_lower_bound_that_needs_no_search() -> None:
    rows = [(f"{number:03}",) for number in range(150)]
    found = attack(alone(rows), 149)
    assert (found.exposed_persons, found.is_exact) == (150, True)
    assert attack(alone(rows), 120).exposed_persons == 0


def test_the_number_of_exclusions_is_checked() -> None:
    with pytest.raises(ParameterError, match="e must be at least 0, got -1"):
        attack(alone(FIGURE_1), -1)
