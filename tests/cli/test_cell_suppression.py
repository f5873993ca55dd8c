"""Hidden cells by flags: how many there are, and a written release is verified by its own meaning."""

from __future__ import annotations

import polars as pl
import pytest

from tests.cli.conftest import Shoal


@pytest.mark.parametrize("meaning", ["none", "all"])
def test_a_written_release_is_verified_by_its_own_meaning(shoal: Shoal, meaning: str) -> None:
    n = 40
    pl.DataFrame({"town": ["abc"[i * i % 3] for i in range(n)], "age": [i % 5 for i in range(n)], "ill": ["flu"] * n}
                 ).write_csv("people.csv")  # fmt: skip
    flags = ["--quasi", "town:nominal,age:nominal", "--sensitive", "ill", "--k", "3", "--importance", "town=2"]
    method = ["--method", "cell-suppression", "--missing-matches", meaning, "-o", "out", "--no-report"]
    told = shoal("protect", "people.csv", *flags, *method, "--json").json
    assert told["suppressed_cells"] == sum(told["suppressed_cells_of_column"].values()) > 0
    again = shoal("verify", "out/release.csv", "--policy", "out/steward/policy.toml", "--json")
    assert (again.code, again.json["verdict"]["holds"]) == (0, True)
