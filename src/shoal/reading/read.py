"""The door of the stage: any files to one frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shoal.errors import ParameterError
from shoal.reading.arrow import read_arrow
from shoal.reading.combine import Join, join_persons, put_under_one_another
from shoal.reading.csv import read_csv
from shoal.reading.excel import read_excel
from shoal.reading.parquet import read_parquet, starts_like_parquet
from shoal.reading.source import CsvOptions, Format, Reading, check_is_file
from shoal.reading.sql import is_address, read_database
from shoal.reading.statistical import READER_OF_FORMAT, read_statistical

FORMAT_OF_ENDING: dict[str, Format] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".asc", ".data", ".gz"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), "arrow"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "xlsx"),
    **dict.fromkeys((".sav", ".zsav"), "sav"),
    ".dta": "dta",
    **dict.fromkeys((".xpt", ".xport"), "xpt"),
    ".sas7bdat": "sas7bdat",
}
"""The format of a file by the ending of its name, in small letters."""

DEFAULT_CSV_OPTIONS = CsvOptions()


def read_files(
    paths: Sequence[str | Path] | str | Path,
    *,
    csv: CsvOptions = DEFAULT_CSV_OPTIONS,
    rename: Sequence[Mapping[str, str]] | None = None,
    join: Join | None = None,
    labels: str = "codes",
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    dropped: Collection[str] = (),
) -> Reading:
    """Read one source, or several put under one another, and join a table of persons to the records if asked.

    Parameters
    ----------
    paths
        Files of CSV, Parquet, Arrow IPC, Excel, SPSS, Stata and SAS, told apart by their ending; one whose ending says
        nothing is taken as Parquet where its first bytes say so, else as CSV.
    csv
        How the CSV files are written.
    rename
        For each file a mapping from its column names to the common ones.
    join
        A file of persons and the key that it shares with the records.
    labels
        Of statistical packages: leave "codes" and keep their labels beside them, or take the labels as "values".
    sheet
        The sheet of Excel workbooks that have several.
    table, query
        What to read from a database, where a path is an address such as postgresql://host/database.
    dropped
        Columns that will not be published: where they hold what no plain value is, they are emptied and not refused.

    Raises
    ------
    InputError
        A file cannot be read exactly.
    SchemaError
        The files do not fit together.
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    if (table or query) and not any(map(is_address, paths)):
        raise ParameterError("A table or a query is read from a database: give an address, postgresql://host/database.")
    options = _Options(csv, labels, sheet, table, query, dropped)
    records = put_under_one_another([_read_one(path, options) for path in paths], rename)
    if join is None:
        return records
    return join_persons(records, _read_one(join.person_file, options), join)


class _Options(NamedTuple):
    csv: CsvOptions
    labels: str
    sheet: str | None
    table: str | None
    query: str | None
    dropped: Collection[str]


def _read_one(path: str | Path, options: _Options) -> Reading:
    if isinstance(path, str) and is_address(path):
        return read_database(path, table=options.table, query=options.query, dropped=options.dropped)
    return _read_file(Path(path), options)


def _read_file(path: Path, options: _Options) -> Reading:
    check_is_file(path)
    format = FORMAT_OF_ENDING.get(path.suffix.lower()) or ("parquet" if starts_like_parquet(path) else "csv")
    if format == "parquet":
        return read_parquet(path, dropped=options.dropped)
    if format == "arrow":
        return read_arrow(path, dropped=options.dropped)
    if format == "xlsx":
        return read_excel(path, sheet=options.sheet)
    if format in READER_OF_FORMAT:
        named = options.csv.encoding
        is_named = named.lower().replace("_", "-") not in ("utf-8", "utf8")
        return read_statistical(path, format, labels=options.labels, encoding=named if is_named else None)
    return read_csv(path, options.csv)
