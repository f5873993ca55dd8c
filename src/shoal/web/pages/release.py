"""The page Release: before and after, what may leave and what stays, groups, attacks, and how to repeat it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from nicegui import run as background
from nicegui import ui

from shoal.errors import InputError, ShoalError
from shoal.judging.alone import by_what
from shoal.publishing.report import words
from shoal.publishing.report.markup import Content, el, joined
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.sections.asked import column_by_column
from shoal.publishing.report.sections.attacked import attacked
from shoal.publishing.report.sections.cost import cost
from shoal.publishing.report.sections.levels import levels
from shoal.publishing.report.sections.risk import risk
from shoal.publishing.report.sections.useful import useful
from shoal.web import facts as counted_facts
from shoal.web import goal as goals
from shoal.web import layout, shelf, work
from shoal.web.app import App
from shoal.web.jobs import WebJob
from shoal.web.pages.after import BoardCard, LaterCard
from shoal.web.pages.risk import can_go_on
from shoal.web.safety import refusal_page

Numbers = Mapping[str, Any]
LEAD = "What was promised, what it cost, what may be handed out, and what stays with you."
NO_SUCH = "There is no such release"
PAGES = {"report.html": "steward/report.html", "summary.html": "summary.html"}
SORT = """(event) => {
    const button = event.target.closest("button[data-sort]");
    if (button) emit(button.dataset.sort);
}"""


# --- files that go to the browser ----------------------------------------------------------------------------------


def routes(app: App, api: FastAPI) -> None:
    """The addresses of what is handed out, of what stays, of the report and of the policy."""

    @api.get("/runs/{name}/leaving.zip")
    def leaving(name: str) -> Response:
        answer = _zip(app, name, leaving=True)
        if isinstance(answer, FileResponse):
            app.project.put_result("handed-out", {"run": name}, depends_on="protect")
        return answer

    @api.get("/runs/{name}/steward.zip")
    def staying(name: str) -> Response:
        return _zip(app, name, leaving=False)

    @api.get("/runs/{name}/policy.toml")
    def policy_of_run(name: str) -> Response:
        result = app.project.result("release")
        if result is None or result.data.get("run") != name:
            told = "It is not the present release of this project."
            return HTMLResponse(refusal_page("There is no such policy", told), status_code=404)
        return _policy(_policy_text(app, result.data, result.is_stale))

    @api.get("/runs/{name}/{page}")
    def page(name: str, page: str) -> Response:
        try:
            return FileResponse(app.project.file_of_run(name, PAGES.get(page, "")), media_type="text/html")
        except InputError as error:
            return HTMLResponse(refusal_page(NO_SUCH, str(error)), status_code=404)

    @api.get("/policy.toml")
    def policy() -> Response:
        text = app.project.policy_text()
        if text is None:
            told = "The policy can be written when every column has a role."
            return HTMLResponse(refusal_page("There is no policy yet", told), status_code=404)
        return _policy(text)


def _policy(text: str) -> Response:
    name = {"Content-Disposition": 'attachment; filename="policy.toml"'}
    return PlainTextResponse(text, media_type="application/toml", headers=name)


def _zip(app: App, name: str, *, leaving: bool) -> Response:
    """A zip of the present release or of one with later records; not where choices were changed since."""
    try:
        made_here = [app.project.result(kind) for kind in ("release", "later")]
        result = next((each for each in made_here if each is not None and each.data.get("run") == name), None)
        if result is None:
            raise InputError("It is not the present release of this project.")
        if result.is_stale and leaving:
            raise InputError("Choices were changed since it was made. Make the release again, then hand it out.")
        made = work.zip_of_run(app.project, name, leaving=leaving)
    except ShoalError as error:
        return HTMLResponse(refusal_page("Nothing is handed out", str(error)), status_code=409)
    return FileResponse(made, media_type="application/zip", filename="release.zip" if leaving else "steward.zip")


# --- the page ------------------------------------------------------------------------------------------------------


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "release", title="Release", lead=LEAD) as view:
        if not can_go_on(app):
            return
        result = app.project.result("release")
        job = app.jobs.latest("protect")
        if job is not None and job.is_running:
            with layout.card("The release is being made"):
                layout.show_job(job, on_end=lambda _: ui.navigate.reload())
            return
        if result is None or (job is not None and job.state == "failed" and result.is_stale):
            _nothing_yet(job)
            return
        _show(app, view, result)


def _nothing_yet(job: WebJob | None) -> None:
    if job is not None and job.state == "failed":
        told = f"No release was made, so there is nothing to hand out.\n{job.error}"
        with layout.note(told, tone="bad"):
            layout.button("See what can be relaxed", lambda: ui.navigate.to("/protect"), kind="primary")
        return
    with layout.note("There is no release yet. Say what may happen at the most, and make one.", tone="info"):
        layout.button("Go to Protect", lambda: ui.navigate.to("/protect"), kind="primary")


def _show(app: App, view: layout.PageView, result: Any) -> None:
    told, name = result.data, result.data["run"]
    numbers = work.numbers_of_run(app.project, name)
    holds = bool(told["verdict"]["holds"]) and work.holds(app.project, name)
    _verdict(numbers, holds, result.is_stale)
    _key_figures(numbers)
    if holds and not result.is_stale:
        _hand_out(app, name)
    _to_look_at(numbers)
    is_related = "published_tables" in told
    can_be_added_to = holds and not result.is_stale and not is_related
    parts = {
        "Before and after": lambda: _before_and_after(app, told),
        "What was done, column by column": lambda: _done(told),
        **({"Levels": lambda: _levels(app, view, numbers)} if "lattice" in numbers else {}),
        "Risk": lambda: _risk(numbers),
        "What it cost": lambda: _cost(numbers),
        **({"What you can still do with it": lambda: _useful(numbers)} if "usefulness" in numbers else {}),
        "Groups": lambda: _groups(app, name),
        **({} if is_related else {"Attacks": lambda: _attacks(app, numbers, name)}),
        "Review board": lambda: BoardCard(app, view, name).show(),
        **({"Later records": lambda: LaterCard(app, name).show()} if can_be_added_to else {}),
        "Policy and command": lambda: _repeat(app, told, result.is_stale),
    }
    with ui.tabs().props("no-caps align=left inline-label outside-arrows mobile-arrows").classes("sh-tabs") as tabs:
        made = {title: ui.tab(title) for title in parts}
    with ui.tab_panels(tabs, value=made["Before and after"], animated=False).props("keep-alive").classes("sh-panels"):
        for title, show in parts.items():
            with ui.tab_panel(made[title]):
                show()


def _verdict(numbers: Numbers, holds: bool, is_stale: bool) -> None:
    layout.note(f"{words.verdict_in_words(numbers)}\n{words.how_counted(numbers)}", tone="good" if holds else "bad")
    if is_stale:
        with layout.note("Choices were changed since this release was made. It is shown below, but nothing is offered "
                         "for download until it is made again.", tone="warn"):  # fmt: skip
            layout.button("Make it again", lambda: ui.navigate.to("/protect"))


def _to_look_at(numbers: Numbers) -> None:
    """What a steward should know before handing it out: all of it in one place, below the files."""
    strongest = words.about_strongest(numbers)
    points = [words.typeset(sentence) for sentence in words.to_look_at(numbers)]
    if strongest:
        points.insert(0, " ".join(["The strongest attack that was tried.", *map(_as_fields, strongest)]))
    if points:
        with layout.card("Good to know before it is handed out"):
            _html(el("ul", [el("li", layout.in_fields(point)) for point in points], class_="sh-promises"))


def _as_fields(sentence: str) -> str:
    """A remedy as the app calls it, in place of the line of a policy file."""
    plain = re.sub(r": [a-z_]+ = \S+ under \[columns\] of the policy\.", " (on the page Columns).", sentence)
    return re.sub(r" \([a-z_]+ = [^)]*\)", "", plain)


def _key_figures(numbers: Numbers) -> None:
    before = numbers.get("before") or {}
    given = [
        layout.Fact(share(numbers["max_gidr"], 1), "highest record risk", f"before: {share(before.get('max_gidr'), 1)}",
                    "good"),
        *(layout.Fact(share(value, 1), f"highest value risk of ‘{name}’",
                      f"before: {share(before.get('max_gsar', {}).get(name), 1)}")
          for name, value in numbers["max_gsar"].items()),
        layout.Fact(count(numbers["unique_persons"]), "persons alone", f"before: {count(before.get('unique_persons'))}",
                    "good" if not numbers["unique_persons"] else "bad"),
        *_alone(numbers, before),
        layout.Fact(count(numbers["person_k"]), "persons look alike, at least",
                    f"in {count(numbers['groups'])} groups"),
        layout.Fact(share(numbers.get("loss"), 1), "lost in what is shown", "100 % would hide everything"),
    ]  # fmt: skip
    layout.facts(given)


def _alone(numbers: Numbers, before: Numbers) -> list[layout.Fact]:
    """The most persons who are alone in their group by something else that leaves."""
    alone = numbers.get("alone_by") or {}
    if not any(alone.values()):
        return []
    most = max(alone, key=lambda key: alone[key])
    was = before.get("alone_by", {}).get(most)
    return [layout.Fact(count(alone[most]), f"persons alone in their group by {words.typeset(by_what(most))}",
                        f"before: {count(was)}", "warn")]  # fmt: skip


def _hand_out(app: App, name: str) -> None:
    with ui.element("div").classes("sh-two sh-two-apart"):
        with layout.card(
            "May be handed out", hint="The protected table, what its columns mean, and what was promised."
        ):
            files = work.files_of_run(app.project, name, leaving=True)
            _files(files)
            _html(
                el("p", el("a", "Download what may leave (zip)", href=f"/runs/{name}/leaving.zip", download=True,
                           class_="sh-download sh-download-primary"),
                   _page(files, name, "summary.html", "Look at the summary"), class_="sh-row")
            )  # fmt: skip
        with layout.card("Stays with you", hint="The report for the review board, the policy, and who is in which "
                                                "group. Never hand these out.") as card:  # fmt: skip
            card.classes("sh-card-stays")
            files = work.files_of_run(app.project, name, leaving=False)
            _files(files)
            _html(
                el("p", _page(files, name, "report.html", "Open the report"),
                   el("a", "Download for the steward (zip)", href=f"/runs/{name}/steward.zip", download=True,
                      class_="sh-download"), class_="sh-row")
            )  # fmt: skip


def _page(files: list[Path], run: str, page: str, told: str) -> Content:
    """A link to a page of a release; related tables have none."""
    if page not in {file.name for file in files}:
        return ""
    return el("a", told, href=f"/runs/{run}/{page}", target="_blank", class_="sh-download")


def _files(files: list[Path]) -> None:
    items = [
        el("li", el("span", file.name), el("span", _size(file.stat().st_size), class_="sh-small")) for file in files
    ]
    _html(el("ul", items, class_="sh-list sh-files"))


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e5 else f"{max(n_bytes / 1e3, 0.1):.1f} kB"


def _before_and_after(app: App, told: Numbers) -> None:
    hint = (
        "Some records as they were, and the same ones as they are published. Records are in another order, and persons "
        "have new names."
    )
    with layout.card("Before and after", hint=hint), ui.element("div").classes("sh-two"):
        with ui.element("div"):
            _html(el("h3", "Before"))
            shown = shelf.originals_of(app.project, int(told.get("candidate", 0)))
            if shown is None:
                layout.note("The records as they were are not kept any more.", tone="info")
            else:
                _preview(shown["columns"], shown["records"], "Records as they were")
        with ui.element("div"):
            _html(el("h3", "Published"))
            _preview(told["published"]["columns"], told["published"]["records"], "Records as they are published")
    for name, shown in told.get("published_tables", {}).items():
        with layout.card(f"{name}, as it is published", hint="The first records of the file."):
            _preview(shown["columns"], shown["records"], f"Records of {name} as they are published")


def _done(numbers: Numbers) -> None:
    with layout.card("What was done, column by column"):
        _html(column_by_column(numbers), classes="sh-report")


def _levels(app: App, view: layout.PageView, numbers: Numbers) -> None:
    """The lattice as far as it was looked at, and a button for each combination of levels that can be published."""
    lattice = numbers["lattice"]
    with layout.card("Every column at one level for all"):
        _html(levels(numbers), classes="sh-report")
    hint = (
        "Each of these keeps every promise. Taking one sets the levels on the page Protect; nothing is published "
        "before you make it."
    )
    with layout.card("Take another combination", hint=hint):
        for line in lattice["explored"]:
            at = dict(zip(lattice["columns"], line["levels"], strict=True))
            words_of_levels = ", ".join(f"{name} {level}" for name, level in at.items())
            risk = f"risk {line['max_gidr']:.1%}, " if "max_gidr" in line else ""  # earlier releases did not tell it
            told = f"{line['left_out']:,} persons left out, {risk}{line['loss']:.1%} lost: {words_of_levels}"
            layout.button(told, partial(_take_levels, app, view, at))


def _take_levels(app: App, view: layout.PageView, at: Mapping[str, int]) -> None:
    chosen = app.project.chosen
    goal, protection = goals.at_levels(dict(chosen.goal), dict(chosen.protection), at)
    if view.save(goal=goal, protection=protection):
        ui.navigate.to("/protect")


def _risk(numbers: Numbers) -> None:
    with layout.card("Risk before and after"):
        _html(risk(numbers), classes="sh-report sh-report-risk")


def _cost(numbers: Numbers) -> None:
    with layout.card("What it cost"):
        _html([el("p", sentence, class_="sh-say") for sentence in words.about_cost(numbers)])
        _html(cost(numbers), classes="sh-report")


def _useful(numbers: Numbers) -> None:
    with layout.card("What you can still do with it"):
        _html(useful(numbers), classes="sh-report")


def _preview(columns: Any, records: Any, caption: str) -> None:
    made = layout.table_html(columns, records[: counted_facts.MOST_SHOWN], caption=caption)
    ui.html(made, sanitize=False).classes("sh-wide sh-preview sh-short")


# --- groups --------------------------------------------------------------------------------------------------------


def _groups(app: App, name: str) -> None:
    state: dict[str, Any] = {"by": counted_facts.RECORD_RISK, "down": True, "first": 0}
    with layout.card(
        "Groups", hint="Persons of a group look alike in the release. This view is for you alone: sort by size or risk."
    ):
        place = ui.html("", sanitize=False).classes("sh-wide sh-groups")
        place.on("click", lambda event: sort(event.args), js_handler=SORT)
        with layout.row():
            back = layout.button("← Previous", lambda: turn(-1))
            on = layout.button("Next →", lambda: turn(1))
            where = ui.label("").classes("sh-small").props('role="status"')
        loaded: dict[str, Any] = {}

        def sort(by: str) -> None:
            state.update(by=by, down=not state["down"] if state["by"] == by else True, first=0)
            draw()

        def turn(pages: int) -> None:
            state["first"] = max(0, state["first"] + pages * counted_facts.MOST_SHOWN)
            draw()

        def draw() -> None:
            groups = loaded["groups"]
            if not groups.width:
                place.set_content("<p>This release shows no groups.</p>")
                return
            page = counted_facts.page_of_groups(
                groups, by=state["by"], descending=state["down"], first=state["first"]
            )  # fmt: skip
            place.set_content(_table_of_groups(page, state["by"], state["down"]))
            last = min(page.first + len(page.rows), page.n_groups)
            where.text = f"{count(page.first + 1)} to {count(last)} of {count(page.n_groups)} groups"
            back.set_enabled(page.first > 0)
            on.set_enabled(last < page.n_groups)

        async def load() -> None:
            loaded["groups"] = await background.io_bound(work.groups_of_run, app.project, name)
            draw()

        ui.timer(0.05, load, once=True)


def _table_of_groups(page: counted_facts.PageOfGroups, by: str, down: bool) -> str:
    shown = [name for name in page.columns if name != "group"]
    heads = []
    for name in shown:
        is_number = not name.startswith("shown: ")
        sorting = None if name != by else "descending" if down else "ascending"
        arrow = "" if name != by else " ↓" if down else " ↑"
        label = name.removeprefix("shown: ")
        inside: Content = (
            el("button", f"{label}{arrow}", type="button", data_sort=name, class_="sh-sort") if is_number else label
        )
        heads.append(el("th", inside, scope="col", aria_sort=sorting, class_="sh-number" if is_number else None))
    rows = []
    for row in page.rows:
        cells = dict(zip(page.columns, row, strict=True))
        rows.append(
            el("tr", [el("td", _in_cell(name, cells[name]), class_=None if name.startswith("shown: ") else "sh-number")
                      for name in shown])
        )  # fmt: skip
    made = el("table", el("caption", "Groups of the release", class_="sh-unseen"), el("thead", el("tr", heads)),
              el("tbody", rows), class_="sh-table")  # fmt: skip
    return el("div", made, class_="sh-scroll", role="region", aria_label="Groups of the release", tabindex="0")


def _in_cell(name: str, value: Any) -> str:
    if name in (counted_facts.PERSONS, counted_facts.RECORDS):
        return count(value)
    if name.startswith("shown: "):
        return "missing" if value is None else str(value)
    return share(value, 1)


# --- attacks, policy -----------------------------------------------------------------------------------------------


def _attacks(app: App, numbers: Numbers, name: str) -> None:
    with layout.card(
        "Attacks that were tried", hint="Each beside blind guessing: what somebody would get right without the release."
    ):
        _html(attacked(numbers), classes="sh-report")
    if not numbers["max_gsar"]:
        return
    with layout.card(
        "A stronger adversary",
        hint="Somebody who knows more values that a person does not have. Takes longer the more are excluded.",
    ):
        place = ui.element("div").classes("sh-wide sh-stack")
        state = {"exclude": "3"}

        def start() -> None:
            app.jobs.start("attack", "shoal.web.work:attack", {"run": name, "exclude": int(state["exclude"])},
                           depends_on="protect", keep_as="attack", replace=True)  # fmt: skip
            show()

        def show() -> None:
            place.clear()
            job, kept = app.jobs.latest("attack"), app.project.result("attack")
            with place:
                if job is not None and job.is_running:
                    layout.show_job(job, on_end=lambda _: show())
                    return
                if job is not None and job.state == "failed":
                    layout.note(str(job.error), tone="bad")
                if kept is not None and kept.data.get("run") == name:
                    _exposed(kept.data)
                with layout.row() as line:
                    line.classes("sh-row-end")
                    layout.select("Values that are excluded, up to", {str(n): str(n) for n in range(1, 6)},
                                  state["exclude"], lambda value: state.update(exclude=value))  # fmt: skip
                    layout.button("Try this attack", start)

        show()


def _exposed(found: Numbers) -> None:
    layout.table(
        ["Values excluded, up to", "Persons of whom a value is then known", "Share", "Blind guessing"],
        [[str(row["e"]), f"{'' if row['is_exact'] else 'at least '}{count(row['exposed_persons'])}",
          share(row["share"]), share(row["blind"])] for row in found["rows"]],
        caption="Persons exposed by excluding values",
        numeric=["Persons of whom a value is then known", "Share", "Blind guessing"],
    )  # fmt: skip


def _policy_text(app: App, told: Numbers, is_stale: bool) -> str:
    """The policy of the release; with what the board decided since, which changes nothing of it."""
    return str(told["policy_text"] if is_stale else app.project.policy_text() or told["policy_text"])


def _repeat(app: App, told: Numbers, is_stale: bool) -> None:
    with layout.card("How to repeat it", hint="The policy is the one file that the command line reads. Run the command "
                                              "in the project’s folder."):  # fmt: skip
        if is_stale:
            layout.note("Choices were changed since: the project’s folder has another policy now. The one below is of "
                        "this release.", tone="warn")  # fmt: skip
        else:
            _html(el("pre", work.command_of(app.project), class_="sh-code", tabindex="0"))
        _html(el("pre", _policy_text(app, told, is_stale), class_="sh-code", tabindex="0"))
        _html(
            el(
                "p",
                el(
                    "a",
                    "Download the policy",
                    href=f"/runs/{told['run']}/policy.toml",
                    download=True,
                    class_="sh-download",
                ),
            )
        )


def _html(content: Content, *, classes: str = "") -> None:
    ui.html(joined(content), sanitize=False).classes(f"sh-wide {classes}")
