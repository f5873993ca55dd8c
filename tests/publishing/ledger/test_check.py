"""Releases laid over one another: the check of a ledger equals its definition, and a worked example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.models.counts import SPREAD
from shoal.publishing.ledger import check as check_module
from shoal.publishing.ledger.check import ABSENT, Earlier, LedgerCheck, check_release
from shoal.table.table import Table
from tests.naive import ledger as naive

VALUES = "abcd"


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, tuple[int, set[str]]]]:
    """Releases of some persons, the new one first: group and values of each person who is in it."""
    names = [f"p{number:02}" for number in range(draw(st.integers(1, 9)))]
    person = st.tuples(st.integers(0, 2), st.sets(st.sampled_from(VALUES), min_size=1, max_size=2))
    new = {name: draw(person) for name in names}
    earlier = [
        {name: draw(person) for name in [*names, "other"] if draw(st.booleans())}
        for _ in range(draw(st.integers(0, 3)))
    ]
    return [new, *earlier]


def table_of(release: dict[str, tuple[int, set[str]]]) -> Table:
    """A table with a record for each value of each person."""
    rows = [(name, 1, value) for name, (_, values) in sorted(release.items()) for value in sorted(values)]
    frame = pl.DataFrame(rows, schema=["name", "age", "disease"], orient="row")
    return Table.from_frame(frame, shoal.Schema(person="name", quasi=["age"], sensitive=["disease"]))


def earlier_of(release: dict[str, tuple[int, set[str]]], table: Table, names: list[str]) -> Earlier:
    """What a ledger would know of the persons of a table from a release."""
    column = table.sensitive["disease"]
    codes = {value: code for code, value in enumerate(column.categories.to_list())}
    keys = {
        group * column.n_codes + codes[value]
        for group, values in release.values()
        for value in values
        if value in codes
    }
    return Earlier(
        np.array([release[name][0] if name in release else ABSENT for name in names]),
        np.array([len(release[name][1]) if name in release else 0 for name in names]),
        {"disease": np.array(sorted(keys), np.int64)},
    )


def checked(history: list[dict[str, tuple[int, set[str]]]], models: list[object]) -> LedgerCheck:
    table = table_of(history[0])
    names = sorted(history[0])
    numbers = sorted({group for group, _ in history[0].values()})
    groups = np.array([numbers.index(history[0][name][0]) for name in names], np.int32)
    return check_release(table, groups, models, [earlier_of(each, table, names) for each in history[1:]])


@settings(deadline=None, max_examples=150)
@given(histories(), st.integers(1, 4), st.sampled_from(["0.3", "0.5", "0.7", "1"]), st.integers(1, 3))
def test_the_check_equals_its_definition(
    history: list[dict[str, tuple[int, set[str]]]], k: int, h: str, least: int
) -> None:
    models = [
        shoal.PersonKAnonymity(k=k), shoal.HAffiliation(h=h), shoal.LDiversity(l=least, kind="distinct"),
    ]  # fmt: skip
    found = checked(history, models)
    releases = [{name: group for name, (group, _) in release.items()} for release in history]
    values = [{name: each for name, (_, each) in release.items()} for release in history]
    new = values[0]
    known = [name for name in new if any(name in groups for groups in releases[1:])]
    assert found.known_persons == len(known)
    sharing = {name: naive.candidates(name, releases) for name in new}
    assert found.fewest == min(map(len, sharing.values()))
    if not known:
        assert found.models == ()
        return
    alone = [name for name in new if len(sharing[name]) < k]
    limit = float(h)

    def affiliation(group: set[str]) -> float:
        return max(sum(value in new[other] for other in group) / len(group) for value in VALUES)

    def distinct(group: set[str]) -> int:
        return len(set().union(*(new[other] for other in group)))

    possible = {name: naive.possible_values(name, releases, values) for name in new}
    expected = {
        ("person-k-anonymity", "persons"): set(alone),
        ("h-affiliation", "persons"): {name for name in new if affiliation(sharing[name]) > limit + 1e-12},
        ("l-diversity", "persons"): {name for name in new if distinct(sharing[name]) < least},
        ("h-affiliation", "values"): {
            name for name in new if naive.largest_share(name, releases, values) > limit + 1e-12
        },
        ("l-diversity", "values"): {name for name in new if 0 < len(possible[name]) < least},
    }
    assert {(each.name, each.by): each.broken_persons for each in found.models} == {
        place: len(names) for place, names in expected.items()
    }
    broken = set().union(*expected.values())
    assert found.broken_persons == len(broken)
    assert found.holds == (not broken)
    assert found.contradicted_persons == sum(not each for each in possible.values())
    strictly = set()
    for name in new:
        group = naive.alike_by_absence(name, releases)
        if len(group) < k or affiliation(group) > limit + 1e-12 or distinct(group) < least:
            strictly.add(name)
    assert found.broken_by_absence == len(strictly - broken)


def owning_over_half(history: list[dict[str, tuple[int, set[str]]]], among: Callable[..., Any]) -> set[str]:
    """Who has over half of the records of those that they cannot be told apart from, in any of the releases."""
    releases = [{name: group for name, (group, _) in release.items()} for release in history]
    broken = set()
    for name in history[0]:
        group = among(name, releases)
        for release in history:
            if name in release:
                records = [len(release[other][1]) for other in group]
                if 2 * max(records) > sum(records):
                    broken.add(name)
    return broken


@settings(deadline=None, max_examples=50)
@given(histories())
def test_the_records_of_an_earlier_release_count_too(history: list[dict[str, tuple[int, set[str]]]]) -> None:
    model = shoal.RecordRisk(rho="0.5")
    assert model.needs <= SPREAD
    found = checked(history, [model])
    broken = owning_over_half(history, naive.candidates)
    assert found.broken_persons == (len(broken) if found.known_persons else 0)


def test_two_releases_by_hand() -> None:
    """Six persons in groups {1,2,3} {4,5,6}, earlier in {1,2} {3,4} {5,6}: 3 and 4 share a group with nobody twice."""
    before = {"1": (0, {"flu"}), "2": (0, {"gout"}), "3": (1, {"flu"}), "4": (1, {"gout"}), "5": (2, {"flu"}),
              "6": (2, {"cold"})}  # fmt: skip
    now = {name: (0 if name in "123" else 1, values) for name, (_, values) in before.items()}
    found = checked([now, before], [shoal.PersonKAnonymity(k=2), shoal.LDiversity(l=2, kind="distinct")])
    told = {(each.name, each.by): (each.broken_persons, each.reached) for each in found.models}
    assert found.fewest == 1
    assert told == {
        ("person-k-anonymity", "persons"): (2, 1.0),
        ("l-diversity", "persons"): (2, 1.0),
        ("l-diversity", "values"): (0, 2.0),  # {flu, gout} for all but 5 and 6, who are left with {flu, cold}
    }
    assert found.broken_persons == 2
    assert not found.holds
    assert any("broken for 2 of 6 persons" in sentence for sentence in found.sentences())


def test_many_selections_of_releases_are_taken_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "MOST_PATTERNS", 1)
    now = {"1": (0, {"a"}), "2": (0, {"b"}), "3": (0, {"c"})}
    before = {"1": (0, {"a"}), "2": (0, {"b"})}
    found = checked([now, before], [shoal.PersonKAnonymity(k=2)])
    assert found.models[0].broken_persons == 1  # 3, who was not there before


@settings(deadline=None, max_examples=50)
@given(histories())
def test_the_records_of_earlier_releases_count_with_many_selections_too(
    history: list[dict[str, tuple[int, set[str]]]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_module, "MOST_PATTERNS", 0)
        found = checked(history, [shoal.RecordRisk(rho="0.5")])
    broken = owning_over_half(history, naive.alike_by_absence)
    assert found.broken_persons == (len(broken) if found.known_persons else 0)


def test_values_that_are_written_in_another_way_are_told() -> None:
    """Nothing can be said by values where no value is known again, and that must not look like safety."""
    before = {name: (int(name) % 2, {"flu" if name < "3" else "gout"}) for name in "1234"}
    now = {name: (0, {value.upper() for value in values}) for name, (_, values) in before.items()}
    found = checked([now, before], [shoal.LDiversity(l=2, kind="distinct")])
    by_values = found.models[1]
    assert (by_values.by, by_values.broken_persons, by_values.reached) == ("values", 0, float("inf"))
    assert found.contradicted_persons == 4
    assert any("4 of 4 persons have no sensitive value in common" in sentence for sentence in found.sentences())
