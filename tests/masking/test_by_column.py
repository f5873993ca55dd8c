"""Each column by a mask of its own: steps find their columns, or say why they have none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.attacking.elimination import attack_by_exclusion
from shoal.engines.stream import protect_file
from shoal.errors import ParameterError, SchemaError
from shoal.publishing.report.build import report_of

SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["ill"])


def people(n: int = 60) -> pl.DataFrame:
    ages, ills = [20 + i % 40 for i in range(n)], ["a", "b", "c"] * (n // 3)
    return pl.DataFrame({"age": ages, "sex": ["f", "m"] * (n // 2), "ill": ills})


@pytest.mark.parametrize(
    "by", ["noise:columns=age; noise; pram", "pram:columns=sex; noise; individual-ranking", "pram; shuffle; noise"]
)
def test_a_step_that_has_no_column_left_says_so(by: str) -> None:
    with pytest.raises(ParameterError, match="has nothing to change: no quasi-identifier of a kind that it takes"):
        shoal.protect(people(), SCHEMA, [], mask="columns", by=by, max_linkage=1.0, seed=1)


def test_where_persons_are_changed_one_by_one_there_are_no_groups_to_exclude_values_in() -> None:
    release = shoal.protect(people(), SCHEMA, [], mask="columns", by="noise; pram", max_linkage=1.0, seed=1)
    with pytest.raises(SchemaError, match="there are no groups"):
        attack_by_exclusion(release.data, SCHEMA, mask="columns")
    told = report_of(release, columns=[], policy=None)
    assert "exclude values" not in [found["name"] for found in told["attacks"]]
    grouped = shoal.protect(people(), SCHEMA, [shoal.KAnonymity(k=3)], seed=1)
    found = report_of(grouped, columns=[], policy=None)["attacks"]
    assert "exclude values" in [each["name"] for each in found]


def earners(n: int = 120) -> pl.DataFrame:
    """Persons with two records each, in one of which they earn more."""
    who = [person for person in range(n) for _ in range(2)]
    return pl.DataFrame(
        {
            "who": who,
            "age": [20 + person % 40 for person in who],
            "income": [1_000 + 17 * person + 100 * (at % 2) for at, person in enumerate(who)],
            "job": ["abc"[person % 3] for person in who],
        }
    )


EARNERS = shoal.Schema(person="who", quasi=["age"], sensitive=["income", "job"])
ALSO = "noise:columns=income:amount=0.5; pram:columns=job:stays=0.5"


def test_ranges_on_some_columns_and_noise_on_others(tmp_path: Path) -> None:
    asked = [shoal.PersonKAnonymity(k=5), shoal.RecordRisk(rho="0.2")]
    release = shoal.protect(earners(), EARNERS, asked, mask="range", also=ALSO, seed=3, attacks=50)
    assert release.verdict.holds
    shown = release.data
    assert all("-" in str(age) for age in shown["age"])  # ranges
    original = earners()[release.published.record_of_published.tolist()]
    moved = (shown["income"] - original["income"]).to_numpy()
    assert (abs(moved) > 0).mean() > 0.9
    noise = shown.with_columns(moved=moved).group_by("who").agg(pl.col("moved").max() - pl.col("moved").min())
    assert noise["moved"].max() < 1e-6  # one draw per person
    assert 0.05 < (shown["job"] != original["job"]).mean() < 0.9
    plain = shoal.protect(earners(), EARNERS, asked, mask="range", seed=3)
    assert plain.risk.groups == release.risk.groups
    told = release.to_dict()
    assert set(told["changed"]) == {"income", "job"}
    again = shoal.verify(shown, EARNERS, asked)
    assert again.verdict.models == release.verdict.models
    release.write(tmp_path / "out")
    assert not (tmp_path / "out" / "steward" / "scheme.parquet").exists()
    with pytest.raises(ParameterError, match="changes columns person by person"):
        shoal.apply(tmp_path / "out", earners(6))
    loaded = shoal.Policy.load(tmp_path / "out" / "steward" / "policy.toml")
    assert shoal.protect(earners(), loaded).risk.groups == release.risk.groups


def test_models_of_values_are_recounted_from_what_is_published() -> None:
    release = shoal.protect(
        earners(), EARNERS, [shoal.PersonKAnonymity(k=9), shoal.HAffiliation(h="0.9", column="job")], also=ALSO, seed=3
    )
    recounted = shoal.verify(release.data, EARNERS, list(release.models)).verdict
    assert recounted.models == release.verdict.models


@pytest.mark.parametrize(
    ("also", "said"),
    [
        ("noise:columns=age", "is a quasi-identifier"),
        ("noise", "must name its columns"),
        ("noise:columns=income; individual-ranking:columns=income", "named by two steps"),
        ("range:columns=income", "does not change single columns"),
        ("noise:columns=nothing", "neither a quasi-identifier nor sensitive"),
    ],
)
def test_what_cannot_be_changed_beside_groups_is_refused(also: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        shoal.protect(earners(), EARNERS, [shoal.KAnonymity(k=5)], also=also, seed=3)


def test_portions_refuse_it_by_name(tmp_path: Path) -> None:
    earners().write_parquet(tmp_path / "earners.parquet")
    with pytest.raises(ParameterError, match="also changes persons one by one"):
        protect_file(tmp_path / "earners.parquet", EARNERS, [shoal.KAnonymity(k=5)], output=tmp_path / "out", also=ALSO)
