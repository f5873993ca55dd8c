"""Excel workbooks to frames: one sheet, whose first row names the columns."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.errors import InputError, OutputError, did_you_mean
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.extras import imported
from shoal.reading.fewer_types import as_whole_numbers, in_fewer_types
from shoal.reading.source import Reading, Source
from shoal.reading.workbook import look_into, refuse_or_tell

FIRST_DAY = date(1900, 3, 1)
PROPERTIES = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "nan_inf_to_errors": True,
    "in_memory": True,
}
MOST_EXACT = 10**15
"""From here on a number has more than 15 digits."""


class Excel(Format):
    """Workbooks of Excel and LibreOffice: one sheet, whose first row names the columns."""

    name: ClassVar[str] = "xlsx"
    title: ClassVar[str] = "Excel"
    words: ClassVar[str] = "a workbook of Excel or LibreOffice"
    endings: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    beginnings: ClassVar[tuple[bytes, ...]] = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
    extra: ClassVar[str | None] = "stats"
    in_app: ClassVar[bool] = True
    is_written: ClassVar[bool] = True
    most_records: ClassVar[int | None] = 2**20 - 1
    most_columns: ClassVar[int | None] = 2**14
    longest_text: ClassVar[int | None] = 2**15 - 1

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        """Read a sheet of a workbook: the only one that there is, or the one that is named.

        Raises
        ------
        InputError
            The file is no workbook or damaged; the sheet is absent, not named where there are several, has columns
            without a name or of one name, merged cells among its records, or a row of totals. Or the package fastexcel
            is not installed.

        Notes
        -----
        A column that holds numbers only is read as numbers, dates as dates, and all else, also a mixture, as text;
        types are found from all records. Cells with an error such as #DIV/0! and formulas without a result are missing,
        and are counted in a note; so are hidden rows and columns, which are read as all others.
        """
        fastexcel = imported("fastexcel", extra="stats", what="Reading Excel files")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reader's words may show values
            try:
                book = fastexcel.read_excel(path)
                chosen = _chosen_sheet(path.name, list(book.sheet_names), options.sheet)
                header = book.load_sheet(chosen, header_row=None, n_rows=1, dtypes="string")
                named = header.to_polars().row(0) if header.height else ()
                _check_names(path.name, [None if name is None else str(name) for name in named])
                notes = refuse_or_tell(path.name, look_into(path, chosen, len(named)))
                notes += _note_on_errors(path.name, book.load_sheet(chosen, dtypes="string"))
            except (pl.exceptions.PolarsError, fastexcel.FastExcelError, OSError):
                raise InputError(
                    f"'{path.name}' is no Excel workbook, or a damaged one. Save it again as .xlsx."
                ) from None
            try:
                frame = pl.read_excel(path, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False)
            except (pl.exceptions.PolarsError, fastexcel.FastExcelError):
                raise InputError(
                    f"'{path.name}' has a column whose values fit no type, such as numbers of more than 18 digits, of "
                    "which Excel keeps 15. Write them as texts."
                ) from None
        odd = [str(position) for position, name in enumerate(frame.columns, start=1) if name not in named]
        if odd and frame.height:
            raise InputError(
                f"'{path.name}': {len(odd):,} of {len(named):,} columns have a name that is no text (a date, an "
                f"error), at position {', '.join(odd)}. Write a text there."
            )
        return Reading(frame, Source((path,), cls.name), (*notes, *_note_on_digits(path.name, frame)))

    @classmethod
    def fitted(cls, frame: pl.DataFrame) -> pl.DataFrame:
        """In the types of cells; times of a day and dates before those of Excel are texts."""
        return frame.with_columns(
            column.cast(pl.String) if _is_no_time_of_excel(column) else in_fewer_types(column)
            for column in frame.iter_columns()
        )

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        """As one sheet, with texts as texts: none becomes a formula, an address or a number."""
        xlsxwriter = imported("xlsxwriter", extra="stats", what="Writing Excel files", error=OutputError)
        imported("fastexcel", extra="stats", what="Checking Excel files", error=OutputError)
        content = io.BytesIO()  # else parts of the book would lie in the folder for temporary files for a while
        with xlsxwriter.Workbook(content, PROPERTIES) as book:
            frame.write_excel(book, "release")
        path.write_bytes(content.getbuffer())


def _is_no_time_of_excel(column: pl.Series) -> bool:
    """Whether a column has times that Excel does not know, and others' programs count in another way than it does."""
    if column.dtype not in (pl.Date, pl.Datetime):
        return column.dtype == pl.Time
    return bool((column.drop_nulls().cast(pl.Date) < FIRST_DAY).any())


def _note_on_errors(file: str, texts: Any) -> list[str]:
    """What to tell of cells that hold an error of a formula, such as #DIV/0!, which is no value."""
    _, faults = texts.to_arrow_with_errors()
    columns = [column.name for column in texts.selected_columns]
    cells = Counter(columns[fault.offset_position[1]] for fault in (faults.errors if faults else ()))
    if not cells:
        return []
    listed = ", ".join(f"{count:,} in '{column}'" for column, count in cells.items())
    return [f"Cells of '{file}' that hold an error, such as #DIV/0! or #N/A, are read as missing: {listed}."]


def _note_on_digits(file: str, frame: pl.DataFrame) -> list[str]:
    """What to tell of whole numbers that have lost digits before they came here."""
    whole = [as_whole_numbers(column) for column in frame.iter_columns() if column.dtype.is_numeric()]
    long = [column.name for column in whole if column.dtype.is_integer() and (column.abs() >= MOST_EXACT).any()]
    if not long:
        return []
    return [
        f"Excel keeps 15 digits of a number, and '{file}' has longer ones in {', '.join(map(repr, long))}: different "
        "numbers may have become one. Write such numbers as texts."
    ]


def sheets_of(path: Path) -> list[str]:
    """The names of the sheets of a workbook; none where it cannot be read, which reading tells."""
    fastexcel = imported("fastexcel", extra="stats", what="Reading Excel files")
    try:
        return list(fastexcel.read_excel(path).sheet_names)
    except (fastexcel.FastExcelError, OSError):
        return []


def _chosen_sheet(file: str, names: list[str], sheet: str | None) -> str:
    if sheet is not None and sheet not in names:
        raise InputError(
            f"'{file}' has no sheet '{sheet}'. Its sheets: {', '.join(names)}.{did_you_mean(sheet, names)}"
        )
    if sheet is None and len(names) != 1:
        raise InputError(f"'{file}' has {len(names):,} sheets: {', '.join(names)}. Name one with sheet=.")
    return sheet if sheet is not None else names[0]


def _check_names(file: str, names: list[str | None]) -> None:
    """Refuse columns without a name and names that occur twice, to which the reader would give names of its own."""
    unnamed = [str(position) for position, name in enumerate(names, start=1) if not name]
    if unnamed:
        raise InputError(
            f"'{file}': {len(unnamed):,} of {len(names):,} columns have no name in the first row, at position "
            f"{', '.join(unnamed)}. Name every column, or leave it out."
        )
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"'{file}': the first row names a column more than once: {', '.join(twice)}.")
