"""What comes after a release, on the page Release: what the review board decides, and later records."""

from __future__ import annotations

from typing import Any

from nicegui import run as background
from nicegui import ui

from shoal.errors import ParameterError
from shoal.policy.decision import LABELS, LONGEST, as_decision
from shoal.publishing.report.markup import el, joined
from shoal.publishing.report.numbers import count
from shoal.web import layout, work
from shoal.web.app import App
from shoal.web.files import endings_taken
from shoal.web.jobs import WebJob

HINTS = {
    "purpose": "What the data are for.",
    "recipient": "Who receives them.",
    "legal_basis": "What allows it.",
    "period": "For how long they may be used.",
    "conditions": "What the recipient must keep to, if anything.",
    "decided_by": "Who decided.",
    "decided_on": "The day.",
}


class BoardCard:
    """The entries of the page that a review board signs; what is left empty is a line to fill in by hand."""

    def __init__(self, app: App, view: layout.PageView, run: str) -> None:
        self.app, self.view, self.run = app, view, run

    def show(self) -> None:
        """Draw it."""
        hint = (
            "What you type here is printed as the first page of the report, with lines to sign on. It stays with you; "
            "what you leave empty can be filled in by hand."
        )
        with layout.card("For the review board", hint=hint):
            with ui.element("div").classes("sh-columns sh-options"):
                for name, label in LABELS.items():
                    layout.text_input(label, str(self.view.chosen.decision.get(name, "")), self._typed(name),
                                      kind="date" if name == "decided_on" else "text", hint=HINTS[name])  # fmt: skip
            self.said = ui.element("div").classes("sh-wide").props('aria-live="polite"')
            layout.button("Put it into the report", self._enter)

    def _typed(self, name: str) -> Any:
        def typed(text: str) -> None:
            entries = {**self.view.chosen.decision, name: text}
            try:
                decision = as_decision({key: value for key, value in entries.items() if value})
            except ParameterError:
                self._say(f"An entry has at most {LONGEST} characters, without control characters. It was not kept.",
                          "bad")  # fmt: skip
                return
            self.said.clear()
            assert decision is not None
            self.view.save(decision=decision.model_dump(exclude_defaults=True))

        return typed

    async def _enter(self) -> None:
        self._say("Writing the page ...", "info")
        with self.view.telling():
            await background.io_bound(work.enter_decision, self.app.project, self.run)
            self._say("The report begins with this page now. Open it and print it; the rest is its annex.", "good")
            with self.said:
                link = el("a", "Open the board’s page", href=f"/runs/{self.run}/report.html", target="_blank",
                          class_="sh-download")  # fmt: skip
                ui.html(joined(el("p", link)), sanitize=False)

    def _say(self, words: str, tone: str) -> None:
        self.said.clear()
        with self.said:
            layout.note(words, tone=tone)


class LaterCard:
    """Later records of the same kind, masked by the groups of the release."""

    def __init__(self, app: App, run: str) -> None:
        self.app, self.run = app, run
        self.files: list[str] = []
        self.all_new = False
        self.max_suppressed = 0

    def show(self) -> None:
        """Draw it."""
        hint = (
            "Choose a table with the same columns. Its records are masked by the groups of this release, all records "
            "are counted again together, and a release of all of them is made; where a promise would be broken nothing "
            "is written."
        )
        with layout.card("Later records", hint=hint):
            layout.drop_zone("/files/later/", self._received, label="Choose later records", is_small=True,
                             accept=",".join(endings_taken()), limit=self.app.max_upload)  # fmt: skip
            with ui.element("div").classes("sh-columns sh-options"):
                layout.select("Are persons of the release among them?",
                              {"": "perhaps (needs the list of pseudonyms)", "new": "no, all are new"}, "",
                              lambda value: setattr(self, "all_new", value == "new"))  # fmt: skip
                layout.text_input("Persons that may be left out, at the most", "0", self._left_out, kind="number",
                                  hint="Those whom no group covers, or who would break a promise.")  # fmt: skip
            self.place = ui.element("div").classes("sh-wide sh-stack")
            self._show()

    def _left_out(self, text: str) -> None:
        self.max_suppressed = int(text) if text.strip().isdecimal() else 0

    def _received(self, file: dict[str, Any]) -> None:
        if file["name"] not in self.files:
            self.files.append(file["name"])
        self._show()

    def _start(self) -> None:
        asked = {"run": self.run, "files": self.files, "all_new": self.all_new, "max_suppressed": self.max_suppressed}
        self.app.jobs.start("later", "shoal.web.work:later", asked, depends_on="protect", keep_as="later", replace=True)
        self._show()

    def _show(self) -> None:
        self.place.clear()
        job, kept = self.app.jobs.latest("later"), self.app.project.result("later")
        with self.place:
            if job is not None and job.is_running:
                layout.show_job(job, on_end=lambda _: self._show())
                return
            if job is not None and job.state == "failed":
                layout.note(f"Nothing was written.\n{job.error}", tone="bad")
            if self.files:
                with layout.row():
                    layout.button("Mask them and make the release", self._start)
                    ui.label(", ".join(self.files)).classes("sh-small")
            if kept is not None and kept.data.get("of") == self.run:
                self._made(kept.data, job)

    def _made(self, told: dict[str, Any], job: WebJob | None) -> None:
        whom = f"{count(told['records'])} records of {count(told['persons'])} persons"
        layout.note(f"A release of {whom} was made; every promise is kept.", tone="good")
        links = [
            el("a", words, href=f"/runs/{told['run']}/{name}", download=True, class_="sh-download")
            for words, name in (("Download what may leave (zip)", "leaving.zip"),
                                ("Download for the steward (zip)", "steward.zip"))
        ]  # fmt: skip
        ui.html(joined(el("p", links, class_="sh-row")), sanitize=False)
