"""What masked numbers keep of the original ones, and who can be found by them (Li and Sarkar, 2013, section 6.1).

Arrays have one line per record and one column per attribute; line i of the masked array is record i masked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.kernels.microaggregation import count_closer
from shoal.masking import shown_labels
from shoal.masking.publish import Published
from shoal.table.columns import NumberColumn
from shoal.table.table import Table

Numbers = NDArray[np.float64]

SAME = 1e-9
"""Distances that differ by less than this share are equal."""
SHOWN_AS_NUMBERS = frozenset({"mean", "noise"})
"""The forms of cells in which a mask shows numbers as numbers."""
NO_CORRELATION = 1e-12
"""A correlation below this is 0, of which no share can be taken."""


@dataclass(frozen=True)
class Linkage:
    """How many masked records lead to their original: as the closest record, and as the second closest.

    Where several records are equally close the expected number is given, as if one of them were chosen by chance.
    """

    linked: float
    second: float
    n: int

    @property
    def rate(self) -> float:
        """The share of records that are linked or second closely linked."""
        return (self.linked + self.second) / self.n


@dataclass(frozen=True)
class Bias:
    """A mean of relative changes; `undefined` counts what was left out because its original is 0 or undefined."""

    value: float
    """NaN where every one is undefined."""
    undefined: int = 0


@dataclass(frozen=True)
class Moments:
    """Means and covariances over the records before and after masking, in the units of the columns."""

    columns: tuple[str, ...]
    mean_before: Numbers
    mean_after: Numbers
    covariance_before: Numbers
    covariance_after: Numbers


@dataclass(frozen=True, kw_only=True)
class ClassMix:
    """How far the classes of groups are from those of the table (Li and Sarkar, 2013, sections 3, 4 and 6.1).

    Attributes
    ----------
    chi_square
        X^2, averaged over groups (equation 13).
    one_class
        The share of records in groups that have one class only, so that everybody's is known.
    kld
        The Kullback-Leibler divergence of a group's classes from the table's (definition 1), averaged over records, in
        bits: what the group tells of the class.
    wjsd
        The Jensen-Shannon divergence (definition 2), averaged over records (definition 4), from 0 to 1.
    """

    chi_square: float
    one_class: float
    kld: float
    wjsd: float


def linkage(original: Numbers, masked: Numbers) -> Linkage:
    """Whether the original records closest and second closest to a masked record are its own (Pagliuca and Seri, 1999).

    Distances are Euclidean, on values scaled by the extent of the original. Exact, by a tree over the different
    original records; a search ends when two are closer.
    """
    low, extent = _extent(original)
    nearest, second = linked_by_distance((original - low) / extent, (masked - low) / extent)
    return Linkage(float(nearest[nearest > 0].sum()), float(second[second > 0].sum()), len(original))


def linked_by_distance(own: Numbers, where: Numbers) -> tuple[Numbers, Numbers]:
    """The chance that the original nearest to each masked record, and the second nearest, is its own.

    Line i of `own` and of `where` are the same person or record.
    """
    spot, spot_of_record, size = np.unique(own, axis=0, return_inverse=True, return_counts=True)
    distance = np.sqrt(((where - spot[spot_of_record.reshape(-1)]) ** 2).sum(axis=1))
    closer, as_close = count_closer(spot, size, where, distance, SAME)
    chance = 1.0 / np.maximum(as_close, 1)
    nearest = np.where(closer == 0, chance, 0.0)
    return nearest, np.where(((closer == 0) & (as_close > 1)) | (closer == 1), chance, 0.0)


def linkage_of(table: Table, published: Published) -> Linkage:
    """Record linkage of a release by its numbers; a person's records are represented by their mean."""
    return linkage(_means_of_persons(numbers_of(table), table), _means_of_persons(masked_of(table, published), table))


def class_mix(class_of_record: NDArray[Any], group_of_record: NDArray[Any]) -> ClassMix:
    """How far the classes of groups are from those of the table; in memory of the records, however many there are."""
    classes, class_code = np.unique(class_of_record, return_inverse=True)
    groups, group_code = np.unique(group_of_record, return_inverse=True)
    class_code, group_code = class_code.reshape(-1), group_code.reshape(-1)
    cells, counts = np.unique(group_code * np.int64(len(classes)) + class_code, return_counts=True)
    of_group, of_class = np.divmod(cells, len(classes))
    n, n_of_group = len(class_code), np.bincount(group_code)
    overall = np.bincount(class_code) / n
    share, expected = counts / n_of_group[of_group], overall[of_class]
    weight = n_of_group / n
    middle = (share + expected) / 2
    own, whole = share * np.log2(share / middle), expected * np.log2(expected / middle)
    absent = 1 - np.bincount(of_group, weights=expected)  # the middle of 0 and F is F / 2, which is one bit away from F
    jsd = np.maximum(np.bincount(of_group, weights=own + whole) + absent, 0.0) / 2
    kld = np.maximum(np.bincount(of_group, weights=share * np.log2(share / expected)), 0.0)
    squares = float((counts**2 / (n_of_group[of_group] * expected)).sum()) - n
    is_one = np.bincount(of_group) == 1
    return ClassMix(
        chi_square=max(squares, 0.0) / len(groups),
        one_class=float(n_of_group[is_one].sum()) / n,
        kld=float(weight @ kld),
        wjsd=float(weight @ jsd),
    )


def class_chi_square(class_of_record: NDArray[Any], group_of_record: NDArray[Any]) -> float:
    """X^2: how far the classes of a group are from those of the table, averaged over groups (equation 13)."""
    return class_mix(class_of_record, group_of_record).chi_square


def homogeneous_share(class_of_record: NDArray[Any], group_of_record: NDArray[Any]) -> float:
    """The share of records in groups that have one class only, so that everybody's is known."""
    return class_mix(class_of_record, group_of_record).one_class


def abim(original: Numbers, masked: Numbers) -> Bias:
    """Average absolute bias in mean (equation 14); attributes whose mean is 0 are left out and counted."""
    return _bias(*(_over_present(np.mean, values) for values in (original, masked)))


def abisd(original: Numbers, masked: Numbers) -> Bias:
    """Average absolute bias in standard deviation (equation 15); constant attributes are left out and counted."""
    return _bias(_deviations(original), _deviations(masked))


def abico(original: Numbers, masked: Numbers) -> Bias:
    """Average absolute bias in correlation (equation 16); pairs without a correlation are left out and counted.

    A pair has none where its correlation is 0 in the original, or where an attribute is constant, original or masked.
    """
    pairs = np.triu_indices(original.shape[1], k=1)
    before, after = _correlations(original)[pairs], _correlations(masked)[pairs]
    return _bias(np.where(np.abs(before) < NO_CORRELATION, 0.0, before), after)


def _bias(before: Numbers, after: Numbers) -> Bias:
    is_defined = (before != 0) & np.isfinite(before) & np.isfinite(after)
    change = np.abs((after[is_defined] - before[is_defined]) / before[is_defined])
    return Bias(float(change.mean()) if len(change) else float("nan"), int((~is_defined).sum()))


def _over_present(measure: Callable[[Numbers], Any], values: Numbers) -> Numbers:
    """A measure of each column over the numbers that are not missing; NaN where there is none."""
    present = (column[np.isfinite(column)] for column in values.T)
    return np.array([measure(column) if len(column) else np.nan for column in present], dtype=np.float64)


def _deviations(values: Numbers) -> Numbers:
    """Sample standard deviations; exactly 0 for constants."""
    return _over_present(lambda column: np.std(column, ddof=1) if np.ptp(column) > 0 else 0.0, values)


def _correlations(values: Numbers) -> Numbers:
    """Correlations between attributes over records that miss neither, NaN where one is constant there."""
    if not np.isfinite(values).all():
        return _correlations_of_pairs(values)
    deviations = _deviations(values)
    around_mean = (values - values.mean(axis=0)) / np.where(deviations > 0, deviations, np.nan)
    correlations: Numbers = around_mean.T @ around_mean / (len(values) - 1)
    return correlations


def _correlations_of_pairs(values: Numbers) -> Numbers:
    correlations = np.full((values.shape[1], values.shape[1]), np.nan)
    for first, second in zip(*np.triu_indices(values.shape[1], k=1), strict=True):
        both = values[:, [first, second]]
        both = both[np.isfinite(both).all(axis=1)]
        if len(both) > 1:
            correlations[first, second] = _correlations(both)[0, 1]
    return correlations


def within_share(values: Numbers, group_of_record: NDArray[Any]) -> float:
    """SSE/SST: the share of the squares around the mean that lies inside groups (equations 2 and 3), values scaled."""
    low, extent = _extent(values)
    scaled = (values - low) / extent
    total = float(((scaled - scaled.mean(axis=0)) ** 2).sum())
    return float(np.trace(within_scatter(scaled, group_of_record))) / total if total else 0.0


def within_scatter(values: Numbers, group_of_record: NDArray[Any]) -> Numbers:
    """W: the sum over records of (x - mean of the group)(x - mean of the group)'."""
    _, group = np.unique(group_of_record, return_inverse=True)
    group = group.reshape(-1)
    sums = np.stack([np.bincount(group, weights=column) for column in values.T], axis=1)
    residuals = values - (sums / np.bincount(group)[:, None])[group]
    scatter: Numbers = residuals.T @ residuals
    return scatter


def moments(table: Table, published: Published) -> Moments:
    """Means and covariances of the number quasi-identifiers before and after masking, over records."""
    before, after = numbers_of(table), masked_of(table, published)
    return Moments(
        tuple(column.name for column in number_columns(table)),
        before.mean(axis=0),
        after.mean(axis=0),
        np.cov(before, rowvar=False).reshape(before.shape[1], -1),
        np.cov(after, rowvar=False).reshape(before.shape[1], -1),
    )


def has_numbers(table: Table) -> bool:
    """Whether a quasi-identifier is a number, and none of them is missing."""
    columns = number_columns(table)
    return bool(columns) and not any(column.has_missing for column in columns)


def numbers_of(table: Table) -> Numbers:
    """The number quasi-identifiers of a table: numbers as they are, dates as days, ordered categories by their place.

    A missing number is NaN.
    """
    columns = number_columns(table)
    if not columns:
        raise SchemaError("No quasi-identifier is a number, so there is no mean or covariance to compare.")
    return np.stack([shown_labels.numbers_of(column) for column in columns], axis=1)


def masked_of(table: Table, published: Published) -> Numbers:
    """The same columns as a release shows them, in the order of the table's records."""
    return np.stack([masked_numbers(column, published) for column in number_columns(table)], axis=1)


def masked_numbers(column: NumberColumn, published: Published) -> Numbers:
    """One such column as a release shows it, in the order of the table's records; a missing number is NaN."""
    masked = np.empty(len(column.units))
    masked[published.record_of_published] = _read_back(published.frame[column.name], column)
    return masked


def number_columns(table: Table) -> list[NumberColumn]:
    """The quasi-identifiers that are numbers, dates or ordered categories."""
    return [column for column in table.quasi.values() if isinstance(column, NumberColumn)]


def _read_back(shown: pl.Series, column: NumberColumn) -> Numbers:
    """What a release shows of a column, as numbers; refused where a mask shows ranges."""
    texts = shown.cast(pl.String)
    if column.kind == "date":
        numbers = texts.str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
    elif column.kind == "ordered":
        places = {category: float(place) for place, category in enumerate(column.categories)}
        numbers = texts.replace_strict(places, default=None, return_dtype=pl.Float64)
    else:
        numbers = shown.cast(pl.Float64) if shown.dtype.is_numeric() else texts.cast(pl.Float64, strict=False)
    if numbers.null_count() > shown.null_count():
        raise SchemaError(
            f"'{column.name}' is not published as numbers, so it has no mean or covariance. Use the mask mean or "
            "perturb."
        )
    return numbers.fill_null(float("nan")).to_numpy()


def _means_of_persons(values: Numbers, table: Table) -> Numbers:
    sums = [np.bincount(table.person_of_record, weights=column, minlength=table.n_persons) for column in values.T]
    means: Numbers = np.stack(sums, axis=1) / table.records_of_person[:, None]
    return means


def _extent(values: Numbers) -> tuple[Numbers, Numbers]:
    """The lowest value of each column and its extent, 1 for a constant."""
    extent = np.ptp(values, axis=0)
    return values.min(axis=0), np.where(extent > 0, extent, 1.0)
