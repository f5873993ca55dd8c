"""How fast `shoal protect` is: as a ratio to what polars needs to read, shuffle and write such a table.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.measure import Cost, bench_table, cost_of, median_cost, python, shoal

PERSONS = 1_000_000
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
    protect(bench_table(folder, 2_000), folder / "warm")  # compiles the kernels, once a machine
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
    protect(bench_table(folder, 2_000), folder / "warm")
    start = protect(bench_table(folder, 2_000), folder / "warm").cpu_seconds
    sizes = (100_000, 300_000, 1_000_000)
    seconds = [protect(bench_table(folder, n), folder / "grow").cpu_seconds - start for n in sizes]
    for n, cost in zip(sizes, seconds, strict=True):
        print(f"\n{n:,} persons: {cost:.2f} s CPU beyond starting ({cost / (n * math.log2(n)) * 1e9:.1f} ns a n log n)")
    grown = seconds[-1] / seconds[0]
    n_log_n = sizes[-1] * math.log2(sizes[-1]) / (sizes[0] * math.log2(sizes[0]))
    print(f"\ngrowth {grown:.1f}, n log n {n_log_n:.1f}")
    assert grown <= n_log_n * 1.25  # what noise of the machine may add


def test_help_is_quick() -> None:
    help_ = median_cost(5, *shoal("--help"))
    bare = median_cost(5, *python("pass"))
    print(f"\nshoal --help: {help_.cpu_seconds:.3f} s CPU; python alone: {bare.cpu_seconds:.3f} s")
    assert help_.cpu_seconds <= 0.25
