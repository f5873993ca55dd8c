"""Models of samples in portions and on Spark: what counts of groups decide is offered, the rest is refused by name."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.offered import asked_without_search
from shoal.engines.stream import protect_file, verify_file
from shoal.errors import SchemaError, ShoalError
from shoal.models import Model
from tests.engines.test_engines import on

SCHEMA = shoal.Schema(person="person", quasi=["age", "zip"], sensitive=["illness"])
OFFERED: list[Model] = [
    shoal.AverageRisk(r="0.15"), shoal.PopulationUniqueness(share="0.01", fraction="0.1"),
    shoal.KMap(k=5, estimator="poisson", fraction="0.1"), shoal.NoAttack(gain=5, cost=1),
]  # fmt: skip
REFUSED: list[Model] = [
    shoal.KMap(k=5), shoal.DeltaPresence(high="0.5"), shoal.ExpectedReidentifications(n=3),
    shoal.NoAttack(gain=5, cost=1, attacker="journalist"),
]  # fmt: skip


def visits(n: int = 300) -> pl.DataFrame:
    """Persons with one to three visits each."""
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(n), rng.integers(1, 4, n))
    return pl.DataFrame(
        {"person": person, "age": 20 + person % 50, "zip": 1000 + person % 37,
         "illness": rng.choice(["a", "b"], len(person))}
    )  # fmt: skip


def test_a_file_is_protected_and_verified_in_portions(tmp_path: Path) -> None:
    visits().write_parquet(tmp_path / "visits.parquet")
    release = protect_file(tmp_path / "visits.parquet", SCHEMA, OFFERED, output=tmp_path / "out", seed=1)
    assert release.verdict.holds
    file = tmp_path / "out" / "release.parquet"
    told = verify_file(file, SCHEMA, OFFERED, portion=50).verdict
    assert told.models == shoal.verify(pl.read_parquet(file), SCHEMA, OFFERED).verdict.models
    assert told.holds


def test_a_mean_is_verified_over_all_portions(tmp_path: Path) -> None:
    made = shoal.protect(visits(), SCHEMA, [shoal.PersonKAnonymity(k=3)], seed=1)
    asked = shoal.AverageRisk(r=Fraction(made.risk.groups, made.risk.persons))
    assert made.risk.person_k < asked.enough_persons  # some groups are smaller than would prove it by themselves
    made.data.write_parquet(tmp_path / "release.parquet")
    told = verify_file(tmp_path / "release.parquet", SCHEMA, [asked], portion=20)
    assert told.verdict.models == shoal.verify(made.data, SCHEMA, [asked]).verdict.models
    assert told.holds
    stricter = shoal.AverageRisk(r=asked.r * Fraction(999, 1000))
    assert not verify_file(tmp_path / "release.parquet", SCHEMA, [stricter], portion=20).holds


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: model.name)
def test_what_needs_a_population_is_refused_by_name(tmp_path: Path, model: Model) -> None:
    visits().write_parquet(tmp_path / "visits.parquet")
    with pytest.raises(ShoalError, match=model.name):
        protect_file(tmp_path / "visits.parquet", SCHEMA, [model], output=tmp_path / "out")
    with pytest.raises(ShoalError, match=model.name):
        verify_file(tmp_path / "visits.parquet", SCHEMA, [model])


@pytest.mark.parametrize(("role", "column"), [("weight", "w"), ("household", "home"), ("strata", "part")])
def test_what_is_not_published_of_a_sample_is_refused_by_its_role(tmp_path: Path, role: str, column: str) -> None:
    visits().with_columns(pl.lit(7).alias(column)).write_parquet(tmp_path / "visits.parquet")
    schema = shoal.Schema(person="person", quasi=["age", "zip"], sensitive=["illness"], **{role: column})
    with pytest.raises(ShoalError, match=f"{role} = '{column}'"):
        protect_file(tmp_path / "visits.parquet", schema, [shoal.RecordRisk(rho="0.5")], output=tmp_path / "out")


WEIGHED = shoal.Schema(person="person", quasi=["age", "zip"], sensitive=["illness"], weight="w", kept=["w"])
BY_WEIGHTS: list[Model] = [
    shoal.PersonKAnonymity(k=3), shoal.PopulationUniqueness(share="0.01"), shoal.AverageRisk(r="0.15"),
]  # fmt: skip
COUNTED = ("persons", "population", "fraction", "classes", "sample_uniques", "below", "global_risk",
           "expected_reidentifications", "max_risk", "frequencies", "other_classes", "uniques")  # fmt: skip


def weighed_visits(n: int = 300) -> pl.DataFrame:
    """Persons with one to three visits each, some in two towns, and what each stands for."""
    table = visits(n)
    moved = (pl.col("person") % 9 == 0) & (pl.int_range(pl.len()) % 2 == 0)
    return table.with_columns(zip=pl.when(moved).then(pl.col("zip") + 1).otherwise("zip"), w=5.0 + pl.col("person") % 4)


def counted(risk: Any) -> dict[str, Any]:
    told = risk.to_dict()["population"]
    return {key: told[key] for key in COUNTED}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for key, value in expected.items():
        if key == "frequencies":
            assert [list(each.values()) for each in found[key]] == [
                pytest.approx(list(each.values())) for each in value
            ]
        else:
            assert found[key] == (value if value is None else pytest.approx(value)), key


def test_weights_are_counted_in_portions_as_in_memory(tmp_path: Path) -> None:
    weighed_visits().write_parquet(tmp_path / "visits.parquet")
    release = protect_file(
        tmp_path / "visits.parquet", WEIGHED, BY_WEIGHTS, output=tmp_path / "out", seed=1, portion=50,
        allow_alone=True, measure_input=True,
    )  # fmt: skip
    published = pl.read_parquet(tmp_path / "out" / "release.parquet")
    asked = [*BY_WEIGHTS, shoal.ExpectedReidentifications(n=9), shoal.KMap(k=15, estimator="weights")]
    held = shoal.verify(published, WEIGHED, asked, allow_alone=True)
    told = verify_file(tmp_path / "out" / "release.parquet", WEIGHED, asked, portion=50, allow_alone=True)
    assert told.verdict.models == held.verdict.models
    assert_same(counted(release.risk), counted(held.risk))
    assert_same(counted(told.risk), counted(held.risk))
    assert release.before is not None
    assert_same(counted(release.before), counted(shoal.assess(weighed_visits(), WEIGHED).risk))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (pl.when(pl.col("person") == 7).then(None).otherwise(5.0), "is missing in"),
        (pl.when(pl.col("person") == 7).then(-1.0).otherwise(5.0), "is negative in"),
        (pl.int_range(pl.len()) + 1.0, "differs between the records of"),
        (pl.lit(0.1), "seem to be scaled"),
    ],
)
def test_weights_that_are_none_are_told_in_words_in_portions(tmp_path: Path, weights: pl.Expr, said: str) -> None:
    visits().with_columns(w=weights).write_parquet(tmp_path / "visits.parquet")
    with pytest.raises(SchemaError, match=said):
        protect_file(
            tmp_path / "visits.parquet", WEIGHED, [shoal.KAnonymity(k=3)], output=tmp_path / "out", portion=50,
            allow_alone=True,
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_as_many_persons_are_asked_for_as_prove_it() -> None:
    asked = asked_without_search([shoal.AverageRisk(r="0.15"), shoal.PopulationUniqueness(share=0, fraction="0.1")])
    assert asked == (shoal.PersonKAnonymity(k=7), shoal.PersonKAnonymity(k=2))


@pytest.mark.spark
@pytest.mark.long
def test_spark_offers_what_counts_decide(spark: Any) -> None:
    made = on(spark)(visits(), SCHEMA, OFFERED, measure_input=False, cell_persons=60)
    held = shoal.verify(made.frame, SCHEMA, OFFERED)
    assert made.release.verdict.models == held.verdict.models
    assert held.holds
    for model in REFUSED:
        with pytest.raises(ShoalError, match=model.name):
            on(spark)(visits(), SCHEMA, [model], measure_input=False)


@pytest.mark.spark
@pytest.mark.long
def test_weights_are_counted_on_spark_as_in_memory(spark: Any) -> None:
    made = on(spark)(weighed_visits(), WEIGHED, BY_WEIGHTS, measure_input=False, cell_persons=60, allow_alone=True)
    held = shoal.verify(made.frame, WEIGHED, BY_WEIGHTS, allow_alone=True)
    assert made.release.verdict.models == held.verdict.models
    assert_same(counted(made.release.risk), counted(held.risk))
    for weights, said in ((pl.lit(0.1), "scaled"), (pl.int_range(pl.len()) + 1.0, "differs"), (pl.lit(0.0), "is 0 in")):
        with pytest.raises(SchemaError, match=said):
            on(spark)(visits().with_columns(w=weights), WEIGHED, [shoal.KAnonymity(k=3)], measure_input=False)
