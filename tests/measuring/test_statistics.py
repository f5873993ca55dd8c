"""What masked numbers keep of the original ones, against the definitions."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Ordered, Schema
from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import Mean, Range
from shoal.masking.publish import publish
from shoal.measuring import statistics
from shoal.table.table import Table
from tests.naive import statistics as naive

Rows = list[tuple[int, ...]]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Rows, Rows]:
    """An original and a masked table, often with ties, duplicates and constants."""
    n_columns = draw(st.integers(1, 4))
    spread = draw(st.sampled_from([0, 1, 3, 100]))
    row = st.tuples(*[st.integers(-spread, spread)] * n_columns)
    original = draw(st.lists(row, min_size=2, max_size=25))
    masked = draw(st.one_of(st.just(original), st.lists(row, min_size=len(original), max_size=len(original))))
    return original, masked


labelled = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=30)


@settings(max_examples=200)
@given(pairs())
def test_linkage(tables: tuple[Rows, Rows]) -> None:
    original, masked = tables
    found = statistics.linkage(np.array(original, float), np.array(masked, float))
    assert (found.linked, found.second) == pytest.approx(naive.linkage(original, masked))
    assert found.rate == pytest.approx((found.linked + found.second) / len(original))


def test_an_unmasked_table_of_different_records_is_linked_wholly() -> None:
    values = np.random.default_rng(0).random((50, 3))
    assert statistics.linkage(values, values) == statistics.Linkage(50.0, 0.0, 50)


def test_equal_records_cannot_be_told_apart() -> None:
    found = statistics.linkage(np.ones((10, 2)), np.ones((10, 2)))
    assert (found.linked, found.second) == pytest.approx((1, 1))


@pytest.mark.parametrize("measure", ["abim", "abisd", "abico"])
@settings(max_examples=100)
@given(tables=pairs())
def test_biases(measure: str, tables: tuple[Rows, Rows]) -> None:
    original, masked = tables
    value, undefined = getattr(naive, measure)(original, masked)
    found = getattr(statistics, measure)(np.array(original, float), np.array(masked, float))
    assert found.undefined == undefined
    assert found.value == pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)


def test_pairs_without_a_correlation_are_counted() -> None:
    """The first two columns are uncorrelated, the last is constant; after masking the second is constant too."""
    original = np.array([[0, 0, 0, 5], [0, 1, 1, 5], [1, 0, 2, 5], [1, 1, 3, 5]], float)
    assert statistics.abico(original, original) == statistics.Bias(0.0, 4)
    masked = original.copy()
    masked[:, 1] = 0.5
    assert statistics.abico(original, masked) == statistics.Bias(0.0, 5)
    assert math.isnan(statistics.abico(original[:, :2], original[:, :2]).value)


@given(labelled)
def test_classes_of_groups(rows: list[tuple[str, int]]) -> None:
    classes, groups = [list(column) for column in zip(*rows, strict=True)]
    arrays = np.array(classes), np.array(groups)
    assert statistics.class_chi_square(*arrays) == pytest.approx(naive.class_chi_square(classes, groups), abs=1e-12)
    assert statistics.homogeneous_share(*arrays) == pytest.approx(naive.homogeneous_share(classes, groups))
    mix, (kld, jsd) = statistics.class_mix(*arrays), naive.mean_divergences(classes, groups)
    assert (mix.kld, mix.wjsd) == pytest.approx((kld, jsd), abs=1e-12)
    assert (mix.chi_square, mix.one_class) == (
        statistics.class_chi_square(*arrays),
        statistics.homogeneous_share(*arrays),
    )


def test_divergences_of_the_papers_figures_1_and_2() -> None:
    """Three circles and six squares: by class the weighted divergence is 0.2803 (the paper's 0.323 mixes measures)."""
    by_class = statistics.class_mix(np.array(list("ooossssss")), np.repeat([0, 1, 2], 3))
    assert by_class.wjsd == pytest.approx(0.2802989754, abs=1e-10)
    assert by_class.one_class == 1
    mixed = statistics.class_mix(np.array(list("ooossssss")), np.array([0, 1, 2, 0, 0, 1, 1, 2, 2]))
    assert (mixed.wjsd, mixed.kld, mixed.chi_square, mixed.one_class) == pytest.approx((0, 0, 0, 0), abs=1e-12)


def test_many_groups_and_many_classes_need_little_memory() -> None:
    """300,000 groups and as many classes: a table of both would not fit anywhere."""
    n = 300_000
    mix = statistics.class_mix(np.arange(n), np.arange(n))
    assert mix.one_class == 1
    assert mix.kld == pytest.approx(np.log2(n))


@settings(max_examples=100)
@given(tables=pairs(), data=st.data())
def test_biases_where_numbers_are_missing(tables: tuple[Rows, Rows], data: st.DataObject) -> None:
    """At least two numbers are left in each column."""
    gaps = st.lists(st.integers(2, max(2, len(tables[0]) - 1)), max_size=4)
    holed = []
    for rows in tables:
        values = np.array(rows, float)
        for column in range(values.shape[1]):
            for at in data.draw(gaps):
                if at < len(values):
                    values[at, column] = np.nan
        holed.append(values)
    for measure in ("abim", "abisd", "abico"):
        value, undefined = getattr(naive, measure)(*(one.tolist() for one in holed))
        found = getattr(statistics, measure)(*holed)
        assert found.undefined == undefined
        assert found.value == pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)


def test_chi_square_by_hand() -> None:
    """Two groups of three, one with classes a a b, the other with b b b: 2 and 4 of six; expected 1 and 2 in each."""
    classes, groups = np.array(list("aabbbb")), np.array([0, 0, 0, 1, 1, 1])
    assert statistics.class_chi_square(classes, groups) == pytest.approx(1 / 1 + 1 / 2)
    assert statistics.homogeneous_share(classes, groups) == 0.5


GROUPS_OF_CREST = [
    0, 1, 2, 3, 4, 5, 6, 3, 1, 5, 6, 1, 0, 1, 7, 3, 4, 5, 7, 2, 6, 5, 7, 1, 2, 5, 4, 3, 2, 4,
    1, 2, 6, 4, 0, 1, 6, 3, 4, 5, 1, 3, 1, 5, 7, 2, 0, 1, 7, 3, 4, 5, 7, 2, 6, 4, 0, 2, 2, 1,
]  # fmt: skip
"""The groups of class-restricted spanning trees (m = b = 5, alpha = 0.5) on the sixty points below."""


def test_sixty_points_in_the_groups_of_a_class_restricted_tree() -> None:
    place = np.arange(1, 61)
    values = np.stack([place * np.sqrt(p) % 1 for p in (2, 3, 5)], axis=1)
    classes = (3 * (place * np.sqrt(17) % 1) ** 1.5).astype(int)
    groups = np.array(GROUPS_OF_CREST)
    assert sorted(np.bincount(groups).tolist()) == [5, 6, 6, 7, 8, 8, 9, 11]
    assert statistics.class_chi_square(classes, groups) == pytest.approx(0.616843, abs=5e-7)
    assert statistics.within_share(values, groups) == pytest.approx(0.311233, abs=5e-7)
    noise = np.diag(statistics.within_scatter(values, groups)) / (60 - 8)
    assert noise == pytest.approx([0.030108437, 0.036065326, 0.023276902], abs=5e-10)


@given(pairs(), st.data())
def test_the_share_of_squares_inside_groups(tables: tuple[Rows, Rows], data: st.DataObject) -> None:
    rows, _ = tables
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    found = statistics.within_share(np.array(rows, float), np.array(groups))
    assert found == pytest.approx(naive.within_share(rows, groups), abs=1e-9)


def visits_table() -> tuple[Table, Grouping]:
    frame = pl.DataFrame(
        {
            "person": ["a", "a", "b", "c", "d"],
            "age": [20, 22, 30, 40, 60],
            "weight": [60.5, 61.5, 70.0, 80.0, 90.0],
            "grade": ["low", "low", "mid", "high", "high"],
            "day": ["2024-01-01", "2024-01-03", "2024-01-05", "2024-02-01", "2024-02-03"],
            "city": ["x", "x", "y", "x", "y"],
        }
    )
    grade = Ordered("grade", order=("low", "mid", "high"))
    schema = Schema(person="person", quasi=["age", "weight", grade, "day", "city"])
    frame = frame.with_columns(pl.col("day").str.to_date())
    return Table.from_frame(frame, schema), Grouping(np.array([0, 0, 1, 1], np.int32), 2)


def test_moments_before_and_after_a_mask() -> None:
    table, grouping = visits_table()
    found = statistics.moments(table, publish(table, grouping, Mean()))
    assert found.columns == ("age", "weight", "grade", "day")
    assert found.mean_before[:2] == pytest.approx([34.4, 72.4])
    assert found.mean_after[:2] == pytest.approx([34.4, 72.4])
    assert found.covariance_before[0, 0] == pytest.approx(np.var([20, 22, 30, 40, 60], ddof=1))
    assert found.covariance_after[0, 0] == pytest.approx(np.var([24, 24, 24, 50, 50], ddof=1))
    assert found.mean_before[2] == pytest.approx(1.0)
    assert found.mean_after[2] == pytest.approx((0 * 3 + 2 * 2) / 5)
    days = [19723, 19725, 19727, 19754, 19756]
    assert found.mean_before[3] == pytest.approx(np.mean(days))


def test_a_missing_number_is_none() -> None:
    frame = pl.DataFrame({"age": [20, None, 40], "weight": [60.5, 0.1 + 0.2, None]})
    table = Table.from_frame(frame, Schema(quasi=["age", "weight"]))
    assert statistics.numbers_of(table) == pytest.approx(
        np.array([[20, 60.5], [math.nan, 0.1 + 0.2], [40, math.nan]]), nan_ok=True
    )


def test_linkage_of_a_release_counts_persons() -> None:
    table, grouping = visits_table()
    found = statistics.linkage_of(table, publish(table, grouping, Mean()))
    assert found.n == 4
    alone = Grouping(np.arange(4, dtype=np.int32), 4)
    assert statistics.linkage_of(table, publish(table, alone, Mean())).linked == 4


def test_ranges_have_no_moments() -> None:
    table, grouping = visits_table()
    with pytest.raises(SchemaError, match="'age' is not published as numbers"):
        statistics.moments(table, publish(table, grouping, Range()))


def test_no_number_no_moments() -> None:
    table = Table.from_frame(pl.DataFrame({"city": ["x", "y"]}), Schema(quasi=["city"]))
    with pytest.raises(SchemaError, match="No quasi-identifier is a number"):
        statistics.numbers_of(table)


@pytest.mark.slow
def test_linkage_of_many_records_comes_to_an_end() -> None:
    rng = np.random.default_rng(2)
    original = rng.standard_normal((100_000, 8))
    found = statistics.linkage(original, original + 0.001 * rng.standard_normal(original.shape))
    assert found.rate > 0.99
