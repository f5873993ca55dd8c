"""Rank swapping, record swapping, shuffling and individual ranking: what stays exactly, and how far values may move."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import shoal
from shoal.grouping.grouping import everybody
from shoal.kernels.swapping import swap_apart, swap_near
from shoal.masking.changing import Changing
from shoal.masking.individual_ranking import IndividualRanking, ranked_groups
from shoal.masking.rank_swap import RankSwap
from shoal.masking.record_swap import RecordSwap
from shoal.masking.shuffle import Shuffle
from shoal.table.table import Table
from tests.naive import changing as naive

SCHEMA = shoal.Schema(person="who", quasi=["age", "income"], sensitive=["disease"])


def people(n: int, *, records: int = 1) -> pl.DataFrame:
    """Persons with two numbers and a disease that go together; in each further record a year has passed."""
    rng = np.random.default_rng(99)
    age = rng.normal(50, 12, n).round(2)
    income = (40 * age + rng.normal(0, 400, n)).round(1)
    disease = np.where(age + rng.normal(0, 6, n) > 55, "gout", "flu")
    who = np.repeat(np.arange(n), records)
    visit = np.tile(np.arange(records), n)
    return pl.DataFrame({"who": who, "age": age[who] + visit, "income": income[who], "disease": disease[who]})


def changed(mask: Changing, frame: pl.DataFrame, schema: shoal.Schema = SCHEMA, *, seed: int = 3) -> pl.DataFrame:
    """What is published, in the order of the table."""
    table = Table.from_frame(frame, schema)
    published = mask.publish(table, everybody(table), rng=np.random.default_rng(seed))
    return published.frame[np.argsort(published.record_of_published).tolist()]


# --- rank swapping ---------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 10_000))
def test_ranks_are_swapped_as_defined(n: int, farthest: int, seed: int) -> None:
    chance = np.random.default_rng(seed).random(n)
    partner = swap_near(n, farthest, chance)
    assert partner.tolist() == naive.swap_near(n, farthest, chance.tolist())
    assert partner[partner].tolist() == list(range(n))  # swaps, each with one other


@pytest.mark.parametrize("within", [0.05, 0.3])
def test_no_value_moves_farther_than_asked_and_none_is_lost(within: float) -> None:
    frame = people(2_000)
    after = changed(RankSwap(within=within), frame)
    for name in ("age", "income"):
        assert sorted(after[name]) == sorted(frame[name])
        order = np.sort(frame[name])
        moved = np.abs(np.searchsorted(order, after[name]) - np.searchsorted(order, frame[name]))
        assert moved.max() <= within * 2_000 + Counter(frame[name]).most_common(1)[0][1]
        assert within * 0.35 < moved.mean() / 2_000 < within * 0.65  # sdcMicro at 5 %: 2.74 %
    lost = [np.corrcoef(each["age"], each["income"])[0, 1] for each in (frame, after)]
    assert lost[0] - lost[1] < (0.06 if within == 0.05 else 0.5)


def test_records_with_one_value_of_a_person_get_one() -> None:
    frame = people(200, records=3).with_columns(pl.col("who").alias("own"))
    after = changed(RankSwap(within=0.2), frame.drop("own")).with_columns(frame["own"])
    assert after.group_by("own").agg(pl.col("income").n_unique())["income"].max() == 1
    assert sorted(after["income"]) == sorted(frame["income"])
    assert sorted(after["age"]) == sorted(frame["age"])  # everybody has three ages here


def test_missing_values_and_dates_stay_what_they_are() -> None:
    frame = pl.DataFrame({
        "born": [None, "1950-03-01", "1971-11-30", "1984-02-29", "1999-12-31"] * 20,
        "zip": [None, "02139", "10001", "94016", "60601"] * 20,
    })  # fmt: skip
    schema = shoal.Schema(quasi=[shoal.Date("born"), shoal.Number("zip")])
    for mask in (RankSwap(within=0.3), Shuffle()):
        after = changed(mask, frame, schema)
        for name in frame.columns:
            assert (after[name].is_null() == frame[name].is_null()).all()
            assert sorted(after[name].drop_nulls()) == sorted(frame[name].drop_nulls())
            assert (after[name] != frame[name]).any()


# --- shuffling -------------------------------------------------------------------------------------------------------


def test_shuffling_keeps_values_exactly_and_rank_correlations() -> None:
    frame = people(4_000)
    after = changed(Shuffle(), frame)
    gout = (frame["disease"] == "gout").to_numpy()
    for name in ("age", "income"):
        assert sorted(after[name]) == sorted(frame[name])
    before, now = (spearmanr(each["age"], each["income"]).statistic for each in (frame, after))
    assert now == pytest.approx(before, abs=0.03)
    before, now = (spearmanr(each["age"], gout).statistic for each in (frame, after))
    assert now == pytest.approx(before, abs=0.04)  # with what stands beside
    apart = spearmanr(changed(Shuffle(beside=[]), frame)["age"], gout).statistic
    assert abs(apart) < 0.1  # and not with what does not


def test_a_shuffled_value_does_not_depend_on_the_own_one() -> None:
    frame = people(4_000).with_columns(pl.lit("flu").alias("disease"))
    after = changed(Shuffle(), frame)
    assert abs(spearmanr(after["age"], frame["age"]).statistic) < 0.06
    release = shoal.protect(frame, SCHEMA, [], mask="shuffle", max_linkage=0.01, seed=4)
    assert release.linkage is not None
    assert release.linkage.rate < 0.005


def test_records_of_a_person_are_shuffled_together() -> None:
    frame = people(300, records=3).with_columns(pl.col("who").alias("own"))
    after = changed(Shuffle(), frame.drop("own")).with_columns(frame["own"])
    assert after.group_by("own").agg(pl.col("income").n_unique())["income"].max() == 1
    assert sorted(after["age"]) == sorted(frame["age"])
    grows = after.with_columns(frame["age"].alias("own_age")).sort("own", "own_age")
    assert (grows.group_by("own", maintain_order=True).agg((pl.col("age").diff().drop_nulls() >= 0).all())["age"]).all()


def test_what_stands_beside_must_be_fit() -> None:
    frame = people(100)
    with pytest.raises(shoal.errors.ParameterError, match="shuffled itself"):
        changed(Shuffle(beside="age"), frame)
    with pytest.raises(shoal.errors.SchemaError, match="100 categories"):
        changed(Shuffle(beside="disease"), frame.with_columns(pl.format("d{}", pl.col("who")).alias("disease")))


# --- individual ranking ----------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), min_size=1, max_size=40), st.integers(2, 5))
def test_ranked_groups_are_as_defined(persons: list[tuple[int, int]], size: int) -> None:
    values = np.array([value + place / 1000 for place, (value, _) in enumerate(persons)])
    stratum = np.unique([each for _, each in persons], return_inverse=True)[1].reshape(-1)
    group = ranked_groups(values, stratum, size)
    found = [set(np.flatnonzero(group == one).tolist()) for one in range(group.max() + 1)]
    assert found == naive.ranked_groups(values.tolist(), stratum.tolist(), size)


@pytest.mark.parametrize("records", [1, 2])
def test_means_are_exact_and_shared_by_enough_persons(records: int) -> None:
    frame = people(500, records=records)
    after = changed(IndividualRanking(size=7), frame)
    for name in ("age", "income"):
        assert after[name].mean() == pytest.approx(frame[name].mean(), abs=1e-4)
        shown = after.with_columns(frame["who"].alias("own")).group_by(name).agg(pl.col("own").n_unique())
        assert shown["own"].min() >= 7  # type: ignore[operator]
        parts = frame.with_columns(after[name].alias("shown")).group_by("shown").agg(pl.col(name).mean())
        assert (parts["shown"] - parts[name]).abs().max() < 1e-3  # type: ignore[operator]


def test_strata_are_kept_apart() -> None:
    frame = people(300)
    schema = shoal.Schema(person="who", quasi=["age"], sensitive=["disease"], dropped=["income"])
    after = changed(IndividualRanking(size=5, strata="disease"), frame, schema)
    own, now = (each.group_by("disease").agg(pl.col("age").mean()).sort("disease") for each in (frame, after))
    assert now["age"].to_list() == pytest.approx(own["age"].to_list(), abs=1e-4)
    few = frame.with_columns(
        pl.when(pl.col("who") < 3).then(pl.lit("rare")).otherwise(pl.col("disease")).alias("disease")
    )
    with pytest.raises(shoal.errors.CannotSatisfyError, match="3 persons in a stratum"):
        changed(IndividualRanking(size=5, strata="disease"), few, schema)


# --- record swapping -------------------------------------------------------------------------------------------------

HOMES = shoal.Schema(
    person="who", quasi=[shoal.Nominal("land"), shoal.Nominal("town"), "age"], sensitive=["disease"], household="home"
)

TOWNS = shoal.Schema(
    person="who", quasi=[shoal.Nominal("town"), "age"], sensitive=["disease"], household="home", dropped=["land"]
)


def homes(n: int = 400) -> pl.DataFrame:
    """Households of one to four, in towns of lands; some persons have two records."""
    rng = np.random.default_rng(99)
    size = rng.integers(1, 5, n)
    town = rng.integers(0, 12, n)
    home = np.repeat(np.arange(n), size)
    who = np.arange(len(home))
    age = rng.integers(0, 90, len(home))
    twice = rng.random(len(home)) < 0.2
    person = np.concatenate([who, who[twice]])
    return pl.DataFrame({
        "who": person, "home": home[person], "town": [f"t{each}" for each in town[home[person]]],
        "land": [f"l{each % 3}" for each in town[home[person]]], "age": age[person],
        "disease": rng.choice(["flu", "gout"], len(person)),
    })  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), max_size=25), st.integers(0, 25), st.integers(0, 30),
    st.integers(0, 999),
)  # fmt: skip
def test_pairs_are_made_as_defined(places: list[tuple[int, int]], n_first: int, quota: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = np.sort(np.array([each for each, _ in places], np.int64))
    region = np.array([each for _, each in places], np.int64)
    turn, chance = rng.permutation(len(places)), rng.random(len(places))
    start, end = np.searchsorted(classes, classes), np.searchsorted(classes, classes, side="right")
    found = swap_apart(start, end, region, turn, min(n_first, len(places)), quota, chance)
    assert found.tolist() == naive.swap_apart(
        classes.tolist(), region.tolist(), turn.tolist(), n_first, quota, chance.tolist()
    )


@pytest.mark.parametrize("region", ["town", "land,town"])
@pytest.mark.parametrize("similar", [None, "disease"])
def test_regions_keep_their_counts_and_households_stay_together(region: str, similar: str | None) -> None:
    frame = homes()
    mask = RecordSwap(region=region, similar=similar, rate=0.3, at_risk=2)
    after = changed(mask, frame, HOMES if region != "town" else TOWNS)
    after = after.with_columns(frame["home"], frame["who"].alias("own"))
    names = region.split(",")
    for counted in (pl.len(), pl.col("who").n_unique()):
        own, now = (each.group_by(names).agg(counted.alias("n")).sort(names) for each in (frame, after))
        assert own.equals(now)  # records and persons of every region
    assert after.group_by("home").agg(pl.struct(names).n_unique())[names[0]].max() == 1
    assert after["age"].equals(frame["age"])
    moved = after.filter(pl.col("town") != frame["town"])["home"].n_unique() / 400
    assert moved >= (0.3 if similar is None else 0.05)
    if similar is not None:  # both regions have the same households in it, by what their members have there
        mark = pl.col("disease").sort().str.join(",")
        own, now = (each.group_by("home").agg(mark, pl.col("town").first()) for each in (frame, after))
        assert Counter(own.select("disease", "town").rows()) == Counter(now.select("disease", "town").rows())


def test_those_at_risk_are_swapped_first() -> None:
    frame = homes(600)
    after = changed(RecordSwap(region="town", rate=0.0, at_risk=2), frame, TOWNS)
    few = frame.group_by("town", "age").agg(pl.col("who").n_unique().alias("n")).filter(pl.col("n") < 2)
    risky = set(frame.join(few, on=["town", "age"], how="semi")["home"])
    moved = set(frame.filter(after["town"] != frame["town"])["home"])
    assert len(moved & risky) > 0.9 * len(risky)
    safe = RecordSwap(region="town", rate=0.2, at_risk=1)  # nobody is at risk: as many as asked, by chance
    moved = set(frame.filter(changed(safe, frame, TOWNS)["town"] != frame["town"])["home"])
    assert 0.2 <= len(moved) / 600 < 0.21


def test_a_coarse_region_is_left_only_by_those_at_risk_in_it() -> None:
    frame = homes(600).with_columns(pl.lit(1).alias("age"))  # nobody is rare in a land
    frame = frame.with_columns(pl.when(pl.col("home") < 3).then(99).otherwise(1).alias("age"))
    after = changed(RecordSwap(region=["land", "town"], rate=0.3, at_risk=13), frame, HOMES)
    left = set(frame.filter(after["land"] != frame["land"])["home"])
    assert {0, 1, 2} <= left
    assert len(left) <= 6  # they, and with whom they were swapped
    assert len(set(frame.filter(after["town"] != frame["town"])["home"])) >= 180


def test_a_region_must_be_named() -> None:
    with pytest.raises(shoal.errors.ParameterError, match="region="):
        changed(RecordSwap(), homes(), HOMES)
    with pytest.raises(shoal.errors.ParameterError, match="within = 0"):
        RankSwap(within=0.0)
