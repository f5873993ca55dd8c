"""Which values go up their hierarchy so that enough persons share each label. Arrays in, arrays out; no checks.

A *cell* is a person and a value of theirs. The cells of a unit stand in the order of their paths from the top of the
hierarchy, so that a node is a run of cells. From the leaves upwards a dynamic programme finds for each node what it
loses least when so many of its cells go further up: those that stay must be none or at least k. A common value may give
up a few cells of its own so that rare neighbours reach k together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _close(count, received, k, most, kept_of, cost):
    """What a node loses least by how many cells it hands up, and how many it had received then.

    `received` is what its children lose by how many cells they hand up to it, the last entry for so many or more; a
    leaf has `count` cells of its own and no children (count is -1 for other nodes).
    """
    last = len(cost) - 1
    cost[:] = np.inf
    if count >= 0:
        for up in range(min(count, last) + 1):
            if (up == count or count - up >= k) and (count <= last or up <= most):
                cost[up], kept_of[up] = 0.0, up
        return
    for had in range(last + 1):
        if received[had] < np.inf:
            for up in range((most if had == last else had) + 1):
                if (had == last or up == had or had - up >= k) and received[had] < cost[up]:
                    cost[up], kept_of[up] = received[had], had


@njit(cache=True, nogil=True)
def _merge(received, cost, step, before_of, up_of, merged):
    """Add a child to what its siblings lose by how many cells they hand up; each of its cells loses a step more."""
    last = len(cost) - 1
    merged[:] = np.inf
    for before in range(last + 1):
        if received[before] < np.inf:
            for up in range(last + 1):
                loss = received[before] + cost[up] + up * step
                at = min(before + up, last)
                if loss < merged[at]:
                    merged[at], before_of[at], up_of[at] = loss, before, up
    received[:] = merged


@njit(cache=True, nogil=True)
def _hand_up(person, weight, level, begin, end, at_level, up, mark, stamp):
    """Raise so many cells of a node: first of persons whom the node above does not have yet, with fewest records."""
    for turn in range(3):
        for cell in range(begin, end):
            if up == 0:
                return
            is_new = mark[person[cell]] != stamp
            is_next = turn == 2 or (is_new and (turn == 1 or weight[cell] == 1))
            if level[cell] == at_level and is_next:
                level[cell] += 1
                mark[person[cell]] = stamp
                up -= 1


class Nodes(NamedTuple):
    """The nodes of a unit, each behind its children."""

    level: np.ndarray
    begin: np.ndarray  # the cells of a node
    end: np.ndarray
    parent: np.ndarray
    step: np.ndarray  # what one of its cells loses on average when it goes up from here


@njit(cache=True, nogil=True)
def _nodes(path, loss, first, end):
    """The nodes of the cells of a unit."""
    n_levels = len(path)
    top_of_cell = np.full(end - first, n_levels - 1, np.int64)  # up to which level nodes end behind a cell
    n = n_levels
    for cell in range(first, end - 1):
        top = n_levels - 1
        while top >= 0 and path[top, cell] == path[top, cell + 1]:
            top -= 1
        top_of_cell[cell - first] = top
        n += top + 1
    nodes = Nodes(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.full(n, n, np.int64), np.zeros(n)
    )
    open_since = np.full(n_levels, first, np.int64)
    node = 0
    for cell in range(first, end):
        for at in range(top_of_cell[cell - first] + 1):
            nodes.level[node], nodes.begin[node], nodes.end[node] = at, open_since[at], cell + 1
            for each in range(open_since[at], cell + 1):
                nodes.step[node] += (loss[at + 1, each] if at + 1 < n_levels else 1.0) - loss[at, each]
            nodes.step[node] /= cell + 1 - open_since[at]
            open_since[at] = cell + 1
            node += 1
    latest = np.full(n_levels + 1, n, np.int64)
    for node in range(n - 1, -1, -1):
        nodes.parent[node] = latest[nodes.level[node] + 1]
        latest[nodes.level[node]] = node
    return nodes


@njit(cache=True, nogil=True)
def _handed_up(nodes, need, n_levels, most, last):
    """How many cells each node has and hands up when least is lost; those that stay are none or as many as needed."""
    n = len(nodes.level)
    had_of, before_of, up_of = (
        np.zeros((n, last + 1), np.int16),
        np.zeros((n, last + 1), np.int16),
        np.zeros((n, last + 1), np.int16),
    )
    received = np.full((n_levels + 1, last + 1), np.inf)
    received[:, 0] = 0.0
    cost, merged = np.empty(last + 1), np.empty(last + 1)
    for node in range(n):
        at = nodes.level[node]
        count = nodes.end[node] - nodes.begin[node] if at == 0 else -1
        _close(count, received[at], need[node], most, had_of[node], cost)
        _merge(received[at + 1], cost, nodes.step[node], before_of[node], up_of[node], merged)
        received[at] = np.inf
        received[at, 0] = 0.0
    chosen = np.zeros(n_levels + 1, np.int64)
    chosen[n_levels] = np.argmin(received[n_levels])
    had, up = np.empty(n, np.int64), np.empty(n, np.int64)
    for node in range(n - 1, -1, -1):
        at = nodes.level[node]
        total = chosen[at + 1]
        up[node], chosen[at + 1] = up_of[node, total], before_of[node, total]
        chosen[at] = had_of[node, up[node]]
        had[node] = chosen[at] if at else nodes.end[node] - nodes.begin[node]
    return had, up


@njit(cache=True, nogil=True)
def _persons_too_few(nodes, node, person, level, k, mark, stamp):
    """How many persons a node that is shown lacks, since some have several of its cells."""
    n_cells, n_persons = 0, 0
    for cell in range(nodes.begin[node], nodes.end[node]):
        if level[cell] == nodes.level[node]:
            n_cells += 1
            n_persons += mark[person[cell]] != stamp
            mark[person[cell]] = stamp
    return max(k - n_persons, 0) if n_cells else 0


@njit(cache=True, nogil=True)
def planned_levels(path, loss, person, weight, unit_start, n_persons, k, most_rounds):
    """The level of each cell such that each label of a unit is shown by k persons, with little loss; else hidden.

    `path` and `loss` have a row per level, from the value itself upwards. The least that can be lost where all cells of
    a node are of different persons, weigh the same and lose the same. Where persons have several cells of a node, it
    asks for more cells in the next round; nodes may still lack persons after the last.
    """
    n_levels, n_cells = path.shape
    most = k * n_levels
    last = most + 2 * k
    level = np.zeros(n_cells, np.int8)
    mark = np.full((n_levels + 1, n_persons), -1, np.int64)
    stamp = 0
    for unit in range(len(unit_start) - 1):
        first, end = unit_start[unit], unit_start[unit + 1]
        if first == end:
            continue
        nodes = _nodes(path, loss, first, end)
        n = len(nodes.level)
        need = np.full(n, k, np.int64)
        lacks, rounds = True, 0
        while lacks and rounds < most_rounds:
            level[first:end] = 0
            had, up = _handed_up(nodes, need, n_levels, most, last)
            for at in range(n_levels):
                for gives_all in (True, False):  # who gives some looks whom the node above has already
                    for node in range(n):
                        if nodes.level[node] == at and (up[node] == had[node]) == gives_all:
                            above = stamp + nodes.parent[node]
                            begin, behind = nodes.begin[node], nodes.end[node]
                            _hand_up(person, weight, level, begin, behind, at, up[node], mark[at + 1], above)
            stamp += n + 1
            lacks = False
            for node in range(n):
                too_few = _persons_too_few(nodes, node, person, level, k, mark[0], stamp + node)
                lacks = lacks or (too_few > 0 and need[node] < 2 * k)
                need[node] = min(need[node] + too_few, 2 * k)
            stamp += n
            rounds += 1
    return level
