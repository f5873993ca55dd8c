"""What attacking costs: linkage with the original at hand, beside protecting the same million records.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Cost, bench_table, cost_of, shoal

PERSONS = 200_000
SMALL = 2_000


def protect(table: Path, out: Path) -> Cost:
    return cost_of(
        *shoal("protect", str(table), "--person", "person", "--quasi", "age,zip,income,education,region:nominal",
               "--sensitive", "diagnosis", "--record-risk", "0.2", "-o", str(out), "--overwrite")
    )  # fmt: skip


def attack(table: Path, out: Path, names: str) -> Cost:
    return cost_of(*shoal("attack", str(out), "--original", str(table), "--attacks", names, "--json"))


def test_linking_ten_thousand_persons_costs_at_most_four_times_the_release(tmp_path: Path) -> None:
    table = bench_table(tmp_path, PERSONS)
    small = bench_table(tmp_path, SMALL)
    protect(small, tmp_path / "warm")  # compiles the kernels, once a machine
    attack(small, tmp_path / "warm", "linkage")
    made = protect(table, tmp_path / "out")
    linked = attack(table, tmp_path / "out", "linkage")
    print(
        f"\n{PERSONS:,} persons, about a million records: protect {made.cpu_seconds:.1f} s CPU; linkage of 10,000 "
        f"persons {linked.cpu_seconds:.1f} s CPU, {linked.peak_gb:.2f} GB; "
        f"ratio {linked.cpu_seconds / made.cpu_seconds:.2f}"
    )
    assert linked.cpu_seconds <= 4 * made.cpu_seconds
