"""Numbers and the units that columns count in: there and back, and what a perturbed release shows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.grouping.grouping import Grouping
from shoal.masking import Perturb
from shoal.masking.publish import publish
from shoal.measuring.shown import numbers_of_units, perturbed_values, units_of_numbers
from shoal.table.columns import NumberColumn
from shoal.table.table import Table

FINE = [0.1 + 0.2, 1 / 3, 2 / 3, -1 / 7, 5e-9]
"""Floats that no few decimals write exactly, so that a column of them has a grid of its own."""


def column_of(values: list[float | None]) -> NumberColumn:
    column = Table.from_frame(pl.DataFrame({"q": values}), Schema(quasi=[shoal.Number("q")])).quasi["q"]
    assert isinstance(column, NumberColumn)
    return column


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20), st.integers(0, 4))
def test_units_of_decimals_are_whole(numbers: list[int], decimals: int) -> None:
    values = [number / 10**decimals for number in numbers]
    column = column_of(list(values))
    assert column.floats is None
    assert units_of_numbers(column, np.array(values)) == pytest.approx(column.units)
    offset, scale = numbers_of_units(column)
    assert (offset + scale * column.units).tolist() == pytest.approx(values)


@pytest.mark.parametrize("values", [FINE, [*FINE, None], [1 / 3, 1 / 3], [1 / 3, None]])
def test_units_of_floats_lead_back_to_them(values: list[float | None]) -> None:
    column = column_of(values)
    assert column.floats is not None
    present = [value for value in values if value is not None]
    has_number = np.array([value is not None for value in values])
    offset, scale = numbers_of_units(column)
    assert scale > 0
    assert offset == min(present)
    assert (offset + scale * column.units[has_number]).tolist() == pytest.approx(present, abs=1e-9)
    assert units_of_numbers(column, np.array(present)) == pytest.approx(column.units[has_number], abs=0.5)


def test_a_perturbed_release_shows_the_unit_next_to_each_number() -> None:
    frame = pl.DataFrame({"a": [1.5, 2.5, 3.5, 4.0], "b": FINE[:4], "c": ["x", "y", "x", "y"]})
    table = Table.from_frame(frame, Schema(quasi=["a", "b", shoal.Nominal("c")]))
    published = publish(table, Grouping(np.zeros(4, np.int32), 1), Perturb())
    shown = perturbed_values(table, published)
    place = np.argsort(published.record_of_published)
    masked = published.frame[place.tolist()]
    assert shown["a"].tolist() == [round(number * 10) for number in masked["a"].to_list()]
    offset, scale = numbers_of_units(table.quasi["b"])  # type: ignore[arg-type]
    assert (offset + scale * shown["b"]).tolist() == pytest.approx(masked["b"].to_list(), abs=scale)
    names = table.quasi["c"].categories  # type: ignore[union-attr]
    assert [names[code] for code in shown["c"].tolist()] == masked["c"].to_list()
