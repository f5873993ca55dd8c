"""shoal attack --original, as a user would ask for it: results, gate, JSON and report."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import COLUMNS, Shoal

RISK = ["--record-risk", "0.5"]


@pytest.fixture
def out(shoal: Shoal) -> str:
    made = shoal("protect", "clinics.csv", *COLUMNS, *RISK, "--seed", "1", "-o", "out", "--keep-person-map")
    assert made.code == 0, made.err
    return "out"


def test_with_the_original_all_attacks_are_tried_or_say_why(shoal: Shoal, out: str) -> None:
    answer = shoal("attack", out, "--original", "clinics.csv", "--json").json
    assert answer["elimination"]
    names = {result["attack"] for result in answer["attacks"]}
    assert names == {"linkage", "skewness", "trajectory", "inference"}
    assert {each["attack"] for each in answer["not_tried"]} == {
        "distance", "similarity", "kept-columns", "anchored-dates", "two-releases", "minimality",
    }  # fmt: skip
    first = answer["attacks"][0]
    assert first["name"] == "linkage, one record, record"
    assert set(first) == {"attack", "name", "knows", "aim", "success", "low", "high", "blind", "targets",
                          "is_exact", "details"}  # fmt: skip
    assert first["details"]["highest"] <= 0.5
    shown = shoal("attack", out, "--original", "clinics.csv")
    assert "95 % interval" in shown.out
    assert "Not tried: distance" in shown.out


def test_the_gate_exits_with_3_where_an_attack_succeeds_more_often(shoal: Shoal, out: str) -> None:
    asked = ("attack", out, "--original", "clinics.csv", "--attacks", "linkage")
    failed = shoal(*asked, "--fail-above", "0.1")
    assert failed.code == 3
    assert "above 0.1" in failed.err
    assert "linkage, one record, record" in failed.err
    assert "linkage, one record, record" in shoal(*asked, "--fail-above", "0.1", "--json").json["above"]
    passed = shoal(*asked, "--fail-above", "1", "--json")
    assert (passed.code, passed.json["above"], passed.err) == (0, [], "")
    skewed = ("attack", out, "--attacks", "skewness")
    success = shoal(*skewed, "--json").json["attacks"][0]
    between = str(round(success["success"] - success["blind"] / 2, 3))
    assert shoal(*skewed, "--fail-above", between).code == 3
    assert shoal(*skewed, "--fail-above", between, "--gate", "gain").code == 0


def test_the_gate_does_not_let_pass_what_was_not_tried(shoal: Shoal, out: str) -> None:
    asked = ("attack", out, "--original", "clinics.csv", "--fail-above", "1")
    assert shoal(*asked).code == 0
    for name in ("two-releases", "background", "linkage,similarity"):
        answer = shoal(*asked, "--attacks", name)
        assert answer.code == 3
        assert f"asked for, and not tried: {name.rpartition(',')[2]}." in answer.err


def test_a_table_made_anonymous_by_rows_is_attacked_too(shoal: Shoal) -> None:
    original = pl.DataFrame({"patient": [1] * 5 + [2, 3, 4, 5, 6], "age": [93] * 5 + [40, 41] * 2 + [40],
                             "disease": ["gout"] * 5 + ["flu", "cold"] * 2 + ["flu"]})  # fmt: skip
    original.write_csv("visits.csv")
    shown = original.select(age=pl.when(pl.col("age") == 93).then(pl.lit("93")).otherwise(pl.lit("40-41")),
                            disease="disease")  # fmt: skip
    shown.write_csv("received.csv")
    columns = ("--person", "patient", "--quasi", "age", "--sensitive", "disease")
    answer = shoal("attack", "received.csv", "--original", "visits.csv", *columns, "--attacks", "linkage", "--json")
    found = {result["name"]: result for result in answer.json["attacks"]}
    assert found["linkage, one record, record"]["details"]["highest"] == 1.0
    assert not found["linkage, one record, record"]["is_exact"]
    by_order = shoal("attack", "received.csv", "--original", "visits.csv", *columns, "--attacks", "linkage",
                     "--whose", "order", "--json").json["attacks"][0]  # fmt: skip
    assert by_order["is_exact"]
    assert by_order["success"] == pytest.approx((1 + 5 * 0.2) / 6)


def test_results_go_into_the_report_which_stays_whole(shoal: Shoal, out: str) -> None:
    assert shoal("attack", out, "--original", "clinics.csv", "--report").code == 0
    numbers = json.loads(Path("out/steward/report.json").read_text())
    assert numbers["report"]["suite"]["attacks"][0]["attack"] == "linkage"
    page = Path("out/steward/report.html").read_text()
    assert "Attacks that know the original" in page
    assert "Linkage, one record, record" in page
    assert shoal("verify", out).code == 0
    assert shoal("report", out).code == 0
    assert "Attacks that know the original" in Path("out/steward/report.html").read_text()
    refused = shoal("attack", out, "--report")
    assert refused.code == 2
    assert "original" in refused.err


def test_protect_attacks_what_it_makes_where_asked(shoal: Shoal) -> None:
    made = shoal("protect", "clinics.csv", *COLUMNS, *RISK, "-o", "attacked", "--attack", "--json")
    assert made.code == 0, made.err
    assert made.json["attacks"][0]["is_exact"]
    assert "Attacks that know the original" in Path("attacked/steward/report.html").read_text()
    usual = shoal("protect", "clinics.csv", *COLUMNS, *RISK, "-o", "usual", "--json").json
    assert {"linkage", "trajectory"} <= {each["attack"] for each in usual["attacks"]}
    assert "inference" in {each["attack"] for each in usual["not_tried"]}
    plain = shoal("protect", "clinics.csv", *COLUMNS, *RISK, "-o", "plain", "--attack", "0", "--json")
    assert "attacks" not in plain.json
    assert "suite" not in json.loads(Path("plain/steward/report.json").read_text())["report"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--attacks", "linkag"], "Did you mean 'linkage'"),
        (["--known-values", "0"], "--known-values"),
        (["--similar", "disease"], "--similar"),
        (["--original", "absent.csv"], "absent.csv"),
    ],
)
def test_what_cannot_be_is_refused(shoal: Shoal, out: str, flags: list[str], said: str) -> None:
    given = flags if "--original" in flags else ["--original", "clinics.csv", *flags]
    answer = shoal("attack", out, *given)
    assert answer.code == 2
    assert said in answer.err


def test_similar_values_by_a_hierarchy(shoal: Shoal, out: str) -> None:
    diseases = pl.read_csv("clinics.csv")["disease"].unique().to_list()
    lungs = {"Asthma", "Pneumonia", "Bronchitis", "Flu"}
    Path("disease.csv").write_text("".join(f"{one};{'lungs' if one in lungs else 'stomach'};*\n" for one in diseases))
    answer = shoal("attack", out, "--attacks", "similarity", "--similar", "disease=disease.csv", "--json").json
    assert answer["attacks"][0]["attack"] == "similarity"
    assert answer["attacks"][0]["success"] >= answer["attacks"][0]["blind"] - 0.3
    assert answer["elimination"] == []


def test_a_release_without_person_ids_is_verified_attacked_and_not_added_to(shoal: Shoal) -> None:
    made = shoal("protect", "clinics.csv", *COLUMNS, *RISK, "--person-ids", "none", "-o", "unlinked")
    assert made.code == 0, made.err
    assert "name" not in Path("unlinked/release.csv").read_text().splitlines()[0]
    verified = shoal("verify", "unlinked", "--json")
    assert verified.code == 0
    assert verified.json["verdict"]["models"][0]["checked_from"] == "steward"
    assert shoal("report", "unlinked").code == 0
    found = shoal("attack", "unlinked", "--original", "clinics.csv", "--json").json["attacks"]
    names = {result["name"] for result in found}
    assert "linkage, one record, record" in names
    assert not any("number" in name or "person" in name.split(", ")[-1] for name in names if name.startswith("linkage"))
    refused = shoal("apply", "unlinked", "clinics.csv", "--all-new", "-o", "later")
    assert refused.code == 2
    assert "belong to one person" in refused.err
    Path("unlinked/steward/linked.parquet").unlink()
    assert shoal("verify", "unlinked").code == 3
