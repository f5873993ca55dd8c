"""The door of the stage: any files to one frame, and a first look at it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.reading.combine import Join, join_persons, put_under_one_another
from shoal.reading.contract import ReadOptions
from shoal.reading.detect import Told
from shoal.reading.formats import read_file
from shoal.reading.source import CsvOptions, Reading
from shoal.reading.sql import is_address, read_database
from shoal.table import profile as table_profile
from shoal.table.frames import to_polars

HowWritten = CsvOptions | Mapping[str, Any] | None
"""How CSV files are written: all of it, some of it by name, or nothing; what is not told is found."""


def read(
    paths: Sequence[str | Path] | str | Path,
    *,
    csv: HowWritten = None,
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
        Files of the formats there are (`FORMATS`: CSV, Parquet, Excel, ...), told apart by their ending; one whose
        ending says nothing is taken as Parquet where its first bytes say so, else as CSV.
    csv
        How the CSV files are written. Unless told it is found in each file: `reading.findings` has what was found, with
        the reason. `csv={"decimal": ","}` tells some of it and finds the rest; `CsvOptions(...)` tells all of it.
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
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    persons = [] if join is None else [join.person_file]
    each = read_each([*paths, *persons], csv=csv, labels=labels, sheet=sheet, table=table, query=query, dropped=dropped)
    records = put_under_one_another(each[: len(paths)], rename)
    return records if join is None else join_persons(records, each[-1], join)


def read_each(
    paths: Sequence[str | Path],
    *,
    csv: HowWritten = None,
    labels: str = "codes",
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    dropped: Collection[str] = (),
) -> list[Reading]:
    """Read sources one by one, each as a table of its own; parameters as of `read`."""
    if (table or query) and not any(map(is_address, paths)):
        raise ParameterError("A table or a query is read from a database: give an address, postgresql://host/database.")
    told = Told.of(csv)
    options = ReadOptions(csv=told.csv, found=told.found, labels=labels, sheet=sheet, dropped=dropped)
    readings = [
        read_database(path, table=table, query=query, dropped=dropped)
        if isinstance(path, str) and is_address(path)
        else read_file(Path(path), options)
        for path in paths
    ]
    _refuse_absent(told.csv, readings)
    return readings


def _refuse_absent(csv: CsvOptions, readings: Sequence[Reading]) -> None:
    """Refuse forms of dates and marks of missing values that are told of columns which no file has."""
    known = [column for reading in readings for column in reading.frame.columns]
    named = [("date_format", column) for column in csv.date_format] + [("missing_in", name) for name in csv.missing_in]
    for what, column in named:
        if column and column not in known:
            raise SchemaError(f"{what} names '{column}', but no file has such a column.{did_you_mean(column, known)}")


def profile(source: Any, *, csv: HowWritten = None) -> table_profile.Profile:
    """Look at a table: what each column holds, and which role it probably has, with the reason.

    Parameters
    ----------
    source
        A frame (pandas, polars or pyarrow), or a file as `shoal.read` takes it.
    csv
        How a CSV file is written, as `shoal.read` takes it.

    Notes
    -----
    Roles are guessed from names and counts: they are a start for a steward, who knows the data.
    """
    frame = read(source, csv=csv).frame if isinstance(source, str | Path) else to_polars(source)[0]
    return table_profile.profile(frame)
