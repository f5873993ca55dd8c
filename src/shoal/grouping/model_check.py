"""Asking the models about any sets of persons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import counting, trees
from shoal.models.background import BackgroundCounts
from shoal.models.contract import Model
from shoal.models.counts import BACKGROUND, JOINT, RELATED, VALUE_SUMMARIES, VALUE_TABLES, GroupCounts, ValueCounts
from shoal.models.joint import join_lists, joint_counts
from shoal.models.related import RelatedCounts
from shoal.table.table import Table


class Judge:
    """Says of sets of persons whether they meet every model."""

    def __init__(self, table: Table, models: Sequence[Model]) -> None:
        self.table = table
        self.models = list(models)
        self.records_of_person = table.records_of_person
        needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
        self.wants_values = bool(needs & (VALUE_SUMMARIES | VALUE_TABLES))
        self.columns = table.sensitive if self.wants_values or needs & JOINT else {}
        self.pairs = {name: table.values_of_persons(column) for name, column in self.columns.items()}
        self.in_table = {
            name: (
                np.bincount(column.codes, minlength=column.n_codes).astype(np.int64),
                np.bincount(self.pairs[name][1], minlength=column.n_codes).astype(np.int64),
            )
            for name, column in self.columns.items()
        }
        self.items = None
        if needs & JOINT:
            self.items = join_lists([(*self.pairs[name][:2], column.n_codes) for name, column in self.columns.items()])
        self.background = table.background() if needs & BACKGROUND else None
        self.related = table.related if needs & RELATED else None

    def holds(self, persons: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each set, persons[start[i]:start[i + 1]], meets every model."""
        holds = np.ones(len(start) - 1, np.bool_)
        if not self.models:
            return holds
        counts = self.counts(persons, start)
        for model in self.models:
            holds &= model.holds(counts)
        return holds

    def counts(self, persons: NDArray[np.int32], start: NDArray[np.int64]) -> GroupCounts:
        """What the models need to know of each set."""
        spread = counting.spread_of_person_parts(persons, start, self.records_of_person)
        values = {}
        if self.wants_values:
            values = {name: self._value_counts(persons, start, name) for name in self.columns}
        joint = None
        if self.items is not None:
            joint = joint_counts(start, persons, self.items, tuple(self.columns))
        background = None
        if self.background is not None:
            background = BackgroundCounts(start_of_group=start, who=persons, background=self.background)
        related = None
        if self.related is not None:
            related = RelatedCounts(start_of_group=start, who=persons, related=self.related)
        return GroupCounts(
            persons=spread[0], records=spread[1], squared_records=spread[2], most_records=spread[3],
            log_records=spread[4], values=values, joint=joint, background=background, related=related,
        )  # fmt: skip

    def _value_counts(self, persons: NDArray[np.int32], start: NDArray[np.int64], name: str) -> ValueCounts:
        lists, own = trees.values_of_sides(persons, start, *self.pairs[name], self.columns[name].n_codes)
        records, persons_in_table = self.in_table[name]
        return ValueCounts(
            records_in_table=records, persons_in_table=persons_in_table,
            start_of_group=lists[0], value=lists[1], records=lists[2], persons=lists[3],
            pair_start_of_group=own[0], pair_person=own[1], pair_value=own[2],
        )  # fmt: skip
