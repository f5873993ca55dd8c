"""The codebook as a page: what the columns of a release mean, and how it is read in Python, R and Stata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.publishing.reading_snippets import snippets_for
from shoal.publishing.report import words
from shoal.publishing.report.markup import Content, el
from shoal.publishing.report.page import page, table

Book = Mapping[str, Any]
ROLES = {
    "person": "person", "quasi": "quasi-identifier", "sensitive": "sensitive attribute", "time": "time", "kept": "kept",
    "group": "group", "key": "key",
}  # fmt: skip


def render_codebook(book: Book) -> str:
    """The page of a codebook; it says what `codebook.json` says, and nothing else of the data."""
    body: list[Content] = [
        el("p", "Data release", class_="kicker"),
        el("h1", "Codebook"),
        el("p", "What the columns of this release mean, and how its files are read. codebook.json says the same for "
                "programs, datapackage.json in the form of Frictionless Data.", class_="lead"),
        el("h2", "Files"),
        table(["File", "Bytes", "SHA-256"], [[file["path"], f"{file['bytes']:,}", file["sha256"]]
                                             for file in book.get("files", ())], numeric=(1,)),
        el("h2", "How cells are written"),
        table(["", ""], written_as(book)),
        el("h2", "Columns"),
        [_columns(name, entries) for name, entries in tables_in(book)],
        el("h2", "How a cell is read"),
        table(["Form", "What stands in a cell"],
              [[form, words.typeset(told)] for form, told in book["grammar"].items()]),
        el("h2", "What was promised"),
        table(["Model", "Parameters", "Verdict"], _promises(book)),
        el("h2", "Reading it"),
        [[el("h3", language), el("pre", el("code", text))] for language, text in snippets_for(book).items()],
    ]  # fmt: skip
    return page("Codebook", body)


def written_as(book: Book) -> list[list[Content]]:
    """How numbers, dates and texts are written in the files."""
    told = [
        ("Encoding", book.get("encoding")),
        ("Delimiter", book.get("delimiter")),
        ("Decimal mark", book.get("decimal")),
        ("Dates", book.get("dates")),
        ("Missing values", book.get("missing")),
        ("Apostrophes", book.get("safe_cells")),
    ]
    return [[name, str(value)] for name, value in told if value is not None]


def tables_in(book: Book) -> list[tuple[str | None, Sequence[Mapping[str, Any]]]]:
    """The tables that a codebook describes, each with its columns; the only one has no name."""
    if "star" in book:
        return [(str(name), table["columns"]) for name, table in book["star"].items()]
    return [(None, book["columns"])]


def _columns(name: str | None, entries: Sequence[Mapping[str, Any]]) -> Content:
    rows: list[list[Content]] = [
        [entry["name"], entry.get("label", ""), ROLES.get(entry["role"], entry["role"]), entry.get("kind", ""),
         entry["form"], words.typeset(entry["shown_as"]) + _rounded(entry) + _coded(entry)]
        for entry in entries
    ]  # fmt: skip
    headings = ["Column", "Label", "Role", "Kind", "Form", "Published as"]
    if not any(entry.get("label") for entry in entries):
        rows, headings = [[row[0], *row[2:]] for row in rows], [headings[0], *headings[2:]]
    return [el("h3", name) if name is not None else None, table(headings, rows)]


def _rounded(entry: Mapping[str, Any]) -> str:
    return f"; ends rounded to {entry['rounded_to']}" if "rounded_to" in entry else ""


def _coded(entry: Mapping[str, Any]) -> str:
    return f"; {entry['coded_as']}" if "coded_as" in entry else ""


def _promises(book: Book) -> list[list[Content]]:
    return [
        [model["name"], ", ".join(f"{name} = {value}" for name, value in model["parameters"].items()),
         "met" if model["holds"] else "NOT met"]
        for model in book["models"]
    ]  # fmt: skip
