"""The risk of samples: special uniques and estimators of population uniques, on made-up tables and on sdcMicro's own.

Run with `make bench`. Prints figures of docs/benchmarks.md. sdcMicro itself needs R: its time on its table testdata
(4,580 records, seven columns) is quoted from a run elsewhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shoal.judging.observation import number_alike
from shoal.judging.suda import suda_scores
from shoal.models.uniqueness import ClassSizes, population_uniques
from shoal.table.columns import code_values

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SECONDS_OF_SDCMICRO = 0.017
SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]

Codes = list[tuple[NDArray[np.int64], int]]


def made_up(n: int, sizes: tuple[int, ...]) -> Codes:
    """Columns of so many values each, the first ones frequent and the last ones rare."""
    rng = np.random.default_rng(5)
    return [(np.minimum(rng.geometric(min(0.7, 3 / size), n) - 1, size - 1), size) for size in sizes]


def cpu_seconds(do: Callable[[], object], repeats: int) -> float:
    """The CPU seconds of one of several runs, after a first that compiles."""
    do()
    started = time.process_time()
    for _ in range(repeats):
        do()
    return (time.process_time() - started) / repeats


@pytest.mark.parametrize("sizes", [(2, 3, 4, 5, 6, 8, 10, 12), (5, 8, 10, 20, 50, 100, 3, 2), (20,) * 8], ids=str)
def test_special_uniques_of_a_hundred_thousand(sizes: tuple[int, ...]) -> None:
    codes = made_up(100_000, sizes)
    seconds = cpu_seconds(lambda: suda_scores(codes, max_size=4), 3)
    n = int((suda_scores(codes, max_size=4).score > 0).sum())
    print(f"\nSUDA2, 100,000 x 8 {sizes}, up to size 4: {seconds:.2f} s CPU, {n:,} persons have some")
    assert seconds <= 1


def test_special_uniques_of_sdcmicros_own_table() -> None:
    file = DATA / "sdc_benchmarks" / "testdata.csv"
    if not file.is_file():
        pytest.skip("testdata.csv is not in the folder that SHOAL_DATA names")
    frame = pl.read_csv(file)
    coded = (code_values(frame[name]) for name in SEVEN)
    codes = [(code.astype(np.int64), len(distinct) + 1) for code, distinct in coded]
    for size in (4, 7):
        seconds = cpu_seconds(lambda size=size: suda_scores(codes, max_size=size), 50)
        print(
            f"\nSUDA2, testdata with 7 keys, up to size {size}: {1000 * seconds:.2f} ms CPU; sdcMicro elsewhere 17 ms"
        )
        assert seconds <= SECONDS_OF_SDCMICRO / (10 if size == 4 else 5)


def test_estimators_on_a_million_records() -> None:
    codes = [(code.astype(np.int32), n) for code, n in made_up(1_000_000, (100, 2, 6, 16, 40, 8))]

    def estimated() -> dict[str, float | None]:
        group, n_groups = number_alike(codes)
        return population_uniques(ClassSizes.of(np.bincount(group, minlength=n_groups), 20_000_000))

    seconds = cpu_seconds(estimated, 1)
    n_classes = number_alike(codes)[1]
    print(f"\nPitman, Zayatz and SNB, 1,000,000 persons in {n_classes:,} classes: {seconds:.2f} s CPU")
    assert seconds <= 3
