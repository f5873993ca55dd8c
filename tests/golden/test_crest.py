"""The worked values of the class-restricted spanning tree, on a made table and, where at hand, on two real ones."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numba import config

from shoal.grouping.grouping import Grouping
from shoal.grouping.longest_edge import LongestEdge
from shoal.grouping.person_points import points_of_persons
from shoal.grouping.spanning_tree import SpanningTree, classes_of_persons
from shoal.kernels import spanning
from shoal.table.schema import Schema
from shoal.table.table import Table
from tests.naive import spanning as naive

PROJECT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data"))


def of_real_data(test: Callable[..., None]) -> Callable[..., None]:
    """A test of tables that are not ours to ship, and that plain Python would take hours for."""
    compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="takes hours in plain Python")
    return pytest.mark.data(compiled(test))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*hold a class of one person only")
        yield


def fraction(x: float) -> float:
    return x - math.floor(x)


def table_of(columns: dict[str, np.ndarray], classes: np.ndarray) -> Table:
    frame = pl.DataFrame(columns).with_columns(pl.Series("class", classes).cast(pl.String))
    return Table.from_frame(frame, Schema(quasi=list(columns), sensitive=["class"]))


@pytest.fixture(scope="module")
def made() -> Table:
    """60 records: the fractions of multiples of square roots."""
    columns = {f"x{p}": np.array([fraction((i + 1) * math.sqrt(p)) for i in range(60)]) for p in (2, 3, 5)}
    return table_of(columns, np.array([int(3 * fraction((i + 1) * math.sqrt(17)) ** 1.5) for i in range(60)]))


@pytest.fixture(scope="module")
def pima() -> Table:
    """768 patients, 8 columns, two classes."""
    frame = pl.read_csv(file("pima", "pima-indians-diabetes.csv"), has_header=False)
    columns = {name: frame[name].to_numpy() for name in frame.columns[:8]}
    return table_of(columns, frame[:, 8].to_numpy())


@pytest.fixture(scope="module")
def medicare() -> Table:
    """4,406 persons, 21 columns of numbers and of 0 and 1; the class is no, one, or several chronic conditions."""
    frame = pl.read_csv(file("nmes1988", "NMES1988.csv"))
    counts = ["visits", "nvisits", "ovisits", "novisits", "emergency", "hospital", "age", "school", "income"]
    is_one = {
        "health": ["poor", "excellent"], "adl": ["limited"], "region": ["northeast", "midwest", "west"],
        "afam": ["yes"], "gender": ["male"], "married": ["yes"], "employed": ["yes"], "insurance": ["yes"],
        "medicaid": ["yes"],
    }  # fmt: skip
    columns = {}
    for name in frame.columns[1:]:
        if name in counts:
            columns[name] = frame[name].to_numpy()
        for value in is_one.get(name, []):
            columns[f"{name}_{value}"] = (frame[name] == value).cast(pl.Int64).to_numpy()
    assert len(columns) == 21
    return table_of(columns, np.minimum(frame["chronic"].to_numpy(), 2))


def file(folder: str, name: str) -> Path:
    if not (DATA / folder / name).is_file():
        pytest.skip(f"the folder {folder} is not in the folder that SHOAL_DATA names")
    return DATA / folder / name


def length_of_tree(table: Table, *, alpha: float, b: int = 5) -> float:
    classes = classes_of_persons(table)
    located = points_of_persons(table)
    *_, length = spanning.grow(
        located.points, float(located.n_columns), classes.kind_of_person, classes.counts_of_kind, classes.whole, alpha,
        b, 0, True,
    )  # fmt: skip
    return float(length.sum())


def class_counts(table: Table, grouping: Grouping) -> np.ndarray:
    counts = np.zeros((grouping.n_groups, table.sensitive["class"].n_codes))
    np.add.at(counts, (grouping.group_of_person, table.sensitive["class"].codes), 1)
    return counts


def share_of_squares_inside(table: Table, grouping: Grouping) -> float:
    """SSE/SST: of the squares around the mean of all, those around the means of the groups."""
    points = points_of_persons(table).points
    groups = [points[grouping.group_of_person == group] for group in range(grouping.n_groups)]
    within = sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)
    return within / float(((points - points.mean(axis=0)) ** 2).sum())


def chi_square(counts: np.ndarray) -> float:
    """X^2, equation 13."""
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    return float(((counts - expected) ** 2 / expected).sum() / len(counts))


def homogeneous_records(counts: np.ndarray) -> int:
    return int(counts[np.count_nonzero(counts, axis=1) == 1].sum())


def test_divergences_of_the_paper() -> None:
    whole = [1 / 3, 2 / 3]
    assert naive.kld([0, 1], whole) == pytest.approx(0.5849625007, abs=1e-10)
    assert naive.ratio_of_counts([3, 0], [0, 6], whole, 0.1) == pytest.approx(2.8029897542, abs=1e-9)
    three = [naive.jsd(counts, whole) for counts in ([3, 0], [0, 3], [0, 3])]
    assert sum(three) / 3 == pytest.approx(0.2802989754, abs=1e-10)


def test_the_made_table(made: Table) -> None:
    assert length_of_tree(made, alpha=0.5) == pytest.approx(4.524482657, abs=1e-9)
    grouping = SpanningTree(m=5, repair=False).group(made, [])
    assert sorted(np.bincount(grouping.group_of_person).tolist()) == [5, 6, 6, 7, 8, 8, 9, 11]
    assert chi_square(class_counts(made, grouping)) == pytest.approx(0.616843, abs=1e-6)
    points = points_of_persons(made).points
    sizes = np.bincount(grouping.group_of_person)
    means = np.stack([np.bincount(grouping.group_of_person, column) / sizes for column in points.T], axis=1)
    within = ((points - means[grouping.group_of_person]) ** 2).sum(axis=0)
    assert within.sum() / ((points - points.mean(axis=0)) ** 2).sum() == pytest.approx(0.311233, abs=1e-6)
    raw = np.column_stack([column.floats for column in made.quasi.values()])  # type: ignore[union-attr]
    within *= (raw.max(axis=0) - raw.min(axis=0)) ** 2
    assert within / (60 - grouping.n_groups) == pytest.approx([0.030108437, 0.036065326, 0.023276902], abs=1e-8)


def test_the_made_table_equals_the_plain_definition(made: Table) -> None:
    points = points_of_persons(made).points.tolist()
    classes = np.eye(3, dtype=int)[made.sensitive["class"].codes].tolist()
    groups = naive.cut(naive.grow(points, classes, alpha=0.5, b=5), classes, m=5)
    grouping = SpanningTree(m=5, repair=False).group(made, [])
    found = {
        frozenset(np.flatnonzero(grouping.group_of_person == group).tolist()) for group in range(grouping.n_groups)
    }
    assert found == groups


def test_the_made_table_by_distance_alone(made: Table) -> None:
    assert length_of_tree(made, alpha=1.0) == pytest.approx(4.357590925, abs=1e-9)
    grouping = SpanningTree(m=5, alpha=1, repair=False).group(made, [])
    assert grouping.n_groups == 9
    assert chi_square(class_counts(made, grouping)) == pytest.approx(0.404361, abs=1e-6)


@of_real_data
@pytest.mark.parametrize(
    ("alpha", "length", "n_groups", "x2", "homogeneous"),
    [(0.5, 20.440150309, 96, 1.292534, 11), (1.0, 16.56888746, 113, 2.455556, 168)],
)
def test_pima(pima: Table, alpha: float, length: float, n_groups: int, x2: float, homogeneous: int) -> None:
    assert length_of_tree(pima, alpha=alpha) == pytest.approx(length, abs=1e-8)
    grouping = SpanningTree(m=5, alpha=alpha, repair=False).group(pima, [])
    counts = class_counts(pima, grouping)
    assert (grouping.n_groups, homogeneous_records(counts)) == (n_groups, homogeneous)
    assert chi_square(counts) == pytest.approx(x2, abs=1e-6)


@of_real_data
def test_pima_by_the_longest_edges(pima: Table) -> None:
    grouping = LongestEdge(m=5).group(pima, [])
    counts = class_counts(pima, grouping)
    assert (grouping.n_groups, homogeneous_records(counts)) == (107, 169)
    assert chi_square(counts) == pytest.approx(2.651623, abs=1e-6)


@of_real_data
@pytest.mark.parametrize(
    ("alpha", "length", "n_groups", "x2", "inside"),
    [(0.5, 72.402210878, 579, 1.828479, 0.124653), (1.0, 50.180607572, 652, 2.584259, 0.063796)],
)
def test_medicare(medicare: Table, alpha: float, length: float, n_groups: int, x2: float, inside: float) -> None:
    assert length_of_tree(medicare, alpha=alpha) == pytest.approx(length, abs=1e-8)
    grouping = SpanningTree(m=5, alpha=alpha, repair=False).group(medicare, [])
    assert grouping.n_groups == n_groups
    assert chi_square(class_counts(medicare, grouping)) == pytest.approx(x2, abs=1e-6)
    assert share_of_squares_inside(medicare, grouping) == pytest.approx(inside, abs=1e-6)


@of_real_data
def test_repair_mends_hubs_and_mixes_no_worse(medicare: Table) -> None:
    before = SpanningTree(m=5, repair=False).group(medicare, [])
    after = SpanningTree(m=5).group(medicare, [])
    assert np.bincount(before.group_of_person).max() == 41
    assert np.bincount(after.group_of_person).max() < 20
    assert chi_square(class_counts(medicare, after)) < chi_square(class_counts(medicare, before))
    assert homogeneous_records(class_counts(medicare, after)) == 0
