"""The page that a review board signs: what was decided, what is promised, what is not; the report is its annex."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import ParameterError
from shoal.policy.decision import LABELS, Decision, as_decision
from shoal.publishing.report import words
from shoal.publishing.report.markup import Content, Markup, el, joined
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.sections.front import key_figures, maker, verdict_box

Numbers = Mapping[str, Any]
MOST_PROMISES = 4
"""Promises that are listed; all of them stand in the annex."""


def decision_in(policy_text: str) -> Decision | None:
    """What a policy's text says of the decision; None where it says nothing."""
    try:
        return as_decision(tomllib.loads(policy_text).get("decision"))
    except (tomllib.TOMLDecodeError, ParameterError):
        return None


def board(numbers: Numbers, manifest: Numbers, decision: Decision) -> Markup:
    """The page: entries that are empty are lines to be filled in by hand."""
    return el(
        "section",
        el("p", "For the review board", class_="kicker"),
        el("h1", f"Release of {count(numbers['records'])} records of {words.persons(numbers['persons'])}"),
        _entries(decision),
        verdict_box(numbers),
        key_figures(numbers),
        el("div",
           el("div", el("h3", "What is promised"), _promises(numbers["report"]["asked"]["promises"])),
           el("div", el("h3", "What is not promised"), el("p", words.not_promised(numbers)), _attacked(numbers)),
           class_="answers"),
        _signatures(decision.signatures),
        el("p", f"Made by {maker(manifest)} on {str(manifest.get('finished', ''))[:10]}. Annex: the report, with the "
                "policy and how to repeat the run.", class_="small soft"),
        class_="board", aria_label="For the review board",
    )  # fmt: skip


def _entries(decision: Decision) -> Markup:
    told = [(label, getattr(decision, name)) for name, label in LABELS.items()]
    rows = [
        joined([el("dt", label), el("dd", text, class_=None if text else "by-hand")])
        for label, text in told
        if text or label != LABELS["conditions"]
    ]
    return el("dl", rows, class_="decision")


def _promises(promises: Sequence[str]) -> Content:
    listed = [el("li", words.typeset(promise)) for promise in promises[:MOST_PROMISES]]
    more = len(promises) - MOST_PROMISES
    return [el("ul", listed), el("p", f"And {count(more)} more: see the annex.") if more > 0 else None]


def _attacked(numbers: Numbers) -> Content:
    strongest = words.strongest_of(numbers)
    if strongest is None:
        return None
    return el("p", f"The strongest attack that was tried is right for {share(strongest['success'], 1)} of the persons "
                   f"attacked; blind guessing for {share(strongest['blind'], 1)}.")  # fmt: skip


def _signatures(roles: Sequence[str]) -> Markup:
    line = [el("span", "Name"), el("span", "Date"), el("span", "Signature")]
    return el("div", [el("div", el("strong", role), el("div", line, class_="lines")) for role in roles],
              class_="signatures")  # fmt: skip
