"""Who is found by a few sensitive values: counted as defined, and what the mitigation leaves of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking import trajectory
from shoal.attacking.trajectory import _Holdings
from tests.naive import attacks as naive

SCHEMA = shoal.Schema(person="person", quasi=["age"], sensitive=["film"])

holdings = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=5), min_size=1, max_size=12)


def held(sets: list[set[int]]) -> _Holdings:
    pairs = [(person, item) for person, items in enumerate(sets) for item in items]
    person, item = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    return _Holdings.of(person, item, 6)


@pytest.mark.parametrize("common", [0, 500])
@settings(max_examples=60)
@given(sets=holdings, data=st.data())
def test_persons_who_have_all_that_is_known_are_counted(common: int, sets: list[set[int]], data: st.DataObject) -> None:
    somebody = data.draw(st.sampled_from(list(sets)))
    known = data.draw(st.lists(st.sampled_from(sorted(somebody)), min_size=1, max_size=3, unique=True))
    before = trajectory.MOST_LISTED
    trajectory.MOST_LISTED = common  # 0: all items are looked up in the table of common ones
    try:
        counted = held(sets).count_having(np.array([known], np.int64))
    finally:
        trajectory.MOST_LISTED = before
    assert counted.tolist() == [naive.count_having(sets, known)]


def films(of_person: dict[str, list[str]]) -> pl.DataFrame:
    rows = [(person, 30, film) for person, seen in of_person.items() for film in seen]
    return pl.DataFrame(rows, schema=["person", "age", "film"], orient="row")


def test_two_films_find_who_one_film_does_not() -> None:
    """Everybody has two of three films: one film is that of two persons, two films are those of one."""
    frame = films({"ann": ["a", "b", "x"], "ben": ["b", "c", "y"], "cid": ["c", "a", "z"]})
    suite = shoal.attack(frame, schema=SCHEMA, attacks=["trajectory"], known_values=[2])
    everyone, _ = suite.results
    assert everyone.success == 1.0
    assert everyone.blind == pytest.approx(1 / 3)
    same = films({"ann": ["a", "b", "x"], "ben": ["a", "b", "x"]})
    alike = shoal.attack(same, schema=SCHEMA, attacks=["trajectory"], known_values=[1, 2])
    assert {result.success for result in alike.results} == {0.5}


def test_only_those_with_something_left_to_learn_are_targets() -> None:
    frame = films({"ann": ["a"], "ben": ["a", "b"], "cid": ["b", "b"]})
    suite = shoal.attack(frame, schema=SCHEMA, attacks=["trajectory"], known_values=[1, 2])
    assert [result.targets for result in suite.results] == [1, 1]
    none = shoal.attack(films({"ann": ["a"], "ben": ["b"]}), schema=SCHEMA, attacks=["trajectory"])
    assert none.not_tried[0].why == "Nobody has two records with different sensitive values."


def test_quasi_identifiers_help() -> None:
    frame = films({"ann": ["a", "b"], "ben": ["a", "b"]}).with_columns(age=pl.Series(["30-39", "30-39", "40", "40"]))
    by_films, with_ages = shoal.attack(frame, schema=SCHEMA, attacks=["trajectory"], known_values=[1]).results
    assert (by_films.success, with_ages.success) == (0.5, 1.0)


def many(n: int = 60, each: int = 8) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = [(f"p{person:02}", 20 + person % 9, f"film {film}")
            for person in range(n) for film in rng.choice(200, each, replace=False)]  # fmt: skip
    return pl.DataFrame(rows, schema=["person", "age", "film"], orient="row")


def test_without_person_ids_nobody_is_found_with_all_their_records() -> None:
    models = [shoal.RecordRisk(rho="0.2")]
    linked = shoal.protect(many(), SCHEMA, models, seed=1)
    unlinked = shoal.protect(
        many(), shoal.Schema(person="person", quasi=["age"], sensitive=["film"], person_ids="none"), models, seed=1
    )
    found, hidden = (
        {result.name: result for result in release.attack(["trajectory"], known_values=[2]).results}
        for release in (linked, unlinked)
    )
    assert found["trajectory, 2 known"].success > 0.9
    assert hidden["trajectory, 2 known"].success == pytest.approx(6 / 478)
    assert hidden["trajectory, 2 known and quasi-identifiers"].success <= 0.2
    assert "upper_bound" in hidden["trajectory, 2 known"].details


def test_values_shown_apart_are_no_trajectory() -> None:
    frame = many(20, 1)
    release = shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=2)], mask="permute", seed=1)
    assert "belong to one person" in release.attack(["trajectory"]).not_tried[0].why


@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_neither_the_order_of_records_nor_ids_move_a_draw(chance: random.Random, seed: int) -> None:
    """Few persons are drawn, and few of their values; the figures hang on what is held alone."""
    world = random.Random(seed)
    rows = [(who, 30 + who // 5, f"f{world.randrange(9)}") for who in range(25) for _ in range(world.randint(1, 5))]
    shuffled = chance.sample(rows, len(rows))
    renamed = chance.sample(range(25), 25)

    def tried(rows: list[tuple[int, int, str]], name_of: Sequence[int]) -> list[tuple[str, float, int]]:
        named = [(f"p{name_of[who]:02}", age, film) for who, age, film in rows]
        frame = pl.DataFrame(named, schema=["person", "age", "film"], orient="row")
        found = shoal.attack(frame, schema=SCHEMA, attacks=["trajectory"], targets=4, known_values=[1, 2])
        return [(result.name, result.success, result.targets) for result in found.results]

    assert tried(rows, range(25)) == tried(shuffled, renamed)


def test_any_episode_of_the_person_is_the_person() -> None:
    """Ann has two episodes that show a, Ben one: whoever knows a of Ann takes one of hers in two of three cases."""
    frame = films({"e1": ["a", "x"], "e2": ["a", "y"], "e3": ["a", "z"]})
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["film"], person_ids="episodes")
    holdings = _Holdings.of(
        np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 0, 3]), 4, np.array([7, 7, 9])
    ).in_order_of_items()
    target = np.arange(3)
    own = holdings.count_own(target, np.zeros((3, 1), np.int64))
    assert sorted(own.tolist()) == [1, 2, 2]
    assert holdings.count_having(np.zeros((3, 1), np.int64)).tolist() == [3, 3, 3]
    suite = shoal.attack(frame, schema=schema, attacks=["trajectory"], known_values=[1])
    assert suite.results
