"""A release as whoever received it reads it: by its codebook, with ranges as numbers and sets as lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from shoal.errors import InputError, ParameterError
from shoal.masking.shown_labels import DATE, NUMBER, OR_MISSING
from shoal.publishing.codebook import CODEBOOK, read_codebook
from shoal.publishing.read import lies_in, read_as_published
from shoal.reading import CsvOptions
from shoal.table.label_sets import EVERYTHING, IN_QUOTES, labels_in

Ranges = Literal["columns", "intervals", "texts"]
RANGES = ("columns", "intervals", "texts")
OF_NUMBERS = frozenset({"mean", "noise"})


@dataclass(frozen=True, repr=False)
class Received:
    """The published tables of a release, and its codebook."""

    data: pl.DataFrame | None = field(repr=False)
    """The published table; None where several related tables were published, which stand in `tables`."""
    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    """The sensitive tables beside `data`, by attribute, or the related tables by name."""
    codebook: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        """What was read, by name and size."""
        of_data = {} if self.data is None else {"data": self.data}
        shown = [f"  {name}: {table.height:,} records of {table.width} columns" for name, table in self._all(of_data)]
        return "\n".join([f"Received: mask {self.codebook.get('mask', 'unknown')}", *shown])

    def _all(self, of_data: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, pl.DataFrame]]:
        yield from of_data.items()
        yield from ((f"tables['{name}']", table) for name, table in self.tables.items())


def read_release(folder: str | Path, *, ranges: Ranges = "columns") -> Received:
    """Read what may leave of a release folder, with the types that its codebook tells.

    Parameters
    ----------
    folder
        That of the release; `steward/` need not be there.
    ranges
        How ranges are given: "columns" (`age_lower` and `age_upper` in place of `age`), "intervals" (one column of
        both ends together), or "texts", as they are published.

    Raises
    ------
    InputError
        The folder has no codebook, or a file of it cannot be read.

    Notes
    -----
    An end that is hidden is empty; of `*` both are. Where some records of a column miss the value, `age_or_missing`
    says in which groups; where it is true and both ends are empty, all records of the group miss it. Sets are lists: an
    empty one stands for missing alone, an empty entry for missing beside others, and no list for any value. Records
    stand in a random order, not in that of the original.
    """
    if ranges not in RANGES:
        raise ParameterError(f"ranges must be one of: {', '.join(RANGES)}.")
    folder = Path(folder)
    book = read_codebook(folder)
    if book is None:
        raise InputError(
            f"'{folder}' holds no '{CODEBOOK}', which tells how its files are read. Name the folder of a release."
        )
    try:
        named = _tables_in(book)
        columns = {name: {str(entry["name"]): entry for entry in entries} for name, (_, entries) in named.items()}
        files = {name: file or _file_in(folder) for name, (file, _) in named.items()}
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"'{CODEBOOK}' does not tell which tables and columns the release has.") from None
    outside = [file for file in files.values() if not lies_in(folder, file)]
    if outside:
        raise InputError(f"'{CODEBOOK}' names {len(outside)} files outside its folder.")
    read = {
        name: _typed(read_as_published(folder / file, csv=CsvOptions()).frame, columns[name], ranges)
        for name, file in files.items()
    }
    return Received(read.pop("", None), read, book)


def _tables_in(book: Mapping[str, Any]) -> dict[str, tuple[str | None, list[Mapping[str, Any]]]]:
    """The file and the columns of each table; that of the records has no name, and its file is found."""
    if "star" in book:
        return {str(name): (str(table["file"]), list(table["columns"])) for name, table in book["star"].items()}
    beside: dict[str, tuple[str | None, list[Mapping[str, Any]]]] = {
        str(table["attribute"]): (str(table["file"]), []) for table in book.get("tables", [])
    }
    return {"": (None, list(book["columns"])), **beside}


def _file_in(folder: Path) -> str:
    """The published file of a folder, or the folder of its parts."""
    found = sorted(path.name for path in folder.glob("release.*"))
    if len(found) != 1:
        raise InputError(f"'{folder}' holds {len(found)} files 'release.*', where one is expected.")
    return found[0]


def _typed(frame: pl.DataFrame, columns: Mapping[str, Mapping[str, Any]], ranges: Ranges) -> pl.DataFrame:
    shown: list[pl.Series] = []
    for values in frame.get_columns():
        entry = columns.get(values.name, {})
        form, kind = entry.get("form"), entry.get("kind")
        if form == "range" and ranges != "texts":
            shown += _of_range(values, str(kind), together=ranges == "intervals")
        elif form == "set" and ranges != "texts":
            shown.append(_of_set(values))
        elif form in OF_NUMBERS and kind == "number":
            shown.append(values.cast(pl.Float64, strict=False) if values.dtype == pl.String else values)
        elif form in ("pseudonym", "key", "node", "label", "agreed", "range", "set"):
            shown.append(values.cast(pl.String))
        else:
            shown.append(_of_values(values))
    return pl.DataFrame(shown)


def _of_range(values: pl.Series, kind: str, *, together: bool) -> Iterator[pl.Series]:
    """The two ends of ranges, and which groups have missing values, where any has."""
    name, texts = values.name, values.cast(pl.String)
    or_missing = texts.str.ends_with(OR_MISSING).fill_null(True)
    value = {"number": NUMBER, "date": DATE}.get(kind, f"{IN_QUOTES}|(?s:.+?)")
    between = " to |-" if kind in ("number", "date") else " to "
    plain = texts.str.strip_suffix(OR_MISSING)
    plain = plain.set(plain == EVERYTHING, None)
    ends = plain.str.extract_groups(f"^(?:at least ({value})|({value}) or less|({value})(?:(?:{between})({value}))?)$")
    at_least, or_less, low, high = (part.alias(name) for part in ends.struct.unnest().get_columns())
    lower, upper = low.fill_null(at_least), high.fill_null(low).fill_null(or_less)
    lower, upper = (_of_kind(end, kind) for end in (lower, upper))
    if together:
        yield pl.DataFrame({"lower": lower, "upper": upper}).to_struct(name)
    else:
        yield from (lower.alias(f"{name}_lower"), upper.alias(f"{name}_upper"))
    if or_missing.any():
        yield or_missing.alias(f"{name}_or_missing")


def _of_kind(ends: pl.Series, kind: str) -> pl.Series:
    if kind == "date":
        return ends.str.to_date("%Y-%m-%d", strict=False)
    if kind != "number":
        quoted = ends.str.starts_with('"').fill_null(False)
        return ends.str.slice(1, ends.str.len_chars() - 2).str.replace_all('""', '"').zip_with(quoted, ends)
    numbers = ends.cast(pl.Float64, strict=False)
    whole = numbers.cast(pl.Int64, strict=False)
    return whole if (numbers.drop_nulls() == whole.cast(pl.Float64).drop_nulls()).all() else numbers


def _of_set(values: pl.Series) -> pl.Series:
    """Sets of categories as lists."""
    shown = [[] if text is None else labels_in(text) for text in values.cast(pl.String)]
    return pl.Series(values.name, shown, dtype=pl.List(pl.String))


def _of_values(values: pl.Series) -> pl.Series:
    """Texts of a CSV file as numbers or dates, where each is written as that number or date would be."""
    if values.dtype != pl.String or values.null_count() == len(values):
        return values
    days = values.str.to_date("%Y-%m-%d", strict=False)
    for read in (values.cast(pl.Int64, strict=False), values.cast(pl.Float64, strict=False), days):
        if read.cast(pl.String).eq_missing(values).all():
            return read
    return values
