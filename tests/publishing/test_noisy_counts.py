"""Noisy counts beside a release: cells that do not depend on the data, everybody counts once, noise as promised."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.stream import protect_file
from shoal.errors import ParameterError, PrivacyNotMetError, SchemaError, ShoalError
from shoal.policy.policy import CountChoices
from shoal.publishing import noisy_counts as own
from shoal.publishing.noisy_counts import ELSE, discrete_laplace, noisy_counts
from shoal.table.table import Table
from tests.naive import noisy_counts as naive
from tests.tiers import sized

AGES = shoal.Hierarchy.of_intervals(low=0, width=20, high=79)
SEXES = shoal.Hierarchy.from_rows([["f", "*"], ["m", "*"], ["x", "*"]])
SCHEMA = shoal.Schema(person="who", quasi=[shoal.Number("age", AGES), shoal.Nominal("sex", SEXES)], sensitive=["ill"])


def town(n: int = 200) -> pl.DataFrame:
    """Persons with two records each; one whose sex is missing."""
    who = [person for person in range(n) for _ in range(2)]
    sexes = [None if person == 7 else "fm"[person % 2] for person in who]
    return pl.DataFrame({"who": who, "age": [person % 80 for person in who], "sex": sexes, "ill": ["flu", "cold"] * n})


def made(**asked: Any) -> Any:
    return shoal.protect(town(), SCHEMA, [shoal.PersonKAnonymity(k=5)], seed=1, counts={"epsilon": 1.0, **asked})


def test_cells_are_those_of_the_hierarchies_and_everybody_counts_once() -> None:
    frame = made(of=["sex", "age+sex"], epsilon=20).counts.frame
    assert frame.columns == ["sex", "age", "persons"]
    by_sex = frame.filter(pl.col("age") == "(all)")
    assert by_sex["sex"].to_list() == ["f", "m", "x", ELSE]
    assert [abs(a - b) <= 3 for a, b in zip(by_sex["persons"], [100, 99, 0, 1], strict=True)] == [True] * 4
    both = frame.filter(pl.col("age") != "(all)")
    assert len(both) == 4 * 5  # nobody is older than 79, and nobody is of sex x: cells all the same
    assert abs(both["persons"].sum() - 200) <= 40


def test_who_is_in_several_cells_counts_in_as_many_as_may_be() -> None:
    frame = pl.DataFrame({"who": [1] * 4, "age": [1, 25, 45, 65], "sex": ["f"] * 4, "ill": ["a"] * 4})
    table = Table.from_frame(frame, SCHEMA)
    for cells, most in ((1, 1), (3, 3), (9, 4)):
        asked = CountChoices(epsilon=20, of=["age"], cells=cells)
        counted = own._counted(table, own._read("age", SCHEMA), [(label,) for label in own._labels(AGES, 1)], cells)
        assert sum(counted) == most
        assert max(counted) == 1
        assert noisy_counts(table, asked).scale == pytest.approx(cells / 20)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 3)])
def test_noise_has_the_distribution_that_is_promised(scale: Fraction) -> None:
    draws = sized(quick=4_000, long=40_000, nightly=400_000)
    source = random.Random(5)
    found = Counter(discrete_laplace(scale, source) for _ in range(draws))
    for x in range(-6, 7):
        expected = naive.chance(x, float(scale)) * draws
        assert abs(found[x] - expected) <= 5 * math.sqrt(expected + 1)
    mean_square = sum(x * x * n for x, n in found.items()) / draws
    assert mean_square == pytest.approx(naive.variance(float(scale)), rel=0.2)


@pytest.mark.parametrize("is_own", [True, False])
def test_neighbouring_tables_are_told_apart_no_better_than_epsilon(is_own: bool, monkeypatch: Any) -> None:
    """The chance of any count changes by at most e^epsilon when somebody is taken out; by either sampler."""
    if is_own:
        monkeypatch.setattr(own, "find_spec", lambda name: None)
    else:
        pytest.importorskip("opendp", reason="the extra dp is not installed")
    runs = sized(quick=1_500, long=5_000, nightly=50_000)
    asked = CountChoices(epsilon=1.0, of=["sex"])
    tables = [Table.from_frame(town(n), SCHEMA) for n in (3, 2)]
    told = [noisy_counts(table, asked) for table in tables]
    assert told[0].drawn_by == ("shoal" if is_own else "opendp")
    draw, _ = own._drawing(Fraction(1))
    found = [np.array([draw([count])[0] for _ in range(runs)]) for count in (2, 1)]
    for least in range(-4, 8):
        with_one, without = (float((each >= least).mean()) for each in found)
        assert with_one <= math.e * without + 5 * math.sqrt(0.25 / runs) * (1 + math.e)
    assert found[0].std() ** 2 == pytest.approx(naive.variance(1.0), rel=0.3)


def test_tables_share_what_may_be_spent() -> None:
    assert made(of=["sex"]).counts.scale == pytest.approx(1)
    assert made(of=["sex", "age", "age:2+sex"], epsilon=0.5).counts.scale == pytest.approx(6)


def test_the_folder_has_the_table_and_the_ledger_adds_up(tmp_path: Path) -> None:
    ledger = shoal.Ledger(tmp_path / "ledger.db", max_epsilon=1.5, mode="refuse")
    release = made(of=["sex"])
    release.write(tmp_path / "one", ledger=ledger)
    counts = pl.read_csv(tmp_path / "one" / "counts.csv")
    assert counts.columns == ["sex", "persons"]
    manifest = json.loads((tmp_path / "one" / "steward" / "manifest.json").read_text())
    assert "counts.csv" in json.dumps(manifest)
    assert release.to_dict()["counts"]["epsilon"] == 1.0
    assert shoal.Policy.load(tmp_path / "one" / "steward" / "policy.toml").counts == CountChoices(epsilon=1, of=["sex"])
    with pytest.raises(PrivacyNotMetError, match="epsilon 2"):
        made(of=["sex"]).write(tmp_path / "two", ledger=ledger)
    assert not (tmp_path / "two").exists()


def test_what_spends_beside_adds_up() -> None:
    release = shoal.protect(
        town(2_000), SCHEMA, [], method="safepub", epsilon=1.0, delta=1e-3, degree="high", seed=1,
        counts={"epsilon": 0.3, "of": ["sex"]},
    )  # fmt: skip
    assert release.spends == (1.3, 1e-3)


@pytest.mark.parametrize(
    ("schema", "asked", "said"),
    [
        (SCHEMA, {"of": ["ill"]}, "no quasi-identifier"),
        (SCHEMA, {"of": ["age:9"]}, "whole number from 1 to"),
        (SCHEMA, {"of": []}, "Wrong here: of"),
        (SCHEMA, {"of": ["sex"], "epsilon": 0}, "Wrong here: epsilon"),
        (shoal.Schema(person="who", quasi=["age", "sex"], sensitive=["ill"]), {"of": ["age"]}, "without the table"),
    ],
)
def test_what_cannot_be_promised_is_refused(schema: shoal.Schema, asked: dict[str, Any], said: str) -> None:
    with pytest.raises((ParameterError, SchemaError), match=said):
        shoal.protect(
            town().drop_nulls(), schema, [shoal.PersonKAnonymity(k=5)], seed=1, counts={"epsilon": 1.0, **asked}
        )


def test_portions_refuse_them_by_name(tmp_path: Path) -> None:
    town().write_parquet(tmp_path / "town.parquet")
    with pytest.raises(ShoalError, match="Noisy counts"):
        protect_file(
            tmp_path / "town.parquet", SCHEMA, [shoal.KAnonymity(k=5)], output=tmp_path / "out",
            counts={"epsilon": 1.0, "of": ["sex"]},
        )  # fmt: skip
