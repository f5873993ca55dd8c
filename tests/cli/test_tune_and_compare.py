"""tune and compare on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.demo.patients import made_up_patients
from shoal.policy import Policy
from tests.cli.conftest import COLUMNS, Shoal

TUNE = ("tune", "clinics.csv", *COLUMNS, "--target", "max_gidr=0.5", "--points", "4")


def test_tune_writes_a_policy_that_protect_takes(shoal: Shoal) -> None:
    answer = shoal(*TUNE, "-o", "tuned", "--json").json
    assert answer["targets"] == {"max_gidr": 0.5}
    assert answer["chosen"]["meets"]
    assert answer["frontier"] == [
        {key: value for key, value in point.items() if key != "on_frontier"}
        for point in sorted(answer["points"], key=lambda point: point["max_gidr"])
        if point["on_frontier"]
    ]
    assert answer["release"]["verdict"]["holds"]
    assert {path.name for path in Path("tuned").iterdir()} == {"policy.toml", "frontier.svg", "frontier.json"}
    assert [model.name for model in Policy.load("tuned/policy.toml").models] == ["record-risk"]
    assert len(json.loads(Path("tuned/frontier.json").read_text())["points"]) == len(answer["points"])
    released = shoal("protect", "clinics.csv", "--policy", "tuned/policy.toml", "-o", "out", "--json").json
    assert released["max_gidr"] <= 0.5


def test_tune_shows_the_frontier(shoal: Shoal) -> None:
    shown = shoal(*TUNE, "-o", "tuned")
    assert shown.code == 0
    assert "chosen" in shown.out
    assert "policy.toml" in shown.out


def test_an_earlier_result_is_not_overwritten_unasked(shoal: Shoal) -> None:
    assert shoal(*TUNE, "-o", "tuned").code == 0
    before = Path("tuned/policy.toml").stat().st_mtime_ns
    again = shoal(*TUNE, "-o", "tuned")
    assert again.code == 2
    assert "--overwrite" in again.err
    assert Path("tuned/policy.toml").stat().st_mtime_ns == before
    assert shoal(*TUNE, "-o", "tuned", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("target", "code"), [("max_gidr", 2), ("max_gdir=0.1", 2), ("max_gidr=2", 2), ("max_gidr=0.01", 3)]
)
def test_targets_that_cannot_be_met_or_read_write_nothing(shoal: Shoal, target: str, code: int) -> None:
    asked = shoal("tune", "clinics.csv", *COLUMNS, "--target", target, "-o", "tuned")
    assert asked.code == code
    assert not Path("tuned").exists()


def test_compare_gives_a_row_for_each_method_model_and_bound(shoal: Shoal) -> None:
    asked = ("compare", "clinics.csv", *COLUMNS, "--at", "max_gidr=0.6,0.5", "--models", "person-k,record-risk",
             "--methods", "balance-tree,mondrian")  # fmt: skip
    rows = shoal(*asked, "--json").json["rows"]
    assert len(rows) == 8
    assert all(row["max_gidr"] <= next(iter(row["target"].values())) for row in rows if row["met"])
    shown = shoal(*asked)
    assert shown.code == 0
    assert "max_gidr 0.6" in shown.out


def test_compare_needs_no_more_than_a_policy_and_methods(shoal: Shoal) -> None:
    asked = ("compare", "clinics.csv", "--policy", "policy.toml", "--methods", "balance-tree:cut=median,mondrian")
    answer = shoal(*asked, "--json").json
    assert [row["method"] for row in answer["rows"]] == ["balance-tree:cut=median", "mondrian"]
    assert answer["rows"][0]["groups"] == 3  # the paper's groups
    assert all(row["g_balance"] >= 0.5 and row["h_affiliation"] <= 0.5 for row in answer["rows"])
    shown = shoal(*asked)
    assert shown.code == 0
    assert "mondrian" in shown.out
    assert "max_gidr" in shown.out


def test_compare_by_flags_alone(shoal: Shoal) -> None:
    nothing = shoal("compare", "clinics.csv", *COLUMNS)
    assert nothing.code == 2
    assert "--record-risk 0.1" in nothing.err
    assert shoal("compare", "clinics.csv", *COLUMNS, "--record-risk", "0.01").code == 3
    rows = shoal("compare", "clinics.csv", *COLUMNS, "--record-risk", "0.5", "--json").json["rows"]
    assert all(row["max_gidr"] <= 0.5 for row in rows)


@pytest.mark.parametrize("bound", [(), ("--at", "max_gidr=0.5", "--models", "person-k")])
def test_compare_says_what_is_still_predicted(shoal: Shoal, bound: tuple[str, ...]) -> None:
    made_up_patients(60, seed=1).write_csv("visits.csv")
    asked = ("compare", "visits.csv", "--person", "patient", "--quasi", "age,education", "--sensitive", "disease",
             "--drop", "visit_date,gender,zip,treatment", "--person-k", "3", "--methods", "balance-tree",
             "--useful-for", "age", *bound)  # fmt: skip
    (row,) = shoal(*asked, "--json").json["rows"]
    assert row["usefulness"]["target"] == "age"
    assert set(row["usefulness"]["release"]) == {"r2", "mean_absolute_error"}
    assert "r2 of" in shoal(*asked).out  # a narrow column puts the name on the next line
