"""The laws of formats, over all that there are; and that they find what breaks them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from shoal.errors import OutputError
from shoal.reading import FORMATS, ReadOptions, WriteOptions
from shoal.reading.laws import check_format
from shoal.reading.parquet import Parquet
from shoal.reading.source import Reading


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_keeps_the_laws(tmp_path: Path, name: str) -> None:
    check_format(FORMATS[name], tmp_path)


class Rounding(Parquet):
    """Loses decimals, and says that it is sure of what it writes."""

    name: ClassVar[str] = "rounding"
    endings: ClassVar[tuple[str, ...]] = (".rounding",)

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        reading = super().read(path, options)
        return Reading(reading.frame, type(reading.source)((path,), cls.name))

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        frame.with_columns(pl.col(pl.Float64).round(0)).write_parquet(path)


class Checked(Rounding):
    """Loses decimals, and says nothing of it: its files are read back."""

    name: ClassVar[str] = "checked"
    endings: ClassVar[tuple[str, ...]] = (".checked",)
    is_read_back: ClassVar[bool] = True


class Elsewhere(Parquet):
    """Its releases would not be known by their ending."""

    name: ClassVar[str] = "elsewhere"


def test_the_laws_find_what_breaks_them(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="rounding: 'share' comes back as it was written, or is refused"):
        check_format(Rounding, tmp_path)
    with pytest.raises(OutputError, match="cannot hold 1 of the columns as they are: share"):
        check_format(Checked, tmp_path)
    with pytest.raises(AssertionError, match=r"a release ends with \.elsewhere"):
        check_format(Elsewhere, tmp_path)
