"""A million persons by spanning trees inside cells, and what cells cost in quality beside one exact tree of 100,000.

Run with `make bench`. Prints figures of docs/benchmarks.md.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.grouping import SpanningCells, SpanningTree
from shoal.measuring.statistics import class_chi_square, homogeneous_share, numbers_of, within_share
from shoal.table.table import Table

COLUMNS = [f"x{j}" for j in range(8)]


def table_of(n: int) -> Table:
    """Eight columns, any two correlated by a half, and a class of three that goes with their mean."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((n, 8)) @ np.linalg.cholesky(0.5 * np.eye(8) + 0.5).T
    score = values.mean(axis=1) + 0.7 * rng.standard_normal(n)
    classes = np.array(["a", "b", "c"])[np.searchsorted(np.quantile(score, [0.5, 0.8]), score)]
    frame = pl.DataFrame(values.round(4), schema=COLUMNS).with_columns(disease=pl.Series(classes))
    return Table.from_frame(frame, shoal.Schema(quasi=COLUMNS, sensitive=["disease"]))


def grouped(table: Table, method: SpanningTree | SpanningCells) -> tuple[float, float, float]:
    """CPU seconds, SSE/SST and X^2."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        grouping = method.group(table, [])
        seconds = time.process_time() - started
    group, classes = grouping.group_of_record(table), table.sensitive["disease"].codes
    squares, x2 = within_share(numbers_of(table), group), class_chi_square(classes, group)
    print(
        f"\n{table.n_persons:,} x 8, m = 5, {method}: {seconds:.1f} s CPU, {grouping.n_groups:,} groups, "
        f"SSE/SST {squares:.2%}, X^2 {x2:.2f}, in groups of one class {homogeneous_share(classes, group):.2%}"
    )
    return seconds, squares, x2


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    small = table_of(300)
    grouped(small, SpanningCells(m=5, cell=100))
    grouped(small, SpanningTree(m=5))


def test_cells_cost_at_most_5_percent_of_the_exact_trees_quality() -> None:
    table = table_of(100_000)
    _, squares, x2 = grouped(table, SpanningTree(m=5))
    grouped(table, SpanningCells(m=5, moves=False))
    _, squares_in_cells, x2_in_cells = grouped(table, SpanningCells(m=5))
    print(f"\nSSE/SST {squares_in_cells / squares:.3f} and X^2 {x2_in_cells / x2:.3f} times those of the exact tree")
    assert squares_in_cells <= 1.05 * squares
    assert x2_in_cells <= 1.05 * x2


def test_a_million_persons_take_less_than_two_minutes() -> None:
    seconds, *_ = grouped(table_of(1_000_000), SpanningCells(m=5))
    assert seconds < 120
