"""Files of SPSS, Stata and SAS, with the labels of their columns and codes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.errors import InputError, OutputError, ParameterError
from shoal.reading.contract import Format, Names, ReadOptions, WriteOptions
from shoal.reading.encoding import is_utf8
from shoal.reading.extras import imported
from shoal.reading.fewer_types import as_whole_numbers, in_fewer_types
from shoal.reading.labels import LABEL_CHOICES, Labels, put_labels_for_codes
from shoal.reading.source import Reading, Source

DATES_OF_SAS = re.compile(
    r"(?:MONYY|YYMON|YEAR|YYQR?|YYMMC?|YYMMD|YYMMP?|YYMMS|MMYYC?|MMYYD|MMYYS|QTRR?|MONTH|MONNAME|DAY|DOWNAME|WEEKDATX"
    r"|WORDDAT[EX]|JULIAN|JULDAY|PDJULG|PDJULI|NLDATE\w*?|NENGO)\d*\.?\d*"
)
SECONDS_AS_DATES = re.compile(r"DT(?:DATE|MONYY|YEAR|YYQC|WKDATX)\d*")
"""Formats of SAS for numbers of seconds of which they show the date; pyreadstat would take them for days."""
SECONDS_FROM_1960 = -315_619_200
"""The beginning of 1960 on the clock that begins in 1970."""
SHORT_NAMES = Names(re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"), "up to 32 letters without accents, digits and _")


class Statistical(Format):
    """What files of SPSS, Stata and SAS have in common: numbers, texts, and labels beside them."""

    extra: ClassVar[str | None] = "stats"
    in_app: ClassVar[bool] = True
    reader: ClassVar[str]
    """The function of pyreadstat that reads it."""
    writer: ClassVar[str] = ""
    more_dates: ClassVar[re.Pattern[str]] = DATES_OF_SAS
    """Formats of dates that pyreadstat would leave as numbers."""
    runs_in_spreadsheets: ClassVar[bool] = False

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        """Read a file with its labels; codes stay codes, unless labels are asked for in their place.

        Raises
        ------
        InputError
            The file is damaged, or the package pyreadstat is not installed.

        Notes
        -----
        These formats know numbers and texts. A column of whole numbers is read as such; dates and times by the format
        that the file gives them. What the file declares as missing (.a to .z, user-missing ranges) and empty texts are
        read as missing. Times of SPSS are rounded to milliseconds, which is what its numbers can hold. Times that are
        longer than a day are read as seconds, which a note tells. An encoding is believed where one other than UTF-8
        is named, for files that do not say it themselves.
        """
        if options.labels not in LABEL_CHOICES:
            raise ParameterError(f"labels must be one of {', '.join(LABEL_CHOICES)}.")
        pyreadstat = imported("pyreadstat", extra="stats", what=f"Reading {cls.title} files")
        encoding = None if is_utf8(options.csv.encoding) else options.csv.encoding
        read = partial(getattr(pyreadstat, cls.reader), path, output_format="polars", encoding=encoding)
        try:
            formats = read(metadataonly=True)[1].original_variable_types
            kinds = {name: kind or "" for name, kind in formats.items()}
            dates = sorted({kind for kind in kinds.values() if cls.more_dates.fullmatch(kind)})
            frame, about = read(extra_date_formats=dates)
            odd = [
                column.name
                for column in frame.iter_columns()
                if column.dtype == pl.Time or SECONDS_AS_DATES.fullmatch(kinds[column.name])
            ]
            numbers = read(usecols=odd, disable_datetime_conversion=True)[0] if odd else pl.DataFrame()
        except Exception:  # the package raises many kinds, and their words may show values
            raise InputError(
                f"'{path.name}' is no {cls.title} file, or a damaged or encrypted one. Save it again; where its "
                "encoding is an old one, name it with encoding=."
            ) from None
        exact = {column.name: cls.exact_times(column, kinds[column.name]) for column in numbers.iter_columns()}
        frame = frame.with_columns(**exact)
        frame = frame.with_columns(cls.mended(column) for column in frame.iter_columns())
        notes = _note_on_durations(path.name, [name for name, column in exact.items() if column.dtype.is_numeric()])
        told = _labels(frame, about)
        if options.labels == "values":
            frame, told, more = put_labels_for_codes(frame, told, f"'{path.name}'")
            notes += more
        return Reading(frame, Source((path,), cls.name), tuple(notes), labels=told)

    @classmethod
    def exact_times(cls, numbers: pl.Series, kind: str) -> pl.Series:
        """Times of a day from the numbers that the file holds; date-times or seconds where they are more than that.

        The package would show 27:46:40 as 03:46:40, and a date-time of which a format shows the hours as these alone.
        """
        microseconds = (numbers * 1_000_000).round(0).cast(pl.Int64)
        if SECONDS_AS_DATES.fullmatch(kind):
            return _since_1960(microseconds)
        if not numbers.is_between(0, 86_400, closed="left").all():
            return numbers
        return (microseconds * 1000).cast(pl.Time)

    @classmethod
    def mended(cls, column: pl.Series) -> pl.Series:
        """A column as it was meant: whole numbers as such, empty texts as missing, times without noise."""
        if column.dtype == pl.String:
            return column.replace("", None)
        return as_whole_numbers(column) if column.dtype.is_float() else column

    @classmethod
    def fitted(cls, frame: pl.DataFrame) -> pl.DataFrame:
        """In numbers, dates, times and texts; truths become 1 and 0."""
        return frame.with_columns(
            column.cast(pl.Int64) if column.dtype == pl.Boolean else in_fewer_types(column)
            for column in frame.iter_columns()
        )

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        """With the labels that the format holds."""
        pyreadstat = imported("pyreadstat", extra="stats", what=f"Writing {cls.title} files", error=OutputError)
        labels: dict[str, Any] = {
            "column_labels": {column: options.labels.columns.get(column) for column in frame.columns}
        }
        if "codes" in cls.keeps_labels:
            labels["variable_value_labels"] = {
                column.name: options.labels.codes[column.name]
                for column in frame.iter_columns()
                if column.dtype.is_integer() and column.name in options.labels.codes
            }
        getattr(pyreadstat, cls.writer)(frame, path, **labels)


class Spss(Statistical):
    """Files of SPSS."""

    name: ClassVar[str] = "sav"
    title: ClassVar[str] = "SPSS"
    words: ClassVar[str] = "an SPSS file"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    beginnings: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")
    reader: ClassVar[str] = "read_sav"
    writer: ClassVar[str] = "write_sav"
    more_dates: ClassVar[re.Pattern[str]] = re.compile(r"(?:MOYR|QYR|WKYR)\d*")
    is_written: ClassVar[bool] = True
    keeps_labels: ClassVar[frozenset[str]] = frozenset({"columns", "codes"})
    names: ClassVar[Names | None] = Names(
        re.compile(r"[^\W\d_][\w.@#$]{0,63}"), "up to 64 letters, digits, _ and ., the first a letter"
    )

    @classmethod
    def mended(cls, column: pl.Series) -> pl.Series:
        """Times to the milliseconds that its numbers can hold, too."""
        return column.dt.round("1ms") if column.dtype == pl.Datetime else super().mended(column)


class Stata(Statistical):
    """Files of Stata."""

    name: ClassVar[str] = "dta"
    title: ClassVar[str] = "Stata"
    words: ClassVar[str] = "a Stata file"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    beginnings: ClassVar[tuple[bytes, ...]] = (
        b"<stata_dta>", *(bytes([version, order, 1]) for version in range(102, 116) for order in (1, 2)),
    )  # fmt: skip
    reader: ClassVar[str] = "read_dta"
    writer: ClassVar[str] = "write_dta"
    more_dates: ClassVar[re.Pattern[str]] = re.compile(r"%-?(?:td|d).*")
    is_written: ClassVar[bool] = True
    keeps_labels: ClassVar[frozenset[str]] = frozenset({"columns", "codes"})
    names: ClassVar[Names | None] = SHORT_NAMES

    @classmethod
    def exact_times(cls, numbers: pl.Series, kind: str) -> pl.Series:
        """From milliseconds since 1960: times of a day where all of them are on its first day."""
        microseconds = (numbers * 1000).round(0).cast(pl.Int64)
        if not numbers.is_between(0, 86_400_000, closed="left").all():
            return _since_1960(microseconds)
        return (microseconds * 1000).cast(pl.Time)


class SasTransport(Statistical):
    """Transport files of SAS."""

    name: ClassVar[str] = "xpt"
    title: ClassVar[str] = "SAS transport"
    words: ClassVar[str] = "a SAS transport file"
    endings: ClassVar[tuple[str, ...]] = (".xpt", ".xport")
    beginnings: ClassVar[tuple[bytes, ...]] = (b"HEADER RECORD",)
    reader: ClassVar[str] = "read_xport"
    writer: ClassVar[str] = "write_xport"
    is_written: ClassVar[bool] = True
    keeps_labels: ClassVar[frozenset[str]] = frozenset({"columns"})
    names: ClassVar[Names | None] = SHORT_NAMES


class SasDataSet(Statistical):
    """Data sets of SAS, which only SAS writes."""

    name: ClassVar[str] = "sas7bdat"
    title: ClassVar[str] = "SAS"
    words: ClassVar[str] = "a SAS data set"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat",)
    beginnings: ClassVar[tuple[bytes, ...]] = (bytes(12) + b"\xc2\xea\x81\x60",)
    reader: ClassVar[str] = "read_sas7bdat"
    release_as: ClassVar[str] = "xpt"
    keeps_labels: ClassVar[frozenset[str]] = frozenset({"columns"})


def _since_1960(microseconds: pl.Series) -> pl.Series:
    return (microseconds + SECONDS_FROM_1960 * 1_000_000).cast(pl.Datetime("us"))


def _note_on_durations(file: str, names: list[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(f"'{name}'" for name in names)
    return [f"Times in '{file}' that are longer than a day or negative are read as seconds, in the columns {listed}."]


def _labels(frame: pl.DataFrame, about: Any) -> Labels:
    columns = {name: label for name, label in about.column_names_to_labels.items() if label}
    codes = {name: {_code(code): str(label) for code, label in of_code.items()}
             for name, of_code in about.variable_value_labels.items() if of_code and name in frame.columns}  # fmt: skip
    return Labels(columns, codes)


def _code(code: Any) -> int | float | str:
    return int(code) if isinstance(code, float) and code.is_integer() else code
