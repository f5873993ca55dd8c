"""The frame of every page, and the small parts that pages are made of.

A page is written as

    def build(app: App) -> None:
        with layout.page(app, "risk", title="Risk now", lead="How safe is each person in the table as it is?") as view:
            with layout.card("Records per person", hint="Persons with many records are easier to recognise."):
                layout.facts([layout.Fact("20,000", "records"), layout.Fact("4,812", "persons")])
            layout.button("Go on", lambda: ui.navigate.to("/protect"), kind="primary")

`view.save(**changes)` changes the project's choices; it says so on the page where another tab was faster, and returns
whether it was done. Handlers that may fail run inside `with view.telling():`, which shows a ShoalError's own words,
and of any other error only where it came up.
"""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import context, ui

from shoal.errors import ShoalError, spelled_by
from shoal.web.app import App
from shoal.web.jobs import WebJob, told_without_values
from shoal.web.project import STEPS, ChangedMeanwhile, Chosen

PLACE_OF_STEP = {"data": "/", "columns": "/columns", "risk": "/risk", "protect": "/protect", "release": "/release"}
NAME_OF_STEP = {"data": "Data", "columns": "Columns", "risk": "Risk now", "protect": "Protect", "release": "Release"}
WORD_OF_STATE = {"done": "done", "stale": "choices changed since", "open": "not yet"}
MARK_OF_STATE = {"done": "✓", "stale": "!", "open": ""}
SECONDS_BETWEEN_LOOKS = 2.0
SECONDS_BETWEEN_NEWS = 0.4


class PageView:
    """One open page: which version of the choices it shows, and where it tells what went wrong."""

    def __init__(self, app: App, step: str) -> None:
        self.app = app
        self.step = step
        self.seen = app.project.chosen.version
        self._banner: Any = None
        self._steps: Any = None
        self._undoing: Any = None
        self._ways: Any = None

    @property
    def chosen(self) -> Chosen:
        """The project's choices as they are now."""
        return self.app.project.chosen

    def save(self, **changes: Any) -> bool:
        """Change choices of the project; whether it was done."""
        try:
            self.seen = self.app.project.update(seen=self.seen, **changes).version
        except ChangedMeanwhile:
            self._tell_changed()
            return False
        except ShoalError as error:
            self.tell(str(error))
            return False
        self.refresh_steps()
        return True

    def tell(self, words: str, tone: str = "bad") -> None:
        """Show a message below the steps, which stays in sight wherever the page is scrolled to, until the next one."""
        self._banner.clear()
        with self._banner, note(words, tone=tone):
            button("Close this message", self.hush, kind="quiet")

    def hush(self) -> None:
        """Take the message away."""
        self._banner.clear()

    def telling(self) -> Telling:
        """Show what goes wrong inside, in words that hold no value of the table."""
        return Telling(self)

    def tell_error(self, error: Exception) -> None:
        """Show an error: a ShoalError in its own words, any other by where it came up."""
        if isinstance(error, ChangedMeanwhile):
            self._tell_changed()
        else:
            self.tell(str(error) if isinstance(error, ShoalError) else told_without_values(error))

    def is_current(self) -> bool:
        """Whether the page shows the choices as they are; it says so where another tab was faster."""
        if self.seen != self.app.project.chosen.version:
            self._tell_changed()
            return False
        return True

    def catch_up(self) -> None:
        """Take the choices as they are now for seen: after something that this page itself has started changed them."""
        self.seen = self.app.project.chosen.version
        self.refresh_steps()

    def refresh_steps(self) -> None:
        """Draw the step bar and the way on again."""
        self._steps.refresh()
        self._undoing.refresh()
        if self._ways is not None:
            self._ways.content = _ways_on(self.step, self.app.project.states())

    def _tell_changed(self) -> None:
        self._banner.clear()
        with self._banner, note("This project was changed in another tab or window. This page shows what it was "
                                "before; nothing of it is saved until you load it again.", tone="warn"):  # fmt: skip
            # in the browser itself: this note may be drawn again while it is being clicked
            button("Load again").on("click", js_handler="() => window.location.reload()")

    def _look(self) -> None:
        if self.app.project.chosen.version != self.seen and not self._banner.default_slot.children:
            self._tell_changed()


class Telling:
    """Shows on the page what goes wrong inside, and lets it go no further."""

    def __init__(self, view: PageView) -> None:
        self.view = view

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Show the error, if there is one."""
        if not isinstance(error, Exception):
            return False
        self.view.tell_error(error)
        return True


# The frame


@contextmanager
def page(app: App, step: str, *, title: str, lead: str) -> Iterator[PageView]:
    """The frame of a page: header with the steps, one heading, what the page is for, and a way on."""
    view = PageView(app, step)
    head(f"{NAME_OF_STEP[step]} - shoal")
    _header(view)
    with ui.element("div").classes("sh-page").props("id=content"):
        ui.html(
            f'<h1>{html.escape(title)}</h1><p class="sh-lead">{html.escape(lead)}</p>', sanitize=False
        ).classes("sh-title")  # fmt: skip
        view._banner = ui.element("div").classes("sh-banner").props('aria-live="polite"')
        yield view
        view._ways = ui.html(_ways_on(step, app.project.states()), sanitize=False).classes("sh-wide")
    ui.timer(SECONDS_BETWEEN_LOOKS, view._look)


def head(title: str) -> None:
    """Style, title and look of a page."""
    ui.page_title(title)
    ui.colors(primary="#0b6a6f", secondary="#3d5a66", accent="#8a5a00", positive="#1d6b3c", negative="#a12a1d",
              info="#0b6a6f", warning="#8a5a00", dark="#182427", dark_page="#10191b")  # fmt: skip
    ui.add_head_html(
        '<link rel="stylesheet" href="/assets/style.css"><link rel="stylesheet" href="/assets/chart.css">'
        '<link rel="stylesheet" href="/assets/pages.css">'
        '<script src="/assets/page.js"></script>'
    )


def _header(view: PageView) -> None:
    look = context.client.request.cookies.get("shoal_look", "") if context.client.request else ""
    dark = ui.dark_mode({"dark": True, "light": False}.get(look))
    with ui.header(wrap=False).classes("sh-header"), ui.element("div").classes("sh-header-inside"):
        ui.html(
            '<a class="sh-skip" href="#content">To the content</a>'
            f'<a class="sh-brand" href="/" aria-label="shoal, first step">{FISH}<span>shoal</span></a>',
            sanitize=False,
        )

        @ui.refreshable
        def steps() -> None:
            ui.html(_step_bar(view.app.project.states(), view.step), sanitize=False)

        view._steps = steps
        with ui.element("nav").classes("sh-steps").props('aria-label="Steps"'):
            steps()

        @ui.refreshable
        def undoing() -> None:
            _undo_and_redo(view)

        view._undoing = undoing
        with ui.element("div").classes("sh-undo").props('role="group" aria-label="Choices, back and forward"'):
            undoing()
        with ui.element("div").classes("sh-look"):
            _look_switch(dark, look)


def _undo_and_redo(view: PageView) -> None:
    """Take the last choice back, or make it again; what it is about is said where the pointer rests."""
    project = view.app.project

    def go(way: Callable[..., Chosen]) -> None:
        with view.telling():
            way(seen=view.seen)
            ui.navigate.reload()

    for sign, name, about, way in (
        ("↶", "Undo", project.can_undo(), project.undo),
        ("↷", "Redo", project.can_redo(), project.redo),
    ):
        made = button(sign, partial(go, way), kind="quiet")
        made.set_enabled(bool(about))
        told = f"{name}: {about}" if about else f"{name}: nothing"
        made.props["aria-label"] = told
        made.props["title"] = told


def _look_switch(dark: Any, look: str) -> None:
    """Light, dark, or as the system has it; kept in a cookie of this browser."""
    following = {"": "dark", "dark": "light", "light": ""}
    words = {"": "Look: system", "dark": "Look: dark", "light": "Look: light"}
    state = {"look": look if look in following else ""}

    def turn() -> None:
        state["look"] = following[state["look"]]
        dark.value = {"dark": True, "light": False}.get(state["look"])
        switch.text = words[state["look"]]
        ui.run_javascript(f"document.cookie = 'shoal_look={state['look']}; path=/; max-age=31536000; SameSite=Strict'")

    switch = button(words[state["look"]], turn, kind="quiet")


def _step_bar(states: dict[str, str], now: str) -> str:
    items = []
    for number, step in enumerate(STEPS, start=1):
        state = states[step]
        is_now = step == now
        current = ' aria-current="step"' if is_now else ""
        mark = MARK_OF_STATE[state] or str(number)
        word = "you are here" if is_now and state == "open" else WORD_OF_STATE[state]
        items.append(
            f'<li class="sh-step sh-step-{state}{" sh-step-now" if is_now else ""}">'
            f'<a href="{PLACE_OF_STEP[step]}"{current} title="{NAME_OF_STEP[step]}: {word}">'
            f'<span class="sh-step-mark" aria-hidden="true">{mark}</span>'
            f'<span class="sh-step-name">{NAME_OF_STEP[step]}</span>'
            f'<span class="sh-unseen">, {word}</span></a></li>'
        )
    return f"<ol>{''.join(items)}</ol>"


def _ways_on(step: str, states: Mapping[str, str]) -> str:
    place = STEPS.index(step)
    links = []
    if place > 0:
        before = STEPS[place - 1]
        links.append(f'<a class="sh-way" href="{PLACE_OF_STEP[before]}">← {NAME_OF_STEP[before]}</a>')
    if place + 1 < len(STEPS):
        after = STEPS[place + 1]
        is_ready = " sh-way-primary" if states[step] == "done" else ""
        links.append(f'<a class="sh-way sh-way-on{is_ready}" href="{PLACE_OF_STEP[after]}">{NAME_OF_STEP[after]} →</a>')
    return f'<nav class="sh-ways" aria-label="Next and previous step">{"".join(links)}</nav>'


FISH = (
    '<svg viewBox="0 0 40 26" width="34" height="22" aria-hidden="true" fill="currentColor">'
    '<path d="M2 8c5-5 11-5 15 0l5-4v8l-5-4c-4 5-10 5-15 0z"/><path d="M18 17c4-4 9-4 12 0l4-3v6l-4-3c-3 4-8 4-12 0z"'
    ' opacity=".7"/><path d="M4 20c3-3 7-3 9.500 0l3.500-2.500v5L13.500 20c-2.500 3-6.500 3-9.500 0z"'
    ' opacity=".5"/></svg>'
)


# Parts of pages


@contextmanager
def card(title: str, *, hint: str = "", level: int = 2) -> Iterator[Any]:
    """A section with a heading, and a line that says what it is about."""
    with ui.element("section").classes("sh-card") as section:
        told = f'<p class="sh-hint">{html.escape(hint)}</p>' if hint else ""
        ui.html(f"<h{level}>{html.escape(title)}</h{level}>{told}", sanitize=False).classes("sh-card-head")
        yield section


@dataclass(frozen=True)
class Fact:
    """A number with what it counts; `tone` is "", "good", "warn" or "bad"."""

    value: str
    label: str
    note: str = ""
    tone: str = ""


def facts(given: Sequence[Fact]) -> None:
    """Numbers side by side."""
    ui.html(facts_html(given), sanitize=False).classes("sh-wide")


def facts_html(given: Sequence[Fact]) -> str:
    """The numbers as HTML, for parts that are drawn again."""
    parts = []
    for fact in given:
        told = f'<dd class="sh-fact-note">{html.escape(fact.note)}</dd>' if fact.note else ""
        tone = f" sh-{fact.tone}" if fact.tone else ""
        parts.append(
            f'<div class="sh-fact{tone}"><dt>{html.escape(fact.label)}</dt>'
            f'<dd class="sh-fact-value">{html.escape(fact.value)}</dd>{told}</div>'
        )
    return f'<dl class="sh-facts">{"".join(parts)}</dl>'


def table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str, numeric: Sequence[str] = ()
) -> None:
    """A small table; never more than what fits a page, and each cell escaped."""
    ui.html(table_html(columns, rows, caption=caption, numeric=numeric), sanitize=False).classes("sh-wide")


def table_html(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str, numeric: Sequence[str] = ()
) -> str:
    """The table as HTML; a missing value is shown as such."""
    is_number = [name in numeric for name in columns]
    headings = "".join(
        f'<th scope="col"{NUMBER if right else ""}>{html.escape(name)}</th>'
        for name, right in zip(columns, is_number, strict=True)
    )
    lines = []
    for row in rows:
        cells = "".join(
            f"<td{NUMBER if right else ''}>{_cell(value)}</td>" for value, right in zip(row, is_number, strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    label = html.escape(caption, quote=True)
    return (
        f'<div class="sh-scroll" role="region" aria-label="{label}" tabindex="0"><table class="sh-table">'
        f'<caption class="sh-unseen">{label}</caption><thead><tr>{headings}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


NUMBER = ' class="sh-number"'


def _cell(value: object) -> str:
    return '<span class="sh-missing">missing</span>' if value is None else html.escape(str(value))


FIELDS = {
    "delimiter": "'Between fields' on the page Data",
    "encoding": "'Encoding' on the page Data",
    "decimal": "'Decimals' on the page Data",
    "thousands": "'Between thousands' on the page Data",
    "header": "'The first line is' on the page Data",
    "date_format": "'Please decide' on the page Data",
    "sheet": "'Sheet' on the page Data",
    "confirmed": "'Publish it nevertheless' on the page Columns",
    "method": "'How groups are formed' on the page Protect",
    "mask": "'What is shown of a group' on the page Protect",
    "max_suppressed": "'Persons that may be left out' on the page Protect",
    "sample": "'Persons of a random sample' on the page Protect",
    "max_records": "'Records that a person keeps' on the page Protect",
    "max_alone": "'Persons that may be alone in their group' on the page Protect",
    "allow_alone": "'Allow that the columns published unchanged single out' on the page Protect",
    "code_extremes": "'Where groups show ranges, hide the lowest and the highest value' on the page Protect",
    "safe_cells": "'In CSV and Excel files, put an apostrophe' on the page Protect",
}
"""Where choices of the library are made in the app."""


def in_fields(words: str) -> str:
    """What the library says, with its choices as fields of the app."""

    def spell(name: str, value: str) -> str | None:
        return FIELDS.get(name) and f"{value} in {FIELDS[name]}".removeprefix("True").removeprefix(" in ").strip()

    return spelled_by(words, spell)


def note(words: str, *, tone: str = "info") -> Any:
    """A message of a tone: "info", "good", "warn" or "bad"; what is made inside of it stands below the words."""
    words = in_fields(words)
    role = "alert" if tone == "bad" else "status"
    with ui.element("div").classes(f"sh-note sh-note-{tone}").props(f'role="{role}"') as box:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in words.split("\n") if line.strip())
        ui.html(lines, sanitize=False)
    return box


def help_text(summary: str, words: str) -> None:
    """A line that opens to an explanation."""
    lines = "".join(f"<p>{html.escape(line)}</p>" for line in words.split("\n") if line.strip())
    ui.html(
        f'<details class="sh-help"><summary>{html.escape(summary)}</summary>{lines}</details>', sanitize=False
    ).classes("sh-wide")


def button(text: str, on_click: Callable[[], Any] | None = None, *, kind: str = "plain") -> Any:
    """A button: "primary" (one per page), "plain", "quiet" or "danger"."""
    made = ui.button(text, on_click=on_click, color=None)
    return made.props("unelevated no-caps").classes(f"sh-button sh-button-{kind}")


def select(
    label: str,
    options: Mapping[str, str],
    value: str,
    on_change: Callable[[str], Any],
    *,
    is_label_seen: bool = True,
    hint: str = "",
    name: str = "",
) -> Any:
    """A plain select box with a label: `options` has the words to show by value."""
    name = name or f"field-{next(_numbers)}"
    inside = "".join(
        f'<option value="{html.escape(key, quote=True)}"{" selected" if key == value else ""}>'
        f"{html.escape(words)}</option>"
        for key, words in options.items()
    )
    with ui.element("div").classes("sh-field") as field:
        _label(name, label, is_seen=is_label_seen)
        box = ui.html(inside, tag="select", sanitize=False).classes("sh-select").props(f"id={name}")
        box.on("change", lambda event: on_change(str(event.args)), js_handler="(event) => emit(event.target.value)")
        if hint:
            ui.label(hint).classes("sh-field-hint")
    return field


def text_input(
    label: str,
    value: str,
    on_change: Callable[[str], Any],
    *,
    kind: str = "text",
    hint: str = "",
    width: str = "",
    is_label_seen: bool = True,
) -> Any:
    """A plain input with a label; `on_change` is called when the steward has finished typing."""
    name = f"field-{next(_numbers)}"
    with ui.element("div").classes("sh-field") as field:
        _label(name, label, is_seen=is_label_seen)
        box = ui.element("input").classes("sh-input").props(f"id={name} type={kind} autocomplete=off")
        box.props[".value"] = value  # as a property, and only when it changes: else each drawing would reset it
        if width:
            box.style(f"width: {width}")
        box.on("change", lambda event: on_change(str(event.args)), js_handler="(event) => emit(event.target.value)")
        if hint:
            ui.label(hint).classes("sh-field-hint")
    return field


def _label(name: str, words: str, *, is_seen: bool = True) -> None:
    ui.html(html.escape(words), tag="label", sanitize=False).props(f"for={name}").classes(
        "" if is_seen else "sh-unseen"
    )


_numbers = itertools.count(1)


def drop_zone(
    address: str,
    on_received: Callable[[dict[str, Any]], Any],
    *,
    label: str = "Choose files",
    hint: str = "",
    accept: str = "",
    limit: int = 1 << 30,
    takes_many: bool = True,
    is_small: bool = False,
    takes_folder: bool = False,
) -> Any:
    """A place to choose files or drop them on; each is sent to the address, and what it answered is handed over."""
    name = f"field-{next(_numbers)}"
    many = " webkitdirectory" if takes_folder else " multiple" if takes_many else ""
    or_drop = "" if takes_folder else f" or drop {'them' if takes_many else 'it'} here"
    inside = (
        f'<label for="{name}"><span>{html.escape(label)}</span>{or_drop}</label>'
        f'<p>{html.escape(hint)}</p><input id="{name}" type="file"{many} accept="{html.escape(accept, quote=True)}">'
        '<progress max="1" value="0" aria-label="share sent" hidden></progress>'
        '<p class="sh-drop-said" role="status"></p>'
    )
    zone = ui.html(inside, sanitize=False).classes("sh-drop sh-drop-small" if is_small else "sh-drop")
    zone.props["data-address"] = address
    zone.props["data-limit"] = limit
    return zone.on("received", lambda event: on_received(event.args), js_handler="(event) => emit(event.detail)")


def focus(name: str) -> None:
    """Put the keyboard's focus on an element, after what was drawn anew stands there."""
    ui.run_javascript(f"setTimeout(() => document.getElementById({json.dumps(name)})?.focus(), 80)")


def row(*, wide: bool = False) -> Any:
    """Things side by side."""
    return ui.element("div").classes("sh-row sh-wide" if wide else "sh-row")


def told_seconds(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def show_job(
    job: WebJob,
    *,
    on_end: Callable[[WebJob], Any] | None = None,
    on_news: Callable[[WebJob], Any] | None = None,
    what: str = "",
) -> Any:
    """How far a job is, with the time left and a way to end it.

    Parameters
    ----------
    job
        The job; it may have ended already.
    on_end
        Called once when the job has ended, in whatever way.
    on_news
        Called when there are more partial results.
    what
        What is being done, in words.
    """
    with ui.element("div").classes("sh-job").props('role="status"') as box:
        words = ui.label(what).classes("sh-job-words")
        bar = ui.linear_progress(0.0, show_value=False).props('aria-label="share done" instant-feedback')
        bar.classes("sh-job-bar")
        button("Stop", job.cancel, kind="plain")
    heard = {"partials": 0, "is_over": False}

    def look() -> None:
        left = job.seconds_left
        told = f"{what or job.stage}: {job.done:.0%}" if job.done else f"{what or job.stage}"
        words.text = f"{told}, about {told_seconds(left)} left" if left is not None else f"{told} ..."
        bar.value = round(job.done, 3)
        if len(job.partials) != heard["partials"]:
            heard["partials"] = len(job.partials)
            if on_news is not None:
                on_news(job)
        if not job.is_running and not heard["is_over"]:
            heard["is_over"] = True
            clock.deactivate()
            box.set_visibility(False)
            if on_end is not None:
                on_end(job)

    with box:
        clock = ui.timer(SECONDS_BETWEEN_NEWS, look)
    return box


def show_problem(words: str) -> None:
    """A page that has nothing but what went wrong."""
    head("Something went wrong - shoal")
    with ui.element("div").classes("sh-page"):
        ui.html("<h1>This page cannot be shown</h1>", sanitize=False).classes("sh-title")
        note(words, tone="bad")
        button("Back to the first step", lambda: ui.navigate.to("/"))
