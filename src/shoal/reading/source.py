"""What reading hands over: a frame, where it came from, and what there is to say about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError, ParameterError
from shoal.reading.labels import Labels
from shoal.table.date_forms import check_form
from shoal.table.frames import refuse_patterns

if TYPE_CHECKING:
    from shoal.reading.contract import Format

DATABASE = "database"
"""The format of a table of a database, which is no file: `sql.py` reads it by its address."""


@dataclass(frozen=True, kw_only=True)
class CsvOptions:
    """How a CSV file is written, so far as it cannot be seen in the file itself.

    Parameters
    ----------
    delimiter
        The one character between two fields; `None` finds it among comma, semicolon, tab and bar from the first lines.
    encoding
        A Python codec name such as "utf-8", "latin-1", "cp1252" or "utf-16".
    quote
        The one character around a field that holds delimiters or line ends; doubled inside. An empty string: none.
    decimal
        "," turns columns in which every value is a number with a decimal comma into numbers with a decimal point.
    missing
        The texts that mean a missing value, in every column.
    missing_in
        By column, further texts that mean a missing value there; in other columns they are values.
    thousands
        What stands between thousands: ".", ",", "'" or a space; an empty string for nothing.
    date_format
        How dates are written, by column: "dd.mm.yyyy", "mm/dd/yyyy", "yyyymmdd", "iso-week", "excel" for serial
        numbers, "text" to leave a column as it is. An empty name stands for all columns whose values are so written.
    header
        Whether the first line names the columns.
    member
        The file inside a zip file that holds several.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    quote: str = '"'
    decimal: str = "."
    missing: tuple[str, ...] = ("",)
    missing_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    thousands: str = ""
    date_format: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    member: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and not _is_one_plain_character(self.delimiter):
            raise ParameterError("The delimiter must be one ASCII character, and no line end. Leave it out to find it.")
        if self.quote and not _is_one_plain_character(self.quote):
            raise ParameterError("The quote must be one ASCII character, and no line end, or empty for none.")
        if self.quote and self.quote == self.delimiter:
            raise ParameterError("The delimiter and the quote must be two different characters.")
        if self.decimal not in (".", ","):
            raise ParameterError("The decimal sign must be '.' or ','.")
        if self.thousands not in ("", ".", ",", "'", " ") or self.thousands == self.decimal:
            raise ParameterError(
                "The sign between thousands must be '.', ',', an apostrophe, a space or empty, and no decimal sign."
            )
        object.__setattr__(self, "date_format", {column: check_form(form) for column, form in self.date_format.items()})
        marks: tuple[object, ...] = (self.missing, *self.missing_in.values())
        if any(isinstance(each, str) for each in marks):
            raise ParameterError("The texts that mean missing must be a tuple of texts, such as ('', 'NA').")
        object.__setattr__(self, "missing_in", {column: tuple(each) for column, each in self.missing_in.items()})
        if not _is_text_encoding(self.encoding):
            raise ParameterError(
                f"'{self.encoding}' is not a text encoding that Python knows. Use utf-8, latin-1, cp1252 or utf-16."
            )

    def means_missing(self, column: str) -> list[str]:
        """The texts that mean a missing value in a column."""
        return [*self.missing, *self.missing_in.get(column, ())]

    def written_in(self, encoding: str) -> CsvOptions:
        """How a file is written that was read so: in another encoding, which the reader of a release finds easier."""
        return replace(self, encoding=encoding)


def _is_one_plain_character(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"


def _is_text_encoding(name: str) -> bool:
    try:
        b"a".decode(name)
    except UnicodeError:  # one byte may be too few (utf-16), but the codec exists
        return True
    except (LookupError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Source:
    """The files that were read and how, so that a release can be written in the format of its input."""

    paths: tuple[Path, ...]
    format: str
    csv: CsvOptions | None = None
    shown: tuple[str, ...] = ()
    """What messages and the manifest call the sources, where they are not just files: tables of databases."""

    @property
    def name(self) -> str:
        """The file names in quotes, or what else names the sources, for messages."""
        return " and ".join(self.shown) or " and ".join(f"'{path.name}'" for path in self.paths)

    @property
    def written_as(self) -> str:
        """The format of a release of it: the same where shoal writes it; Parquet, which keeps types, of a database."""
        kind = self._kind
        return "parquet" if kind is None else kind.name if kind.is_written else kind.release_as

    @property
    def has_types(self) -> bool:
        """Whether its columns have types of their own, and are not texts of which types must be found."""
        return self._kind is None or not self._kind.is_text

    @property
    def _kind(self) -> type[Format] | None:
        from shoal.reading.formats import FORMATS  # here, since formats are built on sources

        return None if self.format == DATABASE else FORMATS[self.format]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that was found of how a file is written: what it is read as, why, and what else it could be.

    Words hold shapes, counts and names of columns, and no values.
    """

    what: str
    """The option of `CsvOptions` that it is about."""
    reading: str
    reason: str
    column: str | None = None
    alternatives: tuple[str, ...] = ()
    """Other readings that fit as well."""
    is_asked: bool = False
    """Whether nothing in the file decides between the readings, so that somebody must."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**vars(self), "alternatives": list(self.alternatives)}


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as it stands in its files.

    From CSV all columns are text, with nulls for missing values; from others they have the types of the file.
    `notes` are sentences for the user; `lines` gives each record's first line in its file where that is known; `labels`
    are those that statistical packages keep of columns and codes.
    """

    frame: pl.DataFrame = field(repr=False)  # a repr may end up in a log, and a frame shows its values
    source: Source
    notes: tuple[str, ...] = ()
    lines: Sequence[int] | None = field(default=None, repr=False)
    labels: Labels = field(default_factory=Labels, repr=False)
    findings: tuple[Finding, ...] = ()
    """What was found of how the file is written, where that was not told."""
    mended: tuple[dict[str, Any], ...] | None = None
    """What a policy has mended in it: step, column and how many records; None where nothing was to be mended."""

    def line_of_record(self, record: int) -> int | None:
        """The line, counted from 1, on which a record (counted from 0) begins; None where it is not known."""
        return None if self.lines is None else int(self.lines[record])


def check_is_file(path: Path) -> None:
    """Raise InputError unless the path is an existing file, which can be read more than once."""
    if path.is_dir():
        raise InputError(f"'{path}' is a folder. Name the file inside it.")
    refuse_pipe(path)
    if not path.exists():
        raise InputError(f"There is no file '{path}'. Check the name and the folder.")


def refuse_pipe(path: Path) -> None:
    """Refuse what can be read only once, or never ends: named pipes, <(...), standard input, devices."""
    if str(path) == "-" and not path.exists():
        raise InputError("Standard input is not read. Put it into a file, and name that.")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(
            f"'{path}' is a pipe or a device. Files are read more than once, also for the hash in the manifest. Put "
            "what it gives into a file, and name that."
        )


def read_bytes(path: Path) -> bytes:
    """The whole content of a file, or an InputError that says why it cannot be had."""
    check_is_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from error


def plain_or_refused(name: str, frame: pl.DataFrame, dropped: Collection[str] = ()) -> pl.DataFrame:
    """The table, where no column holds lists, structures, bytes or objects; such a one that is dropped is emptied."""
    refuse_patterns(f"'{name}'", frame.columns)
    odd = {column: kind for column, kind in frame.schema.items() if kind.is_nested() or kind in (pl.Binary, pl.Object)}
    nested = [f"'{column}' ({kind})" for column, kind in odd.items() if column not in dropped]
    if nested:
        raise InputError(
            f"'{name}' has columns that hold more than one plain value per record: {', '.join(nested)}. "
            "Leave them out, or spread them over plain columns."
        )
    return frame.with_columns(pl.lit(None).alias(column) for column in odd) if odd else frame


def refuse_lost_times(name: str, batches: Iterable[Any]) -> None:
    """Refuse times of Arrow that are no times of a day; frames would show them as missing."""
    lost: Counter[str] = Counter()
    for batch in batches:
        for column, values in zip(batch.schema.names, batch.columns, strict=True):
            lost[column] += pl.Series(values).null_count() - values.null_count
    found = [f"{count:,} in '{column}'" for column, count in lost.items() if count]
    if found:
        raise InputError(
            f"'{name}' has times of 24:00:00 or later, which no time of a day is: {', '.join(found)}. Write them as "
            "texts, or drop the columns."
        )


def refuse_no_records(name: str, frame: pl.DataFrame) -> None:
    """Refuse a table without records."""
    if frame.height == 0:
        raise InputError(f"'{name}' has {frame.width:,} columns and no records.")
