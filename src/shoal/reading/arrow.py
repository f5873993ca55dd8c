"""Arrow IPC files (also called Feather 2) to frames, with the types that the files have."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError
from shoal.reading.source import Reading, Source, check_is_file, plain_or_refused, refuse_lost_times, refuse_no_records

MAGIC = b"ARROW1"
FEATHER_1 = b"FEA1"


def read_arrow(path: str | Path, *, dropped: Collection[str] = ()) -> Reading:
    """Read an Arrow IPC file or stream as a frame with the file's own column types.

    Raises
    ------
    InputError
        The file is absent, damaged, without records, of Feather's first version, or has columns that hold lists,
        structures or bytes.
    """
    path = Path(path)
    check_is_file(path)
    first = _first_bytes(path)
    if not first:
        raise InputError(f"'{path.name}' is empty. An Arrow IPC file was expected.")
    if first.startswith(FEATHER_1):
        raise InputError(f"'{path.name}' is a Feather file of version 1. Write it again as version 2, or as Parquet.")
    try:
        with path.open("rb") as file:  # not by its name, which might hold signs that stand for others
            frame = pl.read_ipc(file) if first == MAGIC else pl.read_ipc_stream(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError(f"'{path.name}' is no Arrow IPC file, or a damaged one. Fetch or write it again.") from None
    frame = plain_or_refused(path.name, frame, dropped)
    times = [name for name, kind in frame.schema.items() if kind == pl.Time and name not in dropped]
    if times:
        refuse_lost_times(path.name, _batches(path, times, is_file=first == MAGIC))
    refuse_no_records(path.name, frame)
    return Reading(frame, Source((path,), "arrow"))


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
