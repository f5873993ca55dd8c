"""The first two commands that a new user runs."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

from shoal.demo.patients import made_up_patients
from shoal.policy import Policy
from tests.cli.conftest import Shoal


def test_the_demo_tells_the_story_in_json(shoal: Shoal) -> None:
    started = time.monotonic()
    answer = shoal("demo", "--json").json
    assert time.monotonic() - started < 60
    assert answer["ten_records"]["risk_by_records"] == 0.2
    assert answer["ten_records"]["max_gidr"] == 1.0
    assert (answer["clinics"]["groups"], answer["clinics"]["max_gidr"]) == (3, 0.5)
    assert (answer["persons"], answer["before"]["persons"]) == (20_000, 20_000)
    assert 70_000 < answer["records"] < 100_000
    assert answer["before"]["max_gidr"] == 1.0
    assert answer["max_gidr"] <= 0.1
    assert answer["verdict"]["holds"]
    assert shoal("verify", "demo-out").code == 0


def test_the_demo_shows_both_tables_and_may_be_run_again(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("shoal.demo.patients.made_up_patients", lambda: made_up_patients(400))
    monkeypatch.setattr("shoal.cli.demo.PATIENTS_POLICY", _easy_policy())
    told = shoal("demo", "-o", "shown")
    assert told.code == 0, told.err
    for words in ["risk of 0.2", "the risk is 1.0", "Before", "After", "Charlie", "84-86", "69-76", "Nobody may own",
                  "May be handed out", "release.csv", "policy.toml"]:  # fmt: skip
        assert words in told.out
    assert told.out.strip().endswith("The report, for a review board: shown/steward/report.html")
    assert shoal("demo", "-o", "shown", "--json").code == 0
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    assert shoal("demo", "-o", "mine").code == 2
    assert Path("mine/thesis.txt").exists()


def _easy_policy() -> dict[str, object]:
    from shoal.cli.demo import PATIENTS_POLICY

    return {**PATIENTS_POLICY, "models": {"record-risk": "1/2"}}


@pytest.mark.parametrize("name", ["clinics", "franklin", "lexington", "patients"])
def test_a_starter_policy_runs_as_it_is(shoal: Shoal, name: str) -> None:
    made_up_patients(150).write_csv("patients.csv")
    run = shoal("profile", f"{name}.csv")
    assert run.code == 0, run.err
    assert f"{name}.policy.toml" in run.out
    policy = Policy.load(f"{name}.policy.toml")
    assert policy.models
    protected = shoal("protect", f"{name}.csv", "--policy", f"{name}.policy.toml", "-o", "out", "--json")
    assert protected.json["verdict"]["holds"]
    assert shoal("verify", "out").code == 0


def test_profile_tells_roles_and_reasons_and_no_values(shoal: Shoal) -> None:
    run = shoal("profile", "clinics.csv", "--json")
    columns = {column["name"]: column for column in run.json["columns"]}
    assert {name: column["role"] for name, column in columns.items()} == {
        "admission": "dropped", "name": "person", "age": "quasi", "gender": "quasi", "zip": "quasi",
        "disease": "sensitive",
    }  # fmt: skip
    assert all(column["reason"] for column in columns.values())
    assert (columns["age"]["kind"], columns["age"]["distinct"], columns["age"]["missing"]) == ("number", 10, 0)
    assert run.json["policy"] == "clinics.policy.toml"
    assert "Charlie" not in run.out + Path("clinics.policy.toml").read_text()


def test_profile_leaves_a_policy_alone_unless_asked(shoal: Shoal) -> None:
    Path("clinics.policy.toml").write_text("mine")
    run = shoal("profile", "clinics.csv", "--json")
    assert (run.code, run.json["policy"]) == (0, None)
    assert "was left as it is" in run.err
    assert shoal("profile", "clinics.csv", "-o", "clinics.policy.toml").code == 2
    assert Path("clinics.policy.toml").read_text() == "mine"
    assert shoal("profile", "clinics.csv", "--overwrite").code == 0
    assert Policy.load("clinics.policy.toml").columns.person == "name"


def test_profile_keeps_how_the_file_is_written(shoal: Shoal) -> None:
    frame = pl.read_csv("clinics.csv", infer_schema=False).with_columns(pl.lit("é").alias("ward"))
    Path("dressed.csv").write_bytes(frame.write_csv(separator=";").encode("latin-1"))
    assert shoal("profile", "dressed.csv", "-o", "found.toml").code == 0
    found = Policy.load("found.toml").source
    assert (found.encoding, found.delimiter, found.decimal) == ("cp1252", ";", ".")
    run = shoal("profile", "dressed.csv", "--encoding", "latin-1", "--missing-text", "NA", "-o", "p.toml")
    assert run.code == 0, run.err
    policy = Policy.load("p.toml")
    assert (policy.source.encoding, policy.source.missing) == ("latin-1", ("", "NA"))
    assert shoal("protect", "dressed.csv", "--policy", "p.toml", "-o", "out").code == 0


def test_profile_refuses_what_it_cannot_read(shoal: Shoal) -> None:
    Path("empty.csv").write_text("")
    assert shoal("profile", "empty.csv").code == 2
    assert not Path("empty.policy.toml").exists()
    refused = shoal("profile", "clinics.csv", "-o", "absent/p.toml")
    assert refused.code == 2
    assert "cannot be written" in refused.err
