"""Linkage by all quasi-identifiers: as by hand, numbers and categories and missing values alike."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.grouping.grouping import everybody
from shoal.masking.by_column import ByColumn
from shoal.measuring import linking
from shoal.measuring.linking import linkage_by_all
from shoal.table.table import Table

SCHEMA = shoal.Schema(person="who", quasi=["age", shoal.Nominal("job")])


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), rng.integers(1, 3, n))
    ages = [
        None if chance < 0.1 else int(age) for chance, age in zip(rng.random(n), rng.integers(20, 60, n), strict=True)
    ]
    jobs = [None if each == 3 else "abc"[each] for each in rng.integers(0, 4, n)]
    return pl.DataFrame({"who": who, "age": [ages[each] for each in who], "job": [jobs[each] for each in who]})


def naive_points(frame: pl.DataFrame, people: list[object], low: float, extent: float) -> list[dict[str, float]]:
    """Of each person the mean of their scaled numbers, and the share of each category, missing ones among them."""
    points = []
    for person in people:
        rows = frame.filter(pl.col("who") == person).rows(named=True)
        ages = [-1.0 if row["age"] is None else (float(row["age"]) - low) / extent for row in rows]
        point = {"age": sum(ages) / len(ages)}
        for job in ("a", "b", "c", None):
            point[f"job {job}"] = sum(row["job"] == job for row in rows) / len(rows)
        points.append(point)
    return points


def apart(one: dict[str, float], other: dict[str, float]) -> float:
    """Squares of numbers, and of two different categories 1 in all."""
    return sum((0.5 if name != "age" else 1.0) * (one[name] - other[name]) ** 2 for name in one)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_definition(seed: int) -> None:
    frame = people(25, seed)
    table = Table.from_frame(frame, SCHEMA)
    mask = ByColumn(by="noise:amount=0.2; pram:stays=0.3:strength=0.8")
    published = mask.publish(table, everybody(table), rng=np.random.default_rng(seed))
    found = linkage_by_all(table, published)
    shown = published.frame[np.argsort(published.record_of_published).tolist()].with_columns(frame["who"])
    low, high = float(frame["age"].min()), float(frame["age"].max())  # type: ignore[arg-type]
    who = list(range(25))
    own, masked = (naive_points(each, who, low, high - low) for each in (frame, shown))  # type: ignore[arg-type]
    first = second = 0.0
    for i in who:
        distances = [apart(masked[i], other) for other in own]
        closer = sum(distance < distances[i] - 1e-9 for distance in distances)
        alike = sum(abs(distance - distances[i]) <= 1e-9 for distance in distances)
        first += 1 / alike if closer == 0 else 0.0
        second += 1 / alike if (closer == 0 and alike > 1) or closer == 1 else 0.0
    assert found.n == 25
    assert found.linked == pytest.approx(first)
    assert found.second == pytest.approx(second)


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "MOST_COORDINATES", 50)
    table = Table.from_frame(people(25, 1), SCHEMA)
    published = ByColumn(by="noise; pram").publish(table, everybody(table), rng=np.random.default_rng(1))
    with pytest.raises(shoal.errors.SchemaError, match="'job' has 4 categories"):
        linkage_by_all(table, published)
