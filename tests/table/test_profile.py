"""Suggested roles make a schema that the table fits, with a reason for each."""

from __future__ import annotations

import random
import tomllib
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.demo.clinics import clinics, franklin_center, lexington_clinic
from shoal.demo.patients import made_up_patients
from shoal.errors import InputError
from shoal.models import HAffiliation, RecordRisk
from shoal.pipeline import protect
from shoal.policy import Policy
from shoal.policy.starter import starter_policy
from shoal.table.column_names import words_of
from shoal.table.profile import profile
from shoal.table.schema import Schema
from shoal.table.table import Table


def roles_of(frame: pl.DataFrame) -> dict[str, str]:
    return {column.name: column.role for column in profile(frame).columns}


def test_the_clinics_get_the_roles_of_the_paper() -> None:
    assert roles_of(clinics()) == {
        "admission": "dropped", "name": "person", "age": "quasi", "gender": "quasi", "zip": "quasi",
        "disease": "sensitive",
    }  # fmt: skip
    assert roles_of(franklin_center())["physician"] == "dropped"
    assert roles_of(lexington_clinic()) == {
        "visit_no": "dropped", "patient": "person", "age_years": "quasi", "sex": "quasi", "zip_code": "quasi",
        "diagnosis": "sensitive", "doctor": "dropped",
    }  # fmt: skip


def test_made_up_patients_have_a_person_and_a_time() -> None:
    roles = roles_of(made_up_patients(200))
    assert (roles["patient"], roles["visit_date"]) == ("person", "time")


def test_a_number_of_the_record_is_not_taken_for_the_person() -> None:
    frame = pl.DataFrame({"id": range(6), "patient_id": [1, 1, 2, 2, 3, 3], "age": [1, 2, 3, 4, 5, 6]})
    assert roles_of(frame) == {"id": "dropped", "patient_id": "person", "age": "quasi"}
    repeated = pl.DataFrame({"id": [1, 1, 2], "age": [3, 4, 5]})
    assert roles_of(repeated) == {"id": "person", "age": "quasi"}


def test_a_person_column_with_missing_values_is_not_suggested() -> None:
    frame = pl.DataFrame({"patient": ["a", None, "b"], "age": [1, 2, 3]})
    assert roles_of(frame)["patient"] == "dropped"


def test_kinds_are_those_of_the_values() -> None:
    frame = pl.DataFrame(
        {
            "age": ["1", "2"],
            "zip": ["123", "12A"],
            "born": ["2001-02-03", None],
            "sex": ["f", "m"],
            "race": [None, None],
        },
        schema_overrides={"race": pl.String},
    )
    seen = {column.name: column for column in profile(frame).columns}
    assert {name: column.kind for name, column in seen.items()} == {
        "age": "number", "zip": "mixed", "born": "date", "sex": "nominal", "race": "nominal"
    }  # fmt: skip
    assert seen["zip"].kind_in_schema == "nominal"
    assert (seen["born"].missing, seen["born"].distinct) == (1, 1)


def test_what_nobody_recognises_is_dropped_unless_nothing_else_is_there() -> None:
    assert roles_of(pl.DataFrame({"age": [1, 2], "quux": [3, 4]})) == {"age": "quasi", "quux": "dropped"}
    assert roles_of(pl.DataFrame({"foo": [1, 2], "quux": [3, 4]})) == {"foo": "quasi", "quux": "quasi"}
    assert roles_of(pl.DataFrame({"disease": ["a", "b"]})) == {"disease": "quasi"}


def test_limits_are_ones_that_the_whole_table_meets() -> None:
    frame = pl.DataFrame({"patient": ["a"] * 7 + ["b", "c"], "age": range(9), "disease": ["flu"] * 8 + ["gout"]})
    seen = profile(frame)
    assert seen.record_risk == Fraction(78, 100)  # 7 of 9, rounded up
    assert seen.h_affiliation == Fraction(75, 100)  # 2 of 3, and a quarter of the rest
    assert profile(frame.drop("disease")).h_affiliation is None
    assert profile(made_up_patients(300)).record_risk == Fraction(1, 5)


def test_the_first_release_of_a_starter_policy_has_many_groups() -> None:
    """Where more than half of all persons have the commonest value, as with several visits per person."""
    drawn = random.Random(1)
    visits = [
        (person, drawn.randint(20, 90), drawn.choice(["flu", "asthma", "ulcer", "reflux", "gastritis"]))
        for person in range(300)
        for _ in range(drawn.randint(2, 6))
    ]
    frame = pl.DataFrame(visits, schema=["patient", "age", "disease"], orient="row")
    seen = profile(frame)
    assert seen.h_affiliation is not None
    assert seen.h_affiliation > Fraction(1, 2)
    schema = Schema(person="patient", quasi=["age"], sensitive=["disease"])
    models = [RecordRisk(rho=seen.record_risk), HAffiliation(h=seen.h_affiliation)]
    assert protect(frame, schema, models, measure_input=False).risk.groups >= 10


def test_no_records_are_refused() -> None:
    with pytest.raises(InputError):
        profile(pl.DataFrame({"age": []}))


@pytest.mark.parametrize(
    ("name", "words"),
    [("zip_code", ["zip", "code", "zipcode"]), ("patientID", ["patient", "id", "patientid"]), ("AGE", ["age"])],
)
def test_names_are_split_into_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


NAMES = st.sampled_from(
    [
        "id",
        "patient",
        "name",
        "age",
        "zip",
        "disease",
        "visit_date",
        "foo",
        "bar:number",
        'quo"te',
        "row_id",
        "mail",
        "no",
    ]
)
VALUES = st.none() | st.sampled_from(["1", "2", "3.5", "x", "2020-01-02", "", "long text"])


@given(st.data())
def test_the_starter_policy_fits_every_table(data: st.DataObject) -> None:
    names = data.draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    n_records = data.draw(st.integers(1, 12))
    columns = {name: data.draw(st.lists(VALUES, min_size=n_records, max_size=n_records)) for name in names}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
    text = starter_policy(profile(frame), table_name="made up.csv")
    policy = Policy.from_document(tomllib.loads(text, parse_float=Decimal))
    table = Table.from_frame(frame, policy.schema(".", frame))
    assert table.n_records == n_records
    assert policy.models


def survey(**columns: object) -> pl.DataFrame:
    """Forty persons of a survey."""
    usual = {
        "hh_id": [i // 2 for i in range(40)], "age": list(range(20, 60)), "weight": [60 + i % 30 for i in range(40)],
        "sampling_weight": [10.5 + i % 4 for i in range(40)], "stratum": ["town", "land"] * 20,
    }  # fmt: skip
    return pl.DataFrame({**usual, **columns})


def test_a_sample_is_known_by_its_weights_households_and_strata() -> None:
    seen = profile(survey())
    assert roles_of(survey()) == {
        "hh_id": "household", "age": "quasi", "weight": "quasi", "sampling_weight": "weight", "stratum": "strata",
    }  # fmt: skip
    assert seen.to_dict()["sample"] == {
        "weight": ["sampling_weight"], "household": ["hh_id"], "strata": ["stratum"],
        "models": {"expected-reidentifications": 1},
    }  # fmt: skip
    text = starter_policy(seen, table_name="survey.csv")
    policy = Policy.from_document(tomllib.loads(text, parse_float=Decimal))
    assert protect(survey(), policy).to_dict()["population"]["fraction"] < 0.1  # type: ignore[index]
    asked = text.replace("# expected-reidentifications", "expected-reidentifications")
    made = protect(survey(), Policy.from_document(tomllib.loads(asked, parse_float=Decimal)))
    assert made.to_dict()["population"]["expected_reidentifications"] <= 1  # type: ignore[index]
    assert "sample" not in profile(clinics()).to_dict()


@pytest.mark.parametrize(
    ("weights", "why"),
    [([None, *[9.0] * 39], "is missing in 1 of 40"), ([0.1] * 40, "add up to 4"), ([-1.0, *[9.0] * 39], "is negative")],
)
def test_weights_that_can_be_none_are_not_suggested(weights: list[object], why: str) -> None:
    columns = {column.name: column for column in profile(survey(sampling_weight=weights)).columns}
    assert columns["sampling_weight"].role == "dropped"
    assert why in columns["sampling_weight"].reason


def test_weights_that_differ_inside_a_person_are_not_suggested() -> None:
    frame = survey(person=[i // 2 for i in range(40)])
    assert {"sampling_weight": "dropped", "person": "person"}.items() <= roles_of(frame).items()


def test_dates_with_hours_are_dates() -> None:
    times = [f"2024-03-{n + 1:02d} 10:{n:02d}" for n in range(20)]
    kinds = {"hours": times, "one is none": [*times[1:], "soon"], "odd": [f"{time} o'clock" for time in times]}
    assert [profile(pl.DataFrame({"when": each})).columns[0].kind for each in kinds.values()] == [
        "date", "nominal", "nominal"]  # fmt: skip
