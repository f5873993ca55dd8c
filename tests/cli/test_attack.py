"""shoal attack, and the query error of a release, as a user would ask for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import shoal as library
from shoal.attacking.elimination import EliminationResult, attack_elimination
from shoal.models.joint import JointCounts
from tests.cli.conftest import COLUMNS, MODELS, Shoal

PATIENTS = pl.DataFrame(
    {
        "age": [42, 41, 49, 43] * 3,
        "disease": ["Heart disease", "Heart disease", "Flu", "Stomach disease"] * 3,
        "treatment": ["Medicine", "Surgery", "IV", "IV"] * 3,
    }
)
FLAGS = ["--quasi", "age", "--sensitive", "disease,treatment"]


@pytest.fixture
def diverse_alone(shoal: Shoal) -> str:
    """The paper's figure 1: three values of each attribute in the group, and yet one exclusion tells the treatment."""
    PATIENTS.write_csv("patients.csv")
    made = shoal("protect", "patients.csv", *FLAGS, "--k", "12", "--l", "3", "--l-kind", "distinct", "-o", "alone")
    assert made.code == 0, made.err
    return "alone"


def test_excluding_one_disease_tells_the_treatment(shoal: Shoal, diverse_alone: str) -> None:
    found = shoal("attack", diverse_alone, "--exclude", "1", "--json").json["elimination"]
    assert [one["e"] for one in found] == [0, 1]
    assert [one["exposed_persons"] for one in found] == [0, 12]
    assert found[1]["is_exact"]
    assert found[1]["blind"] == 0.5


def test_the_gate_exits_with_3(shoal: Shoal, diverse_alone: str) -> None:
    assert shoal("attack", diverse_alone, "--exclude", "1", "--fail-above", "0.1").code == 3
    assert shoal("attack", diverse_alone, "--exclude", "0", "--fail-above", "0.1").code == 0


def test_the_gate_does_not_trust_a_search_that_was_given_up(
    shoal: Shoal, diverse_alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("attack", diverse_alone, "--exclude", "0", "--fail-above", "0.1")

    def given_up(joint: JointCounts, e: int) -> EliminationResult:
        return replace(attack_elimination(joint, e), is_exact=False)

    monkeypatch.setattr("shoal.attacking.elimination.attack_elimination", given_up)
    answer = shoal(*asked)
    assert answer.code == 3
    assert "not searched to its end" in answer.err


def test_an_attack_on_values_shown_apart_takes_what_the_steward_keeps(shoal: Shoal) -> None:
    PATIENTS.write_csv("patients.csv")
    asked = ("--k", "4", "--joint-l", "2", "--mask", "anatomize", "-o", "apart")
    assert shoal("protect", "patients.csv", *FLAGS, *asked).code == 0
    found = shoal("attack", "apart", "--exclude", "0", "--json").json["elimination"]
    assert found[0]["exposed_persons"] == 0
    table = pl.read_csv("apart/release.csv")
    schema = library.Schema(quasi=["age"], sensitive=["disease", "treatment"])
    with pytest.raises(library.errors.SchemaError, match="steward"):
        library.attacking.attack_by_exclusion(table, schema)


def test_queries_are_answered_and_reported(shoal: Shoal) -> None:
    answer = shoal(
        "protect", "clinics.csv", *COLUMNS, *MODELS, "--queries", "200", "--seed", "3", "-o", "out", "--json"
    ).json
    error = answer["query_error"]
    assert error["n_queries"] + error["n_empty"] == 200
    assert 0 <= error["all"] < 5
    without = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out2", "--json").json
    assert "query_error" not in without


def test_other_kinds_of_queries_and_association_rules_are_reported(shoal: Shoal) -> None:
    asked = ("--queries", "50", "--query-kinds", "average, max", "--associations", "1", "--seed", "3")
    answer = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, *asked, "-o", "out", "--json").json
    assert "query_error" not in answer
    assert list(answer["aggregate_error"]) == ["average", "max"]
    assert answer["aggregate_error"]["average"]["n_queries"] + answer["aggregate_error"]["average"]["n_empty"] == 50
    assert answer["association_error"]["n_rules"] > 0
    kept = json.loads(Path("out/steward/report.json").read_text(encoding="utf-8"))
    assert kept["association_error"] == answer["association_error"]
    assert kept["aggregate_error"] == answer["aggregate_error"]
    told = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, *asked, "-o", "again").out
    assert "AVERAGE queries are off by" in told
    assert f"Of {answer['association_error']['n_rules']} association rules" in told
    refused = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "--queries", "5", "--query-kinds", "mode", "-o", "no")
    assert refused.code == 2
    assert "no kind of query 'mode'" in refused.err
    assert not Path("no").exists()


def test_a_release_without_sensitive_attributes_is_refused(shoal: Shoal) -> None:
    refused = shoal("attack", "clinics.csv", "--quasi", "age", "--drop", "name,gender,zip,disease,admission")
    assert refused.code == 2
    assert "no sensitive attribute" in refused.err
