"""The one list of formats, and the doors through which files of any of them are read and written.

Tables of databases are no files: they have an address in place of an ending, and `sql.py` reads them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.errors import InputError, OutputError, ParameterError, ShoalError
from shoal.reading.arrow import Arrow
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.csv import Csv
from shoal.reading.excel import Excel
from shoal.reading.parquet import Parquet
from shoal.reading.source import Reading, check_is_file, plain_or_refused, refuse_no_records
from shoal.reading.statistical import SasDataSet, SasTransport, Spss, Stata
from shoal.registry import Registry

OWN: tuple[type[Format], ...] = (Csv, Parquet, Arrow, Excel, Spss, Stata, SasTransport, SasDataSet)
FORMATS: Registry[Format] = Registry(what="format", contract=Format, own=OWN, entry_points="shoal.formats")
"""Every format by its name: those of shoal, and those that installed packages offer."""


# Which format


def format_of_ending(path: str | Path) -> type[Format] | None:
    """The format that the ending of a name says; None where it says nothing."""
    ending = Path(path).suffix.lower()
    found = next((format for format in OWN if ending in format.endings), None)
    if found is not None or not ending:
        return found
    others = {format.name: format for format in FORMATS.values() if ending in format.endings}
    if len(others) > 1:
        raise InputError(
            f"Several formats that are installed have files that end with '{ending}': {', '.join(others)}. Uninstall "
            "all but one of their packages."
        )
    return next(iter(others.values()), None)


def format_of(path: str | Path) -> type[Format]:
    """The format of a file: by its ending; where that says nothing, by its first bytes; and else CSV."""
    found = format_of_ending(path)
    if found is not None:
        return found
    if not Path(path).is_file():  # opening a pipe that nobody writes to would wait for ever
        return Csv
    try:
        with Path(path).open("rb") as file:
            return format_of_bytes(file.read(16)) or Csv
    except OSError:
        return Csv


def format_of_bytes(first: bytes) -> type[Format] | None:
    """The format that the first bytes of a file say; None where they say nothing."""
    return next((format for format in OWN if format.first_bytes and first.startswith(format.first_bytes)), None)


def formats_in_app() -> list[type[Format]]:
    """The formats of files that the web app takes."""
    return [format for format in FORMATS.values() if format.in_app]


def is_on(engine: str, name: str) -> bool:
    """Whether an engine other than that in memory reads and writes a format; of those of shoal's own alone."""
    return any(format.name == name and engine in format.engines for format in OWN)


def formats_on(engine: str) -> str:
    """The formats of shoal's own that an engine reads and writes, as words: "CSV and Parquet"."""
    return " and ".join(format.title for format in OWN if engine in format.engines)


def written_formats() -> list[str]:
    """The names of formats that a release can have."""
    return [name for name, format in FORMATS.items() if format.is_written]


def written_format(name: str) -> type[Format]:
    """The format of a release by its name, or a ParameterError that names those there are."""
    found = FORMATS.get(name)
    if found is None or not found.is_written:
        raise ParameterError(f"format must be one of {', '.join(written_formats())}.")
    if f".{found.name}" not in found.endings:
        raise ParameterError(f"A release in the format {name} ends with .{name}, which is no ending of that format.")
    kind: type[Format] = found
    return kind


# Reading and writing


def read_file(path: Path, options: ReadOptions) -> Reading:
    """Read a file of any format.

    Raises
    ------
    InputError
        The file is absent, has no records, or holds what is no plain value; or its format cannot read it exactly.
    """
    check_is_file(path)
    format = format_of(path)
    reading = format.read(path, options)
    frame = plain_or_refused(path.name, reading.frame, options.dropped)
    refuse_no_records(path.name, frame)
    return reading if frame is reading.frame else replace(reading, frame=frame)


def write_file(frame: pl.DataFrame, path: Path, format: type[Format], options: WriteOptions) -> None:
    """Write a table to a file of a format.

    Raises
    ------
    OutputError
        The format cannot hold the table as it is: too many records, names that it does not allow, values that would
        come back changed. Or a package for it is not installed.

    Notes
    -----
    A file is read back and compared unless the format is sure of it, since values that a format makes alike were not
    alike when the models were counted.
    """
    fitted = format.fitted(frame)
    _refuse_beyond(fitted, format)
    try:
        format.write(fitted, path, options)
    except (OSError, ShoalError):  # explained by whoever fills the folder, or already
        raise
    except Exception as error:  # many kinds, and their words may show values
        raise OutputError(
            f"The release cannot be written as {format.words} ({type(error).__name__}). Choose another format with "
            "format=. Nothing was written."
        ) from None
    if format.is_read_back:
        _refuse_changed(fitted, path, format)


def _refuse_beyond(frame: pl.DataFrame, format: type[Format]) -> None:
    """Refuse more records, columns and letters than a format holds, and names that it does not allow."""
    most_records, most_columns = format.most_records or frame.height, format.most_columns or frame.width
    if frame.height > most_records or frame.width > most_columns:
        raise OutputError(
            f"{format.title} files hold {most_records:,} records of {most_columns:,} columns, but the release has "
            f"{frame.height:,} of {frame.width:,}. Choose another with format=. Nothing was written."
        )
    if format.longest_text is not None:
        texts = frame.select(pl.col(pl.String).str.len_chars().max().fill_null(0) > format.longest_text)
        long = [name for name in texts.columns if texts[name].any()]
        if long:
            raise OutputError(
                f"{format.title} files hold texts of up to {format.longest_text:,} characters, and {len(long):,} of "
                f"the columns have longer ones: {', '.join(long)}. Choose another format with format=, or drop the "
                "columns. Nothing was written."
            )
    odd = [column for column in frame.columns if format.names and not format.names.allowed.fullmatch(column)]
    if odd and format.names:
        raise OutputError(
            f"{format.title} files do not allow {len(odd):,} of the column names: {', '.join(odd)}. They take "
            f"{format.names.words}. Rename the columns, or choose another format with format=. Nothing was written."
        )


def _refuse_changed(written: pl.DataFrame, path: Path, format: type[Format]) -> None:
    """Read a file back, and refuse it where a column does not hold what was written."""
    try:
        back = format.read(path, ReadOptions()).frame
    except ShoalError as error:
        raise OutputError(
            f"The {format.title} file that was written cannot be read back: {error} Choose another format with "
            "format=. Nothing was written."
        ) from None
    is_whole = back.columns == written.columns and back.height == written.height
    changed = [name for name in written.columns if not is_whole or not came_back(written[name], back[name])]
    if changed:
        raise OutputError(
            f"{format.title} files cannot hold {len(changed):,} of the columns as they are: {', '.join(changed)}. They "
            "know no numbers, times or texts of that kind. Choose another format with format=, or drop the columns. "
            "Nothing was written."
        )


def came_back(written: pl.Series, back: pl.Series) -> bool:
    """Whether a column came back; an empty text may come back as missing where nothing else is missing."""
    if written.dtype == pl.String:
        texts = back.cast(pl.String)
        return texts.equals(written, null_equal=True) or (
            not written.null_count() and texts.equals(written.replace("", None), null_equal=True)
        )
    if written.null_count() == written.len():
        return back.null_count() == back.len()
    try:
        return _in_type(back, written.dtype).equals(written, null_equal=True)
    except pl.exceptions.PolarsError:
        return False


def _in_type(back: pl.Series, kind: pl.DataType) -> pl.Series:
    """A column in the type that was written, also where a format shows such values as texts."""
    if back.dtype == pl.String and kind == pl.Date:
        return back.str.to_date("%Y-%m-%d")
    if back.dtype == pl.String and isinstance(kind, pl.Datetime):
        return back.str.replace(" ", "T", literal=True).str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", time_unit=kind.time_unit
        )
    if back.dtype == pl.String and kind == pl.Boolean:
        return back.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean())
    return back.cast(kind)
