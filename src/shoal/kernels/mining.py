"""Counting what kinds of persons have in common. Arrays in, arrays out; no tables, no checks, no randomness.

A *kind* stands for all persons with the same values. Its items are the nodes that these values belong to, ascending,
each with a degree of membership; an empty array of degrees says that all are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel


class Kinds(NamedTuple):
    """Kinds of persons: the items of kind k stand at start[k]:start[k + 1]."""

    start: NDArray[np.int64]
    nodes: NDArray[np.int32]
    degrees: NDArray[np.float64]
    persons: NDArray[np.int64]
    """How many persons are of each kind."""
    bits: NDArray[np.uint64]
    """By kind: which values somebody of the kind has, one bit per value."""


@kernel
def merge_bits(kind_of_person, start, values, n_kinds, n_words):
    """Which values somebody of each kind has, one bit per value; `values` are those of the persons, from `start`."""
    bits = np.zeros((n_kinds, n_words), dtype=np.uint64)
    for person in range(len(kind_of_person)):
        kind = kind_of_person[person]
        for at in range(start[person], start[person + 1]):
            bits[kind, values[at] >> 6] |= np.uint64(1) << np.uint64(values[at] & 63)
    return bits


@kernel
def codes_of_persons(persons, person_of_record, codes_of_column, first_of_column, n_persons):
    """The different codes of some persons, column by column: starts and codes, each with what its column starts at."""
    n_columns = codes_of_column.shape[0]
    place_of_person = np.full(n_persons, -1, dtype=np.int64)
    for place in range(len(persons)):
        place_of_person[persons[place]] = place
    start_of_records = np.zeros(len(persons) + 1, dtype=np.int64)
    for record in range(len(person_of_record)):
        place = place_of_person[person_of_record[record]]
        if place >= 0:
            start_of_records[place + 1] += 1
    for place in range(len(persons)):
        start_of_records[place + 1] += start_of_records[place]
    position = start_of_records[:-1].copy()
    records = np.empty(start_of_records[-1], dtype=np.int64)
    for record in range(len(person_of_record)):
        place = place_of_person[person_of_record[record]]
        if place >= 0:
            records[position[place]] = record
            position[place] += 1
    start = np.zeros(len(persons) + 1, dtype=np.int64)
    codes = np.empty(n_columns * len(records), dtype=np.int32)
    seen_in = np.full(first_of_column[-1], -1, dtype=np.int64)
    n_codes = 0
    for place in range(len(persons)):
        for column in range(n_columns):
            for at in range(start_of_records[place], start_of_records[place + 1]):
                code = codes_of_column[column, records[at]] + first_of_column[column]
                if seen_in[code] != place:
                    seen_in[code] = place
                    codes[n_codes] = code
                    n_codes += 1
        start[place + 1] = n_codes
    return start, codes[:n_codes].copy()


@kernel
def items_of_kinds(start_of_kind, codes, start_of_code, node_of_entry, degree_of_entry, n_nodes):
    """The items of each kind from those of its codes, the highest degree of each node: starts, nodes, degrees.

    A kind's codes stand in the order of their columns, so that its nodes do too; inside a column they are sorted.
    """
    n_kinds = len(start_of_kind) - 1
    is_fuzzy = len(degree_of_entry) > 0
    n_entries = 0
    for at in range(len(codes)):
        n_entries += start_of_code[codes[at] + 1] - start_of_code[codes[at]]
    start = np.zeros(n_kinds + 1, dtype=np.int64)
    nodes = np.empty(n_entries, dtype=np.int32)
    degrees = np.empty(n_entries if is_fuzzy else 0, dtype=np.float64)
    seen_in = np.full(n_nodes, -1, dtype=np.int64)
    best = np.zeros(n_nodes, dtype=np.float64)
    n_items = 0
    for kind in range(n_kinds):
        first = n_items
        for at in range(start_of_kind[kind], start_of_kind[kind + 1]):
            for entry in range(start_of_code[codes[at]], start_of_code[codes[at] + 1]):
                node = node_of_entry[entry]
                degree = degree_of_entry[entry] if is_fuzzy else 1.0
                if seen_in[node] != kind:
                    seen_in[node] = kind
                    best[node] = degree
                    nodes[n_items] = node
                    n_items += 1
                elif degree > best[node]:
                    best[node] = degree
        if start_of_kind[kind + 1] - start_of_kind[kind] > 1:
            nodes[first:n_items].sort()
        if is_fuzzy:
            for item in range(first, n_items):
                degrees[item] = best[nodes[item]]
        start[kind + 1] = n_items
    return start, nodes[:n_items].copy(), degrees[: n_items if is_fuzzy else 0].copy()


@kernel
def support_of_nodes(start, nodes, degrees, persons, n_nodes):
    """How many persons belong to each node, by their degrees."""
    is_fuzzy = len(degrees) > 0
    support = np.zeros(n_nodes, dtype=np.float64)
    for kind in range(len(start) - 1):
        for item in range(start[kind], start[kind + 1]):
            support[nodes[item]] += persons[kind] * (degrees[item] if is_fuzzy else 1.0)
    return support


@kernel
def keep_nodes(start, nodes, degrees, new_number):
    """The items of each kind without the nodes whose new number is below 0, by their new numbers."""
    is_fuzzy = len(degrees) > 0
    n_kept = 0
    for item in range(len(nodes)):
        n_kept += new_number[nodes[item]] >= 0
    kept_start = np.zeros(len(start), dtype=np.int64)
    kept_nodes = np.empty(n_kept, dtype=np.int32)
    kept_degrees = np.empty(n_kept if is_fuzzy else 0, dtype=np.float64)
    at = 0
    for kind in range(len(start) - 1):
        for item in range(start[kind], start[kind + 1]):
            number = new_number[nodes[item]]
            if number >= 0:
                kept_nodes[at] = number
                if is_fuzzy:
                    kept_degrees[at] = degrees[item]
                at += 1
        kept_start[kind + 1] = at
    return kept_start, kept_nodes, kept_degrees


@kernel
def kinds_of_nodes(start, nodes, degrees, n_nodes):
    """The kinds that have each node, ascending, with their degrees: starts, kinds, degrees."""
    is_fuzzy = len(degrees) > 0
    start_of_node = np.zeros(n_nodes + 1, dtype=np.int64)
    for item in range(len(nodes)):
        start_of_node[nodes[item] + 1] += 1
    for node in range(n_nodes):
        start_of_node[node + 1] += start_of_node[node]
    position = start_of_node[:-1].copy()
    kinds = np.empty(len(nodes), dtype=np.int32)
    degree_of_kind = np.empty(len(degrees), dtype=np.float64)
    for kind in range(len(start) - 1):
        for item in range(start[kind], start[kind + 1]):
            at = position[nodes[item]]
            position[nodes[item]] += 1
            kinds[at] = kind
            if is_fuzzy:
                degree_of_kind[at] = degrees[item]
    return start_of_node, kinds, degree_of_kind


@kernel
def _joint(weight, degree, use_minimum):
    """How far somebody belongs to two things: the product of both degrees, or the lower one."""
    return min(weight, degree) if use_minimum else weight * degree


@kernel
def narrow(all_kinds, some, weights, node, use_minimum):
    """Those of some kinds that also have a node, and their weights."""
    is_fuzzy = len(all_kinds.degrees) > 0
    kept = np.empty(len(some), dtype=np.int32)
    kept_weights = np.empty(len(some), dtype=np.float64)
    n_kept = 0
    for i in range(len(some)):
        low, high = all_kinds.start[some[i]], all_kinds.start[some[i] + 1]
        at = low + np.searchsorted(all_kinds.nodes[low:high], node)
        if at == high or all_kinds.nodes[at] != node:
            continue
        kept[n_kept] = some[i]
        kept_weights[n_kept] = _joint(weights[i], all_kinds.degrees[at] if is_fuzzy else 1.0, use_minimum)
        n_kept += 1
    return kept[:n_kept].copy(), kept_weights[:n_kept].copy()


@kernel
def count_with(all_kinds, some, weights, first_node, use_minimum, count, crisp, met, touched):
    """Count each node from `first_node` on among some kinds; gives how many such nodes they have.

    Fills, for the nodes that it lists in `touched`: `count` (persons by weight and degree), `crisp` (persons who
    belong to everything with degree 1) and `met` (the values that somebody of them has, as bits). All three must be 0
    before.
    """
    start, nodes, degrees, persons, bits = all_kinds
    is_fuzzy = len(degrees) > 0
    n_words = bits.shape[1]
    n_touched = 0
    for i in range(len(some)):
        kind, weight = some[i], weights[i]
        item = start[kind + 1] - 1
        while item >= start[kind] and nodes[item] >= first_node:
            node = nodes[item]
            if count[node] == 0.0:
                touched[n_touched] = node
                n_touched += 1
            joint = _joint(weight, degrees[item] if is_fuzzy else 1.0, use_minimum)
            count[node] += joint * persons[kind]
            if joint == 1.0:
                crisp[node] += persons[kind]
            for word in range(n_words):
                met[node, word] |= bits[kind, word]
            item -= 1
    return n_touched
