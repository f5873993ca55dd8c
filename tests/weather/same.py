"""What a release shows, said so that two of them can be compared, whatever persons are called and how it is sorted."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.grouping import METHODS

SCHEMA = shoal.Schema(person="who", quasi=["age", "weight", shoal.Nominal("town")], sensitive=["disease"])
MODELS = [shoal.PersonKAnonymity(k=3), shoal.GBalance(g=0.5), shoal.HAffiliation(h=0.9)]


def visits(n_persons: int = 90) -> pl.DataFrame:
    draw = np.random.default_rng(3)
    person = np.repeat(np.arange(n_persons), draw.integers(1, 4, n_persons))
    return pl.DataFrame(
        {
            "who": [f"p{number:03}" for number in person],
            "age": draw.integers(20, 60, n_persons)[person],  # many ties
            "weight": draw.integers(500, 900, n_persons)[person] / 10,
            "town": draw.choice(["north", "south", "west"], n_persons)[person],
            "disease": draw.choice(["flu", "cold", "gout", "ulcer"], len(person)),
        }
    )


def release_of(frame: Any, method: str, mask: str = "range") -> Any:
    options = {"m": 3} if method in ("buckets", "anatomy") else {}
    return shoal.protect(frame, SCHEMA, MODELS, method=method, mask=mask, seed=11, **options)


def digest(release: Any) -> str:
    """Labels and values of all records in one order, the verdict and the measures."""
    published = release.published.frame
    rows = sorted(map(repr, published.select(sorted(set(published.columns) - {"who"})).rows()))
    left_out = ("seconds", "notes", "attacks", "strongest")  # what attackers know is drawn from records in their order
    numbers = {key: value for key, value in release.to_dict().items() if key not in left_out}
    return hashlib.sha256(repr((rows, _rounded(numbers))).encode()).hexdigest()[:16]


def _rounded(told: Any) -> Any:
    """Means may differ in the last bits with the order in which numbers are added; nothing is decided by them."""
    if isinstance(told, float):
        return f"{told:.9g}"
    if isinstance(told, dict):
        return sorted((key, _rounded(value)) for key, value in told.items())
    return [_rounded(each) for each in told] if isinstance(told, list | tuple) else told


if __name__ == "__main__":
    for name in sys.argv[1:] or METHODS:
        print(name, digest(release_of(visits(), name)))
