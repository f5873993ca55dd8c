"""Everybody can use the pages: with the keyboard alone, with a screen reader, in the light and in the dark."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import long_but_for
from tests.web.browser import steward
from tests.web.browser.conftest import Served, axe_findings, go, ready

Opened = Callable[..., Any]
Serve = Callable[..., Served]
PLACES = {"/": "The first records", "/columns": "What each column is", "/risk": "In one look",
          "/protect": "What it costs", "/release": "May be handed out"}  # fmt: skip


@pytest.mark.parametrize("look", ["light", pytest.param("dark", marks=pytest.mark.long)])
@pytest.mark.parametrize("place", long_but_for(["/columns", "/release"], PLACES))
def test_nothing_serious_is_found_on_a_finished_page(demo: Served, open_page: Opened, place: str, look: str) -> None:
    page = open_page(demo, place, color_scheme=look)
    page.get_by_role("heading", name=PLACES[place]).wait_for()
    assert page.evaluate("() => document.body.classList.contains('body--dark')") == (look == "dark")
    assert axe_findings(page) == []


def test_nothing_serious_is_found_behind_the_tabs(demo: Served, open_page: Opened) -> None:
    page = open_page(demo, "/release")
    for name in ("Risk", "What it cost", "Groups", "Attacks", "Review board", "Later records", "Policy and command"):
        page.get_by_role("tab", name=name).click()
        page.wait_for_function(
            "(name) => [...document.querySelectorAll('[role=tab]')].some("
            "(tab) => tab.textContent.trim() === name && tab.ariaSelected === 'true')",
            arg=name,
        )
        assert axe_findings(page) == [], name


@pytest.mark.long
def test_nothing_serious_is_found_in_an_empty_project(serve: Serve, open_page: Opened) -> None:
    served = serve()
    page = open_page(served)
    for place in PLACES:
        go(page, served, place)
        assert axe_findings(page) == [], place


def undo_all(page: Any) -> None:
    """Take back what a test chose in the demo project, which others look at."""
    while True:
        undo = page.get_by_role("button", name=re.compile("^Undo: "))
        undo.wait_for()
        if undo.is_disabled():
            return
        with page.expect_navigation():  # the page is loaded again
            undo.click()
        ready(page)


def test_nothing_serious_is_found_while_models_are_set_one_by_one(demo: Served, open_page: Opened) -> None:
    page = open_page(demo, "/protect")
    page.get_by_label("Models, one by one").click()
    page.get_by_role("button", name="Use these models").wait_for()
    for closed in ("Options: method", "Further models", "Twenty records of it", "What was promised, what each"):
        page.get_by_text(closed).click()
    page.get_by_label("What is shown of a group").select_option("perturb")
    page.get_by_label("Means and noise: noise").wait_for()
    assert axe_findings(page) == []
    undo_all(page)


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_sticks_out_of_a_page(demo: Served, open_page: Opened, width: int) -> None:
    page = open_page(demo, viewport={"width": width, "height": 900}, color_scheme="dark")
    for place in ("/", "/columns", "/risk", "/protect", "/release"):
        go(page, demo, place)
        page.get_by_role("heading", name=PLACES[place]).wait_for()
        page.evaluate("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), place
        assert steward.cut_words(page) == [], place
        if place == "/protect":
            page.wait_for_function("(width) => document.querySelector('svg.chart').clientWidth < width", arg=width)


@pytest.mark.long
def test_an_error_is_seen_where_the_steward_is(demo: Served, open_page: Opened) -> None:
    page = open_page(demo, "/protect")
    page.get_by_text("Options: method").click()
    field = page.get_by_label("record risk, at most percent")
    ticked = page.locator(".sh-goal input[type=checkbox]:checked")
    while ticked.count():
        ticked.first.click()
    field.wait_for()
    find = page.get_by_role("button", name="Find the best setting")
    find.scroll_into_view_if_needed()
    find.click()
    said = page.get_by_text("Tick at least one sentence")
    said.wait_for()
    assert page.evaluate(
        "(element) => { const at = element.getBoundingClientRect(); return at.top >= 0 && at.bottom <= innerHeight; }",
        said.element_handle(),
    )
    page.get_by_role("button", name="Close this message").click()
    said.wait_for(state="detached")
    page.get_by_role("button", name=re.compile("^Undo: the goal")).click()
    page.wait_for_function("() => document.querySelectorAll('.sh-goal input[type=checkbox]:checked').length === 1")
    undo_all(page)


def test_each_page_has_one_heading_and_landmarks(demo: Served, open_page: Opened) -> None:
    page = open_page(demo)
    for place in PLACES:
        go(page, demo, place)
        assert page.locator("h1").count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("navigation", name="Steps").count() == 1
        assert page.locator("[aria-current=step]").count() == 1


def tab_to(page: Any, found: Any, *, most: int = 150) -> None:
    """Press Tab until something has the focus, which must be seen there."""
    found.wait_for()
    handle = found.element_handle()
    for _ in range(most):
        if page.evaluate("(element) => element === document.activeElement", handle):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead there")


@pytest.mark.long
def test_with_the_keyboard_alone(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    _, page = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=150)

    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "To the content"
    limit = page.get_by_label("record risk, at most percent")
    tab_to(page, limit)
    page.keyboard.press("Control+a")
    page.keyboard.type("30")
    tab_to(page, page.get_by_role("slider", name="value risk of disease, slider"))
    field = "value risk of disease, at most percent"
    before = page.get_by_label(field).input_value()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([field, before]) => document.querySelector(`[aria-label='${field}']`).value !== before",
        arg=[field, before],
    )
    tab_to(page, page.get_by_role("button", name="Find the best setting"))
    page.keyboard.press("Enter")

    make = page.get_by_role("button", name="Make the release")
    make.wait_for()
    page.locator("#content").evaluate("(element) => { element.tabIndex = -1; element.focus(); }")
    points = page.locator("[data-point][aria-pressed=false]")
    number = points.first.get_attribute("data-point")
    tab_to(page, points.first)
    page.keyboard.press("Enter")
    page.wait_for_selector(f'[data-point="{number}"][aria-pressed=true]')
    page.wait_for_function("(number) => document.activeElement.dataset.point === number", arg=number)
    tab_to(page, make)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/release$"))

    download = page.get_by_role("link", name="Download what may leave (zip)")
    tab_to(page, download)
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    waiting.value.save_as(tmp_path / "release.zip")
    assert "release.csv" in zipfile.ZipFile(tmp_path / "release.zip").namelist()
    tab_to(page, page.get_by_role("tab", name="Before and after"))
    page.keyboard.press("ArrowRight")  # past what was done, column by column
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Risk before and after").wait_for()


@pytest.mark.long
def test_the_focus_can_be_seen(demo: Served, open_page: Opened) -> None:
    page = open_page(demo, "/protect")
    for _ in range(25):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            "() => { const at = document.activeElement;"
            " const marked = at.closest('.q-field--focused, .sh-drop, .choosable');"
            " return getComputedStyle(at).outlineStyle !== 'none' || !!marked || at === document.body; }"
        )
        assert seen, page.evaluate("() => document.activeElement.outerHTML.slice(0, 200)")
