"""Two tabs see the same project, and neither writes over what the other did."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.web.project import Project
from tests.web.browser import steward
from tests.web.browser.conftest import Served, go

Opened = Callable[..., Any]
Serve = Callable[..., Served]


def test_a_tab_that_is_behind_is_told_and_changes_nothing(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, first = steward.open_with_policy(serve, open_page, tmp_path, "/columns", persons=120)
    second = open_page(served, "/columns")
    first.get_by_text("Every column has a role").wait_for()
    steward.give_role(first, "education", "dropped")
    second.get_by_label("What zip is", exact=True).select_option("dropped")
    second.get_by_text("changed in another tab").first.wait_for()
    chosen = Project.snapshot(served.project).chosen
    assert chosen.column("education").role == "dropped"
    assert chosen.column("zip").role == "quasi"
    second.get_by_role("button", name="Load again").first.click()
    second.wait_for_function(
        "() => [...document.querySelectorAll('select')].some((each) => each.value === 'dropped')"
        " && !document.body.innerText.includes('changed in another tab')"
    )


def test_both_tabs_see_the_same_work(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, first = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=150)
    second = open_page(served, "/risk")
    steward.set_percent(first, "record risk", 30)
    first.get_by_role("button", name="Find the best setting").click()
    second.get_by_role("heading", name="In one look").wait_for()
    first.get_by_role("button", name="Make the release").wait_for()
    go(second, served, "/protect")
    second.get_by_role("button", name="Make the release").wait_for()
    assert second.get_by_label("record risk, at most percent").input_value() == "30"
    assert second.locator("[data-point]").count() == first.locator("[data-point]").count()
    first.get_by_role("button", name="Make the release").click()
    first.wait_for_url(re.compile("/release$"))
    first.get_by_role("heading", name="May be handed out").wait_for()
    second.get_by_text("changed in another tab").first.wait_for()
    go(second, served, "/release")
    second.get_by_role("heading", name="May be handed out").wait_for()
    assert len(list((served.project / "runs").iterdir())) == 1


def test_what_was_changed_since_is_not_handed_out(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, page = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=150)
    steward.set_percent(page, "record risk", 30)
    page.get_by_role("button", name="Find the best setting").click()
    page.get_by_role("button", name="Make the release").click()
    page.wait_for_url(re.compile("/release$"))
    link = page.get_by_role("link", name="Download what may leave (zip)").get_attribute("href")
    go(page, served, "/")
    page.get_by_role("heading", name="The first records").wait_for()
    go(page, served, "/columns")
    page.get_by_text("Every column has a role").wait_for()
    steward.give_role(page, "education", "dropped")
    go(page, served, "/release")
    page.get_by_text("Choices were changed since this release was made").wait_for()
    assert page.get_by_role("link", name=re.compile("Download what may leave")).count() == 0
    answer = page.context.request.get(f"{served.base}{link}")
    assert answer.status == 409
    assert "Choices were changed" in answer.text()
