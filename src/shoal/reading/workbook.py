"""What the file of a workbook says of a sheet beside its values: merged and hidden cells, totals, formulas.

Readers hand over values only: of merged cells the first, of a formula that was never calculated nothing, and hidden
rows and totals as if they were records. Only .xlsx and .xlsm files are looked into.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from posixpath import join, normpath
from xml.etree import ElementTree

from shoal.errors import InputError

LOOKED_INTO = (".xlsx", ".xlsm")
ROW_HIDDEN = re.compile(rb'<(?:\w+:)?row\b[^>]*\bhidden="(?:1|true)"')
COLUMN_HIDDEN = re.compile(rb'<(?:\w+:)?col\b[^>]*\bhidden="(?:1|true)"[^>]*>')
MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
NOT_CALCULATED = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
TOTALS = re.compile(rb'\btotalsRowCount="[1-9]')


@dataclass(frozen=True)
class Sheet:
    """What was found in a sheet."""

    merged: int = 0
    """Merged cells in the records."""
    has_totals: bool = False
    hidden_rows: int = 0
    hidden_columns: int = 0
    not_calculated: int = 0
    """Formulas without a result: a program wrote them, and no spreadsheet has calculated them yet."""


def look_into(path: Path, sheet: str, n_columns: int) -> Sheet:
    """Look into the file of a workbook; where it cannot be told, nothing is found."""
    if path.suffix.lower() not in LOOKED_INTO:
        return Sheet()
    try:
        with zipfile.ZipFile(path) as book:
            place = _place_of(book, sheet)
            content = book.read(place)
            totals = any(TOTALS.search(book.read(table)) for table in _related(book, place, "/table"))
    except (OSError, KeyError, StopIteration, ValueError, zipfile.BadZipFile, ElementTree.ParseError):
        return Sheet()
    merged = [match for match in MERGED.findall(content) if int(match[3]) > 1 and _number(match[0]) <= n_columns]
    missing = [found for found in NOT_CALCULATED.findall(content) if b't="str"' not in found]
    return Sheet(
        len(merged), totals, len(ROW_HIDDEN.findall(content)), len(COLUMN_HIDDEN.findall(content)), len(missing)
    )


def refuse_or_tell(file: str, found: Sheet) -> list[str]:
    """Refuse what would make records wrong; what to tell of the rest."""
    if found.merged:
        raise InputError(
            f"'{file}' has {found.merged:,} merged cells among the records. Their value stands in the first of them "
            "only, and the others would be missing. Unmerge them, and fill in each cell."
        )
    if found.has_totals:
        raise InputError(f"'{file}' has a table with a row of totals, which is no record. Take that row out.")
    notes = []
    if found.hidden_rows or found.hidden_columns:
        notes.append(
            f"'{file}' has hidden cells ({found.hidden_rows:,} rows, {found.hidden_columns:,} ranges of columns). They "
            "are read as all others are."
        )
    if found.not_calculated:
        notes.append(
            f"{found.not_calculated:,} formulas in '{file}' have no result, so they are read as missing. Open the file "
            "in a spreadsheet and save it, so that they are calculated."
        )
    return notes


def _place_of(book: zipfile.ZipFile, sheet: str) -> str:
    """Where in the archive a sheet lies."""
    root = ElementTree.fromstring(book.read("xl/workbook.xml"))
    entry = next(each for each in root.iter() if each.tag.endswith("}sheet") and each.get("name") == sheet)
    number = next(value for name, value in entry.attrib.items() if name.endswith("}id"))
    return next(target for key, target, _ in _relations(book, "xl/workbook.xml") if key == number)


def _related(book: zipfile.ZipFile, place: str, kind: str) -> list[str]:
    return [target for _, target, type_of in _relations(book, place) if type_of.endswith(kind)]


def _relations(book: zipfile.ZipFile, place: str) -> list[tuple[str, str, str]]:
    """What a part of the archive refers to: by which key, where it lies, and its type."""
    folder, _, name = place.rpartition("/")
    listed = f"{folder}/_rels/{name}.rels"
    if listed not in book.namelist():
        return []
    found = []
    for each in ElementTree.fromstring(book.read(listed)):
        target = each.get("Target", "")
        target = target[1:] if target.startswith("/") else normpath(join(folder, target))
        found.append((each.get("Id", ""), target, each.get("Type", "")))
    return found


def _number(letters: bytes) -> int:
    """The position of a column by its letters: 1 for A."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number
