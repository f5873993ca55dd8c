"""Settings for all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from tests.folders import write_in_memory
from tests.tiers import EXAMPLES, EXAMPLES_OF_RELEASES
from tools.chromium import ARGUMENTS, CHROMIUM, MISSING

write_in_memory()

# The first call of a kernel compiles it, so no example has a deadline.
settings.register_profile("shoal", deadline=None)
settings.register_profile(
    "nojit", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shoal"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what takes hours out unless it is asked for; draw few examples where a quick look is asked for."""
    laws = Path(__file__).with_name("laws")
    for item in items:
        most = EXAMPLES_OF_RELEASES if laws in item.path.parents else EXAMPLES
        if most is not None:
            draw_fewer(item, most)
    if "nightly" in (config.option.markexpr or ""):
        return
    long = [item for item in items if item.get_closest_marker("nightly") is not None]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item.get_closest_marker("nightly") is None]


def draw_fewer(item: pytest.Item, most: int) -> None:
    """At most so many examples of Hypothesis, also where a test asks for more itself."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    own = getattr(function, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples > most:
        function._hypothesis_internal_use_settings = settings(own, max_examples=most)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """In CI a skipped test is a failed one, unless it needs the real tables, which are not part of the project."""
    outcome = yield
    report = outcome.get_result()
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    if is_skip and os.environ.get("CI") == "true" and item.get_closest_marker("data") is None:
        report.outcome = "failed"
        report.longrepr = f"Skipped, which CI does not allow: {report.longrepr[2]}"


Installed = Callable[[str, str, Mapping[str, str]], None]
"""Installs a package by name, with the entry points of one group: names and what they stand for."""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """As if packages were installed that offer parts, for this test."""

    def install(package: str, group: str, offered: Mapping[str, str]) -> None:
        folder = tmp_path / f"site of {package}"
        told = folder / f"{package}-1.dist-info"
        told.mkdir(parents=True)
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        lines = "\n".join(f"{name} = {part}" for name, part in offered.items())
        (told / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")
        monkeypatch.syspath_prepend(str(folder))

    return install


@pytest.fixture
def clinics() -> pl.DataFrame:
    """The 19 records of eight persons from the worked example of Kartal and Li (2020)."""
    from shoal.demo import clinics as example

    return example.clinics()


@pytest.fixture
def visits() -> pl.DataFrame:
    """Ten visits of six persons; the second moved from north to south, and one city is missing.

    As one group: squared counts 4 + 4 + 1 + 4 + 1 + 4 = 18, so g = 1 - 18/100 = 0.82; the heaviest have 2 of the 10
    records; four of the six persons have had flu, so h = 2/3.
    """
    return pl.DataFrame(
        [
            ("p1", 30, "north", "flu"),
            ("p1", 31, "north", "cold"),
            ("p2", 32, "north", "asthma"),
            ("p2", 33, "south", "flu"),
            ("p3", 40, "south", "cold"),
            ("p4", 41, "south", "flu"),
            ("p4", 41, "south", "asthma"),
            ("p5", 60, "west", "cold"),
            ("p6", 62, "west", "flu"),
            ("p6", 62, None, "flu"),
        ],
        schema=["person", "age", "city", "disease"],
        orient="row",
    )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, one for all tests of a worker."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    with playwright.sync_playwright() as made:
        browser = made.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()
