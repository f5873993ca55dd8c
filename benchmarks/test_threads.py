"""Grouping on one thread and on all, in one run: how much sooner it is done, for the same groups.

Run with `make bench`. Prints figures of docs/benchmarks.md. Time is wall time here, since threads save none of the CPU:
a machine that is busy with other work shows less.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest

import shoal
from shoal.demo.benchmark_table import benchmark_table
from shoal.grouping import METHODS, Method
from shoal.grouping.grouping import Grouping
from shoal.table.table import Table
from shoal.threads import SETTING, n_threads

TIMES = 3


def seconds_of(method: Method, table: Table) -> tuple[float, Grouping]:
    """The median of several runs, and the groups."""
    seconds = []
    for _ in range(TIMES):
        started = time.perf_counter()
        grouping = method.group(table, [shoal.RecordRisk(rho=0.1)])
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), grouping


@pytest.mark.parametrize(
    ("name", "options", "persons"),
    [
        ("balance-tree", {"effort": "low"}, 1_000_000),
        ("balance-tree", {}, 1_000_000),
        ("balance-tree", {"effort": "high"}, 20_000),
        ("mondrian", {}, 1_000_000),
    ],
)
def test_two_threads_give_the_same_groups_sooner(
    name: str, options: dict[str, str], persons: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = shoal.Schema(person="person", quasi=["age", "zip", "income"], sensitive=["diagnosis"],
                          dropped=["education", "region"])  # fmt: skip
    table = Table.from_frame(benchmark_table(persons), schema)
    method = METHODS[name](**options)
    METHODS[name](**options).group(Table.from_frame(benchmark_table(2_000), schema), [shoal.RecordRisk(rho=0.1)])
    n_all = n_threads()
    monkeypatch.setenv(SETTING, "1")
    alone, groups_alone = seconds_of(method, table)
    monkeypatch.setenv(SETTING, str(n_all))
    together, groups_together = seconds_of(method, table)
    how = ", ".join(f"{option} {value}" for option, value in options.items())
    print(f"\n{name} {how}, {persons:,} persons: {alone:.2f} s on one thread, {together:.2f} s on {n_all}, "
          f"{alone / together:.2f} times sooner")  # fmt: skip
    assert np.array_equal(groups_alone.group_of_person, groups_together.group_of_person)
