"""Joint diversity and exponential l asked of tables that cannot give them: refused by protect, answered by verify."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal import Schema
from shoal.errors import CannotSatisfyError, SchemaError
from shoal.models import Model
from tests.masking.patients import ONE_RECORD, patients

FIGURE_4 = pl.DataFrame(
    {
        "age": range(6),
        "disease": ["D1", "D2", "D3", "D4", "D5", "D6"],
        "treatment": ["T1", "T1", "T2", "T2", "T3", "T3"],
    }
)
SCHEMA = Schema(quasi=["age"], sensitive=["disease", "treatment"])
MASKS = ["range", "anatomize", "permute"]


def refused(error: type[Exception], frame: pl.DataFrame, model: Model, schema: Schema = SCHEMA, **options: Any) -> str:
    """What protect says, whatever the mask; no cell value is among it. verify and assess answer instead."""
    said = set()
    for mask in MASKS:
        with pytest.raises(error) as refusal:
            shoal.protect(frame, schema, [model], mask=mask, **options)
        said.add(str(refusal.value))
    for answer in (shoal.verify(frame, schema, [model]), shoal.assess(frame, schema, [model])):
        assert isinstance(answer.holds, bool)
        assert answer.verdict.models[0].name == model.name
    assert len(said) == 1
    text = said.pop()
    assert not any(value in text for value in ("D1", "T1", "disease 1", "treatment 1"))
    return text


def test_more_than_the_table_can_reach_is_refused_with_what_it_can() -> None:
    told = refused(CannotSatisfyError, FIGURE_4, shoal.JointDiversity(l=4))
    assert "joint-diversity 4 cannot be met by any grouping" in told
    assert "all 6 records of 6 persons together reach 3. Ask for at most 3" in told
    assert shoal.protect(FIGURE_4, SCHEMA, [shoal.JointDiversity(l=3)]).verdict.holds
    told = refused(CannotSatisfyError, FIGURE_4, shoal.JointDiversity(l=6, caps={"treatment": 1}))
    assert "reach 5. Ask for at most 5" in told
    assert shoal.protect(FIGURE_4, SCHEMA, [shoal.JointDiversity(l=5, caps={"treatment": 1})]).verdict.holds
    assert "reach 1. Ask for at most 1." in refused(CannotSatisfyError, FIGURE_4, shoal.ExponentialL(l=2))


def test_leaving_persons_out_cannot_help_and_none_is_left_out() -> None:
    refused(CannotSatisfyError, FIGURE_4, shoal.JointDiversity(l=4), max_suppressed=4, max_records=1)


@pytest.mark.parametrize(
    ("caps", "error", "told"),
    [
        ({"drug": 1}, SchemaError, "caps 'drug', but that is not a sensitive attribute"),
        ({"treatmant": 1}, SchemaError, "Did you mean 'treatment'?"),
        ({"age": 1}, SchemaError, "'age'"),
        ({"disease": 0, "treatment": 0}, SchemaError, "cap of 0 on every sensitive attribute"),
        ({"disease": 2, "treatment": 1}, CannotSatisfyError, "caps admit 3 values to be deleted, never 5"),
        ({"disease": 4, "treatment": 0}, CannotSatisfyError, "caps admit 4 values"),
    ],
)
def test_caps_that_make_it_impossible_are_refused(caps: dict[str, int], error: type[Exception], told: str) -> None:
    assert told in refused(error, FIGURE_4, shoal.JointDiversity(l=5, caps=caps))
    answer = shoal.verify(FIGURE_4.with_columns(age=1), SCHEMA, [shoal.JointDiversity(l=5, caps=caps)])
    if error is SchemaError:
        assert not answer.holds
        assert any(told in problem for problem in answer.problems)


@pytest.mark.parametrize("model", [shoal.JointDiversity(l=2), shoal.ExponentialL(l=2)], ids=lambda model: model.name)
def test_a_constant_attribute_is_refused(model: Model) -> None:
    frame = FIGURE_4.with_columns(treatment=pl.lit("T1"))
    told = refused(SchemaError, frame, model)
    assert "'treatment' has the same value in all 6 records" in told
    assert ("cap of 0" in told) == (model.name == "joint-diversity")
    assert not shoal.verify(frame.with_columns(age=1), SCHEMA, [model]).holds


def test_a_constant_attribute_may_be_left_unprotected() -> None:
    frame = FIGURE_4.with_columns(treatment=pl.lit("T1"))
    for mask in MASKS:
        model = shoal.JointDiversity(l=6, caps={"treatment": 0})
        assert shoal.protect(frame, SCHEMA, [model], mask=mask).verdict.holds


@pytest.mark.parametrize("model", [shoal.JointDiversity(l=2), shoal.ExponentialL(l=2)], ids=lambda model: model.name)
def test_missing_sensitive_values_are_refused_with_their_number(model: Model) -> None:
    frame = patients(missing=["disease", "treatment"])
    told = refused(SchemaError, frame, model, ONE_RECORD)
    for name in ("disease", "treatment"):
        assert f"'{name}' is missing in {frame[name].null_count()} of 120 records" in told
    assert shoal.protect(frame, ONE_RECORD, [shoal.HAffiliation(h=0.8)]).verdict.holds, "other models count missing"


def test_missing_values_of_an_unprotected_attribute_do_not_matter() -> None:
    model = shoal.JointDiversity(l=3, caps={"treatment": 0})
    assert shoal.protect(patients(missing=["treatment"]), ONE_RECORD, [model]).verdict.holds


def test_an_attribute_that_is_also_a_quasi_identifier_is_refused() -> None:
    with pytest.raises(SchemaError, match="'disease' is named as quasi and as sensitive"):
        Schema(quasi=["age", "disease"], sensitive=["disease"])


def test_no_sensitive_attribute_is_refused_and_answered() -> None:
    schema = Schema(quasi=["age"], dropped=["disease", "treatment"])
    with pytest.raises(SchemaError, match="none is named"):
        shoal.protect(FIGURE_4, schema, [shoal.JointDiversity(l=2)])
    assert not shoal.verify(FIGURE_4.select("age"), schema, [shoal.JointDiversity(l=2)]).holds


def test_exponential_l_of_several_records_is_refused_and_answered() -> None:
    frame = patients(most_records=3)
    with pytest.raises(SchemaError, match="one record per person"):
        shoal.protect(frame, ONE_RECORD, [shoal.ExponentialL(l=1)])
    assert not shoal.assess(frame, ONE_RECORD, [shoal.ExponentialL(l=1)]).holds


def test_other_models_that_do_not_fit_are_still_refused_by_verify() -> None:
    with pytest.raises(SchemaError):
        shoal.verify(FIGURE_4, SCHEMA, [shoal.HAffiliation(h=0.5, column="drug"), shoal.JointDiversity(l=2)])
