"""A perturbed release end to end: judged by the grouping, gated by linkage, read back and verified."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.demo.patients import made_up_patients
from shoal.measuring.asking import Condition
from shoal.measuring.queries import estimated_on
from shoal.publishing.read import read_published
from shoal.publishing.release import Release
from shoal.reading import CsvOptions

SCHEMA = shoal.Schema(
    person="patient", quasi=["age", "zip", "education"], sensitive=["disease"],
    dropped=["gender", "treatment", "visit_date"],
)  # fmt: skip
MODELS = [shoal.PersonKAnonymity(k=5), shoal.HAffiliation(h=0.8)]


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    return made_up_patients(400, seed=2)


def perturbed(patients: pl.DataFrame, **options: object) -> Release:
    return shoal.protect(patients, SCHEMA, MODELS, method="mdav", mask="perturb", seed=3, **options)  # type: ignore[arg-type]


def test_models_are_judged_by_the_grouping_and_the_verdict_says_so(patients: pl.DataFrame) -> None:
    release = perturbed(patients)
    assert release.verdict.holds
    assert {model.checked_from for model in release.verdict.models} == {"steward"}
    assert "no groups are visible" in release.verdict.notes[0]
    assert release.risk.person_k >= 5
    assert release.linkage is not None
    assert 0 < release.linkage.rate < 0.6
    assert release.to_dict()["linkage"]["rate"] == release.linkage.rate  # type: ignore[index]


def test_means_stay_exact_up_to_what_is_shown(patients: pl.DataFrame) -> None:
    release = perturbed(patients)
    for name in SCHEMA.quasi_names:
        assert release.data[name].mean() == pytest.approx(patients[name].mean(), abs=0.01)


def test_too_much_linkage_is_refused(patients: pl.DataFrame) -> None:
    with pytest.raises(shoal.errors.PrivacyNotMetError, match="linked to their original numbers"):
        perturbed(patients, max_linkage=0.0001)
    assert perturbed(patients, max_linkage=1.0).verdict.holds


def test_the_gate_goes_with_this_mask_only(patients: pl.DataFrame) -> None:
    with pytest.raises(shoal.errors.ParameterError, match="max_linkage"):
        shoal.protect(patients, SCHEMA, MODELS, max_linkage=0.1)


def test_queries_are_answered_from_the_perturbed_records(patients: pl.DataFrame) -> None:
    release = perturbed(patients, queries=200, query_kinds=["count", "average"])
    assert release.query_error is not None
    assert release.query_error.all is not None
    assert 0 < release.query_error.all < 1
    assert 0 < release.aggregate_error["average"].all < 0.5  # type: ignore[operator]
    shown = release.data.with_columns(pl.col("age").round())
    older = (pl.col("age").is_between(50, 59)) & (pl.col("disease") == "E11.9")
    code = release.table.sensitive["disease"].categories.to_list().index("E11.9")
    query = (Condition("disease", code, code), Condition("age", 50, 59))
    assert estimated_on(release, [query]).tolist() == [shown.filter(older).height]
    by_person = estimated_on(release, [query], count="persons").tolist()
    assert by_person == [shown.filter(older)["patient"].n_unique()]
    assert 0 < by_person[0] < shown.filter(older).height


def test_the_seed_governs_the_noise(patients: pl.DataFrame) -> None:
    once, again = (sorted(perturbed(patients).data["age"].to_list()) for _ in range(2))
    assert once == again


def test_it_is_verified_from_what_the_steward_keeps_and_not_without(patients: pl.DataFrame, tmp_path: Path) -> None:
    release = perturbed(patients)
    release.write(tmp_path / "out")
    files = read_published(tmp_path / "out" / "release.csv", csv=CsvOptions())
    assert shoal.verify(files.frame, SCHEMA, MODELS, linked=files.linked).holds
    assert not shoal.verify(files.frame, SCHEMA, MODELS).holds
    assert files.linked is not None
    other = files.linked.with_columns(pl.lit("E11.9").alias("disease"))
    answer = shoal.verify(files.frame, SCHEMA, MODELS, linked=other)
    assert not answer.holds
    assert any("disease" in problem for problem in answer.problems)


def test_a_model_that_the_groups_break_is_not_met(patients: pl.DataFrame) -> None:
    release = perturbed(patients)
    asked = [shoal.PersonKAnonymity(k=300)]
    assert not shoal.verify(release.data, SCHEMA, asked, linked=release.published.linked).holds
