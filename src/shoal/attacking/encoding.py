"""Records and places as points between which distances are taken.

Numbers are scaled by the extent of the original. A category is a column of its own, 0 or the root of one half, so that
two different categories are 1 apart; a missing number stands in the middle and is marked in a column of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.attacking.labels import RangeLabels, SetLabels, numbers_of
from shoal.models.exact import FloatArray, IntArray
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table

MARK = np.sqrt(0.5)


def encode_records(table: Table, record: IntArray) -> FloatArray:
    """Some records of a table as points."""
    parts = []
    for column in table.quasi.values():
        if isinstance(column, NumberColumn):
            parts += _encoded_numbers(column, numbers_of(column)[record])
        else:
            marks = np.zeros((len(record), len(column.categories) + 1))
            marks[np.arange(len(record)), column.codes[record]] = MARK
            parts.append(marks)
    return np.concatenate(parts, axis=1)


def encode_places(
    table: Table, labels: Mapping[str, RangeLabels | SetLabels], label_of_place: Mapping[str, IntArray]
) -> FloatArray:
    """Places as points: the middle of a range, the mean of a set's categories."""
    parts = []
    for name, column in table.quasi.items():
        label, of_place = labels[name], label_of_place[name]
        if isinstance(label, RangeLabels):
            assert isinstance(column, NumberColumn)
            parts += _encoded_numbers(column, middles(column, label)[of_place])
        elif isinstance(column, NumberColumn):
            parts += _encoded_numbers(column, means_of_sets(column, label)[of_place])
        else:
            parts.append(_shares(column, label)[of_place] * MARK)
    return np.concatenate(parts, axis=1)


def middles(column: NumberColumn, labels: RangeLabels) -> FloatArray:
    """The middle of each label's range, as far as it lies in the extent of the original; NaN of a missing one."""
    lowest, highest = _extent(column)
    is_single = labels.low == labels.high
    low, high = np.clip(labels.low, lowest, highest), np.clip(labels.high, lowest, highest)
    middle = np.where(is_single, labels.low, (low + high) / 2)
    return np.where(labels.low > labels.high, np.nan, middle)


def means_of_sets(column: NumberColumn, labels: SetLabels) -> FloatArray:
    """The mean of the numbers that each label stands for, where a hierarchy is one of numbers; NaN where missing."""
    number_of_code = np.full(labels.n_codes, np.nan)
    number_of_code[labels.values] = numbers_of(column)
    at = np.repeat(np.arange(labels.n_labels), np.diff(labels.start))
    numbers = number_of_code[labels.codes]
    is_there = ~np.isnan(numbers)
    sums = np.bincount(at[is_there], weights=numbers[is_there], minlength=labels.n_labels)
    sizes = np.bincount(at[is_there], minlength=labels.n_labels)
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)


def _shares(column: QuasiColumn, labels: SetLabels) -> FloatArray:
    shares = np.zeros((labels.n_labels, labels.n_codes))
    size = np.diff(labels.start)
    at = np.repeat(np.arange(labels.n_labels), size)
    shares[at, labels.codes] = 1 / np.maximum(size, 1)[at]
    return shares


def _extent(column: NumberColumn) -> tuple[float, float]:
    values = numbers_of(column)
    present = values[~np.isnan(values)]
    return (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)


def _encoded_numbers(column: NumberColumn, numbers: FloatArray) -> list[FloatArray]:
    lowest, highest = _extent(column)
    scale = (highest - lowest) or 1.0
    is_missing = np.isnan(numbers)
    scaled = np.where(is_missing, 0.5, (numbers - lowest) / scale)[:, None]
    if column.is_missing is None:
        return [scaled]
    return [scaled, np.where(is_missing, MARK, 0.0)[:, None]]
