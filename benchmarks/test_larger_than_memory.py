"""What `shoal protect --engine stream` takes for a file that is larger than memory, beside polars' own streaming.

Run with `make bench`. Prints the figures of docs/benchmarks.md. The full size takes a quarter of an hour of CPU and
about 10 GB of disk; SHOAL_BENCH_PERSONS names another one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Cost, cost_of, python, shoal

PERSONS = int(os.environ.get("SHOAL_BENCH_PERSONS", "10_000_000"))
SMALL = 2_000
MOST_GB = 8.0
QUASI = "age,zip,income,education,region:nominal"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large")


def large_table(folder: Path, persons: int) -> Path:
    path = folder / f"visits-{persons}.parquet"
    cost_of(sys.executable, "-m", "benchmarks.large_table", str(path), str(persons))
    return path


def protect(table: Path, out: Path) -> Cost:
    return cost_of(
        *shoal("protect", str(table), "--person", "person", "--quasi", QUASI, "--sensitive", "diagnosis",
               "--g-balance", "0.9", "--h-affiliation", "0.6", "--engine", "stream", "-o", str(out), "--overwrite")
    )  # fmt: skip


def polars_alone(table: Path, out: Path, *, shuffled: bool) -> Cost:
    """Read the table and write one of the published shape, texts for persons and quasi-identifiers, streaming."""
    order = ".with_columns(key=pl.col('person').hash(7) + pl.int_range(pl.len()).hash(9)).sort('key').drop('key')"
    return cost_of(
        *python(
            "import polars as pl; quasi = ['age', 'zip', 'income', 'education', 'region']; "
            f"pl.scan_parquet({str(table)!r}){order if shuffled else ''}"
            ".with_columns(pl.col('person', *quasi).cast(pl.String))"
            f".sink_parquet({str(out)!r}, compression='zstd', compression_level=1, engine='streaming')"
        )
    )


def test_a_file_larger_than_memory_stays_within_eight_gigabytes(folder: Path) -> None:
    protect(large_table(folder, SMALL), folder / "warm")  # compiles the kernels, once a machine
    table = large_table(folder, PERSONS)
    plain = polars_alone(table, folder / "alone.parquet", shuffled=False)
    shuffled = polars_alone(table, folder / "alone.parquet", shuffled=True)
    (folder / "alone.parquet").unlink()
    protected = protect(table, folder / "out")
    print(
        f"\n{PERSONS:,} persons, a file of {table.stat().st_size / 1e9:.2f} GB, in portions: protect "
        f"{protected.cpu_seconds:.0f} s CPU, {protected.peak_gb:.2f} GB; polars alone {plain.cpu_seconds:.0f} s CPU, "
        f"{plain.peak_gb:.2f} GB: ratio {protected.cpu_seconds / plain.cpu_seconds:.1f}; with a shuffle "
        f"{shuffled.cpu_seconds:.0f} s, {shuffled.peak_gb:.2f} GB: ratio "
        f"{protected.cpu_seconds / shuffled.cpu_seconds:.1f}"
    )
    assert protected.peak_gb < MOST_GB
