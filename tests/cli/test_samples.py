"""Samples and populations through the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shoal
from tests.models.test_population_models import drawn, town

COLUMNS = ["--quasi", "age:number,sex:nominal"]


def test_a_population_is_read_and_nothing_of_it_is_written(shoal: Shoal) -> None:
    drawn().write_csv("survey.csv")
    town().rename({"age": "YEARS"}).write_csv("town.csv")
    asked = ["--population", "town.csv", "--population-columns", "age=YEARS"]
    told = shoal("assess", "survey.csv", *COLUMNS, *asked, "--json").json
    assert 0 < told["population"]["journalist"]["mean"] < told["marketer_risk"]
    made = shoal("protect", "survey.csv", *COLUMNS, *asked, "--k-map", 12, "-o", "out", "--json")
    assert made.json["verdict"]["models"][0]["reached"] >= 12
    assert not any(path.name.startswith("town") for path in Path("out").rglob("*"))
    assert shoal("verify", "out", "--json").json["verdict"]["holds"]


def test_weights_by_flag_and_what_is_wrong_with_them(shoal: Shoal) -> None:
    drawn().with_columns(w=10.0, home=1).write_csv("survey.csv")
    asked = [*COLUMNS, "--weight", "w", "--household", "home", "--strata", "sex"]
    made = shoal("protect", "survey.csv", *asked, "--expected-reidentifications", 1, "-o", "out", "--json").json
    assert made["population"]["expected_reidentifications"] <= 1 < made["before"]["population"]["population"]
    assert shoal("verify", "out", "--json").json["verdict"]["models"][0]["checked_from"] == "steward"
    drawn().with_columns(w=0.0, home=1).write_csv("survey.csv")
    assert "is 0 in 40 of 40 records" in shoal("assess", "survey.csv", *asked, "--json").error["message"]
    assert shoal("assess", "survey.csv", *COLUMNS, "--population-query", "SELECT 1").code == 2


def test_tune_plays_the_game(shoal: Shoal) -> None:
    drawn().write_csv("survey.csv")
    asked = ["tune", "survey.csv", *COLUMNS, "--record-risk", 1, "--points", 4, "--json"]
    found = shoal(*asked, "--game", "gain=20,cost=3,benefit=10,loss=40").json
    assert found["minimise"] == "payout"
    assert 0 < found["chosen"]["payout"] <= 400
    assert shoal(*asked, "--overwrite").code == 2
