"""Mask "record-swap": households or persons exchange their regions, those at risk first (Dalenius and Reiss, 1982)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.grouping.per_column import Columns, names_in
from shoal.masking.changing import Changed, Changing
from shoal.masking.draws import Draws
from shoal.parts import option
from shoal.table.columns import CategoryColumn, NumberColumn, code_values
from shoal.table.table import QuasiColumn, Table

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RecordSwap(Changing):
    """Let households exchange their regions, those at risk first.

    Parameters
    ----------
    columns
        The quasi-identifiers that it answers for. None: all that no other mask changes. Those that are no region stay
        as they are.
    region
        The columns that say where a household lives, from coarse to fine: all of a pair's regions are exchanged.
    similar
        Columns in which the members of two households must have the same values for them to be swapped.
    rate
        The least share of households that are swapped; more are where more are at risk.
    at_risk
        A household is at risk where somebody in it has quasi-identifiers that fewer persons than this have in the
        region.

    Notes
    -----
    Households are those of the schema (`household`); without one each person is. Two are swapped only where they have
    equally many persons and records and live in different regions, so that every region has as many persons and records
    as before, and nobody leaves their household. With several regions one that is at risk in the coarse region goes to
    another of these; one that is at risk only in a finer one stays in the coarse. A household whose records name
    several regions is not swapped. Near-linear time.
    """

    region: Columns = field(
        default=None, metadata=option("The columns of regions, from coarse to fine.", metavar="C,C")
    )
    similar: Columns = field(
        default=None, metadata=option("Columns in which two that are swapped must be alike.", metavar="C,C")
    )
    rate: float = field(
        default=0.1, metadata=option("The least share of households that are swapped.", low=0.0, high=1.0)
    )
    at_risk: int = field(
        default=3, metadata=option("Fewer persons alike than this in a region are at risk.", low=1, metavar="K")
    )
    name: ClassVar[str] = "record-swap"
    title: ClassVar[str] = "Households swap regions"
    sentence: ClassVar[str] = "Households exchange their regions, those at risk first."
    shown_as: ClassVar[str] = "the household's own, or that of another one with which it was swapped"
    names_columns: ClassVar[tuple[str, ...]] = ("columns", "region", "similar")

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Any column."""
        return True

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """Regions swapped; the other columns as they are."""
        regions = self._regions(table, columns)
        unit, n_units = _households(table)
        codes = [code_values(table.frame[name])[0].astype(np.int64) for name in regions]
        region = np.stack([_of_unit(each, unit, n_units) for each in codes])
        alike = self._alike(table, unit, n_units)
        giver = np.arange(n_units)
        others = [column for name, column in table.quasi.items() if name not in regions]
        for level in range(len(regions)):
            is_last = level == len(regions) - 1
            risky = self._at_risk(table, others, codes[: level + 1], unit, n_units)
            quota = int(np.ceil(self.rate * n_units)) - int((giver != np.arange(n_units)).sum()) if is_last else 0
            same = np.unique(np.stack([alike, *region[:level]]), axis=1, return_inverse=True)[1].reshape(-1)
            may = (giver == np.arange(n_units)) & (region >= 0).all(axis=0)
            giver = _swapped(giver, same, np.where(may, region[level], -1), risky, quota, draws)
        first = np.unique(unit, return_index=True)[1]
        from_record = first[giver[unit]]
        moved = giver[unit] != unit
        shown = {
            column.name: _taken(table.frame[column.name], from_record, moved)
            if column.name in regions
            else table.frame[column.name]
            for column in columns
        }
        told = {
            name: {"swapped": float((giver != np.arange(n_units)).mean()), "households": n_units} for name in regions
        }
        return Changed(shown, told=told)

    def _regions(self, table: Table, columns: Sequence[QuasiColumn]) -> list[str]:
        regions = names_in(None if self.region is None else str(self.region))
        known = [column.name for column in columns]
        if not regions or any(name not in known for name in regions):
            raise ParameterError(
                "The mask record-swap needs the columns that say where somebody lives (region=), quasi-identifiers "
                f"that it may change. These are: {', '.join(known)}."
            )
        return regions

    def _alike(self, table: Table, unit: Ints, n_units: int) -> Ints:
        """A number for each household, equal where persons, records and the columns of `similar` are."""
        names = names_in(None if self.similar is None else str(self.similar))
        unknown = [name for name in names if name not in table.frame.columns]
        if unknown:
            raise ParameterError(f"similar names '{unknown[0]}', but the table has no such column.")
        persons = np.bincount(unit[np.unique(table.person_of_record, return_index=True)[1]], minlength=n_units)
        alike = [persons, np.bincount(unit, minlength=n_units)]
        if names:
            value = table.frame.select(pl.struct(names).rank("dense")).to_series()
            lists = (
                pl.DataFrame({"unit": unit, "value": value})
                .group_by("unit", maintain_order=False)
                .agg(pl.col("value").sort())
            )
            texts = lists.sort("unit")["value"].cast(pl.List(pl.String)).list.join(" ")
            alike.append(code_values(texts)[0].astype(np.int64))
        return np.unique(np.stack(alike), axis=1, return_inverse=True)[1].reshape(-1)

    def _at_risk(
        self, table: Table, others: Sequence[QuasiColumn], regions: Sequence[Ints], unit: Ints, n_units: int
    ) -> NDArray[np.bool_]:
        """The households in which somebody is one of too few, by their region and their other quasi-identifiers."""
        key = np.zeros(table.n_records, np.int64)
        for codes in (*regions, *(_codes(column) for column in others)):
            key = np.unique(key * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].reshape(-1)
        pairs = np.unique(key * table.n_persons + table.person_of_record)
        persons = np.bincount(pairs // table.n_persons, minlength=int(key.max()) + 1)
        risky = np.zeros(n_units, np.bool_)
        risky[unit[persons[key] < self.at_risk]] = True
        return risky


def _households(table: Table) -> tuple[Ints, int]:
    """The household of each record, numbered; where nobody tells them, the person."""
    household = table.schema.household
    codes = table.person_of_record if household is None else code_values(table.frame[household])[0]
    return codes.astype(np.int64), int(codes.max()) + 1


def _of_unit(codes: Ints, unit: Ints, n_units: int) -> Ints:
    """The one code that all records of a household have, or -1 where they have several."""
    low, high = np.full(n_units, np.iinfo(np.int64).max), np.full(n_units, -1)
    np.minimum.at(low, unit, codes)
    np.maximum.at(high, unit, codes)
    return np.where(low == high, low, -1)


def _codes(column: QuasiColumn) -> Ints:
    if isinstance(column, CategoryColumn):
        return column.codes.astype(np.int64)
    assert isinstance(column, NumberColumn)
    return np.unique(column.units_with_missing(), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _swapped(giver: Ints, same: Ints, region: Ints, risky: NDArray[np.bool_], quota: int, draws: Draws) -> Ints:
    """Whose region each household gets, after those that may still be swapped were paired inside their classes."""
    from shoal.kernels.swapping import swap_apart

    n = len(giver)
    order = np.lexsort((draws.order(n), same))
    sizes = np.bincount(same)
    ends = np.cumsum(sizes)
    in_class = same[order]
    place_of = np.empty(n, np.int64)
    place_of[order] = np.arange(n)
    turn = draws.order(n)
    first = [place_of[turn[risky[turn]]], place_of[turn[~risky[turn]]]]
    partner = swap_apart(
        (ends - sizes)[in_class], ends[in_class], region[order], np.concatenate(first), len(first[0]), quota,
        draws.uniform(n),
    )  # fmt: skip
    changed = giver.copy()
    is_paired = partner != np.arange(n)
    changed[order[is_paired]] = order[partner[is_paired]]
    return changed


def _taken(series: pl.Series, from_record: Ints, moved: NDArray[np.bool_]) -> pl.Series:
    """A column in which those who were swapped have what another has."""
    return series.gather(np.where(moved, from_record, np.arange(len(series))))
