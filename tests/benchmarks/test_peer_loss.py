"""The loss by which tools are compared, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks.peers.hierarchies import hierarchies_of
from benchmarks.peers.loss import loss_of
from benchmarks.peers.tables import MADE_UP, Task, made_up

TASK = Task("tiny", ("age",), ("sex",), "disease")
ORIGINAL = pl.DataFrame({"age": [20, 25, 40, 60], "sex": ["f", "m", "f", "d"], "disease": ["a", "b", "a", "b"]})
RANGES = (5 + 5 + 20 + 20) / 40
SETS = (2 + 2 + 2 + 2) / 3


def published(ages: list[str], sexes: list[str], **more: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"age": ages, "sex": sexes, **more})


@pytest.mark.parametrize(
    "table",
    [
        published(["20-25", "20-25", "40-60", "40-60"], ["{f, m}", "{f, m}", "{d, f}", "{d, f}"]),
        published(["20.0 - 25.0", "40 - 60"], ["f-m", "f-d"], count=[2, 2]),
        published(["20-25", "20-25", "40-60"], ["f,m", "f,m", "d,f"], count=[1, 1, 2]),
    ],
    ids=["braces", "dashes", "commas and counts"],
)
def test_every_way_of_writing_gives_the_same_loss(table: pl.DataFrame) -> None:
    loss = loss_of(table, ORIGINAL, TASK)
    assert loss.ncp == pytest.approx((RANGES + SETS) / 8)
    assert (loss.left_out, loss.smallest_group) == (0, 2)


def test_exact_values_lose_nothing_and_stars_everything() -> None:
    assert loss_of(published(["20", "25-25", "40", "60"], ["f", "m", "f", "d"]), ORIGINAL, TASK).ncp == 0
    assert loss_of(published(["*"] * 4, ["*"] * 4), ORIGINAL, TASK).ncp == 1


def test_a_record_that_was_left_out_loses_everything() -> None:
    loss = loss_of(published(["20", "25", "40"], ["f", "m", "f"]), ORIGINAL, TASK)
    assert (loss.ncp, loss.left_out, loss.smallest_group) == (0.25, 0.25, 1)


def test_hierarchies_cover_every_value_and_name_what_they_cover() -> None:
    table = made_up(500)
    lines = hierarchies_of(MADE_UP, table)
    for name in MADE_UP.quasi:
        assert {line[0] for line in lines[name]} == set(table[name].cast(pl.String).to_list())
        assert {line[-1] for line in lines[name]} == {"*"}
    for line in lines["age"]:
        for node in line[1:-1]:
            low, high = node.split("-")
            assert int(low) <= int(line[0]) <= int(high)
    assert all(line[0] in line[1].split(",") for line in lines["region"])
