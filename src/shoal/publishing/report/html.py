"""The report for the steward and the review board: one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.publishing.report.markup import Content, el
from shoal.publishing.report.page import page
from shoal.publishing.report.sections.asked import asked, done, verdict
from shoal.publishing.report.sections.attacked import attacked
from shoal.publishing.report.sections.board import board, decision_in
from shoal.publishing.report.sections.cost import cost
from shoal.publishing.report.sections.front import contents, front, maker
from shoal.publishing.report.sections.levels import levels
from shoal.publishing.report.sections.repeat import repeat, terms
from shoal.publishing.report.sections.risk import risk
from shoal.publishing.report.sections.useful import useful

Numbers = Mapping[str, Any]


def render_report(numbers: Numbers, manifest: Numbers, policy_text: str) -> str:
    """The whole page.

    Parameters
    ----------
    numbers
        What `steward/report.json` holds.
    manifest
        What `steward/manifest.json` holds.
    policy_text
        The policy as the release folder has it.
    """
    sections = [
        ("What was asked", asked),
        ("What was done", done),
        *([("One set of classes", levels)] if "levels" in numbers else []),
        ("The verdict, model by model", verdict),
        ("Risk before and after", risk),
        ("What it cost", cost),
        *([("What you can still do with it", useful)] if "usefulness" in numbers else []),
        ("Attacks", attacked),
        ("How to repeat it", lambda _: repeat(manifest, policy_text)),
        ("Words", lambda _: terms()),
    ]
    decision = decision_in(policy_text)
    body: list[Content] = [] if decision is None else [board(numbers, manifest, decision)]
    body += [front(numbers, manifest), contents([title for title, _ in sections])]
    for at, (title, make) in enumerate(sections, start=1):
        heading = el("h2", el("span", str(at), class_="no"), title, id=f"s{at}",
                     class_="new-page" if at == 1 else None)  # fmt: skip
        body.append(el("section", heading, make(numbers), aria_labelledby=f"s{at}"))
    body.append(el("footer", f"Made by {maker(manifest)}. Every number of this report is in report.json beside it."))
    return page("Release report", body)
