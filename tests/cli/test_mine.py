"""shoal mine, as a user would ask for rules."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

import shoal as library
from shoal.attacking.mining.knowledge import Knowledge
from shoal.policy import Policy
from tests.cli.conftest import Shoal

FLAGS = ["--quasi", "sex,age", "--sensitive", "disease"]


@pytest.fixture(autouse=True)
def patients(shoal: Shoal) -> pl.DataFrame:
    """Thirty men and thirty women; no man has ovarian cancer, no woman prostate cancer."""
    frame = pl.DataFrame(
        {
            "sex": ["m"] * 30 + ["f"] * 30,
            "age": [20 + i for i in range(30)] * 2,
            "disease": ["flu", "prostate"] * 15 + ["flu", 'ovary, "left"'] * 15,
        }
    )
    frame.write_csv("patients.csv")
    return frame


def lines_of(out: str) -> list[str]:
    return [line[line.index("{ when") :] for line in out.splitlines() if "{ when" in line]


def test_the_listing_says_rule_support_and_expectation(shoal: Shoal) -> None:
    answer = shoal("mine", "patients.csv", *FLAGS)
    assert answer.code == 0, answer.err
    assert "2 rules mined with an expectation of at least 0.9" in answer.out
    (man,) = [line for line in answer.out.splitlines() if '"m"' in line]
    assert man.split()[:2] == ["30", "0.9998"]
    assert lines_of(answer.out)[0] == '{ when = { sex = "m" }, never = { disease = "ovary, \\"left\\"" } }'


def test_json_is_what_python_gives(shoal: Shoal, patients: pl.DataFrame) -> None:
    answer = shoal("mine", "patients.csv", *FLAGS, "--min-expectation", "0.5", "--max-len", "2", "--json").json
    rules = library.mine(patients, library.Schema(quasi=["sex", "age"], sensitive=["disease"]),
                         min_expectation=0.5, max_len=2)  # fmt: skip
    assert answer["rules"] == rules.to_dict()["rules"]
    assert len(rules) > 2
    assert {"when", "never", "support", "expectation", "source"} == answer["rules"][0].keys()


def test_a_line_can_be_pasted_into_the_policy(shoal: Shoal) -> None:
    struck = lines_of(shoal("mine", "patients.csv", *FLAGS).out)[0]
    Path("policy.toml").write_text(
        f'[columns]\nquasi = ["sex", "age"]\nsensitive = ["disease"]\n\n[knowledge]\nstrike = [\n  {struck},\n]\n'
        'facts = [{ when = { sex = "f" }, never = { disease = "prostate" } }]\n',
        encoding="utf-8",
    )
    answer = shoal("mine", "patients.csv", "--policy", "policy.toml")
    assert answer.code == 0, answer.err
    assert "0 rules mined" in answer.out
    assert "1 facts stated" in answer.out
    assert lines_of(answer.out) == ['{ when = { sex = "f" }, never = { disease = "prostate" } }']
    assert "stated" in answer.out.splitlines()[-1]
    assert answer.err == ""
    flags = shoal("mine", "patients.csv", "--policy", "policy.toml", "--min-expectation", "0.99999999", "--json")
    assert [rule["source"] for rule in flags.json["rules"]] == ["stated"]
    assert "1 of 1 rules that are struck out were not mined" in flags.err


@pytest.mark.parametrize("flag", ["--csv", "-o"])
def test_a_csv_file_holds_every_rule(shoal: Shoal, flag: str) -> None:
    assert shoal("mine", "patients.csv", *FLAGS, flag, "rules.csv").code == 0
    table = pl.read_csv("rules.csv")
    assert table.columns == ["when", "never", "support", "expectation", "source", "rule"]
    assert table["when"].to_list() == ["sex = m", "sex = f"]
    assert table["support"].to_list() == [30, 30]
    read = [tomllib.loads(f"rule = {rule}")["rule"]["when"] for rule in table["rule"]]
    assert read == [{"sex": "m"}, {"sex": "f"}]
    again = shoal("mine", "patients.csv", *FLAGS, flag, "rules.csv")
    assert again.code == 2
    assert "there already" in again.err
    assert shoal("mine", "patients.csv", *FLAGS, flag, "rules.csv", "--overwrite").code == 0


def test_a_hierarchy_by_sensitive_values_is_written_as_a_policy_reads_it(shoal: Shoal) -> None:
    made = shoal("mine", "patients.csv", *FLAGS, "--make-hierarchy", "sex=sex.csv", "--csv", "rules.csv")
    assert made.code == 0, made.err
    assert "Written to sex.csv." in made.err
    assert library.Hierarchy.read_arx_csv("sex.csv").path("f") == ("f", "*")
    again = shoal("mine", "patients.csv", *FLAGS, "--make-hierarchy", "sex=sex.csv")
    assert (again.code, "there already" in again.err) == (2, True)


def test_flags_win_over_the_policy_and_margins_are_told(shoal: Shoal) -> None:
    policy = Policy.of(library.Schema(quasi=["sex", "age"], sensitive=["disease"]), [],
                       knowledge=Knowledge(max_len=0))  # fmt: skip
    Path("policy.toml").write_text(policy.to_toml(), encoding="utf-8")
    assert shoal("mine", "patients.csv", "--policy", "policy.toml", "--json").json["rules"] == []
    asked = ["--policy", "policy.toml", "--max-len", "2", "--min-expectation", "0.5", "--json"]
    plain = shoal("mine", "patients.csv", *asked).json["rules"]
    fuzzy = shoal("mine", "patients.csv", *asked, "--margin", "age=3").json["rules"]
    lower = shoal("mine", "patients.csv", *asked, "--margin", "age=3", "--conjunction", "minimum").json["rules"]
    assert len(plain) > 2
    assert fuzzy != plain
    assert lower == fuzzy, "with one column of degrees the product is the minimum"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--min-expectation", "1"], "above 0 and below 1"),
        (["--min-expectation", "often"], "above 0 and below 1"),
        (["--min-confidence", "0.9"], "does not exclude a value"),
        (["--max-len", "-1"], "max-len"),
        (["--margin", "age"], "--margin age=2"),
        (["--margin", "age=wide"], "--margin age=2"),
        (["--margin", "sex=2"], "not with 'sex'"),
        (["-o", "absent/rules.csv"], "cannot be written"),
        (["--make-hierarchy", "sex"], "--make-hierarchy occupation=occupation.csv"),
        (["--make-hierarchy", "height=height.csv", "-o", "rules.csv"], "no column 'height'"),
        (["--make-hierarchy", "sex=absent/sex.csv"], "cannot be written"),
    ],
)
def test_bad_input_exits_with_2_and_writes_nothing(shoal: Shoal, flags: list[str], words: str) -> None:
    before = set(Path().rglob("*"))
    answer = shoal("mine", "patients.csv", *FLAGS, *flags)
    assert answer.code == 2
    assert words in answer.err
    assert set(Path().rglob("*")) == before


def test_facts_that_the_table_contradicts_exit_with_2(shoal: Shoal) -> None:
    Path("policy.toml").write_text(
        '[columns]\nquasi = ["sex", "age"]\nsensitive = ["disease"]\n[knowledge]\n'
        'facts = [{ when = { sex = "m" }, never = { disease = "prostate" } }]\n',
        encoding="utf-8",
    )
    answer = shoal("mine", "patients.csv", "--policy", "policy.toml", "-o", "rules.csv")
    assert answer.code == 2
    assert "15 of the 30 persons that it is about contradict it" in answer.err
    assert not Path("rules.csv").exists()


def test_no_rules_is_an_answer(shoal: Shoal) -> None:
    answer = shoal("mine", "patients.csv", *FLAGS, "--min-expectation", "0.99999999")
    assert answer.code == 0
    assert "0 rules mined" in answer.out
