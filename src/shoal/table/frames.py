"""Frames of pandas, polars and pyarrow in, and the same kind out."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.errors import InputError


def to_polars(frame: Any) -> tuple[pl.DataFrame, str]:
    """The frame as a polars frame, and the kind it was: "polars", "pandas" or "pyarrow". An index is left behind."""
    if isinstance(frame, pl.DataFrame):
        return frame, "polars"
    if isinstance(frame, pl.LazyFrame):
        return frame.collect(), "polars"
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"A pandas, polars or pyarrow frame is expected, got {type(frame).__name__}. "
            "To read a file, use shoal.read_files or the command line."
        ) from None
    except ValueError as error:
        raise InputError(f"The frame cannot be read: {error}") from None
    kind = str(wrapped.implementation.value)
    names = wrapped.columns
    if len(set(names)) < len(names):
        raise InputError(f"{len(names) - len(set(names))} column names occur more than once.")
    if kind == "pandas":
        return pl.from_pandas(frame, include_index=False), kind
    return wrapped.to_polars(), kind


def like_the_given(frame: pl.DataFrame, kind: str) -> Any:
    """A polars frame as the kind of frame that was given."""
    if kind == "pandas":
        return frame.to_pandas()
    if kind == "pyarrow":
        return frame.to_arrow()
    return frame
