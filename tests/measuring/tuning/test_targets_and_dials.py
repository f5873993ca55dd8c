"""Targets say what may not be exceeded; dials turn a model's threshold from loose to the strictest there is."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.demo.clinics import clinics
from shoal.demo.patients import made_up_patients
from shoal.errors import ParameterError
from shoal.grouping.feasibility import counts_of_whole
from shoal.measuring.tuning.dials import dial_for, dial_named, dials, model_of_target
from shoal.measuring.tuning.targets import RISKS, Target, parse_targets
from shoal.table.table import Table

SCHEMA = shoal.Schema(
    person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
)


@pytest.fixture(scope="module")
def table() -> Table:
    return Table.from_frame(clinics(), SCHEMA)


def test_targets_are_read_as_written() -> None:
    read = parse_targets({"max_gidr": "0.10", "max_gsar.disease": 0.2, "person_k": 5})
    assert read == (
        Target("max_gidr", Fraction(1, 10)), Target("max_gsar", Fraction(1, 5), "disease"),
        Target("person_k", Fraction(5)),
    )  # fmt: skip
    assert [str(target) for target in read] == [
        "max_gidr at most 0.1", "max_gsar.disease at most 0.2", "person_k at least 5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_gdir": 0.1}, "Did you mean 'max_gidr'"),
        ({"max_gidr": 1.5}, "between 0 and 1"),
        ({"max_gidr": -0.1}, "between 0 and 1"),
        ({"max_gidr": "often"}, "must be a number"),
        ({"person_k": 2.5}, "whole number"),
        ({"max_gidr.disease": 0.1}, "not a risk of one sensitive attribute"),
        ({}, "No target is given"),
        ({"records": 5}, "no risk 'records'"),
    ],
)
def test_targets_that_make_no_sense_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        parse_targets(wrong)


def test_a_target_is_met_at_its_bound_and_not_beyond() -> None:
    risk = shoal.assess(clinics(), SCHEMA).risk
    assert Target("max_gidr", 1).is_met(risk)
    assert not Target("max_gidr", "0.999").is_met(risk)
    assert Target("person_k", 1).is_met(risk)
    assert not Target("person_k", 2).is_met(risk)
    with pytest.raises(ParameterError, match="'age' is not a sensitive attribute"):
        Target("max_gsar", 1, "age").is_met(risk)


@pytest.mark.parametrize("key", RISKS)
def test_every_risk_has_a_dial(key: str) -> None:
    assert dial_for(Target(key, 1)).name in dials()


def test_the_model_of_a_target_is_the_target(table: Table) -> None:
    for key, limit in (("max_gidr", "0.5"), ("max_gsar", "0.5"), ("person_k", 2), ("k", 4), ("g_balance", "0.5"),
                       ("prosecutor_risk", "0.5"), ("unique_persons", 0)):  # fmt: skip
        target = Target(key, limit)  # type: ignore[arg-type]
        model = model_of_target(target)
        assert model is not None
        release = shoal.protect(clinics(), SCHEMA, [model], measure_input=False)
        assert target.is_met(release.risk), key
    assert model_of_target(Target("avg_gidr", "0.5")) is None


@pytest.mark.parametrize("name", list(dials()))
def test_the_strictest_threshold_is_met_by_the_whole_table_and_hardly_more(name: str) -> None:
    dial = dial_named(name)
    schema = shoal.Schema(person="patient", quasi=["age", "zip"], sensitive=["disease"])
    frame = made_up_patients(60, seed=1).select("patient", "age", "zip", "disease")
    visits = Table.from_frame(frame, schema)
    strictest = dial.strictest(visits)
    strict = dial.model(strictest)
    assert strict.holds(counts_of_whole(visits, [strict])).all()
    if name != "t-closeness":  # the whole table has a distance of 0 to itself
        beyond = dial.model(strictest * 1.2 + 1)
        assert not beyond.holds(counts_of_whole(visits, [beyond])).all()


@given(st.sampled_from(sorted(dials())), st.floats(1, 500), st.floats(1.02, 3))
def test_turning_a_dial_never_makes_a_model_looser(name: str, size: float, factor: float) -> None:
    dial = dial_named(name)
    loose, strict = dial.model(size), dial.model(size * factor)
    assert (loose.asked <= strict.asked) if loose.higher_is_safer else (loose.asked >= strict.asked)
    assert math.isfinite(strict.asked)


def test_dials_go_by_the_names_of_models_and_flags() -> None:
    assert dial_named("k") == dial_named("k-anonymity")
    with pytest.raises(ParameterError, match="Did you mean 'g-balance'"):
        dial_named("g-balanc")
