"""What a label stands for, spread over its values: a set over its categories, a range over its numbers.

Attacks that learn from a release and measures of what can be learned from it read labels in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.masking.shown_labels import RangeLabels, SetLabels, numbers_of
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_PARTS = 64
"""Numbers with more different values are seen in so many parts with about equally many records."""


# --- categories, and parts of numbers ---------------------------------------------------------------------------------


def _edges(column: NumberColumn) -> FloatArray:
    """Where the parts of a number start: its values where they are few, else quantiles."""
    values = numbers_of(column)
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) <= MOST_PARTS:
        return distinct
    return np.unique(np.quantile(values[~np.isnan(values)], np.arange(MOST_PARTS) / MOST_PARTS, method="lower"))


def part_of_record(column: QuasiColumn) -> tuple[IntArray, int]:
    """The part of a column's values that each record lies in, the last one missing, and how many there are."""
    if not isinstance(column, NumberColumn):
        return column.codes.astype(np.int64), len(column.categories) + 1
    edges, values = _edges(column), numbers_of(column)
    part = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)
    return np.where(np.isnan(values), len(edges), part), len(edges) + 1


def parts_of_labels(column: QuasiColumn, labels: RangeLabels | SetLabels) -> Any:
    """For each label the share of it that lies in each part: equal shares of the values it stands for."""
    if isinstance(labels, SetLabels):
        part, n_parts = part_of_record(column)
        part_of_code = np.full(labels.n_codes, n_parts - 1)
        part_of_code[labels.values] = part
        at = np.repeat(np.arange(labels.n_labels), np.diff(labels.start))
        return _equal_shares(at, part_of_code[labels.codes], labels.n_labels, n_parts)
    assert isinstance(column, NumberColumn)
    edges = _edges(column)
    first = np.clip(np.searchsorted(edges, labels.low, side="right") - 1, 0, None)
    last = np.clip(np.searchsorted(edges, labels.high, side="right") - 1, 0, len(edges) - 1)
    length = np.where(labels.low > labels.high, 0, last - first + 1)
    at = np.repeat(np.arange(labels.n_labels), length)
    part = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length) + first[at]
    missing = np.flatnonzero(labels.missing)
    at, part = np.append(at, missing), np.append(part, np.full(len(missing), len(edges)))
    return _equal_shares(at, part, labels.n_labels, len(edges) + 1)


def _equal_shares(at: IntArray, part: IntArray, n_labels: int, n_parts: int) -> Any:
    """A sparse matrix of labels and parts, whose lines sum to 1."""
    from scipy.sparse import csr_matrix

    size = np.bincount(at, minlength=n_labels)
    return csr_matrix((1 / size[at], (at, part)), shape=(n_labels, n_parts))


def shares_of_sets(labels: SetLabels) -> csr_matrix:
    """For each label the share of each code: equal ones of those that it stands for."""
    at = np.repeat(np.arange(labels.n_labels), np.diff(labels.start))
    return _equal_shares(at, labels.codes, labels.n_labels, labels.n_codes)


# --- numbers ----------------------------------------------------------------------------------------------------------


def middles(column: NumberColumn, labels: RangeLabels) -> FloatArray:
    """The middle of each label's range, as far as it lies in the extent of the original; NaN of a missing one."""
    lowest, highest = extent_of(column)
    is_single = labels.low == labels.high
    low, high = np.clip(labels.low, lowest, highest), np.clip(labels.high, lowest, highest)
    middle = np.where(is_single, labels.low, (low + high) / 2)
    return np.where(labels.low > labels.high, np.nan, middle)


def means_of_sets(column: NumberColumn, labels: SetLabels) -> FloatArray:
    """The mean of the numbers that each label stands for, where a hierarchy is one of numbers; NaN where missing."""
    known = moments_of_labels(column, labels)
    return np.where(known.missing < 1, known.mean, np.nan)


def extent_of(column: NumberColumn) -> tuple[float, float]:
    """The lowest and the highest number that a column of the original has; from 0 to 1 where it has none."""
    values = numbers_of(column)
    present = values[~np.isnan(values)]
    return (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)


class Moments(NamedTuple):
    """Numbers that are known in part: what is expected of them, of their squares, and how likely they are missing."""

    mean: FloatArray
    """Of what is not missing; 0 where it is."""
    square: FloatArray
    missing: FloatArray
    """From 0 to 1."""

    def at(self, rows: IntArray) -> Moments:
        """Those of some lines, in the order given."""
        return Moments(self.mean[rows], self.square[rows], self.missing[rows])


def moments_of_numbers(numbers: FloatArray) -> Moments:
    """Of numbers that are known; NaN is a missing one."""
    is_missing = np.isnan(numbers)
    known = np.where(is_missing, 0.0, numbers)
    return Moments(known, known**2, is_missing.astype(np.float64))


def moments_of_labels(column: NumberColumn, labels: RangeLabels | SetLabels) -> Moments:
    """Of each label: every value that it stands for is as likely; of a range every step from its low to its high end.

    A missing value counts as one more beside those of the original that the label covers.
    """
    if isinstance(labels, SetLabels):
        number_of_code = np.full(labels.n_codes, np.nan)
        number_of_code[labels.values] = numbers_of(column)
        return moments_of_shares(shares_of_sets(labels), number_of_code)
    middle = middles(column, labels)
    lowest, highest = extent_of(column)
    low, high = np.clip(labels.low, lowest, highest), np.clip(labels.high, lowest, highest)
    width = np.where(np.isnan(middle) | (labels.low == labels.high), 0.0, high - low)
    step = 0.0 if column.floats is not None else 10.0**-column.decimals
    mean = np.where(np.isnan(middle), 0.0, middle)
    known = numbers_of(column)
    distinct = np.unique(known[~np.isnan(known)])
    inside = np.searchsorted(distinct, labels.high, side="right") - np.searchsorted(distinct, labels.low, side="left")
    n_values = np.where(np.isnan(middle), 0, np.maximum(inside, 1))
    missing = labels.missing / np.maximum(n_values + labels.missing, 1)
    return Moments(mean, mean**2 + (width**2 + 2 * width * step) / 12, missing)


def moments_of_shares(shares: csr_matrix, number_of_code: FloatArray) -> Moments:
    """Of lines that have each code by a share; a code whose number is NaN is a missing one."""
    is_missing = np.isnan(number_of_code)
    known = np.where(is_missing, 0.0, number_of_code)
    missing = np.clip(shares @ is_missing.astype(np.float64), 0.0, 1.0)
    there = np.where(missing < 1, 1 - missing, 1.0)
    return Moments(shares @ known / there, shares @ known**2 / there, missing)


def tells_something(column: QuasiColumn, labels: RangeLabels | SetLabels) -> BoolArray:
    """For each label whether it excludes any value that the original has."""
    if isinstance(labels, SetLabels):
        n_there = len(np.unique(labels.values))
        is_there = np.zeros(labels.n_codes, np.bool_)
        is_there[labels.values] = True
        at = np.repeat(np.arange(labels.n_labels), np.diff(labels.start))
        return np.asarray(np.bincount(at[is_there[labels.codes]], minlength=labels.n_labels) < n_there)
    assert isinstance(column, NumberColumn)
    lowest, highest = extent_of(column)
    hides_missing = labels.missing | (not column.has_missing)
    return np.asarray((labels.low > lowest) | (labels.high < highest) | ~hides_missing | (lowest == highest))
