"""The attack by trajectories on real ratings: groups do not help, and publishing no person ids does."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import shoal

PROJECT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data"))
pytestmark = [pytest.mark.data, pytest.mark.long]


@pytest.fixture(scope="module")
def ratings() -> pl.DataFrame:
    where = DATA / "movielens100k"
    if not where.is_dir():
        pytest.skip("MovieLens 100K is not at hand: name its folder with SHOAL_DATA.")
    names = ["user", "film", "rating", "seconds"]
    seen = pl.read_csv(where / "u.data", separator="\t", has_header=False, new_columns=names)
    persons = pl.read_csv(
        where / "u.user", separator="|", has_header=False,
        new_columns=["user", "age", "gender", "occupation", "zip"], schema_overrides={"column_5": pl.String},
    ).with_columns(pl.col("zip").cast(pl.Int64, strict=False).fill_null(0))  # fmt: skip
    return seen.join(persons, on="user").select("user", "age", "gender", "zip", "film", "rating")


def schema(person_ids: str = "pseudonyms") -> shoal.Schema:
    return shoal.Schema(
        person="user", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["film", "rating"],
        person_ids=person_ids,
    )  # fmt: skip


def test_four_ratings_find_nearly_everybody_and_without_person_ids_record_risk_holds(ratings: pl.DataFrame) -> None:
    models = [shoal.RecordRisk(rho="0.1")]
    linked = shoal.protect(ratings, schema(), models, seed=1).attack(["trajectory", "linkage"])
    found = {result.name: result for result in linked.results}
    assert found["trajectory, 4 known"].success == pytest.approx(0.93, abs=0.03)
    assert found["trajectory, 2 known"].success == pytest.approx(0.39, abs=0.05)
    assert found["trajectory, 2 known and quasi-identifiers"].success > 0.85
    assert found["linkage, one record, record"].details["highest"] <= 0.1 + 1e-12
    assert found["linkage, all and number, person"].success > 0.8
    unlinked = shoal.protect(ratings, schema("none"), models, seed=1).attack(["trajectory", "linkage"])
    left = {result.name: result for result in unlinked.results}
    assert left["trajectory, 4 known"].success < 0.005
    assert left["trajectory, 4 known and quasi-identifiers"].success < 0.1
    assert not any("number" in name for name in left)


def test_records_counted_as_persons_hide_nobody(ratings: pl.DataFrame) -> None:
    release = shoal.protect(ratings, schema(), [shoal.KAnonymity(k=50)], seed=1)
    found = {result.name: result for result in release.attack(["linkage"]).results}
    assert found["linkage, one record, record"].details["highest"] == 1.0
    assert found["linkage, one record, record"].success > 0.6
