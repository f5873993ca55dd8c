"""What a format of files says of itself: all that reading, publishing, engines, doors and docs ask of it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import polars as pl

from shoal.errors import OutputError
from shoal.reading.labels import Labels
from shoal.reading.source import CsvOptions, Reading


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What is asked of a file that is read; a format takes from it what it knows."""

    csv: CsvOptions = field(default_factory=CsvOptions)
    found: frozenset[str] = frozenset()
    """The names of those options of CSV files that were not told, and are to be found in the file."""
    labels: str = "codes"
    """Leave "codes" and keep their labels beside them, or take the labels as "values"."""
    sheet: str | None = None
    """The sheet of a workbook that has several."""
    dropped: Collection[str] = ()
    """Columns that will not be published: what in them is no plain value is not refused."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """What is asked of a file that is written; a format takes from it what it knows."""

    csv: CsvOptions = field(default_factory=CsvOptions)
    labels: Labels = field(default_factory=Labels)
    """Of columns and codes, those that may leave."""


class Names(NamedTuple):
    """Which names of columns a format allows, as a pattern and in words."""

    allowed: re.Pattern[str]
    words: str


class Format(ABC):
    """A format of files.

    What a format does not say of itself is taken in the way that is safe: it is read and not written, by the engine in
    memory alone; what is written is read back and compared; an empty text is counted as missing too; a spreadsheet may
    run its cells.
    """

    name: ClassVar[str]
    """What `format=` and policies call it, and how a release of it ends: release.<name>."""
    title: ClassVar[str]
    """What people call it: "Excel", as in "Excel files"."""
    words: ClassVar[str] = "a file of another format"
    """What one such file is: "an SPSS file"."""
    endings: ClassVar[tuple[str, ...]]
    """How names of such files end, in small letters, with the dot."""
    first_bytes: ClassVar[bytes] = b""
    """How such files begin, where that tells them from all others: for names whose ending says nothing."""
    beginnings: ClassVar[tuple[bytes, ...]] = ()
    """How such files may begin, where others may too: a file that begins otherwise is none. Empty: nothing tells it."""
    extra: ClassVar[str | None] = None
    """The extra of shoal that brings the packages it needs; None where it needs none."""

    engines: ClassVar[frozenset[str]] = frozenset({"memory"})
    """The engines that read and write it: "memory", "stream", "spark". Only the first takes formats of others than
    shoal's, whatever they say: the others read and write by means of their own."""
    in_app: ClassVar[bool] = False
    """Whether the web app takes such files."""

    is_written: ClassVar[bool] = False
    """Whether shoal writes it."""
    release_as: ClassVar[str] = "parquet"
    """The format of a release of it, where it is not written itself."""
    is_read_back: ClassVar[bool] = True
    """Whether each file is read back and compared after it is written; not where that is certain."""
    is_text: ClassVar[bool] = False
    """Whether values are texts between delimiters: types must be found, and a codebook tells delimiter and encoding."""
    keeps_empty_texts: ClassVar[bool] = False
    """Whether an empty text is told from a missing value when it is read."""
    runs_in_spreadsheets: ClassVar[bool] = True
    """Whether a spreadsheet that opens such a file could take a text for a formula."""
    keeps_labels: ClassVar[frozenset[str]] = frozenset()
    """The labels that it holds: of "columns", of "codes"."""
    most_records: ClassVar[int | None] = None
    most_columns: ClassVar[int | None] = None
    longest_text: ClassVar[int | None] = None
    """How many records, columns, and characters of a text it holds; None where only the disk limits them."""
    names: ClassVar[Names | None] = None
    """Which names of columns it allows; None for all."""

    @classmethod
    @abstractmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        """The table in an existing file, exactly or with an InputError that shows no values."""

    @classmethod
    def fitted(cls, frame: pl.DataFrame) -> pl.DataFrame:
        """The table in types that the format knows; where it comes back in others it is refused."""
        return frame

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        """Write a fitted table to a file."""
        raise OutputError(f"{cls.title} files are read, and not written. Choose another format.")
