"""Small tables for the tests of the pipeline, made from a seed."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl

import shoal
from shoal import Date, Nominal, Ordered, Schema

STAGES = ("none", "low", "mid", "high")
SCHEMA = Schema(
    person="patient",
    quasi=["age", Nominal("gender"), "zip", Ordered("stage", order=STAGES), Date("born"), "smoker", "bmi"],
    sensitive=["disease", "drug"],
    time="visit",
    kept=["ward"],
    dropped=["phone"],
)
MODELS = [shoal.GBalance(g=0.6), shoal.HAffiliation(h=0.8)]


def visits(n: int = 240, seed: int = 3, missing: float = 0.1) -> pl.DataFrame:
    """Records of all kinds of columns; a tenth of each quasi-identifier is missing."""
    rng = np.random.default_rng(seed)
    patient = np.sort(rng.integers(0, n // 3, n))
    columns: dict[str, list[object]] = {
        "phone": [f"555-{i:05d}" for i in range(n)],
        "patient": [f"patient-{person:05d}" for person in patient],
        "age": rng.integers(20, 95, n).tolist(),
        "gender": rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05]).tolist(),
        "zip": [f"{code:05d}" for code in rng.choice([501, 2139, 20375, 90210], n)],
        "stage": rng.choice(STAGES, n).tolist(),
        "born": [dt.date(1930, 1, 1) + dt.timedelta(int(days)) for days in rng.integers(0, 20000, n)],
        "smoker": (rng.random(n) < 0.3).tolist(),
        "bmi": (rng.integers(180, 400, n) / 10).tolist(),
        "disease": [f"disease {code}" for code in rng.integers(0, 12, n)],
        "drug": [f"drug {code}" for code in rng.integers(0, 9, n)],
        "visit": [dt.date(2020, 1, 1) + dt.timedelta(int(days)) for days in rng.integers(0, 700, n)],
        "ward": rng.choice(["north", "south"], n).tolist(),
    }
    for name in SCHEMA.quasi_names:
        columns[name] = [
            None if lost else value for value, lost in zip(columns[name], rng.random(n) < missing, strict=True)
        ]
    return pl.DataFrame(columns)
