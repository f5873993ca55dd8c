"""Mondrian: cut the widest quasi-identifier at its median (LeFevre, DeWitt and Ramakrishnan, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.grouping.balance_tree import MedianSweep
from shoal.grouping.coded_persons import CodedPersons, coded_persons
from shoal.grouping.grouping import Grouping
from shoal.grouping.person_space import person_space
from shoal.grouping.tree import Tree, what_is_counted
from shoal.kernels import halving, trees
from shoal.models.contract import Model
from shoal.models.counts import SPREAD
from shoal.models.limits import SpreadLimits, limits_of
from shoal.progress import Progress, silent
from shoal.table.table import Table

PERSONS_A_REPORT = 500_000
"""After how many more persons have their group the progress is told."""


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Cut at the median of the quasi-identifier with the widest range; where that fails, the next widest.

    Parameters
    ----------
    spread
        How wide a quasi-identifier is: "range", of values scaled to [0, 1] over the whole table; or "z-score", in
        standard deviations of the whole table, categories taken by the number of their code (Gal, Chen and
        Gangopadhyay, 2008).

    Notes
    -----
    A person's records stay together: persons are ordered by the mean of their records, the median is that of the
    records. Nominal quasi-identifiers are cut category against the rest, their width is the share of their categories
    that is present. Every group meets every model. O(q n log n) time.
    """

    spread: str = "range"
    name: ClassVar[str] = "mondrian"
    keeps_models: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.spread not in ("range", "z-score"):
            raise ParameterError("spread must be 'range' or 'z-score'.")

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        as_numbers = self.spread == "z-score"
        limits = limits_of(models)
        only_spread = all(model.needs <= SPREAD for model in models)
        if only_spread and limits is not None and limits.fits(table.n_records):
            persons = coded_persons(table, codes_as_numbers=as_numbers)
            if persons is not None:
                return _halved(persons, limits, progress)
        space = person_space(table, with_variance=False, codes_as_numbers=as_numbers, **what_is_counted(models))
        return Tree(space, models, MedianSweep(space, trees.WIDEST)).grow(progress)


def _halved(persons: CodedPersons, limits: SpreadLimits, progress: Progress) -> Grouping:
    """The same tree, grown on rows of codes: for models that are limits on records and persons alone."""
    n_persons = len(persons.row)
    group_of_person = np.zeros(n_persons, np.int32)
    waiting = halving.Waiting(np.zeros(halving.MOST_WAITING, np.int64), np.zeros(halving.MOST_WAITING, np.int64))
    waiting.end[0] = n_persons
    n_waiting, n_groups, n_final = 1, 0, 0
    in_whole_numbers = trees.Limits(*limits.in_whole_numbers)
    while n_waiting:
        n_waiting, n_groups, n_done = halving.halve(
            persons.row, persons.word, persons.attributes, in_whole_numbers, persons.all_alone, waiting, n_waiting,
            group_of_person, n_groups, PERSONS_A_REPORT,
        )  # fmt: skip
        n_final += n_done
        progress("grouping", n_final / n_persons)
    return Grouping(group_of_person, n_groups)
