"""Cells of a table at given levels of its quasi-identifiers. Arrays in, arrays out; no tables, no randomness.

Persons with equal quasi-identifiers are one *kind*. The nodes of a kind stand in one row, the levels of one attribute
behind those of the other; a *place* is a column of that row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import kernel


class Kinds(NamedTuple):
    """What is known of kinds."""

    node: np.ndarray  # (kinds, places) int32
    start: np.ndarray  # (attributes + 1): where the levels of each attribute start among places
    persons: np.ndarray  # (kinds) int64
    records: np.ndarray
    squared: np.ndarray  # the sum over persons of their squared number of records
    most: np.ndarray  # the records of the person who has most


class Shares(NamedTuple):
    """Which share of the domain nodes cover."""

    of_node: np.ndarray  # the nodes of each place, one place behind the other
    start: np.ndarray  # (places + 1): where the nodes of a place start


class Values(NamedTuple):
    """The sensitive values of kinds, as far as groups must have so many different ones."""

    of_kind: np.ndarray  # (kinds, places of values) int32: different values, up to those asked for, -1 behind them
    start: np.ndarray  # (attributes + 1): where the values of each attribute start; as many as are asked for


@kernel
def hold_more(values, held, row, kind):
    """Add the values of a kind to those that a row holds, up to as many as are asked for."""
    for attribute in range(len(values.start) - 1):
        end = values.start[attribute + 1]
        for at in range(values.start[attribute], end):
            value = values.of_kind[kind, at]
            place = values.start[attribute]
            while place < end and held[row, place] >= 0 and held[row, place] != value:
                place += 1
            if value < 0 or place == end:
                break
            held[row, place] = value


@kernel
def values_lacking(values, held, row, more):
    """How many different values a row lacks, of the attribute that lacks most; with those of a kind more (-1: none)."""
    lacking = 0
    for attribute in range(len(values.start) - 1):
        start, end = values.start[attribute], values.start[attribute + 1]
        n_held = 0
        while start + n_held < end and held[row, start + n_held] >= 0:
            n_held += 1
        n_more = 0
        if more >= 0:
            for at in range(start, end):
                value = values.of_kind[more, at]
                if value < 0:
                    break
                n_more += 1
                for place in range(start, start + n_held):
                    if held[row, place] == value:
                        n_more -= 1
                        break
        lacking = max(lacking, end - start - n_held - n_more)
    return lacking


@kernel
def cells_of_kinds(kinds, places, left, limits, values):
    """The cells of the kinds that are left: those of equal nodes at the given places, one place per attribute.

    Gives the cell of each, numbered in the order in which they first appear, and whether each cell keeps to the limits
    and has as many different values as are asked for.
    """
    node = kinds.node
    n_left, n_places = len(left), len(places)
    size = 16
    while size < 2 * n_left:
        size *= 2
    slot = np.full(size, -1, np.int32)
    cell_of_left = np.empty(n_left, np.int32)
    first_of_cell = np.empty(n_left, np.int32)
    counts = np.zeros((n_left, 4), np.int64)
    held = np.full((n_left, values.of_kind.shape[1]), -1, np.int32)
    n_cells = 0
    for i in range(n_left):
        kind = left[i]
        key = np.uint64(0)
        for j in range(n_places):
            key = (key ^ np.uint64(node[kind, places[j]])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        at = np.int64(key & np.uint64(size - 1))
        while slot[at] >= 0:
            first = first_of_cell[slot[at]]
            is_same = True
            for j in range(n_places):
                if node[kind, places[j]] != node[first, places[j]]:
                    is_same = False
                    break
            if is_same:
                break
            at = (at + 1) & (size - 1)
        if slot[at] < 0:
            slot[at] = n_cells
            first_of_cell[n_cells] = kind
            n_cells += 1
        cell = slot[at]
        cell_of_left[i] = cell
        counts[cell, 0] += kinds.persons[kind]
        counts[cell, 1] += kinds.records[kind]
        counts[cell, 2] += kinds.squared[kind]
        counts[cell, 3] = max(counts[cell, 3], kinds.most[kind])
        hold_more(values, held, cell, kind)
    keeps = np.empty(n_cells, np.bool_)
    for cell in range(n_cells):
        persons, records, squared, most = counts[cell]
        keeps[cell] = (
            persons >= limits.least_persons
            and records >= limits.least_records
            and squared * limits.squares_of <= limits.squares * records * records
            and most * limits.share_of <= limits.share * records
            and values_lacking(values, held, cell, -1) == 0
        )
    return cell_of_left, keeps


@kernel
def levels_of_groups(kinds, group_of_kind, n_groups):
    """For each group the lowest level of each attribute at which its kinds are one node, and one of its kinds."""
    n_attributes = len(kinds.start) - 1
    level = np.zeros((n_groups, n_attributes), np.int32)
    member = np.full(n_groups, -1, np.int32)
    for kind in range(len(group_of_kind)):
        group = group_of_kind[kind]
        if group >= 0 and member[group] < 0:
            member[group] = kind
        elif group >= 0:
            for j in range(n_attributes):
                level[group, j] = _common_level(kinds, j, level[group, j], member[group], kind)
    return level, member


@kernel
def _common_level(kinds, j, level, one, other):
    """The lowest level of an attribute, from the given one up, at which two kinds are one node."""
    while kinds.node[one, kinds.start[j] + level] != kinds.node[other, kinds.start[j] + level]:
        level += 1
    return level


@kernel
def raise_levels(kinds, level, member, group, kind):
    """Raise the levels of a group so that a kind that joins it is one node with it."""
    for j in range(level.shape[1]):
        level[group, j] = _common_level(kinds, j, level[group, j], member[group], kind)


@kernel
def _share(shares, place, node):
    at = shares.start[place] + node
    return shares.of_node[at] if at < shares.start[place + 1] else 1.0


@kernel
def rises_of_groups(kinds, shares, level, member, records, kind):
    """By how much the loss of each group and of a kind rises when the kind joins it: records times shares covered.

    `records` has those of each group. The loss of the kind alone counts as nothing.
    """
    n_groups, n_attributes = level.shape
    rise = np.zeros(n_groups)
    for group in range(n_groups):
        for j in range(n_attributes):
            start = kinds.start[j]
            before = level[group, j]
            after = _common_level(kinds, j, before, member[group], kind)
            rise[group] += (records[group] + kinds.records[kind]) * _share(
                shares, start + after, kinds.node[kind, start + after]
            )
            rise[group] -= records[group] * _share(shares, start + before, kinds.node[member[group], start + before])
    return rise
