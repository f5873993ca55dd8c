"""Noise, person by person: moments as promised, one draw per person, outliers alone, and the gate."""

from __future__ import annotations

import statistics

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.grouping.grouping import everybody
from shoal.masking.changing import Changing
from shoal.masking.noise import Noise
from shoal.masking.publish import Published
from shoal.measuring.statistics import masked_of, numbers_of
from shoal.publishing.write import codebook
from shoal.table.table import Table

N = 6_000
SCHEMA = shoal.Schema(person="who", quasi=["age", "income"], sensitive=["disease"])


def people(n: int = N, *, seed: int = 99, records: int = 1) -> pl.DataFrame:
    """Persons with two numbers that go together, each in so many records, in which the first number moves on."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n)
    income = 40 * age + rng.normal(0, 500, n)
    visit = np.tile(np.arange(records), n)
    who = np.repeat(np.arange(n), records)
    return pl.DataFrame(
        {
            "who": who, "age": (age[who] + visit).round(3), "income": income[who].round(3),
            "disease": rng.integers(0, 5, n * records),
        }
    )  # fmt: skip


def changed(mask: Changing, table: Table, seed: int = 3) -> Published:
    return mask.publish(table, everybody(table), rng=np.random.default_rng(seed))


def both(mask: Changing, frame: pl.DataFrame, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    table = Table.from_frame(frame, SCHEMA)
    return numbers_of(table), masked_of(table, changed(mask, table, seed))


def covariance(values: np.ndarray) -> np.ndarray:
    return np.cov(values, rowvar=False)


def test_additive_noise_adds_variance_and_no_covariance() -> None:
    before, after = both(Noise(amount=1.5), people())
    grown = covariance(after) / covariance(before)
    assert np.diag(grown) == pytest.approx([3.25, 3.25], rel=0.08)  # sdcMicro: 3.25 at noise = 150
    assert grown[0, 1] == pytest.approx(1.0, abs=0.15)


def test_correlated_noise_keeps_correlations() -> None:
    before, after = both(Noise(kind="correlated", amount=float(np.sqrt(1.5))), people())
    assert covariance(after) / covariance(before) == pytest.approx(np.full((2, 2), 2.5), rel=0.08)  # sdcMicro: 2.5
    assert np.corrcoef(after.T)[0, 1] == pytest.approx(np.corrcoef(before.T)[0, 1], abs=0.02)


@pytest.mark.parametrize("records", [1, 3])
def test_exact_correction_gives_back_means_and_covariances(records: int) -> None:
    before, after = both(Noise(kind="correlated", correction="exact", amount=1.0), people(400, records=records))
    assert after.mean(axis=0) == pytest.approx(before.mean(axis=0), abs=1e-5)
    assert covariance(after) == pytest.approx(covariance(before), rel=1e-6)
    assert np.abs(after - before).mean(axis=0) == pytest.approx(before.std(axis=0) * 0.6, rel=0.35)  # and it is noise


@pytest.mark.parametrize("records", [1, 4])
def test_unbiased_correction_is_so_over_many_draws(records: int) -> None:
    frame = people(60, records=records)
    mask = Noise(kind="correlated", correction="unbiased", amount=1.0)
    pairs = [both(mask, frame, seed) for seed in range(300)]
    mean = np.mean([covariance(after) for _, after in pairs], axis=0)
    spread = np.std([covariance(after) for _, after in pairs], axis=0) / np.sqrt(len(pairs))
    assert (np.abs(mean - covariance(pairs[0][0])) < 4 * spread).all()
    uncorrected = [covariance(both(Noise(kind="correlated", amount=1.0), frame, seed)[1]) for seed in range(20)]
    assert (np.mean(uncorrected, axis=0) - covariance(pairs[0][0]) > 4 * spread).all()  # the test tells them apart


def test_factors_are_one_on_average_and_spread_by_the_amount() -> None:
    before, after = both(Noise(kind="multiplicative", amount=0.4), people(20_000))
    factor = after / before
    assert factor.mean(axis=0) == pytest.approx([1.0, 1.0], abs=0.012)
    assert factor.std(axis=0) == pytest.approx([0.4, 0.4], rel=0.04)
    assert (factor > 0).all()


@pytest.mark.parametrize("kind", ["additive", "correlated"])
def test_all_records_of_a_person_share_one_draw(kind: str) -> None:
    before, after = both(Noise(kind=kind), people(50, records=4))  # type: ignore[arg-type]
    noise = (after - before).reshape(50, 4, 2)
    assert np.abs(noise - noise[:, :1]).max() < 1e-4  # so that no average over records takes it off
    assert np.abs(noise[:, 0]).min() > 0


def test_only_outliers_are_changed() -> None:
    frame = people(500).with_columns(pl.when(pl.col("who") < 5).then(9e5).otherwise(pl.col("income")).alias("income"))
    before, after = both(Noise(only_outliers=True), frame)
    moved = np.abs(after - before) > 1e-9
    assert moved[:5, 1].all()
    for j in range(2):
        middle = statistics.median(before[:, j])
        spread = 1.4826 * statistics.median(abs(x - middle) for x in before[:, j])
        assert moved[:, j].tolist() == [abs(x - middle) > 3 * spread for x in before[:, j]]


def test_a_missing_number_stays_missing_and_correlated_noise_refuses_it() -> None:
    frame = people(30).with_columns(pl.when(pl.col("who") == 7).then(None).otherwise(pl.col("age")).alias("age"))
    before, after = both(Noise(), frame)
    assert np.isnan(after[7, 0])
    assert np.isnan(after).sum() == np.isnan(before).sum() == 1
    with pytest.raises(shoal.errors.SchemaError, match="'age' in 1 of 30 records"):
        both(Noise(kind="correlated"), frame)


def test_dates_ordered_categories_and_padded_codes_stay_what_they_are() -> None:
    frame = pl.DataFrame(
        {
            "born": ["1950-03-01", "1971-11-30", "1984-02-29", "1999-12-31"] * 20,
            "grade": ["low", "middle", "high", "middle"] * 20,
            "income": [1.25, 2.5, 3.75, 9.0] * 20,
        }
    )
    schema = shoal.Schema(quasi=[shoal.Date("born"), shoal.Ordered("grade", order=("low", "middle", "high")), "income"])
    release = shoal.protect(frame, schema, [], mask="noise", amount=0.5, max_linkage=1.0, seed=1)
    assert release.data["born"].str.to_date("%Y-%m-%d").null_count() == 0
    assert set(release.data["grade"]) <= {"low", "middle", "high"}
    fitted = shoal.protect(frame, schema, [], mask="noise", round_to_domain=True, max_linkage=1.0, seed=1)
    assert fitted.data["income"].cast(pl.Float64).is_between(1.25, 9).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"amount": 0}, "adds no noise"),
        ({"correction": "exact"}, "goes with kind = 'correlated'"),
        ({"kind": "correlated", "correction": "exact", "only_outliers": True}, "goes with kind = 'correlated'"),
        ({"columns": ["a,b"]}, "rename it"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(shoal.errors.ParameterError, match=words):
        Noise(**options)  # type: ignore[arg-type]


def test_exact_correction_needs_enough_persons() -> None:
    with pytest.raises(shoal.errors.CannotSatisfyError, match="at least 6"):
        both(Noise(kind="correlated", correction="exact"), people(5))


def test_sensitive_numbers_are_changed_where_they_are_named() -> None:
    frame = people(200).with_columns(pl.col("income").alias("debt"))
    schema = shoal.Schema(person="who", quasi=["age", "income"], sensitive=["debt"], dropped=["disease"])
    release = shoal.protect(frame, schema, [], mask="noise", columns=["age", "income", "debt"], max_linkage=1.0, seed=1)
    assert not set(release.data["debt"]) & set(frame["debt"])
    entry = {entry["name"]: entry for entry in codebook(release, "csv")["columns"]}["debt"]
    assert entry["form"] == "changed"
