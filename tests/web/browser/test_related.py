"""Related tables from upload to download, in a real browser."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.web.browser import steward
from tests.web.browser.conftest import Served, axe_findings
from tests.web.browser.test_way import find_and_make, project_of
from tests.web.test_related import hospital


def test_related_tables(serve: Callable[..., Served], open_page: Callable[..., Any], tmp_path: Path) -> None:
    files = []
    for name, frame in hospital(150).items():
        files.append(tmp_path / f"{name}.csv")
        frame.write_csv(files[-1], separator=";")
    served = serve()
    page = open_page(served, viewport={"width": 1440, "height": 900})
    steward.upload(page, *files)
    for file in files:
        page.get_by_role("button", name=f"Remove {file.name}", exact=True).wait_for()
    page.wait_for_load_state("networkidle")  # the cards below are drawn once more when the last file is there
    page.get_by_role("button", name="They are several tables that belong together").click()
    page.get_by_label("In condition, it names a row of encounter").wait_for()
    assert page.get_by_label("The key of person", exact=True).input_value() == "person_id"
    page.get_by_role("heading", name="The first records").wait_for()
    assert steward.fact(page, "persons") == "150"
    assert axe_findings(page) == []

    steward.step(page, "Columns")
    page.get_by_role("button", name="These roles are right").wait_for()
    page.get_by_text("of encounter", exact=True).wait_for()
    for column, role in {"birth_year": "quasi", "sex": "quasi", "ward": "dropped", "icd": "sensitive"}.items():
        steward.give_role(page, column, role)
    steward.confirm_roles(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": 900})
    steward.step(page, "Protect")
    steward.set_percent(page, "record risk", 25)
    steward.set_percent(page, "value risk of icd", 90)
    find_and_make(page)
    page.get_by_role("heading", name="condition, as it is published").wait_for()
    assert axe_findings(page) == []
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download what may leave (zip)").click()
    waiting.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        names = set(archive.namelist())
        header = archive.read("release-condition.csv").decode().splitlines()[0]
    assert {"release-person.csv", "release-encounter.csv", "release-condition.csv", "codebook.json"} <= names
    assert header == "encounter_id;person_id;icd"
    assert project_of(served).states()["release"] == "done"
