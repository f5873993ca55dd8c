"""Cell suppression: hide as few cells as it takes, and show all others as they are."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.lattice import tree_of
from shoal.grouping.local_recoding import recoded
from shoal.grouping.per_column import PerColumn, by_column, of_columns, written
from shoal.kernels import wildcards
from shoal.models.contract import Model, SpreadLimits, limits_of
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.levels import Levels, levels_of
from shoal.table.table import Table

MOST_COLUMNS = 14
"""Of so many quasi-identifiers all sets of columns can be weighed, where a hidden cell matches anything."""
SIZES = frozenset({"persons", "records"})
"""What can be counted where a hidden cell matches anything."""


@dataclass(frozen=True, kw_only=True)
class CellSuppression(Method):
    """Hide single cells, as few as it takes for everybody to look like enough others.

    Parameters
    ----------
    missing_matches
        What a hidden cell is alike to: "none", to hidden ones only; "all", to anything, as sdcMicro counts. The second
        hides less and promises less: for k-anonymity, person-k-anonymity and subset-k alone.
    importance
        How much a hidden cell of a column costs, 1 unless told: "age=2,sex=0.5". What costs more is hidden less.
    most_hidden
        In how many records a column may be hidden at the most: "age=100". Nothing is released where more would be.

    Notes
    -----
    "none": sets of columns to hide are tried from the cheapest to the dearest; whoever is alike enough others in the
    columns that stay becomes a group with them, and the others go on. Those who are left over join the group that costs
    least. "all": whoever is matched by too few, from those matched by fewest on, gets the cheapest set of cells hidden
    with which enough match. A person's records are always shown alike: where they differ in a column, it is hidden.

    The same table gives the same cells, in whatever order its records stand. O(2^q d) time for d different persons and
    q quasi-identifiers with "none", O(d^2 q) with "all".
    """

    missing_matches: Literal["none", "all"] = field(
        default="none", metadata=option("Hidden cells are alike to hidden ones only (none), or to anything (all).")
    )
    importance: PerColumn = field(
        default=None, metadata=option("How much a hidden cell of columns costs, 1 unless told.", metavar="C=X,C=X")
    )
    most_hidden: PerColumn = field(
        default=None, metadata=option("In how many records columns may be hidden at the most.", metavar="C=N,C=N")
    )
    name: ClassVar[str] = "cell-suppression"
    title: ClassVar[str] = "Hide single cells"
    sentence: ClassVar[str] = "Single cells are hidden, as few as it takes; all others are shown as they are."
    keeps_models: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("importance", "most_hidden"):
            object.__setattr__(self, name, written(getattr(self, name)))
        super().__post_init__()
        if not all(by_column("importance", self.importance).values()):
            raise ParameterError("importance must be above 0: a column that costs nothing would always be hidden.")
        by_column("most_hidden", self.most_hidden)

    @property
    def own_mask(self) -> str:
        """Hidden cells are shown as `*`."""
        return "suppress" if self.missing_matches == "none" else "wildcards"

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table by what is shown of them."""
        names = list(table.quasi)
        given = of_columns("importance", self.importance, names)
        costs = [given.get(name, 1.0) for name in names]
        most = of_columns("most_hidden", self.most_hidden, names)
        levels = [
            _value_or_nothing(levels_of(column), cost) for column, cost in zip(table.quasi.values(), costs, strict=True)
        ]
        if self.missing_matches == "none":
            grouping = recoded(table, levels, models, progress)
            grouping = replace(grouping, hidden=_differing(levels, grouping, table))
        else:
            grouping = _with_wildcards(table, levels, models, costs)
        records = np.bincount(grouping.group_of_record(table), minlength=grouping.n_groups)
        for name, limit in most.items():
            n_hidden = int(records[grouping.hidden[name]].sum())
            if n_hidden > limit:
                raise CannotSatisfyError(
                    f"'{name}' would be hidden in {n_hidden:,} of {table.n_records:,} records; at most {limit:,.0f} "
                    "may be. Raise its importance=, allow more with most_hidden=, or ask for less."
                )
        return grouping


def _value_or_nothing(levels: Levels, cost: float) -> Levels:
    """A column as it is, or hidden at a cost."""
    ends = [0, levels.n_levels - 1]
    share = np.zeros((levels.n_values, 2))
    share[:, 1] = cost
    return Levels(levels.code_of_record, levels.node[:, ends], share)


def _differing(levels: Sequence[Levels], grouping: Grouping, table: Table) -> dict[str, NDArray[np.bool_]]:
    """In which groups a column is hidden, since records differ."""
    group = grouping.group_of_record(table)
    hidden = {}
    for name, own in zip(table.quasi, levels, strict=True):
        low, high = np.full(grouping.n_groups, own.n_values), np.full(grouping.n_groups, -1)
        np.minimum.at(low, group, own.code_of_record)
        np.maximum.at(high, group, own.code_of_record)
        hidden[name] = low != high
    return hidden


def _with_wildcards(
    table: Table, levels: Sequence[Levels], models: Sequence[Model], costs: Sequence[float]
) -> Grouping:
    """Hide cells until everybody is matched by enough, where a hidden cell matches anything."""
    others = [model.name for model in models if not model.needs <= SIZES]
    limits = limits_of(models)
    if others or limits is None:
        raise ParameterError(
            f"{', '.join(others)} cannot be counted where a hidden cell matches anything: groups overlap then. Choose "
            "missing_matches='none', or ask for k-anonymity, person-k-anonymity or subset-k."
        )
    if len(levels) > MOST_COLUMNS:
        raise ParameterError(
            f"missing_matches='all' weighs all sets of columns, and takes at most {MOST_COLUMNS} quasi-identifiers, "
            f"not {len(levels)}."
        )
    columns = []
    for own in levels:
        node = tree_of(table, own).node_of_person
        columns.append(np.where(node < own.n_values, node, -1))
    rows, row_of_person = np.unique(np.stack(columns, axis=1).astype(np.int32), axis=0, return_inverse=True)
    row_of_person = row_of_person.reshape(-1)
    persons = np.bincount(row_of_person)
    records = np.bincount(row_of_person, weights=table.records_of_person).astype(np.int64)
    counted = np.column_stack([persons, records]).astype(np.float64)
    for known in sorted({model.known_columns or len(costs) for model in models}, reverse=True):
        asked = limits_of([model for model in models if (model.known_columns or len(costs)) == known])
        assert asked is not None
        sets = list(itertools.combinations(range(len(costs)), min(known, len(costs))))
        lacking = np.zeros(len(costs), np.int64)  # how many rows lack matches in sets that have each column
        if len(sets) > 1:
            for chosen in sets:
                lacking[list(chosen)] += len(_too_few(rows[:, chosen], counted, asked))
        for chosen in sets:
            part = np.ascontiguousarray(rows[:, chosen])
            order = _too_few(part, counted, asked)
            sets_of_cells = _subsets([costs[j] for j in chosen], lacking[list(chosen)].tolist())
            wildcards.hide_cells(part, persons, records, order, sets_of_cells, asked.least_persons, asked.least_records)
            rows[:, chosen] = part  # what is hidden matches more, so that nobody loses by it
    shown, group_of_row = np.unique(rows, axis=0, return_inverse=True)
    hidden = {name: shown[:, j] < 0 for j, name in enumerate(table.quasi)}
    group = group_of_row.reshape(-1)[row_of_person].astype(np.int32)
    return Grouping(group, len(shown), hidden=hidden)


def _too_few(rows: NDArray[np.int32], counted: NDArray[np.float64], asked: SpreadLimits) -> NDArray[np.int64]:
    """The rows that too few match, those matched by fewest first."""
    found = wildcards.matched_alike(np.ascontiguousarray(rows), counted)
    too_few = np.flatnonzero((found[:, 0] < asked.least_persons) | (found[:, 1] < asked.least_records))
    return too_few[np.argsort(found[too_few, 0], kind="stable")]


def _subsets(costs: Sequence[float], lacking: Sequence[int]) -> NDArray[np.int64]:
    """All sets of columns as bits, from the cheapest to the dearest; of equals those that help elsewhere most."""
    sets = [
        sum(1 << j for j in chosen)
        for size in range(len(costs) + 1)
        for chosen in itertools.combinations(range(len(costs)), size)
    ]

    def rank(some: int) -> tuple[float, int, int]:
        own = [j for j in range(len(costs)) if some >> j & 1]
        return round(sum(costs[j] for j in own), 9), -sum(lacking[j] for j in own), some

    return np.array(sorted(sets, key=rank), np.int64)
