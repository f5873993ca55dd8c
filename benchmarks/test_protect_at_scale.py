"""How fast `shoal protect` is: as a ratio to what polars needs to read, shuffle and write such a table.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.measure import Cost, bench_table, cost_of, median_cost, python, shoal

PERSONS = 1_000_000
GROWING = (100_000, 300_000, PERSONS)
SMALL = 2_000
QUASI = "age,zip,income,education,region:nominal"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scale")


def protect(table: Path, out: Path) -> Cost:
    return cost_of(
        *shoal("protect", str(table), "--person", "person", "--quasi", QUASI, "--sensitive", "diagnosis",
               "--g-balance", "0.9", "--h-affiliation", "0.6", "--no-report", "-o", str(out), "--overwrite")
    )  # fmt: skip


def polars_alone(table: Path, out: Path) -> Cost:
    """Read the table, shuffle it, and write one of the published shape: texts for persons, dictionaries for others."""
    return cost_of(
        *python(
            "import polars as pl; "
            f"table = pl.read_parquet({str(table)!r}).sample(fraction=1, shuffle=True); "
            "quasi = ['age', 'zip', 'income', 'education', 'region']; "
            "table.with_columns(pl.col('person').cast(pl.String), pl.col(quasi).cast(pl.String).cast(pl.Categorical))"
            f".write_parquet({str(out)!r})"
        )
    )


def test_protect_costs_at_most_three_times_what_polars_alone_needs(folder: Path) -> None:
    table = bench_table(folder, PERSONS)
    protect(bench_table(folder, SMALL), folder / "warm")  # compiles the kernels, once a machine
    alone = polars_alone(table, folder / "alone.parquet")
    protected = protect(table, folder / "out")
    ratio = protected.cpu_seconds / alone.cpu_seconds
    print(
        f"\n{PERSONS:,} persons, 5 quasi-identifiers, g-balance 0.9, h-affiliation 0.6, best cut: protect "
        f"{protected.cpu_seconds:.1f} s CPU, {protected.peak_gb:.2f} GB; polars alone {alone.cpu_seconds:.1f} s CPU; "
        f"ratio {ratio:.2f}"
    )
    assert ratio <= 3
    assert protected.peak_gb < 3


def test_growth_is_no_worse_than_n_log_n(folder: Path) -> None:
    """The whole command's CPU time; what it and polars need beyond starting is printed to show what caches cost."""
    for n in (SMALL, *GROWING):
        bench_table(folder, n)
    protect(bench_table(folder, SMALL), folder / "warm")
    protected = {n: median_seconds(protect, folder, n) for n in (SMALL, *GROWING)}
    alone = {n: median_seconds(polars_alone, folder, n) for n in (SMALL, *GROWING)}
    few, many = GROWING[0], GROWING[-1]
    n_log_n = many * math.log2(many) / (few * math.log2(few))
    for n in GROWING:
        print(f"\n{n:,} persons: protect {protected[n]:.2f} s CPU, polars alone {alone[n]:.2f} s")
    for name, seconds in (("protect", protected), ("polars alone", alone)):
        beyond = (seconds[many] - seconds[SMALL]) / (seconds[few] - seconds[SMALL])
        print(
            f"\n{name}: growth {seconds[many] / seconds[few]:.1f}, beyond starting {beyond:.1f}; n log n {n_log_n:.1f}"
        )
    assert protected[many] / protected[few] <= n_log_n


def median_seconds(run: Callable[[Path, Path], Cost], folder: Path, persons: int, times: int = 3) -> float:
    """The median CPU time of several runs: what starting costs is a large part of the small ones."""
    out = folder / f"grow-{run.__name__}"
    return statistics.median(run(bench_table(folder, persons), out).cpu_seconds for _ in range(times))


def test_help_is_quick() -> None:
    help_ = median_cost(5, *shoal("--help"))
    bare = median_cost(5, *python("pass"))
    print(f"\nshoal --help: {help_.cpu_seconds:.3f} s CPU; python alone: {bare.cpu_seconds:.3f} s")
    assert help_.cpu_seconds <= 0.25
