"""What was tried, side by side, on the page Protect: numbers, records before and after, notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from nicegui import ui

from shoal.errors import ShoalError
from shoal.publishing.report.markup import Content, Markup, el, joined
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.words import typeset
from shoal.web import layout, shelf
from shoal.web.app import App
from shoal.web.project import Chosen
from shoal.web.shelf import Candidate

HINT = (
    "Every setting that was tried or released stays here. Nothing of one that was only tried has been written for "
    "handing out."
)
NOT_TAKEN = ("version", "title", "decision")
"""Choices that stay as they are when those of a candidate are taken."""


class ShelfCard:
    """The card: a table of all candidates, and what is open below it."""

    def __init__(self, app: App, view: layout.PageView, *, make: Callable[[Candidate], Any]) -> None:
        self.app, self.view, self.make = app, view, make
        self.open: int | None = None

    def show(self) -> None:
        """Draw it; nothing where nothing was tried yet."""
        found = shelf.candidates(self.app.project)
        if not found:
            return
        with layout.card("What was tried, side by side", hint=HINT):
            ui.html(joined(_table(found, self.app)), sanitize=False).classes("sh-wide sh-shelf")
            with layout.row():
                choices = {str(each.number): f"Candidate {each.number}" for each in found}
                self.open = self.open if str(self.open) in choices else found[-1].number
                layout.select("Look at", choices, str(self.open), self._look_at)
            self.place = ui.element("div").classes("sh-wide sh-stack")
            self._show_one()

    def _look_at(self, number: str) -> None:
        self.open = int(number)
        self._show_one()

    def _show_one(self) -> None:
        self.place.clear()
        try:
            candidate = shelf.candidate_called(self.app.project, int(self.open or 0))
        except ShoalError as error:
            self.view.tell_error(error)
            return
        with self.place:
            with layout.row():
                if candidate.run is None:
                    layout.button("Make a release of it", lambda: self.make(candidate))
                layout.button("Take these choices", lambda: self._take(candidate))
                layout.button("Take it off the shelf", lambda: self._remove(candidate), kind="quiet")
            layout.text_input("Note", candidate.note, lambda text: self._note(candidate.number, text), width="100%",
                              hint="For yourself or for the board; it stays in the project.")  # fmt: skip
            with ui.element("details").classes("sh-help sh-wide"):
                with ui.element("summary"):
                    ui.label("Twenty records of it, beside the same ones as they were").classes("sh-inline")
                _records(self.app, candidate)
            with ui.element("details").classes("sh-help sh-wide"):
                with ui.element("summary"):
                    ui.label("What was promised, what each column lost, and how to repeat it").classes("sh-inline")
                ui.html(joined(_details(candidate)), sanitize=False).classes("sh-wide")

    def _note(self, number: int, text: str) -> None:
        with self.view.telling():
            shelf.put_note(self.app.project, number, text)

    def _remove(self, candidate: Candidate) -> None:
        with self.view.telling():
            shelf.remove(self.app.project, candidate.number)
            ui.navigate.reload()

    def _take(self, candidate: Candidate) -> None:
        if self.take(candidate):
            ui.navigate.reload()

    def take(self, candidate: Candidate) -> bool:
        """Make the candidate's choices those of the project, which can be undone; whether it was done."""
        with self.view.telling():
            chosen = self.app.project.choices_in(candidate.chosen)
            names = [each.name for each in fields(Chosen) if each.name not in NOT_TAKEN]
            return self.view.save(**{name: getattr(chosen, name) for name in names})
        return False


def _table(found: list[Candidate], app: App) -> Content:
    """One line per candidate."""
    attributes = list(dict.fromkeys(name for each in found for name in each.numbers.get("max_gsar") or {}))
    heads = ["Candidate", "Highest record risk", *(f"Value risk of ‘{name}’" for name in attributes), "Persons alone",
             "Lost in what is shown", "Strongest attack", "Prediction kept", "Note"]  # fmt: skip
    lines = []
    for each in found:
        numbers = each.numbers
        attack, kept = shelf.strongest_attack(numbers), shelf.kept_of_prediction(numbers)
        state = "released" if each.run else "tried"
        now = ", chosen now" if shelf.is_now(app.project, each) else ""
        lines.append(
            [f"{each.number} ({state}{now})", share(numbers.get("max_gidr"), 1),
             *(share((numbers.get("max_gsar") or {}).get(name), 1) for name in attributes),
             count(numbers.get("unique_persons")), share(numbers.get("loss"), 1), _attack(attack),
             "not asked" if kept is None else share(kept, 0), each.note]
        )  # fmt: skip
    return _table_markup(heads, lines, caption="Candidates side by side", numeric=heads[1:-1])


def _table_markup(heads: list[str], rows: list[list[str]], *, caption: str, numeric: list[str]) -> Markup:
    return Markup(layout.table_html(heads, rows, caption=caption, numeric=numeric))


def _attack(attack: Mapping[str, Any] | None) -> str:
    if attack is None:
        return "none tried"
    return f"{share(attack['success'], 1)}, blind {share(attack.get('blind'), 1)}"


def _records(app: App, candidate: Candidate) -> None:
    before = shelf.originals_of(app.project, candidate.number)
    with ui.element("div").classes("sh-two"):
        for title, shown in (("As they were", before), ("As they would be published", candidate.published)):
            with ui.element("div"):
                ui.html(joined(el("h3", title)), sanitize=False)
                if shown is None:
                    layout.note("These records are not kept any more. Try the setting again to see them.", tone="info")
                    continue
                made = layout.table_html(shown["columns"], shown["records"], caption=f"Candidate {candidate.number}: "
                                         f"records {title.lower()}")  # fmt: skip
                ui.html(made, sanitize=False).classes("sh-wide sh-preview sh-short")


def _details(candidate: Candidate) -> Content:
    lost = candidate.numbers.get("loss_of_column") or {}
    rows = [[name, share(value, 1)] for name, value in lost.items()]
    return [
        el("ul", [el("li", typeset(promise)) for promise in candidate.promises], class_="sh-promises"),
        _table_markup(["Column", "Lost"], rows, caption=f"Candidate {candidate.number}: lost by column",
                               numeric=["Lost"]) if rows else None,
        el("p", "In the project’s folder, this makes the release again from its policy:", class_="sh-label"),
        el("pre", candidate.command(), class_="sh-code", tabindex="0"),
    ]  # fmt: skip
