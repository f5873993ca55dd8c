"""Mondrian: cut the widest quasi-identifier at its median (LeFevre, DeWitt and Ramakrishnan, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.grouping.balance_tree import MedianSweep
from shoal.grouping.coded_persons import CodedPersons, coded_persons
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.person_space import person_space
from shoal.grouping.tree import Tree, what_is_counted
from shoal.kernels import halving, trees
from shoal.models.contract import Model, SpreadLimits, limits_of
from shoal.models.counts import SPREAD
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.lines import on_lines
from shoal.table.table import Table
from shoal.threads import n_threads, side_by_side

PERSONS_PER_THREAD = 20_000
"""With fewer persons than this a thread of their own would not pay."""

NODES_PER_THREAD = 4
"""Nodes for each thread, so that none waits long for another."""


@dataclass(frozen=True, kw_only=True)
class Mondrian(Method):
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
    that is present; those with a hierarchy are laid on a line. Every group meets every model. O(q n log n) time.
    """

    spread: Literal["range", "z-score"] = field(
        default="range", metadata=option("How wide a column is: by the range of its values, or by standard deviations.")
    )
    name: ClassVar[str] = "mondrian"
    title: ClassVar[str] = "Mondrian"
    sentence: ClassVar[str] = "The table is cut at the median of its widest quasi-identifier, and the parts again."
    is_in_app: ClassVar[bool] = True
    keeps_models: ClassVar[bool] = True
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})
    cuts_by_width: ClassVar[bool] = True

    @property
    def needs_squares(self) -> bool:
        """Widths are those of ranges."""
        return False

    def why_not_on(self, engine: str) -> list[str]:
        """Why an engine does not know deviations."""
        if engine == "stream" and self.spread != "range":
            return ["mondrian with spread 'z-score' looks at all records."]
        return []

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        table = on_lines(table)
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
    """The same tree, grown on rows of codes: for models that are limits on records and persons alone.

    The first cuts are made one by one, until there are nodes enough for all threads; these are then grown side by side
    and numbered as if one thread had grown them all.
    """
    n_persons, n_quasi = len(persons.row), len(persons.attributes.span)
    group_of_person = np.zeros(n_persons, np.int32)
    fixed = (persons.row, persons.word, persons.attributes, trees.Limits(*limits.in_whole_numbers), persons.all_alone)
    nodes = _first_nodes(fixed, n_persons)
    groups_of_node = side_by_side(lambda node: halving.halve(*fixed, *node, group_of_person), nodes)
    n_groups, n_final = 0, 0
    for (start, end), n_own in zip(nodes, groups_of_node, strict=True):
        if n_groups:
            halving.number_from(n_groups, persons.row, n_quasi, start, end, group_of_person)
        n_groups += n_own
        n_final += end - start
        progress("grouping", n_final / n_persons)
    return Grouping(group_of_person, n_groups)


def _first_nodes(fixed: tuple[Any, Any, Any, Any, Any], n_persons: int) -> list[tuple[int, int]]:
    """Nodes to grow side by side, in the order in which one thread would: the whole table where that would not pay."""
    nodes = [(0, n_persons)]
    enough = NODES_PER_THREAD * n_threads()
    if n_threads() == 1 or n_persons < 2 * PERSONS_PER_THREAD:
        return nodes
    scratch = halving.scratch_for(fixed[2], n_persons)
    while len(nodes) < enough:
        largest = max(range(len(nodes)), key=lambda at: nodes[at][1] - nodes[at][0])
        start, end = nodes[largest]
        if end - start < PERSONS_PER_THREAD:
            break
        cut = halving.cut_node(*fixed, scratch, start, end)
        if cut < 0:
            break
        sides = [(start, cut), (cut, end)]
        nodes[largest : largest + 1] = sides if cut - start <= end - cut else sides[::-1]
    return nodes
