"""Files of statistical packages through the command: labels, sheets, formats, and a release that verifies."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from shoal.demo.clinics import clinics
from shoal.reading import read
from tests.cli.conftest import COLUMNS, MODELS, Shoal

pyreadstat = pytest.importorskip("pyreadstat")


@pytest.fixture
def sav(shoal: Shoal) -> dict[str, int]:
    """clinics.sav, with genders and diseases as codes; gives the codes of the diseases."""
    codes = {value: code for code, value in enumerate(sorted(clinics()["disease"].unique()), start=1)}
    genders = {value: code for code, value in enumerate(sorted(clinics()["gender"].unique()), start=1)}
    frame = clinics().with_columns(
        pl.col("disease").replace_strict(codes, return_dtype=pl.Int64),
        pl.col("gender").replace_strict(genders, return_dtype=pl.Int64),
    )
    labels = {
        name: {code: value for value, code in of.items()} for name, of in (("disease", codes), ("gender", genders))
    }
    pyreadstat.write_sav(frame, "clinics.sav", variable_value_labels=labels, column_labels={"zip": "Where they live"})
    return codes


def test_a_release_has_the_format_and_the_labels_of_its_input(shoal: Shoal, sav: dict[str, int]) -> None:
    told = shoal("protect", "clinics.sav", *COLUMNS, *MODELS, "--column-labels", "-o", "out")
    assert told.code == 0
    assert "'zip' is \"Where they live\"" in told.err
    reading = read("out/release.sav")
    assert reading.labels.codes == {"disease": {code: value for value, code in sav.items()}}
    assert reading.labels.columns == {"zip": "Where they live"}
    assert shoal("verify", "out", "--json").json["verdict"]["holds"]
    book = {column["name"]: column for column in json.loads(Path("out/codebook.json").read_text())["columns"]}
    assert book["zip"]["label"] == "Where they live"
    assert set(book["disease"]["value_labels"].values()) == set(sav)


def test_labels_of_columns_are_shown_to_the_steward_and_stay_unless_asked_for(
    shoal: Shoal, sav: dict[str, int]
) -> None:
    told = shoal("profile", "clinics.sav")
    assert "zip: Where they live" in told.out
    assert "#     zip: Where they live" in Path("clinics.policy.toml").read_text()
    labels = [column.get("label") for column in shoal("profile", "clinics.sav", "--json").json["columns"]]
    assert [label for label in labels if label] == ["Where they live"]
    told = shoal("protect", "clinics.sav", *COLUMNS, *MODELS, "-o", "out")
    assert "1 of the published columns have labels, which stay here" in told.err
    for name in ("codebook.json", "release.sav", "steward/report.json"):
        assert b"Where they live" not in Path("out", name).read_bytes()


def test_labels_as_values_in_another_format(shoal: Shoal, sav: dict[str, int]) -> None:
    answer = shoal("protect", "clinics.sav", *COLUMNS, *MODELS, "--labels", "values", "--format", "xlsx", "-o", "out")
    assert answer.code == 0, answer.err
    assert set(read("out/release.xlsx").frame["disease"]) == set(sav)
    assert 'labels = "values"' in Path("out/steward/policy.toml").read_text()
    assert shoal("verify", "out", "--json").json["verdict"]["holds"]


def test_a_sheet_is_chosen_and_kept_in_the_policy(shoal: Shoal) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook("book.xlsx") as book:
        clinics().write_excel(book, "visits")
        clinics().head(2).write_excel(book, "sample")
    assert shoal("assess", "book.xlsx", *COLUMNS).code == 2
    assert shoal("assess", "book.xlsx", "--sheet", "visits", *COLUMNS, "--json").json["records"] == 19
    assert shoal("profile", "book.xlsx", "--sheet", "visits").code == 0
    assert 'sheet = "visits"' in Path("book.policy.toml").read_text()
