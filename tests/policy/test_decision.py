"""What a board decided: a table of the policy that writes itself, and takes nothing that a page cannot show."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, PolicyError
from shoal.policy import Policy
from shoal.policy.decision import LABELS, LONGEST, Decision

COLUMNS = {"columns": {"quasi": ["age:number"]}, "models": {"record-risk": "0.1"}}
TEXTS = st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "), max_size=30)


def with_decision(decision: Any) -> Policy:
    return Policy.from_document({**COLUMNS, "decision": decision})


@given(st.fixed_dictionaries({}, optional={name: TEXTS for name in LABELS if name != "decided_on"}), st.dates())
def test_what_was_decided_is_read_back(decision: dict[str, str], day: Any) -> None:
    policy = with_decision({**decision, "decided_on": day})
    assert policy.decision is not None
    assert policy.decision.decided_on == day.isoformat()
    assert Policy.from_document(tomllib.loads(policy.to_toml())) == policy


def test_an_empty_table_stays_and_no_table_is_none() -> None:
    policy = with_decision({})
    assert policy.decision == Decision()
    assert Policy.from_document(tomllib.loads(policy.to_toml())).decision == Decision()
    assert Policy.from_document(COLUMNS).decision is None


@pytest.mark.parametrize(
    ("decision", "fault"),
    [
        ({"purpos": "research"}, "decision.purpos: there is no such key. Known here: purpose, recipient.*Did you mean"),
        ({"purpose": "x" * (LONGEST + 1)}, f"decision.purpose: must have at most {LONGEST} characters"),
        ({"recipient": "a\x07b"}, "decision.recipient: must be plain text"),
        ({"decided_on": "18.11.2026"}, "decision.decided_on: must be a day such as 2026-11-18"),
        ({"signatures": ["a", "b", "c", "d", "e"]}, "decision.signatures"),
        ({"purpose": 7}, "decision.purpose: must be a text in quotes"),
    ],
)
def test_faults_are_named_with_their_place(decision: dict[str, Any], fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        with_decision(decision)


def test_a_policy_made_in_python_takes_a_mapping() -> None:
    policy = Policy(columns=with_decision({}).columns, decision={"purpose": " research\non  asthma "})  # type: ignore[arg-type]
    assert policy.decision == Decision(purpose="research on asthma")
    with pytest.raises(ParameterError, match="Wrong here: purpos"):
        Policy(columns=policy.columns, decision={"purpos": "research"})  # type: ignore[arg-type]
