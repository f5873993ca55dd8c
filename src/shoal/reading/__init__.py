"""Stage 1: files to a frame, exactly or with an error that says where and why."""

from shoal.reading.arrow import read_arrow
from shoal.reading.combine import Join, join_persons, put_under_one_another
from shoal.reading.csv import read_csv
from shoal.reading.excel import read_excel
from shoal.reading.labels import Labels
from shoal.reading.parquet import read_parquet
from shoal.reading.read import read_files
from shoal.reading.source import CsvOptions, Reading, Source
from shoal.reading.sql import is_address, read_database
from shoal.reading.statistical import read_statistical

__all__ = [
    "CsvOptions",
    "Join",
    "Labels",
    "Reading",
    "Source",
    "is_address",
    "join_persons",
    "put_under_one_another",
    "read_arrow",
    "read_csv",
    "read_database",
    "read_excel",
    "read_files",
    "read_parquet",
    "read_statistical",
]
