"""shoal report: the report of a folder anew, from its numbers or by counting what is published again."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from shoal.demo.clinics import clinics
from shoal.demo.patients import made_up_patients
from shoal.publishing.report.words import quoted
from tests.cli.conftest import COLUMNS, MODELS, Shoal
from tests.publishing.report.pages import Page, looked_up
from tests.publishing.test_folder import modes_in

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8"))
PATIENTS = ["--person", "patient", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease,treatment",
            "--drop", "visit_date,education"]  # fmt: skip


def protect(shoal: Shoal, *more: str) -> None:
    run = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "--seed", "7", "-o", "out", *more)
    assert run.code == 0, run.err


def test_every_release_has_a_report_and_verifies_after_it_was_made_anew(shoal: Shoal) -> None:
    protect(shoal)
    first = Path("out/steward/report.html").read_bytes()
    run = shoal("report", "out")
    assert run.code == 0, run.err
    assert "out/steward/report.html" in run.out
    assert "out/summary.html" in run.out
    assert Path("out/steward/report.html").read_bytes() == first
    assert shoal("verify", "out").code == 0
    Path("out/steward/report.html").write_text("changed")
    assert shoal("verify", "out").code == 3
    answer = shoal("report", "out", "--json").json
    assert answer["report"] == "out/steward/report.html"
    assert answer["summary"] == "out/summary.html"
    assert answer["seconds"] >= 0
    assert shoal("verify", "out").code == 0


def test_it_says_how_the_run_was_started(shoal: Shoal) -> None:
    protect(shoal)
    told = Page(Path("out/steward/report.html").read_text()).text
    assert "shoal protect clinics.csv --policy DIR/steward/policy.toml -o AGAIN" in told
    assert f"from {quoted(['clinics.csv'])}" in told
    again = shoal("protect", "clinics.csv", "--policy", "out/steward/policy.toml", "-o", "again", "--json")
    assert again.json["max_gidr"] == json.loads(Path("out/steward/report.json").read_text())["max_gidr"]


def test_a_report_can_go_elsewhere(shoal: Shoal) -> None:
    protect(shoal)
    before = Path("out/steward/manifest.json").read_bytes()
    assert shoal("report", "out", "-o", "board.html").code == 0
    assert Path("board.html").read_bytes() == Path("out/steward/report.html").read_bytes()
    assert Path("out/steward/manifest.json").read_bytes() == before
    assert shoal("report", "out", "-o", "absent/board.html").code == 2


def test_no_report_where_none_is_wanted(shoal: Shoal) -> None:
    protect(shoal, "--no-report")
    assert {path.name for path in Path("out").iterdir()} == {
        "release.csv", "codebook.json", "codebook.html", "datapackage.json", "steward",
    }  # fmt: skip
    assert not Path("out/steward/report.html").exists()


def test_it_refuses_a_folder_whose_files_changed(shoal: Shoal) -> None:
    protect(shoal)
    before = Path("out/steward/report.html").read_bytes()
    release = Path("out/release.csv")
    release.write_text(release.read_text().replace("Asthma", "Reflux"))
    run = shoal("report", "out")
    assert run.code == 2
    assert "release.csv" in run.err
    assert "Reflux" not in run.err
    assert Path("out/steward/report.html").read_bytes() == before
    assert shoal("report", "absent").code == 2
    assert shoal("report", "clinics.csv").code == 2


@pytest.mark.parametrize(
    "flags",
    [
        ["--mask", "range"], ["--mask", "mean"], ["--mask", "suppress"], ["--mask", "anatomize"],
        ["--mask", "permute"], ["--mask", "perturb", "--method", "mdav"],
    ],
    ids=lambda flags: flags[1],
)  # fmt: skip
def test_without_numbers_the_published_files_are_counted_again(shoal: Shoal, flags: list[str]) -> None:
    frame = made_up_patients(150, seed=3).drop_nulls()
    frame = frame.unique("patient", keep="first", maintain_order=True) if "permute" in flags else frame
    frame.write_csv("patients.csv")
    asked = ["--person-k", "4", "--h-affiliation", "0.9", "--seed", "1", *flags]
    made = shoal("protect", "patients.csv", *PATIENTS, *asked, "-o", "out", "--no-report", "--json").json
    run = shoal("report", "out")
    assert run.code == 0, run.err
    numbers = json.loads(Path("out/steward/report.json").read_text())
    for key in ("persons", "groups", "max_gidr", "max_gsar", "person_k", "verdict"):
        assert numbers[key] == made[key], key
    assert (numbers["before"], numbers["ane"], numbers["report"]["cost"]) == (None, None, None)
    assert sum(size["groups"] for size in numbers["report"]["risk"]["group_sizes"]["after"]) == made["groups"]
    faults = [f"{list(fault.path)}: {fault.message}" for fault in Draft202012Validator(SCHEMA).iter_errors(numbers)]
    assert not faults
    page = Page(Path("out/steward/report.html").read_text())
    assert "what it cost is not known" in page.text
    for key, value in page.numbers().items():
        if not key.startswith("before.") and not isinstance(looked_up(numbers, key), bool):
            kept = looked_up(numbers, key)
            assert value == ("" if kept is None else repr(kept)), key
    assert Page(Path("out/summary.html").read_text()).text
    assert shoal("verify", "out").code == 0
    assert shoal("report", "out").code == 0  # now from its numbers


def test_many_records(shoal: Shoal) -> None:
    made_up_patients(6_000, seed=3).write_parquet("patients.parquet")
    asked = ["--record-risk", "0.1", "--h-affiliation", "0.8", "--seed", "1"]
    made = shoal("protect", "patients.parquet", *PATIENTS, *asked, "-o", "out", "--json").json
    numbers = json.loads(Path("out/steward/report.json").read_text())
    spread = numbers["report"]["risk"]["record_risk"]
    assert sum(spread["after"]) == sum(spread["before"]) == made["persons"] == 6_000
    assert sum(spread["after"][4:]) == 0  # nobody above 10 %
    assert sum(spread["before"][4:]) > 5_000
    for column in numbers["report"]["cost"]["columns"].values():
        assert sum(each["before"] for each in column["classes"]) == made["records"]
        assert sum(each["after"] for each in column["classes"]) == pytest.approx(made["records"])
    assert Path("out/steward/report.html").stat().st_size < 400_000
    assert shoal("verify", "out").code == 0


def test_missing_and_odd_columns_do_not_break_it(shoal: Shoal) -> None:
    frame = made_up_patients(200, seed=3).with_columns(
        pl.lit(None, pl.String).alias("empty"), pl.lit(1).alias("constant"),
        pl.when(pl.col("age") > 60).then(None).otherwise("age").alias("age"),
    )  # fmt: skip
    frame.write_parquet("odd.parquet")
    run = shoal(
        "protect", "odd.parquet", "--person", "patient", "--quasi", "age,empty:nominal,constant", "--sensitive",
        "disease", "--drop", "visit_date,education,gender,zip,treatment", "--person-k", "5", "-o", "out",
    )  # fmt: skip
    assert run.code == 0, run.err
    text = Page(Path("out/steward/report.html").read_text()).text
    assert "Not drawn" in text
    assert quoted(["empty", "constant"]) in text
    assert shoal("verify", "out").code == 0


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_what_stays_is_private_also_after_it_is_written_anew(shoal: Shoal, engine: str) -> None:
    flags = ["--k", "2", "--engine", engine, "--keep-person-map", "-o", "out"]
    assert shoal("protect", "clinics.csv", *COLUMNS, *flags).code == 0
    assert modes_in(Path("out/steward")) == {0o700, 0o600}
    Path("out/steward/manifest.json").chmod(0o644)  # as an older version left it
    assert shoal("report", "out").code == 0
    assert modes_in(Path("out/steward")) == {0o700, 0o600}
    if engine == "memory":
        clinics().head(3).write_csv("later.csv")
        told = shoal("apply", "out", "later.csv", "-o", "out", "--overwrite")
        assert told.code == 0, told.err
        assert modes_in(Path("out/steward")) == {0o700, 0o600}


def test_protect_says_what_can_still_be_done_with_it(shoal: Shoal) -> None:
    made_up_patients(60, seed=1).write_csv("visits.csv")
    asked = ("protect", "visits.csv", "--person", "patient", "--quasi", "age,gender", "--sensitive", "disease",
             "--drop", "visit_date,education,zip,treatment", "--person-k", "3", "--seed", "1",
             "--attack", "0")  # fmt: skip
    answer = shoal(*asked, "-o", "out", "--useful-for", "gender", "--json").json
    assert answer["usefulness"]["target"] == "gender"
    Draft202012Validator(SCHEMA).validate(json.loads(Path("out/steward/report.json").read_text(encoding="utf-8")))
    assert "What you can still do with it" in Path("out/steward/report.html").read_text(encoding="utf-8")
    assert 'target = "gender"' in Path("out/steward/policy.toml").read_text(encoding="utf-8")
    shown = shoal(*asked, "-o", "again", "--policy", "out/steward/policy.toml", "--useful-for", "age")
    assert "age\N{RIGHT SINGLE QUOTATION MARK} of persons kept apart" in " ".join(shown.out.split())
    wrong = shoal(*asked, "-o", "wrong", "--useful-for", "zip")
    assert wrong.code == 2
    assert "Usefulness is asked for 'zip'" in wrong.err
    streamed = shoal("protect", "visits.csv", "--policy", "out/steward/policy.toml", "-o", "more", "--engine", "stream")
    assert streamed.code == 2
    assert "with usefulness= needs the whole table" in streamed.err
