"""Attacks that are tried with every report: which, on whom, and what would lower the strongest."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.attacking.suite import targets_in_report
from tests.pipeline import tables

ASKED = [shoal.PersonKAnonymity(k=2)]


def visits() -> pl.DataFrame:
    """Thirty persons with two visits each, a weight that is their own, and a day."""
    person = [at // 2 for at in range(60)]
    return pl.DataFrame(
        {
            "who": person,
            "age": [20 + each % 10 for each in person],
            "ill": ["flu" if at % 2 else "cold" if at % 4 else f"rare {at % 12}" for at in range(60)],
            "weight": [50 + each for each in person],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=at % 7) for at in range(60)],
        }
    )


def schema(**more: object) -> shoal.Schema:
    given: dict[str, object] = {"kept": [], "dropped": ["weight", "day"], **more}
    return shoal.Schema(person="who", quasi=["age"], sensitive=["ill"], **given)  # type: ignore[arg-type]


def test_json_has_what_quick_attacks_got_and_why_others_were_not_tried() -> None:
    told = shoal.protect(visits(), schema(), ASKED, seed=1).to_dict()
    names = [each["name"] for each in told["attacks"]]  # type: ignore[attr-defined]
    for name in (
        "linkage, all and number, person",
        "trajectory, 1 known",
        "trajectory, 1 known and quasi-identifiers",
    ):
        assert name in names
    assert "trajectory, 3 known" not in names
    assert {"name", "knows", "success", "low", "high", "blind"} <= set(told["attacks"][0])  # type: ignore[index]
    untried = {each["attack"]: each["why"] for each in told["not_tried"]}  # type: ignore[attr-defined]
    assert "takes too long for every run" in untried["inference"]
    assert "attacks" not in shoal.protect(visits(), schema(), ASKED, seed=1, attacks=0).to_dict()


def test_the_same_table_and_seed_give_the_same_results_and_few_targets() -> None:
    frame = tables.visits(360)
    one, other = (shoal.protect(frame, tables.SCHEMA, tables.MODELS, seed=3).attacked for _ in range(2))
    assert one is not None
    assert other is not None
    for result, again in zip(one.results, other.results, strict=True):
        assert (result.name, result.targets) == (again.name, again.targets)
        assert result.success == pytest.approx(again.success, abs=1e-9)
    assert one.of("linkage")[0].targets == targets_in_report(len(frame))


def test_what_lowers_the_strongest_is_tried_before_it_is_advised() -> None:
    attacked = shoal.protect(
        visits(), schema(kept=["weight"], dropped=["day"]), ASKED, seed=1, allow_alone=True
    ).attacked
    assert attacked is not None
    assert attacked.strongest is not None
    assert attacked.strongest.attack == "kept-columns"
    (tried,) = attacked.lowered
    assert (tried.line, tried.success) == ('dropped = ["day", "weight"]', None)

    dates = shoal.protect(visits(), schema(time="day", time_as="shift", dropped=["weight"]), ASKED, seed=1).attacked
    assert dates is not None
    assert dates.of("anchored-dates")


def test_without_person_ids_the_number_of_records_tells_nothing() -> None:
    frame = pl.concat([visits(), visits().filter(pl.col("who") < 3)])
    attacked = shoal.protect(frame, schema(), ASKED, seed=1).attacked
    assert attacked is not None
    assert attacked.strongest is not None
    assert attacked.strongest.attack in ("linkage", "trajectory")
    (tried,) = attacked.lowered
    assert tried.line == 'person_ids = "none"'
    assert tried.success is None or tried.success < attacked.strongest.success


def test_a_report_opens_with_the_strongest_and_the_summary_says_what_is_outside(tmp_path: Path) -> None:
    release = shoal.protect(visits(), schema(kept=["weight"], dropped=["day"]), ASKED, seed=1, allow_alone=True)
    folder = release.write(tmp_path / "out")
    report = (folder / "steward" / "report.html").read_text()
    assert "The strongest attack" in report
    assert "dropped = [&quot;day&quot;, &quot;weight&quot;]" in report
    numbers = json.loads((folder / "steward" / "report.json").read_text())
    assert numbers["report"]["suite"]["strongest"]["name"].startswith("kept-columns")
    summary = (folder / "summary.html").read_text()
    for words in ("Outside every promise", "weight", "how many records", "Attacked"):
        assert words in summary
    assert "dropped = [" not in summary
    quiet = shoal.protect(visits(), schema(), ASKED, seed=1, attacks=0).write(tmp_path / "quiet")
    assert "No attack was tried" in (quiet / "summary.html").read_text()
