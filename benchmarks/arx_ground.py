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
    """The 30,162 complete records, and beyond those records drawn from them again, from a seed."""
    frame = pl.read_csv(ADULT / "adult_arx.csv", separator=";", infer_schema_length=0).select(COLUMNS)
    if records is None or records <= len(frame):
        return frame
    again = whole_numbers(generator(7), 0, len(frame), records - len(frame))
    return frame[np.concatenate([np.arange(len(frame)), again])]


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
