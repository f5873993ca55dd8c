"""Whoever received a release verifies it: the published files and the codebook, without policy and without steward/."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import COLUMNS, MODELS, Answer, Shoal
from tools import recount

ONE_EACH = ["--person", "patient", "--quasi", "age,sex:nominal", "--sensitive", "disease,treatment"]


def handed_out(folder: str = "out") -> Path:
    """What of a release folder may leave."""
    target = Path(f"{folder}-received")
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("steward"))
    return target


def change(folder: Path, **changes: Any) -> None:
    book = json.loads((folder / "codebook.json").read_text())
    book.update(changes)
    (folder / "codebook.json").write_text(json.dumps(book))


def patients(n: int = 24) -> None:
    pl.DataFrame({
        "patient": [f"p{person}" for person in range(n)], "age": [20 + person for person in range(n)],
        "sex": ["m", "f"] * (n // 2), "disease": ["flu", "cold", "hiv"] * (n // 3),
        "treatment": ["a", "b", "c", "d"] * (n // 4),
    }).write_csv("patients.csv")  # fmt: skip


def made(run: Answer) -> None:
    assert run.code == 0, run.err


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx", "sav"])
def test_a_release_is_verified_by_its_codebook(shoal: Shoal, format: str) -> None:
    made(shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "--l", "4/3", "--format", format, "-o", "out"))
    received = handed_out()
    steward, recipient = shoal("verify", "out", "--json").json, shoal("verify", received, "--json")
    assert recipient.code == 0
    assert recipient.json["verdict"]["models"] == steward["verdict"]["models"]
    assert recipient.json["not_recounted"] == []
    assert any("codebook.json" in note for note in recipient.json["verdict"]["notes"])
    assert shoal("verify", received / f"release.{format}", "--json").code == 0
    assert "keeps its promises" in shoal("verify", received).out
    if format != "xlsx":  # pandas needs another package for it
        assert recount.main([str(received)]) == 0


def test_flags_are_laid_over_what_the_codebook_says(shoal: Shoal) -> None:
    made(shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out"))
    received = handed_out()
    stricter = shoal("verify", received, "--g-balance", "0.9", "--json")
    assert stricter.code == 3
    assert [model["name"] for model in stricter.json["verdict"]["models"]] == ["g-balance", "h-affiliation"]
    own = shoal("verify", received / "release.csv", *COLUMNS[:-2], "--k", "2", "--json").json
    assert [model["name"] for model in own["verdict"]["models"]] == ["k-anonymity"], (
        "columns named: the codebook is left"
    )


def test_what_was_changed_is_a_problem(shoal: Shoal) -> None:
    made(shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out"))
    received = handed_out()
    with open(received / "release.csv", "a", encoding="utf-8") as file:
        file.write("\n")
    run = shoal("verify", received, "--json")
    assert run.code == 3
    assert "has changed" in run.json["problems"][0]
    assert "codebook" in run.json["problems"][0]
    (received / "release.csv").rename(received / "renamed.csv")
    renamed = shoal("verify", received / "renamed.csv", "--json")
    assert renamed.code == 0
    assert any("whether it was changed" in note for note in renamed.json["verdict"]["notes"])


def test_models_that_only_the_steward_can_show_are_not_met_and_named(shoal: Shoal) -> None:
    patients()
    for way in (["--mask", "perturb"], ["--person-ids", "none"]):
        made(shoal("protect", "patients.csv", *ONE_EACH, "--person-k", "3", *way, "-o", "out", "--overwrite"))
        assert shoal("verify", "out").code == 0
        received = handed_out()
        run = shoal("verify", received, "--json")
        assert run.code == 3
        assert run.json["problems"] == []
        assert run.json["not_recounted"] == ["person-k-anonymity"]
        told = shoal("verify", received).out
        assert "not recounted" in told
        assert "NOT MET" not in told
        assert "What can be recounted holds." in told
        shutil.rmtree(received)


@pytest.mark.parametrize("mask", [["anatomize"], ["permute"], ["anatomize", "--quasi-as", "range"]])
def test_values_published_apart_are_recounted_and_bounded(shoal: Shoal, mask: list[str]) -> None:
    patients()
    models = ["--h-affiliation", "0.5", "--joint-l", "2"]
    made(shoal("protect", "patients.csv", *ONE_EACH, *models, "--mask", *mask, "-o", "out"))
    received = handed_out()
    run = shoal("verify", received, "--json")
    assert run.code == 0, run.out
    assert {model["checked_from"] for model in run.json["verdict"]["models"]} == {
        "published table", "published table, by a bound"}  # fmt: skip


def test_a_table_of_a_sensitive_attribute_is_not_the_release(shoal: Shoal) -> None:
    patients()
    made(shoal("protect", "patients.csv", *ONE_EACH, "--k", "3", "--mask", "anatomize", "-o", "out"))
    run = shoal("verify", handed_out() / "release-disease.csv")
    assert run.code == 2
    assert "Name the folder" in run.err


def test_a_folder_without_a_codebook_says_what_is_needed(shoal: Shoal) -> None:
    made(shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out"))
    received = handed_out()
    (received / "codebook.json").unlink()
    run = shoal("verify", received)
    assert run.code == 2
    assert "codebook" in run.err
    assert "profile" not in run.err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format_version": None}, "version"),
        ({"format_version": 2}, "another version"),
        ({"made_by": "somebody"}, "is not a codebook"),
        ({"columns": None}, "does not tell"),
        ({"columns": [1]}, "does not tell"),
        ({"columns": []}, "quasi"),
        ({"models": [{"name": "g-balance"}]}, "does not tell"),
        ({"models": [{"name": "magic", "parameters": {}}]}, "magic"),
        ({"models": [{"name": "g-balance", "parameters": {"g": 2}}]}, "g must lie"),
        ({"models": []}, "No model"),
        ({"mask": ["range"]}, "mask"),
    ],
)
def test_a_codebook_that_does_not_tell_is_refused(shoal: Shoal, changes: dict[str, Any], told: str) -> None:
    made(shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out"))
    received = handed_out()
    change(received, **changes)
    run = shoal("verify", received, "--json")
    assert run.code == 2, run.out
    assert told in run.error["message"]


def test_a_column_that_the_codebook_does_not_name_is_a_problem(shoal: Shoal) -> None:
    made(shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out"))
    received = handed_out()
    table = pl.read_csv(received / "release.csv", infer_schema=False)
    table.with_columns(group=pl.lit("1"), ssn=pl.int_range(pl.len())).write_csv(received / "release.csv")
    change(received, files=[])
    run = shoal("verify", received, "--json")
    assert run.code == 3
    assert len(run.json["problems"]) == 2


def test_later_records_and_portions_of_a_file_leave_with_a_codebook_as_well(shoal: Shoal) -> None:
    patients(48)
    table = pl.read_csv("patients.csv")
    table[:36].write_parquet("first.parquet")
    table[36:].with_columns(pl.col("age") - 30).write_parquet("later.parquet")
    asked = [*ONE_EACH, "--person-k", "3", "--h-affiliation", "0.9"]
    made(shoal("protect", "first.parquet", *asked, "--engine", "stream", "-o", "first"))
    received = handed_out("first")
    assert shoal("verify", received, "--json").code == 0
    assert recount.main([str(received)]) == 0
    made(shoal("apply", "first", "later.parquet", "--all-new", "--max-suppressed", "12", "-o", "second"))
    received = handed_out("second")
    grown = shoal("verify", received, "--json")
    assert grown.code == 0, grown.out
    assert recount.main([str(received)]) == 0
    assert grown.json["not_recounted"] == []


def test_related_tables_leave_with_a_codebook_as_well(shoal: Shoal) -> None:
    patients()
    table = pl.read_csv("patients.csv")
    table.select("patient", "age", "sex").write_csv("persons.csv")
    visits = table.select("patient", "disease", visit=pl.int_range(pl.len()))
    pl.concat([visits, visits.with_columns(visit=pl.col("visit") + 100)]).write_csv("visits.csv")
    Path("related.toml").write_text("""
[columns]
person = "patient"
quasi = ["age", "sex:nominal"]
sensitive = ["visit.disease"]
[models]
record-risk = 0.5
h-affiliation = { h = 0.9, column = "visit.disease" }
[tables]
person = { file = "persons.csv", key = "patient" }
visit = { file = "visits.csv", key = "visit", links = { patient = "person" } }
""")
    made(shoal("protect", "--policy", "related.toml", "-o", "out"))
    received = handed_out()
    run = shoal("verify", received, "--json")
    assert run.code == 0, run.out + run.err
    assert run.json["verdict"]["models"] == shoal("verify", "out", "--json").json["verdict"]["models"]
    assert recount.main([str(received)]) == 0
    assert "Name the folder" in shoal("verify", received / "release-visit.csv").err
    with open(received / "release-visit.csv", "a", encoding="utf-8") as file:
        file.write("\n")
    assert "has changed" in shoal("verify", received, "--json").json["problems"][0]


@pytest.mark.parametrize(
    ("columns", "form"),
    [
        (["--time", "admission", "--time-as", "shift"], {"admission": "shifted"}),
        (["--time", "admission", "--spelling", "name=folded"], {"admission": "sequence"}),
        (["--drop", "admission", "--keep", "clinic", "--hierarchy", "zip=zip.csv"], {"clinic": "value", "zip": "node"}),
    ],
)
def test_what_a_column_is_comes_back(shoal: Shoal, columns: list[str], form: dict[str, str]) -> None:
    table = pl.read_csv("clinics.csv")
    zips = sorted({str(code) for code in table["zip"]})
    Path("zip.csv").write_text("".join(f"{code};{code[:2]};*\n" for code in zips))
    days = pl.date(2024, 1, 1) + pl.duration(days=7 * pl.int_range(pl.len()))
    table.with_columns(admission=days, clinic=pl.lit("A")).write_csv("dated.csv")
    without_clinic = [] if "clinic" in columns else ["--drop", "clinic"]
    made(shoal("protect", "dated.csv", *COLUMNS[:-2], *columns, *without_clinic, *MODELS, "-o", "out"))
    received = handed_out()
    book = json.loads((received / "codebook.json").read_text())
    forms = {column["name"]: column["form"] for column in book["columns"]}
    assert {name: forms[name] for name in form} == form
    assert set(book["grammar"]) == set(forms.values())
    run = shoal("verify", received, "--json")
    assert run.code == 0, run.out + run.err
    assert recount.main([str(received)]) == 0
