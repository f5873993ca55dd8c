"""The site in a real browser: search finds pages, the box for it is in sight, and nothing sticks out on a phone."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_docs import site

__all__ = ["site"]


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


def test_search_is_in_sight_far_down_the_list_and_finds_a_page(address: str, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1200, "height": 800})
    page.goto(f"{address}reference/python/")
    box = page.locator("#rtd-search-form input[name=q]")
    place = box.bounding_box()
    assert place is not None
    assert place["y"] >= 0
    box.fill("93-year-old")
    box.press("Enter")
    found = page.locator("#mkdocs-search-results article a")
    found.first.wait_for(timeout=60_000)
    assert any("many-records" in found.nth(place).get_attribute("href") for place in range(found.count()))
    page.close()


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize("place", ["", "tutorial/", "compare-tools/", "reference/commands/", "papers/", "benchmarks/"])
def test_nothing_sticks_out_of_a_page(address: str, chromium: Any, place: str, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{address}{place}")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert page.locator("h1").count() == 1
    page.close()
