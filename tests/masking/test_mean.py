"""Mask "mean": the mean over a group's records, the most frequent category, missing where all is missing."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Nominal, Number, Ordered, Schema
from shoal.grouping.grouping import Grouping
from shoal.masking import Mean
from shoal.masking.grouped import GroupedRecords
from shoal.table.columns import NumberColumn
from shoal.table.table import Table
from tests.masking.showing import shown

MEAN = Mean()


def test_the_mean_over_records_not_persons() -> None:
    assert shown(MEAN, [10, 10, 40], [0, 0, 0], persons=[0, 0, 1]) == [20.0]


def test_two_decimals_more_than_the_column_has() -> None:
    assert shown(MEAN, [1, 2, 2], [0, 0, 0]) == [1.67]
    assert shown(MEAN, [0.1, 0.2, 0.2], [0, 0, 0]) == [0.167]
    assert shown(MEAN, [-1, -2], [0, 0]) == [-1.5]


def test_floats_show_six_digits() -> None:
    assert shown(MEAN, [1 / 3, 1 / 3], [0, 0]) == [0.333333]
    assert shown(MEAN, [1.5e308, 1.7e308], [0, 0]) == [pytest.approx(1.6e308)]


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_means_do_not_depend_on_the_order_of_records(values: list[float], chance: random.Random) -> None:
    """To the last bit, of which six digits are shown."""
    values = [value / 3 for value in (*values, 0.1)]
    means = [means_of(some) for some in (values, values[::-1], chance.sample(values, len(values)))]
    assert means[0] == means[1] == means[2]


def means_of(values: list[float]) -> list[float]:
    table = Table.from_frame(pl.DataFrame({"q": values}), Schema(quasi=["q"]))
    records = GroupedRecords.of(table, Grouping(np.zeros(len(values), np.int32), 1))
    column = table.quasi["q"]
    assert isinstance(column, NumberColumn)
    return records.means(column)[0].tolist()


def test_missing_values_do_not_count_and_a_group_of_them_shows_one() -> None:
    assert shown(MEAN, [10, None, 20, None], [0, 0, 0, 1]) == [15.0, None]
    assert shown(MEAN, [1 / 3, None, 2 / 3, None], [0, 0, 0, 1]) == [0.5, None]


def test_dates_and_ordered_categories_show_the_nearest() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 4)]
    assert shown(MEAN, [*days, days[0]], [0, 0, 0]) == ["2020-01-02"]
    order = Ordered("q", order=("low", "mid", "high"))
    assert shown(MEAN, ["low", "high", "high", "mid"], [0, 0, 1, 1], order)[0] == "mid"


def test_the_most_frequent_category_and_of_equals_the_first() -> None:
    assert shown(MEAN, ["b", "a", "b", "c", "a"], [0, 0, 0, 1, 1]) == ["b", "a"]
    assert shown(MEAN, ["a", None, None], [0, 0, 0]) == [None]


def test_nothing_but_missing_values() -> None:
    nothing = pl.Series([None, None], dtype=pl.String)
    for kind in (Ordered("q"), Number("q"), Nominal("q")):
        assert shown(MEAN, nothing, [0, 1], kind) == [None, None]


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 3)), min_size=1, max_size=30))
def test_means_are_those_of_plain_arithmetic(rows: list[tuple[int, int]]) -> None:
    numbers = sorted({group for _, group in rows})
    groups = [numbers.index(group) for _, group in rows]
    for group, mean in enumerate(shown(MEAN, [value for value, _ in rows], groups)):
        own = [value for (value, _), other in zip(rows, groups, strict=True) if other == group]
        assert mean == pytest.approx(float(Fraction(sum(own), len(own))), abs=0.005 + 1e-9)
