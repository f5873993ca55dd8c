"""Mixing sensitive values, cells and hybrid noise, as flags and in the policy that is kept."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Shoal

ROLES = ["--quasi", "age,weight,height", "--sensitive", "disease"]


@pytest.fixture
def measured(shoal: Shoal) -> Shoal:
    """The command in a folder that holds measured.csv: 240 persons, three numbers, a disease that goes with age."""
    rng = np.random.default_rng(31)
    age = rng.integers(20, 90, 240)
    pl.DataFrame(
        {
            "age": age,
            "weight": rng.normal(75, 12, 240).round(1),
            "height": rng.normal(170, 9, 240).round(1),
            "disease": np.where(age + rng.normal(0, 10, 240) > 55, "heart", "flu"),
        }
    ).write_csv("measured.csv")
    return shoal


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (["--method", "mdav", "--alpha", "0.5"], {"name": "mdav", "alpha": 0.5}),
        (["--method", "balance-tree", "--alpha", "0.3"], {"name": "balance-tree", "alpha": 0.3}),
        (["--method", "spanning-cells", "--cell", "60", "--no-moves"],
         {"name": "spanning-cells", "cell": 60, "moves": False}),
    ],
)  # fmt: skip
def test_flags_reach_the_method_and_the_policy_that_is_kept(
    measured: Shoal, flags: list[str], kept: dict[str, object]
) -> None:
    answer = measured("protect", "measured.csv", *ROLES, "--person-k", "5", *flags, "--mask", "mean", "-o", "out")
    assert answer.code == 0, answer.err
    policy = tomllib.loads(Path("out/steward/policy.toml").read_text(encoding="utf-8"))
    assert policy["method"] == kept
    again = measured("protect", "measured.csv", "--policy", "out/steward/policy.toml", "-o", "again")
    assert again.code == 0, again.err


def test_hybrid_noise_is_refused_where_groups_are_too_small(measured: Shoal) -> None:
    hybrid = ["--method", "mdav", "--mask", "perturb", "--noise", "hybrid"]
    refused = measured("protect", "measured.csv", *ROLES, "--person-k", "3", *hybrid, "-o", "out")
    assert refused.code == 3
    assert "80 have no more persons than there are numeric columns (3)" in " ".join(refused.err.split())
    assert not Path("out").exists()
    assert measured("protect", "measured.csv", *ROLES, "--person-k", "8", *hybrid, "-o", "out").code == 0


def test_alpha_without_a_sensitive_attribute_is_an_error_of_the_input(measured: Shoal) -> None:
    flags = [
        "--quasi",
        "age,weight,height",
        "--drop",
        "disease",
        "--person-k",
        "5",
        "--method",
        "mdav",
        "--alpha",
        "0.5",
    ]
    refused = measured("protect", "measured.csv", *flags, "-o", "out")
    assert refused.code == 2
    assert "no sensitive attribute is named" in " ".join(refused.err.split())
