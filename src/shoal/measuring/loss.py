"""What a release loses, measured on its published cells: 0 where nothing is lost, 1 where everything is hidden.

A cell is read as anybody would read it, by the grammar of the codebook, and set beside the record's own value. Where it
leaves several values open, its loss is the share of the column's other values that remain possible; where it shows one
value that need not be the record's own, its loss is the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking.grouped import GroupedRecords
from shoal.masking.history import HistoryShown
from shoal.masking.publish import Mask, Published, publish
from shoal.masking.shown_labels import OR_MISSING, POINTS, RangeLabels, SetLabels, numbers_of, read_labels
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn, code_values, has_hierarchy
from shoal.table.hierarchy import Hierarchy
from shoal.table.label_sets import EVERYTHING, listed_in
from shoal.table.levels import texts_in_hierarchy
from shoal.table.own_columns import GROUP, PERSONS
from shoal.table.spelling import spelled
from shoal.table.table import QuasiColumn, Table


@dataclass(frozen=True, kw_only=True)
class ColumnLoss:
    """What is lost of a column, over the records of the table.

    Attributes
    ----------
    loss
        0: every cell shows the record's own value; 1: no cell shows anything.
    hidden
        The share of records of which nothing is shown.
    width
        Of numbers and dates: how wide what is shown is on average, in the column's own unit.
    error
        Of numbers and dates: how far the best guess from what is shown lies from the record's own value on average, in
        the column's own unit. The best guess is the middle of a range, or the value that is shown.
    possible
        Of categories: how many values remain possible on average.
    unit
        "days" of dates, "places" of ordered categories; None where the column's own unit is not known.
    """

    loss: float
    hidden: float
    width: float | None = None
    error: float | None = None
    possible: float | None = None
    unit: str | None = None


class LossSums(NamedTuple):
    """Sums over records, which can be added up over the parts of a table."""

    records: float = 0.0
    loss: float = 0.0
    hidden: float = 0.0
    width: float = 0.0
    error: float = 0.0
    compared: float = 0.0
    """Records that have a value of their own and a guess at it."""
    possible: float = 0.0

    def plus(self, other: Sequence[float]) -> LossSums:
        """Both together."""
        return LossSums(*(one + another for one, another in zip(self, other, strict=True)))

    def of_column(self, kind: str | None, *, left_out: int = 0) -> ColumnLoss:
        """The means over records, by the kind of a quasi-identifier; of records that were left out nothing is shown."""
        n = max(self.records + left_out, 1.0)
        loss, hidden = (self.loss + left_out) / n, (self.hidden + left_out) / n
        shown = max(self.records, 1.0)
        if kind is None:
            return ColumnLoss(loss=loss, hidden=hidden)
        if kind == "nominal":
            return ColumnLoss(loss=loss, hidden=hidden, possible=self.possible / shown)
        return ColumnLoss(
            loss=loss,
            hidden=hidden,
            width=self.width / shown,
            error=self.error / self.compared if self.compared else None,
            unit={"date": "days", "ordered": "places"}.get(kind),
        )


def losses_of_histories(shown: HistoryShown) -> dict[str, ColumnLoss]:
    """What is lost of columns of which parts are hidden; of records that were left out nothing is shown."""
    lost = {}
    for column in shown.columns:
        n = max(column.n_records + shown.left_out, 1)
        loss = (column.loss * column.n_records + shown.left_out) / n
        lost[column.name] = ColumnLoss(loss=loss, hidden=(column.hidden + shown.left_out) / n)
    return lost


class Prices(NamedTuple):
    """What each label of a column loses."""

    loss: FloatArray
    """NaN where the error of each record is what counts."""
    hidden: BoolArray
    width: FloatArray
    guess: FloatArray
    """The best guess at a number, or the code of a category that is shown as a point; NaN where there is none."""
    possible: FloatArray
    span: float = 0.0
    """Of numbers, how far the lowest and the highest of the whole table are apart."""


def price_labels(column: QuasiColumn, texts: Sequence[str | None], form: str) -> Prices:
    """What the different labels of a column lose; one that nobody can read back loses everything."""
    n = len(texts)
    everything = Prices(np.ones(n), np.ones(n, np.bool_), np.zeros(n), np.full(n, np.nan), np.zeros(n))
    if form == "label":
        return everything
    try:
        labels = read_labels(column, texts, form=form)
    except SchemaError:
        return everything
    if isinstance(labels, RangeLabels):
        assert isinstance(column, NumberColumn)
        return _price_ranges(column, labels, is_point=form in POINTS)
    if form in POINTS:
        return _price_points(labels)
    hidden = _are_hidden(column, texts)
    if has_hierarchy(column):
        return _price_nodes(column, labels, hidden, texts)
    assert isinstance(column, CategoryColumn)
    return _price_sets(column, labels, hidden)


def _price_ranges(column: NumberColumn, labels: RangeLabels, *, is_point: bool) -> Prices:
    lowest, highest = column.ends
    span = highest - lowest
    hidden = np.isneginf(labels.low) & np.isposinf(labels.high)
    low, high = np.maximum(labels.low, lowest), np.minimum(labels.high, highest)
    is_value = labels.low <= labels.high
    low, high = np.where(is_value, low, 0.0), np.where(is_value, high, 0.0)
    guess = np.where(is_value, labels.low if is_point else low / 2 + high / 2, np.nan)
    width = np.maximum(high - low, 0.0)
    if is_point:
        return Prices(np.full(len(low), np.nan), hidden, np.zeros(len(low)), guess, np.ones(len(low)), span)
    share = np.minimum(width / span, 1.0) if span > 0 else np.zeros(len(low))
    steps = column.extent[1] - column.extent[0]
    possible = np.where(is_value, share * steps + 1, 0) + labels.missing
    loss = np.where(hidden, 1.0, (possible - 1) / max(column.n_values - 1, 1))
    return Prices(loss, hidden, width, guess, possible, span)


def _price_points(labels: SetLabels) -> Prices:
    n = labels.n_labels
    return Prices(
        np.full(n, np.nan), np.zeros(n, np.bool_), np.zeros(n), labels.codes[labels.start[:-1]].astype(np.float64),
        np.ones(n),
    )  # fmt: skip


def _price_sets(column: CategoryColumn, labels: SetLabels, hidden: BoolArray) -> Prices:
    possible = np.diff(labels.start).astype(np.float64)
    loss = np.where(hidden, 1.0, (possible - 1) / max(column.n_codes - 1, 1))
    return Prices(loss, hidden, np.zeros(len(loss)), np.full(len(loss), np.nan), possible)


def _price_nodes(column: QuasiColumn, labels: SetLabels, hidden: BoolArray, texts: Sequence[str | None]) -> Prices:
    """Nodes leave open what the hierarchy lists below them, whether somebody of the table has it or not."""
    assert column.source is not None
    assert column.source.hierarchy is not None
    may_miss = labels.fits(np.full(labels.n_labels, labels.n_codes - 1), np.arange(labels.n_labels))
    possible = _values_below(column.source.hierarchy, column, texts) + may_miss
    n_values = column.source.hierarchy.n_values + column.has_missing
    loss = np.where(hidden, 1.0, (possible - 1) / max(n_values - 1, 1))
    width, guess = np.zeros(len(loss)), np.full(len(loss), np.nan)
    if isinstance(column, NumberColumn):
        number_of_code = np.full(labels.n_codes, np.nan)
        number_of_code[labels.values] = numbers_of(column)
        for label in range(labels.n_labels):
            numbers = number_of_code[labels.codes[labels.start[label] : labels.start[label + 1]]]
            numbers = numbers[~np.isnan(numbers)]
            if len(numbers):
                width[label], guess[label] = numbers[-1] - numbers[0], numbers[0] / 2 + numbers[-1] / 2
    return Prices(loss, hidden, width, guess, possible)


def _are_hidden(column: QuasiColumn, texts: Sequence[str | None]) -> BoolArray:
    roots = {EVERYTHING}
    if column.source is not None and column.source.hierarchy is not None:
        roots.add(column.source.hierarchy.root)
    return np.array([text is not None and text.removesuffix(OR_MISSING) in roots for text in texts], np.bool_)


def _values_below(hierarchy: Hierarchy, column: QuasiColumn, texts: Sequence[str | None]) -> FloatArray:
    """How many of the values that a hierarchy lists stand below each label; of a label at several levels the most."""
    known = [value for value in texts_in_hierarchy(column)[0] if value is not None]
    n_values = hierarchy.n_values
    below: dict[str, float] = {}
    for value, shares in zip(known, hierarchy.shares(known), strict=True):
        for node, share in zip(hierarchy.path(value), shares.tolist(), strict=True):
            below[node] = max(below.get(node, 0.0), share * (n_values - 1) + 1)

    def possible(text: str) -> float:
        listed = None if text in below else listed_in(text)
        return below.get(text, n_values) if listed is None else min(sum(map(possible, listed)), n_values)

    return np.array([0.0 if text is None else possible(text.removesuffix(OR_MISSING)) for text in texts])


def sum_losses(column: QuasiColumn, prices: Prices, label_of_record: NDArray[np.integer]) -> LossSums:
    """What records of a column lose, each by its label; they may be some of the table."""
    counts = np.bincount(label_of_record, minlength=len(prices.loss)).astype(np.float64)
    by_record = np.isnan(prices.loss)
    loss = float((counts * np.where(by_record, 0.0, prices.loss)).sum())
    error = compared = 0.0
    if isinstance(column, NumberColumn):
        own, guess = numbers_of(column), prices.guess[label_of_record]
        off = np.abs(np.subtract(own, guess, out=guess), out=guess) if not by_record.any() else np.abs(own - guess)
        is_told = ~np.isnan(off)
        told = off if is_told.all() else off[is_told]
        error, compared = float(told.sum()), float(len(told))
        if by_record.any():
            lost = np.minimum(off / prices.span, 1.0) if prices.span > 0 else (off > 0).astype(np.float64)
            lost = np.where(is_told, lost, np.isnan(own) != np.isnan(guess))
            loss += float(lost[by_record[label_of_record]].sum())
    elif by_record.any():
        of_point = by_record[label_of_record]
        loss += float((column.codes[of_point] != prices.guess[label_of_record[of_point]]).sum())
    return LossSums(
        records=float(counts.sum()), loss=loss, hidden=float(counts[prices.hidden].sum()),
        width=float((counts * prices.width).sum()), error=error, compared=compared,
        possible=float((counts * prices.possible).sum()),
    )  # fmt: skip


def price_groups(
    quasi: Mapping[str, QuasiColumn], labels: Mapping[str, pl.Series], form: str
) -> dict[str, tuple[Prices, IntArray]]:
    """What the labels of each column lose where every group shows one, and which each group shows."""
    priced = {}
    for name, column in quasi.items():
        codes, texts = _labels(labels[name])
        priced[name] = price_labels(column, texts, form), codes
    return priced


def losses_of_grouping(table: Table, grouping: Grouping, mask: Mask) -> dict[str, LossSums]:
    """What a mask would lose of a grouped table; one that gives groups no labels is tried out."""
    if not mask.has_scheme:
        return losses_of_release(table, publish(table, grouping, mask, rng=np.random.default_rng(0)), mask)
    records = GroupedRecords.of(table, grouping)
    labels = {name: mask.mask(column, records, table) for name, column in table.quasi.items()}
    return {
        name: sum_losses(table.quasi[name], prices, label_of_group[records.group_of_record])
        for name, (prices, label_of_group) in price_groups(table.quasi, labels, mask.form).items()
    }


def losses_of_release(table: Table, published: Published, mask: Mask) -> dict[str, LossSums]:
    """What is lost of every quasi-identifier, and of sensitive attributes that are parted from it."""
    row = _row_of_record(table, published)
    sums: dict[str, LossSums] = {}
    for name, column in table.quasi.items():
        shown = published.frame[name]
        if mask.shows_identities and table.one_record_per_person:
            is_own = _are_alike(shown.gather(row), table.frame[name])
            changed = float((~is_own).sum())
            sums[name] = LossSums(records=float(len(row)), loss=changed, possible=float(len(row)))
            continue
        codes, texts = _labels(shown)
        sums[name] = sum_losses(column, price_labels(column, texts, mask.form), codes[row])
    if not mask.links_values:
        sums |= {name: _parted(column, table, published, row) for name, column in table.sensitive.items()}
    return sums


def _are_alike(shown: pl.Series, own: pl.Series) -> pl.Series:
    """Whether cells are the same, also where a column has lost the categories that nobody is shown with."""
    if shown.dtype != own.dtype:
        shown, own = shown.cast(pl.String), own.cast(pl.String)
    return shown.eq_missing(own)


def _labels(shown: pl.Series) -> tuple[IntArray, list[str | None]]:
    """The different labels of a column, missing last where there are such, and which each row has."""
    codes, distinct = code_values(shown)
    if distinct.dtype.is_float():
        distinct = distinct.cast(pl.String).str.replace(r"\.0$", "")
    return codes.astype(np.int64), [*distinct.cast(pl.String).to_list(), None]


def _row_of_record(table: Table, published: Published) -> IntArray:
    """The published row that each record of the table is shown by."""
    at = published.record_of_published
    row = np.empty(len(at), np.int64)
    row[at] = np.arange(len(at))
    return row[table.person_of_record] if published.tables else row


def _parted(column: CategoryColumn, table: Table, published: Published, row: IntArray) -> LossSums:
    """How often a value that is dealt out inside a group, or drawn from its counts, is not the record's own."""
    n = float(table.n_records)
    own = spelled(table.frame[column.name].cast(pl.String), column.spelling)
    if column.name not in published.tables:
        shown = spelled(published.frame[column.name].cast(pl.String), column.spelling).gather(row)
        return LossSums(records=n, loss=float((~shown.eq_missing(own)).sum()))
    counts = published.tables[column.name]
    number = PERSONS if PERSONS in counts.columns else counts.columns[-1]
    values = counts.select(
        pl.col(GROUP), spelled(counts[column.name].cast(pl.String), column.spelling).alias("value"), n=pl.col(number)
    )
    shares = (
        values.group_by(GROUP, "value")
        .agg(pl.col("n").sum())
        .with_columns(share=pl.col("n") / pl.col("n").sum().over(GROUP))
    )
    of_record = pl.DataFrame({GROUP: published.frame[GROUP].gather(row), "value": own})
    met = of_record.join(shares, on=[GROUP, "value"], how="left", nulls_equal=True)["share"].fill_null(0.0)
    return LossSums(records=n, loss=n - float(met.sum()))
