"""Releases of every kind, written once for all tests of reports."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shoal.publishing.release import Release
from tests.publishing.report.pages import Page, written


class Reported(NamedTuple):
    """A release, its folder, and what its reports say."""

    release: Release
    folder: Path
    numbers: dict[str, Any]
    report: Page
    summary: Page


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reported]:
    """The release of a kind with its reports; made when it is first asked for."""
    place = tmp_path_factory.mktemp("reports")

    @functools.cache
    def of_kind(kind: str) -> Reported:
        release, folder = written(kind, place)
        numbers = json.loads((folder / "steward" / "report.json").read_text(encoding="utf-8"))
        pages = [Page((folder / name).read_text(encoding="utf-8")) for name in ("steward/report.html", "summary.html")]
        return Reported(release, folder, numbers, *pages)

    return of_kind
