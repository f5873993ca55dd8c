"""One set of classes for all, by flags: the levels in JSON, and the choices in the policy that is kept."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl

from tests.cli.conftest import Shoal


def test_levels_left_out_and_granularity_are_told(shoal: Shoal) -> None:
    Path("town.csv").write_text("a1;a;*\na2;a;*\nb1;b;*\nb2;b;*\n", encoding="utf-8")
    pl.DataFrame({"town": ["a1", "a2", "b1", "b2"] * 10 + ["a1"], "sex": ["f", "m"] * 20 + ["x"], "ill": ["flu"] * 41}
                 ).write_csv("towns.csv")  # fmt: skip
    flags = ["--quasi", "town:nominal,sex:nominal", "--sensitive", "ill", "--hierarchy", "town=town.csv", "--k", "5"]
    method = ["--method", "full-domain", "--max-suppressed", "5%", "--weights", "town=2", "-o", "out", "--no-report"]
    told = shoal("protect", "towns.csv", *flags, *method, "--json").json
    assert told["levels"] == {"town": 0, "sex": 0}
    assert told["suppressed_persons"] == 1
    assert told["granularity"] == 1 - 1 / 41
    kept = tomllib.loads(Path("out/steward/policy.toml").read_text(encoding="utf-8"))
    assert kept["budget"] == {"max_suppressed": "5%"}
    assert kept["method"] == {"name": "full-domain", "weights": "town=2"}


def test_a_share_is_one(shoal: Shoal) -> None:
    pl.DataFrame({"sex": ["f", "m"], "ill": ["flu", "flu"]}).write_csv("two.csv")
    flags = ["--quasi", "sex", "--sensitive", "ill", "--k", "2"]
    assert "such as '5%'" in shoal("protect", "two.csv", *flags, "--max-suppressed", "half", "-o", "out").err
