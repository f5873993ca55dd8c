"""Tuning finds a setting that meets the targets on what would be published, and loses least of all it tried."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.demo.patients import made_up_patients
from shoal.errors import CannotSatisfyError, ParameterError
from shoal.measuring.tuning import Point, Tuning, tune
from shoal.measuring.tuning.chart import frontier_svg

SCHEMA = shoal.Schema(person="patient", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"])


def visits(n: int = 120, seed: int = 1) -> pl.DataFrame:
    return made_up_patients(n, seed=seed).select("patient", "age", "gender", "zip", "disease")


@pytest.fixture(scope="module")
def tuned() -> Tuning:
    return tune(visits(), SCHEMA, [shoal.PersonKAnonymity(k=3)], targets={"max_gidr": "0.2"}, points=8)


def test_the_choice_meets_the_target_and_loses_least(tuned: Tuning) -> None:
    assert tuned.chosen is not None
    assert tuned.release is not None
    assert tuned.release.risk.max_gidr <= 0.2
    assert tuned.chosen.loss == min(point.loss for point in tuned.points if point.meets)
    assert tuned.chosen.setting()["record-risk"] == 0.2


def test_what_the_policy_asks_for_stays(tuned: Tuning) -> None:
    assert all(point.setting()["person-k-anonymity"] == 3 for point in tuned.points)
    assert all(point.risk.person_k >= 3 for point in tuned.points)


def test_the_frontier_falls(tuned: Tuning) -> None:
    risks = [point.reached["max_gidr"] for point in tuned.frontier]
    losses = [point.loss for point in tuned.frontier]
    assert risks == sorted(risks)
    assert losses == sorted(losses, reverse=True)
    for point in tuned.points:
        if point.method != tuned.frontier[0].method:
            continue  # tried with more effort
        assert any(
            kept.loss <= point.loss and kept.reached["max_gidr"] <= point.reached["max_gidr"] for kept in tuned.frontier
        )


def test_points_are_what_protect_gives(tuned: Tuning) -> None:
    for point in tuned.points[::3]:
        release = shoal.protect(visits(), SCHEMA, point.models, method=point.method, measure_input=False)
        assert release.utility == point.utility


def test_the_frontier_is_drawn_with_little_effort_and_the_choice_made_with_the_methods_own(tuned: Tuning) -> None:
    assert tuned.chosen is not None
    assert tuned.release is not None
    assert {point.method.written for point in tuned.frontier} == {"balance-tree:effort=low"}
    assert tuned.chosen.method == tuned.release.method == shoal.grouping.BalanceTree()
    assert tuned.chosen.utility == tuned.release.utility
    same = next(point for point in tuned.frontier if point.models == tuned.chosen.models)
    assert tuned.chosen.loss < same.loss


def test_a_loss_that_more_effort_does_not_lower_is_chosen_with_less() -> None:
    """Groups are improved for ANE; where that costs granularity, the setting without it is the better one."""
    found = tune(visits(), SCHEMA, targets={"max_gidr": "0.3"}, minimise="granularity", points=4)
    assert found.chosen is not None
    assert found.release is not None
    assert found.chosen.loss == min(point.loss for point in found.points if point.meets)
    assert found.release.utility.granularity == found.chosen.utility.granularity
    assert len({point.method for point in found.points}) == 2


def test_mixing_sensitive_values_is_not_forgotten() -> None:
    """A tree that mixes sensitive values has no memory to go on from."""
    found = tune(visits(), SCHEMA, targets={"max_gidr": "0.2"}, points=4, alpha=0.5)
    for point in found.points:
        release = shoal.protect(visits(), SCHEMA, point.models, alpha=0.5, measure_input=False)
        assert release.utility == point.utility


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(["max_gidr", "avg_gidr", "max_gsar", "avg_gsar", "marketer_risk", "prosecutor_risk"]),
    st.integers(20, 60),
    st.sampled_from(["ane", "granularity", "discernability", "within_variance"]),
    st.integers(0, 3),
)
def test_any_risk_is_kept_within_its_bound_at_any_loss(key: str, percent: int, loss: str, seed: int) -> None:
    found = tune(visits(60, seed), SCHEMA, targets={key: f"0.{percent}"}, minimise=loss, points=5)
    assert found.release is not None
    measured = getattr(found.release.risk, key)
    assert (max(measured.values()) if isinstance(measured, dict) else measured) <= float(f"0.{percent}")


def test_several_targets_are_met_together() -> None:
    asked = [shoal.GBalance(g="0.5"), shoal.HAffiliation(h="0.9")]
    found = tune(visits(), SCHEMA, asked, targets={"max_gidr": "0.25", "max_gsar.disease": "0.5"}, points=5)
    assert found.release is not None
    assert found.release.risk.max_gidr <= 0.25
    assert found.release.risk.max_gsar["disease"] <= 0.5
    turned = {name for point in found.points for name in point.setting()}
    assert turned >= {"g-balance", "record-risk"}
    assert not any("g-balance" in point.setting() and "record-risk" in point.setting() for point in found.points)


def test_out_of_reach_says_what_could_be_met() -> None:
    with pytest.raises(CannotSatisfyError, match=r"record-risk 0.001 cannot be met .* Ask for at least"):
        tune(visits(), SCHEMA, targets={"max_gidr": "0.001"}, points=3)
    with pytest.raises(CannotSatisfyError, match=r"avg_gidr at most 0\.001: the lowest reached is"):
        tune(visits(), SCHEMA, targets={"avg_gidr": "0.001"}, points=3)


def test_a_stopped_search_keeps_what_it_found() -> None:
    seen: list[Point] = []

    def stop_after_four(point: Point) -> None:
        seen.append(point)
        if len(seen) == 4:
            raise KeyboardInterrupt

    found = tune(visits(), SCHEMA, targets={"max_gidr": "0.2"}, points=8, on_point=stop_after_four)
    assert found.stopped
    assert list(found.points) == seen
    assert found.release is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"targets": {"max_gidr": "0.2"}, "minimise": "anne"}, "Did you mean 'ane'"),
        ({"targets": {"max_gidr": "0.2"}, "points": 1}, "points must be a whole number of at least 2"),
        ({"targets": {"max_gidr": "0.2"}, "method": "balance-trees"}, "Did you mean 'balance-tree'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        tune(visits(), SCHEMA, **options)


def test_targets_of_values_need_a_sensitive_attribute() -> None:
    schema = shoal.Schema(person="patient", quasi=["age", "zip"], dropped=["gender", "disease"])
    with pytest.raises(ParameterError, match="none is named"):
        tune(visits(), schema, targets={"max_gsar": "0.5"})


def test_the_picture_shows_every_point_and_tells_it_in_words(tuned: Tuning) -> None:
    picture = frontier_svg(tuned)
    assert picture.count("<g><title>") == len(tuned.points)
    assert picture.count('r="9" class="chosen"') == 1
    assert "target: at most 20\N{NO-BREAK SPACE}%</text>" in picture
    assert 'class="tried"/><circle' not in picture  # what is chosen is never told to be worse than another
    assert "var(" not in picture  # which not every viewer of pictures knows
    assert f"{len(tuned.points)} settings tried" in picture
    assert "record-risk 0.2" in picture
    assert picture.count("http") == 1  # the name of the format


def test_a_floor_of_another_attribute_stays() -> None:
    """A target about one attribute turns no model of another, nor one that is about all of them."""
    frame = visits(200).with_columns(drug=pl.col("disease").reverse())
    schema = shoal.Schema(person="patient", quasi=["age", "zip"], sensitive=["disease", "drug"], dropped=["gender"])
    for asked in (shoal.HAffiliation(h="0.5", column="disease"), shoal.HAffiliation(h="0.5")):
        found = tune(frame, schema, [asked], targets={"max_gsar.drug": "0.9"}, points=4)
        assert found.release is not None
        assert found.release.risk.max_gsar["disease"] <= 0.5
        assert asked in found.chosen.models  # type: ignore[union-attr]


def test_of_a_model_that_is_asked_for_twice_the_stricter_threshold_is_shown() -> None:
    found = tune(visits(), SCHEMA, [shoal.PersonKAnonymity(k=8)], targets={"prosecutor_risk": "0.5"}, points=3)
    assert all(point.setting()["person-k-anonymity"] >= 8 for point in found.points)


def test_the_choice_keeps_the_limit_on_linkage() -> None:
    """The setting that loses least is passed over where a perturbed release of it is linked too often."""
    schema = shoal.Schema(person="patient", quasi=["age", "zip"], dropped=["gender", "disease"])
    options: dict[str, Any] = {"mask": "perturb", "method": "longest-edge", "seed": 1, "points": 5}
    free = tune(visits(), schema, targets={"person_k": 3}, **options)
    assert free.release is not None
    assert free.release.linkage is not None
    limit = free.release.linkage.rate * 0.75
    found = tune(visits(), schema, targets={"person_k": 3}, max_linkage=limit, **options)
    assert found.release is not None
    assert found.release.linkage is not None
    assert found.release.linkage.rate <= limit
    with pytest.raises(CannotSatisfyError, match="linked to their original numbers"):
        tune(visits(), schema, targets={"person_k": 3}, max_linkage=0, **options)
