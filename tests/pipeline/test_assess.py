"""assess: the risk of a table as it is, whatever models it fails."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa

import shoal
from shoal import Schema
from shoal.demo.clinics import clinics
from tests.pipeline.tables import MODELS, SCHEMA, visits

CLINICS = Schema(
    person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
)


def test_the_clinics_as_they_are() -> None:
    before = shoal.assess(clinics(), CLINICS)
    assert (before.records, before.persons, before.max_gidr, before.person_k) == (19, 8, 1.0, 1)
    assert before.unique_persons == 8
    assert before.max_gsar == {"disease": 1.0}


def test_models_are_answered_and_never_refused() -> None:
    answer = shoal.assess(clinics(), CLINICS, [shoal.GBalance(g=0.5), shoal.KAnonymity(k=1)])
    assert not answer.holds
    assert [model.holds for model in answer.verdict.models] == [False, True]
    assert {model.checked_from for model in answer.verdict.models} == {"table"}
    assert answer.problems == ()  # that a person has records of several ages is no fault of a table


def test_without_models_nothing_is_promised_and_nothing_holds() -> None:
    answer = shoal.assess(clinics(), CLINICS)
    assert (bool(answer), answer.holds, answer.verdict.holds, answer.problems) == (False, False, False, ())


def test_one_person_has_risk_one() -> None:
    one = clinics().filter(pl.col("name") == "Harry")
    answer = shoal.assess(one, CLINICS, [shoal.GBalance(g=0.5)])
    assert (answer.holds, answer.max_gidr, answer.persons) == (False, 1.0, 1)


def test_the_answer_has_the_keys_of_the_contract() -> None:
    answer = shoal.assess(visits(), SCHEMA, MODELS).to_dict()
    keys = {
        "records", "persons", "groups", "max_gidr", "avg_gidr", "max_gsar", "avg_gsar", "g_balance", "h_affiliation",
        "k", "person_k", "seconds", "verdict",
    }  # fmt: skip
    assert keys <= set(answer)


def test_every_kind_of_frame_has_the_same_risk() -> None:
    frame = visits()
    in_pandas = frame.to_pandas()
    risks = [
        shoal.assess(given, SCHEMA).risk
        for given in (frame, in_pandas, in_pandas.set_index(pd.Index([1] * len(frame))), frame.to_arrow())
    ]
    assert risks == [risks[0]] * 4
    assert isinstance(frame.to_arrow(), pa.Table)


def test_records_left_out_are_said() -> None:
    schema = Schema(
        person="patient", quasi=["age"], sensitive=["disease"], missing="drop",
        dropped=["phone", "gender", "zip", "stage", "born", "smoker", "bmi", "drug", "visit", "ward"],
    )  # fmt: skip
    answer = shoal.assess(visits(), schema)
    missing = visits()["age"].null_count()
    assert answer.records == 240 - missing
    assert answer.notes == (
        f"{missing} of 240 records were left out because a quasi-identifier is missing ('age' in {missing}).",
    )
    assert answer.to_dict()["notes"] == list(answer.notes)


def test_unequal_spellings_are_unequal() -> None:
    frame = pl.DataFrame({"p": [1, 2], "zip": ["02139", "2139"]})
    assert shoal.assess(frame, Schema(person="p", quasi=["zip"])).groups == 2
