"""Parquet files to frames, with the types that the files have."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from shoal.errors import InputError
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.source import Reading, Source, check_is_file, plain_or_refused, refuse_lost_times, refuse_no_records

MAGIC = b"PAR1"


class Parquet(Format):
    """Columns with types, compressed."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    words: ClassVar[str] = "a Parquet file"
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    first_bytes: ClassVar[bytes] = MAGIC
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})
    in_app: ClassVar[bool] = True
    is_written: ClassVar[bool] = True
    is_read_back: ClassVar[bool] = False
    keeps_empty_texts: ClassVar[bool] = True
    runs_in_spreadsheets: ClassVar[bool] = False

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        """With the types of the file."""
        return read_parquet(path, dropped=options.dropped)

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        """Higher levels of zstd cost time and gain next to nothing here."""
        frame.write_parquet(path, compression_level=1)


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
    reading = _plain(path, dropped, lambda: pl.read_parquet(path, glob=False, hive_partitioning=False))
    refuse_times_beyond_the_day(path, reading.frame.schema, dropped)
    return reading


def parquet_of_bytes(path: Path, content: bytes, dropped: Collection[str] = ()) -> Reading:
    """Read a Parquet file whose content is at hand, as `read_parquet` does; its path only names it."""
    _check_marks(path, len(content), content[: len(MAGIC)], content[-len(MAGIC) :])
    return _plain(path, dropped, lambda: pl.read_parquet(io.BytesIO(content)))


def read_records(path: Path, start: int, n_records: int | None, dropped: Collection[str] = ()) -> Reading:
    """Read some records of a Parquet file, as `read_parquet` reads all."""
    return _plain(path, dropped, lambda: scan_parquet([path]).slice(start, n_records).collect())


def number_of_records(path: Path, dropped: Collection[str] = ()) -> int:
    """How many records a Parquet file has, by what it says at its end; refused as `read_parquet` refuses."""
    check_parquet(path)
    scan = scan_parquet([path])
    like = _plain(path, dropped, lambda: scan.head(1).collect())
    refuse_times_beyond_the_day(path, like.frame.schema, dropped)
    return int(_undamaged(path, lambda: scan.select(pl.len()).collect()).item())


def scan_parquet(paths: Sequence[Path]) -> pl.LazyFrame:
    """Parquet files under one another, with the types that they have."""
    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def _undamaged(path: Path, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    try:
        return read()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"'{path.name}' is a damaged Parquet file. Fetch or write it again.") from error


def _plain(path: Path, dropped: Collection[str], read: Callable[[], pl.DataFrame]) -> Reading:
    frame = plain_or_refused(path.name, _undamaged(path, read), dropped)
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
    _check_marks(path, n_bytes, first, last)


def _check_marks(path: Path, n_bytes: int, first: bytes, last: bytes) -> None:
    if n_bytes == 0:
        raise InputError(f"'{path.name}' is empty. A Parquet file was expected.")
    if first != MAGIC:
        raise InputError(f"'{path.name}' is not a Parquet file. If it is a CSV file, let its name end with .csv.")
    if last != MAGIC or n_bytes <= 2 * len(MAGIC):
        raise InputError(f"'{path.name}' is a Parquet file that was cut short. Fetch or write it again.")
