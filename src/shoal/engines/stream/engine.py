"""Which engine does the work: the one that holds the table in memory, or the one that reads it in portions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.engines.stream.memory_needed import (
    MARGIN,
    memory_there_is,
    needed_in_memory,
    needed_in_portions,
    size_of_files,
)
from shoal.errors import NotEnoughMemoryError, ParameterError
from shoal.reading import CsvOptions, is_address
from shoal.reading.read import FORMAT_OF_ENDING
from shoal.table.schema import Schema

MEMORY, STREAM = "memory", "stream"


def engine_for(
    asked: str,
    paths: Sequence[Path],
    formats: Sequence[str],
    schema: Schema,
    *,
    why_not: Sequence[str],
    csv: CsvOptions,
) -> str:
    """The engine for some files: the one asked for, or with "auto" the one that the memory there is allows.

    Parameters
    ----------
    why_not
        Why the run cannot be done in portions; nothing where it can.

    Raises
    ------
    ParameterError
        Portions were asked for, and what else is asked needs the whole table.
    NotEnoughMemoryError
        Neither engine has room. The message names the estimate, what there is, and what to do.
    """
    if asked == MEMORY:
        return MEMORY
    if asked == STREAM:
        if why_not:
            raise ParameterError(
                f"--engine stream cannot do this. {' '.join(why_not)} Choose --engine memory, or others."
            )
        return STREAM
    there_is = memory_there_is()
    if there_is is None:
        return MEMORY
    for person in (None, schema.person):  # as if each record were a person, and only where that does not fit exactly
        size = size_of_files(paths, formats, csv, person)
        if size is None or needed_in_memory(size, schema) <= MARGIN * there_is:
            return MEMORY
    assert size is not None
    told = (
        f"The table of about {size.records:,} records needs about {_gb(needed_in_memory(size, schema))} of memory, and "
        f"there are {_gb(there_is)}."
    )
    if why_not:
        hint = (
            "Take fewer columns, choose what can be done in portions (--engine stream tells), free some memory, or try "
            "all the same with --engine memory."
        )
        raise NotEnoughMemoryError(f"{told} It cannot be read in portions: {' '.join(why_not)} {hint}", hint=hint)
    in_portions = needed_in_portions(size, schema)
    if in_portions > MARGIN * there_is:
        hint = (
            "Take fewer quasi-identifiers, free some memory, use a larger machine, or try all the same with "
            "--engine stream."
        )
        raise NotEnoughMemoryError(
            f"{told} Read in portions it still needs about {_gb(in_portions)} for its {size.persons:,} persons. {hint}",
            hint=hint,
        )
    return STREAM


def fits_memory(path: Path, schema: Schema, csv: CsvOptions) -> bool:
    """Whether a published file can be verified in memory; also where that cannot be told."""
    there_is = memory_there_is()
    size = size_of_files([path], [str(FORMAT_OF_ENDING.get(path.suffix.lower(), "other"))], csv, None)
    return there_is is None or size is None or needed_in_memory(size, schema) <= MARGIN * there_is


def refuse_too_large(files: Sequence[str], csv: CsvOptions) -> None:
    """Refuse files whose records alone are larger than the memory there is; where that cannot be told, nothing is."""
    paths = [Path(file) for file in files if not is_address(file)]
    formats = [str(FORMAT_OF_ENDING.get(path.suffix.lower(), "other")) for path in paths]
    there_is, size = memory_there_is(), size_of_files(paths, formats, csv, None)
    if there_is is None or size is None:
        return
    needed = size.records * size.bytes_a_record + size.file_bytes
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
