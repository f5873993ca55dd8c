"""Groups along the nodes of hierarchies: cells for a tree to go on from, and what groups would show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.grouping.local_recoding import recoded
from shoal.grouping.person_space import PersonSpace
from shoal.models.contract import Model
from shoal.progress import Progress
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.levels import ListedLevels, levels_of_numbers, listed_levels
from shoal.table.table import QuasiColumn, Table


class AlongNodes:
    """The persons of a table whose columns with a hierarchy are laid on lines, seen at the levels of hierarchies.

    Persons are seen as trees see them: by the mean of their records in numbers without a hierarchy.
    """

    def __init__(self, table: Table, space: PersonSpace) -> None:
        self.table = table
        self.records = space.persons.row[:, 0]
        self.columns: list[QuasiColumn] = []
        self.levels: list[ListedLevels] = []
        numeric = 0
        for column in table.quasi.values():
            own = column.laid.column if isinstance(column, NumberColumn) and column.laid is not None else column
            if isinstance(own, CategoryColumn):
                levels = listed_levels(own, table)
            else:
                mean = space.persons.row[:, 1 + numeric] / self.records / float(space.grid)
                levels = levels_of_numbers(mean - own.has_missing)
            numeric += isinstance(column, NumberColumn)
            self.columns.append(column)
            self.levels.append(levels)

    def cells(self, models: Sequence[Model], progress: Progress, *, effort: str) -> Grouping:
        """Groups at the lowest levels at which enough are alike, as local recoding finds them."""
        return recoded(self.table, self.levels, models, progress, effort=effort)

    def loss(self, grouping: Grouping) -> float:
        """The mean over records and quasi-identifiers of the share of the domain that groups would show."""
        group_of_person, n = grouping.group_of_person, grouping.n_groups
        records = np.bincount(group_of_person, weights=self.records, minlength=n)
        total = 0.0
        for column, levels in zip(self.columns, self.levels, strict=True):
            group = np.repeat(group_of_person, np.diff(levels.start))
            total += float((records * _shares(column, levels, group, n)).sum())
        return total / (float(records.sum()) * len(self.columns))


def _shares(column: QuasiColumn, levels: ListedLevels, group: NDArray[np.int32], n_groups: int) -> NDArray[np.float64]:
    """The share of the domain that each group would show: of the node above it, of its set, of its range."""
    if isinstance(column, CategoryColumn):
        distinct = np.unique(group.astype(np.int64) * levels.n_values + levels.code_of_record) // levels.n_values
        return (np.bincount(distinct, minlength=n_groups) - 1) / max(levels.n_values - 1, 1)
    if column.laid is not None:
        return levels.share_of_groups(group, n_groups)
    value = levels.value[levels.code_of_record]
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, group, value)
    np.maximum.at(high, group, value)
    return np.minimum(high - low, 1.0)
