"""One published table to one file, in any format that shoal writes; what a format cannot hold is refused."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import OutputError, PrivacyNotMetError, ShoalError
from shoal.judging.verdict import Verdict
from shoal.publishing.cells import FORMATS_OF_SPREADSHEETS, with_safe_cells
from shoal.reading import CsvOptions, Labels, read_excel, read_statistical
from shoal.reading.extras import imported
from shoal.reading.statistical import LARGEST_EXACT_INTEGER, NAME_OF_FORMAT

FORMATS = ("csv", "parquet", "arrow", "xlsx", "sav", "dta", "xpt")
"""The formats that a release can have; its file is called release.<format>."""

NAMES_ALLOWED = {
    "sav": (re.compile(r"[^\W\d_][\w.@#$]{0,63}"), "up to 64 letters, digits, _ and ., the first a letter"),
    "dta": (re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"), "up to 32 letters without accents, digits and _"),
    "xpt": (re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"), "up to 32 letters without accents, digits and _"),
}
ROWS_OF_EXCEL, COLUMNS_OF_EXCEL = 2**20 - 1, 2**14
FIRST_DAY_OF_EXCEL = date(1900, 3, 1)
PROPERTIES_OF_EXCEL = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "nan_inf_to_errors": True,
    "in_memory": True,
}


def write_table(
    frame: pl.DataFrame,
    path: Path,
    format: str,
    *,
    csv: CsvOptions | None = None,
    labels: Labels | None = None,
    safe_cells: bool = False,
) -> None:
    """Write a published table to a file.

    Parameters
    ----------
    csv
        How CSV files are written.
    labels
        Of columns and codes, those that may leave; SPSS and Stata files take both, SAS transport files those of
        columns.
    safe_cells
        Whether CSV and Excel files get an apostrophe before cells that a spreadsheet would run.

    Raises
    ------
    OutputError
        The format cannot hold the table as it is: too many records, names that it does not allow, values that would
        come back changed. Or the package for it is not installed.

    Notes
    -----
    Excel, SPSS, Stata and SAS files are read back and compared, since values that such a format makes alike were not
    alike when the models were counted.
    """
    labels = labels or Labels()
    if safe_cells and format in FORMATS_OF_SPREADSHEETS:
        frame = with_safe_cells(frame)
    if format == "csv":
        _write_csv(frame, path, csv or CsvOptions())
    elif format == "parquet":
        frame.write_parquet(path, compression_level=1)  # higher levels of zstd cost time and gain next to nothing here
    elif format == "arrow":
        _with_own_categories(frame).write_ipc(path, compression="lz4", compat_level=pl.CompatLevel.oldest())
    elif format == "xlsx":
        _write_excel(frame, path)
    else:
        _write_statistical(frame, path, format, labels)


def _write_csv(frame: pl.DataFrame, path: Path, csv: CsvOptions) -> None:
    refuse_for_csv(frame)
    separator = csv.delimiter or ","
    encoding = csv.encoding.lower().replace("_", "-")
    if encoding in ("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"):
        frame.write_csv(path, separator=separator, include_bom=encoding == "utf-8-sig")
        return
    path.write_bytes(frame.write_csv(separator=separator).encode(csv.encoding))


def csv_that_holds(frames: Iterable[pl.DataFrame], csv: CsvOptions | None) -> CsvOptions | None:
    """How CSV files of some tables are written: in UTF-8 where the encoding asked for lacks some of their letters."""
    if csv is None or codecs.lookup(csv.encoding).name in ("utf-8", "utf-8-sig"):
        return csv
    try:
        for frame in frames:
            frame.write_csv().encode(csv.encoding)
    except UnicodeEncodeError:
        return replace(csv, encoding="utf-8")
    return csv


def as_files_show(frame: pl.DataFrame, format: str) -> pl.DataFrame:
    """The table as its files are read: all but Parquet and Arrow show an empty text as missing.

    The same frame where there is none.
    """
    if format in ("parquet", "arrow"):
        return frame
    texts = [column for column in frame.iter_columns() if column.dtype in (pl.String, pl.Categorical, pl.Enum)]
    empty = [column.name for column in texts if (column.cast(pl.String) == "").any()]
    return frame.with_columns(pl.col(empty).cast(pl.String).replace("", None)) if empty else frame


def refuse_unmet_in_files(verdict: Verdict, format: str) -> None:
    """Refuse a format in whose files, with empty texts shown as missing, a model is not met."""
    if not verdict.holds:
        unmet = ", ".join([*(model.name for model in verdict.models if not model.holds), *verdict.problems])
        raise PrivacyNotMetError(
            f"Files of the format {format} show empty texts as missing, and then the release does not keep what was "
            f"promised: {unmet}. Give empty texts a name, or choose the format parquet. Nothing was written."
        )


def refuse_for_csv(frame: pl.DataFrame) -> None:
    """Refuse what would not come back from a CSV file: it would be counted otherwise than the models were."""
    names = [name for name in frame.columns if name != name.strip() or not name or "\0" in name or name[0] == "\ufeff"]
    if names:
        raise OutputError(
            f"CSV files cannot hold {len(names):,} of the column names: {', '.join(map(repr, names))}. White space at "
            "their ends is lost. Rename the columns, or choose another format with --format. Nothing was written."
        )
    nul, both = [], []
    for column in frame.iter_columns():
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            texts = column.cast(pl.String)
            nul += [column.name] if texts.str.contains("\0", literal=True).any() else []
            both += [column.name] if texts.null_count() and (texts == "").any() else []
    if nul:
        raise OutputError(
            f"CSV files cannot hold the NUL characters in {', '.join(map(repr, nul))}. Remove them, or choose another "
            "format with --format. Nothing was written."
        )
    if both:
        raise OutputError(
            f"CSV files cannot tell an empty text from a missing value, and {', '.join(map(repr, both))} has both. "
            "Make them one, or choose another format with --format. Nothing was written."
        )


def _with_own_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """Categories in types that name only those of the column: a file lists all that a type names."""
    own = {}
    for column in frame.iter_columns():
        if column.dtype == pl.Categorical:
            used = column.drop_nulls().unique().cast(pl.String).sort()
            own[column.name] = column.cast(pl.String).cast(pl.Enum(used))
    return frame.with_columns(**own)


# Formats that know fewer types


def _write_excel(frame: pl.DataFrame, path: Path) -> None:
    xlsxwriter = imported("xlsxwriter", extra="stats", what="Writing Excel files", error=OutputError)
    imported("fastexcel", extra="stats", what="Checking Excel files", error=OutputError)
    if frame.height > ROWS_OF_EXCEL or frame.width > COLUMNS_OF_EXCEL:
        raise OutputError(
            f"An Excel sheet holds {ROWS_OF_EXCEL:,} records of {COLUMNS_OF_EXCEL:,} columns, but the release has "
            f"{frame.height:,} of {frame.width:,}. Choose another with --format. Nothing was written."
        )
    fitted = _fitted(frame, "xlsx")

    def write() -> None:
        content = io.BytesIO()  # else parts of the book would lie in the folder for temporary files for a while
        with xlsxwriter.Workbook(content, PROPERTIES_OF_EXCEL) as book:
            fitted.write_excel(book, "release")
        path.write_bytes(content.getbuffer())

    _written(write, "an Excel file")
    _refuse_changed(fitted, path, lambda: read_excel(path).frame, "Excel")


def _write_statistical(frame: pl.DataFrame, path: Path, format: str, labels: Labels) -> None:
    name = NAME_OF_FORMAT[format]
    pyreadstat = imported("pyreadstat", extra="stats", what=f"Writing {name} files", error=OutputError)
    form, words = NAMES_ALLOWED[format]
    odd = [column for column in frame.columns if not form.fullmatch(column)]
    if odd:
        raise OutputError(
            f"{name} files do not allow {len(odd):,} of the column names: {', '.join(odd)}. They take {words}. Rename "
            "the columns, or choose another format with --format. Nothing was written."
        )
    fitted = _fitted(frame, format)
    options: dict[str, Any] = {"column_labels": {column: labels.columns.get(column) for column in frame.columns}}
    if format != "xpt":
        options["variable_value_labels"] = {
            column.name: labels.codes[column.name]
            for column in fitted.iter_columns()
            if column.dtype.is_integer() and column.name in labels.codes
        }
    writer = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[format]
    _written(lambda: getattr(pyreadstat, writer)(fitted, path, **options), f"a {name} file")
    _refuse_changed(fitted, path, lambda: read_statistical(path, format).frame, name)  # type: ignore[arg-type]


def _written(write: Callable[[], None], what: str) -> None:
    try:
        write()
    except OSError:  # explained by whoever fills the folder
        raise
    except Exception as error:  # many kinds, and their words may show values
        raise OutputError(
            f"The release cannot be written as {what} ({type(error).__name__}). Choose another format with --format. "
            "Nothing was written."
        ) from None


def _fitted(frame: pl.DataFrame, format: str) -> pl.DataFrame:
    """The table in types that the format knows; what has none of its own becomes text, as in a CSV file."""
    return frame.with_columns(_fitted_column(column, format) for column in frame.iter_columns())


def _fitted_column(column: pl.Series, format: str) -> pl.Series:
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    if kind == pl.Boolean and format != "xlsx":
        return column.cast(pl.Int64)
    if kind.is_integer():
        large = column.drop_nulls().cast(pl.Int128).abs() > LARGEST_EXACT_INTEGER
        return column.cast(pl.String if large.any() else pl.Int64)
    if kind.is_decimal():
        floats = column.cast(pl.Float64)
        is_exact = floats.cast(kind, strict=False).equals(column, null_equal=True, check_names=False)
        return floats if is_exact else column.cast(pl.String)
    if kind == pl.Float32:
        return column.cast(pl.Float64)
    if kind == pl.Datetime and getattr(kind, "time_zone", None) is not None:
        return column.cast(pl.String)
    if format == "xlsx" and (kind == pl.Time or (kind in (pl.Date, pl.Datetime) and _begins_before_excel(column))):
        return column.cast(pl.String)
    return column


def _begins_before_excel(column: pl.Series) -> bool:
    """Whether a column has dates that Excel does not know, and others' programs count in another way than it does."""
    return bool((column.drop_nulls().cast(pl.Date) < FIRST_DAY_OF_EXCEL).any())


def _refuse_changed(written: pl.DataFrame, path: Path, read: Callable[[], pl.DataFrame], name: str) -> None:
    """Read a file back, and refuse it where a column does not hold what was written."""
    try:
        back = read()
    except ShoalError as error:
        raise OutputError(
            f"The {name} file that was written cannot be read back: {error} Choose another format with --format. "
            "Nothing was written."
        ) from None
    changed = [
        column
        for column in written.columns
        if back.height != written.height or column not in back.columns or not _alike(written[column], back[column])
    ]
    if changed:
        raise OutputError(
            f"{name} files cannot hold {len(changed):,} of the columns as they are: {', '.join(changed)}. They know no "
            "numbers, times or texts of that kind. Choose another format with --format, or drop the columns. Nothing "
            "was written."
        )


def _alike(written: pl.Series, back: pl.Series) -> bool:
    """Whether a column came back; an empty text may come back as missing where nothing else is missing."""
    if written.dtype == pl.String:
        if not written.null_count():
            written = written.replace("", None)
        return back.cast(pl.String).equals(written, null_equal=True)
    if written.null_count() == written.len():
        return back.null_count() == back.len()
    try:
        return back.cast(written.dtype).equals(written, null_equal=True)
    except pl.exceptions.PolarsError:
        return False
