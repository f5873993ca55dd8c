"""Histories in the app: gaps, episodes, steps and history-k are chosen, and the release has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.web.browser import steward
from tests.web.browser.conftest import Served, axe_findings, go
from tests.web.serving import as_saved


def type_in(page: Any, label: str, text: str) -> None:
    field = page.get_by_label(label)
    field.fill(text)
    field.press("Tab")


@pytest.mark.long
def test_what_is_chosen_of_histories_is_in_the_release(
    serve: Callable[..., Served], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    shifted = steward.POLICY.replace('time = "visit_date"', 'time = "visit_date"\ntime_as = "shift"')
    served, page = steward.open_with_policy(
        serve, open_page, tmp_path, "/columns", persons=400, policy_text=shifted
    )  # fmt: skip
    page.get_by_label("Time between a person’s moved dates").select_option("week")
    steward.confirm_roles(page)
    go(page, served, "/protect")
    page.get_by_label("Models, one by one").click()
    page.get_by_text("Further models").click()
    page.get_by_role("checkbox", name="history-k").click()
    type_in(page, "history-k: k", "3")
    type_in(page, "history-k: m", "2")
    page.get_by_text("Options: method").click()
    type_in(page, "Publish each person’s records in episodes", "5 records")
    type_in(page, "Bring numbers of records per person to steps", "1, 2, 5")
    page.screenshot(path=tmp_path / "chosen.png", full_page=True)
    assert axe_findings(page) == []
    page.get_by_role("button", name="Use these models").click()
    page.locator("li", has_text="history-k k = 3, m = 2").wait_for()
    page.get_by_role("button", name="Make the release").click()
    page.get_by_role("heading", level=1, name="Release").wait_for()
    page.get_by_text("each under its own pseudonym").first.wait_for()
    page.screenshot(path=tmp_path / "released.png", full_page=True)
    release = as_saved(served.project).result("release")
    assert release is not None
    for line in ('episode = "5 records"', "record_steps = [1, 2, 5]", 'round_gaps = "week"'):
        assert line in release.data["policy_text"]
    run = served.project / "runs" / release.data["run"]
    told = json.loads((run / "steward" / "report.json").read_text(encoding="utf-8"))
    (promise,) = [each for each in told["verdict"]["models"] if each["name"] == "history-k"]
    assert promise["holds"]
    assert promise["reached"] >= 3
    assert told["history"]["record_steps"] == [1, 2, 5]
    assert told["history"]["episodes"]["cut"] == "5 records"
    records = pl.read_csv(run / "release.csv").group_by("patient").len()
    assert set(records["len"]) <= {1, 2, 5}
    assert len(records) == told["history"]["episodes"]["episodes"] > 400  # several pseudonyms per person
