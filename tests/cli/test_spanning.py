"""Spanning trees from a CSV file to a verified release: flags and policy alike, and what is refused."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import polars as pl
import pytest

from shoal.policy import Policy
from tests.cli.conftest import Shoal

ROLES = ["--person", "patient", "--quasi", "age,weight,income", "--sensitive", "disease"]
METHODS = ["spanning-tree", "longest-edge"]


@pytest.fixture
def spanning(shoal: Shoal) -> Shoal:
    """A folder with visits.csv: 240 patients, one to three visits each, whose diseases go with age."""
    chance = random.Random(11)
    rows = []
    for patient in range(240):
        age, weight = chance.randrange(18, 95), round(chance.gauss(75, 12), 1)
        income = int(chance.lognormvariate(10, 0.5))
        for _ in range(chance.randint(1, 3)):
            disease = ("flu", "cold", "asthma")[min(2, int(age / 40 + chance.random()))]
            rows.append((f"P{patient}", age, weight, income, disease))
    names = ["patient", "age", "weight", "income", "disease"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv("visits.csv")
    return shoal


@pytest.mark.parametrize("method", METHODS)
def test_a_perturbed_release_is_written_and_verified(spanning: Shoal, method: str) -> None:
    asked = ["--person-k", "5", "--h-affiliation", "0.95", "--method", method, "--mask", "perturb"]
    run = spanning(
        "protect", "visits.csv", *ROLES, *asked, "--max-linkage", "0.6", "--seed", "7", "-o", "out", "--json"
    )
    assert run.code == 0, run.err
    answer = run.json
    assert answer["verdict"]["holds"]
    assert answer["person_k"] >= 5
    assert 0 < answer["linkage"]["rate"] <= 0.6
    before, after = pl.read_csv("visits.csv"), pl.read_csv("out/release.csv")
    assert after.columns == before.columns
    assert sorted(after["disease"]) == sorted(before["disease"])
    assert not set(after["patient"]) & set(before["patient"])
    for name in ("age", "weight", "income"):
        assert after[name].mean() == pytest.approx(before[name].mean(), rel=1e-3)
        assert after[name].std() == pytest.approx(before[name].std(), rel=0.25)
    assert spanning("verify", "out", "--policy", "out/steward/policy.toml").code == 0


def test_options_are_flags_and_keys_of_the_policy(spanning: Shoal) -> None:
    flags = ["--alpha", "0.8", "--b", "4", "--m", "4", "--start", "9", "--no-repair", "--nominal", "coded",
             "--length", "root"]  # fmt: skip
    masked = ["--mask", "perturb", "--max-linkage", "0.9"]
    asked = ["--k", "3", "--method", "spanning-tree"]
    by_flags = spanning("protect", "visits.csv", *ROLES, *asked, *flags, *masked, "-o", "a", "--seed", "1", "--json")
    stored = tomllib.loads(Path("a/steward/policy.toml").read_text())
    assert stored["method"] == {
        "name": "spanning-tree", "alpha": 0.8, "b": 4, "m": 4, "start": 9, "repair": False, "nominal": "coded",
        "length": "root",
    }  # fmt: skip
    assert stored["mask"] == {"name": "perturb", "max_linkage": 0.9}
    by_policy = spanning("protect", "visits.csv", "--policy", "a/steward/policy.toml", "-o", "b", "--json")
    assert by_policy.json["groups"] == by_flags.json["groups"]
    shown = [sorted(pl.read_csv(f"{folder}/release.csv")["age"]) for folder in "ab"]
    assert shown[0] == shown[1]
    assert Policy.load("a/steward/policy.toml") == Policy.load("b/steward/policy.toml")
    defaults = spanning("protect", "visits.csv", *ROLES, *asked, *masked, "-o", "c", "--seed", "1", "--json")
    assert defaults.json["groups"] != by_flags.json["groups"]


def test_a_policy_may_ask_for_too_little_linkage(spanning: Shoal) -> None:
    Path("policy.toml").write_text(
        """
[columns]
person = "patient"
quasi = ["age", "weight", "income"]
sensitive = ["disease"]

[models]
person-k-anonymity = 3

[method]
name = "spanning-tree"

[mask]
name = "perturb"
max_linkage = 0.001
"""
    )
    run = spanning("protect", "visits.csv", "--policy", "policy.toml", "-o", "out")
    assert run.code == 3
    assert "linked to their original numbers" in run.err
    assert not Path("out").exists()
    assert spanning("protect", "visits.csv", "--policy", "policy.toml", "--max-linkage", "1", "-o", "out").code == 0
    # another mask leaves the limit behind with the mask that it was of
    assert spanning("protect", "visits.csv", "--policy", "policy.toml", "--mask", "mean", "-o", "mean").code == 0
    assert "max_linkage" not in Path("mean/steward/policy.toml").read_text()


def test_what_repair_and_coding_do_is_told_and_kept(spanning: Shoal) -> None:
    frame = pl.read_csv("visits.csv")
    towns = [f"t{int(patient[1:]) % 5}" for patient in frame["patient"]]
    frame.with_columns(pl.Series("town", towns)).write_csv("visits.csv")
    roles = ["--person", "patient", "--quasi", "age,weight,income,town:nominal", "--sensitive", "disease"]
    run = spanning(
        "protect", "visits.csv", *roles, "--person-k", "4", "--method", "spanning-tree", "--mask", "mean", "-o", "out",
        "--json",
    )  # fmt: skip
    assert run.code == 0, run.err
    for words in ("'town' (5 categories) is nominal, coded as 0 and 1", "were parted", "of one person only"):
        assert run.err.count(words) == 1
        assert sum(words in note for note in run.json["notes"]) == 1


@pytest.mark.parametrize(
    ("change", "flags", "code", "told"),
    [
        (lambda frame: frame.head(14), ["--person-k", "5"], 3, "too few for groups of at least 5: a tree that is cut"),
        (lambda frame: frame.with_columns(age=pl.when(pl.col("age") > 40).then("age")), ["--person-k", "3"], 2,
         "'age' in "),
        (lambda frame: frame.with_columns(weight=pl.lit("inf")), ["--person-k", "3"], 2, "infinite"),
        (lambda frame: frame.with_columns(disease=pl.lit("flu")), ["--person-k", "3"], 2,
         "'disease' has the same value in all"),
        (lambda frame: frame, ["--person-k", "3", "--alpha", "2"], 2, "--alpha"),
        (lambda frame: frame, ["--person-k", "3", "--start", "100000"], 2, "start names record 100,000"),
        (lambda frame: frame, ["--person-k", "3", "--nominal", "dummy"], 2, "nominal must be"),
        (lambda frame: frame, ["--person-k", "3", "--gamma", "0.2"], 2, "has no option 'gamma'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_message(
    spanning: Shoal, change: object, flags: list[str], code: int, told: str
) -> None:
    change(pl.read_csv("visits.csv")).write_csv("bad.csv")  # type: ignore[operator]
    run = spanning("protect", "bad.csv", *ROLES, *flags, "--method", "spanning-tree", "--mask", "mean", "-o", "out")
    assert (run.code, run.out) == (code, ""), run.err
    assert told in run.err
    assert "P1" not in run.err
    assert not Path("out").exists()
