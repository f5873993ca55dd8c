"""Who could it be: the places of a release that fit what an attacker knows of a target's quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.attacking.attackers_view import AttackersView
from shoal.attacking.contract import DoesNotApply
from shoal.attacking.setting import Setting
from shoal.errors import SchemaError
from shoal.judging.observation import number_alike
from shoal.kernels import counting
from shoal.masking import mask_called
from shoal.masking.label_shares import extent_of, means_of_sets, middles, shares_of_sets
from shoal.masking.shown_labels import RangeLabels, SetLabels, labels_of_rows, numbers_of
from shoal.measuring.shown import values_of
from shoal.models.exact import FloatArray, IntArray
from shoal.table.columns import NumberColumn
from shoal.table.table import Table

LARGEST_BLOCK = 20_000_000
"""Points times places that are compared at once."""
MOST_AT_ONCE = 2_000
"""Targets that are looked at together."""
TRIED = 64
"""Points, and places, by which it is seen which quasi-identifier excludes most."""
SAME = 1e-9
"""Distances that differ by less than this share are equal."""
MOST_NEAREST = 16
"""Places that may be equally near."""
MARK = np.sqrt(0.5)
"""Of a category in its own column: two different ones are then 1 apart."""


class TargetBlock(NamedTuple):
    """Some targets, what is known of them, and what fits.

    A point is a combination of quasi-identifiers that a target's records have.
    """

    targets: IntArray
    known: pl.DataFrame
    """`target`, `point`, `records` (of the target with this point)."""
    fits: pl.DataFrame
    """`point`, `place`."""
    whole: pl.DataFrame | None
    """Where places are taken by distance: `target`, `place` nearest to the mean of all records of the target."""


class _Order(NamedTuple):
    """The order in which quasi-identifiers are compared, and the places by the label of the first of them."""

    columns: tuple[str, ...]
    place_at: IntArray
    start_of_label: IntArray
    points_at_once: int


@dataclass(frozen=True)
class Candidates:
    """The places of a release, and the targets' quasi-identifiers."""

    setting: Setting
    original: Table
    view: AttackersView
    labels: dict[str, RangeLabels | SetLabels]
    label_of_place: dict[str, IntArray]

    @classmethod
    def of(cls, setting: Setting) -> Candidates:
        """Read what the release shows by the columns of the original."""
        original = setting.known_original
        view = setting.view
        labels, label_of_place = {}, {}
        for name, column in original.quasi.items():
            try:
                labels[name], label_of_row = labels_of_rows(
                    column, setting.frame[name], form=mask_called(setting.mask).form
                )
            except SchemaError as unread:
                raise DoesNotApply(str(unread)) from None
            of_place = np.empty(view.n_places, np.int64)
            of_place[view.place_of_row] = label_of_row
            label_of_place[name] = of_place
        return cls(setting, original, view, labels, label_of_place)

    @property
    def by_distance(self) -> bool:
        """Whether a release shows means, so that candidates are the nearest places."""
        return self.setting.changes_numbers and self.setting.shows_groups

    @cached_property
    def records_by_person(self) -> tuple[IntArray, IntArray]:
        """The records of the original by person, and where those of each person start."""
        person = self.original.person_of_record
        order = counting.order_by_code(person, self.original.n_persons, np.arange(len(person), dtype=np.int32))
        return order, counting.start_of_code(person, self.original.n_persons)

    def records_of(self, targets: IntArray) -> tuple[IntArray, IntArray]:
        """The records of some persons, and whose they are."""
        order, start = self.records_by_person
        length = np.diff(start)[targets]
        first = np.repeat(start[targets] - np.append(0, np.cumsum(length)[:-1]), length)
        return order[np.arange(int(length.sum())) + first], np.repeat(targets, length)

    def blocks(self, targets: IntArray, *, most: int = MOST_AT_ONCE) -> Iterator[TargetBlock]:
        """The targets some by some, with the places that fit their points."""
        step = min(self._order.points_at_once, most)
        for first in range(0, len(targets), step):
            yield self._block(targets[first : first + step])

    def _block(self, targets: IntArray) -> TargetBlock:
        record, target = self.records_of(targets)
        point, first = self._points(record)
        known = pl.DataFrame({"target": target, "point": point}).group_by("target", "point").len("records")
        known = known.with_columns(pl.col("records").cast(pl.Int64)).sort("target", "point")
        if self.by_distance:
            vectors = encode_records(self.original, record)
            mean = np.zeros((len(targets), vectors.shape[1]))
            np.add.at(mean, np.searchsorted(targets, target), vectors)
            mean /= np.bincount(np.searchsorted(targets, target))[:, None]
            at, place = self._nearest(mean)
            whole = pl.DataFrame({"target": targets[at], "place": place})
            at, place = self._nearest(vectors[first])
        else:
            whole = None
            at, place = self._fitting(record[first])
        return TargetBlock(targets, known, pl.DataFrame({"point": at, "place": place}), whole)

    def _points(self, record: IntArray) -> tuple[IntArray, IntArray]:
        """The point of each record, and a record of each point."""
        coded = []
        for column in self.original.quasi.values():
            codes, distinct = counting.number_distinct(np.ascontiguousarray(values_of(column)[record]))
            coded.append((codes, len(distinct)))
        point, n_points = number_alike(coded)
        first = np.empty(n_points, np.int64)
        first[point[::-1]] = np.arange(len(point))[::-1]
        return point.astype(np.int64), first

    def _fitting(self, record: IntArray) -> tuple[IntArray, IntArray]:
        """All pairs of a point, given by a record that has it, and a place that fits it."""
        leading, *others = self._order.columns
        labels = self.labels[leading]
        place_at, start = self._order.place_at, self._order.start_of_label
        points, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for first in range(0, len(record), self._order.points_at_once):
            some = record[first : first + self._order.points_at_once]
            point, label = np.nonzero(labels.fits(labels.values[some][:, None], np.arange(labels.n_labels)[None, :]))
            size = np.diff(start)[label]
            at = np.arange(int(size.sum())) + np.repeat(start[label] - (np.cumsum(size) - size), size)
            point, place = np.repeat(point, size), place_at[at]
            for name in others:
                other = self.labels[name]
                fits = other.fits(other.values[some][point], self.label_of_place[name][place])
                point, place = point[fits], place[fits]
            points.append(point + first)
            places.append(place)
        return np.concatenate(points), np.concatenate(places)

    @cached_property
    def _order(self) -> _Order:
        """In which order quasi-identifiers are compared: first that which leaves least to look at, then the others."""
        rng = np.random.default_rng(0)
        n_places = self.view.n_places
        some = rng.choice(self.original.n_records, min(TRIED, self.original.n_records), replace=False)
        places = rng.choice(n_places, min(TRIED, n_places), replace=False)
        share = {
            name: float(labels.fits(labels.values[some][:, None], self.label_of_place[name][places][None, :]).mean())
            for name, labels in self.labels.items()
        }
        cost = {name: self.labels[name].n_labels + share[name] * n_places for name in share}
        leading = min(cost, key=lambda name: cost[name])
        others = sorted((name for name in share if name != leading), key=lambda name: share[name])
        label = self.label_of_place[leading]
        start = np.append(0, np.cumsum(np.bincount(label, minlength=self.labels[leading].n_labels)))
        at_once = max(int(LARGEST_BLOCK / max(cost[leading], 1.0)), 1)
        return _Order((leading, *others), np.argsort(label, kind="stable"), start, at_once)

    @cached_property
    def place_vectors(self) -> FloatArray:
        """Places as points, for distances."""
        return encode_places(self.original, self.labels, self.label_of_place)

    def _nearest(self, vectors: FloatArray) -> tuple[IntArray, IntArray]:
        """All pairs of a vector and a place that is nearest to it."""
        from scipy.spatial import cKDTree

        tree = cKDTree(self.place_vectors)
        k = min(MOST_NEAREST, self.view.n_places)
        distance, place = tree.query(vectors, k=k)
        distance, place = distance.reshape(len(vectors), k), place.reshape(len(vectors), k)
        is_nearest = distance <= distance[:, :1] * (1 + SAME) + SAME**2
        at, column = np.nonzero(is_nearest)
        return at, place[at, column].astype(np.int64)


# --- records and places as points -------------------------------------------------------------------------------------
#
# Numbers are scaled by the extent of the original. A category is a column of its own, 0 or the root of one half, so
# that two different categories are 1 apart; a missing number stands in the middle and is marked in a column of its own.


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
            parts.append(shares_of_sets(label).toarray()[of_place] * MARK)
    return np.concatenate(parts, axis=1)


def _encoded_numbers(column: NumberColumn, numbers: FloatArray) -> list[FloatArray]:
    lowest, highest = extent_of(column)
    scale = (highest - lowest) or 1.0
    is_missing = np.isnan(numbers)
    scaled = np.where(is_missing, 0.5, (numbers - lowest) / scale)[:, None]
    if column.is_missing is None:
        return [scaled]
    return [scaled, np.where(is_missing, MARK, 0.0)[:, None]]
