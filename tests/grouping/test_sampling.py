"""A random sample of persons: as many as asked, everybody by the same chance, and known to the risk."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import shoal
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping.sampling import allocated, draw_persons, n_asked

MODELS = [shoal.PersonKAnonymity(k=3)]


def visits(n_persons: int = 400) -> pl.DataFrame:
    person = [p for p in range(n_persons) for _ in range(1 + p % 3)]
    return pl.DataFrame(
        {
            "who": person,
            "age": [20 + p * 7 % 60 for p in person],
            "town": ["a" if p % 10 else "b" for p in person],
            "disease": [f"d{(p + at) % 5}" for at, p in enumerate(person)],
        }
    )


def schema_of(**more: object) -> shoal.Schema:
    return shoal.Schema(person="who", quasi=["age"], sensitive=["disease"], **{"dropped": ["town"], **more})  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any), st.data())
def test_strata_are_drawn_in_proportion(sizes: list[int], data: st.DataObject) -> None:
    least, total = sum(size > 0 for size in sizes), sum(sizes)
    n = data.draw(st.integers(least, total))
    quotas = allocated(np.array(sizes), n).tolist()
    assert sum(quotas) == n
    for quota, size in zip(quotas, sizes, strict=True):
        assert min(size, 1) <= quota <= size
    if all(n * size >= total for size in sizes if size):  # nobody is there only to have one of each stratum
        assert all(abs(quota - Fraction(n * size, total)) < 1 for quota, size in zip(quotas, sizes, strict=True))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 5))
def test_weights_add_up_to_the_table(strata: list[int], seed: int) -> None:
    stratum = np.unique(strata, return_inverse=True)[1]
    drawn = draw_persons(stratum, max(len(strata) // 2, len(set(strata))), np.random.default_rng(seed))
    for number in set(stratum.tolist()):
        there = stratum == number
        assert drawn.weight[there & drawn.is_drawn].sum() == pytest.approx(there.sum())


def test_everybody_is_drawn_by_the_same_chance_and_so_is_every_pair() -> None:
    """Exact moments of 3 of 12 and 2 of 8: chi-square of counts over many draws, at one in a million."""
    stratum, runs, rng = np.repeat([0, 1], [12, 8]), 4000, np.random.default_rng(5)
    times, pairs = np.zeros(20), np.zeros((20, 20))
    for _ in range(runs):
        is_drawn = draw_persons(stratum, 5, rng).is_drawn.astype(float)
        times, pairs = times + is_drawn, pairs + np.outer(is_drawn, is_drawn)
    for here, size, n in ((slice(0, 12), 12, 3), (slice(12, 20), 8, 2)):
        chance, both = n / size, n * (n - 1) / (size * (size - 1))
        spread = runs * (chance - both)  # the variance of a contrast of counts that add up to n
        assert ((times[here] - runs * chance) ** 2 / spread).sum() < chi2.isf(1e-6, size - 1)
        found = pairs[here, here][np.triu_indices(size, 1)] / runs
        assert np.abs(found - both).max() < 6 * (both * (1 - both) / runs) ** 0.5


@pytest.mark.parametrize("wrong", [0, -1, "0.1", "101%", 1.5, True, 401, "0%"])
def test_what_is_no_sample_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError):
        n_asked(wrong, 400)


def test_a_release_has_as_many_persons_as_asked() -> None:
    table = visits()
    release = shoal.protect(table, schema_of(), MODELS, seed=3, sample="25%")
    assert release.risk.persons == 100
    assert release.to_dict()["sampled"] == {"persons": 100, "of": 400, "share": 0.25, "strata": 1}
    assert release.to_dict()["suppressed_persons"] == 0
    again = shoal.protect(table, schema_of(), MODELS, seed=3, sample=100)
    other = shoal.protect(table, schema_of(), MODELS, seed=4, sample=100)
    who = [set(each.table.frame["who"]) for each in (release, again, other)]
    assert who[0] == who[1] != who[2]
    records = table.group_by("who").len()  # all records of whoever was drawn
    drawn = records.filter(pl.col("who").is_in(list(who[0])))
    assert drawn["len"].sum() == len(release.data)


def test_the_risk_of_the_population_reckons_with_it() -> None:
    table = visits()
    release = shoal.protect(table, schema_of(), MODELS, seed=3, sample="25%")
    population = release.risk.population
    assert population is not None
    assert population.population == pytest.approx(400)
    assert population.fraction == pytest.approx(0.25)
    everybody = shoal.protect(table, schema_of(), MODELS, seed=3)
    assert everybody.risk.population is None
    assert population.max_risk < release.risk.prosecutor_risk
    asked = shoal.KMap(k=20, estimator="weights")
    mapped = shoal.protect(table, schema_of(), [asked], seed=3, sample="25%")
    assert mapped.risk.person_k >= 5  # each stands for four
    with pytest.raises(ParameterError, match="needs to know how many persons"):
        shoal.protect(table, schema_of(), [asked], seed=3)


def test_weights_are_multiplied_and_published_where_they_are_kept(tmp_path: Path) -> None:
    table = visits().with_columns(w=pl.lit(3))
    schema = schema_of(weight="w", kept=["w"])
    release = shoal.protect(table, schema, MODELS, seed=3, sample=200)
    assert set(release.data["w"].to_list()) == {6.0}
    kept = shoal.protect(table, schema_of(weight="w"), MODELS, seed=3, sample=200)
    assert "w" not in kept.data.columns
    kept.write(tmp_path / "out", format="parquet")
    weights = pl.read_parquet(tmp_path / "out" / "steward" / "sample.parquet")["weight"]
    assert set(weights.to_list()) == {6.0}
    assert (tmp_path / "out" / "codebook.json").read_text(encoding="utf-8").count('"share": 0.5') == 1


def test_strata_are_those_of_the_schema_and_of_persons() -> None:
    release = shoal.protect(visits(), schema_of(strata=["town"], dropped=[]), MODELS, seed=1, sample="10%")
    assert release.to_dict()["sampled"]["strata"] == 2
    towns = release.table.frame.group_by("who").agg(pl.col("town").first())["town"].value_counts()
    assert dict(towns.iter_rows()) == {"a": 36, "b": 4}
    differing = visits().with_columns(town=pl.int_range(pl.len()) % 2)
    with pytest.raises(SchemaError, match="stratum column 'town' differs"):
        shoal.protect(differing, schema_of(strata=["town"], dropped=[]), MODELS, sample="10%")


def test_who_stays_after_others_were_left_out_keeps_their_weight() -> None:
    table = visits().with_columns(age=pl.when(pl.col("who") < 40).then(900).otherwise(pl.col("age")))
    release = shoal.protect(
        table, schema_of(), [shoal.PersonKAnonymity(k=5)], method="full-domain", max_suppressed="30%", sample="50%",
        seed=2, lowest={"age": 0},
    )  # fmt: skip
    population = release.risk.population
    assert population is not None
    assert population.population == pytest.approx(2 * release.risk.persons)


def test_a_method_that_draws_and_later_records_do_not_go_with_it(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="draws a sample of persons itself"):
        shoal.protect(visits(), schema_of(), [], method="safepub", sample="50%")
    shoal.protect(visits(), schema_of(), MODELS, sample="50%", seed=1).write(tmp_path / "out", format="csv")
    with pytest.raises(ParameterError, match="random sample of persons"):
        shoal.apply(tmp_path / "out", visits(), all_new=True)


def test_a_sample_that_is_too_small_is_refused_by_the_models() -> None:
    with pytest.raises(CannotSatisfyError):
        shoal.protect(visits(), schema_of(), [shoal.PersonKAnonymity(k=20)], sample=10)
