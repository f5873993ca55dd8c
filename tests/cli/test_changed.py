"""Noise and what else changes persons one by one, from a CSV file to a release: the gate, the report, the recount."""

from __future__ import annotations

from pathlib import Path

from shoal.demo.patients import made_up_patients
from shoal.policy import Policy
from tests.cli.conftest import Shoal

FLAGS = ("--person", "patient", "--quasi", "age,education,zip:number", "--sensitive", "disease", "--drop",
         "gender,treatment,visit_date")  # fmt: skip


def test_it_is_gated_written_reported_and_not_met_by_what_anybody_can_recount(shoal: Shoal) -> None:
    made_up_patients(200, seed=2).write_csv("patients.csv")
    flags = ("protect", "patients.csv", *FLAGS, "--mask", "noise", "--amount", "0.6", "-o", "out", "--json")
    asked = shoal(*flags)
    assert asked.code == 2
    assert "--max-linkage 0.05" in asked.error["message"]
    done = shoal(*flags, "--max-linkage", "0.5")
    assert done.code == 0, done.err
    assert done.json["verdict"]["holds"]
    assert done.json["linkage"]["rate"] < 0.5
    assert "No model is promised" in Path("out/steward/report.html").read_text()
    assert "max_linkage = 0.5" in Path("out/summary.html").read_text()
    recount = shoal("verify", "out", "--json")
    assert recount.code == 3
    (gate,) = recount.json["verdict"]["models"]
    assert (gate["name"], gate["checked_from"]) == ("max-linkage", "not shown by the published table")


def test_a_policy_has_each_column_in_its_own_way(shoal: Shoal) -> None:
    made_up_patients(200, seed=2).write_csv("patients.csv")
    by = "noise:columns=age,zip:amount=0.4; noise:columns=education:kind=multiplicative:amount=0.3"
    flags = ("--mask", "columns", "--by", by, "--max-linkage", "0.5", "--seed", "1")
    assert shoal("protect", "patients.csv", *FLAGS, *flags, "-o", "out", "--json").code == 0
    again = shoal("protect", "patients.csv", "--policy", "out/steward/policy.toml", "-o", "again", "--json")
    assert again.code == 0, again.err
    assert Policy.load(Path("again/steward/policy.toml")).mask_options["by"] == by
    for engine in ("stream", "spark"):
        refused = shoal("protect", "patients.csv", *FLAGS, *flags, "--engine", engine, "-o", "more", "--json")
        assert refused.code == 2
