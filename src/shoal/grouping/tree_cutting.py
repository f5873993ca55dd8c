"""What the methods that span a tree share: how many persons a group has, and cutting while every model holds."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ShoalWarning
from shoal.grouping.grouping import Grouping
from shoal.grouping.model_check import Judge
from shoal.kernels import cutting
from shoal.models.contract import Model
from shoal.table.table import Table

FEWEST_PERSONS = 3
"""Persons in a group where neither the method nor a model says how many."""

MOST_EDGES_ASKED = 64
"""About so many edges at most the models are asked at a time."""

Edges = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


def fewest_persons(m: int | None, models: Sequence[Model]) -> int:
    """m as given, or the larger of k and person-k asked for, else 3."""
    asked = [least for model in models if (least := fewest_asked(model)) is not None]
    return m if m is not None else max(asked, default=FEWEST_PERSONS)


def fewest_asked(model: Model) -> int | None:
    """How many persons or records a model asks for, where that is all that it asks for."""
    limits = model.limits
    if limits is None or min(limits.largest_share, limits.largest_squares) < 1:
        return None
    return max(limits.least_persons, limits.least_records)


def models_to_ask(models: Sequence[Model], m: int) -> list[Model]:
    """The models that groups of m persons do not meet in any case."""
    return [model for model in models if (least := fewest_asked(model)) is None or least > m]


def refuse_too_few(table: Table, m: int) -> None:
    """Refuse a table that has too few persons for two groups."""
    n_persons = table.n_persons
    if n_persons < 2 * m:
        smaller = f"Ask for at most {n_persons // 2:,} persons per group, or choose" if n_persons >= 2 else "Choose"
        raise CannotSatisfyError(
            f"{n_persons:,} persons are too few for groups of at least {m:,}: a tree that is cut needs {2 * m:,}. "
            f"{smaller} the method balance-tree."
        )


def cut_tree(
    edges: Edges, counts: NDArray[np.int64], whole: NDArray[np.float64], m: int, judge: Judge, *, longest: bool
) -> NDArray[np.int32]:
    """Cut the best removable edge until none is left; the component of each person.

    An edge is removable if it has a length, both sides have m persons and meet every model. The best edge has the
    smallest divergence/length ratio (of equals it is the longest, then the oldest), or is the longest. Too few persons
    on a side stay too few; a side that breaks a model is asked about again once something else was cut off it.
    """
    state = cutting.start_cutting(*edges, np.ascontiguousarray(counts), whole, m)
    if not judge.models:
        cutting.cut_all(state, m, longest)
        return cutting.component_of_vertices(state)
    waiting: list[tuple[float, float, int, int, int]] = []
    fresh = [0]
    while True:
        for component in fresh:
            best = _best_that_holds(state, component, m, judge, longest=longest)
            if best is not None:
                place, merit = best
                order = (merit, -float(state.length[place]), int(state.number[place]))
                heapq.heappush(waiting, (*order, place, component))
        if not waiting:
            return cutting.component_of_vertices(state)
        _, _, _, place, component = heapq.heappop(waiting)
        fresh = [component, int(cutting.cut_edge(state, component, place))]


def _best_that_holds(
    state: cutting.Cutting, component: int, m: int, judge: Judge, *, longest: bool
) -> tuple[int, float] | None:
    """The best edge of a component whose two sides meet every model; those that fail are marked on the way."""
    portion = 1
    while True:
        places, merits = cutting.best_edges(state, component, m, longest, portion)
        if not len(places):
            return None
        holds = judge.holds(*cutting.vertices_of_sides(state, component, places)).reshape(-1, 2)
        for place, merit, (below, above) in zip(places, merits, holds, strict=True):
            if below and above:
                return int(place), float(merit)
            state.fails_below[place] |= not below
            state.fails_above[place] |= not above
        portion = min(4 * portion, MOST_EDGES_ASKED)


def grouping_of(
    component_of_person: NDArray[np.int32], *, warned: Sequence[str] = (), notes: Sequence[str] = ()
) -> Grouping:
    """The grouping, its groups numbered in the order of their first persons; says what there is to warn of."""
    for warning in warned:
        warnings.warn(warning, ShoalWarning, stacklevel=4)  # at whoever called protect
    _, first, component = np.unique(component_of_person, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return Grouping(number[component.reshape(-1)], len(first), (*warned, *notes))
