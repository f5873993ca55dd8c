"""Frames of pandas, polars and pyarrow in, and the same kind out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import polars as pl

from shoal.errors import InputError

PLAIN = (str, int, float, Decimal, date, datetime, time)
UNREADABLE = (ValueError, TypeError, OverflowError, NotImplementedError, pl.exceptions.PolarsError)
"""What frame libraries raise for columns that they cannot hand over; their messages may show values."""


def to_polars(frame: Any) -> tuple[pl.DataFrame, str]:
    """The frame as a polars frame, and the kind it was: "polars", "pandas" or "pyarrow". An index is left behind."""
    found, kind = _frame_and_kind(frame)
    refuse_patterns("The frame", found.columns)
    return found, kind


def refuse_patterns(table: str, names: Iterable[str]) -> None:
    """Refuse names that stand for several columns where one is asked for: polars takes "*" and "^...$" as patterns."""
    patterns = [name for name in names if name == "*" or (name.startswith("^") and name.endswith("$"))]
    if patterns:
        listed = ", ".join(f"'{name}'" for name in patterns)
        raise InputError(
            f"{table} has columns whose names are read as patterns for names: {listed}. Rename them: no column may be "
            "called '*', or begin with '^' and end with '$'."
        )


def _frame_and_kind(frame: Any) -> tuple[pl.DataFrame, str]:
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
            "To read a file, use shoal.read or the command line."
        ) from None
    except ValueError:  # narwhals' word for column names that occur twice
        _refuse_names_twice(getattr(frame, "column_names", frame.columns))
        raise InputError("The frame cannot be read: narwhals refuses it.") from None
    kind = str(wrapped.implementation.value)
    _refuse_names_twice(wrapped.columns)
    if kind == "pandas":
        return _from_pandas(frame), kind
    try:
        return wrapped.to_polars(), kind
    except UNREADABLE:
        raise InputError(f"The {kind} frame has columns of a type that cannot be read.") from None


def _refuse_names_twice(columns: Iterable[object]) -> None:
    names = [str(name) for name in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{len(twice)} column names occur more than once: {', '.join(twice)}. Rename or drop them.")


def _from_pandas(frame: Any) -> pl.DataFrame:
    """A pandas frame without its index; an object column of several types becomes text, as it stands in a file."""
    try:
        whole = pl.from_pandas(frame, include_index=False)
        return whole.with_columns(**_in_their_order(frame, whole), **_by_their_clocks(frame, whole))
    except ImportError:
        raise InputError("Reading a pandas frame needs pyarrow: pip install pyarrow.") from None
    except UNREADABLE:
        pass
    columns, unreadable = [], []
    for name in frame.columns:
        try:
            columns.append(pl.from_pandas(frame[[name]], include_index=False).to_series())
        except UNREADABLE:
            texts = _as_texts(frame[name])
            columns.append(pl.Series(str(name), texts or [], dtype=pl.String))
            unreadable += [str(name)] if texts is None else []
    if unreadable:
        raise InputError(
            f"Columns of a type that cannot be read: {', '.join(unreadable)}. Drop them or make them text."
        )
    whole = pl.DataFrame(columns)
    return whole.with_columns(**_in_their_order(frame, whole), **_by_their_clocks(frame, whole))


def _in_their_order(frame: Any, whole: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns whose categories pandas keeps in an order of their own, with that order."""
    ordered = {}
    for name in frame.columns:
        categories = getattr(getattr(frame[name], "cat", None), "categories", None)
        if categories is not None and frame[name].cat.ordered and whole[str(name)].dtype == pl.Categorical:
            ordered[str(name)] = whole[str(name)].cast(pl.Enum([str(category) for category in categories]))
    return ordered


def _by_their_clocks(frame: Any, whole: pl.DataFrame) -> dict[str, pl.Series]:
    """Columns of times that differ in their zones, as texts with an offset each: a column of times has one zone."""
    texts = {}
    for name in frame.columns:
        if frame[name].dtype != object or not isinstance(whole[str(name)].dtype, pl.Datetime):
            continue
        if len({str(moment.tzinfo) for moment in frame[name].dropna()}) > 1:
            missing = frame[name].isna()
            shown = [
                None if is_missing else moment.isoformat()
                for moment, is_missing in zip(frame[name], missing, strict=True)
            ]
            texts[str(name)] = pl.Series(shown, dtype=pl.String)
    return texts


def _as_texts(values: Any) -> list[str | None] | None:
    """Values of several plain types as texts, or None where there are others."""
    missing = values.isna().tolist()
    plain = [None if is_missing else value for value, is_missing in zip(values.tolist(), missing, strict=True)]
    if not all(value is None or isinstance(value, PLAIN) for value in plain):
        return None
    return [None if value is None else str(value) for value in plain]


def like_the_given(frame: pl.DataFrame, kind: str) -> Any:
    """A polars frame as the kind of frame that was given.

    pandas puts columns of two frames side by side by their index. That of a published table is -1, -2, ..., so that its
    records, whose order is a secret one, never stand beside those of a table that is numbered 0, 1, ...
    """
    if kind == "pandas":
        import pandas as pd

        return frame.to_pandas().set_axis(pd.RangeIndex(-1, -1 - len(frame), -1, name="published"))
    if kind == "pyarrow":
        return frame.to_arrow()
    return frame
