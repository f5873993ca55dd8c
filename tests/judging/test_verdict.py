"""The verdict: each model asked of every group, and what cannot be shown does not hold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from shoal.errors import SchemaError
from shoal.judging.verdict import BOUND, NOT_SHOWN, PUBLISHED_TABLE, STEWARD, ModelVerdict, Verdict, judge
from shoal.models import GBalance, HAffiliation, JointDiversity, KAnonymity, PersonKAnonymity, RecordRisk
from shoal.models.counts import GroupCounts
from tests.models.builders import group_counts

GROUPS = group_counts([(0, "a", 0), (0, "b", 1), (0, "c", 2), (1, "d", 0), (1, "e", 0), (1, "e", 0), (1, "e", 0)])


def test_every_model_is_told_with_its_worst_group() -> None:
    models = [PersonKAnonymity(k=3), RecordRisk(rho=0.75), HAffiliation(h=0.5)]
    verdict = judge(models, GROUPS, checked_from=PUBLISHED_TABLE)
    assert verdict.models == (
        ModelVerdict("person-k-anonymity", 3.0, 2.0, False, PUBLISHED_TABLE, 1),
        ModelVerdict("record-risk", 0.75, 0.75, True, PUBLISHED_TABLE, 0),
        ModelVerdict("h-affiliation", 0.5, 1.0, False, PUBLISHED_TABLE, 1),
    )
    assert verdict.n_groups == 2
    assert not verdict.holds


def test_all_models_and_no_problem_make_it_hold() -> None:
    good = ModelVerdict("k", 2.0, 2.0, True, PUBLISHED_TABLE)
    bad = replace(good, holds=False)
    assert Verdict((good, good), 1).holds
    assert not Verdict((good, bad), 1).holds
    assert not Verdict((bad,), 1).holds
    assert not Verdict((), 1).holds, "a promise about nothing is none"
    assert not Verdict((good,), 1, problems=("A column is there that should not be.",)).holds
    assert Verdict((good,), 1, notes=("Identities are visible.",)).holds


def test_problems_and_notes_are_told_where_there_are_some() -> None:
    good = ModelVerdict("k", 2.0, 3.0, True, PUBLISHED_TABLE, 0)
    told = {"name": "k", "asked": 2.0, "reached": 3.0, "holds": True, "checked_from": PUBLISHED_TABLE}
    assert Verdict((good,), 1).to_dict() == {"holds": True, "models": [told]}
    assert Verdict((good,), 1, ("p",), ("n",)).to_dict() == {
        "holds": False,
        "models": [told],
        "problems": ["p"],
        "notes": ["n"],
    }


def showing(*names: str) -> GroupCounts:
    """The same groups, of which less is shown."""
    return replace(GROUPS, known=frozenset(names))


def test_what_the_counts_do_not_show_does_not_hold() -> None:
    (shown, hidden) = judge([KAnonymity(k=2), GBalance(g=0.1)], showing("records"), checked_from=PUBLISHED_TABLE).models
    assert (shown.holds, shown.checked_from) == (True, PUBLISHED_TABLE)
    assert (hidden.holds, hidden.checked_from, hidden.broken_groups) == (False, NOT_SHOWN, 2)
    assert math.isnan(hidden.reached)


def test_it_is_then_asked_of_what_the_steward_keeps() -> None:
    counts = showing("records")
    (model,) = judge([GBalance(g=0.1)], counts, checked_from=PUBLISHED_TABLE, steward=GROUPS).models
    assert (model.holds, model.checked_from) == (True, STEWARD)
    (model,) = judge([GBalance(g=0.9)], counts, checked_from=PUBLISHED_TABLE, steward=GROUPS).models
    assert (model.holds, model.checked_from, model.broken_groups) == (False, STEWARD, 2)
    (model,) = judge([GBalance(g=0.1)], counts, checked_from=PUBLISHED_TABLE, steward=counts).models
    assert (model.holds, model.checked_from) == (False, NOT_SHOWN)


class Bounded(GBalance):
    """A model with a bound that is given."""

    bound = (True, True)

    def holds_by_bound(self, groups: GroupCounts) -> np.ndarray:
        return np.array(self.bound)


class Unbounded(Bounded):
    bound = (True, False)


def test_a_bound_comes_before_the_steward_and_must_hold_in_every_group() -> None:
    (model,) = judge([Bounded(g=0.1)], showing("records"), checked_from=PUBLISHED_TABLE, steward=GROUPS).models
    assert (model.holds, model.checked_from, model.reached, model.broken_groups) == (True, BOUND, 0.1, 0)
    (model,) = judge([Unbounded(g=0.1)], showing("records"), checked_from=PUBLISHED_TABLE, steward=GROUPS).models
    assert (model.holds, model.checked_from) == (True, STEWARD)
    (model,) = judge([Unbounded(g=0.1)], showing("records"), checked_from=PUBLISHED_TABLE).models
    assert (model.holds, model.checked_from) == (False, NOT_SHOWN)


class Misfit(JointDiversity):
    def holds(self, groups: GroupCounts) -> np.ndarray:
        raise SchemaError("These attributes do not fit.")


class Named(HAffiliation):
    def holds(self, groups: GroupCounts) -> np.ndarray:
        raise SchemaError("There is no such column.")


def test_attributes_that_do_not_fit_a_joint_model_are_a_problem_and_others_an_error() -> None:
    counts = showing(*Misfit(l=2).needs, *Named(h=0.5).needs)
    verdict = judge([Misfit(l=2)], counts, checked_from=PUBLISHED_TABLE, problems=["Another."])
    assert verdict.problems == ("Another.", "These attributes do not fit.")
    assert (verdict.models[0].holds, verdict.models[0].broken_groups) == (False, 2)
    with pytest.raises(SchemaError, match="no such column"):
        judge([Named(h=0.5)], counts, checked_from=PUBLISHED_TABLE)
