"""One test body, two engines: with one cell Spark publishes what memory does; with many every model holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.demo.benchmark_table import benchmark_table
from shoal.demo.clinics import clinics
from shoal.measuring.spread import RiskSpread, observe_release, spread_of_risk
from tests.engines.stream.tables import flat
from tests.tiers import long_but_for

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Outcome:
    """What an engine published, as frames in memory."""

    frame: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    linked: pl.DataFrame | None
    release: Any


Protect = Callable[..., Outcome]


def in_memory(frame: pl.DataFrame, schema: shoal.Schema, models: Sequence[Any], **options: Any) -> Outcome:
    options.pop("cell_persons", None)
    release = shoal.protect(frame, schema, models, **options)
    return Outcome(release.published.frame, dict(release.published.tables), release.published.linked, release)


def on(spark: Any) -> Protect:
    def protect(frame: pl.DataFrame, schema: shoal.Schema, models: Sequence[Any], **options: Any) -> Outcome:
        from shoal.engines.spark import protect as protect_on_spark

        given = spark.createDataFrame(frame.to_arrow())
        release = protect_on_spark(given, schema, models, **options)
        tables = {name: collected(table) for name, table in release.tables.items()}
        kept = release.records.linked
        linked = None if kept is None else collected(kept)
        return Outcome(collected(release.data), tables, linked, release)

    return protect


def collected(frame: Any) -> pl.DataFrame:
    found = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)
    return found


@pytest.fixture(params=["memory", "spark"])
def engine(request: pytest.FixtureRequest) -> Protect:
    return in_memory if request.param == "memory" else on(request.getfixturevalue("spark"))


def table(persons: int = 300, *, seed: int = 3) -> pl.DataFrame:
    """Persons with several records, numbers with decimals, dates, categories, and values that are missing."""
    rng = np.random.default_rng(seed)
    base = benchmark_table(persons, seed=seed)
    n = len(base)
    missing = rng.random(n) < 0.03
    born = pl.date(1950, 1, 1) + pl.duration(days=pl.col("person") % 15_000)
    return base.select(
        "person",
        pl.when(pl.Series(~missing)).then("age").alias("age"),
        (pl.col("income") / 1000).alias("income"),
        born.alias("born"),
        pl.when(pl.Series(rng.random(n) >= 0.02)).then("region").alias("region"),
        pl.Series("level", rng.choice(["low", "middle", "high"], n)),
        "diagnosis",
        pl.col("diagnosis").str.slice(2).alias("ward"),
    )


SCHEMA = shoal.Schema(
    person="person",
    quasi=["age", "income", "born", "region", shoal.Ordered("level", order=("low", "middle", "high"))],
    sensitive=["diagnosis", "ward"],
)


def canonical(frame: pl.DataFrame, person: str | None) -> list[Any]:
    """The published table without pseudonyms and order: every person as the sorted list of their records."""
    if person is None:
        return sorted(map(repr, frame.rows()))
    others = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).drop(person)
    persons = frame.select(person).with_columns(pl.Series("row", [repr(row) for row in others.rows()]))
    rows = persons.group_by(person).agg(pl.col("row").sort().str.join("|"))["row"]
    return sorted(rows.to_list())


def expected_to_hold(outcome: Outcome, schema: shoal.Schema, models: Sequence[Any]) -> None:
    """What every engine must keep, counted from the published table by the engine in memory."""
    release = outcome.release
    kept = {"tables": outcome.tables, "linked": outcome.linked}
    seen = shoal.verify(outcome.frame, schema, models, mask=release.mask.name, **kept)
    assert seen.holds, seen.verdict
    assert release.verdict.holds
    for told, counted in zip(release.verdict.models, seen.verdict.models, strict=True):
        assert (told.name, told.asked, told.holds, told.checked_from) == (
            counted.name, counted.asked, counted.holds, counted.checked_from)  # fmt: skip
        assert told.reached == pytest.approx(counted.reached, rel=1e-12)
    for name, value in seen.risk.to_dict().items():
        assert getattr(release.risk, name) == pytest.approx(value, rel=1e-12, nan_ok=True), name


def spread_in(release: Any) -> RiskSpread:
    """How risk is spread, as a report has it."""
    return spread_of_risk(observe_release(release)) if release.engine == "memory" else release.spread


RUNS = {
    "best cut, ranges": (
        {}, [shoal.RecordRisk(rho="0.2"), shoal.HAffiliation(h="0.5"), shoal.TCloseness(t="0.9")],
    ),
    "median cut, means": (
        {"cut": "median", "mask": "mean"},
        [shoal.GBalance(g="0.7"), shoal.LDiversity(l=2, kind="distinct", count="persons")],
    ),
    "mondrian, anatomized": (
        {"method": "mondrian", "mask": "anatomize", "quasi_as": "range"},
        [shoal.PersonKAnonymity(k=5), shoal.JointDiversity(l=2), shoal.KAnonymity(k=8)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("run", long_but_for(["best cut, ranges"], RUNS))
def test_one_cell_is_the_whole_table(engine: Protect, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.spark.recount.RECORDS_PER_BUCKET", 100)  # so that several buckets are counted
    options, models = RUNS[run]
    frame = table(120)
    outcome = engine(frame, SCHEMA, models, seed=7, **options)
    expected_to_hold(outcome, SCHEMA, models)
    in_order = frame.sort(frame.columns, nulls_last=True)  # as cells are, so that sums of floats have the same last bit
    reference = in_memory(in_order, SCHEMA, models, seed=7, **options)
    ours, theirs = outcome.release, reference.release
    assert ours.risk.groups == theirs.risk.groups
    assert flat(spread_in(ours)) == pytest.approx(flat(spread_in(theirs)), rel=1e-12)
    assert flat(ours.spread_before) == pytest.approx(flat(theirs.spread_before), rel=1e-12)
    assert ours.utility.ane == pytest.approx(theirs.utility.ane, rel=1e-9)
    assert ours.utility.granularity == pytest.approx(theirs.utility.granularity, rel=1e-9)
    assert ours.utility.within_variance == pytest.approx(theirs.utility.within_variance, rel=1e-9)
    assert ours.before is not None
    assert ours.before.unique_persons == theirs.before.unique_persons
    assert ours.before.avg_gidr == pytest.approx(theirs.before.avg_gidr, rel=1e-12)
    if not outcome.tables:
        assert outcome.frame.columns == reference.frame.columns
        assert canonical(outcome.frame, "person") == canonical(reference.frame, "person")
        return
    assert canonical(outcome.frame.drop("group"), None) == canonical(reference.frame.drop("group"), None)
    for name, counts in reference.tables.items():
        own = outcome.tables[name]
        assert canonical(own.drop("group"), None) == canonical(counts.select(own.columns).drop("group"), None)


@pytest.mark.long
def test_nodes_of_hierarchies_are_looked_at_as_in_memory(spark: Any) -> None:
    frame = table(120)
    regions = sorted(frame["region"].drop_nulls().unique())
    tree = shoal.Hierarchy.from_rows([[region, f"part {place // 3}", "*"] for place, region in enumerate(regions)])
    schema = shoal.Schema(
        person="person", quasi=["age", shoal.Nominal("region", tree)], sensitive=["diagnosis"],
        dropped=["income", "born", "level", "ward"],
    )  # fmt: skip
    models = [shoal.RecordRisk(rho="0.3"), shoal.TCloseness(t="0.9")]
    outcome = on(spark)(frame, schema, models, seed=7, measure_input=False)
    reference = in_memory(frame, schema, models, seed=7)
    assert canonical(outcome.frame, "person") == canonical(reference.frame, "person")


def test_many_cells_meet_every_model_and_lose_hardly_more(engine: Protect) -> None:
    frame = benchmark_table(6_000, seed=1)
    schema = shoal.Schema(
        person="person", quasi=["age", "zip", "income", "education", "region"], sensitive=["diagnosis"]
    )
    models = [shoal.RecordRisk(rho="0.2"), shoal.HAffiliation(h="0.5"), shoal.LDiversity(l=3)]
    outcome = engine(frame, schema, models, cell_persons=2_500, measure_input=False)
    expected_to_hold(outcome, schema, models)
    assert outcome.release.told.get("cells", 3) >= 3
    assert outcome.release.told.get("largest_cell", 0) <= 2_500
    assert outcome.frame["person"].n_unique() == frame["person"].n_unique()
    assert outcome.frame["diagnosis"].sort().to_list() == frame["diagnosis"].sort().to_list()
    reference = in_memory(frame, schema, models, measure_input=False)
    assert outcome.release.utility.ane <= 1.03 * reference.release.utility.ane


@pytest.mark.long
def test_one_record_a_person_is_permuted(engine: Protect) -> None:
    frame = table(400).unique("person").drop("person")
    schema = shoal.Schema(quasi=["age", "income", "region"], sensitive=["diagnosis"], dropped=["born", "level", "ward"])
    models = [shoal.PersonKAnonymity(k=5), shoal.LDiversity(l=2)]
    outcome = engine(frame, schema, models, mask="permute", method="mondrian", cell_persons=120)
    expected_to_hold(outcome, schema, models)
    assert canonical(outcome.frame.select("age", "income", "region"), None) == canonical(
        frame.select("age", "income", "region"), None)  # fmt: skip
    assert outcome.release.verdict.notes
    assert "group" in outcome.frame.columns


def test_a_table_that_fails_as_a_whole_is_refused(engine: Protect) -> None:
    schema = shoal.Schema(person="name", quasi=["age", "gender", "zip"], sensitive=["disease"], dropped=["admission"])
    with pytest.raises(shoal.errors.CannotSatisfyError, match=r"h-affiliation 0\.2 cannot be met"):
        engine(clinics(), schema, [shoal.HAffiliation(h="0.2")])


@pytest.mark.long
def test_data_is_the_same_whenever_it_is_computed(spark: Any) -> None:
    frame = table(60)
    release = on(spark)(frame, SCHEMA, [shoal.PersonKAnonymity(k=5)], cell_persons=20, measure_input=False).release
    before = sorted(map(repr, collected(release.data).rows()))
    release.records.unpersist()
    assert sorted(map(repr, collected(release.data).rows())) == before


UNOFFERED = [
    ({"method": "mdav"}, "looks at all persons at once"),
    ({"mask": "perturb"}, "covariance"),
    ({"mask": "suppress"}, "suppress says less"),
    ({"code_extremes": True}, "code_extremes"),
    ({"alpha": 0.5}, "alpha"),
    ({"cell_persons": 1}, "cell_persons"),
    ({"models": [shoal.ExponentialL(l=2)]}, "exponential-l"),
    ({"models": [shoal.MatchingDiversity(l=2)]}, "matching-diversity"),
    ({"models": [shoal.Posterior(c=0.9)]}, "posterior"),
    ({"models": [shoal.RecordRisk(rho="0.5")], "mask": "anatomize"}, "identities are visible"),
    ({"models": []}, "No model"),
]


@pytest.mark.parametrize(("options", "reason"), UNOFFERED)
def test_what_spark_does_not_do_is_refused_before_anything_runs(options: dict[str, Any], reason: str) -> None:
    from shoal.engines.spark import protect

    models = options.pop("models", [shoal.PersonKAnonymity(k=2)])
    with pytest.raises(shoal.errors.ParameterError, match=reason):
        protect(None, SCHEMA, models, **options)  # type: ignore[arg-type]


def test_a_frame_that_does_not_fit_is_refused(spark: Any) -> None:
    frame = pl.DataFrame({"person": [1, 2, None], "age": ["1", "two", "3"], "note": ["a", "b", "c"]})
    protect = on(spark)
    with pytest.raises(shoal.errors.SchemaError, match="no role: note"):
        protect(frame, shoal.Schema(person="person", quasi=["age"]), [shoal.KAnonymity(k=2)])
    schema = shoal.Schema(person="person", quasi=["age"], dropped=["note"])
    with pytest.raises(shoal.errors.SchemaError, match="missing in 1 of 3 records"):
        protect(frame, schema, [shoal.KAnonymity(k=2)])
    with pytest.raises(shoal.errors.SchemaError, match="holds 2 numbers and 1 other values") as refusal:
        protect(frame.with_columns(person=pl.Series([1, 2, 3])), schema, [shoal.KAnonymity(k=2)])
    assert "two" not in str(refusal.value)


@pytest.mark.long
def test_who_is_alone_by_what_else_leaves_is_counted_and_refused_alike(spark: Any) -> None:
    """Kept columns together, numbers of records, values and times; before, persons have records in several groups."""
    at = pl.int_range(pl.len())
    frame = table(60).with_columns(
        seen=pl.date(2024, 1, 1) + pl.duration(days=at * 7 % 90),
        diagnosis=pl.when(at % 3 == 0).then(pl.col("diagnosis").str.to_lowercase()).otherwise("diagnosis"),
    )
    schema = shoal.Schema(
        person="person", quasi=["age", "region"], sensitive=["diagnosis"], kept=["level", "ward"], time="seen",
        time_as="shift", dropped=["income", "born"],
    )  # fmt: skip
    models = [shoal.PersonKAnonymity(k=5)]
    held = in_memory(frame, schema, models, allow_alone=True).release
    made = on(spark)(frame, schema, models, allow_alone=True)
    assert made.release.risk.alone_by == held.risk.alone_by
    assert set(held.risk.alone_by) == {"kept", "count", "diagnosis", "time"}
    assert made.release.verdict.notes == held.verdict.notes
    assert made.release.before.alone_by == held.before.alone_by
    assert shoal.verify(made.frame, schema, models, allow_alone=True).risk.alone_by == held.risk.alone_by
    said = []
    for engine in (in_memory, on(spark)):
        with pytest.raises(
            shoal.errors.PrivacyNotMetError, match="by the kept columns 'level', 'ward' together"
        ) as refusal:
            engine(frame, schema, models)
        said.append(str(refusal.value))
    assert said[0] == said[1]


@pytest.mark.long
def test_the_log_has_the_stages_of_memory_with_counts(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    frame = table()
    with caplog.at_level("INFO", logger="shoal"):
        made = on(spark)(frame, SCHEMA, [shoal.PersonKAnonymity(k=3)], cell_persons=150)
    lines = [record.getMessage() for record in caplog.records if record.name == "shoal"]
    assert [line.split(":")[0] for line in lines] == ["reading", "grouping", "masking", "verifying"]
    assert lines[0].endswith(f"s, {len(frame):,} records")
    assert lines[1].endswith(f"s, {frame['person'].n_unique():,} persons, {made.release.told['cells']} cells")
    assert lines[3].endswith("s, 1 models, 0 not met")
