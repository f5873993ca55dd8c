"""The rows of related tables in groups of persons: what every table must meet by its own rows.

Where several tables leave together, persons without rows in one of them hide nobody there. So every model is asked
about each table's own rows, and about the persons who have some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.models.exact import BoolArray, IntArray

if TYPE_CHECKING:
    from shoal.models.contract import Model
    from shoal.models.counts import GroupCounts
FEWEST_PERSONS = 2
"""Rows of one person, alone of all in a group, are known to be theirs."""


class CountedRows(Protocol):
    """Rows of persons that models can be asked about."""

    @property
    def models(self) -> Sequence[Model]:
        """What the rows must meet."""
        ...

    @property
    def table(self) -> Any:
        """The rows as a table of their own."""
        ...

    def counts(self, persons: NDArray[Any], start: IntArray) -> GroupCounts:
        """The counts of sets of persons: set i is persons[start[i]:start[i + 1]]."""
        ...


@dataclass(frozen=True, kw_only=True)
class RowsView:
    """Rows that somebody can look at: those of one table, or of tables joined."""

    name: str
    """What messages call it."""
    rows: CountedRows
    number_of_person: IntArray
    """The number of each person among those who have rows here, or -1."""
    part_of_person: IntArray
    """Persons of one group are still told apart where these differ: by whether a table shows something of them."""

    @property
    def persons(self) -> IntArray:
        """Who has rows here, in the order of their numbers."""
        return np.flatnonzero(self.number_of_person >= 0)

    def in_order(self, order: NDArray[np.uint32]) -> RowsView:
        """The same persons numbered in another order."""
        return replace(self, number_of_person=self.number_of_person[order], part_of_person=self.part_of_person[order])

    def parts(self, start_of_group: IntArray, who: NDArray[Any]) -> tuple[IntArray, NDArray[Any], IntArray]:
        """Who of each group has rows here, told apart: the group of each part, the persons, and where parts start."""
        group = np.repeat(np.arange(len(start_of_group) - 1), np.diff(start_of_group))
        has_rows = self.number_of_person[who] >= 0
        group, who = group[has_rows], who[has_rows]
        part = self.part_of_person[who]
        order = np.lexsort((part, group))
        group, part = group[order], part[order]
        is_first = np.append(True, (group[1:] != group[:-1]) | (part[1:] != part[:-1]))[: len(group)]
        first = np.flatnonzero(is_first)
        return group[first], self.number_of_person[who[order]], np.append(first, len(group))


@dataclass(frozen=True, kw_only=True)
class Related:
    """All that can be looked at where several tables leave together."""

    views: tuple[RowsView, ...]

    def in_order(self, order: NDArray[np.uint32]) -> Related:
        """The same persons numbered in another order."""
        return Related(views=tuple(view.in_order(order) for view in self.views))


@dataclass(frozen=True, kw_only=True)
class RelatedCounts:
    """Groups of persons who have rows in several tables."""

    start_of_group: IntArray
    """The members of group g stand at start[g]:start[g + 1] of `who`."""
    who: NDArray[Any]
    related: Related

    def holds(self) -> BoolArray:
        """Whether in each group the rows of every table, if there are some, meet every model and are of two persons."""
        holds = np.ones(len(self.start_of_group) - 1, np.bool_)
        for view in self.related.views:
            group, persons, start = view.parts(self.start_of_group, self.who)
            still = holds[group]  # what has failed need not be asked again
            if not still.all():
                group, persons, start = _only(still, group, persons, start)
            if not len(group):
                continue
            met = np.diff(start) >= FEWEST_PERSONS
            counts = view.rows.counts(persons, start)
            for model in view.rows.models:
                met &= model.holds(counts)
            holds[group[~met]] = False
        return holds

    def broken(self) -> Iterator[tuple[RowsView, GroupCounts, list[Model]]]:
        """Each part of a view that fails: its counts, and the models that it breaks."""
        for view in self.related.views:
            group, persons, start = view.parts(self.start_of_group, self.who)
            for at in range(len(group)):
                own = persons[start[at] : start[at + 1]]
                counts = view.rows.counts(own, np.array([0, len(own)]))
                models = [model for model in view.rows.models if not model.holds(counts).all()]
                if models or len(own) < FEWEST_PERSONS:
                    yield view, counts, models


def _only(
    kept: BoolArray, group: IntArray, persons: NDArray[Any], start: IntArray
) -> tuple[IntArray, NDArray[Any], IntArray]:
    """Some of the parts."""
    sizes = np.diff(start)
    return group[kept], persons[np.repeat(kept, sizes)], np.append(0, np.cumsum(sizes[kept]))
