"""The site in a real browser: search finds pages, also on a phone; nothing sticks out; light and dark can be chosen."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize(("words", "place"), [("five rows one woman", "why-count-persons"), ("install", "install/")])
def test_search_is_in_sight_and_finds_a_page(address: str, chromium: Any, width: int, words: str, place: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.goto(f"{address}reference/python/")
    if width < 800:
        page.locator("label[for=__search]").first.click()
    box = page.locator("input.md-search__input")
    box.click()
    box.press_sequentially(words)
    found = page.locator(".md-search-result__item a.md-search-result__link")
    found.first.wait_for(timeout=60_000)
    assert any(place in found.nth(rank).get_attribute("href") for rank in range(min(5, found.count())))
    page.close()


def test_a_reader_chooses_between_light_and_dark(address: str, chromium: Any) -> None:
    page = chromium.new_page(color_scheme="dark")
    page.goto(address)
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    page.locator("form[data-md-component=palette] label:visible").click()
    assert page.locator("body").get_attribute("data-md-color-scheme") == "default"
    page.close()


@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_sticks_out_of_a_page(address: str, chromium: Any, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    for place in ("", "tutorial/", "compare-tools/", "reference/commands/", "papers/", "benchmarks/"):
        page.goto(f"{address}{place}")
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert (place, wider, page.locator("h1").count()) == (place, 0, 1)
    page.close()
