"""Columns as a learner sees them: of records of the original, and of the rows of a release.

A row that shows a range, a set or a node stands for all values below it, each as likely. Where a release does not say
which sensitive value belongs to whom, what is predicted is each value of the group by its share; values that it is
predicted from are dealt out inside the group, as the mask "permute" does it, since their means would vary too little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl

from shoal.masking.label_shares import (
    Moments,
    moments_of_labels,
    moments_of_numbers,
    moments_of_shares,
    part_of_record,
    parts_of_labels,
    tells_something,
)
from shoal.masking.shown_labels import labels_of_rows, numbers_of
from shoal.measuring.shown import Released
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.spelling import spelled

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Kind = Literal["classes", "number"]
MOST_CATEGORIES = 100
"""Categories of a column that are told apart; all others are one."""
FEW_NUMBERS = 10
"""A sensitive attribute with at most so many different numbers is taken as classes."""


class Fold(NamedTuple):
    """Who is learned from and who is kept apart; nobody is both."""

    records: IntArray
    """The records of the original that are learned from."""
    rows: IntArray
    """The rows of the release that are learned from: those of the same persons."""
    tested: IntArray
    """The records of the original of the persons who are kept apart."""


class ReleasedRows:
    """The rows of a release in the order of the original, whatever their secret order is, and whose they are."""

    def __init__(self, release: Released) -> None:
        self.release, self.table = release, release.table
        published = release.published
        self.order = np.argsort(published.record_of_published, kind="stable")
        self.record = published.record_of_published[self.order]
        """The record of the original that each row is; beside sensitive tables the person."""
        self.person = (self.record if published.tables else self.table.person_of_record[self.record]).astype(np.int64)
        self.group = published.group_of_record[self.order].astype(np.int64)

    @property
    def is_apart(self) -> bool:
        """Whether the release does not say which sensitive value belongs to whom."""
        return not self.release.mask.links_values

    def column(self, name: str) -> pl.Series:
        """A published column."""
        return self.release.published.frame[name].gather(self.order)

    def shares_in_groups(self, codes: IntArray, n_codes: int, fold: Fold) -> csr_matrix:
        """By row that is learned from, how much each code has of its group, as the release counts it.

        Only the persons who are learned from are counted. Persons count once with each value where the release counts
        no records.
        """
        from scipy.sparse import csr_matrix

        pairs = np.stack([self.table.person_of_record[fold.records], codes[fold.records]], axis=1)
        if self.release.mask.shows_identities and not self.table.one_record_per_person:
            pairs = np.unique(pairs, axis=0)
        place = (self._group_of_person[pairs[:, 0]], pairs[:, 1])
        counted = csr_matrix((np.ones(len(pairs)), place), shape=(int(self.group.max()) + 1, n_codes))
        counted = counted[self.group[fold.rows]]
        return csr_matrix(counted.multiply(1 / np.asarray(counted.sum(axis=1))))

    def dealt_in_groups(self, codes: IntArray, fold: Fold, seed: int) -> IntArray:
        """For each row that is learned from, the code of a record of its group; of those that are learned from."""
        rng = np.random.default_rng([seed, 19])
        group = self._group_of_person[self.table.person_of_record[fold.records]]
        lot = fold.records[np.lexsort((rng.random(len(group)), group))]
        size = np.bincount(group, minlength=int(self.group.max()) + 1)
        start = np.cumsum(size) - size
        own = self.group[fold.rows]
        order = np.argsort(own, kind="stable")
        rows_of_group = np.bincount(own, minlength=len(size))
        place = np.empty(len(own), np.int64)
        place[order] = np.arange(len(own)) - np.repeat(np.cumsum(rows_of_group) - rows_of_group, rows_of_group)
        return np.asarray(codes[lot[start[own] + place % size[own]]])

    @cached_property
    def _group_of_person(self) -> IntArray:
        group_of_person = np.zeros(self.table.n_persons, np.int64)
        group_of_person[self.person] = self.group
        return group_of_person


Known = TypeVar("Known")


@dataclass(frozen=True)
class Learned(Generic[Known]):
    """What there is to learn of a column in a fold: from the original, from the release, and of who is kept apart."""

    original: Known
    released: Known
    tested: Known


class Column(ABC):
    """A column of the original and of the release."""

    kind: Kind
    name: str
    tells: BoolArray | None
    """By row of the release, whether it excludes any value; None where all do."""

    @abstractmethod
    def features(self, fold: Fold) -> Learned[csr_matrix]:
        """Numbers by which others can be predicted, in the same scale for all three."""


@dataclass(frozen=True)
class Categories(Column):
    """A column of categories: codes of the original, shares of codes in the rows of the release."""

    name: str
    code_of_record: IntArray
    n_codes: int
    shown: Callable[[Fold], csr_matrix]
    tells: BoolArray | None = None
    kind: Kind = "classes"

    def features(self, fold: Fold) -> Learned[csr_matrix]:
        """The share of each category; those that are rare among records that are learned from are one."""
        place, n = commonest_first(np.bincount(self.code_of_record[fold.records], minlength=self.n_codes))
        merged = one_of_each(place, n)
        return Learned(
            one_of_each(place[self.code_of_record[fold.records]], n),
            self.shown(fold) @ merged,
            one_of_each(place[self.code_of_record[fold.tested]], n),
        )


@dataclass(frozen=True)
class Numbers(Column):
    """A column of numbers: those of the original, and what is expected of the rows of the release."""

    name: str
    known: Moments
    shown: Callable[[Fold], Moments]
    tells: BoolArray | None = None
    kind: Kind = "number"

    def features(self, fold: Fold) -> Learned[csr_matrix]:
        """The number and its square, in standard deviations from the mean, and whether it is missing."""
        taught = self.known.at(fold.records)
        there = taught.mean[taught.missing < 1]
        middle = float(there.mean()) if len(there) else 0.0
        scale = (float(there.std()) if len(there) else 0.0) or 1.0

        def scaled(known: Moments) -> csr_matrix:
            from scipy.sparse import csr_matrix

            first = (known.mean - middle) / scale
            second = ((known.square - 2 * middle * known.mean + middle**2) / scale**2 - 1) / np.sqrt(2)
            is_there = 1 - known.missing
            return csr_matrix(np.stack([first * is_there, second * is_there, known.missing], axis=1))

        return Learned(scaled(taught), scaled(self.shown(fold)), scaled(self.known.at(fold.tested)))


def commonest_first(counts: IntArray, most: int = MOST_CATEGORIES) -> tuple[IntArray, int]:
    """The place of each code by how frequent it is, and how many places there are; rare codes share the last."""
    n_there = int((counts > 0).sum())
    n = min(n_there, most)
    place = np.full(len(counts), n, np.int64)
    place[np.argsort(-counts, kind="stable")[:n]] = np.arange(n)
    return place, n + 1


def one_of_each(place: IntArray, n: int) -> csr_matrix:
    """A line for each place, with a 1 in it."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(place)), (np.arange(len(place)), place)), shape=(len(place), n))


# --- columns of a release ---------------------------------------------------------------------------------------------


def target_of(rows: ReleasedRows, name: str, kind: Kind | None = None) -> Column:
    """The column that is predicted; a kind that is not told is that of its values."""
    if name in rows.table.quasi:
        return _quasi(rows, name, kind)
    values = _Sensitive(rows, rows.table.sensitive[name])
    return values.column(values.counted if rows.is_apart else values.shown, kind)


def predictor_of(rows: ReleasedRows, name: str) -> Column:
    """A column that another is predicted from."""
    if name in rows.table.quasi:
        return _quasi(rows, name, None)
    values = _Sensitive(rows, rows.table.sensitive[name])
    return values.column(values.dealt if rows.is_apart else values.shown, None)


def _quasi(rows: ReleasedRows, name: str, kind: Kind | None) -> Column:
    column = rows.table.quasi[name]
    labels, label_of_row = labels_of_rows(column, rows.column(name), form=rows.release.mask.form)
    tells = tells_something(column, labels)[label_of_row]
    if isinstance(column, NumberColumn) and kind != "classes":
        moments = moments_of_labels(column, labels)
        known = moments_of_numbers(numbers_of(column))
        return Numbers(name, known, lambda fold: moments.at(label_of_row[fold.rows]), tells)
    part, n_parts = part_of_record(column)
    shares = parts_of_labels(column, labels)
    return Categories(name, part, n_parts, lambda fold: shares[label_of_row[fold.rows]], tells)


class _Sensitive:
    """A sensitive attribute: each row shows its own value, or its group counts them."""

    def __init__(self, rows: ReleasedRows, column: CategoryColumn) -> None:
        self.rows, self.values = rows, column
        self.n_codes = len(column.categories) + 1
        self.codes = column.codes.astype(np.int64)

    def column(self, shares: Callable[[Fold], csr_matrix], kind: Kind | None) -> Column:
        """As classes or as numbers, of which the release shows these shares."""
        name, numbers = self.values.name, numbers_of_values(self.values.categories)
        is_number = numbers is not None and (kind == "number" or len(numbers) > FEW_NUMBERS)
        if numbers is None or not is_number or kind == "classes":
            return Categories(name, self.codes, self.n_codes, shares, self._tells)
        number_of_code = np.append(numbers, np.nan)
        known = moments_of_numbers(number_of_code[self.codes])
        return Numbers(name, known, lambda fold: moments_of_shares(shares(fold), number_of_code), self._tells)

    def shown(self, fold: Fold) -> csr_matrix:
        """Each row shows its own value."""
        return one_of_each(self._published[fold.rows], self.n_codes)

    def counted(self, fold: Fold) -> csr_matrix:
        """Each row has the values of its group by their shares."""
        return self.rows.shares_in_groups(self.codes, self.n_codes, fold)

    def dealt(self, fold: Fold) -> csr_matrix:
        """Each row has a value of its group, drawn for each attribute by itself."""
        number = list(self.rows.table.sensitive).index(self.values.name)
        return one_of_each(self.rows.dealt_in_groups(self.codes, fold, number), self.n_codes)

    @cached_property
    def _tells(self) -> BoolArray | None:
        """Whether each row shows its value; one that is hidden looks like a missing one, which it need not be."""
        if self.rows.is_apart:
            return None
        missing = self.n_codes - 1
        tells = (self._published != missing) | (self.codes[self.rows.record] == missing)
        return None if tells.all() else np.asarray(tells)

    @cached_property
    def _published(self) -> IntArray:
        """The code of each published value; what is no value of the original has that of a missing one."""
        shown = spelled(self.rows.column(self.values.name), self.values.spelling)
        texts = spelled(self.values.categories, self.values.spelling)
        found = shown.replace_strict(texts, pl.Series(np.arange(len(texts))), default=None, return_dtype=pl.Int64)
        return found.fill_null(len(texts)).to_numpy()


def numbers_of_values(values: pl.Series) -> FloatArray | None:
    """Values as numbers: numbers, and dates in days since 1970; None where they are neither."""
    if values.dtype.is_numeric():
        return values.cast(pl.Float64).to_numpy()
    if values.dtype in (pl.Date, pl.Datetime):
        return values.cast(pl.Date).cast(pl.Int32).cast(pl.Float64).to_numpy()
    return None
