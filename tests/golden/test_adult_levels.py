"""Adult in one set of classes: the optimal levels that ARX 3.9.2 finds, checked by exhaustive search."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import shoal

PROJECT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data"))
COLUMNS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


@pytest.fixture(scope="module")
def adult() -> tuple[pl.DataFrame, shoal.Schema]:
    folder = DATA / "adult"
    if not (folder / "adult_arx.csv").is_file():
        pytest.skip("the folder adult is not in the folder that SHOAL_DATA names")
    files = folder / "hierarchies_arx"
    quasi = [
        shoal.Nominal(name, hierarchy=shoal.Hierarchy.read_arx_csv(files / f"adult_hierarchy_{name}.csv"))
        for name in COLUMNS
    ]
    frame = pl.read_csv(folder / "adult_arx.csv", separator=";", infer_schema_length=0)
    return frame, shoal.Schema(quasi=quasi, sensitive=["occupation"])


pytestmark = pytest.mark.data


@pytest.mark.parametrize(
    ("model", "limit", "levels", "left_out", "granularity", "loss", "classes"),
    [
        (shoal.KAnonymity(k=5), 0, "04123200", 0, 0.375000, 0.5422108254, 26),
        (shoal.KAnonymity(k=5), "1%", "03023110", 233, 0.651073, 0.2988326717, 147),
        (shoal.KAnonymity(k=5), "2%", "03022110", 506, 0.722832, 0.2464771552, 222),
        (shoal.KAnonymity(k=5), "5%", "03002110", 1346, 0.821661, 0.1701227919, 397),
        (shoal.KAnonymity(k=50), "5%", "04013110", 1022, 0.604478, 0.3484905801, 41),
        (shoal.LDiversity(l=3, kind="distinct"), "5%", "03002110", 1102, 0.828674, 0.1629291266, 473),
    ],
)
def test_the_levels_are_the_best(
    adult: tuple[pl.DataFrame, shoal.Schema],
    model: shoal.models.Model,
    limit: int | str,
    levels: str,
    left_out: int,
    granularity: float,
    loss: float,
    classes: int,
) -> None:
    frame, schema = adult
    release = shoal.protect(
        frame, schema, [model], method="full-domain", max_suppressed=limit, measure_input=False, seed=1
    )
    told = release.to_dict()
    assert "".join(str(told["levels"][name]) for name in COLUMNS) == levels  # type: ignore[index]
    assert told["suppressed_persons"] == left_out
    assert release.utility.granularity == pytest.approx(granularity, abs=5e-7)
    assert told["lattice"]["is_optimal"]  # type: ignore[index]
    assert told["lattice"]["loss"] == pytest.approx(loss, abs=5e-10)  # type: ignore[index]
    assert release.risk.groups == classes
