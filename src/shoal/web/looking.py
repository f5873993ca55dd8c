"""A first look at the files: read exactly, kept for quick looks, and what is odd about them.

`look` runs in the other process; what it gives is small, and of values it holds only those that it suggests to mend.
`AloneInTable` answers while the steward ticks columns: how many persons are unique on them.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError
from shoal.table.spelling import OF_PERSONS, OF_VALUES, TEXTS, spelled
from shoal.web.project import ONE_OF, ColumnChoice, Project, SourceFile

if TYPE_CHECKING:
    from shoal.reading import Reading
    from shoal.table.profile import ColumnProfile, Profile
    from shoal.web.jobs import Tell
N_PREVIEW = 20
MOST_CATEGORIES = 2000
"""Columns with more different values are not searched for spellings."""
NEARLY_IDENTIFIES = 0.5
HEAVY = 0.05


def look(project: Project, tell: Tell) -> dict[str, Any]:
    """Read the files, keep the table as Parquet, and say what it holds and what is odd about it."""
    from shoal.policy.numbers import exact_decimal
    from shoal.reading.detect import found_of
    from shoal.reading.to_mend import suggestions
    from shoal.table.profile import profile

    tell("Reading the files", 0.05)
    reading = project.read()
    tell("Keeping the table", 0.4)
    _keep(project, reading.frame)
    tell("Looking at the columns", 0.5)
    seen = profile(reading.frame, person=project.chosen.persons_key)
    tell("Looking for what is odd", 0.7)
    oddities = list(odd_about(reading, seen))
    source = reading.source
    tell("Looking for what could be mended", 0.9)
    told = seen.to_dict()
    return {
        **told,
        "columns": [{**column, "direct": _names_persons(column["topic"])} for column in told["columns"]],
        "person": seen.person,
        "table_of": project.table_of_columns(),
        "format": source.format,
        "csv": None if source.csv is None else asdict(source.csv),
        "found": found_of(reading),
        "findings": [finding.to_dict() for finding in reading.findings],
        "mended": list(reading.mended or ()),
        "suggestions": [each.to_dict() for each in suggestions(reading.frame, seen)],
        "notes": list(reading.notes),
        "odd": oddities,
        "record_risk": str(exact_decimal(seen.record_risk)),
        "h_affiliation": None if seen.h_affiliation is None else str(exact_decimal(seen.h_affiliation)),
    }


def relate(project: Project, tell: Tell) -> dict[str, Any]:
    """Read the files each by itself, and say how they seem to hang together: keys and links, as names and values go."""
    from shoal.publishing.related import suggested_tables
    from shoal.reading.read import read_each

    tell("Reading the files", 0.05)
    chosen = project.chosen
    readings = read_each(project.source_paths(), csv=chosen.csv, **chosen.read_as)
    tell("Looking for keys", 0.6)
    names = table_names([source.name for source in chosen.sources])
    frames = {name: reading.frame for name, reading in zip(names, readings, strict=True)}
    found = suggested_tables(frames)
    return {
        "tables": {
            name: {
                "file": source.name,
                **({"key": found[name].key} if found[name].key else {}),
                **({"links": dict(found[name].links)} if found[name].links else {}),
            }
            for name, source in zip(names, chosen.sources, strict=True)
        }
    }


def table_names(files: Sequence[str]) -> list[str]:
    """Names of tables by their files: without endings, each once."""
    names: list[str] = []
    for file in files:
        plain = file.split(".")[0] or file
        names.append(plain if plain not in names else file)
    return names


def _names_persons(topic: str) -> str | None:
    """What a column holds that names persons by itself or is free text, in words; None where it does not."""
    from shoal.table.roles import TOPICS

    known = TOPICS.get(topic)
    return known.told if known is not None and known.is_direct else None


def _keep(project: Project, frame: pl.DataFrame) -> None:
    target = project.table_file
    part = target.with_suffix(".part")
    frame.write_parquet(part, compression="lz4")
    part.chmod(0o600)
    for old in target.parent.glob("table-*.parquet"):
        old.unlink(missing_ok=True)
    part.replace(target)


# What is odd


def odd_about(reading: Reading, seen: Profile) -> Iterator[dict[str, Any]]:
    """What a steward should look at: a column (or none), words with counts and lines, and how serious it is."""
    from shoal.reading.mend import lookalikes

    frame = reading.frame
    yield from _odd_about_persons(frame, seen)
    n_same = frame.height - frame.n_unique()
    if n_same:
        yield _odd(None, "info", f"{n_same:,} of {frame.height:,} records repeat another record exactly.")
    pairs = _persons_of(frame, seen)
    alike = lookalikes(frame)
    for column in seen.columns:
        yield from _odd_about_column(reading, column, pairs, seen)
        if frame[column.name].dtype == pl.String:
            yield from _odd_texts(column, frame[column.name], alike)


def _odd(column: str | None, tone: str, words: str, **more: Any) -> dict[str, Any]:
    return {"column": column, "tone": tone, "words": words, **more}


def _odd_about_persons(frame: pl.DataFrame, seen: Profile) -> Iterator[dict[str, Any]]:
    if seen.person is None:
        yield _odd(
            None, "warn", "No column seems to name the person, so each record counts as a person of its own. If "
            "persons have several records, choose the column that names them on the next page: risk is far higher then."
        )  # fmt: skip
        return
    heaviest = int(frame[seen.person].rename("person").value_counts()["count"].max())  # type: ignore[arg-type]
    if heaviest > HEAVY * frame.height and heaviest > 1:
        share = heaviest / frame.height
        yield _odd(
            seen.person, "warn", f"One person has {heaviest:,} records, {share:.0%} of the table. Such a person is "
            "hard to hide among others."
        )  # fmt: skip


def _persons_of(frame: pl.DataFrame, seen: Profile) -> pl.Series:
    if seen.person is None:
        return pl.Series("person", range(frame.height), dtype=pl.UInt32)
    return _codes(frame[seen.person])


def _odd_about_column(
    reading: Reading, column: ColumnProfile, persons: pl.Series, seen: Profile
) -> Iterator[dict[str, Any]]:
    values = reading.frame[column.name]
    n_records = len(values)
    if column.missing:
        share = column.missing / n_records
        advice = " A missing value is treated as a value of its own." if share < NEARLY_IDENTIFIES else (
            " More than half is missing: consider dropping the column."
        )  # fmt: skip
        yield _odd(column.name, "info" if share < NEARLY_IDENTIFIES else "warn",
                   f"{column.missing:,} of {n_records:,} values are missing.{advice}")  # fmt: skip
    if column.distinct <= 1 and n_records > 1:
        what = "has no value at all" if column.distinct == 0 else "has the same value in every record"
        yield _odd(column.name, "info", f"It {what}, so it tells nothing. Drop it, or keep it as it is.")
        return
    if column.kind == "mixed":
        yield _mixed(reading, values)
    if column.role != "person":
        yield from _nearly_identifies(column, values, persons, seen)
    if column.role == "quasi" and seen.person is not None:
        yield from _changing(column, values, persons, seen)


def _mixed(reading: Reading, values: pl.Series) -> dict[str, Any]:
    is_text = values.is_not_null() & values.cast(pl.Float64, strict=False).is_null()
    n_texts = int(is_text.sum())
    record = is_text.arg_max() or 0
    line = reading.line_of_record(record)
    place = f"line {line:,}" if line is not None else f"record {record + 1:,}"
    n_numbers = len(values) - values.null_count() - n_texts
    return _odd(
        values.name, "warn", f"{n_numbers:,} numbers are mixed with {n_texts:,} texts, the first in {place}. It is "
        "taken as categories, unless the texts are mended or mean that the value is missing."
    )  # fmt: skip


def _nearly_identifies(
    column: ColumnProfile, values: pl.Series, persons: pl.Series, seen: Profile
) -> Iterator[dict[str, Any]]:
    if column.distinct * 4 < seen.persons:
        return
    pairs = pl.DataFrame({"person": persons, "value": values}).drop_nulls("value").unique()
    alone = pairs.group_by("value").agg(pl.len().alias("n"), pl.col("person").first()).filter(pl.col("n") == 1)
    n_alone = alone["person"].n_unique()
    if n_alone > NEARLY_IDENTIFIES * seen.persons:
        yield _odd(
            column.name, "bad" if n_alone > 0.9 * seen.persons and column.role != "quasi" else "warn",
            f"It nearly identifies persons: {n_alone:,} of {seen.persons:,} persons have a value that nobody else has.",
        )  # fmt: skip


def _changing(column: ColumnProfile, values: pl.Series, persons: pl.Series, seen: Profile) -> Iterator[dict[str, Any]]:
    pairs = pl.DataFrame({"person": persons, "value": values}).unique()
    n_several = pairs.group_by("person").len().filter(pl.col("len") > 1).height
    if n_several and n_several < seen.persons / 4:
        yield _odd(column.name, "info", f"{n_several:,} of {seen.persons:,} persons have more than one value in it.")


def _odd_texts(column: ColumnProfile, values: pl.Series, alike: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Spellings that no suggestion to mend is about: of many categories, or by signs that cannot be seen."""
    if column.kind != "nominal" or column.distinct > MOST_CATEGORIES or column.name in alike:
        return
    distinct = values.drop_nulls().unique()
    n_forms = len(distinct) - spelled(distinct, OF_VALUES).n_unique()
    if n_forms > 0:
        yield _odd(column.name, "warn", f"{n_forms:,} of {len(distinct):,} categories differ from another one only "
                   "by capital letters, blanks or signs that cannot be seen. Where others may know it, they count "
                   "as different categories; where nobody may learn it, as one.")  # fmt: skip


# Suggestions


def take_suggestions(project: Project) -> list[str]:
    """Give columns that have no choice yet the role and kind that the look suggests; keep what was chosen.

    Returns the columns that had a role and are not in the table: a policy for another table, or another file.
    """
    result = project.result("look")
    if result is None or result.is_stale:
        return []
    chosen = project.chosen
    seen = result.data["columns"]
    here = {column["name"] for column in seen}
    kept = {column.name: column for column in chosen.columns if column.name in here and _is_chosen(column)}
    taken = {column.role for column in kept.values() if column.role in ONE_OF}
    columns = tuple(
        kept.get(column["name"]) or suggested(column, taken=taken, is_left_open=chosen.is_policy_given)
        for column in seen
    )
    if columns == chosen.columns:
        return []
    changes: dict[str, Any] = {"columns": columns}
    if not chosen.protection or not (kept or chosen.is_policy_given):  # a new table: limits that it can meet
        changes["protection"] = first_protection(result.data)
    project.update(seen=chosen.version, **changes)
    return [column.name for column in chosen.columns if column.role and column.name not in here]


def _is_chosen(column: ColumnChoice) -> bool:
    """Whether a steward has said something of a column; else it is as was suggested, and may be suggested anew."""
    return column.is_confirmed or not column.role or column.hierarchy is not None or column.order is not None


def told_lost(names: Sequence[str]) -> str:
    """Words for columns that had a role and are not in the table."""
    return (
        f"{len(names)} columns of the policy are not in this table: {', '.join(names)}. They were left out of the "
        "policy. Look at the roles of the others on the page Columns."
    )


def suggested(column: Mapping[str, Any], *, taken: Collection[str] = (), is_left_open: bool = False) -> ColumnChoice:
    """What the look suggests for a column.

    A role of which there is one only and that is taken, and a column that a given policy does not name, are left to the
    steward.
    """
    kind = "nominal" if column["kind"] == "mixed" else column["kind"]
    return ColumnChoice(column["name"], "" if is_left_open or column["role"] in taken else column["role"], kind)


def first_protection(look: Mapping[str, Any]) -> dict[str, Any]:
    """Limits that the whole table can meet, so that the policy runs as it is: those of `shoal profile`."""
    models = {"record-risk": look["record_risk"]}
    if look["h_affiliation"] is not None:
        models["h-affiliation"] = look["h_affiliation"]
    return {"models": models, "method": {"name": "balance-tree"}, "mask": {"name": "range"}}


# Quick looks


def preview(project: Project) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The first few records."""
    head = project.table().head(N_PREVIEW).collect()
    return head.columns, head.rows()


class AloneInTable:
    """How many persons are unique on some columns: nobody else shares some combination of their values.

    Columns are read from the kept table when they are first asked for and stay as numbers, so that a tick of a box
    takes a moment for a million records too. May be asked from several threads.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._file = project.table_file
        self._columns: dict[tuple[str, str], pl.Series] = {}
        self._found: dict[tuple[str | None, str, tuple[str, ...]], tuple[int, int]] = {}
        self._lock = threading.Lock()

    @property
    def is_current(self) -> bool:
        """Whether the table is still the one that was counted."""
        return self._file == self._project.table_file

    def count(self, person: str | None, columns: Sequence[str]) -> tuple[int, int]:
        """How many persons are unique on the columns, and how many persons there are."""
        spellings = {column.name: column.spelling for column in self._project.chosen.columns}
        spelling = spellings.get(str(person)) or OF_PERSONS
        key = (person, spelling, tuple(sorted(set(columns) - {person})))
        with self._lock:
            if key not in self._found:
                self._found[key] = self._count(*key)
            return self._found[key]

    def _count(self, person: str | None, spelling: str, columns: Sequence[str]) -> tuple[int, int]:
        coded = [self._column(name).alias(f"c{place}") for place, name in enumerate(columns)]
        if person is None:
            n_records = coded[0].len() if coded else int(self._project.table().select(pl.len()).collect().item())
            persons = pl.Series("person", range(n_records), dtype=pl.UInt32)
        else:
            persons = self._column(person, spelling).alias("person")
        n_persons = persons.n_unique()
        if not coded:
            return 0, n_persons
        names = [column.name for column in coded]
        pairs = pl.DataFrame([persons, *coded])
        pairs = pairs if person is None else pairs.unique()
        alone = pairs.group_by(names).agg(pl.len().alias("n"), pl.col("person").first()).filter(pl.col("n") == 1)
        return alone["person"].n_unique(), n_persons

    def _column(self, name: str, spelling: str = "exact") -> pl.Series:
        key = (name, spelling)
        if key not in self._columns:
            if not self._file.is_file():
                raise InputError("The files were not read yet. Read them on the page Data.")
            values = pl.scan_parquet(self._file, glob=False).select(name).collect().to_series()
            self._columns[key] = _codes(spelled(values, spelling) if values.dtype in TEXTS else values)
        return self._columns[key]


def _codes(values: pl.Series) -> pl.Series:
    """Equal numbers for equal values; missing stays missing, which is a value of its own."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.dtype == pl.String:
        values = values.cast(pl.Categorical)
    if values.dtype in (pl.Categorical, pl.Enum):
        return values.to_physical()
    return values


SAMPLE_BYTES = 1 << 18


def columns_of(project: Project, source: SourceFile) -> list[str]:
    """The names of the columns of a file of records or persons; none where it cannot be read so."""
    return columns_in(project, project.folder / "sources" / source.name)


def columns_in(project: Project, path: Path) -> list[str]:
    """The names of a file's columns, from its beginning; none where it cannot be read so."""
    from shoal.errors import ShoalError
    from shoal.reading import format_of, read
    from shoal.reading.packed import opened

    try:
        format = format_of(path)
        if format.name == "parquet":
            return list(pl.read_parquet_schema(path))
        if not format.is_text:
            return read(path, **project.chosen.read_as).frame.columns
        with opened(path, project.chosen.csv.get("member")) as file:
            start = file.read(SAMPLE_BYTES)
        if len(start) == SAMPLE_BYTES:
            start = start[: start.rfind(b"\n") + 1]
        sample = project.folder / "cache" / f"start-{secrets.token_hex(6)}.csv"
        sample.write_bytes(start)
        try:
            of_columns = ("member", "date_format", "missing_in")
            told = {key: value for key, value in project.chosen.csv.items() if key not in of_columns}
            return read(sample, csv=told).frame.columns
        finally:
            sample.unlink(missing_ok=True)
    except (ShoalError, OSError, pl.exceptions.PolarsError):
        return []


def parts_of(project: Project, source: SourceFile) -> tuple[str, list[str]]:
    """What a file has several of, "sheet" or "member", and their names; none of a file that is one table."""
    from shoal.reading.excel import Excel, sheets_of
    from shoal.reading.packed import members_of

    path = project.folder / "sources" / source.name
    if path.suffix.lower() in Excel.endings:
        return "sheet", sheets_of(path)
    return "member", members_of(path)


# Databases


def read_database_into(
    project: Project, tell: Tell, *, address: str, table: str | None = None, query: str | None = None
) -> dict[str, Any]:
    """Read a table or a query of a database, and keep it as a file of the project; the address is not kept."""
    from shoal.reading import read_database
    from shoal.reading.sql import parse_address

    tell("Reading from the database", 0.1)
    reading = read_database(address, table=table, query=query)
    named = table or parse_address(address).table or "query"
    tell("Keeping the table", 0.8)
    part = project.folder / "sources" / f".{secrets.token_hex(8)}.part"
    try:
        reading.frame.write_parquet(part)
        name = re.sub(r"[^\w-]+", "-", named).strip("-") or "table"
        return asdict(project.add_file(part, f"{name}.parquet"))
    finally:
        part.unlink(missing_ok=True)
