"""A made-up registry with several sensitive attributes, on which joint diversity is measured, of any size."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.demo.drawing import IntArray, draw, generator, texts, whole_numbers
from shoal.errors import ParameterError

VALUES_OF_ATTRIBUTE = (80, 60, 45, 120, 70, 50, 40)
"""How many values the sensitive attributes have; the first few of each are common, the rest rare."""


def made_up_registry(records: int, *, attributes: int = 7, seed: int = 0) -> pl.DataFrame:
    """One record per person: four quasi-identifiers and up to seven sensitive attributes, skewed and correlated.

    Parameters
    ----------
    records
        How many records.
    attributes
        How many sensitive attributes, 1 to 7.
    seed
        The same seed gives the same table on every machine.

    Returns
    -------
    polars.DataFrame
        birth (day number), gender (2 values), race (5 values), zip; s1, s2, ... (text).
    """
    if records < 1 or not 1 <= attributes <= len(VALUES_OF_ATTRIBUTE):
        raise ParameterError(f"A registry has at least 1 record and 1 to {len(VALUES_OF_ATTRIBUTE)} attributes.")
    rng = generator(seed)
    birth = whole_numbers(rng, 0, 15_000, records) + whole_numbers(rng, 0, 15_000, records)
    columns: dict[str, pl.Series | IntArray] = {
        "birth": birth,
        "gender": texts(["f", "m"], draw(rng, np.array([51.0, 49.0]), records)),
        "race": texts(["a", "b", "c", "d", "e"], draw(rng, np.array([70.0, 15.0, 8.0, 5.0, 2.0]), records)),
        "zip": 40_000 + 100 * draw(rng, 1.0 / (np.arange(120) + 5), records) + whole_numbers(rng, 0, 100, records),
    }
    for number, n_values in enumerate(VALUES_OF_ATTRIBUTE[:attributes], start=1):
        common = draw(rng, 1.0 / (np.arange(n_values) + 4), records)
        by_age = (birth * n_values) // 30_000
        value = np.where(rng.random(records) < 0.3, by_age, common)
        columns[f"s{number}"] = texts([f"s{number}-{value:03d}" for value in range(n_values)], value)
    return pl.DataFrame(columns)
