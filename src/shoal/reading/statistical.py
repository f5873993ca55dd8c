"""Files of SPSS, Stata and SAS to frames, with the labels of their columns and codes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError, ParameterError
from shoal.reading.extras import imported
from shoal.reading.labels import LABEL_CHOICES, Labels, put_labels_for_codes
from shoal.reading.source import Format, Reading, Source, check_is_file, plain_or_refused, refuse_no_records

READER_OF_FORMAT: dict[Format, str] = {
    "sav": "read_sav",
    "dta": "read_dta",
    "xpt": "read_xport",
    "sas7bdat": "read_sas7bdat",
}
NAME_OF_FORMAT = {"sav": "SPSS", "dta": "Stata", "xpt": "SAS transport", "sas7bdat": "SAS"}
MORE_DATES: dict[Format, re.Pattern[str]] = {
    "sav": re.compile(r"(?:MOYR|QYR|WKYR)\d*"),
    "dta": re.compile(r"%-?(?:td|d).*"),
    **dict.fromkeys(
        ("xpt", "sas7bdat"),
        re.compile(r"(?:MONYY|YYMON|YEAR|YYQR?|YYMMC?|YYMMD|YYMMP?|YYMMS|MMYYC?|MMYYD|MMYYS|QTRR?|MONTH|MONNAME|DAY"
                   r"|DOWNAME|WEEKDATX|WORDDAT[EX]|JULIAN|JULDAY|PDJULG|PDJULI|NLDATE\w*?|NENGO)\d*\.?\d*"),
    ),
}  # fmt: skip
"""Formats of dates that pyreadstat would leave as numbers."""
SECONDS_AS_DATES = re.compile(r"DT(?:DATE|MONYY|YEAR|YYQC|WKDATX)\d*")
"""Formats of SAS for numbers of seconds of which they show the date; pyreadstat would take them for days."""
SECONDS_FROM_1960 = -315_619_200
"""The beginning of 1960 on the clock that begins in 1970."""
LARGEST_EXACT_INTEGER = 2**53
"""Up to here every whole number is a number of its own in 64-bit floats."""


def read_statistical(
    path: str | Path, format: Format, *, labels: str = "codes", encoding: str | None = None
) -> Reading:
    """Read a file of SPSS (sav), Stata (dta) or SAS (sas7bdat, xpt).

    Parameters
    ----------
    labels
        "codes" leaves codes and keeps their labels beside them; "values" puts labels in the place of codes, in columns
        where each code that occurs has a label of its own.
    encoding
        Of files that do not say it themselves; None believes the file.

    Raises
    ------
    InputError
        The file is absent, damaged or without records, or the package pyreadstat is not installed.

    Notes
    -----
    These formats know numbers and texts. A column of whole numbers is read as such; dates and times by the format that
    the file gives them. What the file declares as missing (.a to .z, user-missing ranges) and empty texts are read as
    missing. Times of SPSS are rounded to milliseconds, which is what its numbers can hold. Times that are longer than a
    day are read as seconds, which a note tells.
    """
    if labels not in LABEL_CHOICES:
        raise ParameterError(f"labels must be one of {', '.join(LABEL_CHOICES)}.")
    path = Path(path)
    check_is_file(path)
    name = NAME_OF_FORMAT[format]
    pyreadstat = imported("pyreadstat", extra="stats", what=f"Reading {name} files")
    read = partial(getattr(pyreadstat, READER_OF_FORMAT[format]), path, output_format="polars", encoding=encoding)
    try:
        formats = read(metadataonly=True)[1].original_variable_types
        kinds = {name: kind or "" for name, kind in formats.items()}
        dates = sorted({kind for kind in kinds.values() if MORE_DATES[format].fullmatch(kind)})
        frame, about = read(extra_date_formats=dates)
        odd = [
            column.name
            for column in frame.iter_columns()
            if column.dtype == pl.Time or SECONDS_AS_DATES.fullmatch(kinds[column.name])
        ]
        numbers = read(usecols=odd, disable_datetime_conversion=True)[0] if odd else pl.DataFrame()
    except Exception:  # the package raises many kinds, and their words may show values
        raise InputError(
            f"'{path.name}' is no {name} file, or a damaged or encrypted one. Save it again; where its encoding is an "
            "old one, name it with --encoding."
        ) from None
    frame = plain_or_refused(path.name, frame)
    refuse_no_records(path.name, frame)
    exact = {column.name: _exact_times(column, format, kinds[column.name]) for column in numbers.iter_columns()}
    frame = frame.with_columns(**exact)
    frame = frame.with_columns(_mended(column, format) for column in frame.iter_columns())
    notes = _note_on_durations(path.name, [name for name, column in exact.items() if column.dtype.is_numeric()])
    told = _labels(frame, about)
    if labels == "values":
        frame, told, more = put_labels_for_codes(frame, told, f"'{path.name}'")
        notes += more
    return Reading(frame, Source((path,), format), tuple(notes), labels=told)


def _exact_times(numbers: pl.Series, format: str, kind: str) -> pl.Series:
    """Times of a day from the numbers that the file holds; date-times or seconds where they are more than that.

    The package would show 27:46:40 as 03:46:40, and a date-time of which a format shows the hours as these alone.
    """
    a_second = 1000 if format == "dta" else 1
    microseconds = (numbers * (1_000_000 // a_second)).round(0).cast(pl.Int64)
    if SECONDS_AS_DATES.fullmatch(kind):
        return _since_1960(microseconds)
    if not numbers.is_between(0, 86_400 * a_second, closed="left").all():
        return _since_1960(microseconds) if format == "dta" else numbers
    return (microseconds * 1000).cast(pl.Time)


def _since_1960(microseconds: pl.Series) -> pl.Series:
    return (microseconds + SECONDS_FROM_1960 * 1_000_000).cast(pl.Datetime("us"))


def _note_on_durations(file: str, names: list[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(f"'{name}'" for name in names)
    return [f"Times in '{file}' that are longer than a day or negative are read as seconds, in the columns {listed}."]


def _mended(column: pl.Series, format: str) -> pl.Series:
    """A column as it was meant: whole numbers as such, empty texts as missing, times without noise."""
    if column.dtype == pl.String:
        return column.replace("", None)
    if column.dtype.is_float():
        return as_whole_numbers(column)
    if format == "sav" and column.dtype == pl.Datetime:
        return column.dt.round("1ms")
    return column


def as_whole_numbers(column: pl.Series) -> pl.Series:
    """Floats as whole numbers where each of them is one; other columns as they are."""
    present = column.drop_nulls().to_numpy()
    if not len(present) or not np.isfinite(present).all() or (np.abs(present) > LARGEST_EXACT_INTEGER).any():
        return column
    return column.cast(pl.Int64) if (present == np.rint(present)).all() else column


def _labels(frame: pl.DataFrame, about: Any) -> Labels:
    columns = {name: label for name, label in about.column_names_to_labels.items() if label}
    codes = {name: {_code(code): str(label) for code, label in of_code.items()}
             for name, of_code in about.variable_value_labels.items() if of_code and name in frame.columns}  # fmt: skip
    return Labels(columns, codes)


def _code(code: Any) -> int | float | str:
    return int(code) if isinstance(code, float) and code.is_integer() else code
