"""Joint diversity from the command line: protect, verify, and verify what somebody has changed."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal import JointDiversity
from shoal.policy import Policy
from tests.cli.conftest import Answer, Shoal
from tests.masking.patients import patients

ROLES = ["--person", "patient", "--quasi", "age,sex:nominal", "--sensitive", "disease,treatment", "--drop", "phone"]
JOINT = ["--joint-l", "3", "--joint-caps", "treatment=2"]
NOT_SHOWN = "not shown by the published table"

POLICY = """
[columns]
person = "patient"
quasi = ["age", "sex:nominal"]
sensitive = ["disease", "treatment"]
dropped = ["phone"]

[models]
joint-diversity = { l = 3, caps = { treatment = 2 } }

[mask]
name = "anatomize"
"""


@pytest.fixture
def joint(shoal: Shoal) -> Shoal:
    """The command in a folder that holds patients.csv and joint.toml too."""
    patients().write_csv("patients.csv")
    Path("joint.toml").write_text(POLICY, encoding="utf-8")
    return shoal


def protected(joint: Shoal, *flags: str, file: str = "patients.csv") -> Answer:
    answer = joint("protect", file, *ROLES, *JOINT, "--mask", "anatomize", "-o", "out", *flags)
    assert answer.code == 0, answer.err
    return answer


def test_protect_says_what_is_met_what_is_visible_and_which_files_leave(joint: Shoal) -> None:
    said = " ".join(protected(joint).out.split())
    assert "joint-diversity 3" in said
    assert "identities are visible" in said
    assert (
        "codebook.html, codebook.json, datapackage.json, release-disease.csv, release-treatment.csv, release.csv"
        in said
    )
    assert "linked.parquet" in said.split("Stays with you")[1]
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "codebook.html", "codebook.json", "datapackage.json",
        "release-disease.csv", "release-treatment.csv", "release.csv", "steward", "summary.html",
    ]  # fmt: skip
    assert Path("out/release.csv").read_text().splitlines()[0] == "age,sex,group"
    assert Path("out/release-disease.csv").read_text().splitlines()[0] == "group,disease,count"


@pytest.mark.parametrize("flags", [[], ["--format", "parquet"], ["--quasi-as", "range"], ["--method", "mondrian",
                         "--spread", "z-score"], ["--person-k", "5", "--h-affiliation", "0.6"]])  # fmt: skip
def test_verify_recounts_a_folder(joint: Shoal, flags: list[str]) -> None:
    protected(joint, *flags)
    answer = joint("verify", "out")
    assert answer.code == 0, (answer.out, answer.err)
    assert "The release keeps its promises." in answer.out
    assert ("identities are visible" in " ".join(answer.out.split())) == ("--quasi-as" not in flags)


def test_the_json_of_protect_and_verify_has_the_keys(joint: Shoal) -> None:
    made = protected(joint, "--json").json
    again = joint("verify", "out", "--json").json
    for answer in (made, again):
        (model,) = answer["verdict"]["models"]
        assert model["name"] == "joint-diversity"
        assert (model["asked"], model["holds"], model["checked_from"]) == (3.0, True, "steward")
        assert model["reached"] >= 3
        assert "identities are visible" in answer["verdict"]["notes"][0]
        assert answer["verdict"]["holds"] is True
        assert answer["prosecutor_risk"] == answer["journalist_risk"] >= answer["marketer_risk"]
    assert again["groups"] == made["groups"]
    assert again["problems"] == []
    assert json.loads(Path("out/steward/report.json").read_text())["verdict"] == made["verdict"]


def test_several_records_a_person_are_null_where_nothing_is_shown(joint: Shoal) -> None:
    patients(most_records=3).write_csv("visits.csv")
    answer = protected(joint, "--json", file="visits.csv").json
    assert answer["max_gidr"] is None
    assert answer["g_balance"] is None
    assert pl.read_csv("out/release-disease.csv").columns == ["group", "disease", "persons"]
    assert len(pl.read_csv("out/release.csv")) == 120
    assert joint("verify", "out").code == 0
    refused = joint("protect", "visits.csv", *ROLES, *JOINT, "--mask", "permute", "-o", "other")
    assert refused.code == 2
    assert "one record per person" in refused.err
    assert not Path("other").exists()


def first_row_changed(path: Path) -> None:
    rows = path.read_text().splitlines()
    cells = rows[1].split(",")
    path.write_text("\n".join([rows[0], ",".join([*cells[:-1], str(int(cells[-1]) + 1)]), *rows[2:]]) + "\n")


def without_last_row(path: Path) -> None:
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")


@pytest.mark.parametrize("change", [first_row_changed, without_last_row])
@pytest.mark.parametrize("file", ["release-disease.csv", "release-treatment.csv", "release.csv"])
def test_changed_files_do_not_verify(joint: Shoal, change: Any, file: str) -> None:
    protected(joint)
    change(Path("out") / file)
    answer = joint("verify", "out", "--json")
    assert answer.code == 3
    assert file in " ".join(answer.json["problems"]), "the manifest tells which"
    Path("out/steward/manifest.json").unlink()
    alone = joint("verify", "out/release.csv", "--policy", "joint.toml", "--json")
    assert alone.code == 3
    assert alone.json["problems"], "and so do the tables themselves"


def test_without_the_steward_verify_says_what_it_cannot_see(joint: Shoal) -> None:
    protected(joint)
    shutil.rmtree("out/steward")
    answer = joint("verify", "out", "--policy", "joint.toml", "--json")
    assert answer.code == 3
    (model,) = answer.json["verdict"]["models"]
    assert (model["holds"], model["reached"], model["checked_from"]) == (False, None, NOT_SHOWN)
    people = joint("verify", "out", *ROLES, *JOINT)
    assert people.code == 3
    assert NOT_SHOWN in " ".join(people.out.split())


def test_without_the_steward_a_bound_may_do(joint: Shoal) -> None:
    frame = pl.DataFrame({"age": range(8), "disease": list("abcdefgh"), "treatment": list("stuvstuv")})
    frame.write_csv("even.csv")
    flags = ["--quasi", "age", "--sensitive", "disease,treatment", "--joint-l", "4"]
    assert joint("protect", "even.csv", *flags, "--mask", "anatomize", "-o", "out").code == 0
    shutil.rmtree("out/steward")
    answer = joint("verify", "out", *flags, "--json")
    assert answer.code == 0
    assert answer.json["verdict"]["models"][0]["checked_from"] == "published table, by a bound"


def test_a_policy_file_makes_the_round_trip(joint: Shoal) -> None:
    assert joint("protect", "patients.csv", "--policy", "joint.toml", "-o", "out").code == 0
    kept = Path("out/steward/policy.toml").read_text(encoding="utf-8")
    assert tomllib.loads(kept)["models"] == {"joint-diversity": {"l": 3, "caps": {"treatment": 2}}}
    policy = Policy.load(Path("joint.toml"))
    assert policy.models == (JointDiversity(l=3, caps={"treatment": 2}),)
    assert Policy.load(Path("out/steward/policy.toml")).models == policy.models
    assert Policy.from_document(tomllib.loads(policy.to_toml())) == policy
    assert joint("verify", "out").code == 0
    assert joint("protect", "patients.csv", "--policy", "out/steward/policy.toml", "-o", "again").code == 0


def test_flags_make_the_same_policy_as_the_file(joint: Shoal) -> None:
    protected(joint)
    kept = Policy.load(Path("out/steward/policy.toml"))
    named = Policy.load(Path("joint.toml"))
    assert (kept.models, kept.mask, kept.columns) == (named.models, named.mask, named.columns)


def test_flags_win_over_the_policy_file(joint: Shoal) -> None:
    flags = ["--policy", "joint.toml", "--joint-l", "2", "--mask", "permute"]
    answer = joint("protect", "patients.csv", *flags, "-o", "out", "--json")
    assert answer.json["verdict"]["models"][0]["asked"] == 2
    assert tomllib.loads(Path("out/steward/policy.toml").read_text())["models"]["joint-diversity"]["caps"] == {
        "treatment": 2
    }
    assert joint("verify", "out").code == 0
    assert "taken as permuted" in " ".join(joint("verify", "out").out.split())


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (["--joint-l", "100"], 3, "Ask for at most"),
        (["--joint-l", "4", "--joint-caps", "disease=1,treatment=2"], 3, "caps admit 3 values"),
        (["--joint-l", "3", "--joint-caps", "drug=1"], 2, "'drug'"),
        (["--joint-l", "3", "--joint-caps", "disease=0,treatment=0"], 2, "cap of 0 on every"),
        (["--joint-l", "3", "--joint-caps", "treatment"], 2, "--joint-caps takes columns with a number"),
        (["--joint-l", "3", "--joint-caps", "treatment=many"], 2, "treatment"),
        (["--joint-l", "0"], 2, "l"),
        (["--joint-l", "2.5"], 2, "l"),
        (["--joint-caps", "treatment=2"], 2, "l"),
        (["--exponential-l", "50"], 3, "exponential-l 50 cannot be met"),
        (["--joint-l", "3", "--record-risk", "0.2"], 2, "identities are visible"),
        (["--joint-l", "3", "--quasi-as", "blurred"], 2, "quasi_as"),
        (["--joint-l", "3", "--keep-person-map"], 2, "no person map"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(joint: Shoal, flags: list[str], code: int, told: str) -> None:
    answer = joint("protect", "patients.csv", *ROLES, *flags, "--mask", "anatomize", "-o", "out")
    assert (answer.code, answer.out) == (code, "")
    assert told in answer.err
    assert "Traceback" not in answer.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"treatment": pl.lit("treatment 1")}, "'treatment' has the same value in all 120 records"),
        ({"treatment": pl.when(pl.col("age") > 30).then("treatment")}, "'treatment' is missing in"),
    ],
)
def test_a_table_that_cannot_give_it_is_refused_and_assessed(joint: Shoal, change: Any, told: str) -> None:
    patients().with_columns(**change).write_csv("patients.csv")
    for mask in ("range", "anatomize", "permute"):
        answer = joint("protect", "patients.csv", *ROLES, *JOINT, "--mask", mask, "-o", "out")
        assert answer.code == 2
        assert told in answer.err
        assert "treatment 1" not in answer.err
        assert not Path("out").exists()
    assert joint("assess", "patients.csv", *ROLES, *JOINT, "--json").code == 0


def test_help_names_the_flags(joint: Shoal) -> None:
    said = " ".join(joint("protect", "--help-all").out.split())
    for flag in (
        "--joint-l L",
        "--joint-caps C=N,...",
        "--exponential-l L",
        "--quasi-as exact|range",
        "--spread range|z-score",
    ):
        assert flag in said
    assert "anatomize, permute" in said
    assert "--joint-l 3 --joint-caps treatment=2" in said
