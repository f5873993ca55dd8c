"""The suite: intervals, names, and results that say what is known and what a guess would get."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacking.contract import AttackResult, wilson
from shoal.attacking.linkage import LinkageAttack
from shoal.attacking.suite import ATTACKS, OtherRelease, SuiteResult
from shoal.errors import ParameterError, ShoalWarning
from shoal.publishing.read import read_published
from shoal.reading import CsvOptions
from tests.naive import attacks as naive
from tests.pipeline import tables


@given(st.integers(1, 3000), st.floats(0, 1))
def test_wilson_is_what_is_not_rejected(n: int, share: float) -> None:
    low, high = wilson(share * n, n)
    assert (low, high) == pytest.approx(naive.wilson(share * n, n), abs=1e-9)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1


def test_wilson_is_that_of_scipy() -> None:
    from scipy.stats import binomtest

    interval = binomtest(37, 412).proportion_ci(method="wilson")
    assert wilson(37, 412) == pytest.approx((interval.low, interval.high))
    assert wilson(0, 9)[0] == 0.0
    assert wilson(9, 9)[1] == 1.0
    with pytest.raises(ParameterError):
        wilson(0, 0)


def test_every_result_says_what_is_known_and_stands_beside_a_guess() -> None:
    release = shoal.protect(tables.visits(), tables.SCHEMA, tables.MODELS, seed=1, attacks=50)
    assert release.attacked is not None
    names = [result.name for result in release.attacked.results]
    assert len(set(names)) == len(names)
    tried = {result.attack for result in release.attacked.results}
    assert tried | {each.attack for each in release.attacked.not_tried} == {
        name for name in ATTACKS if ATTACKS[name].in_suite
    }
    for result in release.attacked.results:
        assert result.attack in ATTACKS
        assert result.knows.endswith(".")
        assert 0 <= result.low <= result.success <= result.high <= 1
        assert 0 <= result.blind <= 1
        assert result.targets <= 80
    answer = release.to_dict()
    assert len(answer["attacks"]) == len(names)


def test_a_seed_draws_the_same_targets_and_another_one_others() -> None:
    release = shoal.protect(tables.visits(), tables.SCHEMA, tables.MODELS, seed=1)
    first, again, other = (release.attack(["linkage"], targets=15, seed=seed).results for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first[0].targets == 15


def test_names_and_numbers_that_are_not_are_refused(visits: pl.DataFrame) -> None:
    schema = shoal.Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    with pytest.raises(ParameterError, match="Did you mean 'linkage'"):
        shoal.attack(visits, visits, schema, attacks=["linkag"])
    with pytest.raises(ParameterError, match="targets"):
        shoal.attack(visits, visits, schema, targets=0)
    with pytest.raises(ParameterError, match="known_values"):
        shoal.attack(visits, visits, schema, known_values=[])
    with pytest.raises(ParameterError, match="whose"):
        shoal.attack(visits, visits, schema, whose="guess")
    with pytest.raises(ParameterError, match="attacks must be"):
        shoal.protect(visits, schema, [shoal.KAnonymity(k=2)], attacks=-1)


def test_without_the_original_only_what_the_release_shows_is_tried(visits: pl.DataFrame) -> None:
    schema = shoal.Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    suite = shoal.attack(visits, schema=schema)
    assert {result.attack for result in suite.results} == {"skewness", "trajectory"}
    why = {each.attack: each.why for each in suite.not_tried}
    assert "original" in why["linkage"]
    assert "original" in why["inference"]


def typed_visits(n: int = 120) -> pl.DataFrame:
    """Sensitive values of types that a CSV file writes in its own way."""
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "person": rng.permutation(n),
            "age": rng.integers(20, 60, n),
            "dose": rng.integers(1, 4, n).astype(np.float64),
            "when": [dt.datetime(2024, 1, 1, int(hour)) for hour in rng.integers(0, 4, n)],
            "day": [dt.date(2024, 1, 1 + int(day)) for day in rng.integers(0, 3, n)],
            "ill": rng.random(n) < 0.4,
            "visits": rng.integers(1, 4, n),
        }
    )


@pytest.mark.parametrize("format", ["csv", "xlsx", "sav"])
def test_values_are_the_same_in_whichever_file_they_are_published(tmp_path: Path, format: str) -> None:
    """1.0 in a CSV file is the 1 of a frame: else no attack on values is ever right, and looks harmless."""
    frame = typed_visits()
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["dose", "when", "day", "ill", "visits"])
    if format == "sav":  # which has no truth values
        frame = frame.with_columns(pl.col("ill").cast(pl.Int64))
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=3)], seed=1)
    release.write(tmp_path / "out", format=format, report=False)
    published = read_published(tmp_path / "out" / f"release.{format}", csv=CsvOptions())
    names = ["linkage", "inference"]
    told = {result.name: result.success for result in release.attack(names).results}
    other = OtherRelease(frame=published.frame, schema=schema)
    suite = shoal.attack(published.frame, frame, schema, attacks=[*names, "two-releases"], other=other)
    found = {result.name: result.success for result in suite.results}
    on_values = [name for name in told if "value of" in name or name.startswith("inference")]
    assert len(on_values) == 25
    assert {name: found[name] for name in on_values} == pytest.approx({name: told[name] for name in on_values})
    for name in schema.sensitive:
        assert found[f"two releases, value of {name}"] >= found[f"linkage, all records, value of {name}"] - 1e-9 > 0.3


def test_values_that_are_nobodys_are_warned_of(visits: pl.DataFrame) -> None:
    schema = shoal.Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    other = visits.with_columns(pl.format("other {}", "disease").alias("disease"))
    with pytest.warns(ShoalWarning, match="No value of 'disease' in the release is one of the original's"):
        shoal.attack(other, visits, schema, attacks=["linkage"])


def test_the_gate_looks_at_the_estimate_or_at_the_gain() -> None:
    def result(success: float, blind: float) -> AttackResult:
        return LinkageAttack.result("b", aim="d", successes=success * 100, targets=100, blind=blind)

    suite = SuiteResult((result(0.3, 0.28), result(0.1, 0.0)), ())
    assert [each.success for each in suite.above(0.1)] == [0.3]
    assert [each.success for each in suite.above(0.05, by="gain")] == [0.1]
    assert suite.worst is not None
    assert suite.worst.success == 0.3


def test_every_attack_is_explained() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "attacks.md"
    titles = [line.lower() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert all(any(name.replace("-", " ") in title for title in titles) for name in ATTACKS), titles
