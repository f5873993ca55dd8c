"""What could be mended, and what was, on the page Data: one click each, and each can be undone."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from shoal.errors import ParameterError
from shoal.reading.to_mend import COARSER, WRONG, taken
from shoal.web import layout
from shoal.web.layout import PageView
from shoal.web.mending import steps_of, undone

BY_HAND = {
    "map": ("replace values", "m = male, w = female"),
    "missing": ("marks that mean missing", "9999, k.A."),
    "case": ("one case", "lower or upper"),
    "trim": ("take blanks at the ends away", ""),
    "code": ("shorten codes", "a number of characters, or the sign before which they end: 3 or ."),
    "range": ("allowed numbers, else missing", "0 to 120"),
    "filter": ("keep only records with", "values such as A, B; or numbers such as 2018 to 2022"),
}
"""Steps that can be typed: what they do, and what is to be typed."""


class Mending:
    """The card with suggestions as chips, what was taken, and a form for what was not suggested."""

    def __init__(self, view: PageView, on_change: Callable[[Mapping[str, Any]], None]) -> None:
        self.view, self.on_change = view, on_change
        self.offered: list[dict[str, Any]] = []
        """Of the last look; what was taken since is no longer among them."""
        self.state = {"column": "", "step": "map", "text": ""}

    def show(self, look: Mapping[str, Any] | None, columns: Sequence[str]) -> None:
        """Draw the card; `look` is None while a new one is under way."""
        if look is not None:
            self.offered = list(look["suggestions"])
        done = steps_of(self.view.chosen.mend)
        hint = "One click each, and each can be undone. The file stays as it is; the policy records what is mended."
        with layout.card("Mend what is wrong", hint=hint):
            wrong = [each for each in self.offered if each["about"] == WRONG]
            coarser = [each for each in self.offered if each["about"] == COARSER]
            if not self.offered and not done:
                ui.label("Nothing was found that needs it.").classes("sh-small")
            self._chips("Suggested", wrong)
            if len(wrong) > 1:
                layout.button(f"Do all {len(wrong)}", partial(self._take, *wrong))
            self._chips("Coarser from the start", coarser)
            self._done(done, (look or {}).get("mended", []))
            self._by_hand(columns)

    def _chips(self, title: str, offered: Sequence[dict[str, Any]]) -> None:
        if not offered:
            return
        ui.html(f"<h3>{title}</h3>", sanitize=False)
        with ui.element("ul").classes("sh-list sh-chips").props(f'aria-label="{title}"'):
            for each in offered:
                with ui.element("li").classes("sh-mend"):
                    ui.html(f"<strong>{html.escape(each['column'])}</strong> {html.escape(each['words'])}",
                            tag="span", sanitize=False)  # fmt: skip
                    button = layout.button(each["does"], partial(self._take, each)).classes("sh-button-small")
                    button.props["aria-label"] = f"{each['does']}, in {each['column']}"

    def _done(self, done: Sequence[tuple[tuple[Any, ...], str]], counts: Sequence[Mapping[str, Any]]) -> None:
        if not done:
            return
        ui.html("<h3>Mended</h3>", sanitize=False)
        records = {(each["step"], each["column"]): each["records"] for each in counts}
        with ui.element("ul").classes("sh-list sh-chips").props('aria-label="Mended"'):
            for place, words in done:
                told = records.get((place[0], place[1])) if len(place) > 1 else None
                share = f' <span class="sh-small">{told:,} records in this column</span>' if told is not None else ""
                with ui.element("li").classes("sh-mend sh-mended"):
                    ui.html(f"{html.escape(words)}{share}", tag="span", sanitize=False)
                    button = layout.button("Undo", partial(self._undo, place), kind="quiet").classes("sh-button-small")
                    button.props["aria-label"] = f"Undo: {words}"

    def _by_hand(self, columns: Sequence[str]) -> None:
        if not columns:
            return
        with ui.element("details").classes("sh-help"):
            ui.html("Mend something else", tag="summary", sanitize=False)
            with layout.row().classes("sh-row-end"):
                self.state["column"] = self.state["column"] if self.state["column"] in columns else columns[0]
                layout.select("Column", {name: name for name in columns}, self.state["column"],
                              lambda value: self.state.update(column=value))  # fmt: skip
                layout.select("What to do", {step: words for step, (words, _) in BY_HAND.items()}, self.state["step"],
                              lambda value: self.state.update(step=value))  # fmt: skip
                layout.text_input("With", self.state["text"], lambda text: self.state.update(text=text), width="16rem")
                layout.button("Mend", self._take_typed)
            ui.html("".join(f"<p class='sh-small'>{words}: {html.escape(example)}</p>"
                            for words, example in BY_HAND.values() if example), sanitize=False)  # fmt: skip

    def _take(self, *suggested: Mapping[str, Any]) -> None:
        mend = self.view.chosen.mend
        for each in suggested:
            mend = taken(mend, each["mend"])
        self.offered = [each for each in self.offered if each not in suggested]
        self.on_change(mend)

    def _take_typed(self) -> None:
        with self.view.telling():
            more = typed(self.state["column"], self.state["step"], self.state["text"])
            self.on_change(taken(self.view.chosen.mend, more))

    def _undo(self, place: tuple[Any, ...]) -> None:
        self.on_change(undone(self.view.chosen.mend, place))


def typed(column: str, step: str, text: str) -> dict[str, Any]:
    """What a steward has typed, as a part of [mend]; an error in words where it says nothing.

    Examples
    --------
    >>> typed("sex", "map", "m = male, w = female")
    {'map': {'sex': {'m': 'male', 'w': 'female'}}}
    >>> typed("age", "range", "0 to 120")
    {'range': {'age': {'low': 0.0, 'high': 120.0}}}
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if step == "trim":
        return {"trim": [column]}
    if step == "case":
        if text.strip() not in ("lower", "upper"):
            raise ParameterError("Write lower or upper.")
        return {"case": {column: text.strip()}}
    if not parts:
        raise ParameterError(f"Write with what: {BY_HAND[step][1]}.")
    if step == "missing":
        return {"missing": {column: parts}}
    if step == "map":
        pairs = [part.partition("=") for part in parts]
        if not all(sign for _, sign, _ in pairs):
            raise ParameterError("Write each value and what it becomes: m = male, w = female.")
        return {"map": {column: {old.strip(): new.strip() for old, _, new in pairs}}}
    if step == "code":
        whole = text.strip()
        return {"code": {column: {"keep": int(whole)} if whole.isdecimal() else {"before": whole}}}
    limits = _limits(text)
    if step == "range":
        if limits is None:
            raise ParameterError("Write the lowest and the highest number: 0 to 120.")
        return {"range": {column: limits}}
    return {"filter": [{"column": column, **(limits if limits is not None else {"values": parts})}]}


def _limits(text: str) -> dict[str, float] | None:
    low, is_range, high = text.partition(" to ")
    try:
        return {"low": float(low), "high": float(high)} if is_range else None
    except ValueError:
        return None
