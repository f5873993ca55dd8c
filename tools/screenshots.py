"""Pictures of every step of the web app, from made-up patients.

Run as `python -m tools.screenshots [FOLDER]`. All of them (two widths, light and dark) go to build/screenshots, to be
looked at; those that the docs show go to FOLDER, docs/images where none is named.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.chromium import ARGUMENTS, CHROMIUM, MISSING

PROJECT = Path(__file__).resolve().parent.parent
STEPS = {
    "data": ("/", "The first records"),
    "columns": ("/columns", "What each column is"),
    "risk": ("/risk", "In one look"),
    "protect": ("/protect", "What it costs"),
    "release": ("/release", "May be handed out"),
}
WIDTHS = {1280: 900, 1920: 1080}
IN_DOCS = {
    "data": ("light", 1280),
    "columns": ("light", 1280),
    "risk": ("light", 1280),
    "protect": ("light", 1280),
    "release": ("light", 1280),
    "protect-dark": ("dark", 1280),
}
"""At most six pictures, each small, since they are part of the repository."""
LARGEST = 250_000
SECONDS = 180


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT / "docs" / "images"
    if CHROMIUM is None:
        raise SystemExit(f"Pictures cannot be taken: {MISSING}.")
    everything = PROJECT / "build" / "screenshots"
    everything.mkdir(parents=True, exist_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        server, address = served(Path(folder) / "project")
        try:
            take_all(CHROMIUM, address, everything)
        finally:
            server.terminate()
            server.wait(SECONDS)
    for name, (look, width) in IN_DOCS.items():
        step = name.removesuffix("-dark")
        picture = everything / f"{step}-{width}-{look}.png"
        if picture.stat().st_size > LARGEST:
            raise SystemExit(f"{picture.name} has {picture.stat().st_size:,} bytes, more than the docs shall hold.")
        shutil.copyfile(picture, target / f"{name}.png")
    print(f"All pictures: {everything}. Those of the docs: {target}.")


def served(project: Path) -> tuple[subprocess.Popen[str], str]:
    """A server with the demo project, and its address."""
    command = [sys.executable, "-c", "from shoal.cli.main import main; main()", "serve", "--demo", "--no-browser"]
    process = subprocess.Popen(
        [*command, "--project", str(project)], stdout=subprocess.PIPE, text=True, cwd=project.parent
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if re.fullmatch(r"http://\S+token=\S+", line.strip()):
            return process, line.strip()
    raise SystemExit("The server ended without an address.")


def take_all(chromium: str, address: str, folder: Path) -> None:
    """Every step, in both widths, light and dark."""
    from playwright.sync_api import sync_playwright

    base = address.partition("/?")[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        for width, height in WIDTHS.items():
            for look in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=look, reduced_motion="reduce"
                )
                context.set_default_timeout(SECONDS * 1000)
                page = context.new_page()
                page.goto(address)
                for step, (place, heading) in STEPS.items():
                    page.goto(base + place)
                    page.get_by_role("heading", name=heading).first.wait_for()
                    take(page, folder / f"{step}-{width}-{look}.png", step)
                    page.evaluate("() => window.scrollTo(0, 0)")
                    page.screenshot(path=folder / f"{step}-{width}-{look}-whole.png", full_page=True)
                context.close()
        browser.close()


def take(page: Any, file: Path, step: str) -> None:
    """What a window shows: of Protect the part with the frontier."""
    page.wait_for_load_state("networkidle")
    page.get_by_text("Counting ...", exact=True).wait_for(state="detached")
    if step == "protect":
        page.locator("[data-point]").first.wait_for()
        page.get_by_role("heading", name="What it costs").evaluate(
            "(heading) => window.scrollTo(0, heading.getBoundingClientRect().top + window.scrollY - 96)"
        )
    page.screenshot(path=file)


if __name__ == "__main__":
    main()
