"""How fast `shoal verify` is: as a ratio to what polars needs to scan the same file and group by the same columns.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from benchmarks.measure import Cost, bench_table, cost_of, python, shoal
from benchmarks.test_protect_at_scale import SMALL

PERSONS = 1_000_000
TIMES = 3
QUASI = "age,zip,income,education,region:nominal"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verify")


def release_of(table: Path, out: Path) -> Path:
    """A release of the default models' table in the format of the table."""
    cost_of(
        *shoal("protect", str(table), "--person", "person", "--quasi", QUASI, "--sensitive", "diagnosis",
               "--g-balance", "0.9", "--h-affiliation", "0.6", "--no-report", "--effort", "low", "-o", str(out))
    )  # fmt: skip
    return out


def as_csv(table: Path) -> Path:
    """The same table as a CSV file."""
    path = table.with_suffix(".csv")
    pl.scan_parquet(table).sink_csv(path)
    return path


def polars_alone(file: Path) -> Cost:
    """Scan the published file and count its different records, which are equal in all of its columns."""
    return cost_of(
        *python(f"import polars as pl; pl.scan_{file.suffix[1:]}({str(file)!r}).group_by(pl.all()).len().collect()")
    )


@pytest.mark.parametrize(("ending", "most"), [("parquet", 1.5), ("csv", 1.8)])
def test_verify_costs_little_more_than_polars_alone(folder: Path, ending: str, most: float) -> None:
    """The aim is 1.5 for both; a CSV file is checked byte by byte while it is read, which polars does not do."""
    table = bench_table(folder, PERSONS)
    shown = release_of(table if ending == "parquet" else as_csv(table), folder / f"out-{ending}")
    few = release_of(bench_table(folder, SMALL), folder / f"few-{ending}")
    file = shown / f"release.{ending}"
    cost_of(*shoal("verify", str(few)))  # compiles the kernels, once a machine
    verified, alone = [], []
    for _ in range(TIMES):
        verified.append(cost_of(*shoal("verify", str(shown))))
        alone.append(polars_alone(file))
    seconds, yardstick = (min(cost.cpu_seconds for cost in costs) for costs in (verified, alone))
    starting = cost_of(*shoal("verify", str(few))).cpu_seconds
    print(
        f"\nverify of {PERSONS:,} persons, {ending}: {seconds:.2f} s CPU ({starting:.2f} s of it to start), "
        f"{max(cost.peak_gb for cost in verified):.2f} GB; polars alone {yardstick:.2f} s CPU, "
        f"{max(cost.peak_gb for cost in alone):.2f} GB; ratio {seconds / yardstick:.2f}"
    )
    assert seconds <= most * yardstick
