"""Mask "perturb": what is unbiased is so over many draws, what is exact in every one, and the paper's form is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Nominal, Ordered, Schema
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking.perturb import Perturb, noise_root
from shoal.measuring.statistics import Moments, linkage_of, masked_of, moments, numbers_of, within_scatter
from shoal.table.table import Table
from tests.measuring.test_statistics import GROUPS_OF_CREST
from tests.tiers import long_but_for

DRAWS = 600
COLUMNS = ["a", "b", "c"]


def example(seed: int = 3, *, most_records: int = 1, n_groups: int = 9) -> tuple[Table, Grouping]:
    """Persons with correlated numbers, in groups of near ones of different sizes."""
    rng = np.random.default_rng(seed)
    n = 45
    values = rng.standard_normal((n, 3)) @ np.array([[1, 0.6, -0.3], [0, 0.8, 0.5], [0, 0, 0.4]])
    values = values[np.argsort(values[:, 0])]
    person = np.repeat(np.arange(n), rng.integers(1, most_records + 1, n))
    drift = rng.standard_normal((len(person), 3)) * (0.2 if most_records > 1 else 0)
    frame = pl.DataFrame((100 * (values[person] + drift)).round(2), schema=COLUMNS).with_columns(
        pl.Series("person", [f"p{number:02d}" for number in person]), pl.Series("disease", ["flu"] * len(person))
    )
    frame = frame.sample(fraction=1, shuffle=True, seed=seed)
    table = Table.from_frame(frame, Schema(person="person", quasi=COLUMNS, sensitive=["disease"]))
    cuts = np.sort(rng.choice(np.arange(1, n), n_groups - 1, replace=False))
    group = np.searchsorted(cuts, np.arange(n), side="right").astype(np.int32)
    return table, Grouping(group, n_groups)


def drawn(noise: str, table: Table, grouping: Grouping, draws: int = DRAWS) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances of many releases."""
    found = [draw(noise, table, grouping, seed) for seed in range(draws)]
    return np.array([one.mean_after for one in found]), np.array([one.covariance_after for one in found])


def draw(noise: str, table: Table, grouping: Grouping, seed: int) -> Moments:
    return moments(table, Perturb(noise=noise).publish(table, grouping, rng=np.random.default_rng(seed)))


def errors_of_means(samples: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How many standard errors the mean of samples is from what is expected."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return np.abs(samples.mean(axis=0) - expected) / error


@pytest.mark.parametrize("most_records", long_but_for([4], [1, 4]))
@pytest.mark.parametrize("noise", ["centred", "rescaled"])
def test_means_and_covariances_are_unbiased(noise: str, most_records: int) -> None:
    table, grouping = example(most_records=most_records)
    before = moments(table, Perturb().publish(table, grouping))
    means, covariances = drawn(noise, table, grouping)
    assert errors_of_means(covariances, before.covariance_before).max() < 4.5
    if noise == "rescaled":
        assert errors_of_means(means, before.mean_before).max() < 4.5


def test_the_published_form_inflates_the_covariance_as_derived() -> None:
    """By (G - 1) / (N - G) (S_x - S_means), where the paper's Theorem 2 says by nothing."""
    table, grouping = example()
    means, covariances = drawn("published", table, grouping)
    values, group = numbers_of(table), grouping.group_of_record(table)
    n, n_groups = len(values), grouping.n_groups
    lost = within_scatter(values, group) / (n - 1)
    original = np.cov(values, rowvar=False)
    inflated = original + (n_groups - 1) / (n - n_groups) * lost
    assert errors_of_means(covariances, inflated).max() < 4.5
    assert errors_of_means(covariances, original).max() > 6
    assert errors_of_means(means, values.mean(axis=0)).max() < 4.5


def test_the_published_form_draws_with_the_papers_covariance() -> None:
    """Equation 11: (N - 1) / (N - G) (S_x - S_means), by hand for two groups of two."""
    table = Table.from_frame(pl.DataFrame({"x": [0, 2, 10, 14]}), Schema(quasi=["x"]))
    grouping = Grouping(np.array([0, 0, 1, 1], np.int32), 2)
    releases = [Perturb(noise="published").publish(table, grouping, rng=np.random.default_rng(s)) for s in range(4000)]
    masked = np.array([masked_of(table, release)[:, 0] for release in releases])
    s_x, s_means = np.var([0, 2, 10, 14], ddof=1), np.var([1, 1, 12, 12], ddof=1)
    assert (4 - 1) / (4 - 2) * (s_x - s_means) == pytest.approx((1 + 1 + 4 + 4) / 2)
    assert masked.var(axis=0) == pytest.approx(np.full(4, 5.0), rel=0.1)
    assert masked.mean(axis=0) == pytest.approx([1, 1, 12, 12], abs=0.2)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([1, 3]), st.integers(1, 20))
def test_centred_noise_leaves_every_group_mean_exact(seed: int, most_records: int, n_groups: int) -> None:
    table, grouping = example(seed, most_records=most_records, n_groups=n_groups)
    masked = masked_of(table, Perturb().publish(table, grouping))
    original, group = numbers_of(table), grouping.group_of_record(table)
    for number in range(n_groups):
        inside = group == number
        assert masked[inside].mean(axis=0) == pytest.approx(original[inside].mean(axis=0), abs=1e-4)
    assert masked.mean(axis=0) == pytest.approx(original.mean(axis=0), abs=1e-4)


@pytest.mark.parametrize("noise", ["centred", "rescaled", "published", "hybrid"])
def test_the_records_of_a_person_share_one_draw(noise: str) -> None:
    table, grouping = example(most_records=5)
    grouping = even_groups(table, 5) if noise == "hybrid" else grouping
    release = Perturb(noise=noise).publish(table, grouping)
    shown = release.frame.group_by("person").agg(pl.col(COLUMNS).n_unique())
    assert len(shown) == table.n_persons
    assert (shown.select(COLUMNS).to_numpy() == 1).all()
    assert release.frame.select(COLUMNS).unique().height == table.n_persons


def test_a_group_of_one_person_gets_no_noise_when_centred() -> None:
    table = Table.from_frame(pl.DataFrame({"x": [1, 2, 9, 30]}), Schema(quasi=["x"]))
    grouping = Grouping(np.array([0, 0, 0, 1], np.int32), 2)
    assert masked_of(table, Perturb().publish(table, grouping))[3, 0] == 30
    assert masked_of(table, Perturb(noise="published").publish(table, grouping))[3, 0] != 30
    alone = Grouping(np.arange(4, dtype=np.int32), 4)
    for noise in ("centred", "published", "rescaled"):
        assert masked_of(table, Perturb(noise=noise).publish(table, alone))[:, 0].tolist() == [1, 2, 9, 30]


def in_groups(table: Table, grouping: Grouping, **options: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """The records of each group, original and masked by hybrid noise."""
    masked = masked_of(table, Perturb(noise="hybrid").publish(table, grouping, **options))
    original, group = numbers_of(table), grouping.group_of_record(table)
    return [(original[group == number], masked[group == number]) for number in range(grouping.n_groups)]


def even_groups(table: Table, n_groups: int) -> Grouping:
    """Neighbours in the first column together, groups of nearly the same size."""
    return Grouping((np.arange(table.n_persons) * n_groups // table.n_persons).astype(np.int32), n_groups)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.sampled_from([1, 3]), st.integers(1, 11))
def test_hybrid_noise_keeps_means_and_covariances_of_every_group(seed: int, most_records: int, n_groups: int) -> None:
    """45 persons in up to 11 groups: four persons are the fewest that three columns allow."""
    table, _ = example(seed, most_records=most_records)
    for original, masked in in_groups(table, even_groups(table, n_groups)):
        assert masked.mean(axis=0) == pytest.approx(original.mean(axis=0), abs=1e-3)
        before, after = np.cov(original, rowvar=False), np.cov(masked, rowvar=False)
        scale = np.sqrt(np.outer(np.diag(before), np.diag(before)))
        assert np.abs(after - before).max() < 1e-3 * scale.max()


def test_hybrid_noise_keeps_means_and_covariances_of_the_table() -> None:
    table, _ = example(3, most_records=4)
    told = moments(table, Perturb(noise="hybrid").publish(table, even_groups(table, 6)))
    assert told.mean_after == pytest.approx(told.mean_before, abs=1e-3)
    assert told.covariance_after == pytest.approx(told.covariance_before, rel=1e-3)


def test_hybrid_noise_moves_everybody_and_turns_every_way() -> None:
    """Over many draws a person's masked values scatter around the mean of the group, not around their own."""
    table, _ = example(5)
    grouping = even_groups(table, 4)
    draws = [in_groups(table, grouping, rng=np.random.default_rng(seed))[0] for seed in range(300)]
    original = draws[0][0]
    masked = np.array([one[1] for one in draws])
    error = masked.std(axis=0, ddof=1) / np.sqrt(len(masked))
    assert (np.abs(masked.mean(axis=0) - original.mean(axis=0)) / error).max() < 4.5
    assert masked.std(axis=0).min() > 0.5 * original.std(axis=0).min()


def test_hybrid_noise_is_refused_where_a_covariance_is_singular() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, 1000, (2, 40))
    group = (np.arange(40) // 10).astype(np.int32)
    flag = (rng.random(40) < 0.5).astype(int)
    flag[group == 2] = 1
    cases = {
        "follows": ({"x": x, "y": y, "sum": x + y}, group, r"Of 4 groups 0 have .* \(3\), and in 4 others"),
        "constant in one": ({"x": x, "flag": flag}, group, r"Of 4 groups 0 have .* \(2\), and in 1 others"),
        "too few": ({"x": x, "y": y, "flag": flag}, np.arange(40) // 3, r"Of 14 groups 14 have no more persons"),
    }
    for columns, groups, message in cases.values():
        table = Table.from_frame(pl.DataFrame(columns), Schema(quasi=[*columns]))
        grouping = Grouping(groups.astype(np.int32), int(groups.max()) + 1)
        with pytest.raises(CannotSatisfyError, match=message):
            Perturb(noise="hybrid").publish(table, grouping)


def test_a_column_that_is_the_same_for_all_is_no_obstacle_to_hybrid_noise() -> None:
    rng = np.random.default_rng(8)
    table = Table.from_frame(pl.DataFrame({"x": rng.integers(0, 99, 30), "one": [7] * 30}), Schema(quasi=["x", "one"]))
    masked = masked_of(table, Perturb(noise="hybrid").publish(table, Grouping(np.zeros(30, np.int32), 1)))
    assert (masked[:, 1] == 7).all()
    assert (masked[:, 0] != numbers_of(table)[:, 0]).mean() > 0.9
    all_the_same = Table.from_frame(pl.DataFrame({"one": [7] * 30}), Schema(quasi=["one"]))
    release = Perturb(noise="hybrid").publish(all_the_same, Grouping(np.zeros(30, np.int32), 1))
    assert (masked_of(all_the_same, release) == 7).all()


def test_a_seed_repeats_the_noise_and_no_seed_does_not() -> None:
    table, grouping = example()
    one, two = (masked_of(table, Perturb().publish(table, grouping, rng=np.random.default_rng(5))) for _ in range(2))
    assert (one == two).all()
    three, four = (masked_of(table, Perturb().publish(table, grouping)) for _ in range(2))
    assert (three != four).mean() > 0.9  # all but those of a person who is alone


def test_the_order_of_records_does_not_matter_to_the_noise() -> None:
    table, grouping = example(most_records=3)
    turned = Table.from_frame(table.frame.reverse(), table.schema)
    one = Perturb().publish(table, grouping, rng=np.random.default_rng(5))
    other = Perturb().publish(turned, grouping, rng=np.random.default_rng(5))
    assert masked_of(turned, other)[::-1] == pytest.approx(masked_of(table, one), abs=1e-3)


def test_secret_noise_is_standard_normal() -> None:
    frame = pl.DataFrame({"x": np.tile([0, 2], 10_000)})
    table = Table.from_frame(frame, Schema(quasi=["x"]))
    release = Perturb(noise="rescaled").publish(table, Grouping(np.zeros(20_000, np.int32), 1))
    masked = masked_of(table, release)[:, 0]
    assert masked.mean() == pytest.approx(1, abs=0.05)
    assert masked.std() == pytest.approx(1, abs=0.05)
    assert np.mean(np.abs(masked - 1) < 1.96) == pytest.approx(0.95, abs=0.01)


def test_a_singular_covariance_is_no_obstacle() -> None:
    """A constant, a column twice, and a sum of two: noise keeps to the same plane."""
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, 1000, (2, 30))
    frame = pl.DataFrame({"x": x, "twice": 2 * x, "sum": x + y, "y": y, "constant": [7] * 30})
    table = Table.from_frame(frame, Schema(quasi=frame.columns))
    grouping = Grouping((np.arange(30) // 5).astype(np.int32), 6)
    masked = masked_of(table, Perturb().publish(table, grouping))
    assert masked[:, 1] == pytest.approx(2 * masked[:, 0], abs=0.05)
    assert masked[:, 2] == pytest.approx(masked[:, 0] + masked[:, 3], abs=0.05)
    assert (masked[:, 4] == 7).all()


def test_the_root_squares_to_the_covariance() -> None:
    half = np.random.default_rng(1).standard_normal((4, 2))
    root = noise_root(half @ half.T * 5, 5.0)
    assert root @ root == pytest.approx(half @ half.T)
    assert (noise_root(np.eye(3), 0.0) == 0).all()


def test_the_noise_of_sixty_points_in_the_groups_of_a_class_restricted_tree() -> None:
    """The diagonal of S = W / (N - G), by the variance of many draws."""
    values = np.stack([np.arange(1, 61) * np.sqrt(p) % 1 for p in (2, 3, 5)], axis=1)
    table = Table.from_frame(pl.DataFrame(values, schema=COLUMNS), Schema(quasi=COLUMNS))
    grouping = Grouping(np.array(GROUPS_OF_CREST, np.int32), 8)
    mask = Perturb(noise="published")
    masked = np.array(
        [masked_of(table, mask.publish(table, grouping, rng=np.random.default_rng(seed))) for seed in range(300)]
    )
    found = masked.var(axis=0, ddof=1).mean(axis=0)
    assert found == pytest.approx([0.030108437, 0.036065326, 0.023276902], rel=0.05)


def mixed() -> tuple[Table, Grouping]:
    frame = pl.DataFrame(
        {
            "age": [20, 25, 31, 40, 44, 52],
            "weight": [50.5, 61.5, 70.0, 80.0, 90.5, 99.0],
            "code": ["01001", "01005", "01010", "02000", "02005", "02009"],
            "long": [1 / 3, 2 / 3, 4 / 3, 5 / 3, 7 / 3, 8 / 3],
            "grade": ["low", "low", "mid", "mid", "high", "high"],
            "day": pl.Series(["2024-01-01", "2024-01-03", "2024-01-09"] * 2).str.to_date(),
            "city": ["x", "x", "y", "z", "z", "y"],
            "disease": ["flu"] * 6,
        }
    )
    grade = Ordered("grade", order=("low", "mid", "high"))
    schema = Schema(quasi=["age", "weight", "code", "long", grade, "day", Nominal("city")], sensitive=["disease"])
    return Table.from_frame(frame, schema), Grouping(np.array([0, 0, 0, 1, 1, 1], np.int32), 2)


def test_what_each_kind_of_column_shows() -> None:
    table, grouping = mixed()
    frame = Perturb(noise="published").publish(table, grouping, rng=np.random.default_rng(1)).frame
    assert frame.columns == table.frame.columns
    assert frame["age"].dtype == frame["code"].dtype == frame["long"].dtype == pl.Float64
    assert (frame["age"] == frame["age"].round(2)).all()
    assert (frame["age"] != frame["age"].round(0)).any()
    assert (frame["weight"] == frame["weight"].round(3)).all()
    assert set(frame["grade"]) <= {"low", "mid", "high"}
    assert frame["day"].cast(pl.String).str.to_date("%Y-%m-%d").null_count() == 0
    assert sorted(frame["city"]) == ["x"] * 3 + ["z"] * 3


def test_rounding_to_the_domain() -> None:
    table, grouping = mixed()
    for seed in range(20):
        mask = Perturb(noise="published", round_to_domain=True)
        frame = mask.publish(table, grouping, rng=np.random.default_rng(seed)).frame
        assert frame["age"].dtype == pl.Int64
        assert frame["age"].is_between(20, 52).all()
        assert frame["weight"].is_between(50.5, 99.0).all()
        assert (frame["weight"] == frame["weight"].round(1)).all()
        assert frame["code"].cast(pl.String).str.contains(r"^0\d{4}$").all()
        assert frame["long"].is_between(0.333333, 2.66667).all()
        assert frame["day"].cast(pl.String).is_between(pl.lit("2024-01-01"), pl.lit("2024-01-09")).all()


def test_what_rounding_does_to_the_moments_can_be_told() -> None:
    """Few values far from the others: clipping pulls what noise pushed below 0 up to it."""
    values = [0] * 36 + [100] * 4
    table = Table.from_frame(pl.DataFrame({"x": values}), Schema(quasi=["x"]))
    grouping = Grouping(np.zeros(40, np.int32), 1)
    told: list[Any] = []
    for rounds in (False, True):
        release = Perturb(round_to_domain=rounds).publish(table, grouping, rng=np.random.default_rng(0))
        told.append(moments(table, release))
    assert told[0].mean_after == pytest.approx(told[0].mean_before, abs=0.01)
    assert told[1].mean_after[0] > told[1].mean_before[0] + 3


def test_masked_records_are_harder_to_link() -> None:
    table, grouping = example(n_groups=3)
    found = linkage_of(table, Perturb().publish(table, grouping, rng=np.random.default_rng(0)))
    assert found.n == table.n_persons
    assert found.rate < 0.5


def test_missing_numbers_are_refused_by_name_and_count() -> None:
    frame = pl.DataFrame({"age": [1, None, 3], "weight": [None, None, 2.5], "city": ["a", None, "b"]})
    table = Table.from_frame(frame, Schema(quasi=["age", "weight", "city"]))
    with pytest.raises(SchemaError, match="'age' in 1, 'weight' in 2 of 3 records"):
        Perturb().publish(table, Grouping(np.zeros(3, np.int32), 1))


def test_a_table_without_numbers_is_refused() -> None:
    table = Table.from_frame(pl.DataFrame({"city": ["a", "b"]}), Schema(quasi=["city"]))
    with pytest.raises(SchemaError, match="no quasi-identifier is one"):
        Perturb().publish(table, Grouping(np.zeros(2, np.int32), 1))


def test_options_are_checked() -> None:
    with pytest.raises(ParameterError, match="noise must be"):
        Perturb(noise="uniform")
    with pytest.raises(ParameterError, match="round_to_domain"):
        Perturb(round_to_domain="yes")  # type: ignore[arg-type]


# --- other distributions than the normal ------------------------------------------------------------------------------

SHAPES = {"normal": 3.0, "uniform": 1.8, "laplace": 6.0}
"""The fourth moment of a draw, of which the variance is 1."""


@pytest.mark.parametrize("most_records", long_but_for([4], [1, 4]))
@pytest.mark.parametrize("noise", long_but_for(["centred"], ["centred", "rescaled"]))
@pytest.mark.parametrize("distribution", ["uniform", "laplace", "residuals"])
def test_every_distribution_keeps_the_covariance(distribution: str, noise: str, most_records: int) -> None:
    table, grouping = example(most_records=most_records)
    mask = Perturb(noise=noise, distribution=distribution)
    found = [moments(table, mask.publish(table, grouping, rng=np.random.default_rng(s))) for s in range(DRAWS)]
    assert errors_of_means(np.array([one.covariance_after for one in found]), found[0].covariance_before).max() < 4.5
    means = np.array([one.mean_after for one in found])
    if noise == "centred":
        assert means == pytest.approx(np.tile(found[0].mean_before, (DRAWS, 1)), abs=1e-3)
    else:
        assert errors_of_means(means, found[0].mean_before).max() < 4.5


def one_column(n: int) -> tuple[Table, Grouping]:
    """Numbers in one group, so that nothing but noise is shown of them."""
    values = np.random.default_rng(1).integers(0, 10_000, n)
    table = Table.from_frame(pl.DataFrame({"x": values}), Schema(quasi=["x"]))
    return table, Grouping(np.zeros(n, np.int32), 1)


@pytest.mark.parametrize("is_secret", [False, True])
@pytest.mark.parametrize("distribution", sorted(SHAPES))
def test_the_shape_of_a_distribution(distribution: str, is_secret: bool) -> None:
    table, grouping = one_column(40_000)
    mask = Perturb(noise="published", distribution=distribution)
    rng = None if is_secret else np.random.default_rng(5)
    shown = masked_of(table, mask.publish(table, grouping, rng=rng))[:, 0]
    draws = (shown - numbers_of(table).mean()) / numbers_of(table).std(ddof=1)
    assert draws.mean() == pytest.approx(0, abs=0.03)
    assert (draws**2).mean() == pytest.approx(1, abs=0.04)
    assert (draws**4).mean() == pytest.approx(SHAPES[distribution], rel=0.12)
    if distribution == "uniform":
        assert np.abs(draws).max() < np.sqrt(3) + 1e-4


def test_residuals_are_those_of_somebody() -> None:
    """By the definition: mean of the group plus the residual of a record drawn, times the root of N / (N - G)."""
    table, grouping = example()
    values, group = numbers_of(table), grouping.group_of_record(table)
    means = np.stack([values[group == g].mean(axis=0) for g in range(grouping.n_groups)])[group]
    factor = np.sqrt(len(values) / (len(values) - grouping.n_groups))
    possible = factor * (values - means)
    for rng in (None, np.random.default_rng(4)):
        mask = Perturb(noise="published", distribution="residuals")
        drawn_noise = masked_of(table, mask.publish(table, grouping, rng=rng)) - means
        away = np.abs(drawn_noise[:, None, :] - possible[None, :, :]).max(axis=2)
        assert away.min(axis=1).max() < 0.001
        assert len(set(away.argmin(axis=1))) > 15


def test_residuals_of_a_column_that_follows_from_others() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 50, 40), rng.integers(0, 50, 40)
    table = Table.from_frame(
        pl.DataFrame({"a": a, "b": b, "sum": a + b, "one": 1}), Schema(quasi=["a", "b", "sum", "one"])
    )
    grouping = even_groups(table, 8)
    masked = masked_of(table, Perturb(distribution="residuals").publish(table, grouping))
    assert masked[:, 2] == pytest.approx(masked[:, 0] + masked[:, 1], abs=0.02)
    assert (masked[:, 3] == 1).all()


def test_residuals_do_not_go_with_hybrid_noise() -> None:
    with pytest.raises(ParameterError, match="residuals that are drawn twice"):
        Perturb(noise="hybrid", distribution="residuals")
