"""Distance linkage equals its definition, ties are chance, and the assignment is the best there is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking import distance
from shoal.attacking.distance import assigned, linked_by_assignment
from shoal.measuring.statistics import linked_by_distance
from tests.naive import attacks as naive

points = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=n, max_size=n),) * 2)
)
SCHEMA = shoal.Schema(quasi=["x", "y"], sensitive=["disease"])


@settings(max_examples=60)
@given(points)
def test_the_chance_of_the_nearest_is_that_of_the_definition(both: tuple[list, list]) -> None:
    own, where = (np.array(side, np.float64) for side in both)
    nearest, second = linked_by_distance(own, where)
    assert nearest.tolist() == pytest.approx(naive.nearest(own.tolist(), where.tolist()))
    assert (nearest + second <= 1 + 1e-12).all()


@settings(max_examples=40)
@given(points)
def test_no_pairing_costs_less_than_the_assignment(both: tuple[list, list]) -> None:
    own, where = (np.array(side, np.float64) for side in both)
    pair = assigned(own, where)
    assert sorted(pair.tolist()) == list(range(len(own)))
    cost = sum(naive.squared(where[at], own[other]) for at, other in enumerate(pair.tolist()))
    assert cost == pytest.approx(naive.least_cost(own.tolist(), where.tolist()))


def test_the_assignment_finds_who_the_nearest_does_not() -> None:
    """Both published points are nearest to the first original; only one of them can be it."""
    own, where = np.array([[0.0], [1.0]]), np.array([[0.1], [0.4]])
    assert linked_by_distance(own, where)[0].tolist() == [1, 0]
    assert linked_by_assignment(own, where).tolist() == [1, 1]


def test_equal_points_are_paired_by_chance_and_not_by_their_order() -> None:
    n = 400
    right = linked_by_assignment(np.zeros((n, 1)), np.zeros((n, 1)), seed=3)
    assert right.sum() < 10
    assert linked_by_distance(np.zeros((n, 1)), np.zeros((n, 1)))[0] == pytest.approx(1 / n)


def test_near_pairs_alone_give_nearly_the_same_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    own = rng.random((300, 3))
    where = own + rng.normal(0, 0.05, own.shape)
    exact = linked_by_assignment(own, where)
    monkeypatch.setattr(distance, "MOST_PAIRED", 100)
    near = linked_by_assignment(own, where)
    assert (exact == near).mean() > 0.97
    assert near.mean() > linked_by_distance(own, where)[0].mean()


def numbers(n: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {"x": rng.integers(0, 1000, n), "y": rng.integers(0, 1000, n), "disease": ["flu", "cold"] * (n // 2)}
    )


def test_a_perturbed_release_is_linked_as_its_linkage_says() -> None:
    release = shoal.protect(numbers(), SCHEMA, [shoal.PersonKAnonymity(k=4)], mask="perturb", method="mdav", seed=1)
    suite = release.attack(["distance", "linkage", "skewness"])
    by_name = {result.name: result for result in suite.results}
    assert release.linkage is not None
    assert by_name["distance, nearest"].success == pytest.approx(release.linkage.linked / 80)
    assert by_name["distance, second nearest"].success == pytest.approx(release.linkage.rate)
    assert by_name["distance, nearest"].blind == 1 / 80
    assert {each.attack for each in suite.not_tried} == {"linkage", "skewness"}


def test_numbers_that_are_not_changed_are_all_linked_and_hidden_ones_are_not() -> None:
    same = shoal.attack(numbers(), numbers(), SCHEMA, attacks=["distance"], mask="perturb", whose="order")
    assert {result.success for result in same.results} == {1.0}
    hidden = numbers().with_columns(x=pl.lit(500), y=pl.lit(500))
    none = shoal.attack(hidden, numbers(), SCHEMA, attacks=["distance"], mask="perturb", whose="order")
    assert none.results[0].success <= 2 / 80


def test_without_knowing_whose_a_record_is_nothing_can_be_judged() -> None:
    suite = shoal.attack(numbers(), numbers(), SCHEMA, attacks=["distance"], mask="perturb")
    assert not suite.results
    assert "person map" in suite.not_tried[0].why
