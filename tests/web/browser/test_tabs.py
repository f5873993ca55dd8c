"""Two tabs see the same project, and neither writes over what the other did."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.browser import steward
from tests.web.browser.conftest import Served, go
from tests.web.serving import as_saved

Opened = Callable[..., Any]
Serve = Callable[..., Served]


@pytest.mark.long
def test_a_tab_that_is_behind_is_told_and_changes_nothing(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, first = steward.open_with_policy(serve, open_page, tmp_path, "/columns", persons=120)
    second = open_page(served, "/columns")
    first.get_by_text("Every column has a role").wait_for()
    steward.give_role(first, "education", "dropped")
    second.get_by_label("What zip is", exact=True).select_option("dropped")
    second.get_by_text("changed in another tab").first.wait_for()
    chosen = as_saved(served.project).chosen
    assert chosen.column("education").role == "dropped"
    assert chosen.column("zip").role == "quasi"
    second.get_by_role("button", name="Load again").first.click()
    second.wait_for_function(
        "() => [...document.querySelectorAll('select')].some((each) => each.value === 'dropped')"
        " && !document.body.innerText.includes('changed in another tab')"
    )


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_no_release_is_made_of_choices_that_the_page_does_not_show(
    serve: Serve, open_page: Opened, tmp_path: Path
) -> None:
    """Neither of those that another tab has made, nor without a sentence that was ticked after the search."""
    served, first = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=120)
    first.get_by_text("Models, one by one").click()
    first.get_by_role("button", name="Use these models").click()
    first.get_by_role("button", name="Make the release").wait_for()
    second = open_page(served, "/columns")
    steward.give_role(second, "education", "dropped")
    first.get_by_role("button", name="Make the release").click()
    first.get_by_text("changed in another tab").first.wait_for()
    go(first, served, "/protect")
    first.get_by_text("A goal in words").click()
    steward.set_percent(first, "record risk", 40)
    first.get_by_role("button", name="Find the best setting").click()
    first.get_by_role("button", name="Make the release").wait_for()
    first.get_by_text("Besides, every group has at least so many persons").click()
    first.get_by_role("button", name="Make the release").click()
    first.get_by_text("so no release was made").wait_for()
    assert not list((served.project / "runs").iterdir())
    first.get_by_role("button", name="Find the best setting").click()
    first.get_by_role("button", name="Make the release").click()
    first.wait_for_url(re.compile("/release$"))
    first.get_by_role("heading", name="May be handed out").wait_for()
    assert "person-k-anonymity" in as_saved(served.project).chosen.protection["models"]

    steward.give_role(second := open_page(served, "/columns"), "education", "quasi")
    go(first, served, "/release")
    first.get_by_role("tab", name="Policy and command").click()
    link = first.get_by_role("link", name="Download the policy")
    with first.expect_download() as download:
        link.click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    shown = first.locator("pre.sh-code").all_inner_texts()
    assert [each.strip() for each in shown] == [text.strip()]  # that of the release, and no command for another
    assert text != (served.project / "policy.toml").read_text(encoding="utf-8")
