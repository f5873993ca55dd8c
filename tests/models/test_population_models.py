"""Models of samples and populations: equal to their definitions, met by releases, refused where nothing is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.judging import suda
from shoal.judging.population_table import PopulationTable
from shoal.models import Model
from shoal.models.counts import IN_POPULATION, WEIGHTS, GroupCounts, PopulationCounts
from tests.naive import population as naive

SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("sex")])
WEIGHTED = shoal.Schema(quasi=["age", shoal.Nominal("sex")], weight="w")


def town(n: int = 400, seed: int = 3) -> pl.DataFrame:
    """Everybody of a town."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n)})


def drawn(n: int = 40) -> pl.DataFrame:
    """Every tenth of them."""
    return town().gather_every(10).head(n)


def counts(persons: list[int], *, population: list[int] | None = None, weights: list[float] | None = None,
           outside: int = 0) -> GroupCounts:  # fmt: skip
    """Groups of persons, with what fits them."""
    own = np.array(persons)
    known = PopulationCounts(
        persons=None if population is None else np.array(population), outside=outside,
        weights=None if weights is None else np.array(weights),
    )  # fmt: skip
    return GroupCounts(
        persons=own, records=own, squared_records=own, most_records=np.ones_like(own), population=known,
        known=GroupCounts.__dataclass_fields__["known"].default | IN_POPULATION | WEIGHTS,
    )  # fmt: skip


def test_each_model_at_its_threshold() -> None:
    groups = counts([2, 3], population=[5, 6], weights=[20.0, 30.0])
    assert shoal.KMap(k=5).holds(groups).all()
    assert not shoal.KMap(k=6).holds(groups).all()
    assert shoal.KMap(k=20, estimator="weights").holds(groups).all()
    assert not shoal.KMap(k=21, estimator="weights").holds(groups).all()
    assert shoal.DeltaPresence(low="2/5", high="1/2").holds(groups).all()
    assert shoal.DeltaPresence(high="0.49").holds(groups).tolist() == [True, False]
    assert shoal.DeltaPresence(low="0.41", high=1).holds(groups).tolist() == [False, True]
    assert shoal.AverageRisk(r="2/5").holds(groups).all()
    assert not shoal.AverageRisk(r="0.39").holds(groups).any()


def test_whom_no_group_shows_is_in_the_table_with_no_chance() -> None:
    groups = counts([2], population=[4], outside=1)
    assert shoal.DeltaPresence(high=0.5).holds(groups).all()
    assert not shoal.DeltaPresence(low=0.1, high=0.5).holds(groups).any()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.floats(1, 50)), min_size=1, max_size=6))
def test_expected_reidentifications_are_the_sum_of_individual_risks(groups: list[tuple[int, float]]) -> None:
    told = counts([f for f, _ in groups], weights=[f * more for f, more in groups])
    expected = sum(f * naive.expected_inverse(1, f, f * more) for f, more in groups)
    reached = shoal.ExpectedReidentifications(n=5).reached(told)
    assert reached == pytest.approx([expected] * len(groups), rel=1e-5)


def test_population_uniqueness_takes_its_estimator() -> None:
    sizes = [1, 1, 1, 2, 2, 3, 5]
    told = counts(sizes, weights=[10.0 * size for size in sizes])
    by_zayatz = shoal.PopulationUniqueness(share=0.1, estimator="zayatz").reached(told)[0]
    assert by_zayatz == pytest.approx(naive.zayatz(sizes, 150) / 150)
    assert shoal.PopulationUniqueness(share=0.1, estimator="zayatz", fraction=0.1).reached(told)[0] == by_zayatz
    assert shoal.PopulationUniqueness(share=0).holds(counts([2, 3], weights=[20.0, 30.0])).all()
    assert shoal.PopulationUniqueness(share=0).holds_by_bound(counts([2, 3])).all()
    assert not shoal.PopulationUniqueness(share=0).holds_by_bound(counts([1, 3])).any()


@pytest.mark.parametrize(
    ("estimator", "fraction", "k"), [("poisson", 0.01, 3), ("poisson", 0.1, 5), ("zero-truncated", 0.01, 3),
                                     ("zero-truncated", 0.1, 4)],
)  # fmt: skip
def test_k_map_derives_the_persons_that_arx_derives(estimator: str, fraction: float, k: int) -> None:
    model = shoal.KMap(k=5, estimator=estimator, fraction=fraction)
    assert model.least_persons == k
    assert model.holds(counts([k - 1, k])).tolist() == [False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: shoal.KMap(k=0),
        lambda: shoal.KMap(k=5, estimator="guess"),
        lambda: shoal.KMap(k=5, estimator="poisson"),
        lambda: shoal.KMap(k=5, estimator="weights", population=town()),
        lambda: shoal.KMap(k=5, estimator="poisson", fraction=2),
        lambda: shoal.DeltaPresence(high=0),
        lambda: shoal.DeltaPresence(low=0.6, high=0.5),
        lambda: shoal.AverageRisk(r=0),
        lambda: shoal.AverageRisk(r=2),
        lambda: shoal.ExpectedReidentifications(n=0),
        lambda: shoal.ExpectedReidentifications(n="many"),
        lambda: shoal.PopulationUniqueness(share=2),
        lambda: shoal.PopulationUniqueness(share=0.1, estimator="best"),
        lambda: shoal.PopulationUniqueness(share=0.1, fraction=0),
    ],
)
def test_a_half_valid_model_does_not_exist(wrong: object) -> None:
    with pytest.raises(ParameterError):
        wrong()  # type: ignore[operator]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(2, 12), st.integers(0, 5))
def test_persons_who_fit_what_a_release_shows_are_counted(n: int, k: int, seed: int) -> None:
    population, sample = town(200, seed), town(200, seed).head(max(n, k))
    release = shoal.protect(sample, SCHEMA, [shoal.PersonKAnonymity(k=k)], seed=1, measure_input=False)
    groups = release.data.unique(maintain_order=True)
    found, outside = PopulationTable.of(population, SCHEMA).fitting(groups, SCHEMA, form="generalized")
    fits = []
    for age, sex in groups.rows():
        low, _, high = str(age).partition("-")
        sexes = {"f", "m"} if sex == "*" else set(sex.strip("{}").split(", "))
        fits.append([int(low) <= own <= int(high or low) and other in sexes for own, other in population.rows()])
    assert found.tolist() == [sum(row) for row in fits]
    assert outside == sum(not any(row[person] for row in fits) for person in range(len(population)))


def test_a_person_of_the_population_who_has_many_records_is_one() -> None:
    schema = shoal.Schema(person="id", quasi=["age"])
    population = pl.DataFrame({"id": [1, 1, 2, 3], "age": [30, 31, 30, 50]})
    shown = pl.DataFrame({"age": ["30-31", "50", "30"]})
    found, outside = PopulationTable.of(population, schema).fitting(shown, schema, form="generalized")
    assert (found.tolist(), outside) == ([2, 1, 2], 0)


MET: list[tuple[shoal.Schema, Model]] = [
    (SCHEMA, shoal.KMap(k=12, population=town())),
    (SCHEMA, shoal.DeltaPresence(high=0.2, population=town())),
    (SCHEMA, shoal.AverageRisk(r=0.1)),
    (WEIGHTED, shoal.KMap(k=40, estimator="weights")),
    (WEIGHTED, shoal.PopulationUniqueness(share=0.01)),
    (WEIGHTED, shoal.ExpectedReidentifications(n=0.5)),
    (SCHEMA, shoal.KMap(k=5, estimator="poisson", fraction=0.1)),
]


@pytest.mark.parametrize(("schema", "model"), MET, ids=lambda each: getattr(each, "name", ""))
def test_a_release_meets_what_was_asked_with_small_groups(schema: shoal.Schema, model: Model, tmp_path: Path) -> None:
    sample = drawn() if schema.weight is None else drawn().with_columns(w=pl.lit(10.0))
    release = shoal.protect(sample, schema, [model], seed=1)
    assert release.verdict.holds
    assert release.risk.groups > 1
    release.write(tmp_path / "out", report=False)
    kept = tmp_path / "out" / "steward" / "sample.parquet"
    assert kept.exists() == (schema.weight is not None)
    told = shoal.verify(release.data, schema, [model], sample=pl.read_parquet(kept) if kept.exists() else None)
    assert told.holds
    assert not any("w" in pl.read_csv(file).columns for file in (tmp_path / "out").glob("*.csv"))


def test_sizes_are_sought_beside_other_models() -> None:
    alone = shoal.protect(drawn(), SCHEMA, [shoal.KMap(k=12, population=town())], seed=1)
    both = shoal.protect(drawn(), SCHEMA, [shoal.KMap(k=12, population=town()), shoal.PersonKAnonymity(k=8)], seed=1)
    assert alone.risk.person_k < 8 <= both.risk.person_k


def test_what_not_even_one_group_meets_is_refused() -> None:
    with pytest.raises(CannotSatisfyError, match="k-map 401 is not met by the whole table as one group, which reaches"):
        shoal.protect(drawn(), SCHEMA, [shoal.KMap(k=401, population=town())], seed=1)


@pytest.mark.parametrize(
    "model", [shoal.KMap(k=2), shoal.KMap(k=2, estimator="weights"), shoal.PopulationUniqueness(share=0.1),
              shoal.ExpectedReidentifications(n=3), shoal.DeltaPresence(high=0.5)],
    ids=lambda model: model.name,
)  # fmt: skip
def test_of_a_population_of_which_nothing_is_known_nothing_is_promised(model: Model) -> None:
    with pytest.raises(ParameterError, match="population"):
        shoal.protect(drawn(), SCHEMA, [model])
    assert not shoal.assess(drawn(), SCHEMA, [model]).holds


def test_a_population_that_does_not_fit_is_refused() -> None:
    with pytest.raises(SchemaError, match="lacks 1 of the quasi-identifiers: sex"):
        shoal.assess(drawn(), SCHEMA, population=town().drop("sex"))
    with pytest.raises(SchemaError, match="does not fit what is shown"):
        shoal.assess(drawn(), SCHEMA, population=town().with_columns(sex=pl.lit("f")))
    models = [shoal.KMap(k=2, population=town()), shoal.DeltaPresence(high=1, population=town(9))]
    with pytest.raises(ParameterError, match="Two models bring different populations"):
        shoal.protect(drawn(), SCHEMA, models)


def test_sizes_are_tried_without_looking_for_special_uniques_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def counted(*args: Any, **options: Any) -> suda.SudaRisk:
        looked.append(1)
        return suda.suda_of(*args, **options)

    monkeypatch.setattr("shoal.judging.population.suda_of", counted)
    frame = drawn().with_columns(w=pl.lit(10.0))
    release = shoal.protect(frame, WEIGHTED, [shoal.ExpectedReidentifications(n=0.5)], seed=1)
    assert len(looked) == 2  # of the table, and of what is published
    assert release.to_dict()["population"]["suda"]["total_score"] >= 0


@pytest.mark.parametrize(
    "model", [shoal.KMap(k=20, population=town()), shoal.ExpectedReidentifications(n=0.5), shoal.AverageRisk(r="0.2")]
)
def test_methods_are_compared_and_settings_tuned_with_sizes_that_are_tried(model: Model) -> None:
    frame = drawn().with_columns(w=pl.lit(10.0))
    found = shoal.compare(frame, WEIGHTED, [model], methods=["balance-tree", "mondrian"])
    for row in found.rows:
        made = shoal.protect(frame, WEIGHTED, [model], method=row.method, seed=1)
        assert row.point is not None
        assert row.point.risk.groups == made.risk.groups
        assert row.point.loss == pytest.approx(made.utility.loss)
    tuned = shoal.tune(frame, WEIGHTED, [model], targets={"max_gidr": "0.3"}, points=3)
    assert tuned.release is not None
    assert tuned.release.verdict.holds
    assert model.name in [each.name for each in tuned.release.verdict.models]
    assert tuned.release.risk.max_gidr <= 0.3


def test_a_population_is_given_to_compare_and_tune_or_asked_for() -> None:
    for look in (shoal.compare, shoal.tune):
        aims = {} if look is shoal.compare else {"targets": {"max_gidr": "0.5"}, "points": 2}
        with pytest.raises(ParameterError, match="k-map counts persons of the population, and none is given"):
            look(drawn(), SCHEMA, [shoal.KMap(k=20)], **aims)
        told = look(drawn(), SCHEMA, [shoal.KMap(k=20)], population=town(), **aims).to_dict()
        assert told
