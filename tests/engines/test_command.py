"""`shoal protect --engine spark` and the folder that it writes, as a user would have them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.demo.clinics import clinics
from tests.publishing.report.pages import Page
from tests.publishing.test_folder import modes_in
from tools import recount

pytestmark = pytest.mark.spark

COLUMNS = ["--person", "name", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease", "--drop", "admission"]
ON_SPARK = ["--engine", "spark", "--master", "local[2]", "--spark-conf", "spark.sql.shuffle.partitions=2",
            "--spark-conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"]  # fmt: skip


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def test_a_folder_of_csv_files_becomes_a_release_that_verifies(environment: None, tmp_path: Path) -> None:
    """Started as its own process: nothing but one JSON object may come out on stdout."""
    visits = tmp_path / "visits"
    visits.mkdir()
    frame = clinics()
    frame[:9].write_csv(visits / "a.csv")
    frame[9:].write_csv(visits / "b.csv")
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "shoal.cli.main", "protect", str(visits), *COLUMNS, "--g-balance", "0.5",
         "--h-affiliation", "0.5", "--cut", "median", *ON_SPARK, "-o", str(out), "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("\n") == 1
    answer = json.loads(done.stdout)
    # the worked example of Kartal and Li (2020): three groups
    assert (answer["records"], answer["persons"], answer["groups"], answer["max_gidr"]) == (19, 8, 3, 0.5)
    assert answer["verdict"]["holds"]
    assert answer["before"]["max_gidr"] == 1.0
    assert answer["engine"] == "spark"
    assert sorted(path.name for path in out.iterdir()) == [
        "codebook.html", "codebook.json", "datapackage.json", "release.csv", "steward", "summary.html"]  # fmt: skip
    report = Page((out / "steward/report.html").read_text(encoding="utf-8")).text
    assert "shoal protect visits --engine spark" in report
    numbers = json.loads((out / "steward/report.json").read_text(encoding="utf-8"))["report"]
    assert all(said in report for said in numbers["left_out"].values())
    assert all(path.name.startswith("part-") for path in (out / "release.csv").iterdir())
    assert (out / "steward" / "manifest.json").is_file()
    assert list(tmp_path.glob(".out*")) == []
    assert modes_in(out / "steward") == {0o700, 0o600}
    book = json.loads((out / "codebook.json").read_text(encoding="utf-8"))
    assert [column["role"] for column in book["columns"]] == ["person", "quasi", "quasi", "quasi", "sensitive"]
    verified = run("verify", str(out), "--json")
    assert verified.exit_code == 0, verified.output
    assert json.loads(verified.stdout)["groups"] == 3
    received = tmp_path / "received"
    shutil.copytree(out, received, ignore=shutil.ignore_patterns("steward"))
    assert run("verify", str(received)).exit_code == run("verify", str(received / "release.csv")).exit_code == 0
    assert recount.main([str(received)]) == 0
    part = sorted((out / "release.csv").iterdir())[0]
    part.write_text(part.read_text(encoding="utf-8").replace("-", "/"), encoding="utf-8")
    assert run("verify", str(out)).exit_code == 3
    secret = set(frame["name"].unique().to_list())
    for path in out.rglob("*"):
        if path.is_file():
            assert not any(name.encode() in path.read_bytes() for name in secret), path.name


@pytest.mark.long
def test_what_cannot_be_met_writes_nothing(spark: Any, tmp_path: Path) -> None:
    clinics().write_parquet(tmp_path / "visits.parquet")
    out = tmp_path / "out"
    done = run(
        "protect", str(tmp_path / "visits.parquet"), *COLUMNS, "--h-affiliation", "0.2", *ON_SPARK, "-o", str(out)
    )
    assert done.exit_code == 3
    assert "cannot be met by any grouping" in done.stderr
    assert not out.exists()
    assert list(tmp_path.glob(".out*")) == []


REFUSED = [
    (["--method", "mdav"], "all persons at once"),
    (["--mask", "perturb"], "covariance"),
    (["--queries", "5"], "--queries"),
    (["--keep-person-map"], "--keep-person-map"),
    (["--max-suppressed", "1"], "--max-suppressed"),
    (["--spark-conf", "nothing"], "--spark-conf"),
]


@pytest.mark.parametrize(("flags", "reason"), REFUSED)
def test_flags_of_other_engines_are_refused_with_the_reason(
    spark: Any, tmp_path: Path, flags: list[str], reason: str
) -> None:
    clinics().write_csv(tmp_path / "visits.csv")
    done = run(
        "protect", str(tmp_path / "visits.csv"), *COLUMNS, "--k", "2", *ON_SPARK, *flags, "-o", str(tmp_path / "out")
    )
    assert done.exit_code == 2
    assert reason in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_an_anatomized_release_is_written_and_read_back(spark: Any, tmp_path: Path) -> None:
    from shoal.engines.spark import protect

    frame = clinics().with_columns(pl.Series("ward", ["a", "b", "c"] * 6 + ["a"]))
    schema = shoal.Schema(
        person="name", quasi=["age", "gender", "zip"], sensitive=["disease", "ward"], dropped=["admission"]
    )
    models = [shoal.PersonKAnonymity(k=3), shoal.HAffiliation(h="0.9", column="disease")]
    release = protect(spark.createDataFrame(frame.to_arrow()), schema, models, mask="anatomize", measure_input=False)
    out = tmp_path / "out"
    assert release.verdict.notes[0].startswith("Quasi-identifiers are published exactly")
    assert release.tables["disease"].columns == ["group", "disease", "persons"]
    release.write(out)
    assert sorted(path.name for path in out.iterdir()) == [
        "codebook.html", "codebook.json", "datapackage.json",
        "release-disease.parquet", "release-ward.parquet", "release.parquet", "steward"]  # fmt: skip
    assert (out / "steward" / "linked.parquet").is_dir()
    verified = run("verify", str(out), "--json")
    assert verified.exit_code == 0, verified.output
    answer = json.loads(verified.stdout)
    assert (answer["persons"], answer["records"]) == (8, 19)
    with pytest.raises(shoal.errors.OutputError, match="not empty"):
        release.write(out)
    shutil.copytree(out, tmp_path / "received", ignore=shutil.ignore_patterns("steward"))
    assert run("verify", str(tmp_path / "received")).exit_code == recount.main([str(tmp_path / "received")]) == 0
    release.write(out, overwrite=True, format="csv")
    assert (out / "release.csv").is_dir()
    assert run("verify", str(out)).exit_code == 0


def test_importing_shoal_does_not_import_pyspark() -> None:
    program = "import sys, shoal, shoal.pipeline, shoal.engines.spark; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
