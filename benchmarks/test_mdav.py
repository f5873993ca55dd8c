"""MDAV beside a plain one that looks at everybody each time, as sdcMicro's does, and how it grows beyond.

Run with `make bench`. Prints figures of docs/benchmarks.md. sdcMicro itself needs R: its times (5 columns, k = 3) are
quoted from a run elsewhere, 2.0, 16 and 73 s for 20,000, 50,000 and 100,000 records at 1.61, 1.06 and 0.81 % SSE/SST.
"""

from __future__ import annotations

import math
import time

import numpy as np
import polars as pl
import pytest
from numba import njit
from numpy.typing import NDArray

import shoal
from shoal.grouping import Mdav
from shoal.measuring.statistics import numbers_of, within_share
from shoal.table.table import Table

COLUMNS = [f"x{j}" for j in range(5)]
SECONDS_OF_SDCMICRO = {20_000: 2.0, 50_000: 16.0, 100_000: 73.0}


@njit(cache=True)
def distances_from(
    where: NDArray[np.float64], points: NDArray[np.float64], left: NDArray[np.int64]
) -> NDArray[np.float64]:
    squares = np.zeros(len(left))
    for at in range(len(left)):
        for j in range(points.shape[1]):
            away = points[left[at], j] - where[j]
            squares[at] += away * away
    return squares


@njit(cache=True)
def plain_mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The group of each point: the farthest from the mean and its nearest, the farthest from that and its nearest."""
    n, n_columns = points.shape
    group = np.full(n, -1)
    left = np.arange(n)
    n_groups = 0
    while len(left) >= 2 * k:
        mean = np.zeros(n_columns)
        for i in left:
            for j in range(n_columns):
                mean[j] += points[i, j] / len(left)
        seed = left[np.argmax(distances_from(mean, points, left))]
        for _ in range(2 if len(left) >= 3 * k else 1):
            distances = distances_from(points[seed], points, left)
            seed = left[np.argmax(distances)]
            limit = np.partition(distances, k - 1)[k - 1]
            n_taken = 0
            for at in range(len(left)):
                if distances[at] <= limit and n_taken < k:
                    group[left[at]] = n_groups
                    n_taken += 1
            left = left[group[left] < 0]
            n_groups += 1
    group[left] = n_groups
    return group


def table_of(n: int) -> Table:
    """Five columns of uniform numbers."""
    values = np.random.default_rng(11).random((n, 5)).round(6)
    return Table.from_frame(pl.DataFrame(values, schema=COLUMNS), shoal.Schema(quasi=COLUMNS))


def grouped(table: Table) -> tuple[float, float]:
    """CPU seconds and SSE/SST."""
    started = time.process_time()
    grouping = Mdav(m=3).group(table, [])
    seconds = time.process_time() - started
    return seconds, within_share(numbers_of(table), grouping.group_of_record(table))


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    grouped(table_of(200))
    plain_mdav(np.random.default_rng(0).random((30, 5)), 3)


@pytest.mark.parametrize("n", [20_000, 50_000, 100_000])
def test_at_most_half_the_time_of_a_plain_mdav_at_no_more_squares(n: int) -> None:
    table = table_of(n)
    seconds, squares = grouped(table)
    values = numbers_of(table)
    started = time.process_time()
    group = plain_mdav((values - values.mean(axis=0)) / values.std(axis=0), 3)
    plain = time.process_time() - started
    plain_squares = within_share(values, group)
    print(
        f"\n{n:,} x 5, m = 3: mdav {seconds:.2f} s CPU, SSE/SST {squares:.3%}; plain {plain:.1f} s, "
        f"{plain_squares:.3%}; ratio {seconds / plain:.3f}; sdcMicro elsewhere {SECONDS_OF_SDCMICRO[n]:.0f} s"
    )
    assert seconds <= 0.5 * plain
    assert squares <= 1.01 * plain_squares


def test_growth_is_near_linear_beyond() -> None:
    sizes = (100_000, 200_000, 400_000, 800_000)
    costs = [grouped(table_of(n)) for n in sizes]
    for n, (seconds, squares) in zip(sizes, costs, strict=True):
        print(f"\n{n:,} x 5, m = 3: {seconds:.2f} s CPU, SSE/SST {squares:.2%}")
    grown = costs[-1][0] / costs[0][0]
    n_log_n = sizes[-1] * math.log2(sizes[-1]) / (sizes[0] * math.log2(sizes[0]))
    print(f"\ngrowth {grown:.1f}, n log n {n_log_n:.1f}")
    assert grown <= 1.5 * n_log_n  # more than the processor's cache holds costs beyond n log n
