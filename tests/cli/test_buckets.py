"""Buckets and Anatomy from a CSV file to a verified release that is attacked; and what is refused."""

from __future__ import annotations

import random

import polars as pl
import pytest

from shoal.policy import Policy
from tests.cli.conftest import Shoal

ROLES = ["--quasi", "age,sex:nominal,city:nominal", "--sensitive", "disease"]


@pytest.fixture
def people(shoal: Shoal) -> Shoal:
    """A folder with people.csv: 600 persons; men have no ovarian, women no prostate cancer."""
    chance = random.Random(4)
    rows = []
    for _ in range(600):
        sex = chance.choice("fm")
        disease = chance.choice(["flu", "cold", "gout", "asthma", "ovary" if sex == "f" else "prostate"])
        rows.append((chance.randrange(18, 95), sex, chance.choice(["east", "north", "west"]), disease))
    pl.DataFrame(rows, schema=["age", "sex", "city", "disease"], orient="row").write_csv("people.csv")
    return shoal


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
@pytest.mark.parametrize("order", ["similar", "balanced", "rarest"])
def test_nobody_in_a_release_is_vulnerable(people: Shoal, order: str, mask: str) -> None:
    asked = ["--matching-l", "3", "--method", "buckets", "--order", order, "--mask", mask, "--seed", "7"]
    run = people("protect", "people.csv", *ROLES, *asked, "-o", "out", "--json")
    assert run.code == 0, run.err
    assert run.json["verdict"]["holds"]
    assert run.json["k"] == 3
    assert people("verify", "out").code == 0
    attack = people("attack", "out", "--l", "3", "--json")
    assert attack.code == 0, attack.err
    assert all(found["vulnerable_by_matching"] == 0 for found in attack.json["background"])
    policy = Policy.load("out/steward/policy.toml")
    assert policy.method == "buckets"
    assert policy.method_options["order"] == order


def test_anatomy_is_vulnerable_to_what_the_data_show(people: Shoal) -> None:
    asked = ["--l", "3", "--method", "anatomy", "--mask", "anatomize", "--seed", "7"]
    run = people("protect", "people.csv", *ROLES, *asked, "-o", "out", "--json")
    assert run.code == 0, run.err
    assert run.json["k"] == 3
    attack = people("attack", "out", "--mine-from", "people.csv", "--l", "3", "--json")
    assert attack.json["background"][0]["vulnerable_by_matching"] > 0


def test_without_a_number_of_values_it_is_refused(people: Shoal) -> None:
    run = people("protect", "people.csv", *ROLES, "--k", "3", "--method", "buckets", "-o", "out")
    assert run.code == 2
    assert "must know how many different values" in run.err
    assert people("protect", "people.csv", *ROLES, "--k", "3", "--method", "buckets", "--m", "3", "-o", "out").code == 0


def test_an_unknown_order_is_refused(people: Shoal) -> None:
    run = people("protect", "people.csv", *ROLES, "--l", "3", "--method", "buckets", "--order", "odd", "-o", "out")
    assert run.code == 2
    assert "order must be 'similar', 'balanced' or 'rarest'" in run.err
