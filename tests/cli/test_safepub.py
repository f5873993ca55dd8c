"""Differential privacy by flags: no model need be asked for, and what was promised is recounted."""

from __future__ import annotations

import polars as pl

from tests.cli.conftest import Shoal


def test_what_is_promised_is_told_and_recounted(shoal: Shoal) -> None:
    pl.DataFrame({"sex": ["f", "m"] * 200}).write_csv("people.csv")
    flags = ["--quasi", "sex:nominal", "--method", "safepub", "--epsilon", "1", "--delta", "1e-6", "--levels", "sex=0"]
    told = shoal("protect", "people.csv", *flags, "-o", "out", "--no-report", "--seed", "3", "--json").json
    assert (told["epsilon"], told["delta"], told["k"], told["levels"]) == (1.0, 1e-6, 75, {"sex": 0})
    assert told["persons"] + told["suppressed_persons"] == 400
    again = shoal("verify", "out/release.csv", "--policy", "out/steward/policy.toml", "--json")
    assert (again.code, again.json["verdict"]["models"][0]["asked"]) == (0, 75.0)
