"""Adult with ARX's hierarchies: the table on which ARX shows what it can do. It has to lie in SHOAL_DATA."""

from __future__ import annotations

import numpy as np
import polars as pl

import shoal
from benchmarks.peers.tables import ADULT
from shoal.demo.drawing import generator, whole_numbers

COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
SENSITIVE = ("occupation", "salary-class")
"""One of the nine columns is sensitive, the other eight are quasi-identifiers. The first of these can be 3-diverse; the
second has two values only."""
K = 5


def adult_frame(records: int | None = None) -> pl.DataFrame:
    """The 30,162 complete records, and beyond those records that are redrawn from them, from a seed.

    Copies would show nothing: there everybody has company at once. So a drawn record gets another age, up to three
    years away, and with a chance of a tenth each the country and the education of somebody else.
    """
    frame = pl.read_csv(ADULT / "adult_arx.csv", separator=";", infer_schema_length=0).select(COLUMNS)
    if records is None or records <= len(frame):
        return frame
    n, rng = records - len(frame), generator(7)
    drawn = frame[whole_numbers(rng, 0, len(frame), n)]
    ages = frame["age"].cast(pl.Int64)
    age = np.clip(drawn["age"].cast(pl.Int64).to_numpy() + whole_numbers(rng, -3, 4, n), ages.min(), ages.max())
    again = [pl.Series("age", age).cast(pl.String)]
    for name in ("native-country", "education"):
        other = frame[name][whole_numbers(rng, 0, len(frame), n)]
        again.append(drawn[name].zip_with(pl.Series(rng.random(n) >= 0.1), other))
    return pl.concat([frame, drawn.with_columns(again)])


def adult_in_bands() -> tuple[pl.DataFrame, shoal.Schema]:
    """The complete records with ages in seven bands (below 20, the decades, 70 and above), and no hierarchies."""
    frame = adult_frame()
    bands = (frame["age"].cast(pl.Int64) // 10).clip(1, 7).cast(pl.String)
    quasi = [shoal.Nominal(name) for name in COLUMNS if name != SENSITIVE[0]]
    return frame.with_columns(bands.alias("age")), shoal.Schema(quasi=quasi, sensitive=[SENSITIVE[0]])


def schema_of_adult(sensitive: str = SENSITIVE[0]) -> shoal.Schema:
    """Eight nominal quasi-identifiers, each with its hierarchy: all columns but the sensitive one."""
    folder = ADULT / "hierarchies_arx"
    return shoal.Schema(
        quasi=[
            shoal.Nominal(name, hierarchy=shoal.Hierarchy.read_arx_csv(folder / f"adult_hierarchy_{name}.csv"))
            for name in COLUMNS
            if name != sensitive
        ],
        sensitive=[sensitive],
    )
