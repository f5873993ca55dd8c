"""Top and bottom codes and rare categories by flag."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from shoal.web.project import codes_as_text, codes_in
from tests.cli.conftest import Shoal


def test_flags_code_columns(shoal: Shoal, tmp_path: Path) -> None:
    ages = [20 + person % 40 for person in range(56)] + [85, 89, 93, 97]
    jobs = ["clerk"] * 30 + ["nurse"] * 27 + ["judge"] * 3
    pl.DataFrame({"who": range(60), "age": ages, "job": jobs, "pay": [1000 + p % 3 for p in range(60)]}).write_csv(
        tmp_path / "table.csv"
    )
    answer = shoal(
        "protect", tmp_path / "table.csv", "--person", "who", "--quasi", "age,job:nominal", "--sensitive", "pay",
        "--person-k", 3, "--top", "age=k=5", "--rare", "job=k=5", "--top", "pay=1001", "-o", tmp_path / "out", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    told = answer.json["coded"]
    assert (told["age"]["top"], told["pay"]["records"], told["job"]["values_before"]) == (59, 20, 3)
    assert told["job"]["values"] == 2  # three judges are too few for a category of their own: the nurses join them
    assert shoal("verify", tmp_path / "out").code == 0
    wrong = shoal("protect", tmp_path / "table.csv", "--quasi", "age", "--top", "age", "-o", tmp_path / "no")
    assert wrong.code == 2
    assert "--top takes a column and its code" in wrong.err


def test_a_steward_writes_codes_in_words() -> None:
    codes = {"age": {"top": 90, "bottom": "k=5"}, "pay rate": {"top": "99%"}, "job": {"rare": "k=10"}}
    assert codes_in(codes_as_text(codes)) == codes
    assert codes_in("") == {}
