"""Mask "shuffle": values are dealt out anew such that ranks go together as before (Muralidhar and Sarathy, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.grouping.per_column import Columns, names_in
from shoal.masking.changing import Changed, Changing, Units, any_column, values_at, with_missing
from shoal.masking.draws import Draws
from shoal.masking.perturb import noise_root
from shoal.parts import option
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import QuasiColumn, Table

MOST_CATEGORIES = 50
"""Categories up to which a column can stand beside those that are shuffled."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Shuffle(Changing):
    """Deal the values of columns out anew, such that their ranks go together as before.

    Parameters
    ----------
    columns
        The columns that are changed, quasi-identifiers or sensitive ones. None: the quasi-identifiers that are numbers,
        dates or ordered.
    beside
        Columns that stay and whose connection with the shuffled ones is kept. None: the sensitive ones that are not
        shuffled themselves and have at most 50 categories.

    Notes
    -----
    Every person gets new scores for all columns at once: what is to be expected by the columns beside, in a linear
    model of normal scores, and normal noise with the covariances of what that leaves. The values of all persons are
    then dealt out in the order of the scores. So the values stay exactly the same (with one record per person: every
    column does), their rank correlations are to be expected as they were, and given the columns beside a person's new
    value does not depend on the own one. Records in which a person has the same value get the same other one. A missing
    value stays missing. O(n log n).
    """

    beside: Columns = field(
        default=None, metadata=option("Columns whose connection with the shuffled ones is kept.", metavar="C,C")
    )
    name: ClassVar[str] = "shuffle"
    title: ClassVar[str] = "Shuffled, ranks go together"
    sentence: ClassVar[str] = "Values are dealt out anew between persons, such that ranks go together as before."
    shown_as: ClassVar[str] = "the value of another person, dealt out such that ranks go together as before"
    names_columns: ClassVar[tuple[str, ...]] = ("columns", "beside")

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Numbers, dates and ordered categories."""
        return isinstance(column, NumberColumn)

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """The columns with values dealt out anew."""
        numbers = [column for column in columns if isinstance(column, NumberColumn)]
        if not numbers:
            raise SchemaError("The mask shuffle changes numbers, but no quasi-identifier is one. Choose pram.")
        beside = self._beside(table, numbers)
        scores = np.stack([_scores(_means(column, table)) for column in numbers], axis=1)
        known = np.column_stack([np.ones(table.n_persons), *(_known(column, table) for column in beside)])
        expected = known @ np.linalg.lstsq(known, scores, rcond=None)[0]
        left = scores - expected
        noise = draws.normal(scores.shape) @ noise_root(left.T @ left, len(left))
        dealt = expected + noise
        shown = {column.name: _dealt(column, table, dealt[:, j], draws) for j, column in enumerate(numbers)}
        told = {column.name: {"beside": [each.name for each in beside]} for column in numbers}
        return Changed(shown, told=told)

    def _beside(self, table: Table, shuffled: Sequence[QuasiColumn]) -> list[QuasiColumn]:
        """The columns beside; refused where one is shuffled itself or has too many categories."""
        names = [column.name for column in shuffled]
        if self.beside is None:
            asked = [any_column(table, name, self.name) for name in table.sensitive if name not in names]
            return [column for column in asked if _width(column) <= MOST_CATEGORIES]
        found = [any_column(table, name, self.name) for name in names_in(str(self.beside))]
        for column in found:
            if column.name in names:
                raise ParameterError(f"'{column.name}' is shuffled itself, so it cannot stand beside.")
            if _width(column) > MOST_CATEGORIES:
                raise SchemaError(
                    f"'{column.name}' has {_width(column):,} categories, too many to stand beside what is shuffled: at "
                    f"most {MOST_CATEGORIES} can."
                )
        return found


def _width(column: QuasiColumn) -> int:
    return column.n_codes if isinstance(column, CategoryColumn) else 1


def _means(column: NumberColumn, table: Table) -> Matrix:
    """The mean of each person's numbers; the table's median where a person has none."""
    is_there = np.ones(table.n_records, np.bool_) if column.is_missing is None else ~column.is_missing
    person = table.person_of_record
    sums = np.bincount(
        person, weights=np.where(is_there, column.units.astype(np.float64), 0.0), minlength=table.n_persons
    )
    counts = np.bincount(person, weights=is_there, minlength=table.n_persons)
    middle = float(np.median(column.units[is_there])) if is_there.any() else 0.0
    return np.where(counts > 0, sums / np.maximum(counts, 1), middle)


def _scores(values: Matrix) -> Matrix:
    """Normal scores by rank, of equal values that of their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores: Matrix = ndtri((rankdata(values) - 0.5) / len(values))
    return scores


def _known(column: QuasiColumn, table: Table) -> Matrix:
    """What stands beside, person by person: the score of numbers, the shares of all categories but one."""
    if isinstance(column, NumberColumn):
        return _scores(_means(column, table))[:, None]
    counts = np.bincount(
        table.person_of_record.astype(np.int64) * column.n_codes + column.codes,
        minlength=table.n_persons * column.n_codes,
    ).reshape(table.n_persons, column.n_codes)
    return np.asarray(counts[:, 1:] / table.records_of_person[:, None])


def _dealt(column: NumberColumn, table: Table, score: Matrix, draws: Draws) -> pl.Series:
    """The values of a column in the order of the scores; several values of a person stay in theirs."""
    units = Units.of(column, table)
    by_value = np.lexsort((draws.order(units.n), units.value))
    by_score = np.lexsort((units.value, score[units.person]))
    giver = np.empty(units.n, np.int64)
    giver[by_score] = by_value
    return with_missing(values_at(column, table, units.records_from(giver)), units.is_present)
