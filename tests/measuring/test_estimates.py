"""Estimates for the population by weights: as they are defined, before and as an analyst reads the release."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.measuring.distributions import what_is_kept
from shoal.measuring.estimates import Estimates, estimates_of
from shoal.publishing.release import Release

MASKS = [("range", {}), ("mean", {}), ("anatomize", {}), ("permute", {}), ("perturb", {"method": "mdav"})]


def survey(n: int = 300, **columns: Any) -> pl.DataFrame:
    """Persons of a survey, the old ones drawn more often than the young."""
    rng = np.random.default_rng(8)
    age = rng.integers(20, 80, n)
    usual = {
        "age": age, "sex": rng.choice(["f", "m"], n), "w": (100 / age).round(3) * 20,
        "illness": rng.choice(["flu", "gout", "none"], n),
    }  # fmt: skip
    return pl.DataFrame({**usual, **columns})


SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["illness"], weight="w", kept=["w"])


def released(frame: pl.DataFrame, mask: str = "range", schema: shoal.Schema = SCHEMA, **options: Any) -> Release:
    return shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], mask=mask, seed=1, allow_alone=True, **options)


def estimated(release: Release) -> Estimates:
    told = estimates_of(release)
    assert told is not None
    return told


def test_means_and_totals_are_those_of_the_weights() -> None:
    frame = survey()
    release = released(frame)
    told = estimated(release)
    age = told.columns["age"]
    assert told.records == pytest.approx(frame["w"].sum())
    assert age.mean_before == pytest.approx(np.average(frame["age"].to_numpy(), weights=frame["w"].to_numpy()))
    assert age.total_before == pytest.approx((frame["age"] * frame["w"]).sum())
    middle = [sum(map(int, text.split("-"))) / len(text.split("-")) for text in release.data["age"].to_list()]
    assert age.mean_after == pytest.approx(np.average(middle, weights=release.data["w"].to_numpy()))
    assert age.total_after == pytest.approx(float(np.dot(middle, release.data["w"].to_numpy())))
    assert age.mean_before != pytest.approx(frame["age"].mean(), rel=0.01)


def test_a_table_adds_up_the_weights_of_its_classes() -> None:
    frame = survey()
    release = released(frame)
    sex = estimated(release).columns["sex"]
    assert sex.table is not None
    before = {row["sex"]: row["w"] for row in frame.group_by("sex").agg(pl.col("w").sum()).to_dicts()}
    assert {each.label: each.before for each in sex.table} == pytest.approx(before)
    after = dict.fromkeys(("f", "m"), 0.0)
    for shown, weight in release.data.select("sex", "w").rows():
        fits = ["f", "m"] if shown in ("*", "{f, m}") else [shown]
        for each in fits:
            after[each] += weight / len(fits)
    assert {each.label: each.after for each in sex.table} == pytest.approx(after)


@pytest.mark.parametrize(("mask", "options"), MASKS)
def test_equal_weights_multiply_what_is_counted(mask: str, options: dict[str, Any]) -> None:
    schema = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["illness"], weight="w")
    release = released(survey(w=7.0), mask, schema, **options)
    if release.published.tables:
        assert release.estimates is None  # records of groups are not at hand beside one another
    told, kept = estimated(release), what_is_kept(release)
    for name, column in kept.columns.items():
        own = told.columns[name]
        assert (own.mean_before, own.mean_after) == pytest.approx((column.mean_before, column.mean_after))
        assert own.total_variation == pytest.approx(column.total_variation)
        assert own.table is not None
        assert column.classes is not None
        assert [each.after for each in own.table] == pytest.approx([7 * each.after for each in column.classes])


def test_what_is_published_exactly_moves_no_table() -> None:
    schema = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["illness"], weight="w")
    told = estimated(released(survey(w=3.0), "permute", schema))
    assert [column.total_variation for column in told.columns.values()] == pytest.approx([0, 0], abs=1e-12)
    assert len(told.tables) == 2


def test_a_record_has_the_weight_of_its_person() -> None:
    frame = survey(60).with_columns(id=pl.int_range(60))
    frame = pl.concat([frame, frame.head(20)])
    schema = shoal.Schema(person="id", quasi=["age", "sex"], sensitive=["illness"], weight="w")
    assert estimated(released(frame, schema=schema)).records == pytest.approx(frame["w"].sum())


def test_they_are_in_json_and_in_the_report(tmp_path: Any) -> None:
    release = released(survey())
    told = release.to_dict()["estimates"]
    assert told["columns"]["age"]["mean_before"] == estimated(release).columns["age"].mean_before  # type: ignore[index]
    release.write(tmp_path / "out")
    assert "Estimates for the population" in (tmp_path / "out" / "steward" / "report.html").read_text()
    without = shoal.Schema(quasi=["age", "sex"], sensitive=["illness"], dropped=["w"])
    assert "estimates" not in released(survey(), schema=without).to_dict()
