"""What joint diversity costs beside K alone, and how it grows; the paper's figures 13 and 14.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

import pytest

from benchmarks.measure import cost_of, python

GROUPING = """
import time
import shoal
from shoal.demo.registry import made_up_registry
from shoal.grouping import Mondrian
from shoal.table.table import Table
def seconds(records, attributes, models):
    sensitive = [f"s{{n}}" for n in range(1, attributes + 1)]
    frame = made_up_registry(records, attributes=attributes)
    table = Table.from_frame(frame, shoal.Schema(quasi=["birth", "gender", "race", "zip"], sensitive=sensitive))
    method = Mondrian(spread="z-score")
    started = time.process_time()
    grouping = method.group(table, models)
    return time.process_time() - started, grouping.n_groups

K = [shoal.KAnonymity(k=50)]
seconds(2000, {attributes}, K)
seconds(2000, {attributes}, [*K, shoal.JointDiversity(l=3, caps={caps})])
plain, n_plain = seconds({records}, {attributes}, K)
joint, n_joint = seconds({records}, {attributes}, [*K, shoal.JointDiversity(l=10, caps={caps})])
with open({out!r}, "w") as file:
    file.write(f"{{plain}} {{joint}} {{n_plain}} {{n_joint}}")
"""


def grouped(
    tmp_path_factory: pytest.TempPathFactory, records: int, attributes: int, caps: dict[str, int]
) -> list[float]:
    out = tmp_path_factory.mktemp("joint") / "seconds"
    cost_of(*python(GROUPING.format(records=records, attributes=attributes, caps=caps, out=str(out))))
    return [float(part) for part in out.read_text().split()]


def test_joint_diversity_costs_at_most_four_times_k_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    plain, joint, n_plain, n_joint = grouped(tmp_path_factory, 1_000_000, 7, {})
    print(
        f"\n1,000,000 records, 4 quasi-identifiers, 7 sensitive attributes, K = 50: {plain:.2f} s CPU, {n_plain:,.0f} "
        f"groups; with joint diversity 10: {joint:.2f} s, {n_joint:,.0f} groups; ratio {joint / plain:.2f}"
    )
    assert joint <= 4 * plain


@pytest.mark.parametrize("caps", [{}, {"s7": 2}], ids=["uncapped", "last cap 2"])
def test_growth_in_records_is_that_of_k_alone(tmp_path_factory: pytest.TempPathFactory, caps: dict[str, int]) -> None:
    sizes = (125_000, 250_000, 500_000, 1_000_000)
    costs = [grouped(tmp_path_factory, records, 7, caps) for records in sizes]
    for size, (plain, joint, *_) in zip(sizes, costs, strict=True):
        print(f"\n{size:,} records: K alone {plain:.2f} s, joint {joint:.2f} s ({joint / size * 1e6:.1f} us a record)")
    plain_growth, joint_growth = (costs[-1][at] / costs[0][at] for at in (0, 1))
    assert joint_growth <= plain_growth * 1.25  # what noise of the machine may add


def test_growth_in_attributes_is_at_most_linear(tmp_path_factory: pytest.TempPathFactory) -> None:
    numbers = (1, 3, 5, 7)
    seconds = [grouped(tmp_path_factory, 300_000, n, {})[1] for n in numbers]
    print("\n" + "; ".join(f"{n} attributes {cost:.2f} s" for n, cost in zip(numbers, seconds, strict=True)))
    assert seconds[-1] / seconds[0] <= 7
