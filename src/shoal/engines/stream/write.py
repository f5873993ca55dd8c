"""A release whose records lie in the files that were written while it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import ParameterError
from shoal.publishing.release import Records, Release, Writing
from shoal.reading import FORMATS


@dataclass(frozen=True, eq=False)
class InFiles(Records):
    """The published file, and what the steward keeps beside it."""

    folder: Path
    format: str
    names: Sequence[str]
    lone: Mapping[str, int]
    engine = "stream"

    @property
    def data(self) -> pl.LazyFrame:
        """The published table, which is read when it is collected; of a CSV file all columns are texts."""
        file = self.folder / f"release.{self.format}"
        return pl.scan_csv(file, infer_schema=False) if FORMATS[self.format].is_text else pl.scan_parquet(file)

    @property
    def tables(self) -> Mapping[str, Any]:
        """No mask that publishes tables apart is offered in portions."""
        return {}

    @property
    def groups(self) -> pl.LazyFrame:
        """The group of each published record."""
        return pl.scan_parquet(self.folder / "steward" / "groups.parquet")

    @property
    def columns(self) -> Sequence[str]:
        """The names of the published columns."""
        return self.names

    @property
    def lone_extremes(self) -> Mapping[str, int]:
        """Counted in portions."""
        return self.lone

    def write(self, release: Release, writing: Writing) -> Path:
        """Refused: it is written already."""
        raise ParameterError(f"The release was written to '{self.folder}' while it was made. Copy that folder.")
