"""What the report costs: protect with it beside protect without.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Cost, bench_table, cost_of, shoal

PERSONS = 1_000_000
SMALL = 2_000


def protect(table: Path, out: Path, *flags: str) -> Cost:
    return cost_of(
        *shoal("protect", str(table), "--person", "person", "--quasi", "age,zip,income,education,region:nominal",
               "--sensitive", "diagnosis", "--g-balance", "0.9", "--h-affiliation", "0.6", "-o", str(out),
               "--overwrite", *flags)
    )  # fmt: skip


def test_the_report_costs_at_most_three_quarters_of_the_release(tmp_path: Path) -> None:
    """The larger part of it is measuring the table as it was, which the command line shows too."""
    table = bench_table(tmp_path, PERSONS)
    protect(bench_table(tmp_path, SMALL), tmp_path / "warm")  # compiles the kernels, once a machine
    without = protect(table, tmp_path / "without", "--no-report")
    with_it = protect(table, tmp_path / "with")
    ratio = with_it.cpu_seconds / without.cpu_seconds
    print(
        f"\n{PERSONS:,} persons, about five million records: protect --no-report {without.cpu_seconds:.1f} s CPU, "
        f"{without.peak_gb:.2f} GB; with the report {with_it.cpu_seconds:.1f} s CPU, {with_it.peak_gb:.2f} GB; "
        f"ratio {ratio:.2f}"
    )
    assert ratio <= 1.75
    assert with_it.peak_gb < 3
