"""Rounding the ends of ranges outwards, so that they are nobody's own value: to steps, or to units of the calendar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.table.columns import NumberColumn
from shoal.table.schema import AUTO, CALENDAR, refuse_wrong_step

MOST_MORE = 0.01
"""By which share the loss of a column may rise where the step is chosen."""

Ends = NDArray[Any]
Step = float | str


def is_rounded(column: NumberColumn) -> bool:
    """Whether ends of the column's ranges are rounded."""
    source = column.source
    is_range = column.kind in ("number", "date") and (source is None or source.hierarchy is None)
    return is_range and source is not None and source.round is not None


def step_of_groups(column: NumberColumn, low: Ends, high: Ends, n_records: NDArray[np.int64]) -> Step | None:
    """The step to which the ends of groups are rounded; None where they stay as they are.

    Where the step is to be chosen it is the coarsest by which the column loses less than 1 % more.
    """
    if not is_rounded(column):
        return None
    assert column.source is not None
    asked = column.source.round
    if asked != AUTO:
        refuse_wrong_step(column.name, column.kind, asked)
        return asked
    chosen, least = None, _width(column, low, high, n_records)
    for step in _steps_to_try(column):
        if _width(column, *rounded_out(column, low, high, step), n_records) > least * (1 + MOST_MORE):
            break
        chosen = step
    return chosen


def rounded_out(column: NumberColumn, low: Ends, high: Ends, step: Step | None) -> tuple[Ends, Ends]:
    """The ends of ranges, moved outwards to the first and the last value of a step; a single value stays itself.

    Ends are whole units of the column, or floats where it keeps floats.
    """
    if step is None:
        return low, high
    if isinstance(step, str):
        first, last = _calendar_ends(low, high, CALENDAR[step])
    elif column.floats is not None and low.dtype.kind == "f":
        first, last = np.floor(low / step) * step, np.ceil(high / step) * step
    else:
        units = max(round(step * 10**column.decimals), 1)
        first, last = low // units * units, high // units * units + (units - 1)
    is_range = low != high
    return np.where(is_range, first, low), np.where(is_range, last, high)


def _calendar_ends(low: Ends, high: Ends, months: int) -> tuple[Ends, Ends]:
    """The first day of the months in which ranges start, and the last of those in which they end."""
    starts = low.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) // months * months
    ends = high.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) // months * months + months
    first = starts.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return first, ends.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) - 1


def _steps_to_try(column: NumberColumn) -> list[Step]:
    """Steps from fine to coarse: 1, 2, 5, 10, ... in the column's own unit, or the units of the calendar."""
    if column.kind == "date":
        return list(CALENDAR)
    low, high = column.ends
    span = high - low
    if span <= 0:
        return []
    finest = 10.0**-column.decimals if column.floats is None else 10.0 ** np.floor(np.log10(span) - 6)
    steps: list[Step] = []
    power = finest
    while power <= span:
        steps += [float(f"{power * factor:.12g}") for factor in (1, 2, 5)]
        power *= 10
    coarser = [float(step) for step in steps if float(step) > finest * 1.5 or column.floats is not None]
    return [int(step) if step == int(step) else step for step in coarser]


def _width(column: NumberColumn, low: Ends, high: Ends, n_records: NDArray[np.int64]) -> float:
    """How wide ranges are in all, each as often as it has records, inside the extent of the column."""
    lowest, highest = column.extent if low.dtype.kind != "f" else column.ends
    inside = np.minimum(high, highest) - np.maximum(low, lowest).astype(np.float64)
    return float((np.maximum(inside, 0.0) * n_records).sum())
