"""The board's page: what was decided stands first, on one sheet of A4, and may be entered later."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.policy import Policy
from shoal.policy.decision import LABELS, LONGEST, Decision
from shoal.publishing import pages
from shoal.publishing.manifest import check_manifest, read_manifest
from tests.pipeline.tables import MODELS, SCHEMA, visits
from tests.publishing.report.conftest import Reported
from tests.publishing.report.pages import Page
from tests.tiers import long_but_for

DECISION = Decision(purpose="Asthma <and> school", recipient="University & partners", decided_on="2026-11-18")
LONG = "Wörter, die eine Zeile füllen und dann noch eine, damit die Seite voll wird; "
FULL = Decision(
    **{name: (LONG * 6)[:LONGEST] for name in LABELS if name != "decided_on"},
    decided_on="2026-11-18",
    signatures=("Data steward", "Chair of the review board", "Data protection officer", "For the recipient"),
)


def n_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def board_of(page: Page) -> str | None:
    found = [each for each in page.all("section") if each.attributes.get("class") == "board"]
    return found[0].text if found else None


def test_a_policy_with_a_decision_makes_a_page_of_it(tmp_path: Path) -> None:
    policy = replace(Policy.of(SCHEMA, MODELS, seed=11), decision=DECISION)
    folder = shoal.protect(visits(), policy).write(tmp_path / "out")
    told = board_of(Page((folder / "steward/report.html").read_text(encoding="utf-8")))
    assert told is not None
    for text in ("Asthma <and> school", "University & partners", "2026-11-18", "Data steward", "What is not promised"):
        assert text in told
    assert Policy.load(folder / "steward/policy.toml").decision == DECISION
    assert "Asthma" not in (folder / "summary.html").read_text(encoding="utf-8")  # it stays in the house
    assert "Asthma" not in (folder / "codebook.json").read_text(encoding="utf-8")


def test_without_a_decision_there_is_no_such_page(reported: Callable[[str], Reported]) -> None:
    assert board_of(reported("range").report) is None


def test_a_decision_is_entered_after_the_release(tmp_path: Path) -> None:
    folder = shoal.protect(visits(), SCHEMA, MODELS, seed=11).write(tmp_path / "out")
    release, before = (folder / "release.csv").read_bytes(), Policy.load(folder / "steward/policy.toml")
    pages.renew_pages(folder, decision=DECISION)
    assert check_manifest(folder) == []
    assert Policy.load(folder / "steward/policy.toml") == replace(before, decision=DECISION)
    assert (folder / "release.csv").read_bytes() == release
    manifest = read_manifest(folder)
    pages.renew_pages(folder)  # it stays when pages are made anew
    assert read_manifest(folder) == manifest
    assert board_of(Page((folder / "steward/report.html").read_text(encoding="utf-8"))) is not None


def test_the_command_takes_a_decision_from_a_file(tmp_path: Path) -> None:
    folder = shoal.protect(visits(), SCHEMA, MODELS, seed=11).write(tmp_path / "out")
    decision = tmp_path / "decision.toml"
    decision.write_text('[decision]\npurpose = "Asthma"\ndecided_on = 2026-11-18\n', encoding="utf-8")
    run = CliRunner().invoke(cli, ["report", str(folder), "--decision", str(decision), "--json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["folder"] == str(folder)
    entered = Policy.load(folder / "steward/policy.toml").decision
    assert entered == Decision(purpose="Asthma", decided_on="2026-11-18")
    decision.write_text("[models]\nk-anonymity = 3\n", encoding="utf-8")
    run = CliRunner().invoke(cli, ["report", str(folder), "--decision", str(decision)])
    assert run.exit_code == 2
    assert "no table [decision]" in run.stderr
    assert Policy.load(folder / "steward/policy.toml").decision == entered


@pytest.mark.browser
@pytest.mark.parametrize("decision", long_but_for([FULL], [Decision(), FULL]), ids=["by hand", "full"])
def test_the_page_is_one_sheet_before_its_annex(
    decision: Decision, reported: Callable[[str], Reported], chromium: Any, tmp_path: Path
) -> None:
    file = tmp_path / "board.html"
    file.write_text(pages.render_report_of(reported("usefulness").folder, decision=decision), encoding="utf-8")
    page = chromium.new_page()
    printed = {}
    for part, hidden in {"all": "nothing", "board": "main > :not(.board)", "annex": "main > .board"}.items():
        page.goto(file.as_uri())
        page.add_style_tag(content=f"{hidden} {{ display: none }}")
        printed[part] = n_pages(page.pdf(prefer_css_page_size=True))
    page.close()
    assert printed["board"] == 1
    assert printed["annex"] > 3
    assert printed["all"] == 1 + printed["annex"]
