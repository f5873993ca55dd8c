"""What leaves is easy to use: the codebook as a page and as a data package, and programs that read a release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.publishing.codebook import CODEBOOKS
from shoal.publishing.manifest import check_manifest, describe_file
from shoal.publishing.reading_snippets import snippets_for
from shoal.reading import CsvOptions

N = 80


def table() -> pl.DataFrame:
    return pl.DataFrame({
        "person": [f"secret-{n // 2}" for n in range(N)],
        "age": [20 + n // 2 for n in range(N)],
        "weight": [50.25 + (n // 2) * 1.5 for n in range(N)],
        "balance": [-40 + n // 2 for n in range(N)],
        "born": [date(1950, 1, 1) + timedelta(days=200 * (n // 2)) for n in range(N)],
        "sex": ["f", "m"] * (N // 2),
        "disease": [f"d{n % 7}" for n in range(N)],
        "drug": [f"m{n % 5}" for n in range(N)],
        "größe": ["größer", "kleiner"] * (N // 2),
        "left_out": range(N),
    })  # fmt: skip


def written(folder: Path, **how: Any) -> Path:
    quasi = ["age", "weight", "balance", shoal.Date("born"), "sex"]
    schema = shoal.Schema(
        person="person", quasi=quasi, sensitive=["disease", "drug"], kept=["größe"], dropped=["left_out"]
    )
    models = [shoal.RecordRisk(rho="0.25"), shoal.HAffiliation(h="0.6", column="disease"),
              shoal.HAffiliation(h="0.7", column="drug")]  # fmt: skip
    return shoal.protect(table(), schema, models, seed=3).write(folder, **how)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("made") / "out", csv=CsvOptions(delimiter=";"))


def test_the_codebook_leaves_in_three_forms_that_the_manifest_lists(release: Path) -> None:
    assert {name for name in CODEBOOKS if (release / name).is_file()} == set(CODEBOOKS)
    listed = {entry["path"] for entry in json.loads((release / "steward/manifest.json").read_text())["files"]}
    assert set(CODEBOOKS) <= listed
    assert check_manifest(release) == []
    (release / "datapackage.json").rename(release / "gone")
    assert any("datapackage.json" in said for said in check_manifest(release))
    (release / "gone").rename(release / "datapackage.json")


def test_they_hold_nothing_of_persons_and_of_dropped_columns(release: Path) -> None:
    for name in CODEBOOKS:
        text = (release / name).read_text(encoding="utf-8")
        assert "secret-" not in text
        assert "left_out" not in text
        assert not any(day.isoformat() in text for day in table()["born"])


def test_the_page_needs_nothing_from_elsewhere_and_names_every_column(release: Path) -> None:
    page = (release / "codebook.html").read_text(encoding="utf-8")
    assert "default-src &#x27;none&#x27;" in page
    assert "<script" not in page
    assert "http://" not in page
    for column in ("age", "weight", "balance", "born", "sex", "disease", "drug"):
        assert f">{column}<" in page
    for told in ("utf-8", "YYYY-MM-DD", "Decimal mark", "h = 0.6, column = disease", "h = 0.7, column = drug"):
        assert told in page


def test_markup_in_names_stays_text(tmp_path: Path) -> None:
    frame = table().select("person", pl.col("age").alias("<b>age"), "disease")
    schema = shoal.Schema(person="person", quasi=["<b>age"], sensitive=["disease"])
    folder = shoal.protect(frame, schema, [shoal.RecordRisk(rho="0.25")], seed=3).write(tmp_path / "out")
    page = (folder / "codebook.html").read_text(encoding="utf-8")
    assert "<b>age" not in page
    assert "&lt;b&gt;age" in page


def test_the_codebook_says_how_numbers_dates_and_missing_values_are_written(release: Path) -> None:
    book = json.loads((release / "codebook.json").read_text())
    told = {key: book[key] for key in ("delimiter", "encoding", "decimal", "dates", "missing")}
    assert told == {
        "delimiter": ";",
        "encoding": "utf-8",
        "decimal": ".",
        "dates": "YYYY-MM-DD",
        "missing": "an empty cell",
    }


def test_the_data_package_describes_the_files_as_they_are(release: Path) -> None:
    package = json.loads((release / "datapackage.json").read_text())
    (resource,) = package["resources"]
    assert (package["profile"], resource["profile"]) == ("tabular-data-package", "tabular-data-resource")
    entry = describe_file(release, "release.csv")
    assert (resource["path"], resource["bytes"], resource["hash"]) == (
        "release.csv",
        entry["bytes"],
        f"sha256:{entry['sha256']}",
    )
    assert resource["dialect"]["delimiter"] == ";"
    header = (release / "release.csv").read_text(encoding="utf-8").splitlines()[0].split(";")
    assert [field["name"] for field in resource["schema"]["fields"]] == header
    known = {"string", "number", "integer", "any"}
    assert {field["type"] for field in resource["schema"]["fields"]} <= known


def test_sensitive_tables_are_resources_of_their_own(tmp_path: Path) -> None:
    frame = table().select("person", "age", "disease")
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["disease"])
    folder = shoal.protect(
        frame, schema, [shoal.HAffiliation(h="0.5")], mask="anatomize", method="mondrian", seed=3
    ).write(tmp_path / "out")
    resources = json.loads((folder / "datapackage.json").read_text())["resources"]
    assert {resource["path"] for resource in resources} == {"release.csv", "release-disease.csv"}
    for resource in resources:
        header = (folder / resource["path"]).read_text().splitlines()[0].split(",")
        assert [field["name"] for field in resource["schema"]["fields"]] == header


def test_other_formats_have_no_dialect(tmp_path: Path) -> None:
    folder = written(tmp_path / "out", format="parquet")
    package = json.loads((folder / "datapackage.json").read_text())
    assert "dialect" not in package["resources"][0]
    assert list(snippets_for(json.loads((folder / "codebook.json").read_text()))) == ["Python, with shoal"]


def test_the_snippet_for_python_reads_what_shoal_reads(release: Path) -> None:
    book = json.loads((release / "codebook.json").read_text())
    names = ["age", "weight", "balance", "born"]
    program = snippets_for(book)["Python, with pandas"] + (
        f"print(release[[c + end for c in {names} for end in ('_lower', '_upper')]].to_csv(index=False), end='')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=release, capture_output=True, text=True, check=True)
    read = pl.read_csv(run.stdout.encode(), try_parse_dates=True)
    known = shoal.read_release(release).data
    assert known is not None
    for name in read.columns:
        assert read[name].cast(pl.String).to_list() == known[name].cast(read[name].dtype).cast(pl.String).to_list(), (
            name
        )


def test_snippets_for_r_and_stata_name_the_columns(release: Path) -> None:
    told = snippets_for(json.loads((release / "codebook.json").read_text()))
    assert 'c("age", "weight", "balance", "born")' in told["R"]
    assert 'c("born")' in told["R"]
    assert "varlist age weight balance born {" in told["Stata"]
    assert 'local dates " born "' in told["Stata"]
    assert all("{{" not in text and "}}" not in text for text in told.values())


def test_columns_have_names_that_stata_takes() -> None:
    names = ["Straße", "größe in cm", "2024", "if", "größe.in.cm", "x" * 40, "x" * 50, "ok", "名"]
    columns = [{"name": name, "form": "exact"} for name in names]
    told = snippets_for({"delimiter": ";", "encoding": "cp1252", "columns": columns})
    assert "rename (v1 v2 v3 v4 v5 v6 v7 v8 v9) (Strasse grosse_in_cm c_2024 c_if grosse_in_cm_2 " in told["Stata"]
    assert f" {'x' * 26} {'x' * 22}_2 ok column)" in told["Stata"]
    assert 'label variable Strasse `"Straße"\'' in told["Stata"]
    assert "label variable ok" not in told["Stata"]
    assert "foreach" not in told["Stata"], "there are no ranges, and a loop over nothing is a fault"
    assert all('"windows-1252"' in told[language] for language in ("R", "Stata"))


@pytest.mark.nightly
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_the_snippet_for_r_reads_what_shoal_reads(tmp_path: Path, encoding: str) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (Debian: apt install r-base-core)")
    folder = written(tmp_path / "out", csv=CsvOptions(delimiter=";", encoding=encoding))
    ends = ", ".join(f'"{name}_{end}"' for name in ("age", "weight", "balance", "born") for end in ("lower", "upper"))
    program = snippets_for(json.loads((folder / "codebook.json").read_text()))["R"] + (
        f'write.csv(release[c({ends}, "größe")], "read.csv", row.names = FALSE, na = "", fileEncoding = "UTF-8")\n'
    )
    (folder / "read.R").write_text(program, encoding="utf-8")
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(["Rscript", "--vanilla", "read.R"], cwd=folder, env=env, capture_output=True, text=True, check=True)
    read = pl.read_csv(folder / "read.csv", try_parse_dates=True)
    known = shoal.read_release(folder).data
    assert known is not None
    for name in read.columns:
        assert read[name].cast(pl.String).to_list() == known[name].cast(read[name].dtype).cast(pl.String).to_list(), (
            name
        )


def test_two_entries_of_one_model_name_their_column(release: Path) -> None:
    models = json.loads((release / "steward/report.json").read_text())["verdict"]["models"]
    assert [(model["name"], model.get("column")) for model in models] == [
        ("record-risk", None), ("h-affiliation", "disease"), ("h-affiliation", "drug")]  # fmt: skip
    page = (release / "steward/report.html").read_text(encoding="utf-8")
    assert page.count("h-affiliation of") == 2
