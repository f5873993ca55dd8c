"""Small tables of every kind of column, whose persons stand anywhere, and what is compared of two releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal

STAGES = ("none", "early", "late", "final")
REGIONS = shoal.Hierarchy.from_rows(
    [["north", "up", "*"], ["east", "up", "*"], ["south", "down", "*"], ["west", "down", "*"]]
)


def table(seed: int, persons: int = 40, *, with_missing: bool = True, persons_as: str = "text") -> pl.DataFrame:
    """Records of some persons in no order, with numbers, floats, dates, ordered and nominal columns."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(persons), rng.integers(1, 6, persons)))
    n = len(person)
    names = pl.Series([f"p{7919 * (each + 1) % 1000:03d}" for each in person])
    frame = pl.DataFrame(
        {
            "who": names if persons_as == "text" else pl.Series(person.astype(np.int64) * 7919 % 100_003),
            "age": 20 + person % 50 + rng.integers(0, 3, n),
            "weight": np.round(50 + person % 30 + rng.random(n) * 5, 1),
            "ratio": rng.random(persons)[person] / 3,
            "born": [date(1950, 1, 1) + timedelta(days=int(each) * 97 % 9000) for each in person],
            "stage": pl.Series([STAGES[each] for each in rng.integers(0, 4, n)]),
            "sex": pl.Series([("f", "m", "x")[each % 3] for each in person]),
            "region": pl.Series([("north", "east", "south", "west")[each] for each in rng.integers(0, 4, n)]),
            "zip": pl.Series([f"0{each % 7}139" for each in person]),
            "disease": pl.Series([f"d{each}" for each in rng.integers(0, 7, n)]),
            "score": rng.integers(0, 5, n),
            "note": pl.Series([f"n{each}" for each in rng.integers(0, 3, n)]),
            "extra": rng.random(n),
        }
    )
    if not with_missing:
        return frame
    holes = [
        pl.when(pl.Series(rng.random(n) > 0.1)).then(pl.col(name)).alias(name)
        for name in ("age", "weight", "ratio", "born", "stage", "sex", "region", "disease", "score", "note")
    ]
    return frame.with_columns(holes)


def schema(*quasi: Any, missing: str = "value") -> shoal.Schema:
    """Some quasi-identifiers of the table; the others are dropped."""
    chosen = list(quasi) or ["age", shoal.Nominal("sex"), shoal.Date("born")]
    names = {column if isinstance(column, str) else column.name for column in chosen}
    others = ("age", "weight", "ratio", "born", "stage", "sex", "region", "zip")
    return shoal.Schema(
        person="who",
        quasi=chosen,
        sensitive=["disease", "score"],
        kept=["note"],
        dropped=["extra", *(name for name in others if name not in names)],
        missing=missing,
    )


def shown(frame: pl.DataFrame, person: str | None) -> Counter[Any]:
    """What a release shows: of each pseudonym all its records, without the pseudonym and in no order."""
    texts = frame.with_columns(pl.all().cast(pl.String))
    others = sorted(name for name in frame.columns if name != person)
    if person is None:
        return Counter(texts.select(others).rows())
    by_person: dict[str, list[Any]] = {}
    for who, *record in texts.select(person, *others).rows():
        by_person.setdefault(who, []).append(tuple("" if value is None else value for value in record))
    return Counter(tuple(sorted(records)) for records in by_person.values())


def read_release(folder: Path, *, missing: Sequence[str] = ("",)) -> pl.DataFrame:
    """The published table of a folder."""
    parquet = folder / "release.parquet"
    if parquet.is_file():
        return pl.read_parquet(parquet)
    return pl.read_csv(folder / "release.csv", infer_schema=False)


def flat(numbers: Any, key: str = "") -> dict[str, Any]:
    """Every number by its place, so that two answers can be compared; texts are left out."""
    numbers = asdict(numbers) if is_dataclass(numbers) and not isinstance(numbers, type) else numbers
    if not isinstance(numbers, dict | list | tuple):
        return {} if isinstance(numbers, str) else {key: -1 if numbers is None else numbers}
    places = numbers.items() if isinstance(numbers, dict) else enumerate(numbers)
    return {at: each for place, inside in places for at, each in flat(inside, f"{key}.{place}").items()}
