"""Negative rules, written to be read. Never optimise this file; never import the package here.

A person is a list of records, a record a dict from column to value. `paths` gives, by column and value, the labels
from the value up to the root; labels are unique in their column. Li and Li (2008), section IV.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

Record = Mapping[str, object]
Person = Sequence[Record]
Paths = Mapping[str, Mapping[object, Sequence[str]]]
Itemset = tuple[tuple[str, str], ...]


def nodes_of(paths: Paths, column: str) -> list[str]:
    """The nodes of a column but for its root."""
    return list(dict.fromkeys(label for path in paths[column].values() for label in path[:-1]))


def degree_in_node(
    paths: Paths, margin: Mapping[str, float], held: set[object], column: str, value: object, node: str
) -> float:
    """How far a value belongs to a node; `held` are all values of the column in the table."""
    if node in paths[column][value][:-1]:
        return 1.0
    if not margin.get(column) or not isinstance(value, int | float):
        return 0.0
    inside = [other for other in held if isinstance(other, int | float) and node in paths[column][other][:-1]]
    if not inside:
        return 0.0
    return max(0.0, 1.0 - min(abs(value - other) for other in inside) / margin[column])


def degree(
    persons: Sequence[Person],
    paths: Paths,
    margin: Mapping[str, float],
    conjunction: str,
    person: Person,
    itemset: Itemset,
) -> float:
    """How far a person satisfies an itemset: each item by the record that does so best."""
    degrees = []
    for column, node in itemset:
        held = {record[column] for other in persons for record in other}
        degrees.append(max(degree_in_node(paths, margin, held, column, record[column], node) for record in person))
    if conjunction == "minimum":
        return min(degrees)
    whole = 1.0
    for each in degrees:
        whole *= each
    return whole


def itemsets(paths: Paths, max_len: int) -> Iterator[Itemset]:
    for length in range(1, max_len + 1):
        for columns in combinations(paths, length):
            for nodes in product(*(nodes_of(paths, column) for column in columns)):
                yield tuple(zip(columns, nodes, strict=True))


def has(person: Person, column: str, value: object) -> bool:
    return any(record[column] == value for record in person)


def rules(
    persons: Sequence[Person], paths: Paths, sensitive: Sequence[str], *, min_expectation: float, max_len: int,
    margin: Mapping[str, float], conjunction: str,
) -> dict[tuple[Itemset, tuple[str, object]], tuple[int, float]]:  # fmt: skip
    """Every rule, with how many persons satisfy it wholly and its expectation."""
    found = {}
    for itemset in itemsets(paths, max_len):
        degrees = [degree(persons, paths, margin, conjunction, person, itemset) for person in persons]
        for column in sensitive:
            for value in dict.fromkeys(record[column] for person in persons for record in person):
                those = [has(person, column, value) for person in persons]
                share = sum(those) / len(persons)
                expectation = 1 - (1 - share) ** sum(degrees)
                never_meet = not any(each > 0 and has_it for each, has_it in zip(degrees, those, strict=True))
                support = sum(each == 1 for each in degrees)
                if never_meet and support and expectation >= min_expectation:
                    found[itemset, (column, value)] = (support, expectation)
    return found


def is_more_general(paths: Paths, one: Itemset, other: Itemset) -> bool:
    """Whether each item of `one` stands for an item of `other`, itself or higher up, and they differ."""
    below = dict(other)
    return one != other and all(
        column in below
        and any(
            below[column] in path and node in path[list(path).index(below[column]) :] for path in paths[column].values()
        )
        for column, node in one
    )


def most_general(
    paths: Paths, found: Mapping[tuple[Itemset, tuple[str, object]], tuple[int, float]]
) -> dict[tuple[Itemset, tuple[str, object]], tuple[int, float]]:
    """The rules that no more general rule about the same value makes superfluous."""
    return {
        (itemset, never): numbers
        for (itemset, never), numbers in found.items()
        if not any(value == never and is_more_general(paths, other, itemset) for other, value in found)
    }


def forbidden(
    paths: Paths, found: Mapping[tuple[Itemset, tuple[str, object]], object], person: Person
) -> set[tuple[str, object]]:
    """What the rules exclude for a person; a person satisfies an item or not."""
    return {
        never
        for itemset, never in found
        if all(any(node in paths[column][record[column]][:-1] for record in person) for column, node in itemset)
    }


def joined_by_sensitive_values(records: Sequence[tuple[object, str, str]]) -> list[list[tuple[str, ...]]]:
    """Nodes of each level: the pair of nodes is joined that loses least mutual information, counted in persons.

    `records` are (person, value, sensitive value).
    """
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for _, value, target in set(records):
        counts.setdefault((value,), Counter())[target] += 1

    def told(node: Counter[str]) -> float:
        whole = sum(node.values())
        return sum(n * math.log(n / whole) for n in node.values())

    levels, wanted = [sorted(counts)], (len(counts) + 1) // 2
    while len(counts) > 1:
        _, a, b = min(
            (round(told(counts[a]) + told(counts[b]) - told(counts[a] + counts[b]), 9) + 0.0, a, b)
            for a, b in combinations(sorted(counts, key=lambda node: node[0]), 2)
        )
        counts[a + b] = counts.pop(a) + counts.pop(b)
        if len(counts) == wanted:
            levels.append(sorted(counts))
            wanted = (len(counts) + 1) // 2
    return levels
