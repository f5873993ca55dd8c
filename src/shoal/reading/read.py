"""The door of the stage: any files to one frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shoal.reading.combine import Join, join_persons, put_under_one_another
from shoal.reading.csv import read_csv
from shoal.reading.parquet import read_parquet, starts_like_parquet
from shoal.reading.source import CsvOptions, Reading

CSV_ENDINGS = {".csv", ".tsv", ".txt", ".asc", ".data", ".gz"}
PARQUET_ENDINGS = {".parquet", ".pq"}
DEFAULT_CSV_OPTIONS = CsvOptions()


def read_files(
    paths: Sequence[str | Path] | str | Path,
    *,
    csv: CsvOptions = DEFAULT_CSV_OPTIONS,
    rename: Sequence[Mapping[str, str]] | None = None,
    join: Join | None = None,
) -> Reading:
    """Read one file, or several put under one another, and join a table of persons to the records if asked.

    Parameters
    ----------
    paths
        CSV and Parquet files, told apart by their ending, or by their first bytes where the ending says nothing.
    csv
        How the CSV files are written.
    rename
        For each file a mapping from its column names to the common ones.
    join
        A file of persons and the key that it shares with the records.

    Raises
    ------
    InputError
        A file cannot be read exactly.
    SchemaError
        The files do not fit together.
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    records = put_under_one_another([_read_file(Path(path), csv) for path in paths], rename)
    if join is None:
        return records
    return join_persons(records, _read_file(Path(join.person_file), csv), join)


def _read_file(path: Path, csv: CsvOptions) -> Reading:
    ending = path.suffix.lower()
    if ending in PARQUET_ENDINGS or (ending not in CSV_ENDINGS and starts_like_parquet(path)):
        return read_parquet(path)
    return read_csv(path, csv)
