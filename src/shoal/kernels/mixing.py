"""How the classes of a group stay mixed when it is cut or persons move. Arrays in, arrays out; no tables, no checks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import kernel
from shoal.kernels.spanning import divergence_of


@kernel
def rises_of_cuts(person_at, segments, cut_node, cut_run_start, cut_position, row, classes_of_kind, whole):
    """By how much each cut raises the divergence of its node's classes, the two sides weighted by their records.

    Cuts are sorted by node, run and position; the kind of a person stands last in their row.
    """
    n_classes = len(whole)
    in_node, left, right = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    rises = np.empty(len(cut_node))
    by_count = segments.start.shape[0] - 1
    node, run_start, at = -1, -1, 0
    records, divergence = 0, 0.0
    for cut in range(len(cut_node)):
        if cut_node[cut] != node:
            node, run_start = cut_node[cut], -1
            in_node[:] = 0
            for place in range(segments.start[by_count, node], segments.end[by_count, node]):
                in_node += classes_of_kind[np.int64(row[person_at[place], -1])]
            records = in_node.sum()
            divergence = divergence_of(in_node, whole)
        if cut_run_start[cut] != run_start:
            run_start = cut_run_start[cut]
            at = run_start
            left[:] = 0
        while at <= cut_position[cut]:
            left += classes_of_kind[np.int64(row[person_at[at], -1])]
            at += 1
        right[:] = in_node
        right -= left
        on_left, on_right = left.sum(), right.sum()
        weighted = on_left * divergence_of(left, whole) + on_right * divergence_of(right, whole)
        rises[cut] = weighted / records - divergence
    return rises


class Groups(NamedTuple):
    """What is known of groups while persons move between them."""

    persons: np.ndarray
    records: np.ndarray
    sums: np.ndarray  # (groups, columns): over records
    classes: np.ndarray  # (groups, classes): records of each class
    weight: np.ndarray  # records times divergence


@kernel
def _groups_of(points, records, kind, classes_of_kind, whole, group_of_person, n_groups):
    groups = Groups(
        np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64), np.zeros((n_groups, points.shape[1])),
        np.zeros((n_groups, len(whole)), np.int64), np.zeros(n_groups),
    )  # fmt: skip
    for i in range(len(points)):
        _enter(groups, group_of_person[i], points[i], records[i], classes_of_kind[kind[i]], 1)
    for group in range(n_groups):
        groups.weight[group] = groups.records[group] * divergence_of(groups.classes[group], whole)
    return groups


@kernel
def _enter(groups, group, point, records, classes, sign):
    """Count a person in a group, or out of it."""
    groups.persons[group] += sign
    groups.records[group] += sign * records
    for j in range(len(point)):
        groups.sums[group, j] += sign * records * point[j]
    for k in range(len(classes)):
        groups.classes[group, k] += sign * classes[k]


@kernel
def _squared_to_mean(groups, group, point):
    total = 0.0
    for j in range(len(point)):
        away = point[j] - groups.sums[group, j] / groups.records[group]
        total += away * away
    return total


@kernel
def _weight_with(groups, group, classes, sign, whole, counts):
    """Records times divergence of a group with a person of some classes, or without; fills in `counts`."""
    total = 0
    for k in range(len(classes)):
        counts[k] = groups.classes[group, k] + sign * classes[k]
        total += counts[k]
    return total * divergence_of(counts, whole)


@kernel
def move_nearer(points, records, kind, classes_of_kind, whole, group_of_person, n_groups, m, passes):
    """Let one person after the other move to another group while that helps; gives how many moves there were.

    A person goes where it takes most off the sum of squares inside groups, of equals to the first group, among those
    moves that leave m persons behind, find fewer than 2m - 1 there, do not raise the divergence of the two groups
    (weighted by records), and do not leave one class behind where there were several. `group_of_person` is changed.
    """
    groups = _groups_of(points, records, kind, classes_of_kind, whole, group_of_person, n_groups)
    counts = np.empty(len(whole), np.int64)
    n_moves = 0
    for _ in range(passes):
        n_before = n_moves
        for i in range(len(points)):
            own, classes, weight = group_of_person[i], classes_of_kind[kind[i]], records[i]
            if groups.persons[own] <= m:
                continue
            taken_off = weight * groups.records[own] / (groups.records[own] - weight)
            taken_off *= _squared_to_mean(groups, own, points[i])
            weight_left = _weight_with(groups, own, classes, -1, whole, counts)
            if np.count_nonzero(counts) == 1 and np.count_nonzero(groups.classes[own]) > 1:
                continue
            best, best_group = 0.0, -1
            for other in range(n_groups):
                if other == own or groups.persons[other] >= 2 * m - 1:
                    continue
                added = weight * groups.records[other] / (groups.records[other] + weight)
                added *= _squared_to_mean(groups, other, points[i])
                if added - taken_off >= best:
                    continue
                weight_there = _weight_with(groups, other, classes, 1, whole, counts)
                if weight_left + weight_there <= groups.weight[own] + groups.weight[other]:
                    best, best_group = added - taken_off, other
            if best_group < 0:
                continue
            groups.weight[best_group] = _weight_with(groups, best_group, classes, 1, whole, counts)
            groups.weight[own] = weight_left
            _enter(groups, own, points[i], weight, classes, -1)
            _enter(groups, best_group, points[i], weight, classes, 1)
            group_of_person[i] = best_group
            n_moves += 1
        if n_moves == n_before:
            break
    return n_moves
