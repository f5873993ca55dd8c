"""Matching diversity and the attack with background knowledge, as a user would ask for them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal as library
from tests.cli.conftest import Shoal

FLAGS = ["--quasi", "age,sex:nominal", "--sensitive", "disease"]
FACT = '{ when = { sex = "m" }, never = { disease = "ovary" } }'
POLICY = f"""
[columns]
quasi = ["age", "sex:nominal"]
sensitive = ["disease"]

[models]
matching-diversity = 3

[mask]
name = "anatomize"

[knowledge]
min-expectation = 0.95
facts = [{FACT}]
"""


def write_patients(file: str, *, seed: int = 5, n: int = 150) -> None:
    chance = np.random.default_rng(seed)
    sex = chance.choice(["m", "f"], n)
    own = np.where(sex == "m", "prostate", "ovary")
    code = chance.integers(0, 5, n)
    disease = np.where(code < 4, np.array(["flu", "cold", "asthma", "gout", "gout"])[code], own)
    pl.DataFrame({"age": chance.integers(20, 60, n), "sex": sex, "disease": disease}).write_csv(file)


@pytest.fixture
def release(shoal: Shoal) -> str:
    write_patients("patients.csv")
    made = shoal("protect", "patients.csv", *FLAGS, "--matching-l", "3", "--mask", "anatomize", "-o", "out")
    assert made.code == 0, made.err
    return "out"


def test_protect_says_what_an_adversary_is_taken_to_know(shoal: Shoal) -> None:
    write_patients("patients.csv")
    asked = ("--matching-l", "3", "--min-expectation", "0.95", "--max-len", "1")
    answer = shoal("protect", "patients.csv", *FLAGS, *asked, "-o", "out", "--json").json
    (model,) = answer["verdict"]["models"]
    assert (model["name"], model["asked"], model["checked_from"]) == ("matching-diversity", 3.0, "steward")
    assert answer["rules"]["mined"] >= 2
    assert answer["rules"]["stated"] == 0
    mined = shoal("mine", "patients.csv", *FLAGS, "--min-expectation", "0.95", "--json").json
    kept = json.loads(Path("out/steward/rules.json").read_text(encoding="utf-8"))
    assert kept["rules"] == mined["rules"]
    assert "matching-diversity = { l = 3, min_expectation = 0.95" in Path("out/steward/policy.toml").read_text()


def test_verify_recounts_from_the_published_tables(shoal: Shoal, release: str) -> None:
    answer = shoal("verify", release, "--json")
    assert answer.code == 0
    (model,) = answer.json["verdict"]["models"]
    assert (model["holds"], model["checked_from"]) == (True, "published table")


def test_verify_without_rules_fails_closed(shoal: Shoal, release: str) -> None:
    shutil.copytree(release, "handed-out", ignore=shutil.ignore_patterns("steward"))
    asked = ("handed-out/release.csv", *FLAGS, "--matching-l", "3")
    answer = shoal("verify", *asked, "--json")
    assert answer.code == 3
    assert "no rules are known" in " ".join(answer.json["problems"])
    with_rules = shoal("verify", *asked, "--rules", "out/steward/rules.json", "--json")
    assert with_rules.code == 0
    assert with_rules.json["verdict"]["models"][0]["checked_from"] == "published table"
    Path("out/steward/rules.json").write_text('{"rules": []}', encoding="utf-8")
    changed = shoal("verify", release, "--json")
    assert changed.code == 3
    assert "rules.json" in " ".join(changed.json["problems"])


def test_rules_that_cannot_be_read_are_refused(shoal: Shoal, release: str) -> None:
    assert "no file of rules" in shoal("verify", release, "--rules", "absent.json").err
    Path("odd.json").write_text("[1, 2]", encoding="utf-8")
    refused = shoal("attack", release, "--rules", "odd.json")
    assert refused.code == 2
    assert "cannot be read" in refused.err


def test_nobody_in_an_injected_release_is_vulnerable(shoal: Shoal, release: str) -> None:
    answer = shoal("attack", release, "--fail-above", "0.0", "--exclude", "0", "--json")
    assert answer.code == 0
    (found,) = answer.json["background"]
    assert (found["column"], found["l"], found["persons"]) == ("disease", 3, 150)
    assert found["vulnerable_by_matching"] == found["vulnerable_by_elimination"] == 0
    assert answer.json["rules"] == len(json.loads(Path("out/steward/rules.json").read_bytes())["rules"])
    shown = shoal("attack", release)
    assert "Background knowledge" in shown.out


def test_a_release_that_is_only_diverse_is_vulnerable(shoal: Shoal) -> None:
    """l-diversity says nothing of what somebody may know: with rules mined from last year's table some are exposed."""
    write_patients("patients.csv")
    write_patients("last-year.csv", seed=6)
    asked = ("--l", "2", "--l-kind", "distinct", "--effort", "low", "--mask", "permute", "-o", "diverse")
    assert shoal("protect", "patients.csv", *FLAGS, *asked).code == 0
    without = shoal("attack", "diverse", "--json").json
    assert "background" not in without
    answer = shoal("attack", "diverse", "--mine-from", "last-year.csv", "--fail-above", "0", "--json")
    assert answer.code == 3
    (found,) = answer.json["background"]
    assert found["l"] == 2
    assert found["vulnerable_without_rules"] == 0
    assert 0 < found["vulnerable_by_elimination"] <= found["vulnerable_by_matching"]
    stricter = shoal("attack", "diverse", "--mine-from", "last-year.csv", "--min-expectation", "0.9999", "--l", "4")
    assert stricter.code == 0
    assert "Background knowledge" in stricter.out


def test_stated_facts_are_known_too(shoal: Shoal) -> None:
    write_patients("patients.csv")
    Path("knows.toml").write_text(POLICY, encoding="utf-8")
    answer = shoal("protect", "patients.csv", "--policy", "knows.toml", "-o", "out", "--json").json
    assert answer["rules"]["stated"] == 1
    assert shoal("verify", "out").code == 0
    # a release that was not made against the fact, attacked with a policy that states it
    plain = ("--k", "75", "--mask", "permute", "-o", "plain")
    assert shoal("protect", "patients.csv", *FLAGS, "--method", "mdav", *plain).code == 0
    Path("fact.toml").write_text(POLICY.replace("matching-diversity = 3", "k-anonymity = 75"), encoding="utf-8")
    found = shoal("attack", "plain", "--policy", "fact.toml", "--mask", "permute", "--l", "6", "--json").json
    assert found["rules"] == 1
    (known,) = found["background"]
    assert known["vulnerable_by_matching"] > known["vulnerable_without_rules"]


def test_a_published_table_alone_can_be_attacked_with_rules(shoal: Shoal, release: str) -> None:
    shutil.copytree(release, "handed-out", ignore=shutil.ignore_patterns("steward"))
    answer = shoal("attack", "handed-out", *FLAGS, "--rules", "out/steward/rules.json", "--json")
    assert answer.code == 0
    assert answer.json["elimination"] == []
    assert "steward" in answer.err
    assert answer.json["background"][0]["vulnerable_by_matching"] == 0


def test_a_release_that_hides_quasi_identifiers_is_attacked_with_what_the_steward_keeps(shoal: Shoal) -> None:
    write_patients("patients.csv")
    assert shoal("protect", "patients.csv", *FLAGS, "--matching-l", "3", "-o", "ranges").code == 0
    assert shoal("verify", "ranges").code == 0
    (found,) = shoal("attack", "ranges", "--json").json["background"]
    assert found["vulnerable_by_matching"] == 0
    refused = shoal("attack", "ranges", "--rules", "ranges/steward/rules.json")
    assert refused.code == 2
    assert "exact quasi-identifiers" in refused.err


def test_two_sources_of_rules_are_one_too_many(shoal: Shoal, release: str) -> None:
    assert shoal("attack", release, "--rules", "a.json", "--mine-from", "b.csv").code == 2
    alone = shoal("attack", release, "--min-expectation", "0.9")
    assert alone.code == 2
    assert "--mine-from" in alone.err


def test_a_table_that_leaves_too_few_values_writes_nothing(shoal: Shoal) -> None:
    write_patients("patients.csv")
    refused = shoal("protect", "patients.csv", *FLAGS, "--matching-l", "6", "--mask", "anatomize", "-o", "out")
    assert refused.code == 3
    assert "persons can have fewer than 6" in refused.err
    assert not Path("out").exists()
    lonely = shoal("protect", "patients.csv", *FLAGS, "--min-expectation", "0.9", "-o", "out")
    assert lonely.code == 2
    assert "needs 'l'" in lonely.err


def test_hierarchies_of_the_policy_are_read_again(shoal: Shoal) -> None:
    chance = np.random.default_rng(4)
    sex = chance.choice(["m", "f", "boy", "girl"], 200)
    is_child = np.isin(sex, ["boy", "girl"])
    disease = np.where(
        is_child, chance.choice(["flu", "cold", "pox"], 200), chance.choice(["flu", "cold", "gout"], 200)
    )
    pl.DataFrame({"age": chance.integers(0, 60, 200), "sex": sex, "disease": disease}).write_csv("people.csv")
    Path("sex.csv").write_text("m;adult;*\nf;adult;*\nboy;child;*\ngirl;child;*\n", encoding="utf-8")
    asked = ("--hierarchy", "sex=sex.csv", "--matching-l", "2", "--min-expectation", "0.99", "--mask", "permute")
    assert shoal("protect", "people.csv", *FLAGS, *asked, "-o", "out").code == 0
    assert "adult" in Path("out/steward/rules.json").read_text(encoding="utf-8")
    found = shoal("verify", "out", "--json").json
    assert found["verdict"]["models"][0]["checked_from"] == "published table"
    assert shoal("attack", "out", "--json").json["background"][0]["vulnerable_by_matching"] == 0
    Path("sex.csv").unlink()  # then what the steward keeps must do
    found = shoal("verify", "out", "--json").json
    assert found["verdict"]["models"][0]["checked_from"] == "steward"
    assert found["verdict"]["holds"]
    assert shoal("attack", "out", "--json").json["background"][0]["vulnerable_by_matching"] == 0


@pytest.mark.parametrize("mask", ["range", "anatomize", "permute"])
def test_an_empty_text_that_comes_back_as_missing_is_known_again(shoal: Shoal, mask: str) -> None:
    """A CSV file writes both alike; rules and what they exclude still name the empty text."""
    write_patients("patients.csv")
    frame = pl.read_csv("patients.csv").with_columns(pl.col("disease").replace({"ovary": ""}))
    schema = library.Schema(quasi=["age", library.Nominal("sex")], sensitive=["disease"])
    models = [library.MatchingDiversity(l=3)]
    release = library.protect(frame, schema, models, mask=mask, seed=1)
    assert any(rule.never.node == "" for rule in release.rules)
    release.write("out", format="csv")
    verified = shoal("verify", "out", "--json")
    assert verified.code == 0, verified.json["verdict"]
    (model,) = verified.json["verdict"]["models"]
    assert model["checked_from"] == ("steward" if mask == "range" else "published table")
    attacked = shoal("attack", "out", "--l", "3", "--json")
    assert attacked.code == 0, attacked.err
