"""What a release keeps of a table: distributions of its columns, correlations, dependence of sensitive attributes.

What the release shows is read as an analyst would: each value that a group shows is equally likely, and attributes are
independent inside a group (`shoal.measuring.queries`). Numbers shown as ranges stand in correlations as their middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.querying import Shown
from shoal.masking.grouped import GroupedRecords
from shoal.measuring.classes import FEWEST_PERSONS, ColumnClasses, classes_of
from shoal.measuring.shown import (
    MISSING,
    PERTURBED,
    ApartView,
    Released,
    grouping_of,
    numbers_of_units,
    perturbed_values,
    shown_by,
    view_of,
    what_places_show,
)
from shoal.measuring.statistics import SHOWN_AS_NUMBERS, masked_numbers
from shoal.models.exact import FloatArray
from shoal.table.columns import NumberColumn
from shoal.table.table import Table

BLOCK = 100_000
"""Places or records that are looked at together, so that memory stays small."""
NO_VARIANCE = 1e-15
"""A variance below this, of values that are scaled to at most 1, is that of a constant."""


@dataclass(frozen=True, kw_only=True)
class Class:
    """One class of a column: how many records the table has in it, and how many the release seems to have."""

    label: str
    before: int
    after: float


@dataclass(frozen=True, kw_only=True)
class ColumnKept:
    """What a release keeps of one quasi-identifier.

    Attributes
    ----------
    kind
        "number", "date", "ordered" or "nominal".
    classes
        Records by class; None where the classes would have too few persons.
    total_variation
        Half the sum over classes of the difference of their shares: the share of records that seem to be in another
        class. None without classes.
    mean_before, mean_after, deviation_before, deviation_after
        Of numbers, over records that are not missing; dates in days since 1970, ordered categories by their place.
        None for categories, after a mask that shows no numbers, and in tables of fewer than ten persons.
    """

    kind: str
    classes: tuple[Class, ...] | None
    total_variation: float | None
    mean_before: float | None = None
    mean_after: float | None = None
    deviation_before: float | None = None
    deviation_after: float | None = None


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Pearson's correlation of two numbers in the table and as the release shows them; None where undefined."""

    first: str
    second: str
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """Cramer's V of a quasi-identifier and a sensitive attribute, by their classes: 0 none, 1 one tells the other."""

    quasi: str
    sensitive: str
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a release keeps of the quasi-identifiers and of how they go together."""

    columns: Mapping[str, ColumnKept]
    correlations: tuple[Correlation, ...] = ()
    dependences: tuple[Dependence, ...] = ()


def what_is_kept(release: Released) -> Kept:
    """Compare a release with its table; O(records x quasi-identifiers), and groups x classes."""
    table = release.table
    after = read_release(release)
    classes = {name: classes_of(column, table) for name, column in table.quasi.items()}
    columns = {name: _column_kept(table, after, name, classes[name]) for name in table.quasi}
    if table.n_persons < FEWEST_PERSONS:
        return Kept(columns=columns)
    numbers = {name: column for name, column in table.quasi.items() if isinstance(column, NumberColumn)}
    before = Sums.of([numbers_in(column) for column in numbers.values()], None, table.n_records)
    shown, weight = numbers_shown(release, after)
    seen = Sums.of(list(shown.values()), weight, len(weight))
    for at, name in enumerate(numbers):
        at_after = list(shown).index(name) if name in shown else None
        columns[name] = replace(
            columns[name],
            mean_before=before.mean(at),
            deviation_before=before.deviation(at),
            mean_after=None if at_after is None else seen.mean(at_after),
            deviation_after=None if at_after is None else seen.deviation(at_after),
        )
    return Kept(
        columns=columns,
        correlations=tuple(_correlations(list(numbers), before, list(shown), seen)),
        dependences=tuple(_dependences(table, after, classes)),
    )


def pairs_of_categories(release: Released) -> tuple[Correlation, ...]:
    """Cramer's V of each two quasi-identifiers of which one at least has categories, before and after, by classes.

    What a group shows of two of them is taken as independent. Pairs without classes are left out.
    """
    table = release.table
    after = read_release(release)
    classes = {name: classes_of(column, table) for name, column in table.quasi.items()}
    known = [(name, each) for name, each in classes.items() if each is not None]
    pairs = []
    for at, (first, of_first) in enumerate(known):
        for second, of_second in known[at + 1 :]:
            if isinstance(table.quasi[first], NumberColumn) and isinstance(table.quasi[second], NumberColumn):
                continue
            before = counted_together(of_first.class_of_record, len(of_first), of_second)
            seen = after.both(first, of_first, second, of_second)
            pairs.append(Correlation(first=first, second=second, before=_cramers_v(before), after=_cramers_v(seen)))
    return tuple(pairs)


def _column_kept(table: Table, after: _Read, name: str, classes: ColumnClasses | None) -> ColumnKept:
    kind = getattr(table.quasi[name], "kind", "nominal")
    if classes is None:
        return ColumnKept(kind=kind, classes=None, total_variation=None)
    before, seen = classes.counts(), after.counts(name, classes)
    listed = tuple(
        Class(label=label, before=int(n), after=float(m))
        for label, n, m in zip(classes.labels, before, seen, strict=True)
    )
    variation = 0.5 * float(np.abs(before / before.sum() - seen / seen.sum()).sum())
    return ColumnKept(kind=kind, classes=listed, total_variation=variation)


# --- reading a release -----------------------------------------------------------------------------------------------


def read_release(release: Released, weight: FloatArray | None = None) -> _Read:
    """What a release shows, as an analyst reads it.

    Parameters
    ----------
    weight
        How much each record of the table counts, such as by the weights of a sample; 1 unless told.
    """
    shown = shown_by(release.mask)
    if shown == PERTURBED:
        return _ReadRecords(release, weight)
    if shown in ("group", "range+group"):
        return _ReadApart(release, weight)
    return _ReadGroups(release, shown, weight)


class _ReadRecords:
    """A perturbed release: each record shows a value of its own.

    `weight` says for how many records each place stands; `counts` how many records the release seems to have in each
    class of a quasi-identifier, `together` in each class of it and of a sensitive attribute, `both` in each class of it
    and of another quasi-identifier.
    """

    def __init__(self, release: Released, weight: FloatArray | None = None) -> None:
        self._values = perturbed_values(release.table, release.published)
        self.weight = np.ones(release.table.n_records) if weight is None else weight

    def _class_of_record(self, name: str, classes: ColumnClasses) -> NDArray[np.int8]:
        values = self._values[name]
        is_missing = values == MISSING
        shown = classes.class_of_values(np.where(is_missing, 0, values))
        return np.where(is_missing, classes.class_of_part[-1], shown)

    def counts(self, name: str, classes: ColumnClasses) -> FloatArray:
        shown = self._class_of_record(name, classes)
        return np.bincount(shown, weights=self.weight, minlength=len(classes)).astype(np.float64)

    def together(self, name: str, classes: ColumnClasses, values: ColumnClasses) -> FloatArray:
        return counted_together(self._class_of_record(name, classes), len(classes), values, self.weight)

    def both(self, first: str, of_first: ColumnClasses, second: str, of_second: ColumnClasses) -> FloatArray:
        other = replace(of_second, class_of_record=self._class_of_record(second, of_second))
        return counted_together(self._class_of_record(first, of_first), len(of_first), other)


class _ReadGroups:
    """A release in which groups show what their records may have, and each record its sensitive values."""

    def __init__(self, release: Released, shown: str, weight: FloatArray | None = None) -> None:
        self._records = GroupedRecords.of(release.table, grouping_of(release))
        self._own = weight
        self._names = list(release.table.quasi)
        self.shown = what_places_show(release.table, self._records, shown)
        self.weight = self._records.n_records.astype(np.float64) if weight is None else _by_group(self._records, weight)
        self._known: tuple[ColumnClasses, FloatArray] | None = None

    def counts(self, name: str, classes: ColumnClasses) -> FloatArray:
        return _weighted_shares(self.shown, self._names.index(name), classes, self.weight[:, None])[:, 0]

    def together(self, name: str, classes: ColumnClasses, values: ColumnClasses) -> FloatArray:
        if self._known is None or self._known[0] is not values:
            self._known = values, _counted_by_group(self._records, values, self._own)
        return _weighted_shares(self.shown, self._names.index(name), classes, self._known[1])

    def both(self, first: str, of_first: ColumnClasses, second: str, of_second: ColumnClasses) -> FloatArray:
        columns = (self._names.index(first), of_first), (self._names.index(second), of_second)
        return _shares_together(self.shown, *columns, self.weight)


class _ReadApart:
    """A release in which persons or groups show quasi-identifiers, and groups count their sensitive values."""

    def __init__(self, release: Released, weight: FloatArray | None = None) -> None:
        view = view_of(release)
        assert isinstance(view, ApartView)
        self._view, self._person_of_record = view, release.table.person_of_record
        self._names, self.shown = list(release.table.quasi), view.quasi
        n_places = np.diff(view.place_start_of_group)
        self._group_of_place = np.repeat(np.arange(len(n_places)), n_places)
        self._share_of_place = 1.0 / n_places[self._group_of_place]
        self._own = weight
        in_group = view.n_records if weight is None else _by_group(view.records, weight)
        self.weight = in_group[self._group_of_place] * self._share_of_place

    def counts(self, name: str, classes: ColumnClasses) -> FloatArray:
        return _weighted_shares(self.shown, self._names.index(name), classes, self.weight[:, None])[:, 0]

    def together(self, name: str, classes: ColumnClasses, values: ColumnClasses) -> FloatArray:
        own = self._view.weight_of_record(self._person_of_record, values.class_of_record)
        own = own if self._own is None else own * self._own
        counted = _counted_by_group(self._view.records, values, own)
        weights = counted[self._group_of_place] * self._share_of_place[:, None]
        return _weighted_shares(self.shown, self._names.index(name), classes, weights)

    def both(self, first: str, of_first: ColumnClasses, second: str, of_second: ColumnClasses) -> FloatArray:
        columns = (self._names.index(first), of_first), (self._names.index(second), of_second)
        return _shares_together(self.shown, *columns, self.weight)


_Read: TypeAlias = _ReadRecords | _ReadGroups | _ReadApart


def _by_group(records: GroupedRecords, weight: FloatArray) -> FloatArray:
    """The sum of the weights of the records of each group."""
    return np.bincount(records.group_of_record, weights=weight, minlength=records.n_groups).astype(np.float64)


def _counted_by_group(records: GroupedRecords, values: ColumnClasses, weight: FloatArray | None = None) -> FloatArray:
    """How many records of each group are in each class, each by its weight."""
    cells = records.group_of_record * np.int64(len(values)) + values.class_of_record
    counted = np.bincount(cells, weights=weight, minlength=records.n_groups * len(values))
    return counted.reshape(-1, len(values)).astype(np.float64)


def _blocks(n: int) -> Iterator[slice]:
    for first in range(0, n, BLOCK):
        yield slice(first, min(first + BLOCK, n))


def _weighted_shares(shown: Shown, number: int, classes: ColumnClasses, weights: FloatArray) -> FloatArray:
    """By class and column of weights: the sum over places of the share of what they show, times the weight."""
    total = np.zeros((len(classes), weights.shape[1]))
    for places in _blocks(len(weights)):
        total += _shares(shown, number, classes, places).T @ weights[places]
    return total


def _shares_together(
    shown: Shown, first: tuple[int, ColumnClasses], second: tuple[int, ColumnClasses], weight: FloatArray
) -> FloatArray:
    """By class of two quasi-identifiers: the sum over places of the product of their shares, times the weight."""
    total = np.zeros((len(first[1]), len(second[1])))
    for places in _blocks(len(weight)):
        total += (_shares(shown, *first, places) * weight[places, None]).T @ _shares(shown, *second, places)
    return total


def _shares(shown: Shown, number: int, classes: ColumnClasses, places: slice) -> FloatArray:
    """By place and class, the share of the values that the place shows of a quasi-identifier."""
    low, high = shown.low[number, places], shown.high[number, places]
    shares = np.zeros((len(low), len(classes)))
    if shown.is_set[number]:
        first, last = int(low.min()), int(max(high.max(), low.max()))
        class_of_member = classes.class_of_values(shown.members[first:last])
        for each in range(len(classes)):
            up_to = np.concatenate([[0], np.cumsum(class_of_member == each)])
            shares[:, each] = up_to[np.maximum(high, low) - first] - up_to[low - first]
    else:
        assert classes.ends is not None
        below = np.zeros(len(low), dtype=np.int64)
        for part, end in enumerate([*classes.ends.tolist(), None]):
            up_to = high - low + 1 if end is None else np.clip(end - low, 0, high - low + 1)
            shares[:, classes.class_of_part[part]] += up_to - below
            below = up_to
    shares[:, classes.class_of_part[-1]] += shown.has_missing[number, places]
    shares /= shown.n_values[number, places][:, None]
    return shares


# --- means, deviations, correlations ---------------------------------------------------------------------------------


def numbers_in(column: NumberColumn) -> _Column:
    """The numbers of a column, record by record."""
    offset, scale = numbers_of_units(column)
    return _Column(column.units, offset, scale, column.is_missing)


def numbers_shown(
    release: Released, after: _Read, weight: FloatArray | None = None
) -> tuple[dict[str, _Column], FloatArray]:
    """The columns of numbers as a release shows them, by record or by place, and the weight of each.

    The middle stands for a range. A mask that shows sets or suppresses shows no numbers.
    """
    table = release.table
    if release.mask.form in SHOWN_AS_NUMBERS:
        numbers = {name: column for name, column in table.quasi.items() if isinstance(column, NumberColumn)}
        read = {name: _Column(masked_numbers(column, release.published)) for name, column in numbers.items()}
        return read, np.ones(table.n_records) if weight is None else weight
    if release.mask.name == "suppress" or isinstance(after, _ReadRecords):
        return {}, after.weight
    shown: Shown = after.shown
    middles = {}
    for at, (name, column) in enumerate(table.quasi.items()):
        if isinstance(column, NumberColumn) and not shown.is_set[at]:
            low, high = shown.low[at], shown.high[at]
            offset, scale = numbers_of_units(column)
            middles[name] = _Column(low / 2 + high / 2, offset, scale, high < low)
    return middles, after.weight


@dataclass(frozen=True)
class _Column:
    """Numbers as offset + scale * units."""

    units: NDArray[np.int64] | FloatArray
    offset: float = 0.0
    scale: float = 1.0
    is_missing: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Sums:
    """Sums over records or places, from which means and correlations follow; values are centred and scaled."""

    columns: list[_Column]
    centre: FloatArray
    scale: FloatArray
    total: FloatArray
    """By two columns: the weight of what has both numbers."""
    sums: FloatArray
    """By two columns: the sum of the first, over what has both."""
    squares: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, columns: list[_Column], weight: FloatArray | None, n: int) -> Sums:
        """Sums of columns with one weight per line, or 1; from blocks, so that memory stays small."""
        k = len(columns)
        centre, scale = np.zeros(k), np.ones(k)
        for at, column in enumerate(columns):
            present = _present(column, slice(None))
            if present.size and np.isfinite(present).any():
                low, high = np.nanmin(present), np.nanmax(present)
                centre[at], scale[at] = low / 2 + high / 2, max(high / 2 - low / 2, 1e-300)
        total, sums, squares, products = (np.zeros((k, k)) for _ in range(4))
        for block in _blocks(n) if k else ():
            values = np.stack([_with_gaps(column, block) for column in columns], axis=1)
            values = (values - centre) / scale
            has_number = np.isfinite(values)
            filled = np.where(has_number, values, 0.0)
            present = has_number.astype(np.float64)
            factor = 1.0 if weight is None else weight[block, None]
            weighted = filled * factor
            total += (present * factor).T @ present
            sums += weighted.T @ present
            squares += (weighted * filled).T @ present
            products += weighted.T @ filled
        return cls(columns, centre, scale, total, sums, squares, products)

    def mean(self, at: int) -> float | None:
        """The mean of a column."""
        if self.total[at, at] <= 0:
            return None
        units = self.centre[at] + self.scale[at] * self.sums[at, at] / self.total[at, at]
        return float(self.columns[at].offset + self.columns[at].scale * units)

    def sum(self, at: int) -> float | None:
        """The sum of a column, each number by its weight."""
        mean = self.mean(at)
        return None if mean is None else mean * float(self.total[at, at])

    def deviation(self, at: int) -> float | None:
        """The standard deviation of a column."""
        if self.total[at, at] <= 0:
            return None
        return float(np.sqrt(self._variance(at, at)) * self.scale[at] * self.columns[at].scale)

    def _variance(self, at: int, other: int) -> float:
        total = self.total[at, other]
        variance = self.squares[at, other] / total - (self.sums[at, other] / total) ** 2
        return float(variance) if variance > NO_VARIANCE else 0.0

    def correlation(self, at: int, other: int) -> float | None:
        """The correlation of two columns over what has both; None where one is constant there."""
        total = self.total[at, other]
        if total <= 0:
            return None
        variances = self._variance(at, other) * self._variance(other, at)
        if not variances:
            return None
        covariance = self.products[at, other] / total - self.sums[at, other] * self.sums[other, at] / total**2
        return float(np.clip(covariance / np.sqrt(variances), -1.0, 1.0))


def _present(column: _Column, block: slice) -> NDArray[np.int64] | FloatArray:
    units = column.units[block]
    return units if column.is_missing is None else units[~column.is_missing[block]]


def _with_gaps(column: _Column, block: slice) -> FloatArray:
    """Numbers with NaN for missing ones."""
    units = column.units[block].astype(np.float64)
    return units if column.is_missing is None else np.where(column.is_missing[block], np.nan, units)


def _correlations(names: list[str], before: Sums, shown: list[str], after: Sums) -> Iterator[Correlation]:
    for at, first in enumerate(names):
        for other, second in enumerate(names[at + 1 :], start=at + 1):
            has_both = first in shown and second in shown
            yield Correlation(
                first=first,
                second=second,
                before=before.correlation(at, other),
                after=after.correlation(shown.index(first), shown.index(second)) if has_both else None,
            )


# --- dependence of sensitive attributes ------------------------------------------------------------------------------


def _dependences(table: Table, after: _Read, of_quasi: Mapping[str, ColumnClasses | None]) -> Iterator[Dependence]:
    for sensitive, column in table.sensitive.items():
        values = classes_of(column, table)
        for quasi, classes in of_quasi.items():
            if values is not None and classes is not None:
                before = counted_together(classes.class_of_record, len(classes), values)
                seen = after.together(quasi, classes, values)
                yield Dependence(quasi=quasi, sensitive=sensitive, before=_cramers_v(before), after=_cramers_v(seen))


def counted_together(
    class_of_record: NDArray[np.int8], n_classes: int, values: ColumnClasses, weight: FloatArray | None = None
) -> FloatArray:
    """How many records are in each class and each class of values, each by its weight."""
    cells = class_of_record * np.int16(len(values)) + values.class_of_record
    counted = np.bincount(cells, weights=weight, minlength=n_classes * len(values))
    return counted.reshape(n_classes, len(values)).astype(np.float64)


def _cramers_v(together: FloatArray) -> float | None:
    """Cramer's V of a table of counts; None where one of the two has a single class."""
    together = together[together.sum(axis=1) > 0][:, together.sum(axis=0) > 0]
    if min(together.shape) < 2:
        return None
    total = together.sum()
    expected = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True) / total
    chi_square = float(((together - expected) ** 2 / expected).sum())
    return float(min(np.sqrt(chi_square / total / (min(together.shape) - 1)), 1.0))
