"""Which values go up their hierarchy so that enough persons share each label. Arrays in, arrays out; no checks.

A *cell* is a person and a value of theirs. The cells of a unit stand in the order of their paths from the top of the
hierarchy, so that a node is a run of cells. From the leaves upwards a dynamic programme finds for each node what it
loses least when so many of its cells go further up: those that stay must be none or at least k. A common value may give
up a few cells of its own so that rare neighbours reach k together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

LEVEL, BEGIN, END, PARENT, NEED, HAD, UP = range(7)
"""Columns of the nodes of a unit, each behind its children: the cells of a node, how many cells it must show, how many
it has, and how many of them it hands up."""
RECEIVED, HANDED, BEFORE = range(3)
"""What the choice of each number of cells was, by node."""


def planned_levels(
    path: NDArray[np.int32],
    loss: NDArray[np.float64],
    person: NDArray[np.int64],
    weight: NDArray[np.int64],
    unit_start: NDArray[np.int64],
    n_persons: int,
    k: int,
    most_rounds: int,
) -> NDArray[np.int8]:
    """The level of each cell such that each label of a unit is shown by k persons, with little loss; else hidden.

    `path` and `loss` have a row per level, from the value itself upwards. The least that can be lost where all cells of
    a node are of different persons, weigh the same and lose the same. Where persons have several cells of a node, it
    asks for more cells in the next round; nodes may still lack persons after the last.
    """
    n_levels, n_cells = path.shape
    last = k * (n_levels + 2)
    level = np.zeros(n_cells, np.int8)
    node, start = _nodes(path, unit_start)
    most_nodes = int(np.diff(start).max(initial=0))
    plan(
        n_levels, np.ascontiguousarray(loss), person, weight, unit_start, start, node, k, most_rounds, level,
        np.full((n_levels + 1, n_persons), -1, np.int64), np.empty(len(node)),
        np.zeros((3, most_nodes, last + 1), np.int16), np.empty((n_levels + 3, last + 1)),
        np.zeros(n_levels + 1, np.int64),
    )  # fmt: skip
    return level


def _nodes(path: NDArray[np.int32], unit_start: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes of all units, each behind its children, and where those of each unit start."""
    n_levels, n_cells = path.shape
    top = np.full(n_cells, -1, np.int64)  # up to which level nodes end behind a cell
    for at in range(n_levels):
        top[:-1][path[at, 1:] != path[at, :-1]] = at
    top[unit_start[1:][np.diff(unit_start) > 0] - 1] = n_levels - 1
    behind = np.append(0, np.cumsum(top + 1))
    node = np.zeros((int(behind[-1]), 7), np.int64)
    for at in range(n_levels):
        ends = np.flatnonzero(top >= at)
        places = behind[ends] + at
        node[places, LEVEL] = at
        node[places, BEGIN] = np.append(0, ends[:-1] + 1)[: len(ends)]
        node[places, END] = ends + 1
        if at:  # the node above ends at the same cell or at a later one
            below = np.flatnonzero(node[:, LEVEL] == at - 1)
            below = below[node[below, END] > 0]
            node[below, PARENT] = places[np.searchsorted(ends, node[below, END] - 1)]
    start = behind[unit_start]
    node[:, PARENT] -= np.repeat(start[:-1], np.diff(start))
    return node, start


@kernel
def plan(
    n_levels, loss, person, weight, unit_start, start, node, k, most_rounds, level, mark, step, choice, cost, chosen
):
    """Write the levels of the cells of all units.

    The rows of `cost` are what is lost by how many cells the children of a node hand up to it, for a node of each
    level, the last entry for so many or more; then the same for what a node hands up itself, and room for a sum.
    """
    most, last = k * n_levels, k * (n_levels + 2)
    own, merged = n_levels + 1, n_levels + 2
    stamp = 0
    for unit in range(len(unit_start) - 1):
        first, n = start[unit], start[unit + 1] - start[unit]
        for i in range(n):
            at, n_cells = node[first + i, LEVEL], node[first + i, END] - node[first + i, BEGIN]
            lost = 0.0  # what one of its cells loses on average when it goes up from here
            for cell in range(node[first + i, BEGIN], node[first + i, END]):
                lost += (loss[at + 1, cell] if at + 1 < n_levels else 1.0) - loss[at, cell]
            step[first + i] = lost / n_cells
            node[first + i, NEED] = k
            if at + 1 == n_levels:
                node[first + i, PARENT] = n
        lacks, rounds = n > 0, 0
        while lacks and rounds < most_rounds:
            for cell in range(unit_start[unit], unit_start[unit + 1]):
                level[cell] = 0
            for row in range(n_levels + 1):
                for had in range(last + 1):
                    cost[row, had] = np.inf if had else 0.0
            for i in range(n):  # from the leaves upwards
                at, need = node[first + i, LEVEL], node[first + i, NEED]
                count = node[first + i, END] - node[first + i, BEGIN]
                for up in range(last + 1):
                    cost[own, up], cost[merged, up] = np.inf, np.inf
                for had in range(last + 1):  # of so many cells, so many go up: those that stay are none or enough
                    if at == 0:
                        if had <= count and (had == count or count - had >= need) and (count <= last or had <= most):
                            cost[own, had], choice[RECEIVED, i, had] = 0.0, had
                    elif cost[at, had] < np.inf:
                        for up in range((most if had == last else had) + 1):
                            is_enough = had == last or up == had or had - up >= need
                            if is_enough and cost[at, had] < cost[own, up]:
                                cost[own, up], choice[RECEIVED, i, up] = cost[at, had], had
                for before in range(last + 1):  # with what its siblings hand up
                    if cost[at + 1, before] < np.inf:
                        for up in range(last + 1):
                            lost = cost[at + 1, before] + cost[own, up] + up * step[first + i]
                            both = min(before + up, last)
                            if lost < cost[merged, both]:
                                cost[merged, both] = lost
                                choice[BEFORE, i, both], choice[HANDED, i, both] = before, up
                for had in range(last + 1):
                    cost[at + 1, had] = cost[merged, had]
                    cost[at, had] = np.inf if had else 0.0
            for row in range(n_levels + 1):
                chosen[row] = 0
            for had in range(last + 1):
                if cost[n_levels, had] < cost[n_levels, chosen[n_levels]]:
                    chosen[n_levels] = had
            for i in range(n - 1, -1, -1):  # what was chosen, from the top downwards
                at = node[first + i, LEVEL]
                total = chosen[at + 1]
                up = choice[HANDED, i, total]
                chosen[at + 1], chosen[at] = choice[BEFORE, i, total], choice[RECEIVED, i, up]
                node[first + i, UP] = up
                node[first + i, HAD] = chosen[at] if at else node[first + i, END] - node[first + i, BEGIN]
            for turn in range(2 * n_levels * n):  # level by level; who gives some looks whom the node above has already
                at, gives_all, i = turn // (2 * n), turn // n % 2 == 0, turn % n
                up = node[first + i, UP]
                if node[first + i, LEVEL] != at or (up == node[first + i, HAD]) != gives_all:
                    continue
                above = stamp + node[first + i, PARENT]
                for kind in range(3):  # first of persons whom the node above does not have yet, with fewest records
                    for cell in range(node[first + i, BEGIN], node[first + i, END]):
                        is_new = mark[at + 1, person[cell]] != above
                        is_next = kind == 2 or (is_new and (kind == 1 or weight[cell] == 1))
                        if up > 0 and level[cell] == at and is_next:
                            level[cell] += 1
                            mark[at + 1, person[cell]] = above
                            up -= 1
            stamp += n + 1
            lacks = False
            for i in range(n):  # where some have several cells of a node, it may show too few persons
                n_cells, n_persons = 0, 0
                for cell in range(node[first + i, BEGIN], node[first + i, END]):
                    if level[cell] == node[first + i, LEVEL]:
                        n_cells += 1
                        n_persons += mark[0, person[cell]] != stamp + i
                        mark[0, person[cell]] = stamp + i
                too_few = max(k - n_persons, 0) if n_cells else 0
                lacks = lacks or (too_few > 0 and node[first + i, NEED] < 2 * k)
                node[first + i, NEED] = min(node[first + i, NEED] + too_few, 2 * k)
            stamp += n
            rounds += 1
