"""Asking the models about any sets of persons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.person_space import PersonSpace, values_told, who_is_told_of, whole_counts
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
        self.pairs = {name: values_told(table, column) for name, column in self.columns.items()}
        self.told = {
            name: who_is_told_of(self.pairs[name])
            for name, column in self.columns.items()
            if column.code_left_out is not None
        }
        self.in_table = {name: whole_counts(table, column) for name, column in self.columns.items()}
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
        return counts_of_sets(self, spread, values, persons, start)

    def _value_counts(self, persons: NDArray[np.int32], start: NDArray[np.int64], name: str) -> ValueCounts:
        found = trees.values_of_sides(persons, start, *self.pairs[name], self.columns[name].n_codes)
        counted = value_lists(self.in_table[name], *found)
        return counted.with_told(*told_of_sets(self.told[name], persons, start)) if name in self.told else counted


def counts_of_sets(
    known: Judge | PersonSpace,
    spread: Sequence[NDArray[Any]],
    values: dict[str, ValueCounts],
    persons: NDArray[Any],
    start: NDArray[np.int64],
) -> GroupCounts:
    """The counts of sets of persons, with what is known of their values together, of rules and of related tables."""
    items, background, related = known.items, known.background, known.related
    return GroupCounts(
        persons=spread[0], records=spread[1], squared_records=spread[2], most_records=spread[3],
        log_records=spread[4], values=values,
        joint=None if items is None else joint_counts(start, persons, items, tuple(known.pairs)),
        background=None if background is None else
        BackgroundCounts(start_of_group=start, who=persons, background=background),
        related=None if related is None else RelatedCounts(start_of_group=start, who=persons, related=related),
    )  # fmt: skip


def told_of_sets(
    has_value: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    persons: NDArray[Any],
    start: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many persons of each set have a value, and how many of their records; from lists of who has one."""
    begin, _, of_person = has_value
    has = np.diff(begin)
    records = np.zeros(len(has), np.int64)
    records[has > 0] = of_person
    sums = [np.append(0, np.cumsum(each[persons])) for each in (has, records)]
    n_persons, n_records = (behind[start[1:]] - behind[start[:-1]] for behind in sums)
    return n_persons, n_records


def value_lists(
    in_table: tuple[NDArray[np.int64], NDArray[np.int64]],
    lists: tuple[NDArray[np.int64], ...],
    pairs: tuple[NDArray[np.int64], ...],
) -> ValueCounts:
    """The values of sets of persons, from lists of them and how many records and persons of the table have each."""
    return ValueCounts(
        records_in_table=in_table[0], persons_in_table=in_table[1],
        start_of_group=lists[0], value=lists[1], records=lists[2], persons=lists[3],
        pair_start_of_group=pairs[0], pair_person=pairs[1], pair_value=pairs[2],
    )  # fmt: skip
