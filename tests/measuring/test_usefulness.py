"""What can still be done with a release: asked for by policy, Python and in words; a whole run pinned."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Nominal, Schema
from shoal.demo.patients import made_up_patients
from shoal.engines.contract import Files, Job, engine_called
from shoal.errors import ParameterError, PolicyError, SchemaError
from shoal.measuring.classes import classes_of
from shoal.measuring.distributions import pairs_of_categories, what_is_kept
from shoal.measuring.shown import view_of
from shoal.measuring.usefulness import usefulness_of
from shoal.policy import Policy
from shoal.policy.explain import explain
from tests.measuring.test_prediction import MASKS, SCHEMA, people, released
from tests.naive import learning as naive

MODELS = [shoal.PersonKAnonymity(k=5)]


def protected(**options: Any) -> shoal.Release:
    return shoal.protect(people(), SCHEMA, MODELS, seed=1, attacks=0, measure_input=False, **options)


# --- asked for -------------------------------------------------------------------------------------------------------


def test_it_is_measured_only_where_it_is_asked_for() -> None:
    release = protected()
    assert release.useful is None
    assert "usefulness" not in release.to_dict()
    asked = protected(usefulness="ill")
    assert asked.useful is not None
    assert asked.to_dict()["usefulness"] == asked.useful.to_dict()
    assert asked.useful == asked.usefulness()
    assert asked.useful.prediction.target == "ill"
    assert asked.useful.counts is not None
    assert asked.useful.counts.n_queries + asked.useful.counts.n_empty == 1000


def test_a_release_answers_at_any_time() -> None:
    release = protected()
    found = release.usefulness("income", queries=50)
    assert found.prediction.kind == "number"
    assert found.counts is not None
    assert found.counts.n_queries + found.counts.n_empty == 50
    assert release.usefulness("income", kind="classes", queries=0).counts is None
    with pytest.raises(ParameterError, match="Name the column that somebody wants to predict"):
        release.usefulness()
    with pytest.raises(ParameterError, match="queries must be a whole number"):
        release.usefulness("income", queries=-1)


def test_a_mapping_says_all_that_a_policy_does() -> None:
    release = protected(usefulness={"target": "income", "kind": "classes", "queries": 20})
    assert release.useful is not None
    assert release.useful.prediction.kind == "classes"
    assert release.policy.to_document()["usefulness"] == {"target": "income", "kind": "classes", "queries": 20}


@pytest.mark.parametrize("wrong", [{"target": "ill", "kind": "odd"}, {"queries": 5}, 7, {"target": "ill", "other": 1}])
def test_what_is_no_question_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="usefulness must be the name of a column"):
        protected(usefulness=wrong)


def test_an_unknown_column_is_refused_before_the_work() -> None:
    with pytest.raises(SchemaError, match="Usefulness is asked for 'agee'"):
        protected(usefulness="agee")
    document = {"columns": {"quasi": ["age"]}, "models": {"k-anonymity": 2}, "usefulness": {"target": "agee"}}
    with pytest.raises(PolicyError, match=r"usefulness\.target: Usefulness is asked for 'agee'.*Did you mean 'age'"):
        Policy.from_document(document)


def test_a_policy_reads_and_writes_it() -> None:
    text = protected(usefulness="ill").policy.to_toml()
    assert '[usefulness]\ntarget = "ill"\n' in text
    document = {"columns": {"quasi": ["age"]}, "models": {"k-anonymity": 2}, "usefulness": {"target": "age"}}
    policy = Policy.from_document(document)
    assert policy.to_document()["usefulness"] == {"target": "age"}
    assert "how well 'age' can still be predicted" in explain(policy)
    with pytest.raises(PolicyError, match=r"usefulness\.queries: must be at least 0"):
        Policy.from_document({**document, "usefulness": {"target": "age", "queries": -1}})


@pytest.mark.parametrize("engine", ["stream", "spark"])
def test_engines_that_never_hold_the_table_refuse_it_by_name(engine: str) -> None:
    from shoal.engines.offered import why_not_in_portions, why_not_on_spark

    job = Job.of(Files(names=("x.csv",)), SCHEMA, MODELS, usefulness="ill")
    why = (why_not_in_portions if engine == "stream" else why_not_on_spark)(job)
    assert any(sentence.startswith("Telling what can still be done with the release") for sentence in why)
    assert engine_called("memory").name == "memory"


# --- what it says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mask", "options"), MASKS)
def test_every_mask_is_answered(mask: str, options: dict[str, Any]) -> None:
    release = released(people(), mask, **options)
    found = usefulness_of(release, "ill", queries=50)
    kept = what_is_kept(release)
    assert found.marginals == {name: column.total_variation for name, column in kept.columns.items()}
    named = {(pair.first, pair.second): pair.measure for pair in found.pairs}
    assert named[("age", "sex")] == named[("age", "ill")] == named[("sex", "ill")] == "cramers_v"


def test_a_mask_of_somebodys_own_says_that_only_its_maker_reads_it() -> None:
    from shoal.masking.publish import Mask

    class Stars(Mask):
        name = "stars"

        def mask(self, column: Any, records: Any, table: Any) -> pl.Series:
            return pl.Series(["?"] * records.n_groups)

    found = released(people(60), Stars()).usefulness("ill")  # type: ignore[arg-type]
    assert found.prediction.why_not is not None
    assert "Only its maker can read" in found.prediction.why_not
    assert (found.marginals, found.pairs, found.counts) == ({}, (), None)


def test_pairs_of_categories_are_those_of_the_books() -> None:
    schema = Schema(person="id", quasi=["age", Nominal("sex"), Nominal("ill")], dropped=["income"])
    release = released(people(200), schema=schema)
    found = {(pair.first, pair.second): pair for pair in pairs_of_categories(release)}
    assert set(found) == {("age", "sex"), ("age", "ill"), ("sex", "ill")}
    table = release.table
    sex, ill = (classes_of(table.quasi[name], table) for name in ("sex", "ill"))
    assert sex is not None
    assert ill is not None
    before: dict[tuple[int, int], float] = {}
    for a, b in zip(sex.class_of_record.tolist(), ill.class_of_record.tolist(), strict=True):
        before[a, b] = before.get((a, b), 0) + 1
    assert found["sex", "ill"].before == pytest.approx(naive.cramers_v(before))
    after: dict[tuple[int, int], float] = {}
    names = {name: sorted(people(200)[name].unique()) for name in ("sex", "ill")}
    for row in release.data.iter_rows(named=True):
        of_sex, of_ill = (leaves(row[name], names[name]) for name in ("sex", "ill"))
        for a in of_sex:
            for b in of_ill:
                place = (int(sex.class_of_part[a]), int(ill.class_of_part[b]))
                after[place] = after.get(place, 0) + 1 / (len(of_sex) * len(of_ill))
    assert found["sex", "ill"].after == pytest.approx(naive.cramers_v(after))
    assert view_of(release) is not None


def leaves(shown: str, names: list[str]) -> list[int]:
    """The codes that a cell stands for: one value, or a set such as {f, m}."""
    return [names.index(each) for each in shown.strip("{}").split(", ")]


# --- a whole run -----------------------------------------------------------------------------------------------------


def test_made_up_patients_are_still_useful() -> None:
    """Pinned: 300 made-up patients, their treatment predicted from what the release shows."""
    schema = Schema(
        person="patient", quasi=["age", Nominal("gender"), "education"], sensitive=["treatment", "disease"],
        dropped=["visit_date", "zip"],
    )  # fmt: skip
    frame = made_up_patients(300, seed=1)
    release = shoal.protect(frame, schema, MODELS, seed=7, attacks=0, usefulness={"target": "treatment", "queries": 0})
    assert release.useful is not None
    found = release.useful.prediction
    assert (found.kind, found.classes, found.persons, found.features) == (
        "classes", 20, 300, ("age", "gender", "education", "disease"),
    )  # fmt: skip
    told = {who: getattr(found, who) for who in ("release", "original", "blind")}
    assert told == {who: pytest.approx(skill, abs=0.004) for who, skill in GOLDEN.items()}
    assert found.kept == pytest.approx(0.998, abs=0.01)
    assert release.useful.marginals["gender"] == pytest.approx(
        np.abs(np.diff(shares_of_gender(frame, release.data), axis=0)).sum() / 2, abs=0.02
    )


GOLDEN = {
    "release": {"accuracy": 0.5254, "auc": 0.8742},
    "original": {"accuracy": 0.5236, "auc": 0.8748},
    "blind": {"accuracy": 0.2908, "auc": 0.5},
}


def shares_of_gender(frame: pl.DataFrame, data: pl.DataFrame) -> np.ndarray:
    """By table and gender the share of records, a set counting in parts."""
    names = sorted(frame["gender"].drop_nulls().unique())
    counted = np.zeros((2, len(names) + 1))
    for which, values in enumerate((frame["gender"].to_list(), data["gender"].cast(pl.String).to_list())):
        for value in values:
            parts = [None] if value is None else value.strip("{}").split(", ")
            for part in parts:
                at = len(names) if part in (None, "missing") else names.index(part)
                counted[which, at] += 1 / len(parts)
    return counted / counted.sum(axis=1, keepdims=True)


def test_hidden_histories_are_learned_from_as_far_as_they_are_shown() -> None:
    frame = people(120, most_records=3)
    schema = Schema(person="id", quasi=["age", Nominal("sex")], sensitive=["ill"], dropped=["income"])
    models = [shoal.PersonKAnonymity(k=4), shoal.HistoryK(k=3, m=1)]
    release = shoal.protect(frame, schema, models, seed=1, attacks=0, usefulness={"target": "ill", "queries": 0})
    assert release.useful is not None
    assert release.useful.prediction.why_not is None
    assert release.useful.prediction.classes == 2
    found = shoal.compare(frame, schema, models, methods=["balance-tree"], seed=1, usefulness="ill")
    assert found.rows[0].prediction is not None
    assert found.rows[0].prediction.release == pytest.approx(release.useful.prediction.release)
