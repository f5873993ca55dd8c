"""Differential privacy for persons: the parameters, what is compared, and what neighbouring tables show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, binomtest

import shoal
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping.safepub import SafePub, k_of
from shoal.table.table import Table
from tests.tiers import sized

AGES = shoal.Hierarchy.of_intervals(low=0, width=10, high=79)
SCHEMA = shoal.Schema(person="person", quasi=[shoal.Number("age", AGES), shoal.Nominal("sex")], sensitive=["ill"])


@pytest.mark.parametrize(
    ("epsilon", "beta", "ks"),
    [
        (0.5, 0.3934693402873664, (40, 52, 64, 76, 88)),
        (1.0, 0.6321205588285574, (48, 62, 75, 92, 105)),
        (1.5, 0.77686983985157, (63, 81, 100, 118, 137)),
        (2.0, 0.8646647167633871, (82, 114, 132, 165, 183)),
        (math.log(2), 0.5, (44, 56, 68, 81, 95)),
        (math.log(3), 2 / 3, (51, 66, 82, 93, 109)),
        (0.1, 0.0951625819640, (39, 50, 61)),
    ],
)
def test_k_and_beta_are_those_of_arx(epsilon: float, beta: float, ks: tuple[int, ...]) -> None:
    deltas = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8][: len(ks)]
    assert tuple(k_of(epsilon, delta) for delta in deltas) == ks
    assert SafePub(epsilon=epsilon).beta == pytest.approx(beta)


def shown(n: int, beta: float, k: int) -> np.ndarray:
    """How likely each number of published persons is, of n who are alike: below k nobody is published."""
    chance = binom.pmf(np.arange(n + 1), n, beta)
    return np.concatenate([[chance[:k].sum()], np.zeros(min(k, n + 1) - 1), chance[k:]])[: n + 1]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.5, 1e-2), (2.0, 1e-3)])
def test_the_promise_holds_exactly_for_groups_of_every_size(epsilon: float, delta: float) -> None:
    beta, k = SafePub(epsilon=epsilon).beta, k_of(epsilon, delta)
    for n in range(1, 6 * k):
        with_one, without = shown(n, beta, k), np.append(shown(n - 1, beta, k), 0.0)
        for a, b in ((with_one, without), (without, with_one)):
            assert np.maximum(a - math.exp(epsilon) * b, 0).sum() <= delta * (1 + 1e-9)
    loose = k // 3  # with a k that is too small it would not hold: the check can fail
    worst = max(
        np.maximum(shown(n, beta, loose) - math.exp(epsilon) * np.append(shown(n - 1, beta, loose), 0.0), 0).sum()
        for n in range(1, 6 * k)
    )
    assert worst > delta


def alike(n: int, others: int = 0) -> pl.DataFrame:
    """n persons who are alike, two records each, and others who are not."""
    persons = [f"p{i}" for i in range(n) for _ in range(2)] + [f"q{i}" for i in range(others)]
    return pl.DataFrame(
        {
            "person": persons,
            "age": [33] * (2 * n) + [11] * others,
            "sex": ["f"] * (2 * n + others),
            "ill": ["flu", "cold"] * n + ["flu"] * others,
        }
    )


def published(method: SafePub, table: Table, runs: int) -> np.ndarray:
    """How many persons each of several runs publishes."""
    counts = []
    for run in range(runs):
        try:
            grouping = method.group(table, (), rng=np.random.default_rng(run))
            counts.append(int((grouping.group_of_person >= 0).sum()))
        except CannotSatisfyError:
            counts.append(0)
    return np.array(counts)


def odd_one(n: int) -> pl.DataFrame:
    """Persons who are alike, and one who differs in a value beside: where nobody looks there, they pass for alike."""
    rare = pl.DataFrame({"person": ["z", "z"], "age": [33, 33], "sex": ["f", "f"], "ill": ["flu", "rare"]})
    return pl.concat([alike(n), rare])


FAULTS: dict[str, Any] = {
    "": ("shoal.grouping.safepub.TINY", 1e-9),  # none: as it is
    "everybody is drawn": ("shoal.grouping.safepub.SafePub.beta", property(lambda _: 1.0)),
    "more are drawn": ("shoal.grouping.safepub.SafePub.beta", property(lambda _: 0.97)),
    "nobody is left out": ("shoal.grouping.safepub.SafePub.k", property(lambda _: 1)),
    "counted before the draw": (
        "shoal.grouping.safepub._alike", lambda whole, n, is_drawn: np.bincount(whole, minlength=n)
    ),
    "values beside are not looked at": (
        "shoal.grouping.safepub._beside", lambda table: np.zeros(table.n_persons, np.int64)
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_neighbouring_tables_are_told_apart_no_better_than_promised(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many runs with a person and without: the ratio of chances stays bounded, and every fault breaks the bound.

    Neighbours are looked at where faults show: nobody else is alike, just k are, and many more; and one differs beside.
    """
    method = SafePub(epsilon=1.0, delta=0.05)
    k, runs = method.k, sized(quick=120, long=400, nightly=4_000)
    monkeypatch.setattr(*FAULTS[fault])
    neighbours = [(alike(n, 1), alike(n - 1, 1)) for n in (1, k, round(k / 0.632), 3 * k // 2)]
    neighbours.append((odd_one(3 * k), alike(3 * k)))
    violated = False
    for pair in neighbours:
        found = [published(method, Table.from_frame(frame, SCHEMA), runs) for frame in pair]
        if pair is neighbours[-1]:  # whether the odd one is seen
            found = [runs_with_odd(method, Table.from_frame(frame, SCHEMA), runs) for frame in pair]
        for least in range(1, int(max(each.max() for each in found)) + 1):
            for events in ([each >= least for each in found], [each < least for each in found]):
                for a, b in (events, events[::-1]):
                    low = binomtest(int(a.sum()), runs).proportion_ci(0.99999).low
                    high = binomtest(int(b.sum()), runs).proportion_ci(0.99999).high
                    violated |= low > math.exp(method.epsilon) * high + method.delta
    assert violated == bool(fault)


def runs_with_odd(method: SafePub, table: Table, runs: int) -> np.ndarray:
    """Whether each of several runs publishes somebody with a rare value."""
    rare = np.zeros(table.n_persons, np.bool_)
    rare[table.person_of_record[(table.frame["ill"] == "rare").to_numpy()]] = True
    groupings = (method.group(table, (), rng=np.random.default_rng(run)) for run in range(runs))
    return np.array([int((grouping.group_of_person[rare] >= 0).any()) for grouping in groupings])


def test_what_is_published_of_alike_persons_is_drawn_as_promised() -> None:
    """The numbers of published persons have the distribution that the promise is proved for, and none is below k."""
    method = SafePub(epsilon=1.0, delta=0.05)
    k, beta, runs = k_of(1.0, 0.05), 1 - math.exp(-1.0), sized(quick=300, long=1_000, nightly=10_000)
    n = round(k / beta)  # about half of the runs publish nobody
    counts = published(method, Table.from_frame(alike(n), SCHEMA), runs)
    assert not ((counts > 0) & (counts < k)).any()
    expected = shown(n, beta, k)
    assert binomtest(int((counts == 0).sum()), runs, expected[0]).pvalue > 1e-5
    middle = k + int(np.searchsorted(np.cumsum(expected[k:]), expected[k:].sum() / 2))
    assert binomtest(int((counts > middle).sum()), runs, expected[middle + 1 :].sum()).pvalue > 1e-5


def test_persons_are_drawn_one_by_one_with_the_chance_beta() -> None:
    method = SafePub(epsilon=1.0, delta=0.4)
    n, runs = 60, 200
    counts = published(method, Table.from_frame(alike(n), SCHEMA), runs)
    assert binomtest(int(counts.sum()), n * runs, method.beta).pvalue > 1e-4
    assert counts.var() == pytest.approx(n * method.beta * (1 - method.beta), rel=0.4)


def test_what_is_published_of_a_person_is_compared_as_a_whole() -> None:
    frame = alike(200)
    odd = pl.DataFrame({"person": ["z", "z"], "age": [33, 33], "sex": ["f", "f"], "ill": ["flu", "rare"]})
    once = pl.DataFrame({"person": ["y"], "age": [33], "sex": ["f"], "ill": ["flu"]})
    for seed in range(4):
        release = shoal.protect(
            pl.concat([frame, odd, once]), SCHEMA, [], method="safepub", epsilon=1.0, delta=1e-2, seed=seed
        )
        assert set(release.data["ill"]) == {"flu", "cold"}
        assert release.data["person"].value_counts()["count"].unique().to_list() == [2]


def test_a_release_tells_what_it_promises() -> None:
    asked: Any = {"method": "safepub", "epsilon": 1.0, "delta": 1e-6, "levels": "age=2", "seed": 3}
    release = shoal.protect(alike(300, 5), SCHEMA, [], **asked)
    told: Any = release.to_dict()
    assert (told["epsilon"], told["delta"], told["k"]) == (1.0, 1e-6, 75)
    assert told["beta"] == pytest.approx(0.6321205588285574)
    assert told["levels"] == {"age": 2, "sex": 1}
    assert told["suppressed_persons"] == 305 - told["persons"] >= 305 - told["drawn_persons"]
    assert set(release.data["age"]) == {"20-39"}
    assert [(model.name, model.asked) for model in release.verdict.models] == [("person-k-anonymity", 75.0)]
    again = shoal.protect(alike(300, 5), SCHEMA, [], **asked)
    assert again.risk == release.risk


@pytest.mark.parametrize(
    ("degree", "level"), [("none", 0), ("low", 1), ("low-medium", 2), ("medium", 2), ("medium-high", 2), ("high", 3)]
)
def test_degrees_are_those_of_arx(degree: Any, level: int) -> None:
    assert SafePub(degree=degree)._levels(["age"], [4]) == {"age": level}


def test_what_would_break_the_promise_is_refused() -> None:
    with pytest.raises(CannotSatisfyError, match="Nothing is left to publish"):
        shoal.protect(alike(80), SCHEMA, [], method="safepub", seed=1)
    with pytest.raises(ParameterError, match="epsilon must lie in"):
        SafePub(epsilon=0.0)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        shoal.protect(alike(200), SCHEMA, [], method="safepub", levels={"sex": 2}, seed=1)
    timed = alike(200).with_columns(day=pl.date(2024, 1, 1))
    schema = shoal.Schema(person="person", quasi=["age", "sex"], sensitive=["ill"], time="day")
    with pytest.raises(SchemaError, match="column of times"):
        shoal.protect(timed, schema, [], method="safepub", seed=1)
