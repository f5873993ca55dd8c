"""Parquet files to frames, with the types that the files have."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from shoal.errors import InputError
from shoal.reading.source import Reading, Source, check_is_file, plain_or_refused, refuse_lost_times, refuse_no_records

MAGIC = b"PAR1"


def read_parquet(path: str | Path, *, dropped: Collection[str] = ()) -> Reading:
    """Read a Parquet file as a frame with the file's own column types.

    Raises
    ------
    InputError
        The file is absent, cut short, not Parquet, without records, or has columns that hold lists, structures or
        bytes.
    """
    path = Path(path)
    check_parquet(path)
    try:
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"'{path.name}' is a damaged Parquet file. Fetch or write it again.") from error
    frame = plain_or_refused(path.name, frame, dropped)
    refuse_times_beyond_the_day(path, frame.schema, dropped)
    refuse_no_records(path.name, frame)
    return Reading(frame, Source((path,), "parquet"))


def refuse_times_beyond_the_day(path: Path, schema: pl.Schema, dropped: Collection[str] = ()) -> None:
    """Refuse 24:00:00 and later, which polars would make missing without a word."""
    times = [name for name, kind in schema.items() if kind == pl.Time and name not in dropped]
    if not times:
        return
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        refuse_lost_times(path.name, (batch.select(times) for batch in file.iter_batches(columns=times)))


def starts_like_parquet(path: Path) -> bool:
    """Whether the first four bytes of a file are those of every Parquet file."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def check_parquet(path: Path) -> None:
    """Refuse what is no file, and what does not begin and end as Parquet files do."""
    check_is_file(path)
    try:
        n_bytes = path.stat().st_size
        with path.open("rb") as file:
            first = file.read(len(MAGIC))
            file.seek(max(n_bytes - len(MAGIC), 0))
            last = file.read()
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from error
    if n_bytes == 0:
        raise InputError(f"'{path.name}' is empty. A Parquet file was expected.")
    if first != MAGIC:
        raise InputError(f"'{path.name}' is not a Parquet file. If it is a CSV file, let its name end with .csv.")
    if last != MAGIC or n_bytes <= 2 * len(MAGIC):
        raise InputError(f"'{path.name}' is a Parquet file that was cut short. Fetch or write it again.")
