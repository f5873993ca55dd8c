"""Stage 1: files to a frame, exactly or with an error that says where and why."""

from shoal.reading.combine import Join, join_persons, put_under_one_another
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.csv import read_csv
from shoal.reading.formats import FORMATS, format_of, format_of_ending, formats_on, is_on
from shoal.reading.labels import Labels
from shoal.reading.parquet import read_parquet
from shoal.reading.read import read
from shoal.reading.source import CsvOptions, Finding, Reading, Source
from shoal.reading.sql import is_address, read_database

__all__ = [
    "FORMATS",
    "CsvOptions",
    "Finding",
    "Format",
    "Join",
    "Labels",
    "ReadOptions",
    "Reading",
    "Source",
    "WriteOptions",
    "format_of",
    "format_of_ending",
    "formats_on",
    "is_address",
    "is_on",
    "join_persons",
    "put_under_one_another",
    "read",
    "read_csv",
    "read_database",
    "read_parquet",
]
