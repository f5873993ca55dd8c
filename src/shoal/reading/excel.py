"""Excel workbooks to frames: one sheet, whose first row names the columns."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl

from shoal.errors import InputError, did_you_mean
from shoal.reading.extras import imported
from shoal.reading.source import Reading, Source, check_is_file, plain_or_refused, refuse_no_records


def read_excel(path: str | Path, *, sheet: str | None = None) -> Reading:
    """Read a sheet of an Excel workbook (.xlsx, .xlsm, .xlsb, .xls, .ods).

    Parameters
    ----------
    sheet
        The name of the sheet; None takes the only one that there is.

    Raises
    ------
    InputError
        The file is absent, no workbook or damaged; the sheet is absent, not named where there are several, without
        records, or has columns without a name or of one name. Or the package fastexcel is not installed.

    Notes
    -----
    A column that holds numbers only is read as numbers, dates as dates, and all else, also a mixture, as text; types
    are found from all records.
    """
    path = Path(path)
    check_is_file(path)
    fastexcel = imported("fastexcel", extra="stats", what="Reading Excel files")
    try:
        names = list(fastexcel.read_excel(path).sheet_names)
        chosen = _chosen_sheet(path.name, names, sheet)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reader's words may show values
            header = fastexcel.read_excel(path).load_sheet(chosen, header_row=None, n_rows=1, dtypes="string")
            frame = pl.read_excel(path, sheet_name=chosen, infer_schema_length=None, raise_if_empty=False)
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError, OSError):
        raise InputError(f"'{path.name}' is no Excel workbook, or a damaged one. Save it again as .xlsx.") from None
    named = header.to_polars().row(0) if header.height else ()
    _check_names(path.name, [None if name is None else str(name) for name in named])
    frame = plain_or_refused(path.name, frame)
    refuse_no_records(path.name, frame)
    return Reading(frame, Source((path,), "xlsx"))


def _chosen_sheet(file: str, names: list[str], sheet: str | None) -> str:
    if sheet is not None and sheet not in names:
        raise InputError(
            f"'{file}' has no sheet '{sheet}'. Its sheets: {', '.join(names)}.{did_you_mean(sheet, names)}"
        )
    if sheet is None and len(names) != 1:
        raise InputError(f"'{file}' has {len(names):,} sheets: {', '.join(names)}. Name one with --sheet.")
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
