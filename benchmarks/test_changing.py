"""How fast masks are that change persons one by one: 100,000 records, each mask by itself, in CPU seconds."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.masking.changing import Changing
from shoal.table.table import Table

N = 100_000
MOST_SECONDS = 2.0
"""More than this on any machine means that something is no longer done for all records at once."""
NUMBERS = [f"n{each}" for each in range(5)]

MASKS: dict[str, Changing] = {
    "noise, additive, 5 columns": shoal.masks.Noise(columns=NUMBERS),
    "noise, correlated, exact, 5 columns": shoal.masks.Noise(columns=NUMBERS, kind="correlated", correction="exact"),
    "noise, multiplicative, 5 columns": shoal.masks.Noise(columns=NUMBERS, kind="multiplicative"),
    "PRAM, invariant, 20 categories": shoal.masks.Pram(columns=["job"]),
    "PRAM, invariant, in 50 strata": shoal.masks.Pram(columns=["job"], strata=["town"]),
    "rank swapping, 5 columns": shoal.masks.RankSwap(columns=NUMBERS),
    "record swapping, 40,000 households": shoal.masks.RecordSwap(columns=["town"], region=["town"]),
    "shuffling, 5 columns beside one": shoal.masks.Shuffle(columns=NUMBERS, beside=["disease"]),
    "individual ranking, 5 columns": shoal.masks.IndividualRanking(columns=NUMBERS),
}


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(7)
    common = rng.normal(size=N)
    numbers = {name: (common + rng.normal(size=N)).round(4) for name in NUMBERS}
    home = np.sort(rng.integers(0, 40_000, N))
    frame = pl.DataFrame({
        "who": np.arange(N), "home": home, **numbers, "job": pl.Series(rng.integers(0, 20, N)).cast(pl.String),
        "town": pl.Series(rng.integers(0, 50, 40_000)[home]).cast(pl.String),
        "disease": pl.Series(rng.integers(0, 10, N)).cast(pl.String),
    })  # fmt: skip
    schema = shoal.Schema(
        person="who", quasi=[*NUMBERS, shoal.Nominal("job"), shoal.Nominal("town")], sensitive=["disease"],
        household="home",
    )  # fmt: skip
    return Table.from_frame(frame, schema)


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_changes_a_hundred_thousand_records(table: Table, name: str) -> None:
    mask = MASKS[name]
    from shoal.masking.draws import Draws

    steps = mask.steps(table)
    for _, columns in steps:
        mask.change(table, columns, Draws(np.random.default_rng(0)))  # compiled
    started = time.process_time()
    for _, columns in steps:
        mask.change(table, columns, Draws(np.random.default_rng(1)))
    seconds = time.process_time() - started
    print(f"{name}: {seconds:.3f} s of CPU")
    assert seconds < MOST_SECONDS
