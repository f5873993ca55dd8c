"""Arrow IPC files (also called Feather 2) to frames, with the types that the files have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.errors import InputError
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.source import Reading, Source, refuse_lost_times

MAGIC = b"ARROW1"
FEATHER_1 = b"FEA1"


class Arrow(Format):
    """Arrow IPC files and streams, also called Feather 2."""

    name: ClassVar[str] = "arrow"
    title: ClassVar[str] = "Arrow IPC"
    words: ClassVar[str] = "an Arrow IPC file (Feather 2)"
    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc", ".arrows")
    beginnings: ClassVar[tuple[bytes, ...]] = (b"ARROW1", b"\xff\xff\xff\xff")
    in_app: ClassVar[bool] = True
    is_written: ClassVar[bool] = True
    is_read_back: ClassVar[bool] = False
    keeps_empty_texts: ClassVar[bool] = True
    runs_in_spreadsheets: ClassVar[bool] = False

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        """With the types of the file; Feather's first version is refused."""
        first = _first_bytes(path)
        if not first:
            raise InputError(f"'{path.name}' is empty. An Arrow IPC file was expected.")
        if first.startswith(FEATHER_1):
            raise InputError(
                f"'{path.name}' is a Feather file of version 1. Write it again as version 2, or as Parquet."
            )
        try:
            with path.open("rb") as file:  # not by its name, which might hold signs that stand for others
                frame = pl.read_ipc(file) if first == MAGIC else pl.read_ipc_stream(file)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise InputError(
                f"'{path.name}' is no Arrow IPC file, or a damaged one. Fetch or write it again."
            ) from None
        times = [name for name, kind in frame.schema.items() if kind == pl.Time and name not in options.dropped]
        if times:
            refuse_lost_times(path.name, _batches(path, times, is_file=first == MAGIC))
        return Reading(frame, Source((path,), cls.name))

    @classmethod
    def fitted(cls, frame: pl.DataFrame) -> pl.DataFrame:
        """Categories in types that name only those of the column: a file lists all that a type names."""
        own = {}
        for column in frame.iter_columns():
            if column.dtype == pl.Categorical:
                used = column.drop_nulls().unique().cast(pl.String).sort()
                own[column.name] = column.cast(pl.String).cast(pl.Enum(used))
        return frame.with_columns(**own)

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        """In the version of Arrow that all read."""
        frame.write_ipc(path, compression="lz4", compat_level=pl.CompatLevel.oldest())


def _batches(path: Path, columns: list[str], *, is_file: bool) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        opened = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        batches = map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened
        yield from (batch.select(columns) for batch in batches)


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC))
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from error
