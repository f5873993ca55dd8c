"""Local recoding as its definition reads. Never optimise this file; never import the package here.

A record is (person, values of quasi-identifiers by name, sensitive value). A tree gives, for every value of an
attribute, its nodes from the value itself to everything, and which share of the domain each of them covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

Person = Any
Record = tuple[Person, dict[str, Any], Any]
Tree = dict[Any, tuple[list[Any], list[float]]]
Kind = tuple[tuple[int, Any], ...]


def tree_of_categories(values: list[Any]) -> Tree:
    """A nominal attribute: the value, or nothing."""
    return {value: ([("value", value), "*"], [0.0, 1.0]) for value in values}


def tree_of_numbers(values: list[Any]) -> Tree:
    """A number: itself, then in 64, 16 and 4 parts of equal width, then nothing; a missing one has parts of its own."""
    present = [value for value in values if value is not None] or [0]
    low, high = min(present), max(present)
    tree: Tree = {}
    for value in values:
        if value is None:
            tree[value] = (["missing"] * 4 + ["*"], [0.0] * 4 + [1.0])
            continue
        parts = [min(math.floor((value - low) / (high - low + 1) * n), n - 1) for n in (64, 16, 4)]
        tree[value] = ([value, *parts, "*"], [0.0, 1 / 64, 1 / 16, 1 / 4, 1.0])
    return tree


def rank_of(attribute: str, value: Any, trees: dict[str, Tree]) -> int:
    """The place of a value among those of its attribute; a missing number comes first, a missing category last."""
    missing_first = len(trees[attribute][value][0]) > 2
    present = sorted(other for other in trees[attribute] if other is not None)
    return ([None, *present] if missing_first else [*present, None]).index(value)


class Persons:
    """Persons and their nodes at every level."""

    def __init__(self, records: list[Record], trees: dict[str, Tree]) -> None:
        self.records = records
        self.trees = trees
        self.own: dict[Person, list[Record]] = {}
        for record in records:
            self.own.setdefault(record[0], []).append(record)
        self.number = {person: place for place, person in enumerate(sorted(self.own))}

    def node(self, person: Person, attribute: str, level: int) -> tuple[Any, float]:
        """The node of all records of a person, and its share; a node of their own where the records differ."""
        found = {self.trees[attribute][record[1][attribute]][0][level] for record in self.own[person]}
        if len(found) > 1:
            return ("alone", person), 1.0
        value = self.own[person][0][1][attribute]
        return found.pop(), self.trees[attribute][value][1][level]

    def n_levels(self, attribute: str) -> int:
        return len(next(iter(self.trees[attribute].values()))[0])

    def kind(self, person: Person) -> Kind:
        """What persons of equal quasi-identifiers have in common; sorts as kinds are numbered."""
        found = []
        for attribute in self.trees:
            values = {record[1][attribute] for record in self.own[person]}
            if len(values) > 1:
                found.append((1, self.number[person]))
            else:
                found.append((0, rank_of(attribute, values.pop(), self.trees)))
        return tuple(found)

    def loss(self, attribute: str, level: int) -> float:
        return sum(self.node(person, attribute, level)[1] for person in self.own) / len(self.own)

    def worth(self, attribute: str) -> list[int]:
        """Levels that join values which the level below does not join, and everything."""
        n_nodes = [
            len({nodes[level] for nodes, _ in self.trees[attribute].values()})
            for level in range(self.n_levels(attribute))
        ]
        levels = [level for level in range(len(n_nodes)) if level == 0 or n_nodes[level] < n_nodes[level - 1]]
        return levels if levels[-1] == len(n_nodes) - 1 else [*levels, len(n_nodes) - 1]


def recoded(
    records: list[Record], trees: dict[str, Tree], holds: Callable[[list[Record]], bool]
) -> set[frozenset[Person]]:
    """Combinations of levels from the least loss to the most; cells that hold are groups, who is left joins one."""
    persons = Persons(records, trees)
    kinds: dict[Kind, list[Person]] = {}
    for person in persons.own:
        kinds.setdefault(persons.kind(person), []).append(person)
    left = sorted(kinds)
    groups: list[list[Kind]] = []
    choices = [[(at, level) for at, level in enumerate(persons.worth(attribute))] for attribute in trees]

    def loss(vector: tuple[tuple[int, int], ...]) -> tuple[float, list[int]]:
        total = sum(persons.loss(attribute, level) for attribute, (_, level) in zip(trees, vector, strict=True))
        return round(total, 12), [at for at, _ in vector]

    def records_of(members: list[Kind]) -> list[Record]:
        return [record for kind in members for person in kinds[kind] for record in persons.own[person]]

    for vector in sorted(product(*choices), key=loss):
        cells: dict[tuple[Any, ...], list[Kind]] = {}
        for kind in left:
            nodes = [
                persons.node(kinds[kind][0], attribute, level)[0]
                for attribute, (_, level) in zip(trees, vector, strict=True)
            ]
            cells.setdefault(tuple(nodes), []).append(kind)
        for members in cells.values():
            if holds(records_of(members)):
                groups.append(members)
                left = [kind for kind in left if kind not in members]

    def covered(attribute: str, members: list[Kind]) -> float:
        """The share of the lowest node above all members."""
        for level in range(persons.n_levels(attribute)):
            found = {persons.node(kinds[kind][0], attribute, level) for kind in members}
            if len({node for node, _ in found}) == 1:
                return found.pop()[1]
        raise ValueError("no common node")

    def rise(members: list[Kind], kind: Kind) -> float:
        total, before = 0.0, len(records_of(members))
        for attribute in trees:
            total += (before + len(records_of([kind]))) * covered(attribute, [*members, kind])
            total -= before * covered(attribute, members)
        return total

    refused = []
    for kind in left:
        nearest = sorted(range(len(groups)), key=lambda group: rise(groups[group], kind))
        joined = [group for group in nearest[:64] if holds(records_of([kind, *groups[group]]))]
        if joined:
            groups[joined[0]].append(kind)
        else:
            refused.append(kind)
    if refused:
        nearest = sorted(range(len(groups)), key=lambda group: sum(rise(groups[group], kind) for kind in refused))
        n_merged = 1
        merged = [*refused, *groups[nearest[0]]]
        while n_merged < len(nearest) and not holds(records_of(merged)):
            n_merged = min(2 * n_merged, len(nearest))
            merged = [*refused, *(kind for group in nearest[:n_merged] for kind in groups[group])]
        groups = [groups[group] for group in range(len(groups)) if group not in nearest[:n_merged]] + [merged]
    return {frozenset(person for kind in members for person in kinds[kind]) for members in groups}


def covered_by(records: list[Record], trees: dict[str, Tree], groups: set[frozenset[Person]]) -> float:
    """Over all groups: the records, times the shares of the lowest nodes above them."""
    persons = Persons(records, trees)
    total = 0.0
    for group in groups:
        n_records = sum(len(persons.own[person]) for person in group)
        for attribute in trees:
            nodes = (
                {persons.node(person, attribute, at) for person in group} for at in range(persons.n_levels(attribute))
            )
            total += n_records * next(found.pop()[1] for found in nodes if len({node for node, _ in found}) == 1)
    return total


def keeps_kinds_together(records: list[Record], trees: dict[str, Tree], groups: set[frozenset[Person]]) -> bool:
    """Whether persons of equal quasi-identifiers are in one group."""
    persons = Persons(records, trees)
    group_of_kind = {(persons.kind(person), group) for group in groups for person in group}
    return len(group_of_kind) == len({kind for kind, _ in group_of_kind})


def least_covered(records: list[Record], trees: dict[str, Tree], holds: Callable[[list[Record]], bool]) -> float:
    """What the best of all groupings covers in which persons of equal quasi-identifiers stay together."""
    persons = Persons(records, trees)
    kinds: dict[Kind, list[Person]] = {}
    for person in persons.own:
        kinds.setdefault(persons.kind(person), []).append(person)

    def partitions(left: list[Kind]) -> Iterator[list[list[Kind]]]:
        if not left:
            yield []
            return
        for others in partitions(left[1:]):
            yield [[left[0]], *others]
            for at in range(len(others)):
                yield [*others[:at], [left[0], *others[at]], *others[at + 1 :]]

    least = math.inf
    for partition in partitions(sorted(kinds)):
        groups = {frozenset(person for kind in own for person in kinds[kind]) for own in partition}
        if all(holds([record for record in records if record[0] in group]) for group in groups):
            least = min(least, covered_by(records, trees, groups))
    return least
