"""How the files are written, on the page Data: what was found, why, what is in doubt, and what the steward says."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from shoal.table.date_forms import TEXT
from shoal.web import layout
from shoal.web.layout import PageView

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = {
    "utf-8": "UTF-8 (usual today)",
    "cp1252": "Windows west (cp1252)",
    "latin-1": "ISO 8859-1 (latin-1)",
    "iso-8859-15": "ISO 8859-15 (with €)",
    "utf-16": "UTF-16 (Excel)",
    "cp1250": "Windows central (cp1250)",
    "iso-8859-2": "ISO 8859-2 (central)",
    "cp1251": "Cyrillic (cp1251)",
    "cp850": "DOS west (cp850)",
    "mac-roman": "Macintosh (mac-roman)",
}
DECIMALS = {".": "point (3.5)", ",": "comma (3,5)"}
THOUSANDS = {"": "nothing (1000)", ".": "point (1.000)", ",": "comma (1,000)", "'": "apostrophe", " ": "space (1 000)"}
QUOTES = {'"': 'double quotes ("...")', "'": "apostrophes ('...')", "": "nothing"}
HEADER = {"True": "names of the columns", "False": "a record"}
FORMS = ("dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "yyyy/mm/dd", "yyyymmdd", "dd.mm.yy", "mm/dd/yy",
         "iso-week", "excel")  # fmt: skip
WORDS_OF_FORM = {
    "excel": "day numbers of Excel",
    "iso-week": "weeks (2024-W07)",
    TEXT: "no dates: leave them as they are",
}
EXAMPLES = {"dd": "1 February", "mm": "2 January"}
CHOICES: dict[str, tuple[str, Mapping[str, str]]] = {
    "encoding": ("Encoding", ENCODINGS),
    "delimiter": ("Between fields", DELIMITERS),
    "quote": ("Around fields", QUOTES),
    "header": ("The first line is", HEADER),
    "decimal": ("Decimals", DECIMALS),
    "thousands": ("Between thousands", THOUSANDS),
}
FIND = "find"
"""The choice that leaves it to the file."""
NOTHING_TOLD = {
    "quote": "Usual; nothing in the file speaks against it.",
    "header": "It looks unlike the records below it.",
    "decimal": "No value has decimals.",
    "thousands": "No value has such a sign.",
}


class HowWritten:
    """The card that shows how text files are read, and the questions that nothing in them decides."""

    def __init__(self, view: PageView, set_csv: Callable[[str, Any], None]) -> None:
        self.view, self.set_csv = view, set_csv

    @property
    def told(self) -> dict[str, Any]:
        """What the steward has said."""
        return {key: value for key, value in self.view.chosen.csv.items() if value is not None}

    # Questions

    def ask(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Ask what nothing in the file decides, with a button for each reading."""
        if not questions:
            return
        hint = "Nothing in the file tells which is right, so it is not guessed. You know where it comes from."
        with layout.card("Please decide", hint=hint) as card:
            card.classes("sh-card-asks")
            for question in questions:
                with ui.element("div").classes("sh-question"):
                    name = question["column"]
                    title = f"<strong>{html.escape(name)}</strong>: " if name else ""
                    ui.html(f"<p>{title}{html.escape(without_hint(question['reason']))}</p>", sanitize=False)
                    with layout.row():
                        for words, answer in self._answers(question):
                            button = layout.button(words, partial(self._answer, *answer))
                            button.props["aria-label"] = f"{words}, for {name}" if name else words

    def _answers(self, question: Mapping[str, Any]) -> list[tuple[str, tuple[str, Any]]]:
        what, column = question["what"], question["column"]
        if what == "header":
            return [("It names the columns", ("header", True)), ("It is a record", ("header", False))]
        if what == "decimal":
            sign, other = question["alternatives"]
            return [(f"Thousands: 1{sign}234 is 1234", ("decimal", other)),
                    (f"Decimals: 1{sign}234 is about 1.2", ("decimal", sign))]  # fmt: skip
        forms = [*question["alternatives"], TEXT]
        return [(_asked_form(form), ("date_format", {column: form})) for form in forms]

    def _answer(self, what: str, value: Any) -> None:
        if what == "date_format":
            value = {**self.told.get("date_format", {}), **value}
        self.set_csv(what, value)

    # All of it

    def show(self, look: Mapping[str, Any] | None) -> None:
        """Every choice with what was found and why; `look` is the last look at the files, if it worked."""
        hint = "Found in the whole file. Change what is wrong; the policy records it, so that a run repeats."
        with layout.card("How the files are written", hint=hint):
            found = (look or {}).get("csv") or {}
            findings = (look or {}).get("findings", [])
            with ui.element("div").classes("sh-written sh-wide"):
                for what in CHOICES:
                    self._choice(what, found, findings)
                self._missing()
                for column, marks in self._marks(found).items():
                    self._marks_in(column, marks, findings)
                for column, form in self._forms(found, findings).items():
                    self._date(column, form, findings)

    def _choice(self, what: str, found: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> None:
        label, options = CHOICES[what]
        told = self.told.get(what)
        now = str(found[what]) if found.get(what) is not None and told is None else None
        words = "found in the file" if now is None else f"found: {options.get(now, now)}"
        shown = {FIND: "find it in the file" if now is None and told is None else words}
        shown |= {key: each for key, each in options.items() if key != now}
        value = FIND if told is None else str(told)
        if value not in shown:
            shown[value] = value
        reason = next((each["reason"] for each in findings if each["what"] == what and not each["is_asked"]), None)
        why = "You said so." if told is not None else without_hint(reason) if reason else (
            NOTHING_TOLD.get(what, "") if now is not None else ""
        )  # fmt: skip
        layout.select(label, shown, value, partial(self._set, what), hint=why)

    def _set(self, what: str, value: str) -> None:
        given: Any = None if value == FIND else value == "True" if what == "header" else value
        self.set_csv(what, given)

    def _missing(self) -> None:
        told = self.told.get("missing")
        why = "An empty field always does." if told is None else "You said so. An empty field does too."
        layout.text_input("Also means missing, in every column", ", ".join(mark for mark in told or () if mark),
                          lambda text: self.set_csv("missing", ["", *_listed(text)] if _listed(text) else None),
                          hint=why)  # fmt: skip

    def _marks(self, found: Mapping[str, Any]) -> dict[str, Sequence[str]]:
        """Columns that have texts of their own that mean missing."""
        return {**(found.get("missing_in") or {}), **self.told.get("missing_in", {})}

    def _marks_in(self, column: str, marks: Sequence[str], findings: Sequence[Mapping[str, Any]]) -> None:
        told = self.told.get("missing_in", {})
        reason = next((each["reason"] for each in findings
                       if each["what"] == "missing_in" and each["column"] == column), "")  # fmt: skip
        layout.text_input(f"Means missing in {column}", ", ".join(marks),
                          lambda text: self.set_csv("missing_in", {**told, column: _listed(text)}),
                          hint="You said so." if column in told else reason)  # fmt: skip

    def _forms(self, found: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Columns of dates with how they are read, but for those that are asked about elsewhere."""
        asked = {each["column"] for each in findings if each["is_asked"]}
        forms = {**(found.get("date_format") or {}), **self.told.get("date_format", {})}
        return {column: form for column, form in forms.items() if column and column not in asked}

    def _date(self, column: str, form: str, findings: Sequence[Mapping[str, Any]]) -> None:
        finding = next((each for each in findings if each["what"] == "date_format" and each["column"] == column), None)
        told = self.told.get("date_format", {})
        is_told = column in told
        first = {} if is_told else {FIND: f"found: {form}"}
        shown = {**first, **({FIND: "find it in the file"} if is_told else {})}
        shown |= {each: WORDS_OF_FORM.get(each, each) for each in dict.fromkeys([form, *FORMS, TEXT])}
        if not is_told:
            shown.pop(form, None)
        why = "You said so." if is_told else without_hint(finding["reason"]) if finding else ""

        def choose(value: str) -> None:
            others = {name: each for name, each in told.items() if name != column}
            self.set_csv("date_format", {**others, **({} if value == FIND else {column: value})} or None)

        layout.select(f"Dates in {column}", shown, form if is_told else FIND, choose, hint=why)


def _listed(text: str) -> list[str]:
    """Texts as somebody lists them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def without_hint(reason: str) -> str:
    """What was found, without what to do about it in other doors: the page has buttons for that."""
    return reason.partition(" Say ")[0]


def _asked_form(form: str) -> str:
    if form == TEXT:
        return "No dates: leave them as they are"
    first, sign = form[:2], form[2]
    year = "24" if form.endswith("yy") and not form.endswith("yyyy") else "2024"
    return f"01{sign}02{sign}{year} is {EXAMPLES[first]}"
