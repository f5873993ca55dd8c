"""Skewness and similarity equal their definitions."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.skewness import WINDOW
from tests.naive import attacks as naive

SCHEMA = shoal.Schema(person="person", quasi=[shoal.Nominal("area")], sensitive=["value"])

groups = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), min_size=1, max_size=8), min_size=1, max_size=4
)
"""Groups of (person, value); persons of different groups are different."""


def frame_of(groups: list[list[tuple]]) -> pl.DataFrame:
    rows = [(f"{at}-{person}", f"area {at}", value) for at, group in enumerate(groups) for person, value in group]
    return pl.DataFrame(rows, schema=["person", "area", "value"], orient="row")


def attack(frame: pl.DataFrame, name: str, **options: object) -> shoal.attacking.contract.AttackResult:
    (result,) = shoal.attack(frame, schema=SCHEMA, attacks=[name], **options).results  # type: ignore[arg-type]
    return result


@settings(max_examples=60)
@given(groups)
def test_what_a_group_adds_is_that_of_the_definition(drawn: list[list[tuple]]) -> None:
    result = attack(frame_of(drawn), "skewness")
    assert result.success == pytest.approx(naive.draw_from(drawn, from_table=False))
    named = [[((at, person), value) for person, value in group] for at, group in enumerate(drawn)]
    assert result.blind == pytest.approx(naive.draw_from(named, from_table=True))
    assert result.details["farthest"] == pytest.approx(max(naive.distance_to_table(drawn)))


@settings(max_examples=60)
@given(groups)
def test_the_closest_knit_numbers_are_those_of_the_definition(drawn: list[list[tuple]]) -> None:
    result = attack(frame_of(drawn), "similarity")
    numbers = [number for group in drawn for _, number in group]
    width = WINDOW * (max(numbers) - min(numbers))
    right, total = naive.in_best_window(drawn, width + 1e-9)
    assert (result.success, result.targets) == (pytest.approx(right / total), total)


def test_one_of_a_hundred_in_the_table_and_half_of_a_group() -> None:
    """The example of the paper's section 3: 1 % are positive, and of one group 50 %: 50 times as likely."""
    rare = [("area 0", "positive"), ("area 0", "negative")] + [("area 1", "negative")] * 98
    frame = pl.DataFrame(
        [(f"p{at}", *row) for at, row in enumerate(rare)], schema=["person", "area", "value"], orient="row"
    )
    result = attack(frame, "skewness")
    assert result.details["largest_gain"] == pytest.approx(50)
    assert result.details["farthest"] == pytest.approx(0.49)
    assert result.success == pytest.approx((2 * 0.5 + 98) / 100)
    assert result.blind == pytest.approx((0.01 + 99 * 0.99) / 100)


def test_salaries_that_are_close_are_as_good_as_known() -> None:
    """The paper's similarity attack: three different salaries in a group, all low."""
    drawn = [[(0, 3), (1, 4), (2, 5)], [(0, 6), (1, 60), (2, 110)]]
    result = attack(frame_of(drawn), "similarity")
    assert result.success == pytest.approx((3 + 1) / 6)
    assert result.blind == pytest.approx(4 / 6)
    assert "10%" in result.details["closeness"]


def test_diseases_with_one_parent_are_alike() -> None:
    stomach = shoal.Hierarchy.from_rows(
        [("ulcer", "stomach", "*"), ("gastritis", "stomach", "*"), ("cancer", "stomach", "*"), ("flu", "lungs", "*")]
    )
    drawn = [[(0, "ulcer"), (1, "gastritis"), (2, "cancer")], [(0, "flu"), (1, "ulcer"), (2, "flu")]]
    frame = frame_of(drawn)
    assert attack(frame, "similarity", similar={"value": stomach}).success == pytest.approx(5 / 6)
    untold = shoal.attack(frame, schema=SCHEMA, attacks=["similarity"])
    assert untold.not_tried[0].give == "similar"


def test_missing_values_are_close_to_nothing() -> None:
    frame = pl.DataFrame({"person": list("abc"), "area": ["x"] * 3, "value": [None, None, 4]}, strict=False)
    assert attack(frame, "similarity").success == pytest.approx(1 / 3)


def test_t_closeness_limits_the_distance() -> None:
    rng_rows = [(at % 7, (at * 37) % 11) for at in range(60)]
    frame = pl.DataFrame(
        {"person": [f"p{at}" for at in range(60)], "age": [at % 13 for at in range(60)],
         "value": [str(value) for _, value in rng_rows]}
    )  # fmt: skip
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["value"])
    release = shoal.protect(frame, schema, [shoal.TCloseness(t="0.4")], seed=1)
    (result,) = release.attack(["skewness"]).results
    reached = release.verdict.models[0].reached
    assert result.details["farthest"] == pytest.approx(reached)
    assert result.details["farthest"] <= 0.4
