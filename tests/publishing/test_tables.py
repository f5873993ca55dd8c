"""A release in every format: what is written reads back the same, or is refused."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import OutputError
from shoal.policy import Policy
from shoal.publishing.manifest import check_manifest
from shoal.publishing.tables import write_table
from shoal.reading import FORMATS, read
from tests.pipeline.tables import MODELS, SCHEMA, visits

TYPED = ("parquet", "arrow", "xlsx", "sav", "dta", "xpt")
PACKED = ("xlsx", "sav", "dta", "xpt")

NOON = datetime(2020, 1, 2, 12, tzinfo=UTC)
VALUES = pl.DataFrame(
    {
        "text": ["a", "=1+1", "日本", None],
        "whole": [1, None, -3, 2**40],
        "large": pl.Series([2**63 - 1, None, 1, -(2**63)], dtype=pl.Int64),
        "share": [0.1, None, -2.5, 1e20],
        "cost": pl.Series([Decimal("1.10"), None, Decimal("3.00"), Decimal("0.07")], dtype=pl.Decimal(20, 2)),
        "exact": pl.Series([Decimal("0.12345678901234567891"), None, Decimal(1), Decimal(2)], dtype=pl.Decimal(38, 20)),
        "day": [date(2020, 1, 2), None, date(1950, 1, 1), date(2199, 12, 31)],
        "moment": [datetime(2020, 1, 2, 3, 4, 5, 678000), None, datetime(1960, 1, 1), datetime(2000, 1, 1)],
        "zoned": [NOON, None, NOON + timedelta(days=180), NOON - timedelta(days=1)],
        "hour": [time(1, 2, 3), None, time(0, 0), time(23, 59, 59)],
        "yes": [True, None, False, True],
        "kind": pl.Series(["x", None, "y", "x"], dtype=pl.Categorical),
        "grade": pl.Series(["low", None, "high", "low"], dtype=pl.Enum(["low", "high"])),
        "nothing": pl.Series([None] * 4, dtype=pl.Null),
    }
)  # fmt: skip


@pytest.mark.parametrize("format", TYPED)
def test_real_types_come_back(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"release.{format}"
    write_table(VALUES, path, format)
    back = read(path).frame
    assert back.columns == VALUES.columns
    for name in VALUES.columns:
        assert as_texts(back[name]) == as_texts(VALUES[name]), name
    if format in ("parquet", "arrow"):
        kept = VALUES.drop("kind")  # whose type names all categories that there are; in the file only its own
        assert back.drop("kind").schema == kept.schema


def as_texts(values: pl.Series) -> list[str | None]:
    """Values as one would write them down, whatever type a format has for them."""

    def text(value: Any) -> str | None:
        if value is None:
            return None
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, Decimal | float | int):
            return str(Decimal(str(value)).normalize())
        if isinstance(value, datetime):
            return value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        if isinstance(value, time):
            return value.isoformat(timespec="microseconds")
        return str(value)

    if values.name in ("large", "exact", "cost") and values.dtype == pl.String:
        return [None if value is None else text(Decimal(value)) for value in values]
    if values.name == "zoned" and values.dtype == pl.String:
        return [None if value is None else text(datetime.fromisoformat(value)) for value in values]
    if values.name == "hour" and values.dtype == pl.String:
        return [None if value is None else text(time.fromisoformat(value)) for value in values]
    return [text(value) for value in values]


@pytest.mark.parametrize(
    ("format", "column"),
    [
        ("xpt", pl.Series("much", [1e300, 1.0])),
        ("sav", pl.Series("spaced", ["canary ", "canary"])),
        ("sav", pl.Series("empty", ["", None])),
        ("dta", pl.Series("empty", ["", None])),
        ("xlsx", pl.Series("empty", ["", None])),
        ("sav", pl.Series("fine", [datetime(2020, 1, 1, 0, 0, 0, 1), datetime(2020, 1, 1)])),
        ("xlsx", pl.Series("long", ["canary" * 10_000, "b"])),
        ("dta", pl.Series("odd", [float("inf"), 1.0])),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_what_a_format_would_change_is_refused(tmp_path: Path, format: str, column: pl.Series) -> None:
    with pytest.raises(OutputError) as caught:
        write_table(pl.DataFrame([column, pl.Series("fine_too", [1, 2])]), tmp_path / f"release.{format}", format)
    assert "format=" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_dates_that_excel_does_not_know_are_texts(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"day": [date(1899, 12, 31), date(2020, 1, 1)]}), tmp_path / "a.xlsx", "xlsx")
    assert read(tmp_path / "a.xlsx").frame["day"].to_list() == ["1899-12-31", "2020-01-01"]


@pytest.mark.parametrize("format", ["sav", "dta", "xpt"])
def test_names_that_a_format_does_not_allow_are_named(tmp_path: Path, format: str) -> None:
    frame = pl.DataFrame({"ok": [1], "zip code": [1], "x" * 70: [1]})
    with pytest.raises(OutputError, match="2 of the column names: zip code, xxx"):
        write_table(frame, tmp_path / f"release.{format}", format)


def test_texts_that_are_longer_than_a_cell_are_refused_with_their_columns(tmp_path: Path) -> None:
    frame = pl.DataFrame({"long": ["x" * 32_768], "fits": ["x" * 32_767]})
    with pytest.raises(OutputError, match="up to 32,767 characters, and 1 of the columns have longer ones: long"):
        write_table(frame, tmp_path / "a.xlsx", "xlsx")


def test_more_records_than_a_sheet_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="1,048,575 records"):
        write_table(pl.DataFrame({"a": [0]}).select(pl.repeat(1, 2**20)), tmp_path / "a.xlsx", "xlsx")


@pytest.mark.parametrize(("format", "package"), [("xlsx", "xlsxwriter"), ("sav", "pyreadstat"), ("dta", "pyreadstat")])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OutputError, match=r"pip install 'shoal\[stats\]'"):
        write_table(VALUES, tmp_path / f"a.{format}", format)


def test_an_arrow_file_names_no_categories_that_are_not_in_it(tmp_path: Path) -> None:
    everybody = pl.Series("kind", ["CanaryCategory", "a", "b"], dtype=pl.Categorical)
    write_table(everybody[1:].to_frame(), tmp_path / "release.arrow", "arrow")
    assert b"CanaryCategory" not in (tmp_path / "release.arrow").read_bytes()


@pytest.mark.parametrize("format", [name for name, format in FORMATS.items() if format.is_written])
def test_a_release_folder_verifies_in_every_format(tmp_path: Path, format: str) -> None:
    made = shoal.protect(visits(), SCHEMA, MODELS, seed=11)
    folder = made.write(tmp_path / "out", format=format)
    assert check_manifest(folder) == []
    policy = Policy.load(folder / "steward" / "policy.toml")
    answer = shoal.verify(read(folder / f"release.{format}").frame, policy.schema_of_release(), policy.models)
    assert answer.holds
    assert answer.risk == made.risk


def test_a_table_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    frame = visits().with_columns(disease=pl.col("disease") + " ")
    made = shoal.protect(frame, SCHEMA, MODELS, seed=11)
    with pytest.raises(OutputError, match="disease"):
        made.write(tmp_path / "out", format="sav")
    assert list(tmp_path.iterdir()) == []
