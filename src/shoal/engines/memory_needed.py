"""How much memory there is and a table will take, and so which engine does the work: asked before a file is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import NotEnoughMemoryError, ShoalError
from shoal.reading import CsvOptions, format_of, is_address
from shoal.reading.csv import read_csv_blocks
from shoal.reading.packed import is_packed
from shoal.reading.parquet import scan_parquet
from shoal.reading.source import check_is_file
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from shoal.engines.contract import Files

PORTION = 1_000_000
"""How many records are looked at together where they are read in portions."""

MARGIN = 0.9
"""The share of the memory there is that a run may be expected to take."""

BASE = 350_000_000
"""What Python, polars and compiled code take by themselves."""

SAMPLE_BYTES = 1 << 22
TEXT_BYTES = 16
"""What a short text takes in a column of polars."""


@dataclass(frozen=True)
class Size:
    """How large a table is, as far as it can be told without reading it."""

    records: int
    persons: int
    bytes_per_record: int
    file_bytes: int = 0
    """What lies in memory beside the records while they are read."""


def engine_for(files: Files, schema: Schema, why_not: Callable[[], Sequence[str]]) -> str:
    """The engine that the memory there is allows for some files: "memory", or where they do not fit "stream".

    Parameters
    ----------
    why_not
        Tells why the run cannot be done in portions; nothing where it can. Asked only where memory is too small.

    Raises
    ------
    NotEnoughMemoryError
        Neither engine has room. The message names the estimate, what there is, and what to do.
    """
    if any(is_address(name) for name in files.names):
        return "memory"
    paths = [Path(name) for name in files.names]
    formats = [format_of(path).name for path in paths]
    there_is = memory_there_is()
    if there_is is None:
        return "memory"
    for person in (None, schema.person):  # as if each record were a person, and only where that does not fit exactly
        size = size_of_files(paths, formats, files.csv, person)
        if size is None or needed_in_memory(size, schema) <= MARGIN * there_is:
            return "memory"
    assert size is not None
    told = (
        f"The table of about {size.records:,} records needs about {_gb(needed_in_memory(size, schema))} of memory, and "
        f"there are {_gb(there_is)}."
    )
    if reasons := why_not():
        hint = (
            "Take fewer columns, choose what can be done in portions (engine='stream' tells), free some memory, or try "
            "all the same with engine='memory'."
        )
        raise NotEnoughMemoryError(f"{told} It cannot be read in portions: {' '.join(reasons)} {hint}", hint=hint)
    in_portions = needed_in_portions(size, schema)
    if in_portions > MARGIN * there_is:
        hint = (
            "Take fewer quasi-identifiers, free some memory, use a larger machine, or try all the same with "
            "engine='stream'."
        )
        raise NotEnoughMemoryError(
            f"{told} Read in portions it still needs about {_gb(in_portions)} for its {size.persons:,} persons. {hint}",
            hint=hint,
        )
    return "stream"


def fits_memory(path: Path, schema: Schema, csv: CsvOptions) -> bool:
    """Whether a published file can be verified in memory; also where that cannot be told."""
    there_is = memory_there_is()
    size = size_of_files([path], [format_of(path).name], csv, None)
    return there_is is None or size is None or needed_in_memory(size, schema) <= MARGIN * there_is


def refuse_too_large(files: Sequence[str], csv: CsvOptions) -> None:
    """Refuse files whose records alone are larger than the memory there is; where that cannot be told, nothing is."""
    paths = [Path(file) for file in files if not is_address(file)]
    formats = [format_of(path).name for path in paths]
    there_is, size = memory_there_is(), size_of_files(paths, formats, csv, None)
    if there_is is None or size is None:
        return
    needed = size.records * size.bytes_per_record + size.file_bytes
    if needed > there_is:
        hint = (
            "Take fewer columns or a sample of the persons, free some memory, or use a larger machine. 'shoal protect' "
            "works on files larger than memory."
        )
        raise NotEnoughMemoryError(
            f"The {size.records:,} records alone need about {_gb(needed)} of memory, and there are {_gb(there_is)}. "
            f"{hint}",
            hint=hint,
        )


def _gb(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"


def memory_there_is() -> int | None:
    """The bytes that this process can still take: of the machine, its control group, its own limit. None: unknown."""
    known = [free for free in (_of_machine(), _of_control_group(), _of_process()) if free is not None]
    return min(known) if known else None


def size_of_files(paths: Sequence[Path], formats: Sequence[str], csv: CsvOptions, person: str | None) -> Size | None:
    """The size of some files together; None where it cannot be told from them."""
    sizes = []
    for path, format in zip(paths, formats, strict=True):
        with suppress(OSError, pl.exceptions.PolarsError, ShoalError):  # what cannot be read is refused when it is
            check_is_file(path)
            if format == "parquet":
                sizes.append(_of_parquet(path, person))
                continue
            if format == "csv":
                sizes.append(_of_csv(path, csv, person))
                continue
        return None
    if not sizes:  # a database, whose size only it knows
        return None
    return Size(
        sum(size.records for size in sizes),
        sum(size.persons for size in sizes),
        max(size.bytes_per_record for size in sizes),
        sum(size.file_bytes for size in sizes),
    )


def needed_in_memory(size: Size, schema: Schema) -> int:
    """About how many bytes a run takes that holds the table: the most of reading, grouping and verifying."""
    n_quasi = len(schema.quasi_names)
    reading = size.records * size.bytes_per_record + 2 * size.file_bytes
    grouping = size.records * (size.bytes_per_record + 8 * n_quasi + 8) + _for_persons(size, schema)
    verifying = size.records * (2 * size.bytes_per_record + 8 * n_quasi + 60)
    return BASE + int(1.2 * max(reading, grouping, verifying))


def needed_in_portions(size: Size, schema: Schema, portion: int = PORTION) -> int:
    """About how many bytes a run takes that holds persons, and records only in portions."""
    return BASE + int(1.1 * _for_persons(size, schema)) + 4 * min(portion, size.records) * size.bytes_per_record


def _for_persons(size: Size, schema: Schema) -> int:
    """What the tree takes: measured with ten million persons, and mostly a row and an order per quasi-identifier."""
    pairs = min(size.records, 4 * size.persons)
    return size.persons * (75 * len(schema.quasi_names) + 40) + 40 * pairs * len(schema.sensitive)


def _of_parquet(path: Path, person: str | None) -> Size:
    scan = scan_parquet([path])
    schema = scan.collect_schema()
    n_records = int(scan.select(pl.len()).collect(engine="streaming").item())
    n_persons = n_records
    if person is not None and person in schema:
        n_persons = int(scan.select(pl.col(person).approx_n_unique()).collect(engine="streaming").item())
    return Size(n_records, n_persons, sum(_bytes_of(dtype) for dtype in schema.dtypes()))


def _of_csv(path: Path, options: CsvOptions, person: str | None) -> Size:
    """From the first blocks: records by the length of their lines, persons by how seldom they come again there."""
    n_bytes = path.stat().st_size * (8 if is_packed(path) else 1)
    blocks = read_csv_blocks(path, options, block_bytes=SAMPLE_BYTES)
    sample = next(blocks.frames)
    read = sum(int(sample[name].str.len_bytes().fill_null(0).sum()) for name in sample.columns)
    n_records = int(len(sample) * n_bytes / max(read + len(sample) * sample.width, 1))
    share = sample[person].n_unique() / len(sample) if person in sample.columns else 1.0
    return Size(n_records, int(n_records * share), TEXT_BYTES * sample.width, n_bytes)


def _bytes_of(dtype: pl.DataType) -> int:
    if dtype in (pl.String, pl.Int128, pl.UInt128) or dtype.is_decimal():
        return TEXT_BYTES
    return 8


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return _kilobytes(Path("/proc/meminfo"), "MemAvailable")
    return None


def _kilobytes(file: Path, name: str) -> int | None:
    for line in file.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def _of_control_group(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int | None:
    """What the control groups around this process leave of their limits (versions 2 and 1)."""
    free = []
    with suppress(OSError, ValueError):
        for line in own.read_text(encoding="ascii", errors="replace").splitlines():
            _, controllers, place = line.split(":", 2)
            if controllers == "":
                base, limit, used = root, "memory.max", "memory.current"
            elif "memory" in controllers.split(","):
                base, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                continue
            here = base / place.lstrip("/")
            for folder in (here, *here.parents):
                free += _left(folder, limit, used)
                if folder == base:
                    break
    return min(free, default=None)


def _left(folder: Path, limit: str, used: str) -> list[int]:
    with suppress(OSError, ValueError):
        most = (folder / limit).read_text(encoding="ascii").strip()
        if most != "max":
            cached = _reclaimable(folder)
            return [max(int(most) - int((folder / used).read_text(encoding="ascii")) + cached, 0)]
    return []


def _reclaimable(folder: Path) -> int:
    """What the group holds of files and gives back when asked."""
    with suppress(OSError, ValueError, IndexError):
        for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines():
            name, value = line.split()
            if name in ("inactive_file", "total_inactive_file"):
                return int(value)
    return 0


def _of_process() -> int | None:
    """Half of what the process's own limit on its address space leaves: threads reserve more of it than they use."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with suppress(OSError, ValueError, IndexError):
        return max(limit - (_kilobytes(Path("/proc/self/status"), "VmSize") or 0), 0) // 2
    return limit // 2
