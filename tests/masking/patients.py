"""Patients with two sensitive attributes, made from a seed, for tests of what is published apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal import Nominal, Schema

ONE_RECORD = Schema(
    person="patient", quasi=["age", Nominal("sex")], sensitive=["disease", "treatment"], dropped=["phone"]
)


def patients(n: int = 120, *, most_records: int = 1, missing: Sequence[str] = (), seed: int = 5) -> pl.DataFrame:
    """n patients with up to so many records each; a tenth of the columns named is missing."""
    rng = np.random.default_rng(seed)
    records = rng.integers(1, most_records + 1, n)
    person = np.repeat(np.arange(n), records)
    columns: dict[str, list[object]] = {
        "phone": [f"555-{number:04d}" for number in range(len(person))],
        "patient": [f"patient {number}" for number in person],
        "age": (rng.integers(20, 90, n)[person] + rng.integers(0, 2, len(person))).tolist(),
        "sex": rng.choice(["f", "m"], n)[person].tolist(),
        "disease": [f"disease {code}" for code in rng.integers(0, 10, len(person))],
        "treatment": [f"treatment {code}" for code in rng.integers(0, 6, len(person))],
    }
    for name in missing:
        lost = rng.random(len(person)) < 0.1
        columns[name] = [None if gone else value for value, gone in zip(columns[name], lost, strict=True)]
    return pl.DataFrame(columns)
