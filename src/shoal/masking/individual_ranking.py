"""Mask "individual-ranking": each column in groups of near persons of its own (Defays and Nanopoulos, 1993)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, SchemaError
from shoal.grouping.per_column import STRATA, Columns, names_in, strata_of
from shoal.masking.changing import Changed, Changing, present, with_missing
from shoal.masking.draws import Draws
from shoal.masking.shown_numbers import scaled, shown_numbers
from shoal.parts import option
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table


@dataclass(frozen=True, kw_only=True)
class IndividualRanking(Changing):
    """Show every number as the mean of those who rank next to it, column by column (univariate microaggregation).

    Parameters
    ----------
    columns
        The columns that are changed, quasi-identifiers or sensitive ones. None: the quasi-identifiers that are numbers,
        dates or ordered.
    size
        The fewest persons whose mean is shown.
    strata
        Columns inside whose values persons are put together. A person whose records are of several strata is in the
        first of them.

    Notes
    -----
    Persons are ordered by the mean of their numbers and put together `size` by `size`; the last take in who is left.
    All their records show the mean over these records, so that means of the table and of strata are exact up to the
    decimals shown. Nothing is random. A missing number stays missing. O(n log n).

    Whoever knows one number of a person is left with `size` persons; whoever knows several columns may be left with
    one, since each column has groups of its own. For groups over all columns together choose the method mdav and the
    mask mean.
    """

    size: int = field(default=3, metadata=option("The fewest persons whose mean is shown.", low=2, metavar="N"))
    strata: Columns = field(default=None, metadata=STRATA)
    name: ClassVar[str] = "individual-ranking"
    title: ClassVar[str] = "Means of those who rank near"
    sentence: ClassVar[str] = "Every number is shown as the mean of those who rank next to it, column by column."
    shown_as: ClassVar[str] = "the mean of the persons who rank next in this column"
    names_columns: ClassVar[tuple[str, ...]] = ("columns", "strata")

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Numbers, dates and ordered categories."""
        return isinstance(column, NumberColumn)

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """The columns as means."""
        if not columns:
            raise SchemaError(
                "The mask individual-ranking changes numbers, but no quasi-identifier is one. Choose pram."
            )
        of_record, n_strata = strata_of(
            table, names_in(None if self.strata is None else str(self.strata)), "mask individual-ranking"
        )
        stratum = of_record[np.unique(table.person_of_record, return_index=True)[1]]
        shown = {}
        for column in columns:
            assert isinstance(column, NumberColumn)
            is_there = present(column)
            person = table.person_of_record[is_there]
            values = scaled(column)[is_there]
            counts = np.bincount(person, minlength=table.n_persons)
            means = np.bincount(person, weights=values, minlength=table.n_persons) / np.maximum(counts, 1)
            who = np.flatnonzero(counts)
            fewest = int(np.bincount(stratum[who], minlength=n_strata)[np.unique(stratum[who])].min(initial=self.size))
            if fewest < self.size:
                raise CannotSatisfyError(
                    f"'{column.name}' has {fewest:,} persons in a stratum, fewer than the {self.size:,} whose mean is "
                    "to be shown. Ask for a smaller size, or for other strata."
                )
            group = ranked_groups(means[who], stratum[who], self.size)
            group_of_person = np.zeros(table.n_persons, np.int64)
            group_of_person[who] = group
            of_group = group_of_person[person]
            sums = np.bincount(of_group, weights=values) / np.bincount(of_group)
            masked = np.zeros(table.n_records)
            masked[is_there] = sums[of_group]
            shown[column.name] = with_missing(
                shown_numbers(column, masked, to_domain=False).alias(column.name), is_there
            )
        return Changed(shown)


def ranked_groups(values: NDArray[np.float64], stratum: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Groups of at least `size` that rank next to each other inside their stratum; the last takes in the rest."""
    order = np.lexsort((values, stratum))
    n_of = np.bincount(stratum)
    start = np.cumsum(n_of) - n_of
    rank = np.arange(len(values)) - start[stratum[order]]
    n_groups = np.maximum(n_of // size, 1)
    first = np.cumsum(n_groups) - n_groups
    group = np.empty(len(values), np.int64)
    group[order] = first[stratum[order]] + np.minimum(rank // size, n_groups[stratum[order]] - 1)
    return np.unique(group, return_inverse=True)[1].reshape(-1)
