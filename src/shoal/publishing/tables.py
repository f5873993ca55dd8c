"""One published table to one file, in any format that shoal writes; what a format cannot hold is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from shoal.errors import PrivacyNotMetError
from shoal.judging.verdict import Verdict
from shoal.publishing.cells import with_safe_cells
from shoal.reading import CsvOptions, Labels, WriteOptions
from shoal.reading.formats import FORMATS, write_file, written_format


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
        Of columns and codes, those that may leave; a format takes those that it holds.
    safe_cells
        Whether files that a spreadsheet may open get an apostrophe before cells that it would run.

    Raises
    ------
    OutputError
        The format cannot hold the table as it is; see `shoal.reading.formats.write_file`.
    """
    kind = written_format(format)
    if safe_cells and kind.runs_in_spreadsheets:
        frame = with_safe_cells(frame)
    write_file(frame, path, kind, WriteOptions(csv=csv or CsvOptions(), labels=labels or Labels()))


def as_files_show(frame: pl.DataFrame, format: str) -> pl.DataFrame:
    """The table as its files are read: most formats show an empty text as missing.

    The same frame where there is none.
    """
    if FORMATS[format].keeps_empty_texts:
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
