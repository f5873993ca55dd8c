"""What is not allowed is refused with a page that says why, and changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.browser import steward
from tests.web.browser.conftest import Served

Opened = Callable[..., Any]
Serve = Callable[..., Served]


def test_without_the_token_there_is_nothing(demo: Served, chromium: Any) -> None:
    context = chromium.new_context()
    page = context.new_page()
    for place in ("/", "/release", "/policy.toml", "/?token=wrong", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        answer = page.goto(demo.base + place)
        assert answer is not None
        assert answer.status in (401, 403), place
        assert "disease" not in page.content()
    page.goto(f"{demo.base}/?token=wrong")
    assert page.locator("h1").count() == 1
    assert axe_free_of_scripts(page)
    context.close()


def axe_free_of_scripts(page: Any) -> bool:
    """A page of refusal is plain: it runs nothing."""
    return bool(page.locator("script").count() == 0)


def test_the_token_leaves_the_address_bar(demo: Served, open_page: Opened) -> None:
    page = open_page(demo)
    assert "token" not in page.url
    assert page.evaluate("() => document.cookie").count("shoal_") <= 1
    assert not any("token" in entry for entry in page.evaluate("() => performance.getEntries().map((e) => e.name)")[1:])


@pytest.mark.long
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_another_origin_is_refused(demo: Served, open_page: Opened, origin: str) -> None:
    page = open_page(demo)
    answer = page.context.request.put(
        f"{demo.base}/files/records/new.csv", headers={"Origin": origin}, data="a,b\n1,2\n"
    )
    assert answer.status == 403
    assert not (demo.project / "sources" / "new.csv").exists()


@pytest.mark.long
def test_another_host_is_refused(demo: Served, open_page: Opened) -> None:
    page = open_page(demo)
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
    port = int(demo.base.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: evil.example\r\nCookie: {cookies}\r\n\r\n".encode())
        answer = connection.recv(4096).decode()
    assert answer.split()[1] in ("400", "403", "421")


@pytest.mark.long
@pytest.mark.parametrize(
    "place",
    [
        "/runs/..%2f..%2fproject.json/report.html",
        "/runs/%2e%2e/report.html",
        "/runs/20200101-000000-abcd/leaving.zip",
        "/assets/..%2fproject.py",
        "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    ],
)
def test_a_path_outside_is_refused(demo: Served, open_page: Opened, place: str) -> None:
    page = open_page(demo)
    answer = page.context.request.get(demo.base + place)
    assert answer.status in (400, 403, 404, 409)
    text = answer.text()
    assert "root:" not in text
    assert "sha256" not in text


@pytest.mark.long
def test_a_name_that_leads_outside_is_refused(demo: Served, open_page: Opened) -> None:
    page = open_page(demo)
    for name in ("..%2f..%2fevil.csv", ".hidden.csv", "a%2fb.csv", "x%00.csv"):
        answer = page.context.request.put(
            f"{demo.base}/files/records/{name}", headers={"Origin": demo.base}, data="a,b\n1,2\n"
        )
        assert answer.status == 400, name
    assert not list(demo.project.parent.rglob("evil.csv"))


@pytest.mark.long
def test_a_file_that_is_too_large_is_refused(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served = serve("--max-upload", "1")
    page = open_page(served)
    large = tmp_path / "large.csv"
    large.write_bytes(b"a,b\n" + b"1,2\n" * 500_000)
    steward.upload(page, large)
    page.locator(".sh-drop-error").first.wait_for()
    assert "large" in page.locator(".sh-drop-error").first.inner_text()
    assert not list((served.project / "sources").iterdir())


@pytest.mark.long
def test_a_file_that_is_not_what_it_says_is_refused(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served = serve()
    page = open_page(served)
    for name, content in {
        "table.parquet": b"a,b\n1,2\n",
        "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "sheet.csv": b"PK\x03\x04" + bytes(100),
        "letter.docx": b"PK\x03\x04" + bytes(100),
        "nothing.csv": b"",
    }.items():
        (tmp_path / name).write_bytes(content)
        page.locator("#content input[type=file]").first.set_input_files(str(tmp_path / name))
        page.wait_for_function(
            "(name) => [...document.querySelectorAll('.sh-drop-error')].some((e) => e.textContent.includes(name))",
            arg=name,
        )
    assert not list((served.project / "sources").iterdir())


def test_nothing_is_loaded_from_elsewhere(demo: Served, open_page: Opened) -> None:
    page = open_page(demo)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for place in ("/", "/columns", "/risk", "/protect", "/release"):
        page.goto(demo.base + place)
        page.wait_for_selector("h1")
    outside = [
        url for url in asked if not url.startswith((demo.base, demo.base.replace("http", "ws"), "data:", "blob:"))
    ]
    assert outside == []


@pytest.mark.long
def test_no_value_is_written_to_the_log(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    file = tmp_path / "broken.csv"
    file.write_text('name,age\n"Secretvalue,1\nSecretvalue,x,y,z\n', encoding="utf-8")
    served = serve()
    page = open_page(served)
    steward.upload(page, file)
    page.get_by_text("cannot be read").first.wait_for()
    assert served.end() == 0
    token = served.address.partition("token=")[2]
    assert "Secretvalue" not in "".join(served.written)
    assert sum(token in line for line in served.written) == 1
