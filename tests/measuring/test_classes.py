"""Classes hide single persons: enough persons in each, open ends, round limits; and together they hold everything."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Date, Nominal, Number, Ordered, Schema
from shoal.measuring.classes import FEWEST_PERSONS, MOST_CATEGORIES, MOST_STEPS, classes_of
from shoal.table.schema import Quasi
from shoal.table.table import Table


def table_of(values: list[Any], column: Quasi, *, persons: list[int] | None = None) -> Table:
    frame = pl.DataFrame({"p": persons or list(range(len(values))), "q": values}, strict=False)
    return Table.from_frame(frame, Schema(person="p", quasi=[column]))


def persons_of_classes(table: Table) -> dict[str, set[int]]:
    classes = classes_of(table.quasi["q"], table)
    assert classes is not None
    found: dict[str, set[int]] = {label: set() for label in classes.labels}
    for person, number in zip(table.person_of_record.tolist(), classes.class_of_record.tolist(), strict=True):
        found[classes.labels[number]].add(person)
    return found


numbers = st.lists(st.none() | st.integers(-200, 1000) | st.just(7), min_size=20, max_size=200)


@given(numbers, st.integers(1, 4), st.sampled_from([Number, Nominal, Ordered]))
def test_no_class_has_fewer_persons(values: list[int | None], records: int, kind: type[Quasi]) -> None:
    """Also where persons have several records: a class of fifty records of one person would show that person."""
    given_values: list[Any] = [None if value is None or kind is Number else str(value) for value in values]
    given_values = values if kind is Number else given_values
    persons = [at // records for at in range(len(values))]
    table = table_of(given_values, kind("q"), persons=persons)
    classes = classes_of(table.quasi["q"], table)
    if classes is None:
        return
    assert all(len(having) >= FEWEST_PERSONS for having in persons_of_classes(table).values())
    assert classes.counts().sum() == len(values)
    assert 2 <= len(classes) <= max(MOST_CATEGORIES, MOST_STEPS + 3)
    assert len(set(classes.labels)) == len(classes)


@given(st.lists(st.integers(-10_000, 10_000), min_size=40, max_size=300))
def test_classes_of_numbers_stand_in_order_and_have_every_number_once(values: list[int]) -> None:
    table = table_of(values, Number("q"))
    classes = classes_of(table.quasi["q"], table)
    if classes is None:
        return
    order = classes.class_of_record[np.argsort(values, kind="stable")]
    assert (np.diff(order) >= 0).all()
    assert (classes.class_of_values(np.array(values)) == classes.class_of_record).all()


def test_extremes_are_not_told() -> None:
    ages = [30 + at % 40 for at in range(400)] + [17, 107]
    told = " ".join(persons_of_classes(table_of(ages, Number("q"))))
    assert "17" not in told
    assert "107" not in told
    assert told.startswith("up to ")
    assert told.endswith(" and over")


def test_ages_are_cut_at_round_ends() -> None:
    ages = [20 + at % 60 for at in range(600)]
    assert list(persons_of_classes(table_of(ages, Number("q")))) == [
        "up to 24", "25 to 29", "30 to 34", "35 to 39", "40 to 44", "45 to 49", "50 to 54", "55 to 59", "60 to 64",
        "65 to 69", "70 to 74", "75 and over",
    ]  # fmt: skip


def test_codes_keep_their_zeros_and_decimals_their_point() -> None:
    codes = [f"{501 + at % 40:05d}" for at in range(400)]
    assert "00505 to 00509" in persons_of_classes(table_of(codes, Number("q")))
    weights = [60 + at % 50 / 10 for at in range(500)]
    assert "61 to under 61.5" in persons_of_classes(table_of(weights, Number("q")))


def test_numbers_of_many_digits_are_classed_too() -> None:
    rng = np.random.default_rng(1)
    table = table_of(rng.normal(size=500).tolist(), Number("q"))
    assert table.quasi["q"].floats is not None  # type: ignore[union-attr]
    classes = classes_of(table.quasi["q"], table)
    assert classes is not None
    assert "0 to under 0.5" in classes.labels
    inside = (table.frame["q"].to_numpy() >= 0) & (table.frame["q"].to_numpy() < 0.5)
    assert classes.counts()[classes.labels.index("0 to under 0.5")] == inside.sum()


@pytest.mark.parametrize(
    ("days", "label"),
    [
        (20_000, "1970 to 1974"),
        (3_000, "1961"),
        (2_800, "1961-07 to 1961-12"),
        (300, "1960-02"),
        (40, "1960-01-04 to 1960-01-08"),
    ],
)
def test_dates_are_cut_at_years_months_or_days(days: int, label: str) -> None:
    first = dt.date(1960, 1, 1)
    dates = [first + dt.timedelta(days * at // 2000) for at in range(2000)]
    labels = persons_of_classes(table_of(dates, Date("q")))
    assert label in labels
    assert not any("1960-01-01" in each for each in labels)


@pytest.mark.parametrize(("usual", "other"), [(dt.date.min, dt.date.max), (dt.date.max, dt.date.min)])
@pytest.mark.parametrize("others", [0, 20, 300])
def test_dates_at_the_first_and_the_last_day_are_classed(usual: dt.date, other: dt.date, others: int) -> None:
    table = table_of([usual] * 2000 + [other] * others, Date("q"))
    classes = classes_of(table.quasi["q"], table)
    if others:
        assert classes is not None
        assert sorted(classes.counts().tolist()) == [others, 2000]
    else:
        assert classes is None


def test_ordered_categories_keep_their_order() -> None:
    stages = ("none", "low", "mid", "high")
    values = ["none"] * 40 + ["low"] * 3 + ["mid"] * 30 + ["high"] * 20
    labels = list(persons_of_classes(table_of(values, Ordered("q", order=stages))))
    assert labels == ["none", "low to mid", "high"] or labels == ["none to low", "mid", "high"]


def test_the_commonest_categories_are_named_and_the_rest_is_together() -> None:
    values = ["a"] * 50 + ["b"] * 30 + [f"rare {at}" for at in range(25)]
    found = persons_of_classes(table_of(values, Nominal("q")))
    assert list(found) == ["a", "b", "all others (25)"]
    assert "rare" not in " ".join(found)


def test_one_category_too_many_leaves_a_place_for_the_rest() -> None:
    as_many = [f"{at:02}" for at in range(MOST_CATEGORIES) for _ in range(FEWEST_PERSONS + 20 - at)]
    assert len(persons_of_classes(table_of(as_many, Nominal("q")))) == MOST_CATEGORIES
    more = as_many + ["one more"] * FEWEST_PERSONS
    found = persons_of_classes(table_of(more, Nominal("q")))
    assert list(found) == [*(f"{at:02}" for at in range(MOST_CATEGORIES - 1)), "all others (2)"]


def test_just_enough_persons_are_enough() -> None:
    rare = [f"rare {at}" for at in range(FEWEST_PERSONS)]
    assert list(persons_of_classes(table_of(["a"] * 50 + ["b"] * FEWEST_PERSONS + rare, Nominal("q")))) == [
        "a", "b", f"all others ({FEWEST_PERSONS})",
    ]  # fmt: skip
    numbers: list[int | None] = [*range(FEWEST_PERSONS), *[None] * FEWEST_PERSONS]
    assert {name: len(persons) for name, persons in persons_of_classes(table_of(numbers, Number("q"))).items()} == {
        "all": FEWEST_PERSONS, "missing": FEWEST_PERSONS,
    }  # fmt: skip


def test_persons_of_a_class_are_counted_and_not_their_records() -> None:
    """Nineteen records, of ten persons, and then of nine."""
    values = ["a"] * 40 + ["b"] * 19
    persons = [*range(40), *[100 + at // 2 for at in range(18)], 0]
    assert "b" in persons_of_classes(table_of(values, Nominal("q"), persons=persons))
    persons[-1] = 100
    of_nine = table_of(values, Nominal("q"), persons=persons)
    assert classes_of(of_nine.quasi["q"], of_nine) is None


def test_a_rest_that_is_too_small_takes_another_along() -> None:
    values = ["a"] * 50 + ["b"] * 30 + ["only me"]
    assert list(persons_of_classes(table_of(values, Nominal("q")))) == ["a", "all others (2)"]


def test_missing_is_a_class_where_enough_miss_it_and_else_joins_another() -> None:
    ages: list[int | None] = [20 + at % 60 for at in range(600)]
    found = persons_of_classes(table_of([*ages, *[None] * 12], Number("q")))
    assert list(found)[-1] == "missing"
    assert len(found["missing"]) == 12
    few = persons_of_classes(table_of([*ages, *[None] * 3], Number("q")))
    assert "missing" not in few
    assert next(iter(few)) == "up to 24 or missing"


@pytest.mark.parametrize("values", [[5] * 100, list(range(12)), ["a"] * 100, [None] * 50])
def test_where_there_would_be_one_class_there_is_none(values: list[Any]) -> None:
    kind = Nominal("q") if isinstance(values[0], str) else Number("q")
    table = table_of(values, kind)
    assert classes_of(table.quasi["q"], table) is None


def test_a_column_that_is_nearly_constant_shows_the_common_value() -> None:
    values = [0] * 5000 + list(range(1, 21)) + list(range(-20, 0))
    assert list(persons_of_classes(table_of(values, Number("q")))) == ["up to -1", "0", "1 and over"]
