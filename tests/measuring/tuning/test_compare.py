"""Methods side by side: each row is the least loss of its method and model under the bound."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import shoal
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.judging.risk import Risk
from shoal.measuring.tuning import Comparison, compare
from shoal.measuring.tuning.comparison import parse_levels
from tests.measuring.tuning.test_tune import SCHEMA, visits

AT = parse_levels("max_gidr=0.3,0.15")


@pytest.fixture(scope="module")
def compared() -> Comparison:
    methods = ["balance-tree", "balance-tree:cut=median", "mondrian"]
    return compare(visits(200), SCHEMA, methods=methods, at=AT, by=["k", "person-k", "g-balance", "record-risk"])


def test_every_row_stays_within_its_bound(compared: Comparison) -> None:
    assert len(compared.rows) == 3 * 4 * 2
    for row in compared.rows:
        assert row.point is not None, (row.method, row.model)
        assert row.target is not None
        assert row.point.risk.max_gidr <= float(row.target.limit)


def test_a_row_is_what_protect_gives_at_its_threshold(compared: Comparison) -> None:
    row = next(row for row in compared.rows if row.method == "balance-tree:cut=median" and row.model == "g-balance")
    assert row.point is not None
    release = shoal.protect(visits(200), SCHEMA, row.point.models, cut="median", measure_input=False)
    assert release.utility.loss == row.point.loss


def test_the_risk_itself_as_a_model_loses_least(compared: Comparison) -> None:
    for target in AT:
        lost = {row.model: row.point.loss for row in compared.rows
                if row.method == "balance-tree" and row.target == target and row.point}  # fmt: skip
        assert min(lost, key=lost.__getitem__) == "record-risk"


def test_a_bound_that_nothing_meets_has_no_point() -> None:
    found = compare(visits(40), SCHEMA, methods=["balance-tree"], at=parse_levels("max_gidr=0.0001"), by=["k"])
    assert [row.point for row in found.rows] == [None]
    assert found.to_dict()["rows"][0]["met"] is False  # type: ignore[index]


def test_models_of_the_policy_are_required_as_well() -> None:
    found = compare(
        visits(), SCHEMA, [shoal.PersonKAnonymity(k=9)], methods=["balance-tree"], at=parse_levels("max_gidr=0.5"),
        by=["g-balance"],
    )  # fmt: skip
    assert found.rows[0].point is not None
    assert found.rows[0].point.risk.person_k >= 9


@pytest.mark.parametrize("wrong", ["max_gidr", "max_gidr=", "max_gdir=0.1", "max_gidr=x"])
def test_bounds_that_cannot_be_read_are_refused(wrong: str) -> None:
    with pytest.raises(ParameterError):
        parse_levels(wrong)


@pytest.mark.parametrize("wrong", ["balance-tree:cut", "balance-tree:cut=middle", "balance-shrub", "mondrian:cut=best"])
def test_methods_that_do_not_exist_are_refused(wrong: str) -> None:
    with pytest.raises(ParameterError):
        compare(visits(), SCHEMA, methods=[wrong], at=AT)


def of_the_groups(risk: Risk) -> Risk:
    """What of a risk is known before anything is published: not who is alone by what else leaves."""
    return replace(risk, alone_by={})


def test_without_a_bound_methods_stand_side_by_side_under_the_same_models() -> None:
    models = [shoal.PersonKAnonymity(k=4), shoal.RecordRisk(rho=0.3)]
    found = compare(visits(200), SCHEMA, models, methods=["balance-tree:cut=median", "mondrian"])
    for row, options in zip(found.rows, [{"cut": "median"}, {"method": "mondrian"}], strict=True):
        release = shoal.protect(visits(200), SCHEMA, models, measure_input=False, **options)  # type: ignore[arg-type]
        assert row.point is not None
        assert (row.model, row.target) == (None, None)
        assert (row.point.loss, row.point.risk) == (release.utility.loss, of_the_groups(release.risk))
    rows = found.to_dict()["rows"]
    assert [row["method"] for row in rows] == ["balance-tree:cut=median", "mondrian"]  # type: ignore[attr-defined]
    assert all(row["met"] and row["models"] == {"person-k-anonymity": 4, "record-risk": 0.3} for row in rows)  # type: ignore[attr-defined]


def test_without_a_bound_models_that_no_method_can_meet_are_refused() -> None:
    with pytest.raises(CannotSatisfyError, match="person-k-anonymity 41"):
        compare(visits(40), SCHEMA, [shoal.PersonKAnonymity(k=41)])
    with pytest.raises(ParameterError, match="one model"):
        compare(visits(40), SCHEMA)


def test_bounds_are_taken_as_they_are_written() -> None:
    by_text, by_name, by_target = (
        compare(visits(60), SCHEMA, methods=["mondrian"], by=["person-k"], at=at)
        for at in ("max_gidr=0.5", {"max_gidr": 0.5}, parse_levels("max_gidr=0.5"))
    )
    assert by_text.rows[0].target == by_name.rows[0].target == by_target.rows[0].target
    assert by_text.rows[0].point is not None
    assert by_name.rows[0].point is not None
    assert by_text.rows[0].point.loss == by_name.rows[0].point.loss
    with pytest.raises(ParameterError, match="a risk and its bound"):
        compare(visits(60), SCHEMA, at=["max_gidr"])  # type: ignore[list-item]


def test_what_may_be_left_out_is_left_out_as_in_protect() -> None:
    heavy = visits(60).filter(pl.col("patient") == pl.col("patient").first())
    frame = pl.concat([visits(60), *[heavy] * 40])
    budget = {"max_suppressed": 1, "seed": 3}
    models = [shoal.RecordRisk(rho=0.3)]
    release = shoal.protect(frame, SCHEMA, models, **budget)  # type: ignore[arg-type]
    assert release.risk.persons == 59
    row = compare(frame, SCHEMA, models, methods=["balance-tree"], **budget).rows[0]  # type: ignore[arg-type]
    assert row.point is not None
    assert (row.point.loss, row.point.risk) == (release.utility.loss, of_the_groups(release.risk))
    bound = compare(frame, SCHEMA, methods=["balance-tree"], by=["record-risk"], at="max_gidr=0.3", **budget).rows[0]  # type: ignore[arg-type]
    assert bound.point is not None
    assert (bound.point.loss, bound.point.risk) == (release.utility.loss, of_the_groups(release.risk))


def test_rows_say_how_well_a_column_is_still_predicted() -> None:
    models = [shoal.PersonKAnonymity(k=5)]
    found = compare(visits(120), SCHEMA, models, methods=["balance-tree", "mondrian"], seed=1, usefulness="disease")
    release = shoal.protect(visits(120), SCHEMA, models, seed=1, measure_input=False, usefulness="disease")
    assert release.useful is not None
    told = found.rows[0].prediction
    assert told is not None
    assert told.measure == "auc"
    assert told.release["auc"] == pytest.approx(release.useful.prediction.release["auc"])
    assert found.predictions == ("auc of disease", "with the original")
    assert found.predicted(found.rows[0]) == (f"{told.release['auc']:.3f}", f"{told.original['auc']:.3f}")
    assert found.rows[0].to_dict()["usefulness"] == told.to_dict()
    assert "auc of disease" in repr(found)
    assert compare(visits(40), SCHEMA, models, methods=["balance-tree"]).predictions == ()


def test_bounds_are_compared_by_what_is_predicted_too() -> None:
    found = compare(
        visits(60), SCHEMA, methods=["balance-tree"], at=parse_levels("max_gidr=0.5,0.0001"), by=["person-k"], seed=1,
        usefulness={"target": "disease"},
    )  # fmt: skip
    assert [row.prediction is None for row in found.rows] == [False, True]
    assert found.predicted(found.rows[1]) == ("-", "-")
    with pytest.raises(SchemaError, match="Usefulness is asked for 'nothing'"):
        compare(visits(60), SCHEMA, [shoal.PersonKAnonymity(k=5)], usefulness="nothing")
