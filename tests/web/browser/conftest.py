"""A server of the web app and a real browser, for tests as a steward would do it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

AXE = Path(__file__).with_name("node_modules") / "axe-core" / "axe.min.js"
SOURCE = Path(__file__).resolve().parents[3] / "src"
SECONDS = 120
"""How long anything may take on a busy machine before a test gives up."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Served:
    """A running server: the address with its token, the one without, and what it wrote."""

    address: str
    process: subprocess.Popen[str]
    project: Path
    written: list[str]

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(SECONDS)


def start(project: Path, *arguments: str, folder: Path | None = None) -> Served:
    """Start `shoal serve` in a process of its own, and wait until it has said its address."""
    command = [sys.executable, "-c", "from shoal.cli.main import main; main()", "serve", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--project", str(project), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder or project.parent,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    written: list[str] = []
    threading.Thread(target=lambda: written.extend(process.stderr), daemon=True).start()  # type: ignore[arg-type]
    for line in process.stdout:
        written.append(line)
        if re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=\S+", line.strip()):
            threading.Thread(target=lambda: written.extend(process.stdout), daemon=True).start()  # type: ignore[arg-type]
            return Served(line.strip(), process, project, written)
    raise AssertionError(f"the server ended without an address: {''.join(written)}")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start servers that are ended with the test."""
    running: list[Served] = []

    def started(*arguments: str, project: Path | None = None, folder: Path | None = None) -> Served:
        running.append(start(project or tmp_path / f"project-{len(running)}", *arguments, folder=folder))
        return running[-1]

    yield started
    for each in running:
        if each.process.poll() is None:
            each.end()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The finished demo project; tests only look at it."""
    pytest.importorskip("nicegui", reason="the extra web is not installed")
    served = start(tmp_path_factory.mktemp("demo") / "project", "--demo")
    yield served
    served.end()


HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    item.stash[HAS_FAILED] = item.stash.get(HAS_FAILED, False) or outcome.get_result().failed  # type: ignore[attr-defined]


@pytest.fixture
def open_page(chromium: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open pages, each in a browser window of its own without cookies; faults in the browser fail the test.

    Of a test that fails, pictures of its pages are in its folder.
    """
    contexts, faults = [], []

    def opened(served: Served, place: str = "/", **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(served.address)
        if place != "/":
            go(page, served, place)
        ready(page)
        return page

    yield opened
    for number, context in enumerate(contexts):
        if request.node.stash.get(HAS_FAILED, False):
            for page in context.pages:
                page.screenshot(path=tmp_path / f"failed-{number}.png", full_page=True)
        context.close()
    assert not faults, f"errors in the browser: {faults}"


def go(page: Any, served: Served, place: str) -> None:
    """Go to a page of the app, and wait until it is there."""
    page.goto(served.base + place)
    ready(page)


def ready(page: Any) -> None:
    """Wait until the page is drawn and connected to its server."""
    page.wait_for_selector("h1")
    page.wait_for_function("() => document.querySelector('#content') === null || window.did_handshake === true")


def axe_findings(page: Any) -> list[str]:
    """What axe-core finds that is serious or critical, in one line each."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/web/browser")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['impact']} {each['id']}: {node['html'][:160]} ({node.get('failureSummary', '')[:200]})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Try a test of the browser a second time before it fails, and say so: a busy machine is not a fault of the app.

    pytest asks here about tests of all folders; others have one try.
    """
    if Path(__file__).parent not in item.path.parents:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        item.warn(pytest.PytestWarning(f"{item.name} needed a second try"))
        item._initrequest()  # type: ignore[attr-defined]  # fixtures anew
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
