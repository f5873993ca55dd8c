"""A steward's whole way, from a file to a release, in a real browser; the numbers are the library's."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.policy import Policy
from shoal.publishing.report.numbers import count, share
from shoal.web import drawing, facts, shelf
from shoal.web.project import Project
from tests.web.browser import steward
from tests.web.browser.conftest import Served, axe_findings, go
from tests.web.serving import as_saved

Opened = Callable[..., Any]
Serve = Callable[..., Served]


def project_of(served: Served) -> Project:
    return as_saved(served.project)


def table_of(project: Project) -> tuple[Any, shoal.Schema]:
    frame = project.read().frame
    return frame, project.policy().schema(project.folder, frame)


def check_risk(page: Any, project: Project) -> facts.RiskNow:
    """The page Risk now tells what the library counts."""
    frame, schema = table_of(project)
    told = facts.risk_now(frame, schema)
    assert told.risk == shoal.assess(frame, schema).risk
    page.get_by_role("heading", name="In one look").wait_for()
    assert steward.fact(page, "persons") == steward.plain(count(told.risk.persons))
    alone = told.risk.unique_persons / told.risk.persons
    assert steward.fact(page, "can be singled out") == steward.plain(share(alone, 1))
    for name, value in told.risk.max_gsar.items():
        assert steward.fact(page, f"highest chance to learn ‘{name}’") == steward.plain(share(value, 1))
    rows = steward.cells(page, "Risk by records and by persons")
    assert rows[2][1:] == [steward.plain(share(told.row_counting.risk_by_records, 1)),
                           steward.plain(share(told.risk.max_gidr, 1))]  # fmt: skip
    worst = steward.cells(page, f"The worst of {told.tried} combinations tried")
    assert [row[0] for row in worst] == [" + ".join(each.columns) for each in told.combinations]
    assert [row[1] for row in worst] == [count(each.persons) for each in told.combinations]
    return told


def find_and_make(page: Any) -> None:
    """Find the best setting, and make the release with it."""
    page.get_by_role("button", name="Find the best setting").click()
    page.get_by_role("button", name="Make the release").click()
    page.wait_for_url(re.compile("/release$"))
    page.get_by_role("heading", name="May be handed out").wait_for()


def check_release(page: Any, served: Served, tmp_path: Path) -> Path:
    """The page Release tells what the release folder and `verify` say; gives the folder of what was downloaded."""
    project = project_of(served)
    result = project.result("release")
    assert result is not None
    assert not result.is_stale
    run = project.folder / "runs" / result.data["run"]
    numbers = json.loads((run / "steward" / "report.json").read_text(encoding="utf-8"))
    assert steward.fact(page, "highest record risk") == steward.plain(share(numbers["max_gidr"], 1))
    assert steward.fact(page, "lost in what is shown") == steward.plain(share(numbers["loss"], 1))
    assert steward.fact(page, "persons alone") == "0"
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download what may leave (zip)").click()
    waiting.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "handed-out")
    assert set(names) == {path.name for path in run.iterdir() if path.is_file()}
    assert not any("steward" in name for name in names)
    policy = Policy.load(run / "steward" / "policy.toml")
    published = shoal.read(
        tmp_path / "handed-out" / "release.csv", csv=shoal.reading.CsvOptions(delimiter=policy.source.delimiter)
    ).frame
    verified = shoal.verify(published, policy.schema_of_release(), policy.models)
    assert verified.holds
    assert verified.risk.max_gidr == numbers["max_gidr"]
    return tmp_path / "handed-out"


def check_trying(page: Any, served: Served) -> None:
    """A setting that is only tried stands on the shelf with its records before and after, and nothing is written."""
    page.get_by_role("button", name="Only try it, and put it on the shelf").click()
    ((name, *figures),) = steward.cells(page, "Candidates side by side")
    project = project_of(served)
    (candidate,) = shelf.candidates(project)
    assert name == "1 (tried, chosen now)"
    assert figures[0] == steward.plain(share(candidate.numbers["max_gidr"], 1))
    assert list((project.folder / "runs").iterdir()) == []
    page.get_by_text("Twenty records of it, beside the same ones as they were").click()
    before, after = (steward.cells(page, f"Candidate 1: records {how}") for how in
                     ("as they were", "as they would be published"))  # fmt: skip
    assert len(before) == len(after) == 20
    at = [list(candidate.published["columns"]).index(column) for column in ("disease", "treatment")]
    assert [[row[place] for place in at] for row in before] == [[row[place] for place in at] for row in after]
    page.get_by_label("Note", exact=True).fill("for the board")
    page.get_by_label("Note", exact=True).press("Tab")
    page.wait_for_function("() => document.activeElement.tagName !== 'INPUT'")


def check_board(page: Any, served: Served) -> None:
    """What the board decides is entered in the report, and can be undone and redone as every choice can."""
    page.get_by_role("tab", name="Review board").click()
    page.get_by_label("Purpose").fill("Waiting times")
    page.get_by_label("Purpose").press("Tab")
    page.get_by_role("button", name="Put it into the report").click()
    page.get_by_text("The report begins with this page now").wait_for()
    project = project_of(served)
    result = project.result("release")
    assert result is not None
    assert not result.is_stale  # a decision changes no release
    assert "Waiting times" in project.file_of_run(result.data["run"], "steward/report.html").read_text(encoding="utf-8")
    page.get_by_role("button", name="Undo: the page for the board").click()
    page.get_by_role("button", name="Redo: the page for the board").wait_for()
    assert project_of(served).chosen.decision == {}
    page.get_by_role("button", name="Redo: the page for the board").click()
    page.get_by_role("button", name="Undo: the page for the board").wait_for()
    assert project_of(served).chosen.decision == {"purpose": "Waiting times"}
    assert [each.note for each in shelf.candidates(project)] == ["for the board", ""]


def test_from_a_file_to_a_release(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served = serve()
    page = open_page(served)
    steward.upload(page, steward.patients(tmp_path))
    page.get_by_role("heading", name="The first records").wait_for()
    project = project_of(served)
    frame = project.read().frame
    assert steward.fact(page, "records") == count(len(frame))
    assert steward.fact(page, "persons") == count(frame["patient"].n_unique())

    steward.step(page, "Columns")
    for column, role in {"patient": "person", "visit_date": "time", "age": "quasi", "gender": "quasi", "zip": "quasi",
                         "education": "quasi", "disease": "sensitive", "treatment": "sensitive"}.items():  # fmt: skip
        steward.give_role(page, column, role)
    steward.confirm_roles(page)
    page.get_by_text("Every column has a role").wait_for()

    steward.step(page, "Risk now")
    told = check_risk(page, project_of(served))
    assert told.risk.unique_persons > 0

    steward.step(page, "Protect")
    steward.set_percent(page, "record risk", 20)
    steward.set_percent(page, "value risk of disease", 60)
    steward.set_percent(page, "value risk of treatment", 60)
    page.get_by_role("button", name="Find the best setting").click()
    page.get_by_role("button", name="Make the release").wait_for()
    project = project_of(served)
    found = project.result("frontier")
    assert found is not None
    frame, schema = table_of(project)
    targets = {"max_gidr": "0.2", "max_gsar.disease": "0.6", "max_gsar.treatment": "0.6"}
    tuning = shoal.tune(frame, schema, targets=targets)
    assert found.data["targets"] == targets
    assert [point["minimised"] for point in found.data["points"]] == [point.loss for point in tuning.points]
    n_with_effort = sum(point.method != tuning.points[0].method for point in tuning.points)
    assert page.locator("[data-point]").count() == len(tuning.frontier) + n_with_effort
    assert tuning.chosen is not None
    assert steward.fact(page, "lost in what is shown") == steward.plain(share(tuning.chosen.loss, 1))
    assert page.locator("[data-point][aria-pressed=true]").count() == 1

    check_trying(page, served)
    page.get_by_role("button", name="Make the release").click()
    page.wait_for_url(re.compile("/release$"))
    page.get_by_role("heading", name="May be handed out").wait_for()
    handed_out = check_release(page, served, tmp_path)
    published = shoal.read(handed_out / "release.csv").frame
    assert project_of(served).policy().models == tuning.chosen.models

    page.get_by_role("tab", name="Groups").click()
    groups = steward.cells(page, "Groups of the release")
    project = project_of(served)
    result = project.result("release")
    assert result is not None
    assert len(groups) == min(result.data["groups"], facts.MOST_SHOWN)
    assert groups[0][2] == steward.plain(share(result.data["max_gidr"], 1))
    page.get_by_role("button", name=re.compile("^persons")).click()
    page.wait_for_selector("th[aria-sort=descending] button[data-sort=persons]")
    sizes = [int(row[0].replace(",", "")) for row in steward.cells(page, "Groups of the release")]
    assert sizes == sorted(sizes, reverse=True)
    check_board(page, served)

    page.get_by_role("tab", name="Policy and command").click()
    page.locator("pre.sh-code").nth(1).wait_for()
    shown = page.locator("pre.sh-code").all_inner_texts()
    assert shown[0] == "shoal protect sources/visits.csv --policy policy.toml -o release"
    assert shown[1].strip() == (served.project / "policy.toml").read_text(encoding="utf-8").strip()
    page.get_by_role("tab", name="Attacks").click()
    page.get_by_text("Find the person").first.wait_for()
    page.get_by_label("Values that are excluded, up to").select_option("2")
    page.get_by_role("button", name="Try this attack").click()
    exposed = steward.cells(page, "Persons exposed by excluding values")
    assert [row[0] for row in exposed] == ["0", "1", "2"]
    attacked = shoal.attacking.attack_by_exclusion(published, project.policy().schema_of_release(), exclude=2)
    assert [row[2] for row in exposed] == [steward.plain(share(each.share)) for each in attacked]
    go(page, served, f"/runs/{result.data['run']}/report.html")
    assert "Release report" in page.title()


@pytest.mark.long
def test_a_messy_file(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    """A German table goes from upload to download: what is in doubt is asked, mended, confirmed, and recorded."""
    served = serve()
    page = open_page(served, viewport={"width": 1440, "height": 900})
    file = steward.messy(tmp_path)
    steward.upload(page, file)
    page.get_by_role("heading", name="Please decide").wait_for()
    assert project_of(served).states()["data"] == "open"
    assert axe_findings(page) == []
    page.get_by_role("button", name="01/02/2024 is 1 February, for Sterbedatum").click()
    page.get_by_label("Dates in Sterbedatum").wait_for()
    page.get_by_text("‘m’ and ‘M’ look alike").wait_for()
    page.get_by_role("button", name="Make them all ‘m’, in Geschlecht").click()
    page.get_by_role("button", name="Undo: Geschlecht: ‘M’ becomes ‘m’.").click()
    page.get_by_role("button", name="Make them all ‘m’, in Geschlecht").wait_for()
    page.get_by_role("button", name="Do all 2").click()
    page.get_by_role("button", name="Undo: Geschlecht: ‘W’ becomes ‘w’.").wait_for()
    page.get_by_role("button", name="Keep what stands before the point, in Diagnose").click()
    page.get_by_role("button", name=re.compile("^Undo: Diagnose")).wait_for()
    page.get_by_text("records in this column").first.wait_for()
    region = page.get_by_role("region", name=re.compile("^The first"))
    region.get_by_role("cell", name=re.compile(r"^1?\d\d\.\d$")).first.wait_for()  # decimal commas are found
    assert "Bäcker" in region.inner_text()
    frame = project_of(served).read().frame
    assert set(frame["Geschlecht"].unique()) == {"m", "w"}
    assert frame["Gewicht"].null_count() > 0
    assert steward.fact(page, "records") == count(len(frame))

    steward.step(page, "Columns")
    page.get_by_role("button", name="These roles are right").wait_for()
    steward.give_role(page, "E-Mail", "quasi")
    page.get_by_role("button", name="Publish E-Mail nevertheless").wait_for()
    page.get_by_text("confirm a second time that it shall be published").wait_for()
    for column, role in {"Patienten-Nr": "person", "Geburtsdatum": "quasi", "Geschlecht": "quasi", "PLZ": "quasi",
                         "Beruf": "quasi", "Gewicht": "quasi", "Aufnahmedatum": "time", "Sterbedatum": "dropped",
                         "Diagnose": "sensitive", "E-Mail": "dropped"}.items():  # fmt: skip
        steward.give_role(page, column, role)
    assert project_of(served).states()["columns"] == "open"
    page.get_by_role("button", name="Use months, quarters, years, decades, for Geburtsdatum").click()
    page.get_by_role("button", name="Hierarchy: months, quarters, years, decades, for Geburtsdatum").wait_for()
    sort_jobs(page)
    steward.confirm_roles(page)
    page.get_by_text("Every column has a role").wait_for()
    fits_a_phone(page, served)
    steward.step(page, "Risk now")
    check_risk(page, project_of(served))

    steward.step(page, "Protect")
    steward.set_percent(page, "record risk", 25)
    steward.set_percent(page, "value risk of Diagnose", 90)
    find_and_make(page)
    handed_out = check_release(page, served, tmp_path)
    first = (handed_out / "release.csv").read_text(encoding="utf-8-sig").splitlines()[0]
    assert "E-Mail" not in first
    assert ";" in first
    policy = Policy.load(served.project / "policy.toml")
    assert (policy.source.encoding, policy.source.delimiter, policy.source.decimal) == ("cp1252", ";", ",")
    assert policy.source.date_format is not None
    assert policy.source.date_format["Sterbedatum"] == "dd/mm/yyyy"
    assert policy.mend.map == {"Geschlecht": {"M": "m", "W": "w"}}


def sort_jobs(page: Any) -> None:
    """Make two levels of sets with the keyboard, and paste them back as a spreadsheet would."""
    page.get_by_role("button", name="Add a hierarchy, for Beruf").click()
    page.get_by_role("heading", name="Hierarchy of Beruf").wait_for()
    for tick, name, at in ((("Bäcker", "Koch"), "Essen", 1), (("Essen",), "Arbeit", 2)):
        if at == 2:
            page.get_by_role("button", name="Add a level above").click()
            page.get_by_role("button", name="Level 2: sets of sets").wait_for()
        for each in tick:
            page.get_by_role("checkbox", name=re.compile(f"^{each}")).press("Space")
        page.get_by_label("New set").fill(name)
        page.get_by_label("New set").press("Tab")
        page.get_by_role("button", name="Add the set").press("Enter")
        page.get_by_role("region", name=name, exact=True).wait_for()
    levels = steward.cells(page, "Levels of the hierarchy of Beruf")
    assert [row[:2] for row in levels] == [["value", "4"], ["level 1", "3"], ["level 2", "3"], ["everything", "1"]]
    assert axe_findings(page) == []
    page.get_by_text("Copy to a spreadsheet, or paste from one").click()
    area = page.get_by_label("One line per category")
    area.fill(area.input_value().replace("Lehrer\tLehrer\tLehrer", "Lehrer\tSchule\tArbeit"))
    page.get_by_role("button", name="Take what is pasted").click()
    page.get_by_role("region", name="Schule", exact=True).wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV, in ARX's format").click()
    assert "Lehrer;Schule;Arbeit;*" in Path(waiting.value.path()).read_text(encoding="utf-8")
    page.get_by_role("button", name="Use this hierarchy").click()
    page.get_by_role("button", name="Hierarchy: sets, for Beruf").wait_for()


def fits_a_phone(page: Any, served: Served) -> None:
    """The first two pages at 390 px, in both looks: nothing is wider than the window, and axe finds nothing serious."""
    for look, place in (("dark", "/columns"), ("light", "/columns"), ("dark", "/")):
        page.emulate_media(color_scheme=look)
        page.set_viewport_size({"width": 390, "height": 844})
        go(page, served, place)
        page.locator(".sh-table").first.wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert steward.cut_words(page) == []
        steps = page.get_by_role("navigation", name="Steps").get_by_role("link").all()
        boxes = [step.bounding_box() for step in steps]
        assert len(boxes) == 5
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes), "every step is in view"
        assert axe_findings(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})


@pytest.mark.long
def test_nothing_is_offered_where_a_promise_cannot_be_kept(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, page = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=120)
    page.get_by_label("Models, one by one").click()
    page.get_by_role("checkbox", name="Record risk").click()
    page.get_by_role("checkbox", name="Value risk").click()
    slider = page.get_by_role("slider", name="Value risk")
    for _ in range(6):
        slider.press("PageDown")
    page.get_by_text("5 %", exact=True).wait_for()
    page.get_by_role("button", name="Use these models").click()
    page.get_by_role("button", name="Make the release").click()
    page.get_by_text("No release was made").wait_for()
    assert page.get_by_text("What you can relax").is_visible()
    assert page.get_by_text("cannot be met by any grouping").is_visible()
    assert page.get_by_text("Allow some persons to be left out").is_visible()
    assert not list((served.project / "runs").iterdir())
    steward.step(page, "Release")
    page.get_by_text("there is nothing to hand out").wait_for()
    assert page.get_by_role("link", name=re.compile("Download")).count() == 0


@pytest.mark.long
def test_kept_columns_that_single_out_leave_only_by_the_stewards_word(
    serve: Serve, open_page: Opened, tmp_path: Path
) -> None:
    keeping = steward.POLICY.replace('time = "visit_date"', 'kept = ["visit_date"]')
    served, page = steward.open_with_policy(
        serve, open_page, tmp_path, "/protect", persons=120, policy_text=keeping
    )  # fmt: skip
    page.get_by_label("Models, one by one").click()
    page.get_by_role("checkbox", name="Record risk").click()
    page.get_by_role("button", name="Use these models").click()
    page.get_by_role("button", name="Make the release").click()
    page.get_by_text("are alone in their group by the kept column 'visit_date'").wait_for()
    assert not list((served.project / "runs").iterdir())
    page.get_by_role("button", name="Allow it, and try again").click()
    page.get_by_role("heading", level=1, name="Release").wait_for()
    release = project_of(served).result("release")
    assert release is not None
    told = release.data["alone_by"]
    assert steward.fact(page, "persons alone in their group by") == steward.plain(f"{max(told.values())}")
    assert page.get_by_text("some are alone in their group by what else leaves").is_visible()
    assert "allow_alone = true" in release.data["policy_text"]


@pytest.mark.long
def test_methods_side_by_side_and_a_search_that_is_stopped(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, page = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=20_000)
    page.get_by_role("button", name="Find the best setting").click()
    page.locator("[data-point]").first.wait_for()
    stop = page.get_by_role("button", name="Stop")
    if stop.count():
        stop.first.click()
    stopped = page.get_by_text("The search was stopped")
    stopped.or_(page.get_by_role("button", name="Make the release")).first.wait_for()
    n_points = page.locator("[data-point]").count()
    assert n_points > 0
    page.reload()
    page.locator("[data-point]").first.wait_for()
    assert page.locator("[data-point]").count() == n_points
    kept = project_of(served).result("frontier")
    assert kept is not None
    points = kept.data.get("points") or kept.data["partials"]
    assert len(drawing.worth_choosing(points, "max_gidr")) == n_points


@pytest.mark.long
def test_methods_are_compared(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, page = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=150)
    steward.set_percent(page, "record risk", 30)
    page.get_by_role("button", name="Find the best setting").click()
    page.get_by_role("button", name="Compare methods").click()
    page.get_by_role("button", name="Compare again").wait_for()
    rows = steward.cells(page, "Methods side by side")
    result = project_of(served).result("compare")
    assert result is not None
    assert len(rows) == len(result.data["rows"])
    for row, told in zip(rows, result.data["rows"], strict=True):
        assert row[2] == (steward.plain(share(told["minimised"], 2)) if told["met"] else row[2])
    assert "least" in {row[3] for row in rows}


@pytest.mark.long
def test_a_restart_loses_nothing(serve: Serve, open_page: Opened, tmp_path: Path) -> None:
    served, page = steward.open_with_policy(serve, open_page, tmp_path, "/protect", persons=150)
    steward.set_percent(page, "record risk", 30)
    find_and_make(page)
    before = steward.fact(page, "lost in what is shown")
    page.context.close()
    assert served.end() == 0
    again = serve(project=served.project)
    page = open_page(again, "/release")
    page.get_by_role("heading", name="May be handed out").wait_for()
    assert steward.fact(page, "lost in what is shown") == before
    go(page, again, "/protect")
    assert page.get_by_label("record risk, at most percent").input_value() == "30"
    assert page.locator("[data-point][aria-pressed=true]").count() == 1


def test_the_demo_is_finished(demo: Served, open_page: Opened) -> None:
    page = open_page(demo, "/release")
    page.get_by_role("heading", name="May be handed out").wait_for()
    for name, heading in (("Risk now", "In one look"), ("Protect", "What it costs")):
        steward.step(page, name)
        page.get_by_role("heading", name=heading).wait_for()
    check = project_of(demo)
    assert {check.states()[step] for step in ("data", "columns", "risk", "protect")} == {"done"}


@pytest.mark.parametrize("width", [1280, pytest.param(1920, marks=pytest.mark.long)])
def test_no_page_is_wider_than_the_window(demo: Served, open_page: Opened, width: int) -> None:
    page = open_page(demo, viewport={"width": width, "height": 900})
    for place in ("/", "/columns", "/risk", "/protect", "/release"):
        go(page, demo, place)
        page.locator(".sh-card").first.wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
