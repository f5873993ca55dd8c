"""Who there is and what they have: kinds of persons over nodes, and the sensitive values that rules are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.mining.expectation import needed_support
from shoal.attacking.mining.nodes import Values, texts_of_values, values_of
from shoal.attacking.mining.rules import Item
from shoal.attacking.mining.trees import ABSENT, ValueTree, check_margin, tree_of
from shoal.errors import SchemaError, did_you_mean
from shoal.table.table import Table

BITS = 64

IntArray = NDArray[np.int64]
BitArray = NDArray[np.uint64]


# What rules are about


@dataclass(frozen=True)
class Targets:
    """The sensitive values of all attributes, numbered through; which each person has; how many persons have each."""

    items: tuple[Item, ...]
    start: IntArray
    values: IntArray
    """The values of person p stand at start[p]:start[p + 1]."""
    persons: IntArray
    needed: NDArray[np.float64]
    """How many persons a rule about each value needs."""
    n_persons: int

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return len(self.items)

    @property
    def n_words(self) -> int:
        """How many words of 64 bits hold one bit per value."""
        return -(-self.n_values // BITS)

    def within_reach(self, support: NDArray[np.float64]) -> BitArray:
        """For each support the values that a rule with so many persons may be about, as bits."""
        needed, masks = self._reached
        return masks[np.searchsorted(needed, support, side="right")]

    @cached_property
    def _reached(self) -> tuple[NDArray[np.float64], BitArray]:
        """What values need, ascending, and which values are reached by what the first so many of them need."""
        order = np.argsort(self.needed, kind="stable")
        masks = np.zeros((self.n_values + 1, self.n_words), dtype=np.uint64)
        for rank, value in enumerate(order):
            masks[rank + 1] = masks[rank]
            masks[rank + 1, value // BITS] |= np.uint64(1 << int(value) % BITS)
        return self.needed[order], masks


def targets_of(table: Table, columns: Sequence[str] | None, min_expectation: Fraction) -> Targets:
    """The values of the named sensitive attributes, or of all, and how many persons a rule about each needs."""
    names = table.schema.sensitive if columns is None else tuple(columns)
    strangers = [name for name in names if name not in table.sensitive]
    if strangers or not names:
        known = ", ".join(table.schema.sensitive) or "none"
        what = f"'{strangers[0]}' is none" if strangers else "none is named"
        hint = did_you_mean(strangers[0], table.schema.sensitive) if strangers else ""
        raise SchemaError(f"Rules are about sensitive attributes, and {what}. The table has: {known}.{hint}")
    items: dict[Item, int] = {}
    persons_at, values_at = [], []
    for name in names:
        column = table.sensitive[name]
        texts = texts_of_values([*column.categories.to_list(), *[None] * column.has_missing])
        numbers = np.array([items.setdefault(Item(name, text), len(items)) for text in texts], dtype=np.int64)
        start, values, _ = table.values_of_persons(column)
        persons_at.append(np.repeat(np.arange(table.n_persons), np.diff(start)))
        values_at.append(numbers[values])
    person, value = np.concatenate(persons_at), np.concatenate(values_at)
    if len(items) < sum(table.sensitive[name].n_codes for name in names):  # a value that is called "missing"
        pairs = np.unique(person * len(items) + value)
        person, value = pairs // len(items), pairs % len(items)
    start = np.concatenate([[0], np.cumsum(np.bincount(person, minlength=table.n_persons))])
    order = np.argsort(person, kind="stable")
    persons = np.bincount(value, minlength=len(items))
    needed = np.array([needed_support(table.n_persons, int(count), min_expectation) for count in persons])
    return Targets(tuple(items), start, value[order], persons, needed, table.n_persons)


# Who there is


@dataclass(frozen=True)
class People:
    """Kinds of persons over the nodes of all quasi-identifiers, numbered through."""

    kinds: Any
    items: tuple[Item, ...]
    parent: IntArray
    column: IntArray
    """By node: the place of its column."""


def people_of(table: Table, targets: Targets, margin: dict[str, float]) -> People:
    """The kinds of persons of a table, over the nodes that enough persons belong to for any rule."""
    from shoal.kernels import mining

    hierarchies = {column.name: column.hierarchy for column in table.schema.columns}
    values = [values_of(table.quasi[name], hierarchies[name]) for name in table.schema.quasi_names]
    check_margin(values, margin)
    least = float(targets.needed.min())
    trees = [tree_of(each, is_enough=_are_enough(each, least, margin)) for each in values]
    first = np.concatenate([[0], np.cumsum([tree.n_nodes for tree in trees])])
    start, codes, kind_of_person, persons = _kinds(table, values)
    start, nodes, degrees = mining.items_of_kinds(start, codes, *_entries(values, trees, margin), int(first[-1]))
    kept = np.flatnonzero(mining.support_of_nodes(start, nodes, degrees, persons, int(first[-1])) >= least)
    new_number = np.full(first[-1] + 1, ABSENT)
    new_number[kept] = np.arange(len(kept))
    start, nodes, degrees = mining.keep_nodes(start, nodes, degrees, new_number)
    bits = mining.merge_bits(kind_of_person, targets.start, targets.values, len(persons), targets.n_words)
    named = [Item(tree.column, label) for tree in trees for label in tree.labels]
    above = [np.where(tree.parent == ABSENT, ABSENT, tree.parent + at) for tree, at in zip(trees, first, strict=False)]
    return People(
        kinds=mining.Kinds(start, nodes, degrees, persons, bits),
        items=tuple(named[node] for node in kept),
        parent=new_number[np.concatenate(above)[kept]],
        column=np.repeat(np.arange(len(trees)), np.diff(first))[kept],
    )


def _are_enough(values: Values, least: float, margin: Mapping[str, float]) -> NDArray[np.bool_] | None:
    """Which numbers have enough records for any rule; with a margin, neighbours count too, so all may."""
    if margin.get(values.column):
        return None
    return np.bincount(values.codes, minlength=values.n_codes) >= least


def _entries(
    values: Sequence[Values], trees: Sequence[ValueTree], margin: Mapping[str, float]
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """For each value of each column, numbered through, the nodes it belongs to: starts, nodes, degrees."""
    starts, nodes, degrees = [np.zeros(1, np.int64)], [], []
    first_node = first_entry = 0
    for each, tree in zip(values, trees, strict=True):
        start, node, degree = tree.memberships(each.numbers, float(margin.get(each.column, 0)))
        starts.append(start[1:] + first_entry)
        nodes.append(node + first_node)
        degrees.append(degree)
        first_entry += len(node)
        first_node += tree.n_nodes
    is_fuzzy = any(margin.values())
    return np.concatenate(starts), np.concatenate(nodes), np.concatenate(degrees) if is_fuzzy else np.empty(0)


def _kinds(table: Table, values: Sequence[Values]) -> tuple[IntArray, IntArray, NDArray[np.int32], IntArray]:
    """Persons with the same values are of one kind: starts, values, kind of each person, persons of each kind.

    Persons with several values of one column are kinds of their own.
    """
    from shoal.kernels import counting, mining

    first = np.concatenate([[0], np.cumsum([each.n_codes for each in values])])
    only = np.stack(
        [counting.code_of_person(each.codes, table.person_of_record, table.n_persons) for each in values], axis=1
    )
    is_plain = (only >= 0).all(axis=1)
    plain = np.flatnonzero(is_plain)
    key = np.zeros(len(plain), dtype=np.int64)
    for place, each in enumerate(values):
        numbers, _ = counting.number_distinct(key * each.n_codes + only[plain, place])
        key = numbers.astype(np.int64)
    n_plain = int(key.max(initial=-1)) + 1
    example = np.empty(n_plain, dtype=np.int64)
    example[key] = plain
    kind_of_person = np.empty(table.n_persons, dtype=np.int32)
    kind_of_person[plain] = key
    others = np.flatnonzero(~is_plain)
    kind_of_person[others] = n_plain + np.arange(len(others))
    codes_of_column = np.stack([each.codes for each in values])
    start, codes = mining.codes_of_persons(others, table.person_of_record, codes_of_column, first, table.n_persons)
    codes = np.concatenate([(only[example] + first[:-1]).ravel(), codes])
    start = np.concatenate([np.arange(n_plain + 1) * len(values), n_plain * len(values) + start[1:]])
    return start, codes, kind_of_person, np.bincount(kind_of_person, minlength=n_plain + len(others))
