"""What matching diversity costs beside l-diversity, how it grows, and reachability beside matching person by person.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from benchmarks.measure import cost_of, python
from shoal.kernels.reachability import valid_values_of_groups
from tests.naive.matching_diversity import valid_by_matching

GROUPING = """
import time
import shoal
from shoal.attacking.mining import Item, Rule, Rules
from shoal.demo.registry import made_up_registry
from shoal.grouping import BalanceTree
from shoal.table.table import Table
def grouped(table, models):
    started = time.process_time()
    grouping = BalanceTree().group(table, models)
    return time.process_time() - started, grouping.n_groups

def seconds(records, l):
    frame = made_up_registry(records, attributes=1)
    table = Table.from_frame(frame, shoal.Schema(quasi=["birth", "gender", "race", "zip"], sensitive=["s1"]))
    values = frame["s1"].value_counts(sort=True)["s1"].to_list()
    races = frame["race"].unique().sort().to_list()
    rules = [
        Rule((Item("race", str(race)),), Item("s1", str(values[place])))
        for place, race in enumerate(races[:-1])
    ]
    # those who have what a rule excludes are left out, so that the rules hold
    wrong = [(frame["race"] == race) & (frame["s1"] == values[place]) for place, race in enumerate(races[:-1])]
    keep = ~wrong[0]
    for each in wrong[1:]:
        keep &= ~each
    table = Table.from_frame(frame.filter(keep), table.schema).facing(Rules(tuple(rules)), is_linked=False)
    plain = grouped(table, [shoal.LDiversity(l=l, kind="distinct")])
    return *plain, *grouped(table, [shoal.MatchingDiversity(l=l)])

seconds(2000, 3)
told = seconds({records}, 4)
with open({out!r}, "w") as file:
    file.write(" ".join(map(str, told)))
"""


def grouped(tmp_path_factory: pytest.TempPathFactory, records: int) -> list[float]:
    out = tmp_path_factory.mktemp("matching") / "seconds"
    cost_of(*python(GROUPING.format(records=records, out=str(out))))
    return [float(part) for part in out.read_text().split()]


def test_growth_is_that_of_l_diversity(tmp_path_factory: pytest.TempPathFactory) -> None:
    sizes = (125_000, 500_000)
    costs = [grouped(tmp_path_factory, records) for records in sizes]
    for size, (plain, n_plain, matching, n_matching) in zip(sizes, costs, strict=True):
        print(
            f"\n{size:,} records in the balance tree: distinct 4-diversity {plain:.2f} s CPU, {n_plain:,.0f} groups; "
            f"matching diversity 4 {matching:.2f} s, {n_matching:,.0f} groups"
        )
    assert costs[1][2] / costs[0][2] <= costs[1][0] / costs[0][0] * 1.5  # what noise of the machine may add


def test_reachability_is_at_least_100_times_faster_than_matching() -> None:
    """3,000 persons in groups of 12, against one matching for every person and value, as the paper's figure 1 does."""
    rng = np.random.default_rng(1)
    n, size, n_types, n_values = 3_000, 12, 40, 14
    types = rng.integers(0, n_types, n).astype(np.int32)
    values = rng.integers(0, n_values, n).astype(np.int32)
    allowed = rng.random((n_types, n_values)) < 0.8
    allowed[types, values] = True
    start = np.arange(0, n + 1, size)
    valid_values_of_groups(start[:2], types[:size], values[:size], allowed)
    begun = time.process_time()
    counts = valid_values_of_groups(start, types, values, allowed)
    ours = time.process_time() - begun
    begun = time.process_time()
    theirs = []
    for first in start[:-1].tolist():
        here = slice(first, first + size)
        may_have = [set(np.flatnonzero(allowed[kind]).tolist()) for kind in types[here]]
        theirs += [len(own) for own in valid_by_matching(may_have, values[here].tolist())]
    naive = time.process_time() - begun
    print(
        f"\n3,000 persons in groups of 12: {ours * 1e3:.2f} ms CPU; by matching {naive:.2f} s: {naive / ours:,.0f} "
        "times as long"
    )
    assert counts.tolist() == theirs
    assert naive >= 100 * ours
