"""Recount a release of person-level data from its published files, without the program that made it.

    python recount.py FOLDER_OR_FILE [--codebook FILE] [--json]

Needs Python 3.11, pandas and codebook.json beside the release; Parquet and Arrow files need pyarrow too. It reads what
was published, forms the groups that anybody can see, counts what codebook.json promises with exact fractions, and says
promise by promise whether it is kept. Exit code 0: every promise was recounted and is kept; 3: one is not, or cannot be
recounted from these files, or a file is not the one that the codebook lists; 2: the files cannot be read.

This file is meant to be handed out with a release. It imports nothing but pandas and Python's own library, and follows
the definitions rather than a fast way: a million records take minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

KEPT, NOT_KEPT, UNREADABLE = 0, 3, 2
FORMAT_VERSION = 1
FORMATS = ("csv", "parquet", "arrow", "xlsx", "sav", "dta", "xpt")
APART = ("anatomize", "permute")
MOST_STEPS = 200_000
"""How many steps a search of joint diversity may take in one group before it is given up."""

Cell = str | None
Number = Fraction | float
Parameters = Mapping[str, Any]


class UnreadableError(Exception):
    """The files are not what a recount needs; says what to do."""


class NotShownError(Exception):
    """The published files do not show what a promise is about; says why."""


# What was published


@dataclass
class Published:
    """The tables of a release as texts, and what the codebook says of them."""

    folder: Path
    book: dict[str, Any]
    frames: dict[str, pd.DataFrame]
    """The published table as "", or related tables by name."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Sensitive tables of an anatomized release, by attribute."""
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    identities_visible: bool = False


def read_release(given: Path, codebook: Path | None) -> Published:
    """Read a release folder or a published file, by its codebook."""
    folder = given if _is_release_folder(given) else given.parent
    book = _read_codebook(codebook or folder / "codebook.json")
    notes: list[str] = []
    if "star" in book:
        files = {name: folder / _plain_name(entry["file"]) for name, entry in book["star"].items()}
    else:
        file = given if folder != given else _only_release(folder)
        files = {"": file}
    frames = {name: _read_table(file, book) for name, file in files.items()}
    tables = {
        entry["attribute"]: _read_table(folder / _plain_name(entry["file"]), book) for entry in book.get("tables", [])
    }
    listed = {str(entry.get("path", "")).split("/")[0] for entry in book.get("files", [])}
    problems: list[str] = []
    if all(file.name in listed for file in files.values()):
        problems = _changed_files(folder, book)
    else:
        notes.append("The file is none that the codebook lists: nobody can tell here whether it was changed.")
    return Published(folder, book, frames, tables, problems, notes)


def _is_release_folder(given: Path) -> bool:
    if not given.exists():
        raise UnreadableError(f"There is no release '{given}'. Check the name and the folder.")
    return given.is_dir() and not list(given.glob("part-*"))


def _only_release(folder: Path) -> Path:
    found = [folder / f"release.{name}" for name in FORMATS if (folder / f"release.{name}").exists()]
    if len(found) != 1:
        raise UnreadableError(f"The folder '{folder}' must hold one file release.*, not {len(found)}.")
    return found[0]


def _read_codebook(path: Path) -> dict[str, Any]:
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadableError(f"There is no codebook '{path}'. Ask for it, or name it with --codebook.") from None
    except (OSError, ValueError, RecursionError):
        raise UnreadableError(f"The codebook '{path}' cannot be read as JSON.") from None
    if not isinstance(book, dict) or book.get("format_version") != FORMAT_VERSION:
        raise UnreadableError(f"'{path}' is no codebook of format_version {FORMAT_VERSION}, which this program reads.")
    return book


def _plain_name(name: Any) -> str:
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".."):
        raise UnreadableError("The codebook names a file outside its folder.")
    return name


def _changed_files(folder: Path, book: Mapping[str, Any]) -> list[str]:
    """Files that are not those that the codebook lists, by size and SHA-256."""
    problems = []
    for entry in book.get("files", []):
        path = folder.joinpath(*(_plain_name(part) for part in str(entry["path"]).split("/")))
        if not path.is_file():
            problems.append(f"The file '{entry['path']}' is listed in the codebook but absent.")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
            problems.append(f"The file '{entry['path']}' has changed: its SHA-256 is not the one in the codebook.")
    return problems


def _read_table(path: Path, book: Mapping[str, Any]) -> pd.DataFrame:
    """A table as texts; a missing value is None. A folder of part files is one table."""
    parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
    ending = path.suffix.lstrip(".").lower()
    try:
        frame = pd.concat([_read_file(part, ending, book) for part in parts], ignore_index=True)
    except (OSError, ValueError, KeyError, UnicodeError) as error:
        raise UnreadableError(f"'{path}' cannot be read as a table ({type(error).__name__}).") from None
    except ImportError as error:
        raise UnreadableError(f"Reading '{path.name}' needs another package: {error}") from None
    if book.get("safe_cells") and ending in ("csv", "xlsx"):
        frame = _without_apostrophes(frame)
    return frame


def _read_file(path: Path, ending: str, book: Mapping[str, Any]) -> pd.DataFrame:
    if ending == "csv":
        how: dict[str, Any] = {
            "sep": book.get("delimiter", ","),
            "encoding": book.get("encoding", "utf-8"),
            "dtype": str,
        }
        is_wide = len(pd.read_csv(path, **how, nrows=0).columns) > 1  # else an empty line is a missing value
        frame = pd.read_csv(path, **how, keep_default_na=False, na_values=[""], skip_blank_lines=is_wide)
    else:
        readers: dict[str, Callable[[Path], pd.DataFrame]] = {
            "parquet": lambda file: pd.read_parquet(file, dtype_backend="pyarrow"),
            "arrow": lambda file: pd.read_feather(file, dtype_backend="pyarrow"),
            "xlsx": pd.read_excel,
            "sav": lambda file: pd.read_spss(file, convert_categoricals=False),
            "dta": lambda file: pd.read_stata(file, convert_categoricals=False),
            "xpt": lambda file: pd.read_sas(file, format="xport", encoding="utf-8"),
        }
        if ending not in readers:
            raise UnreadableError(f"'{path.name}' is of no known format: {', '.join(FORMATS)}.")
        frame = readers[ending](path)
    return pd.DataFrame({str(name): [_text(value) for value in frame[name]] for name in frame.columns}, dtype=object)


def _text(value: Any) -> Cell:
    """A cell as a text: numbers without decimals that say nothing, a missing value as None."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) or None


SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
"""With what a formula begins: the four signs, in full width, and small."""


def _was_guarded(text: str) -> bool:
    """Whether a text has an apostrophe that keeps spreadsheets from running it."""
    rest = text.lstrip("'")
    seen = [sign for sign in rest if not sign.isspace() and unicodedata.category(sign) not in ("Cf", "Cc")]
    return text != rest and (rest[:1] in tuple("\t\r\n\x0b\x0c") or seen[:1] in [[sign] for sign in SIGNS])


def _without_apostrophes(frame: pd.DataFrame) -> pd.DataFrame:
    """Undo what keeps spreadsheets from running cells: one apostrophe before them is taken away."""
    names = {name: name[1:] for name in frame.columns if _was_guarded(name)}
    plain = frame.map(lambda cell: cell[1:] if isinstance(cell, str) and _was_guarded(cell) else cell)
    return plain.rename(columns=names)


# Which texts are one


WHOLE = re.compile(r"([+-]?\d+)\.0*", re.ASCII)
DECIMAL = re.compile(r"([+-]?)(0|[1-9]\d*)?(?:\.(\d*))?", re.ASCII)


def plain_form(text: Cell) -> Cell:
    """NFKC, without format characters, one space for each run of white space, none at the ends; 7.0 is 7."""
    if text is None:
        return None
    seen = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    words = " ".join(unicodedata.normalize("NFKC", seen).split())
    whole = WHOLE.fullmatch(words)
    return whole[1] if whole else words


def folded_form(text: Cell) -> Cell:
    """The plain form without case, and numbers as numbers; a text with a zero before a digit is a code and stays."""
    plain = plain_form(text)
    while plain is not None and plain_form(plain.casefold()) != plain:
        plain = plain_form(plain.casefold())
    found = DECIMAL.fullmatch(plain) if plain else None
    if plain is None or not found or not (found[2] or found[3]):
        return plain
    digits = f"{found[2] or '0'}.{found[3] or ''}".rstrip("0").rstrip(".")
    return f"-{digits}" if found[1] == "-" and digits != "0" else digits


FORMS: dict[str, Callable[[Cell], Cell]] = {"exact": lambda text: text, "plain": plain_form, "folded": folded_form}


# What can be seen of it


@dataclass
class Group:
    """What can be counted of a group; None where the published files do not show it."""

    records: int | None
    persons: int | None
    records_of_person: list[int] | None
    records_of_value: dict[str, Counter[Cell]]
    persons_of_value: dict[str, Counter[Cell]] | None
    values_of_person: list[dict[str, frozenset[Cell]]] | None
    histories: list[list[dict[str, Cell]]] | None = None
    """The records of each person, where these are linked."""


@dataclass
class View:
    """The groups that somebody sees who looks at a table, or at related tables joined."""

    name: str
    attributes: list[str]
    groups: list[Group]
    is_whole: bool = True
    ranks: dict[str, dict[Cell, int]] = field(default_factory=dict)
    """The place of each value of an attribute in its order."""
    totals: dict[tuple[str, str], dict[Cell, Fraction]] = field(default_factory=dict)
    of_all: dict[str, Answer] = field(default_factory=dict)
    """What was answered of all groups together, by the promise."""

    def shares_in_table(self, attribute: str, count: str) -> dict[Cell, Fraction]:
        """The share of each value in the whole table, of records or of persons."""
        if (attribute, count) not in self.totals:
            total: Counter[Cell] = Counter()
            for group in self.groups:
                total.update(_counts(group, attribute, count))
            self.totals[attribute, count] = _shares(total)
        return self.totals[attribute, count]


def _columns(book: Mapping[str, Any], table: str = "") -> dict[str, Mapping[str, Any]]:
    """The columns of a published table by name."""
    entries = book["star"][table]["columns"] if "star" in book else book["columns"]
    return {str(entry["name"]): entry for entry in entries}


def _of_role(book: Mapping[str, Any], role: str) -> list[str]:
    """The columns of a role, related tables' by the names that they have when joined."""
    tables = book.get("star", [""])
    entries = [entry for table in tables for entry in _columns(book, table).values() if entry["role"] == role]
    names = [str(entry.get("joined_as", entry["name"])) for entry in entries]
    if role == "sensitive":
        names += [str(entry["attribute"]) for entry in book.get("tables", []) if entry["attribute"] not in names]
    return names


def look(published: Published) -> list[View]:
    """The views of a release; what is wrong with it goes to its problems."""
    _check_columns(published)
    book = published.book
    if book["mask"] == "perturb":
        published.notes.append(
            "Values are perturbed, so that no groups can be seen: only the publisher can recount them."
        )
        return []
    if "star" in book:
        return _look_at_star(published)
    if book["mask"] == "anatomize":
        return [_look_at_anatomized(published)]
    return [_look_at_table(published)]


def _check_columns(published: Published) -> None:
    for table, frame in published.frames.items():
        known = _columns(published.book, table)
        absent = [name for name in known if name not in frame.columns]
        if absent:
            raise UnreadableError(f"The published table lacks columns that the codebook names: {', '.join(absent)}.")
        published.problems += [
            f"'{name}' is published, but the codebook gives it no role." for name in frame.columns if name not in known
        ]


def _ranks(values: Iterable[Cell], form: Callable[[Cell], Cell]) -> dict[Cell, int]:
    """Values in their order: as numbers where all are numbers, else as texts; a missing one is the last."""
    written = sorted({value for value in values if value is not None})
    numbers = [_as_float(value) for value in written]
    if all(number is not None for number in numbers):
        written.sort(key=lambda value: (_as_float(value) or 0.0, value))
    order: dict[Cell, int] = {}
    for value in [*written, None]:
        order.setdefault(form(value), len(order))
    return order


def _as_float(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) else None


Record = tuple[Cell, dict[str, Cell]]
"""A person and the values of their sensitive attributes in one record."""


def _group_of(records: Sequence[Record], attributes: Sequence[str], *, are_linked: bool, is_known: bool) -> Group:
    """Count the records of a group.

    `is_known` says whether the person of a record is seen, `are_linked` whether a record's values are that person's.
    """
    of_person: dict[Cell, list[dict[str, Cell]]] = {}
    for person, values in records:
        of_person.setdefault(person, []).append(values)
    of_values = {name: Counter(values[name] for _, values in records) for name in attributes}
    if not is_known:
        return Group(len(records), None, None, of_values, None, None)
    sets = [{name: frozenset(own[name] for own in owned) for name in attributes} for owned in of_person.values()]
    return Group(
        records=len(records),
        persons=len(of_person),
        records_of_person=[len(owned) for owned in of_person.values()],
        records_of_value=of_values,
        persons_of_value={name: Counter(value for own in sets for value in own[name]) for name in attributes},
        values_of_person=sets if are_linked else None,
        histories=list(of_person.values()) if are_linked else None,
    )


def _look_at_table(published: Published) -> View:
    """One table: records with equal quasi-identifiers form a group; with permuted values those of one number do."""
    book, frame = published.book, published.frames[""]
    if book.get("missing_tells_nothing"):
        raise UnreadableError("Here a missing sensitive value is always counted, and in this release it tells nothing.")
    attributes, quasi = _of_role(book, "sensitive"), _of_role(book, "quasi")
    is_permuted = book["mask"] == "permute"
    person = book.get("person")
    if book.get("person_ids") == "episodes":
        raise UnreadableError(
            "Pseudonyms stand for episodes here, and a person may have several: how many persons a group has is not "
            "published. shoal verify counts them with what the steward keeps."
        )
    is_unlinked = person is not None and book.get("person_ids") == "none"
    if person is None or is_unlinked:
        persons: list[Cell] = [str(place) for place in range(len(frame))]
    else:
        persons = [_form(book, person)(name) for name in frame[person]]
    keys = list(frame["group"]) if is_permuted else list(zip(*(frame[name] for name in quasi), strict=True))
    values = {name: [_form(book, name)(value) for value in frame[name]] for name in attributes}
    members: dict[Any, list[Record]] = {}
    groups_of_person: dict[Cell, set[Any]] = {}
    for place, key in enumerate(keys):
        members.setdefault(key, []).append((persons[place], {name: values[name][place] for name in attributes}))
        groups_of_person.setdefault(persons[place], set()).add(key)
    if None in groups_of_person:
        published.problems.append(f"'{person}' is missing in published records.")
    several = sum(len(own) > 1 for own in groups_of_person.values())
    if several and not is_permuted:
        published.problems.append(f"{several:,} of {len(groups_of_person):,} persons have records in several groups.")
    if is_permuted:
        if len(set(persons)) < len(persons):
            published.problems.append("A permuted table has one record per person, but some persons have several.")
        _note_identities(published, list(zip(keys, zip(*(frame[name] for name in quasi), strict=True), strict=True)))
    groups = [
        _group_of(own, attributes, are_linked=not is_permuted, is_known=not is_unlinked) for own in members.values()
    ]
    if any(model["name"] in OF_HISTORIES for model in book["models"]):
        _forget_hidden(groups)
    return View("", attributes, groups, ranks={name: _ranks(frame[name], _form(book, name)) for name in attributes})


def _forget_hidden(groups: Sequence[Group]) -> None:
    """A hidden value is nobody's value."""
    for group in groups:
        for counts in [*group.records_of_value.values(), *(group.persons_of_value or {}).values()]:
            counts.pop(HIDDEN, None)
        for own in group.values_of_person or ():
            own.update({name: values - {HIDDEN} for name, values in own.items()})


def _form(book: Mapping[str, Any], name: str) -> Callable[[Cell], Cell]:
    """The form by which values of a column are told apart."""
    spelling = book.get("spelling", {}).get(name, "exact")
    if spelling not in FORMS:
        raise UnreadableError(f"The codebook names a spelling of '{name}' that is not known here.")
    return FORMS[spelling]


def _note_identities(published: Published, shown: Sequence[tuple[Any, Any]]) -> None:
    """Where rows of one group show different quasi-identifiers, identities are visible."""
    if len(set(shown)) > len({group for group, _ in shown}):
        published.identities_visible = True
        published.notes.append(
            "Quasi-identifiers differ inside groups: identities are visible, and k and person-k are sizes of groups. "
            "What is hidden is which sensitive value belongs to whom."
        )


def _look_at_anatomized(published: Published) -> View:
    """A table with one row per person, and tables that count the sensitive values of every group."""
    book, frame = published.book, published.frames[""]
    quasi = _of_role(book, "quasi")
    size: Counter[Cell] = Counter(frame["group"])
    _note_identities(
        published, list(zip(frame["group"], zip(*(frame[name] for name in quasi), strict=True), strict=True))
    )
    attributes = list(published.tables)
    one_each = all("count" in table.columns for table in published.tables.values())
    groups = {
        group: Group(None, persons, [1] * persons if one_each else None, {}, {}, None)
        for group, persons in size.items()
    }
    for name, table in published.tables.items():
        _count_values(published, name, table, groups, one_each=one_each)
    ranks = {name: _ranks(published.tables[name][name], _form(book, name)) for name in attributes}
    return View("", attributes, list(groups.values()), ranks=ranks)


def _count_values(
    published: Published, name: str, table: pd.DataFrame, groups: Mapping[Cell, Group], *, one_each: bool
) -> None:
    """Add what a sensitive table counts to the groups; what cannot be is a problem."""
    expected = {"group", name, *(("count",) if one_each else ("persons", "records"))}
    if not expected - {"records"} <= set(table.columns) <= expected:
        raise UnreadableError(f"The sensitive table of '{name}' must have the columns {', '.join(sorted(expected))}.")
    has_records = one_each or "records" in table.columns
    form = _form(published.book, name)
    for group in groups.values():
        group.records_of_value[name] = Counter()
        assert group.persons_of_value is not None
        group.persons_of_value[name] = Counter()
    if table.duplicated(["group", name]).any():
        published.problems.append(f"The sensitive table of '{name}' counts a value twice.")
    for row in table.to_dict("records"):
        own = groups.get(row["group"])
        persons = _count(row["count" if one_each else "persons"])
        records = persons if one_each else _count(row["records"]) if has_records else persons
        if own is None or own.persons is None or own.persons_of_value is None:
            published.problems.append(f"The sensitive table of '{name}' names a group that has no persons.")
        elif not 1 <= persons <= min(own.persons, records):
            published.problems.append(f"The sensitive table of '{name}' has counts that cannot be.")
        else:
            own.persons_of_value[name][form(row[name])] += persons
            own.records_of_value[name][form(row[name])] += records
    for group in groups.values():
        assert group.persons_of_value is not None
        counted, there = sum(group.persons_of_value[name].values()), group.persons or 0
        if counted < there or (one_each and counted > there):
            published.problems.append(f"The sensitive table of '{name}' does not count every person of a group.")
        for value, number in group.persons_of_value[name].items():  # one person may have it in several spellings
            group.persons_of_value[name][value] = min(number, there)
        of_group = sum(group.records_of_value[name].values()) if has_records else None
        if group.records is not None and of_group != group.records:
            published.problems.append("The sensitive tables do not count equally many records of a group.")
        group.records = of_group
        if not has_records:
            del group.records_of_value[name]


def _count(text: Cell) -> int:
    return int(text) if text is not None and re.fullmatch(r"\d+", text, re.ASCII) else 0


# Related tables


Row = dict[Any, Any]
"""A joined record: columns by name, and by tuples whose person's it is and from which rows it is."""

PERSON, PARENT = ("person",), ("parent",)


def _look_at_star(published: Published) -> list[View]:
    """Each related table by its own rows and the persons who have some, and all tables joined."""
    book = published.book
    star: dict[str, Any] = book["star"]
    attributes = _of_role(book, "sensitive")
    root = next(name for name, entry in star.items() if not entry.get("links"))
    rows = _joined(published, root, list(star))
    shown_by = _labels_of_persons(rows, book)
    ranks = {called: _ranks((row.get(called) for row in rows), _form(book, called)) for called in attributes}
    views = []
    for name, path, own in _rows_of_views(star, rows):
        there = [called for table in path for called in _joined_names(book, table).values() if called in attributes]
        members: dict[Any, list[Record]] = {}
        for row in own:
            values = {called: _form(book, called)(row.get(called)) for called in there}
            members.setdefault(shown_by[row[PERSON]], []).append((row[PERSON], values))
        groups = [_group_of(each, there, are_linked=True, is_known=True) for each in members.values()]
        views.append(View(name, there, groups, is_whole=len(path) == len(star) and not name, ranks=ranks))
        alone = sum(group.persons == 1 for group in groups) if name in star else 0
        if alone:
            published.problems.append(f"In {alone:,} groups all rows of '{name}' are one person's.")
    return views


def _joined_names(book: Mapping[str, Any], table: str) -> dict[str, str]:
    """What the columns of a table are called when joined, by column."""
    return {name: str(entry.get("joined_as", name)) for name, entry in _columns(book, table).items()
            if entry["role"] != "key"}  # fmt: skip


def _joined(published: Published, name: str, tables: Sequence[str]) -> list[Row]:
    """The rows of a table with those that hang on it beside them; the shorter of two lists starts anew."""
    star = published.book["star"]
    frame, entry = published.frames[name], star[name]
    names = _joined_names(published.book, name)
    is_root = not entry.get("links")
    parent_key = None if is_root else next(iter(entry["links"]))
    below: list[dict[Any, list[Row]]] = []
    for child in tables:
        links = star[child].get("links") or {}
        if links and next(iter(links.values())) == name:
            lists: dict[Any, list[Row]] = {}
            for row in _joined(published, child, tables):
                lists.setdefault(row[PARENT], []).append(row)
            below.append(lists)
    rows: list[Row] = []
    for place, record in enumerate(frame.to_dict("records")):
        key = record.get(entry.get("key"))
        own: Row = {called: record[column] for column, called in names.items()}
        own |= {PARENT: None if parent_key is None else record[parent_key], ("row", name): place}
        if is_root:
            own[PERSON] = key
        lists_below = [each[key] for each in below if key in each]
        for turn in range(max((len(each) for each in lists_below), default=1)):
            row = dict(own)
            for each in lists_below:
                row = {**each[turn % len(each)], **row}
            rows.append(row)
    return rows


def _labels_of_persons(rows: Sequence[Row], book: Mapping[str, Any]) -> dict[Any, tuple[Any, ...]]:
    """What all tables together show of each person: they are of one group where that is equal."""
    shown: dict[Any, dict[str, Any]] = {}
    table_of = {
        called: table
        for table in book["star"]
        for column, called in _joined_names(book, table).items()
        if _columns(book, table)[column]["role"] == "quasi"
    }
    for row in rows:
        own = shown.setdefault(row[PERSON], {})
        for called, table in table_of.items():
            if ("row", table) in row:
                own.setdefault(called, row[called])
    return {person: tuple(own.get(called) for called in table_of) for person, own in shown.items()}


def _rows_of_views(star: Mapping[str, Any], rows: list[Row]) -> list[tuple[str, list[str], list[Row]]]:
    """All tables joined, each table with those it hangs on, and these without rows of it where some have none."""
    views: list[tuple[str, list[str], list[Row]]] = [("", list(star), rows)]
    for name in star:
        path = [name]
        while star[path[0]].get("links"):
            path.insert(0, next(iter(star[path[0]]["links"].values())))
        different = list({tuple(row.get(("row", table)) for table in path): row for row in rows}.values())
        own = [row for row in different if ("row", name) in row]
        if own:
            views.append((name, path, own))
        if len(own) < len(different) and len(path) < len(star):
            views.append((f"{' and '.join(path)} joined", path, different))
    return views


# The promises


def _counts(group: Group, attribute: str, count: str) -> Counter[Cell]:
    if count == "persons":
        if group.persons_of_value is None:
            raise NotShownError("which records belong to one person is not published")
        return group.persons_of_value[attribute]
    if attribute not in group.records_of_value:
        raise NotShownError("the number of records is not published")
    return group.records_of_value[attribute]


def _persons(group: Group) -> int:
    if group.persons is None:
        raise NotShownError("which records belong to one person is not published")
    return group.persons


def _spread(group: Group) -> list[int]:
    if group.records_of_person is None:
        raise NotShownError("how many records per person has is not published")
    return group.records_of_person


def _records(group: Group) -> int:
    if group.records is None:
        raise NotShownError("the number of records is not published")
    return group.records


@cache
def _log(number: int) -> Decimal:
    with localcontext(prec=60):
        return Decimal(number).ln()


def _effective_number(counts: Iterable[int], asked: Fraction) -> tuple[float, bool]:
    """Two to the entropy of shares, and whether it is at least a number, in 60 digits; 40 alike are equality."""
    with localcontext(prec=60):
        own = list(counts)
        total = sum(own)
        entropy = _log(total) - sum((number * _log(number) for number in own), Decimal(0)) / total
        asked_log = _log(asked.numerator) - _log(asked.denominator)
        return float(entropy.exp()), entropy - asked_log > Decimal("-1e-40")


Answer = tuple[Number, bool]
"""What a group reached, and whether it holds."""


def g_balance(group: Group, asked: Parameters, view: View) -> Answer:
    own = _spread(group)
    reached = 1 - sum((Fraction(number, sum(own)) ** 2 for number in own), Fraction(0))
    return reached, reached >= _number(asked["g"])


def record_risk(group: Group, asked: Parameters, view: View) -> Answer:
    own = _spread(group)
    reached = Fraction(max(own), sum(own))
    return reached, reached <= _number(asked["rho"])


def entropy_balance(group: Group, asked: Parameters, view: View) -> Answer:
    return _effective_number(_spread(group), _number(asked["k"]))


def k_anonymity(group: Group, asked: Parameters, view: View) -> Answer:
    if group.records is None and group.persons is not None and group.persons >= _number(asked["k"]):
        raise BoundError(group.persons)  # everybody has a record
    return Fraction(_records(group)), _records(group) >= _number(asked["k"])


def person_k_anonymity(group: Group, asked: Parameters, view: View) -> Answer:
    return Fraction(_persons(group)), _persons(group) >= _number(asked["k"])


def h_affiliation(group: Group, asked: Parameters, view: View, attribute: str) -> Answer:
    reached = Fraction(max(_counts(group, attribute, "persons").values(), default=0), _persons(group))
    return reached, reached <= _number(asked["h"])


def l_diversity(group: Group, asked: Parameters, view: View, attribute: str) -> Answer:
    l, kind, count = _number(asked["l"]), asked.get("kind", "frequency"), asked.get("count", "records")  # noqa: E741
    if kind == "distinct" and count == "persons":
        sets = _values_of_persons(group, attribute)
        return Fraction(_matching(sets)), _matching(sets) >= l
    if kind == "distinct":
        n_values = len(_counts(group, attribute, count if attribute in group.records_of_value else "persons"))
        return Fraction(n_values), n_values >= l
    counts = sorted(_counts(group, attribute, count).values(), reverse=True)
    if kind == "frequency":
        reached = Fraction(sum(counts), counts[0])
        return reached, reached >= l
    if kind == "entropy":
        return _effective_number(counts, l)
    if kind == "recursive":
        c = _number(asked["c"])
        ranks = [rank for rank in range(1, len(counts) + 1) if counts[0] < c * sum(counts[rank - 1 :])]
        return Fraction(max(ranks, default=0)), max(ranks, default=0) >= l
    raise NotShownError(f"'{kind}' is no kind of l-diversity that is known here")


def _values_of_persons(group: Group, attribute: str) -> list[frozenset[Cell]]:
    """The values of each person of a group; where each has one record, who has which does not matter."""
    if group.values_of_person is not None:
        return [own[attribute] for own in group.values_of_person]
    if group.persons_of_value is not None and group.records_of_person == [1] * _persons(group):
        return [
            frozenset({value}) for value, number in group.persons_of_value[attribute].items() for _ in range(number)
        ]
    raise NotShownError("which values belong to one person is not published")


def _matching(sets: Sequence[frozenset[Cell]]) -> int:
    """How many persons can each be given a different value of their own."""
    owner: dict[Cell, int] = {}

    def finds(person: int, tried: set[Cell]) -> bool:
        for value in sets[person] - tried:
            tried.add(value)
            if value not in owner or finds(owner[value], tried):
                owner[value] = person
                return True
        return False

    return sum(finds(person, set()) for person in range(len(sets)))


def _shares(counts: Counter[Cell]) -> dict[Cell, Fraction]:
    total = sum(counts.values())
    return {value: Fraction(number, total) for value, number in counts.items()}


def t_closeness(group: Group, asked: Parameters, view: View, attribute: str) -> Answer:
    count = asked.get("count", "records")
    p, q = _shares(_counts(group, attribute, count)), view.shares_in_table(attribute, count)
    if asked.get("distance", "equal") == "equal":
        reached = sum((abs(p.get(value, Fraction(0)) - q[value]) for value in q), Fraction(0)) / 2
        return reached, reached <= _number(asked["t"])
    lead = moved = Fraction(0)
    for value in sorted(q, key=view.ranks[attribute].__getitem__):
        lead += p.get(value, Fraction(0)) - q[value]
        moved += abs(lead)
    reached = moved / (len(q) - 1) if len(q) > 1 else Fraction(0)
    return reached, reached <= _number(asked["t"])


def alpha_k_anonymity(group: Group, asked: Parameters, view: View, attribute: str) -> Answer:
    reached = max(_shares(_counts(group, attribute, "records")).values())
    return reached, reached <= _number(asked["alpha"]) and _records(group) >= _number(asked["k"])


def beta_likeness(group: Group, asked: Parameters, view: View, attribute: str) -> Answer:
    p, q = _shares(_counts(group, attribute, "records")), view.shares_in_table(attribute, "records")
    beta = _number(asked["beta"])
    reached: Number = Fraction(0)
    holds = True
    for value in p:
        gain = max((p[value] - q[value]) / q[value], Fraction(0))
        limit = -math.log(q[value]) if asked.get("kind", "basic") == "enhanced" else math.inf
        holds = holds and gain <= beta and gain <= limit
        scaled = gain if limit >= beta or not gain else float(gain) * float(beta) / limit
        reached = max(reached, scaled)
    return reached, holds


def delta_disclosure(group: Group, asked: Parameters, view: View, attribute: str) -> Answer:
    p, q = _shares(_counts(group, attribute, "records")), view.shares_in_table(attribute, "records")
    reached = max(abs(math.log(p[value] / q[value])) if value in p else math.inf for value in q)
    return reached, reached < float(_number(asked["delta"]))


def joint_diversity(group: Group, asked: Parameters, view: View) -> Answer:
    """The fewest values, of any attributes, that must be excluded to exclude everybody, as far as caps admit."""
    caps = {name: asked.get("caps", {}).get(name, math.inf) for name in view.attributes}
    if group.values_of_person is None:
        reached = _by_marginal_counts(group, caps)
        if reached < asked["l"]:
            raise NotShownError("which values of several attributes belong to one person is not published")
        raise BoundError(reached)
    members = [frozenset((name, value) for name, own in person.items() for value in own if caps[name]) for person in
               group.values_of_person]  # fmt: skip
    if not all(members):
        return math.inf, True
    for size in range(1, len(members) + 1):
        steps = [MOST_STEPS]
        try:
            if _are_excluded(members, size, caps, steps):
                return Fraction(size), size >= asked["l"]
        except RecursionError:
            steps = [0]
        if steps[0] <= 0:
            if size >= asked["l"]:
                raise BoundError(size)
            raise NotShownError("the search for values that exclude everybody in a group was given up")
    return math.inf, True


class BoundError(Exception):
    """A promise is kept: at least a number is reached, by a bound that is safe."""

    def __init__(self, reached: float) -> None:
        super().__init__()
        self.reached = reached


def _are_excluded(members: Sequence[frozenset[Any]], size: int, caps: Mapping[str, float], steps: list[int]) -> bool:
    """Whether so many values, within the caps, exclude every member; steps count down."""
    steps[0] -= 1
    if not members:
        return True
    if size == 0 or steps[0] <= 0:
        return False
    for item in min(members, key=len):
        if caps[item[0]] >= 1:
            rest = [member for member in members if item not in member]
            if _are_excluded(rest, size - 1, {**caps, item[0]: caps[item[0]] - 1}, steps):
                return True
    return False


def _by_marginal_counts(group: Group, caps: Mapping[str, float]) -> float:
    """However values are joined: if so many of the commonest have fewer persons than the group, more are needed."""
    persons = _persons(group)
    commonest: list[int] = []
    for name, cap in caps.items():
        counts = sorted((group.persons_of_value or {})[name].values(), reverse=True)
        commonest += counts[: None if cap == math.inf else int(cap)]
    commonest.sort(reverse=True)
    excluded = 0
    for needed, number in enumerate(commonest, start=1):
        excluded += number
        if excluded >= persons:
            return needed
    return math.inf


def exponential_l(group: Group, asked: Parameters, view: View) -> Answer:
    """The fewest values of an attribute among the persons who are alike on all the others."""
    if group.values_of_person is None:
        raise NotShownError("which values of several attributes belong to one person is not published")
    if any(len(values) != 1 for own in group.values_of_person for values in own.values()):
        raise NotShownError("it is defined for one value of each attribute per person")
    fewest = math.inf
    for name in view.attributes:
        alike: dict[Any, set[Cell]] = {}
        for own in group.values_of_person:
            others = tuple(own[other] for other in view.attributes if other != name)
            alike.setdefault(others, set()).update(own[name])
        fewest = min(fewest, *(len(values) for values in alike.values()))
    return Fraction(int(fewest)), fewest >= asked["l"]


NO_POPULATION = "persons of the population are counted in a table of it, or by weights, which are not published"


def average_risk(group: Group, asked: Parameters, view: View) -> Answer:
    """Over all persons the mean of one divided by the persons of the group: the same for each group."""
    reached = Fraction(len(view.groups), sum(_persons(own) for own in view.groups))
    return reached, reached <= _number(asked["r"])


def no_attack(group: Group, asked: Parameters, view: View) -> Answer:
    if asked.get("attacker", "prosecutor") != "prosecutor":
        raise NotShownError(NO_POPULATION)
    return Fraction(_persons(group)), _number(asked["gain"]) < _number(asked["cost"]) * _persons(group)


def k_map(group: Group, asked: Parameters, view: View) -> Answer:
    """By an estimator that asks for persons of the table: as many as a class of k persons hardly ever shows."""
    if asked.get("estimator") not in ("poisson", "zero-truncated"):
        raise NotShownError(NO_POPULATION)
    is_poisson, k = asked["estimator"] == "poisson", int(asked["k"])
    rate, sure = float(k * _number(asked["fraction"])), 1 - float(asked.get("significance", 0.01))
    shown = 1.0 if is_poisson else 1 - math.exp(-rate)
    n, total = 0 if is_poisson else 1, 0.0
    while total < sure:
        total += math.exp(-rate) * rate**n / math.factorial(n) / shown
        n += 1
    least = min(k, n + 1 if is_poisson else n)
    return Fraction(_persons(group) * k, least), _persons(group) >= least


def population_uniqueness(group: Group, asked: Parameters, view: View) -> Answer:
    if any(_persons(own) == 1 for own in view.groups):
        raise NotShownError("somebody is alone in a group, and how many are so in the population only weights tell")
    if "fraction" in asked:
        return Fraction(0), True  # who is not alone here is not alone in the population
    raise BoundError(float(_number(asked["share"])))


def expected_reidentifications(group: Group, asked: Parameters, view: View) -> Answer:
    if len(view.groups) > _number(asked["n"]):
        raise NotShownError("how many persons of the population each one stands for is not published")
    raise BoundError(float(asked["n"]))  # of each group one person is expected to be found at the most


def delta_presence(group: Group, asked: Parameters, view: View) -> Answer:
    raise NotShownError(NO_POPULATION)


HIDDEN = "*"
"""What stands for a value that is hidden so that nobody is found by their own records."""

Item = tuple[Any, ...]
"""What one known thing is: a column and its value, or what a record shows of several."""


def _items(records: Sequence[Mapping[str, Cell]], columns: Sequence[str], knows: str) -> list[Item]:
    """What the records of a person show; an item shown twice is there twice, and what is hidden shows nothing."""
    if knows == "values":
        return [(name, record[name]) for record in records for name in columns if record[name] != HIDDEN]
    rows = [tuple(record[name] for name in columns) for record in records]
    return [row for row in rows if any(value != HIDDEN for value in row)]


def _combinations(items: Sequence[Item], m: int) -> set[tuple[Item, ...]]:
    """All multisets of at most m items, the empty one too."""
    ordered = sorted(items, key=repr)
    return {chosen for size in range(m + 1) for chosen in itertools.combinations(ordered, size)}


def _histories_of(group: Group) -> list[list[dict[str, Cell]]]:
    if group.histories is None:
        raise NotShownError("which records belong to one person is not published")
    return group.histories


def _of_histories(count: Callable[[list[list[dict[str, Cell]]], Parameters, list[str]], Answer]) -> Any:
    """A model that counts the histories of a group, or of all where nobody knows quasi-identifiers."""

    def answer(group: Group, asked: Parameters, view: View) -> Answer:
        columns = list(asked.get("columns") or view.attributes)
        if asked.get("knows", "values") not in ("values", "records") or not set(columns) <= set(view.attributes):
            raise NotShownError("this program knows values and records, not their times and order")
        if asked.get("with_quasi", True):
            return count(_histories_of(group), asked, columns)
        key = f"{count.__name__} {json.dumps(asked, sort_keys=True)}"
        if key not in view.of_all:
            everybody = [own for each in view.groups for own in _histories_of(each)]
            view.of_all[key] = count(everybody, asked, columns)
        return view.of_all[key]

    return answer


def _who_shows(
    persons: Sequence[Sequence[Mapping[str, Cell]]], asked: Parameters, columns: Sequence[str]
) -> dict[tuple[Item, ...], set[int]]:
    """Who shows each combination of as many items as are known."""
    shown: dict[tuple[Item, ...], set[int]] = {}
    for number, records in enumerate(persons):
        items = _items(records, columns, asked.get("knows", "values"))
        for combination in _combinations(items, int(asked.get("m", 1))):
            shown.setdefault(combination, set()).add(number)
    return shown


def history_k(persons: list[list[dict[str, Cell]]], asked: Parameters, columns: list[str]) -> Answer:
    """The fewest persons who show any combination; hidden values are shared where that is promised."""
    k = _number(asked["k"])
    fewest = min(len(who) for who in _who_shows(persons, asked, columns).values())
    holds = fewest >= k
    if asked.get("hidden") == "shared":
        holds = holds and (_hides_enough(persons, asked, columns) or _as_values(persons, asked, columns) >= k)
    return Fraction(fewest), holds


def _hides_enough(persons: list[list[dict[str, Cell]]], asked: Parameters, columns: list[str]) -> bool:
    """Whether nothing is hidden, or k persons hide as much as is known, or as anybody has records."""
    m, n_hiding = min(int(asked.get("m", 1)), max(len(records) for records in persons)), 0
    if not any(record[name] == HIDDEN for records in persons for record in records for name in columns):
        return True
    for records in persons:
        hidden = [[record[name] == HIDDEN for name in columns] for record in records]
        if asked.get("knows", "values") == "values":
            n_hiding += all(sum(row[place] for row in hidden) >= m for place in range(len(columns)))
        else:
            n_hiding += sum(all(row) for row in hidden) >= m
    return n_hiding >= _number(asked["k"])


def _as_values(persons: list[list[dict[str, Cell]]], asked: Parameters, columns: list[str]) -> int:
    """The fewest persons who show any combination where what is hidden is a value like any other."""
    hidden = "\u2217 hidden"
    named = [
        [{name: hidden if record[name] == HIDDEN else record[name] for name in columns} for record in records]
        for records in persons
    ]
    return min(len(who) for who in _who_shows(named, asked, columns).values())


def history_confidence(persons: list[list[dict[str, Cell]]], asked: Parameters, columns: list[str]) -> Answer:
    """The largest share of those who show a combination that shows another item."""
    reached = Fraction(0)
    held = [set(_items(records, columns, asked.get("knows", "values"))) for records in persons]
    for combination, who in _who_shows(persons, asked, columns).items():
        further = Counter(item for number in who for item in held[number] if item not in combination)
        reached = max([reached, *(Fraction(n, len(who)) for n in further.values())])
    return reached, reached <= _number(asked["c"])


def count_k(group: Group, asked: Parameters, view: View) -> Answer:
    """The fewest persons who have any one number of records."""
    fewest = min(Counter(_spread(group)).values())
    return Fraction(fewest), fewest >= _number(asked["k"])


OF_GROUPS: dict[str, tuple[Callable[[Group, Parameters, View], Answer], bool, str]] = {
    "g-balance": (g_balance, True, "g"),
    "record-risk": (record_risk, False, "rho"),
    "entropy-balance": (entropy_balance, True, "k"),
    "k-anonymity": (k_anonymity, True, "k"),
    "person-k-anonymity": (person_k_anonymity, True, "k"),
    "subset-k": (person_k_anonymity, True, "k"),  # who fits all quasi-identifiers fits any few of them
    "joint-diversity": (joint_diversity, True, "l"),
    "exponential-l": (exponential_l, True, "l"),
    "average-risk": (average_risk, False, "r"),
    "no-attack": (no_attack, True, "gain"),
    "k-map": (k_map, True, "k"),
    "population-uniqueness": (population_uniqueness, False, "share"),
    "expected-reidentifications": (expected_reidentifications, False, "n"),
    "delta-presence": (delta_presence, False, "high"),
    "history-k": (_of_histories(history_k), True, "k"),
    "history-confidence": (_of_histories(history_confidence), False, "c"),
    "count-k": (count_k, True, "k"),
}
"""Models of a group as a whole: how it is counted, whether more is safer, and the parameter that is the threshold."""

OF_ATTRIBUTES: dict[str, tuple[Callable[[Group, Parameters, View, str], Answer], bool, str]] = {
    "h-affiliation": (h_affiliation, False, "h"),
    "l-diversity": (l_diversity, True, "l"),
    "t-closeness": (t_closeness, False, "t"),
    "alpha-k-anonymity": (alpha_k_anonymity, False, "alpha"),
    "beta-likeness": (beta_likeness, False, "beta"),
    "delta-disclosure": (delta_disclosure, False, "delta"),
}
"""Models of one sensitive attribute, or of each of them."""

OF_ALL_ATTRIBUTES = ("joint-diversity", "exponential-l")
OF_HISTORIES = ("history-k", "history-confidence", "count-k")
OF_SPREAD = ("g-balance", "record-risk", "entropy-balance")


def _number(written: Any) -> Fraction:
    """A threshold as it was written: 0.8 is 4/5."""
    return Fraction(str(written))


@dataclass
class Recounted:
    """What was promised, and what was recounted of it."""

    name: str
    asked: Any
    reached: Number | None
    holds: bool
    why: str = ""
    """Why it was not recounted, or from what."""
    is_recounted: bool = True

    def to_dict(self) -> dict[str, Any]:
        is_finite = self.reached is not None and math.isfinite(self.reached)
        return {
            "name": self.name, "asked": self.asked, "reached": float(self.reached or 0) if is_finite else None,
            "exact": str(self.reached) if isinstance(self.reached, Fraction) else None,
            "holds": self.holds, "recounted": self.is_recounted, "why": self.why,
        }  # fmt: skip


def recount(published: Published) -> list[Recounted]:
    """Recount every promise of the codebook."""
    views = look(published)
    return [_recounted(model, views, published) for model in published.book["models"]]


def _recounted(model: Mapping[str, Any], views: Sequence[View], published: Published) -> Recounted:
    name, asked = str(model["name"]), model["parameters"]
    if name not in OF_GROUPS and name not in OF_ATTRIBUTES:
        return Recounted(name, model["asked"], None, False, "this program does not recount it", is_recounted=False)
    _, more_is_safer, parameter = (OF_GROUPS | OF_ATTRIBUTES)[name]
    threshold = asked[parameter]
    try:
        if not views:
            raise NotShownError("no groups can be seen")
        if name in OF_SPREAD and published.identities_visible:
            raise NotShownError("quasi-identifiers are published as they are, so that a group hides nobody")
        answers = list(_answers(name, asked, views))
    except NotShownError as why:
        return Recounted(name, threshold, None, False, str(why), is_recounted=False)
    worst = (min if more_is_safer else max)(reached for reached, _, _ in answers)
    by_bound = any(is_bound for _, _, is_bound in answers)
    return Recounted(
        name, threshold, worst, all(holds for _, holds, _ in answers), "by a bound that is safe" if by_bound else ""
    )


def _answers(name: str, asked: Parameters, views: Sequence[View]) -> Iterable[tuple[Number, bool, bool]]:
    """What every group of every view says of a model: reached, whether it holds, and whether only by a bound."""
    column = asked.get("column")
    is_asked = False
    for view in views:
        attributes = view.attributes if column is None else [each for each in view.attributes if each == column]
        if (name in OF_ATTRIBUTES and not attributes) or (name in OF_ALL_ATTRIBUTES and not view.is_whole):
            continue
        is_asked = True
        for group in view.groups:
            try:
                if name in OF_GROUPS:
                    yield *OF_GROUPS[name][0](group, asked, view), False
                else:
                    for attribute in attributes:
                        yield *OF_ATTRIBUTES[name][0](group, asked, view, attribute), False
            except BoundError as bound:
                yield bound.reached, True, True
    if not is_asked:
        raise NotShownError("no sensitive attribute that it is about is published")


# What is said


def main(arguments: Sequence[str] | None = None) -> int:
    """Recount a release, say what was found, and give the exit code."""
    parser = argparse.ArgumentParser(description="Recount what a release promises, from its published files alone.")
    parser.add_argument("release", type=Path, help="the folder that was received, or the published file in it")
    parser.add_argument("--codebook", type=Path, help="the codebook, where it is not beside the release")
    parser.add_argument("--json", action="store_true", help="answer with one JSON object on one line")
    given = parser.parse_args(arguments)
    try:
        published = read_release(given.release, given.codebook)
        promises = recount(published)
    except (UnreadableError, KeyError, TypeError, AttributeError, ValueError) as error:
        told = str(error) if isinstance(error, UnreadableError) else "The codebook does not tell what is needed."
        print(json.dumps({"error": told}) if given.json else f"Cannot be recounted: {told}",
              file=sys.stdout if given.json else sys.stderr)  # fmt: skip
        return UNREADABLE
    problems = list(dict.fromkeys(published.problems))
    holds = all(promise.holds for promise in promises) and bool(promises) and not problems
    if given.json:
        told_models = [promise.to_dict() for promise in promises]
        print(json.dumps({"holds": holds, "models": told_models, "problems": problems, "notes": published.notes}))
    else:
        _show(promises, problems, published.notes, holds)
    return KEPT if holds else NOT_KEPT


def _show(promises: Sequence[Recounted], problems: Sequence[str], notes: Sequence[str], holds: bool) -> None:
    rows = [("promise", "asked", "reached", "", "")]
    for promise in promises:
        verdict = "kept" if promise.holds else "NOT KEPT" if promise.is_recounted else "not recounted"
        reached = "-" if promise.reached is None else f"{float(promise.reached):.6g}"
        rows.append((promise.name, str(promise.asked), reached, verdict, promise.why))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3].ljust(widths[3])]
        print("  ".join([*cells, row[4]]).rstrip())
    for note in notes:
        print(f"Note: {note}")
    for problem in problems:
        print(f"Problem: {problem}")
    unseen = [promise.name for promise in promises if not promise.is_recounted]
    if holds:
        print("Every promise was recounted from the published files and is kept.")
    elif not problems and all(promise.holds or not promise.is_recounted for promise in promises):
        print(f"What can be recounted is kept. Not recounted, so not known to be kept: {', '.join(unseen)}.")
    else:
        print("The release does NOT keep its promises.")


if __name__ == "__main__":
    sys.exit(main())
