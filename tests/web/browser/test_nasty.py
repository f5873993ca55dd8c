"""Names and values that are HTML, script or a template to whoever takes them for it: on every page they are text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.web.browser.conftest import Served

Opened = Callable[..., Any]
Serve = Callable[..., Served]

NAME = '<img src=x onerror="window.hacked=1">'
VALUES = [
    "<script>window.hacked=1</script>",
    "{{ window.hacked = 1 }}",
    '"><svg onload=window.hacked=1>',
    "</textarea>`${1}",
]
POLICY = f"""
[columns]
person = 'who'
quasi = ['{NAME}:nominal', 'age:number']
sensitive = ['<b>disease</b>']

[models]
person-k-anonymity = 3
"""


@pytest.mark.long
def test_nothing_of_a_table_is_run_on_any_page(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    n = 48
    pl.DataFrame(
        {
            "who": [f"<i>p{number // 2}</i>" for number in range(n)],
            NAME: [VALUES[number // 24] for number in range(n)],
            "age": [30 + number // 2 for number in range(n)],
            "<b>disease</b>": [VALUES[number % 4] for number in range(n)],
        }
    ).write_csv(tmp_path / "nasty <b>.csv".replace("<b>", "b"))
    (tmp_path / "nasty.toml").write_text(POLICY, encoding="utf-8")
    served = serve(str(tmp_path / "nasty b.csv"), "--policy", str(tmp_path / "nasty.toml"))
    page = open_page(served)
    page.get_by_role("heading", name="The first records").wait_for()
    assert VALUES[0] in page.inner_text("#content")
    for place in ("/", "/columns", "/risk", "/protect", "/release"):
        page.goto(served.base + place)
        page.wait_for_function("() => document.querySelector('#content') !== null && window.did_handshake === true")
        page.wait_for_timeout(500)
        assert page.evaluate("() => window.hacked === undefined"), place
        assert page.locator("#content img[src=x], #content svg[onload]").count() == 0, place
        assert page.locator("#content i", has_text="p1").count() == 0, place
