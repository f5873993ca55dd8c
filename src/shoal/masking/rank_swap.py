"""Mask "rank-swap": values are swapped between persons whose ranks are near (Moore, 1996)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError, SchemaError
from shoal.masking.changing import Changed, Changing, Units, values_at, with_missing
from shoal.masking.draws import Draws
from shoal.parts import option
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table


@dataclass(frozen=True, kw_only=True)
class RankSwap(Changing):
    """Swap each value with one whose rank is near, column by column.

    Parameters
    ----------
    columns
        The columns that are changed, quasi-identifiers or sensitive ones. None: the quasi-identifiers that are numbers,
        dates or ordered.
    within
        How far apart the ranks of two values may be that are swapped, as a share of all.

    Notes
    -----
    What is swapped are values of persons: all records in which a person has the same value get the same other one. The
    values of all persons together stay exactly the same (with one record per person: the column does), and none moves
    farther than `within` of the ranks; equal values are ranked by chance. A missing value stays missing. Each column is
    swapped by itself, so that correlations fall with `within`. O(n log n).
    """

    within: float = field(
        default=0.05, metadata=option("How far apart two values may rank, as a share of all.", low=0.0, high=1.0)
    )
    name: ClassVar[str] = "rank-swap"
    title: ClassVar[str] = "Values swapped by rank"
    sentence: ClassVar[str] = "Each value is swapped with that of a person who ranks near."
    shown_as: ClassVar[str] = "the value of a person who ranks near"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.within == 0:
            raise ParameterError("within = 0 swaps nothing. Say 0.05 for 5 % of the ranks, for example.")

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Numbers, dates and ordered categories."""
        return isinstance(column, NumberColumn)

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """The columns with values swapped."""
        from shoal.kernels.swapping import swap_near

        if not columns:
            raise SchemaError("The mask rank-swap changes numbers, but no quasi-identifier is one. Choose pram.")
        shown, told = {}, {}
        for column in columns:
            assert isinstance(column, NumberColumn)
            units = Units.of(column, table)
            order = np.lexsort((draws.order(units.n), units.value))
            farthest = max(int(self.within * units.n), 1)
            partner = swap_near(units.n, farthest, draws.uniform(units.n))
            giver = np.empty(units.n, np.int64)
            giver[order] = order[partner]
            shown[column.name] = with_missing(values_at(column, table, units.records_from(giver)), units.is_present)
            told[column.name] = {"swapped": float((partner != np.arange(units.n)).mean()) if units.n else 0.0}
        return Changed(shown, told=told)
