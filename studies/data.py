"""Where the studies' tables are: in the folder that SHOAL_DATA names (by default ../shared/data beside the project)."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

PROJECT = Path(__file__).resolve().parent.parent
ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "class",
]


class MissingDataError(Exception):
    """A study's table is not there."""


def data_file(*parts: str) -> Path:
    """A file of the data folder."""
    folder = Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data"))
    path = folder.joinpath(*parts)
    if not path.exists():
        raise MissingDataError(f"{'/'.join(parts)} is not in the folder that SHOAL_DATA names.")
    return path


def adult() -> pl.DataFrame:
    """The 30,162 complete records of UCI Adult's training part."""
    frame = pl.read_csv(
        data_file("adult", "adult.data"), has_header=False, new_columns=ADULT_COLUMNS, infer_schema_length=0
    )
    texts = frame.select(pl.col(name).str.strip_chars() for name in ADULT_COLUMNS)
    return texts.filter(pl.all_horizontal(pl.all() != "?"))


def rwm5yr() -> pl.DataFrame:
    """The German health survey: 19,609 records of 6,127 persons."""
    return pl.read_csv(data_file("rwm5yr", "rwm5yr.csv"))
