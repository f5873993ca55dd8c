"""Moves between groups, and what cuts do to the mix of classes, equal their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import mixing
from shoal.kernels.trees import Segments
from tests.naive import mixing as naive
from tests.naive.spanning import added, distribution, jsd


@st.composite
def grouped_people(draw: st.DrawFn) -> tuple[list[naive.Someone], list[list[int]]]:
    n_classes, n_columns = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    spread = draw(st.sampled_from([2, 10, 1000]))
    has_one_record = draw(st.booleans())
    people = []
    for _ in range(draw(st.integers(2, 24))):
        point = draw(st.tuples(*[st.integers(0, spread)] * n_columns))
        most = 1 if has_one_record else 3
        classes = draw(st.tuples(*[st.integers(0, most)] * n_classes).filter(any))
        if has_one_record:
            own = draw(st.integers(0, n_classes - 1))
            classes = tuple(int(k == own) for k in range(n_classes))
        people.append(naive.Someone(point, sum(classes), classes))
    n_groups = draw(st.integers(1, max(1, len(people) // 2)))
    places = list(range(n_groups)) + [draw(st.integers(0, n_groups - 1)) for _ in range(len(people) - n_groups)]
    return people, [[i for i, group in enumerate(places) if group == number] for number in range(n_groups)]


def moved(
    people: list[naive.Someone], groups: list[list[int]], m: int, passes: int
) -> tuple[list[list[int]], int, list[float]]:
    kinds = sorted({one.classes for one in people})
    whole = distribution([one.classes for one in people])
    group_of_person = np.empty(len(people), np.int32)
    for number, members in enumerate(groups):
        group_of_person[members] = number
    n_moves = mixing.move_nearer(
        np.array([one.point for one in people], np.float64), np.array([one.records for one in people], np.int64),
        np.array([kinds.index(one.classes) for one in people], np.int32), np.array(kinds, np.int64), np.array(whole),
        group_of_person, len(groups), m, passes,
    )  # fmt: skip
    return [np.flatnonzero(group_of_person == number).tolist() for number in range(len(groups))], n_moves, whole


@settings(max_examples=200)
@given(grouped_people(), st.integers(1, 3), st.integers(1, 3))
def test_moves_are_those_of_the_definition(
    drawn: tuple[list[naive.Someone], list[list[int]]], m: int, passes: int
) -> None:
    people, groups = drawn
    found, n_moves, whole = moved(people, groups, m, passes)
    expected, n_expected = naive.move_nearer(groups, people, whole, m, passes)
    assert found == [sorted(members) for members in expected]
    assert n_moves == n_expected


@settings(max_examples=100)
@given(grouped_people(), st.integers(1, 4))
def test_what_moves_promise(drawn: tuple[list[naive.Someone], list[list[int]]], m: int) -> None:
    people, groups = drawn
    found, n_moves, whole = moved(people, groups, m, 2)
    assert sorted(i for members in found for i in members) == list(range(len(people)))
    before, after = naive.squares_inside(groups, people), naive.squares_inside(found, people)
    assert after <= before * (1 + 1e-9) + 1e-9
    assert n_moves == 0 or found != groups
    mixed_before = sum(naive.divergence_weight(members, people, whole) for members in groups)
    mixed_after = sum(naive.divergence_weight(members, people, whole) for members in found)
    assert mixed_after <= mixed_before + 1e-9
    for old, new in zip(groups, found, strict=True):
        assert len(new) >= min(len(old), m)
        assert len(new) <= max(len(old), 2 * m - 1)
        assert naive.n_classes(new, people) > 1 or naive.n_classes(old, people) == 1


def test_the_rise_of_a_cut_by_hand() -> None:
    """One node of six persons in one order, classes a a b | b b b."""
    kinds = np.array([[1, 0], [0, 1]], np.int64)
    kind = [0, 0, 1, 1, 1, 1]
    row = np.array([[1.0, 7.0, k] for k in kind])
    person_at = np.array([0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0], np.uint32)  # the second order lists them by count
    segments = Segments(np.array([[0], [6]]), np.array([[6], [12]]))
    zero = np.zeros(3, np.int32)
    positions = np.array([0, 2, 4], np.int32)
    whole = np.array([1 / 3, 2 / 3])
    rises = mixing.rises_of_cuts(person_at, segments, zero, zero, positions, row, kinds, whole)
    classes = [kinds[k].tolist() for k in kind]
    expected = [
        ((at + 1) * jsd(added(classes[: at + 1]), whole) + (5 - at) * jsd(added(classes[at + 1 :]), whole)) / 6
        for at in positions
    ]
    assert rises == pytest.approx(expected)
