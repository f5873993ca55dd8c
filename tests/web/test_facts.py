"""What pages show is what the library counts, and what plain counting says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.web import facts

VALUES = st.sampled_from([None, "a", "b", "c"])
TABLES = st.lists(st.tuples(st.integers(0, 6), VALUES, VALUES, VALUES, VALUES), min_size=1, max_size=25)
QUASI = ["x", "y", "z"]


def frame_of(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["person", *QUASI, "s"], orient="row")
    return frame.with_columns(pl.col(*QUASI, "s").cast(pl.String))


def schema() -> shoal.Schema:
    return shoal.Schema(person="person", quasi=[shoal.Nominal(name) for name in QUASI], sensitive=["s"])


def persons_alone(rows: Sequence[tuple[Any, ...]], places: Sequence[int]) -> int:
    """By the definition: who has some combination of values that nobody else has."""
    who = defaultdict(set)
    for row in rows:
        who[tuple(row[1 + place] for place in places)].add(row[0])
    return len({person for persons in who.values() if len(persons) == 1 for person in persons})


@given(TABLES)
def test_persons_alone_are_those_whom_nobody_is_like(rows: list[tuple[Any, ...]]) -> None:
    sets = [names for size in (1, 2, 3) for names in combinations(QUASI, size)]
    alone = facts.alone_by_set(frame_of(rows), schema(), sets)
    assert alone == {names: persons_alone(rows, [QUASI.index(name) for name in names]) for names in sets}


@given(TABLES)
def test_risk_is_that_of_assess(rows: list[tuple[Any, ...]]) -> None:
    frame = frame_of(rows)
    found = facts.risk_now(frame, schema())
    assert found.risk == shoal.assess(frame, schema()).risk
    assert found.row_counting.true_risk == found.risk.max_gidr
    assert found.row_counting.alone == found.risk.unique_persons == persons_alone(rows, range(3))
    assert sum(found.spread.persons) == found.risk.persons


@given(TABLES)
def test_records_are_counted_a_person(rows: list[tuple[Any, ...]]) -> None:
    found = facts.risk_now(frame_of(rows), schema()).records_per_person
    records = Counter(row[0] for row in rows)
    assert sum(found.persons) == len(records)
    assert found.most == max(records.values())
    assert found.mean == pytest.approx(len(rows) / len(records))
    assert found.with_several == sum(n > 1 for n in records.values())
    assert found.persons[0] == sum(n == 1 for n in records.values())


@given(TABLES)
def test_homogeneous_groups_share_a_value(rows: list[tuple[Any, ...]]) -> None:
    (found,) = facts.risk_now(frame_of(rows), schema()).homogeneous
    persons_of, having = defaultdict(set), defaultdict(lambda: defaultdict(set))
    for person, *quasi, value in rows:
        persons_of[tuple(quasi)].add(person)
        having[tuple(quasi)][value].add(person)
    shared = [group for group, persons in persons_of.items() if persons in having[group].values()]
    several = [group for group in shared if len(persons_of[group]) > 1]
    assert (found.groups, found.all_groups) == (len(several), len(shared))
    assert found.persons == len(set().union(*(persons_of[group] for group in several)))
    assert found.all_persons == len(set().union(*(persons_of[group] for group in shared)))


def test_counting_records_misses_who_has_many() -> None:
    from shoal.demo.clinics import ten_records

    schema = shoal.Schema(person="person", quasi=["age", "zip"], sensitive=["disease"])
    found = facts.risk_now(ten_records(), schema).row_counting
    assert found.risk_by_records == pytest.approx(0.2)
    assert found.true_risk == 1
    assert (found.safe_looking_groups, found.persons_in_them) == (1, 1)
    assert (found.alone_by_records, found.alone) == (0, 1)


def test_the_worst_sets_come_first_and_the_whole_last(clinics: pl.DataFrame) -> None:
    schema = shoal.Schema(
        person="name", quasi=["age", "gender", "zip"], sensitive=["disease"], dropped=["admission"]
    )  # fmt: skip
    found = facts.risk_now(clinics, schema)
    assert found.combinations[-1].columns == ("age", "gender", "zip")
    assert found.combinations[-1].persons == found.risk.unique_persons
    for size in (1, 2):
        of_size = [each.persons for each in found.combinations if len(each.columns) == size]
        assert of_size == sorted(of_size, reverse=True)
    assert found.tried == 7
    assert [each.persons for each in found.left_out] == sorted(each.persons for each in found.left_out)


def test_many_columns_are_not_all_combined() -> None:
    names = [f"c{number}" for number in range(30)]
    sets = facts.sets_of_columns(names)
    assert len(sets) <= facts.MOST_COMBINATIONS + 1
    assert {len(each) for each in sets} == {1, 30}
    few = facts.sets_of_columns(names[:10])
    assert {len(each) for each in few} == {1, 2, 3, 10}
    assert facts.sets_of_columns(["a"]) == [("a",)]


def test_classes_are_those_of_the_report_and_tell_who_is_above() -> None:
    labels = facts.classes_of_risk()
    assert labels[0] == "up to 1 %"
    assert labels[-2:] == ["over 50 %", "100 %"]
    assert len(labels) == 9
    spread = {"persons": (1, 2, 3, 4, 5, 6, 7, 8, 9)}
    assert facts.persons_above(spread, 0.1) == 5 + 6 + 7 + 8 + 9
    assert facts.persons_above(spread, 0.5) == 8 + 9


def test_a_preview_is_never_a_table() -> None:
    frame = pl.DataFrame({"n": range(1000)})
    shown = facts.preview(frame, most=500)
    assert len(shown.records) == facts.MOST_SHOWN
    assert shown.n_records == 1000
    assert facts.preview(frame, first=998).records == (("998",), ("999",))
    assert facts.preview(pl.DataFrame({"n": [None, 1.5]})).records == ((None,), ("1.5",))


def test_groups_of_a_release_have_its_risks(clinics: pl.DataFrame) -> None:
    schema = shoal.Schema(
        person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
    )
    release = shoal.protect(
        clinics, schema, [shoal.GBalance(g="0.5"), shoal.HAffiliation(h="0.5")], cut="median", seed=7
    )
    groups = facts.groups_of(release.data, schema)
    assert len(groups) == release.risk.groups
    assert groups[facts.RECORD_RISK].max() == release.risk.max_gidr
    assert groups[facts.value_risk_name("disease")].max() == release.risk.max_gsar["disease"]
    assert groups[facts.PERSONS].sum() == 8
    assert groups[facts.RECORDS].sum() == 19
    shown = {tuple(row) for row in groups.select(facts.shown_name(name) for name in schema.quasi_names).iter_rows()}
    assert shown == {tuple(map(str, row)) for row in release.data.select(schema.quasi_names).iter_rows()}


def test_groups_published_apart_are_told_from_what_the_steward_keeps() -> None:
    frame = pl.DataFrame({"age": [30, 31, 40, 41], "disease": ["a", "b", "a", "c"]})
    schema = shoal.Schema(quasi=["age"], sensitive=["disease"])
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)], mask="anatomize", method="mondrian", seed=1)
    groups = facts.groups_of(release.data, schema, release.published.linked)
    assert groups[facts.PERSONS].to_list() == [2, 2]
    assert not [name for name in groups.columns if name.startswith("shown")]


def test_pages_of_groups_are_sorted_and_small() -> None:
    groups = pl.DataFrame(
        {facts.PERSONS: [3, 9, 4] * 20, facts.RECORDS: [5, 9, 6] * 20, facts.RECORD_RISK: [0.5, 0.2, 0.4] * 20}
    )
    first = facts.page_of_groups(groups, by=facts.PERSONS, descending=False)
    assert len(first.rows) == facts.MOST_SHOWN
    place = first.columns.index(facts.PERSONS)
    assert {row[place] for row in first.rows} == {3}
    assert first.n_groups == 60
    later = facts.page_of_groups(groups, by=facts.PERSONS, descending=False, first=40)
    assert {row[place] for row in later.rows} == {9}
    by_risk = facts.page_of_groups(groups, by="no such column")
    assert by_risk.rows[0][by_risk.columns.index(facts.RECORD_RISK)] == 0.5
