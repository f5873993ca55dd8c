"""A goal in words becomes what the library is asked, exactly; and the drawing has what was measured."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.demo.patients import made_up_patients
from shoal.measuring.tuning import parse_targets
from shoal.policy import Policy
from shoal.web import drawing, facts, goal, work

TOLD = {
    "risk": {"records": 1000, "persons": 200, "unique_persons": 150},
    "records_per_person": {"most": 40},
    "spread": {"blind": {"disease": 0.62, "treatment": 0.1}},
    "left_out": [{"columns": ["zip"], "persons": 12}],
}


@given(st.decimals(min_value="0.01", max_value=100, places=2))
def test_percent_is_a_share_exactly(percent: Decimal) -> None:
    text = goal.from_percent(str(percent))
    assert Fraction(text) * 100 == Fraction(percent)
    assert "E" not in text
    assert goal.to_percent(text) == pytest.approx(float(percent))


def test_a_goal_is_the_targets_of_tune() -> None:
    chosen = goal.starting_goal(["disease"], None, {"record": {"on": True, "limit": "0.1"}})
    targets = goal.targets_of(chosen)
    assert targets == {"max_gidr": "0.1", "max_gsar.disease": "0.5"}
    assert [target.limit for target in parse_targets(targets)] == [Fraction(1, 10), Fraction(1, 2)]
    chosen["record"]["on"] = False
    assert list(goal.targets_of(chosen)) == ["max_gsar.disease"]


def test_no_limit_is_proposed_that_nobody_can_meet() -> None:
    chosen = goal.starting_goal(["disease", "treatment"], TOLD, {})
    assert Decimal(chosen["values"]["disease"]["limit"]) >= Decimal("0.62")
    assert chosen["values"]["treatment"]["limit"] == "0.5"
    assert goal.lowest_record_limit(TOLD) == Decimal("0.04")


def test_what_was_kept_is_shown_again_and_columns_that_are_gone_are_not() -> None:
    kept = {"way": "models", "values": {"disease": {"on": False, "limit": "0.3"}, "gone": {"on": True, "limit": "0.1"}}}
    chosen = goal.starting_goal(["disease"], None, kept)
    assert chosen["way"] == "models"
    assert chosen["values"] == {"disease": {"on": False, "limit": "0.3"}}


def test_options_are_those_of_a_policy() -> None:
    options = {"method": "mondrian", "mask": "mean", "max_suppressed": 3, "max_records": 10, "max_alone": 0}
    chosen = goal.starting_goal([], None, {"options": options, "persons": {"on": True, "k": 4}})
    beside = goal.beside_of(chosen, {"seed": 7, "models": {"k-anonymity": 3}})
    policy = Policy.from_document({"columns": {"quasi": ["age"]}, **beside})
    assert (policy.method, policy.mask, policy.seed) == ("mondrian", "mean", 7)
    assert (policy.budget.max_suppressed, policy.budget.max_records) == (3, 10)
    assert policy.budget.alone == {"max_alone": 0, "allow_alone": False}
    allowed = {**policy.budget.alone, "allow_alone": True}
    again = goal.goal_of_policy(Policy.from_document({"columns": {"quasi": ["age"]}, "budget": allowed}), [])
    assert goal.beside_of(goal.starting_goal([], None, again))["budget"] == allowed
    assert policy.models == (shoal.PersonKAnonymity(k=4),)


def test_sliders_are_models_at_every_end() -> None:
    for end in ("low", "high", "start"):
        chosen = goal.starting_goal(["disease"], None, {})
        for slide in goal.SLIDES:
            chosen["models"][slide.name] = {"on": True, "value": getattr(slide, end)}
        document = {"columns": {"quasi": ["age"], "sensitive": ["disease"]}, "models": goal.models_of_sliders(chosen)}
        assert [model.name for model in Policy.from_document(document).models] == [s.name for s in goal.SLIDES]


def test_what_can_be_relaxed_names_what_cannot_be_beaten() -> None:
    chosen = goal.starting_goal(["disease"], TOLD, {})
    chosen["values"]["disease"]["limit"] = "0.3"
    hints = " ".join(goal.to_relax(chosen, TOLD))
    assert "62 %" in hints
    assert "record risk. With all" not in hints
    assert "'zip'" in hints
    chosen["record"]["limit"] = "0.01"
    hints = " ".join(goal.to_relax(chosen, TOLD))
    assert "4 %" in hints
    assert "62 %" in hints
    assert goal.to_relax(chosen, None)
    by_models = {**chosen, "way": "models"}
    by_models["models"]["h-affiliation"] = {"on": True, "value": "0.05"}
    assert "62 %" in " ".join(goal.to_relax(by_models, TOLD))


@pytest.fixture(scope="module")
def tuned() -> tuple[Any, list[dict[str, Any]]]:
    frame = made_up_patients(200)
    schema = shoal.Schema(
        person="patient", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"],
        dropped=["visit_date", "education", "treatment"],
    )  # fmt: skip
    found = shoal.tune(frame, schema, targets={"max_gidr": "0.2"}, points=8, seed=7)
    return found, [work._point(point, number, {"max_gidr": "0.2"}) for number, point in enumerate(found.points)]


def test_the_frontier_is_that_of_tune(tuned: tuple[Any, list[dict[str, Any]]]) -> None:
    found, points = tuned
    ours = [(point["reached"]["max_gidr"], point["minimised"]) for point in drawing.frontier_of(points, "max_gidr")]
    assert ours == [(point.reached["max_gidr"], point.loss) for point in found.frontier]


def test_each_point_of_the_frontier_is_a_button_and_one_is_pressed(tuned: tuple[Any, list[dict[str, Any]]]) -> None:
    found, points = tuned
    chosen = list(found.points).index(found.chosen)
    n_with_effort = sum(point.method != found.points[0].method for point in found.points)
    assert n_with_effort > 0
    svg = drawing.frontier_svg(
        points, target="max_gidr", limit=0.2, chosen=chosen, risk_name="risk", loss_name="loss", is_share=True
    )
    assert svg.count('role="button"') == svg.count("data-point=") == len(found.frontier) + n_with_effort
    assert svg.count('aria-pressed="true"') == 1
    assert "at most 20\xa0%" in svg


def test_names_in_a_drawing_are_escaped() -> None:
    made = drawing.bars("<b>", ["<script>"], [1], of=2, unit="n", title='"><x')
    assert "<script>" not in made
    assert "<x" not in made


def test_classes_on_an_axis_are_short() -> None:
    made = drawing.counted(facts.classes_of_risk(), [1] * 9, title="t", caption="c", unit="persons", across="a")
    assert "rotate(" not in made


def test_no_model_of_a_policy_is_forgotten() -> None:
    models = {"record-risk": "0.15", "h-affiliation": {"h": "0.4", "column": "disease"}, "person-k-anonymity": 6,
              "k-anonymity": 12, "t-closeness": {"t": "0.3", "column": "disease"}}  # fmt: skip
    columns = {"quasi": ["age"], "sensitive": ["disease", "treatment"]}
    method = {"name": "balance-tree", "cut": "median"}
    policy = Policy.from_document({"columns": columns, "models": models, "method": method})
    chosen = goal.starting_goal(["disease", "treatment"], None, {}, policy)
    assert chosen["way"] == "goal"
    assert goal.targets_of(chosen) == {"max_gidr": "0.15", "max_gsar.disease": "0.4"}
    beside = goal.beside_of(chosen, {"method": method})
    assert beside["method"] == method
    asked = Policy.from_document({"columns": columns, "models": beside["models"]}).models
    assert set(asked) == {
        shoal.PersonKAnonymity(k=6), shoal.KAnonymity(k=12), shoal.TCloseness(t="0.3", column="disease"),
    }  # fmt: skip
    by_sliders = Policy.from_document({"columns": columns, "models": goal.models_of_sliders(chosen)}).models
    assert set(by_sliders) == set(policy.models)
    chosen["floors"]["k-anonymity"]["on"] = False
    assert "k-anonymity" not in goal.beside_of(chosen)["models"]


def test_a_policy_with_g_balance_is_shown_as_models() -> None:
    policy = Policy.from_document(
        {"columns": {"quasi": ["age"]}, "models": {"g-balance": "0.95", "entropy-balance": 4}}
    )
    chosen = goal.starting_goal([], None, {}, policy)
    assert chosen["way"] == "models"
    models = Policy.from_document({"columns": {"quasi": ["age"]}, "models": goal.models_of_sliders(chosen)}).models
    assert set(models) == set(policy.models)


def test_safe_cells_of_a_policy_stay_until_they_are_unticked() -> None:
    columns = {"quasi": ["age"]}
    policy = Policy.from_document({"columns": columns, "models": {"record-risk": "0.1"}, "safe_cells": True})
    for kept in ({}, {"options": {"mask": "mean"}}):  # a goal that was kept before there was this option
        chosen = goal.starting_goal([], None, kept, policy)
        made = goal.protection_with(chosen, {"record-risk": "0.1"}, {"safe_cells": True, "seed": 7})
        assert Policy.from_document({"columns": columns, **made}).safe_cells
    chosen["options"]["safe_cells"] = False
    made = goal.protection_with(chosen, {"record-risk": "0.1"}, {"safe_cells": True, "seed": 7})
    assert not Policy.from_document({"columns": columns, **made}).safe_cells
    assert made["seed"] == 7


def test_the_same_protection_with_and_without_defaults() -> None:
    short = {"models": {"record-risk": "0.1"}, "seed": 7}
    long = {**short, "method": {"name": "balance-tree"}, "mask": {"name": "range"}, "budget": {}}
    assert goal.is_same_protection(short, long)
    assert not goal.is_same_protection(short, {**long, "mask": {"name": "mean"}})
    assert not goal.is_same_protection(short, {**long, "budget": {"max_suppressed": 3}})


def test_limits_of_a_policy_that_the_page_has_no_field_for_stay() -> None:
    chosen = goal.starting_goal([], None, {})
    protection = {"budget": {"max_more": 3, "max_suppressed": 9}}  # as a later version may have one
    assert goal.beside_of(chosen, protection)["budget"] == {"max_more": 3}
    assert goal.protection_with(chosen, {"record-risk": "0.1"}, protection)["budget"] == {"max_more": 3}


@pytest.mark.parametrize("part", ["persons", "record", "options"])
def test_settings_that_were_found_for_something_else_are_of_another_goal(part: str) -> None:
    """A sentence that is ticked after the search was left out of the promises without a word."""
    chosen = goal.starting_goal(["disease"], None, {})
    asked, compared = goal.asked_of(chosen), goal.compared_of(chosen)
    changes = {"persons": {"on": True}, "record": {"limit": "0.05"}, "options": {"mask": "mean"}}
    chosen[part].update(changes[part])
    assert goal.asked_of(chosen) != asked
    assert goal.compared_of(chosen) != compared


def test_extremes_are_coded_as_a_policy_says_until_they_are_unticked() -> None:
    mask = {"name": "range", "code_extremes": True}
    document = {"columns": {"quasi": ["age"]}, "models": {"record-risk": "0.1"}, "mask": mask}
    chosen = goal.starting_goal([], None, {}, Policy.from_document(document))
    assert goal.protection_with(chosen, {"record-risk": "0.1"}, {"mask": mask})["mask"] == mask
    chosen["options"]["code_extremes"] = False
    assert goal.protection_with(chosen, {"record-risk": "0.1"}, {"mask": mask})["mask"] == {"name": "range"}
    chosen["options"] |= {"code_extremes": True, "mask": "mean"}
    assert goal.protection_with(chosen, {"record-risk": "0.1"}, {"mask": mask})["mask"] == {"name": "mean"}


def test_what_somebody_wants_to_predict_stays_until_it_is_unchosen() -> None:
    columns = {"quasi": ["age"], "sensitive": ["disease"]}
    asked = {"target": "disease", "queries": 50}
    policy = Policy.from_document({"columns": columns, "models": {"record-risk": "0.1"}, "usefulness": asked})
    for kept in ({}, goal.goal_of_policy(policy, ["disease"])):
        chosen = goal.starting_goal(["disease"], None, kept, policy)
        assert chosen["options"]["useful_for"] == "disease"
        made = goal.protection_with(chosen, {"record-risk": "0.1"}, {"usefulness": asked})
        assert made["usefulness"] == asked
    chosen["options"]["useful_for"] = "age"
    assert goal.protection_with(chosen, {}, {"usefulness": asked})["usefulness"] == {"target": "age"}
    chosen["options"]["useful_for"] = ""
    assert "usefulness" not in goal.protection_with(chosen, {}, {"usefulness": asked})


def test_nobody_found_by_one_value_asks_for_histories() -> None:
    asked = goal.starting_goal(["disease"], None, {"history": {"on": True, "limit": "0.3"}})
    models = {"history-k": {"k": 4, "m": 1}, "count-k": 4}  # a chance of one in four, at most 30 %
    assert goal.beside_of(asked)["models"] == models
    assert "history-k" not in goal.beside_of(goal.starting_goal(["disease"], None, {}))["models"]
    assert goal.beside_of(goal.starting_goal([], None, asked))["models"] == {"count-k": 4}


def test_episodes_and_steps_of_records_are_choices() -> None:
    """What is typed is what a policy says; what it said stays until it is changed, and what has no field stays."""
    kept = {"history": {"alike": 0.5, "episode": "30 days", "record_steps": [1, 2]}}
    assert (
        goal.protection_with({**goal.starting_goal([], None, {}), "options": {}}, {}, kept)["history"]
        == kept["history"]
    )
    chosen = goal.starting_goal([], None, {"options": {"episode": "at most 5 records", "record_steps": "1 2, 5"}})
    written = goal.protection_with(chosen, {"count-k": 3}, kept)
    assert written["history"] == {"alike": 0.5, "episode": "5 records", "record_steps": [1, 2, 5]}
    document = {"columns": {"person": "patient", "quasi": ["age"]}, **written}
    policy = Policy.from_document(document)
    assert goal.goal_of_policy(policy, [])["options"]["episode"] == "5 records"
    assert goal.goal_of_policy(policy, [])["options"]["record_steps"] == "1, 2, 5"
    chosen["options"].update(episode="", record_steps="")
    assert goal.protection_with(chosen, {"count-k": 3}, kept)["history"] == {"alike": 0.5}
    assert goal.asked_of(chosen, kept)["beside"]["history"] == {"alike": 0.5}


@pytest.mark.parametrize(
    ("read", "text"), [(goal.episode_in, "soon"), (goal.steps_in, "2, 5"), (goal.steps_in, "1, x")]
)
def test_what_is_no_episode_and_no_steps_is_refused(read: Any, text: str) -> None:
    assert not read(" ")
    with pytest.raises(shoal.errors.ParameterError, match="such as"):
        read(text)


def test_a_policy_names_its_preset_as_long_as_it_asks_for_all_of_it() -> None:
    chosen = goal.starting_goal([], None, {"preset": "cms-cell-size", "persons": {"on": True, "k": 11}})
    asked = {"record-risk": "0.1", "person-k-anonymity": 11}
    made = goal.protection_with(chosen, asked, {})
    assert made["preset"] == "cms-cell-size"
    document = {"columns": {"quasi": ["age"]}, **made}
    policy = Policy.from_document(document)
    assert policy.preset == "cms-cell-size"
    assert goal.starting_goal([], None, None, policy)["preset"] == "cms-cell-size", "also from a policy file"
    assert "preset" not in goal.protection_with(chosen, {**asked, "person-k-anonymity": 10}, {})
    assert "preset" not in goal.protection_with(chosen, {"record-risk": "0.1"}, {})
    stricter = goal.starting_goal([], None, {"preset": "ema-health-canada"})
    assert goal.protection_with(stricter, {"record-risk": "0.05"}, {})["preset"] == "ema-health-canada"


def test_levels_of_the_lattice_become_the_method_s() -> None:
    aim, protection = goal.at_levels(
        {"options": {"method": "balance-tree", "method_options": {}}},
        {"method": {"name": "balance-tree", "cut": "best"}, "models": {"person-k-anonymity": 5}},
        {"age": 2, "zip": 0},
    )
    just = {"lowest": "age=2,zip=0", "highest": "age=2,zip=0"}
    assert aim["options"] == {"method": "full-domain", "method_options": just}
    assert protection["method"] == {"name": "full-domain", **just}  # what was said of another method is gone
    assert goal.at_levels({}, {"method": {"name": "full-domain", "weights": "age=2"}}, {"age": 1})[1]["method"] == {
        "name": "full-domain", "weights": "age=2", "lowest": "age=1", "highest": "age=1",
    }  # fmt: skip
    assert protection["models"] == {"person-k-anonymity": 5}
