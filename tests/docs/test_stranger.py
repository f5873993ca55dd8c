"""A stranger follows pages to the letter, with only what the install page says: Python, the wheel, its packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.transcripts import PROJECT
from tests.tools.test_install import built, clean, run

__all__ = ["built", "clean"]

pytestmark = pytest.mark.nightly

PAGES = [
    *("tutorial", "install"),
    *("how-to/from-the-command-line", "how-to/show-a-review-board", "how-to/use-a-release", "how-to/mend"),
]
"""Pages that need nothing but shoal. The fixture installs it as the page says; commands of pages are typed."""


@pytest.fixture(scope="module")
def installed(built: list[Path], clean: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of the install page: the wheel in it, and `shoal --version` answers."""
    folder = tmp_path_factory.mktemp("installing")
    run(clean, "python", "-m", "pip", "install", "--no-compile", built[0], cwd=folder)
    assert run(clean, "shoal", "--version", cwd=folder).startswith("shoal ")
    return clean


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_followed_to_the_letter(page: str, installed: Path, tmp_path: Path) -> None:
    told = {"PATH": f"{installed / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(tmp_path), "COLUMNS": "100"}
    done = subprocess.run(
        [installed / "bin/python", "-m", "tests.docs.transcripts", PROJECT / "docs" / f"{page}.md"],
        cwd=tmp_path,
        env={**told, "LC_ALL": "C", "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
