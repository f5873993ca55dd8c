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


def data_folder() -> Path:
    """The folder with a folder for each source."""
    return Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data"))


def data_file(*parts: str) -> Path:
    """A file of the data folder."""
    path = data_folder().joinpath(*parts)
    if not path.exists():
        raise MissingDataError(
            f"{'/'.join(parts)} is not in the folder that SHOAL_DATA names; see studies/download.py."
        )
    return path


def adult() -> pl.DataFrame:
    """The 30,162 complete records of UCI Adult's training part."""
    return _complete("adult.data")


def adult_whole() -> pl.DataFrame:
    """The 45,222 complete records of UCI Adult, training and test part."""
    return pl.concat([_complete("adult.data"), _complete("adult.test", skip_lines=1)])


def _complete(name: str, *, skip_lines: int = 0) -> pl.DataFrame:
    frame = pl.read_csv(
        data_file("adult", name),
        has_header=False,
        new_columns=ADULT_COLUMNS,
        infer_schema_length=0,
        skip_lines=skip_lines,
    )
    texts = frame.select(pl.col(name).str.strip_chars() for name in ADULT_COLUMNS)
    return texts.filter(pl.all_horizontal(pl.all() != "?"))


def rwm5yr() -> pl.DataFrame:
    """The German health survey: 19,609 records of 6,127 persons."""
    return pl.read_csv(data_file("rwm5yr", "rwm5yr.csv"))


def movielens(*, dated: str = "%Y-%m") -> pl.DataFrame:
    """MovieLens 100K: 100,000 ratings of 943 persons; ZIP codes that are no number count as 0.

    The sensitive value is film, rating and month together, as Kartal and Li (2020) write, or with another date.
    """
    persons = pl.read_csv(
        data_file("movielens100k", "u.user"),
        separator="|",
        has_header=False,
        new_columns=["user", "age", "gender", "occupation", "zip"],
        schema_overrides={"column_5": pl.String},
    ).with_columns(pl.col("zip").cast(pl.Int64, strict=False).fill_null(0))
    ratings = pl.read_csv(
        data_file("movielens100k", "u.data"),
        separator="\t",
        has_header=False,
        new_columns=["user", "item", "rating", "seconds"],
    )
    when = pl.from_epoch("seconds", time_unit="s").dt.strftime(dated)
    seen = pl.concat_str("item", "rating", when, separator="/").alias("seen")
    return ratings.join(persons, on="user").select("user", "age", "gender", "zip", seen)


def informs(*, with_missing: bool = True) -> pl.DataFrame:
    """INFORMS 2008: the conditions of 2005 joined to the demographics, without records that miss a quasi-identifier.

    Records without a condition (codes below 0) are kept where asked for, and removed else, as in Kartal and Li (2020).
    """
    quasi = ["DOBYY", "EDUCYEAR", "income", "poverty"]
    persons = pl.read_csv(data_file("informs2008", "demographics05.csv"), infer_schema_length=0)
    conditions = pl.read_csv(data_file("informs2008", "conditions05.csv"), infer_schema_length=0)
    joined = conditions.select("DUPERSID", "ICD9CODX").join(
        persons.select("DUPERSID", pl.col(quasi).cast(pl.Float64)), on="DUPERSID"
    )
    there = joined.filter((pl.col("DOBYY") >= 0) & (pl.col("EDUCYEAR") >= 0) & (pl.col("poverty") >= 0))
    return there if with_missing else there.filter(~pl.col("ICD9CODX").str.strip_chars().str.starts_with("-"))


def berka() -> pl.DataFrame:
    """PKDD'99 bank data: the first 49,102 of 1,056,320 transactions, with birth, salary of the district and opening.

    The sensitive value is the amount, rounded to hundreds. Only the part of the transactions that is available.
    """
    return _berka("trans_partial.asc")


def berka_orders() -> pl.DataFrame:
    """The same with all 6,471 standing orders of 3,758 clients in place of transactions."""
    return _berka("order.asc")


def _berka(records: str) -> pl.DataFrame:
    def read(name: str) -> pl.DataFrame:
        return pl.read_csv(data_file("berka", name), separator=";", infer_schema_length=0)

    def day(number: pl.Expr) -> pl.Expr:
        month = (number // 100) % 100 % 50  # of women 50 is added to the month
        return pl.date(1900 + number // 10_000, month, number % 100).cast(pl.Int32)

    owners = read("disp.asc").filter(pl.col("type") == "OWNER").select("account_id", "client_id")
    birth, opening = (day(pl.col(name).cast(pl.Int64)) for name in ("birth_number", "date"))
    born = read("client.asc").select("client_id", "district_id", born=birth)
    salary = read("district.asc").select(district_id="A1", salary=pl.col("A11").cast(pl.Float64))
    opened = read("account.asc").select("account_id", opened=opening)
    amount = (pl.col("amount").cast(pl.Float64) / 100).round().cast(pl.Int64).alias("amount")
    return (
        read(records)
        .select("account_id", amount)
        .join(opened, on="account_id")
        .join(owners, on="account_id")
        .join(born, on="client_id")
        .join(salary, on="district_id")
        .select("client_id", "born", "salary", "opened", "amount")
    )


def pima() -> pl.DataFrame:
    """The 768 patients of the Pima Indians Diabetes table: eight numbers and the result; zeros stay as they are."""
    names = ["pregnancies", "glucose", "pressure", "skin", "insulin", "bmi", "pedigree", "age", "diabetes"]
    frame = pl.read_csv(data_file("pima", "pima-indians-diabetes.csv"), has_header=False, new_columns=names)
    return frame.with_columns(pl.col("diabetes").cast(pl.String))


def medicare() -> pl.DataFrame:
    """The 4,406 persons of NMES 1988 as 21 numbers and the class of 0, 1 or more chronic conditions.

    Health is coded as two and region as three columns of 0 and 1, as the paper's data were; other yes-or-no columns as
    one.
    """
    frame = pl.read_csv(data_file("nmes1988", "NMES1988.csv"))
    counts = ["visits", "nvisits", "ovisits", "novisits", "emergency", "hospital", "age", "school", "income"]
    yes_or_no = ["afam", "married", "employed", "insurance", "medicaid"]
    coded = {
        "poor": pl.col("health") == "poor",
        "excellent": pl.col("health") == "excellent",
        "limited": pl.col("adl") == "limited",
        "midwest": pl.col("region") == "midwest",
        "northeast": pl.col("region") == "northeast",
        "west": pl.col("region") == "west",
        "male": pl.col("gender") == "male",
    }
    return frame.select(
        *counts,
        *((pl.col(name) == "yes").cast(pl.Int64).alias(name) for name in yes_or_no),
        *(has.cast(pl.Int64).alias(name) for name, has in coded.items()),
        chronic=pl.col("chronic").clip(0, 2).cast(pl.String),
    )
