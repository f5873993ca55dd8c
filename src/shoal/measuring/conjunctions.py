"""Frequent conjunctions of nodes, counted by sensitive value: in a table, and by expectation in a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.attacking.mining.mine import CONJUNCTIONS
from shoal.errors import ParameterError
from shoal.measuring.memberships import (
    CRISP,
    Cut,
    NodeColumn,
    ShownNodes,
    as_shown,
    cuts_of,
    exactly,
)
from shoal.measuring.shown import ApartView, View
from shoal.models.exact import FloatArray, IntArray
from shoal.table.columns import CategoryColumn
from shoal.table.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Nodes = tuple[tuple[int, int], ...]
"""A conjunction: of some columns, in their order, the number of the column and that of a node of it."""
MIN_SUPPORT, MIN_CONVICTION, MAX_LEN = 0.01, 1.1, 2
ROUNDING = 1e-9
"""Shares that differ by less than this part count as equal, so that thresholds do not depend on the order of sums."""


@dataclass(frozen=True, kw_only=True)
class Mining:
    """Which rules are looked for.

    Parameters
    ----------
    max_len
        How many quasi-identifiers a rule may combine.
    min_support
        The share of all records that must satisfy the whole rule.
    min_conviction
        P(X) P(not Y) / P(X and not Y), at least; 1 is independence.
    margin
        For quasi-identifiers of numbers, how far around a node a number still belongs to it in part, in the units of
        the column; none by default.
    conjunction
        How far a record belongs to several nodes at once: the "product" of the degrees, or the "minimum". Without a
        margin both are the same.
    """

    max_len: int = MAX_LEN
    min_support: float = MIN_SUPPORT
    min_conviction: float = MIN_CONVICTION
    margin: Mapping[str, float] | None = None
    conjunction: str = "product"

    def __post_init__(self) -> None:
        if isinstance(self.max_len, bool) or not isinstance(self.max_len, int) or self.max_len < 1:
            raise ParameterError(f"max_len must be a whole number of at least 1, got {self.max_len!r}.")
        if not 0 < self.min_support <= 1:
            raise ParameterError(f"min_support must lie in (0, 1], got {self.min_support}.")
        if not self.min_conviction > 1:
            raise ParameterError(
                f"min_conviction must be above 1, which is that of independence, got {self.min_conviction}."
            )
        if self.conjunction not in CONJUNCTIONS:
            raise ParameterError(f"conjunction must be one of {', '.join(CONJUNCTIONS)}, got '{self.conjunction}'.")


class Counts:
    """How many records satisfy each frequent conjunction, by sensitive value; in a release by expectation."""

    def __init__(self, by_value: Mapping[Nodes, FloatArray], everything: FloatArray) -> None:
        self.by_value = by_value
        self.everything = everything
        self.n_records = float(everything.sum())

    @classmethod
    def of_table(cls, table: Table, name: str, columns: list[NodeColumn], mining: Mining) -> Counts:
        """The conjunctions of the original."""
        sensitive = table.sensitive[name]
        entries = Entries(
            [exactly(column) for column in columns],
            np.arange(table.n_records),
            sensitive.codes.astype(np.int64),
            np.ones(table.n_records),
        )
        return cls._mined(entries, sensitive.n_codes, columns, mining, set())

    @classmethod
    def of_view(
        cls,
        table: Table,
        view: View,
        name: str,
        columns: list[NodeColumn],
        mining: Mining,
        wanted: set[Nodes] | None = None,
    ) -> Counts:
        """The conjunctions that a release shows, and those that are wanted though they are not frequent."""
        shown = [as_shown(column, view.quasi, attribute) for attribute, column in enumerate(columns)]
        sensitive = table.sensitive[name]
        entries = Entries(shown, *_values_of_places(table, view, sensitive))
        return cls._mined(entries, sensitive.n_codes, columns, mining, wanted or set())

    @classmethod
    def _mined(
        cls, entries: Entries, n_values: int, columns: list[NodeColumn], mining: Mining, wanted: set[Nodes]
    ) -> Counts:
        cuts = cuts_of(columns)
        laid = entries.laid_out(columns, cuts, by_minimum=mining.conjunction == "minimum")
        everything = np.bincount(laid.value, weights=laid.weight, minlength=n_values).astype(np.float64)
        search = ConjunctionSearch(
            laid,
            n_values=n_values,
            max_len=mining.max_len,
            least=mining.min_support * float(everything.sum()) * (1 - ROUNDING),
            prefixes={when[:length] for when in wanted for length in range(1, len(when) + 1)},
        )
        return cls(dict(search.found()), everything)

    def rules(self, mining: Mining) -> set[tuple[Nodes, int]]:
        """The conjunctions and values with enough support and conviction."""
        least = mining.min_support * self.n_records * (1 - ROUNDING)
        return {
            (when, int(value))
            for when, counts in self.by_value.items()
            for value in np.flatnonzero(counts >= least)
            if self.conviction(when, int(value)) >= mining.min_conviction * (1 - ROUNDING)
        }

    def support(self, when: Nodes, value: int) -> float:
        """The share of all records that satisfy a conjunction and have a value."""
        return float(self.by_value[when][value]) / self.n_records

    def confidence(self, when: Nodes, value: int) -> float | None:
        """The share of the records that satisfy a conjunction which have a value; None where there are none."""
        total = float(self.by_value[when].sum()) if when in self.by_value else 0.0
        return float(self.by_value[when][value]) / total if total > 0 else None

    def conviction(self, when: Nodes, value: int) -> float:
        """P(X) P(not Y) / P(X and not Y)."""
        counts = self.by_value[when]
        total, without = float(counts.sum()), float(counts.sum() - counts[value])
        if without <= ROUNDING * total:
            return float("inf")
        return total * (1 - float(self.everything[value]) / self.n_records) / without


def _values_of_places(table: Table, view: View, sensitive: CategoryColumn) -> tuple[IntArray, IntArray, FloatArray]:
    """Entries of places: the place, the sensitive value, how many records of the place are to be expected with it."""
    if not isinstance(view, ApartView):
        place = np.repeat(np.arange(len(view.start_of_place) - 1), np.diff(view.start_of_place))
        return place, sensitive.codes[view.record_at].astype(np.int64), np.ones(len(place))
    group = view.records.group_of_record.astype(np.int64)
    weight = view.weight_of_record(table.person_of_record, sensitive.codes)
    counted = np.bincount(group * sensitive.n_codes + sensitive.codes, weights=weight)
    at = np.flatnonzero(counted)
    group_at, value_at = np.divmod(at, sensitive.n_codes)
    n_places = np.diff(view.place_start_of_group)
    start = np.searchsorted(group_at, np.arange(len(n_places) + 1))
    group_of_place = np.repeat(np.arange(len(n_places)), n_places)
    n_values = np.diff(start)[group_of_place]
    place = np.repeat(np.arange(len(group_of_place)), n_values)
    first = np.cumsum(n_values) - n_values
    entry = np.arange(len(place)) - first[place] + start[group_of_place[place]]
    return place, value_at[entry], counted[at][entry] / n_places[group_of_place[place]]


@dataclass(frozen=True)
class LaidColumns:
    """Entries as the search needs them: what each shows of each column, its value and weight; and degrees of nodes."""

    shown: tuple[IntArray, ...]
    value: IntArray
    weight: FloatArray
    degrees: tuple[csc_array, ...]
    """By column: what is shown, by node."""


@dataclass(frozen=True)
class Entries:
    """Places with a sensitive value, and how many records each stands for."""

    columns: list[ShownNodes]
    place: IntArray
    value: IntArray
    weight: FloatArray

    def laid_out(self, columns: list[NodeColumn], cuts: tuple[Cut, ...], *, by_minimum: bool) -> LaidColumns:
        """Entries that show the same taken together.

        For the minimum the entries are repeated for every cut: the minimum of degrees is the mean over cuts of whether
        all are in the cut.
        """
        from scipy.sparse import csc_array, vstack

        names = [f"c{number}" for number in range(len(self.columns))]
        frame = pl.DataFrame(
            {
                **{name: shown.shown_of_place[self.place] for name, shown in zip(names, self.columns, strict=True)},
                "value": self.value,
                "weight": self.weight,
            }
        )
        merged = frame.group_by(*names, "value", maintain_order=True).agg(pl.col("weight").sum())
        shown = [merged[name].to_numpy() for name in names]
        value, weight = merged["value"].to_numpy(), merged["weight"].to_numpy()
        if not by_minimum or len(cuts) == 1:
            degrees = [
                sum(cut.weight * at.at(cut.least) for cut in (cuts if column.margin else CRISP))
                for column, at in zip(columns, self.columns, strict=True)
            ]
            return LaidColumns(tuple(shown), value, weight, tuple(csc_array(one) for one in degrees))
        stacked = [vstack([at.at(cut.least) for cut in cuts]) for at in self.columns]
        n_shown = [one.shape[0] // len(cuts) for one in stacked]
        return LaidColumns(
            tuple(
                np.concatenate([codes + cut * n for cut in range(len(cuts))])
                for codes, n in zip(shown, n_shown, strict=True)
            ),
            np.tile(value, len(cuts)),
            np.concatenate([weight * cut.weight for cut in cuts]),
            tuple(csc_array(one) for one in stacked),
        )


@dataclass(frozen=True)
class ConjunctionSearch:
    """Frequent conjunctions, found column by column: none is frequent that contains one that is not."""

    laid: LaidColumns
    n_values: int
    max_len: int
    least: float
    """How many records with one value a conjunction needs."""
    prefixes: set[Nodes]
    """Conjunctions to be counted all the same."""

    def found(self) -> Iterator[tuple[Nodes, FloatArray]]:
        """Each conjunction with its records by value."""
        return self._beyond((), np.arange(len(self.laid.value)), self.laid.weight)

    def _beyond(self, when: Nodes, entries: IntArray, weight: FloatArray) -> Iterator[tuple[Nodes, FloatArray]]:
        value = self.laid.value[entries]
        for column in range(when[-1][0] + 1 if when else 0, len(self.laid.shown)):
            degrees, shown = self.laid.degrees[column], self.laid.shown[column][entries]
            n_shown, n_nodes = degrees.shape
            counted = np.bincount(shown * self.n_values + value, weights=weight, minlength=n_shown * self.n_values)
            by_value = degrees.T @ counted.reshape(n_shown, self.n_values)
            is_frequent = by_value.max(axis=1, initial=0.0) >= self.least
            for node in range(n_nodes):
                longer = (*when, (column, node))
                if is_frequent[node] or longer in self.prefixes:
                    yield longer, by_value[node]
                    if len(longer) < self.max_len:
                        degree = _column_of(degrees, node)[shown]
                        belongs = np.flatnonzero(degree)
                        yield from self._beyond(longer, entries[belongs], weight[belongs] * degree[belongs])


def _column_of(degrees: csc_array, node: int) -> FloatArray:
    """One column of a sparse matrix."""
    found = np.zeros(degrees.shape[0])
    start, end = degrees.indptr[node], degrees.indptr[node + 1]
    found[degrees.indices[start:end]] = degrees.data[start:end]
    return found
