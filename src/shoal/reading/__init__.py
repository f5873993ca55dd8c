"""Stage 1: files to a frame, exactly or with an error that says where and why."""

from shoal.reading.combine import Join, join_persons, put_under_one_another
from shoal.reading.csv import read_csv
from shoal.reading.parquet import read_parquet
from shoal.reading.read import read_files
from shoal.reading.source import CsvOptions, Reading, Source

__all__ = [
    "CsvOptions",
    "Join",
    "Reading",
    "Source",
    "join_persons",
    "put_under_one_another",
    "read_csv",
    "read_files",
    "read_parquet",
]
