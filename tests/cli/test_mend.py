"""A policy that mends does so in protect, assess and apply, and profile suggests; tests/engines has the engines."""

from __future__ import annotations

import json
import re
from pathlib import Path

from shoal.policy import Policy
from tests.cli.conftest import Shoal

MEND = """
[columns]
person = "patient"
quasi = ["age:number", "sex:nominal"]
sensitive = ["icd"]
dropped = ["born"]

[models]
record-risk = 0.5

[mend]
case = { sex = "lower" }
missing = { sex = ["k.a."] }
code = { icd = { before = "." } }
age = { age = { born = "born", on = "2024-01-01" } }
filter = [{ column = "icd", without = ["Z00"] }]
"""


def write(name: str, first: int) -> None:
    rows = []
    for i in range(first, first + 40):
        sex, icd = "mMwW"[i % 4] if i % 7 else "k.A.", "C50.4" if i % 5 < 4 else "Z00.0"
        rows.append(f"p{i};{sex};{i % 28 + 1:02d}.01.{1950 + i % 9};{icd}")
    Path(name).write_text("patient;sex;born;icd\n" + "\n".join(rows) + "\n")


def test_protect_and_apply_mend_and_count(shoal: Shoal) -> None:
    write("a.csv", 0)
    write("b.csv", 40)
    Path("mend.toml").write_text(MEND)
    run = shoal("protect", "a.csv", "--policy", "mend.toml", "-o", "out", "--keep-person-map", "--json")
    assert run.code == 0, run.err
    told = {(each["step"], each["column"]): each["records"] for each in run.json["mended"]}
    assert told["filter", "icd"] == 8
    assert told["code", "icd"] == 40
    assert told["age", "age"] == 40
    assert "k.a." not in run.err.lower()
    release = Path("out/release.csv").read_text()
    assert "C50" in release
    assert "C50.4" not in release
    assert Policy.load("out/steward/policy.toml").mend == Policy.load("mend.toml").mend
    assert any("Mended: 8 records" in note for note in json.loads(Path("out/steward/report.json").read_text())["notes"])
    assert shoal("verify", "out").code == 0
    later = shoal("apply", "out", "b.csv", "-o", "later", "--max-suppressed", "40")
    assert later.code in (0, 3), later.err
    assert "Mended: 8 records were left out" in later.err


def test_the_stream_mends_as_memory_does(shoal: Shoal) -> None:
    write("a.csv", 0)
    Path("mend.toml").write_text(MEND)
    runs = [
        shoal("protect", "a.csv", "--policy", "mend.toml", "-o", engine, "--engine", engine, "--json")
        for engine in ("memory", "stream")
    ]
    assert [run.code for run in runs] == [0, 0], [run.err for run in runs]
    assert runs[0].json["mended"] == runs[1].json["mended"]
    assert runs[0].json["records"] == runs[1].json["records"] < 40
    assert "Mended: 8 records were left out" in runs[1].err


def test_profile_suggests_what_could_be_mended_and_names_values_in_the_policy_alone(shoal: Shoal) -> None:
    write("a.csv", 0)
    run = shoal("profile", "a.csv")
    assert run.code == 0, run.err
    text = Path("a.policy.toml").read_text()
    assert "# [mend]" in text
    assert "\u2018m\u2019" in text
    assert "sex: A mark stands in 6 records" in run.out
    assert "k.A." not in run.out + run.err
    assert "\u2018" not in run.out + run.err
    lines = [line.removeprefix("# ") if re.match(r"# (\[mend\]|\w+ = )", line) else line for line in text.splitlines()]
    Path("m.toml").write_text("\n".join(line for line in lines if not line.startswith("age =")))
    mend = Policy.load("m.toml").mend
    assert set(mend.map["sex"]) <= {"m", "M", "w", "W"}
    assert mend.missing["sex"] == ("k.A.",)
    told = shoal("profile", "a.csv", "--json", "--overwrite").json["mendable"]
    assert {(each["column"], each["step"]) for each in told} >= {("sex", "map"), ("sex", "missing")}
    assert "k.A." not in str(told)
    done = shoal("protect", "a.csv", "--policy", "m.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert {each["step"] for each in done.json["mended"]} == {"missing", "map"}
