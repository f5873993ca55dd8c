"""Which of the stored groups covers a person: every value of theirs lies in what the group shows."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.label_sets import MISSING
from shoal.table.schema import KINDS, Nominal, Quasi, Schema
from shoal.table.table import Table

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


def schema_by_scheme(schema: Schema, scheme: pl.DataFrame) -> Schema:
    """The schema with the kinds that the release has, whatever the new records look like by themselves."""
    kind_of = dict(scheme.select("column", "kind").unique().iter_rows())
    unknown = [name for name in schema.quasi_names if name not in kind_of]
    if unknown:
        raise SchemaError(f"The scheme of the release says nothing of the quasi-identifiers {', '.join(unknown)}.")

    def column(quasi: Quasi) -> Quasi:
        kind = kind_of[quasi.name]
        if kind in ("nominal", "ordered", "node"):  # compared with the categories of a group, one by one
            return Nominal(quasi.name, quasi.hierarchy if kind == "node" else None)
        return KINDS[kind](quasi.name)

    return replace(schema, quasi=[column(each) for each in schema.columns])


@dataclass(frozen=True)
class Covering:
    """The groups of a scheme, and the persons of a table of later records."""

    parts: tuple[_Part, ...]
    n_groups: int

    @classmethod
    def of(cls, table: Table, schema: Schema, scheme: pl.DataFrame, mask: str) -> Covering:
        """Look at later records by a scheme."""
        n_groups = int(scheme["group"].max() or 0) + 1  # type: ignore[arg-type]
        hierarchies = {quasi.name: quasi.hierarchy for quasi in schema.columns}
        parts: list[_Part] = []
        for name, column in table.quasi.items():
            lines = scheme.filter(pl.col("column") == name).sort("group")
            if mask == "mean":
                parts.append(_Nearest.of(column, table, lines))
            elif isinstance(column, NumberColumn):
                parts.append(_Between.of(column, table, lines))
            else:
                parts.append(_Among.of(column, table, lines, hierarchies[name], hides_missing=mask == "suppress"))
        return cls(tuple(parts), n_groups)

    def groups_of(self, person: int) -> Flags:
        """Which groups cover all records of a person."""
        covers = np.ones(self.n_groups, np.bool_)
        for part in self.parts:
            covers &= part.covers(person)
        return covers

    def closest(self, person: int, allowed: Flags) -> int:
        """Of the groups allowed, the one that tells most of the person: the narrowest, or with means the nearest."""
        cost = sum((part.cost(person) for part in self.parts), np.zeros(self.n_groups))
        return int(np.argmin(np.where(allowed, cost, np.inf)))

    def columns_that_never_fit(self, person: int) -> list[str]:
        """The quasi-identifiers whose values of a person no group shows."""
        return [part.name for part in self.parts if not part.covers(person).any()]


class _Part(ABC):
    """One quasi-identifier: what groups show of it, and what persons have."""

    name: str

    @abstractmethod
    def covers(self, person: int) -> Flags:
        """Which groups cover what a person has."""

    @abstractmethod
    def cost(self, person: int) -> Floats:
        """How little each group tells of a person: how wide it is, or how far its mean lies."""


@dataclass(frozen=True)
class _Between(_Part):
    """Numbers and dates: the lowest and the highest of a person lie between the ends of a group."""

    name: str
    low: NDArray[Any]
    high: NDArray[Any]
    anything: Flags
    missing_covered: Flags
    width: Floats
    lowest: NDArray[Any]
    highest: NDArray[Any]
    has_value: Flags
    has_missing: Flags

    @classmethod
    def of(cls, column: NumberColumn, table: Table, lines: pl.DataFrame) -> _Between:
        values, is_missing = _values(column)
        low, high = (_as_numbers(lines[end], column.kind) for end in ("low", "high"))
        are_whole = values.dtype.kind == "i" and low.dtype.is_integer() and high.dtype.is_integer()
        if are_whole and not low.null_count() + high.null_count():
            lows, highs = low.to_numpy(), high.to_numpy()
        else:
            values = values.astype(np.float64)
            lows = low.cast(pl.Float64).fill_null(-np.inf).to_numpy()
            highs = high.cast(pl.Float64).fill_null(np.inf).to_numpy()
        lowest, highest, has_value = _extremes(values, is_missing, table)
        ends = np.concatenate([lows, highs]).astype(np.float64)
        extent = float(np.ptp(ends[np.isfinite(ends)])) if np.isfinite(ends).any() else 0.0
        width = np.clip((highs.astype(np.float64) - lows.astype(np.float64)) / (extent or 1.0), 0, 1)
        anything = lines["anything"].to_numpy()
        return cls(
            column.name, lows, highs, anything, lines["missing"].to_numpy() | anything,
            np.where(anything, 1.0, width), lowest, highest, has_value, _any_missing(is_missing, table),
        )  # fmt: skip

    def covers(self, person: int) -> Flags:
        fits = np.ones(len(self.low), np.bool_)
        if self.has_value[person]:
            fits &= ((self.low <= self.lowest[person]) & (self.highest[person] <= self.high)) | self.anything
        return fits & self.missing_covered if self.has_missing[person] else fits

    def cost(self, person: int) -> Floats:
        return self.width


@dataclass(frozen=True)
class _Among(_Part):
    """Categories: each of a person's is one that the group shows, or lies under the node that it shows."""

    name: str
    groups_of_code: Mapping[int, NDArray[np.int64]]
    codes_of_person: list[NDArray[np.int64]]
    anything: Flags
    missing_covered: Flags
    missing_code: int
    width: Floats

    @classmethod
    def of(
        cls, column: CategoryColumn, table: Table, lines: pl.DataFrame, hierarchy: Any, *, hides_missing: bool
    ) -> _Among:
        texts = column.categories.cast(pl.String).to_list()
        anything = lines["anything"].to_numpy()
        if hierarchy is not None:
            groups_of_label: dict[str, list[int]] = {}
            labels = lines["label"].str.strip_suffix(f" or {MISSING}").to_list()
            for group, (label, several) in enumerate(zip(labels, lines["members"].to_list(), strict=True)):
                for node in several or ([] if label is None else [label]):
                    groups_of_label.setdefault(node, []).append(group)
            groups_of = [
                sorted({group for node in hierarchy.path(text) for group in groups_of_label.get(node, ())})
                for text in texts
            ]
            width = np.where(anything, 1.0, 0.5)
            is_root = (lines["label"] == hierarchy.root).fill_null(False).to_numpy()
            missing_covered = lines["missing"].to_numpy() | is_root
        else:
            members = lines.select("group", "members").explode("members").drop_nulls()
            by_text = members.group_by("members").agg("group")
            found = dict(zip(by_text["members"].to_list(), by_text["group"].to_list(), strict=True))
            groups_of = [found.get(text, []) for text in texts]
            sizes = lines["members"].list.len().fill_null(0).to_numpy().astype(np.float64)
            width = np.where(anything, 1.0, sizes / max(sizes.max(initial=1.0), 1.0))
            missing_covered = lines["missing"].to_numpy() | (anything & hides_missing)
        of_code = {code: np.asarray(groups, dtype=np.int64) for code, groups in enumerate(groups_of)}
        start, value, _ = table.values_of_persons(column)
        own = [np.asarray(value[first:last], dtype=np.int64) for first, last in itertools.pairwise(start)]
        return cls(column.name, of_code, own, anything, missing_covered, len(column.categories), width)

    def covers(self, person: int) -> Flags:
        fits = np.ones(len(self.anything), np.bool_)
        for code in self.codes_of_person[person].tolist():
            if code == self.missing_code:
                fits &= self.missing_covered
                continue
            shown = self.anything.copy()
            shown[self.groups_of_code[code]] = True
            fits &= shown
        return fits

    def cost(self, person: int) -> Floats:
        return self.width


@dataclass(frozen=True)
class _Nearest(_Part):
    """Means: every group may take anybody; the nearest costs least."""

    name: str
    mean_of_group: Floats
    mean_of_person: Floats
    label_of_group: NDArray[np.int64]
    code_of_person: NDArray[np.int64]

    @classmethod
    def of(cls, column: NumberColumn | CategoryColumn, table: Table, lines: pl.DataFrame) -> _Nearest:
        n_groups = len(lines)
        if isinstance(column, CategoryColumn):
            code_of = {text: code for code, text in enumerate(column.categories.cast(pl.String).to_list())}
            labels = np.array([code_of.get(label, -1) for label in lines["label"].to_list()], dtype=np.int64)
            first = np.unique(table.person_of_record, return_index=True)[1]
            return cls(
                column.name, np.zeros(n_groups), np.zeros(table.n_persons), labels, column.codes[first].astype(np.int64)
            )
        values, is_missing = _values(column)
        present = (~is_missing).astype(np.float64)
        counts = np.bincount(table.person_of_record, weights=present, minlength=table.n_persons)
        sums = np.bincount(table.person_of_record, weights=values * present, minlength=table.n_persons)
        groups = _as_numbers(lines["low"], column.kind).cast(pl.Float64).to_numpy()
        extent = float(np.nanmax(groups, initial=0.0) - np.nanmin(groups, initial=0.0)) or 1.0
        own = np.divide(sums, counts, out=np.full(table.n_persons, np.nan), where=counts > 0)
        nothing = np.zeros(0, np.int64)
        return cls(column.name, groups / extent, own / extent, nothing, nothing)

    def covers(self, person: int) -> Flags:
        return np.ones(max(len(self.mean_of_group), len(self.label_of_group)), np.bool_)

    def cost(self, person: int) -> Floats:
        if len(self.label_of_group):
            return (self.label_of_group != self.code_of_person[person]).astype(np.float64)
        far = np.abs(self.mean_of_group - self.mean_of_person[person])
        return np.where(np.isnan(far), 1.0, far)


def _values(column: NumberColumn) -> tuple[NDArray[Any], Flags]:
    """The numbers of a column (of dates, days), whole where they are, and which are missing."""
    is_missing = np.zeros(len(column.units), np.bool_) if column.is_missing is None else column.is_missing
    if column.floats is not None:
        return column.floats, is_missing
    return (column.units / 10.0**column.decimals if column.decimals else column.units), is_missing


def _as_numbers(texts: pl.Series, kind: str) -> pl.Series:
    """Ends of ranges as numbers: whole where all are, dates as days."""
    if kind == "date":
        days = texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Int64)
        return pl.select(pl.when(texts == "1").then(1).when(texts == "0").then(0).otherwise(days)).to_series()
    whole = texts.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == texts.null_count() else texts.cast(pl.Float64)


def _extremes(values: NDArray[Any], is_missing: Flags, table: Table) -> tuple[NDArray[Any], NDArray[Any], Flags]:
    present = pl.DataFrame({"person": table.person_of_record, "value": values}).filter(pl.Series(~is_missing))
    ends = present.group_by("person").agg(low=pl.col("value").min(), high=pl.col("value").max())
    lowest, highest = np.zeros(table.n_persons, values.dtype), np.zeros(table.n_persons, values.dtype)
    has_value = np.zeros(table.n_persons, np.bool_)
    persons = ends["person"].to_numpy()
    lowest[persons], highest[persons], has_value[persons] = ends["low"].to_numpy(), ends["high"].to_numpy(), True
    return lowest, highest, has_value


def _any_missing(is_missing: Flags, table: Table) -> Flags:
    found = np.zeros(table.n_persons, np.bool_)
    found[table.person_of_record[is_missing]] = True
    return found
