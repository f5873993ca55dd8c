"""Reading back what was published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from shoal.errors import InputError
from shoal.reading import CsvOptions, read_files

CODEBOOK = "codebook.json"
LINKED = "steward/linked.parquet"


@dataclass(frozen=True)
class PublishedFiles:
    """The published table, the sensitive tables beside it, and what the steward keeps of them."""

    frame: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    linked: pl.DataFrame | None = None


def read_published(file: Path, *, csv: CsvOptions) -> PublishedFiles:
    """Read a published file and what belongs to it in its folder, by the codebook there."""
    frame = read_files(file, csv=csv).frame
    tables = {name: read_files(path, csv=csv).frame for name, path in _files_of_tables(file.parent).items()}
    linked = file.parent / LINKED
    return PublishedFiles(frame, tables, read_files(linked, csv=csv).frame if linked.is_file() else None)


def _lies_in(folder: Path, name: str) -> bool:
    """Whether a name is that of a file in a folder, and not of one elsewhere by a path or a link."""
    try:
        return Path(name).name == name != ".." and (folder / name).resolve().parent == folder.resolve()
    except (ValueError, OSError):
        return False


def _files_of_tables(folder: Path) -> dict[str, Path]:
    """The sensitive tables that the codebook of a folder names."""
    codebook = folder / CODEBOOK
    if not codebook.is_file():
        return {}
    try:
        entries = json.loads(codebook.read_text(encoding="utf-8")).get("tables", [])
        named = {str(entry["attribute"]): str(entry["file"]) for entry in entries}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"'{CODEBOOK}' is not a codebook of shoal's, so the tables beside it are unknown.") from None
    outside = [name for name in named.values() if not _lies_in(folder, name)]
    if outside:
        raise InputError(f"'{CODEBOOK}' names {len(outside)} files outside its folder.")
    return {column: folder / name for column, name in named.items()}
