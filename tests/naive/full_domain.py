"""Full-domain generalization as its definition reads. Never optimise this file; never import the package here.

A record is (person, values of quasi-identifiers by name, sensitive value). A tree gives, for every value of an
attribute, its nodes from the value itself to everything, and which share of the domain each of them covers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

Person = Any
Record = tuple[Person, dict[str, Any], Any]
Tree = dict[Any, tuple[list[Any], list[float]]]
Holds = Callable[[list[Record]], bool]


class Best(NamedTuple):
    """Levels in the order of the trees, what they lose, and the groups of persons that are published."""

    loss: float
    levels: tuple[int, ...]
    groups: set[frozenset[Person]]
    left_out: set[Person]


def shown_at(own: list[Record], name: str, tree: Tree, level: int) -> tuple[Any, float]:
    """The lowest node above all records of a person that is not below the level, with its level, and its share."""
    while len({tree[record[1][name]][0][level] for record in own}) > 1:
        level += 1
    nodes, shares = tree[own[0][1][name]]
    return (level, nodes[level]), shares[level]


def at_levels(
    records: list[Record], trees: dict[str, Tree], levels: tuple[int, ...], holds: Holds, weights: dict[str, float]
) -> Best:
    """What is published at some levels: cells of persons who look alike and meet every model."""
    own: dict[Person, list[Record]] = {}
    for record in records:
        own.setdefault(record[0], []).append(record)
    shown = {
        person: [shown_at(theirs, name, tree, level) for (name, tree), level in zip(trees.items(), levels, strict=True)]
        for person, theirs in own.items()
    }
    cells: dict[Any, set[Person]] = {}
    for person, nodes in shown.items():
        cells.setdefault(tuple(node for node, _ in nodes), set()).add(person)
    groups = {frozenset(cell) for cell in cells.values() if holds([record for record in records if record[0] in cell])}
    left_out = set(own) - {person for group in groups for person in group}
    mean = 1.0  # the geometric one, of 1 + loss
    for at, name in enumerate(trees):
        of_records = [1.0 if person in left_out else shown[person][at][1] for person, _, _ in records]
        share = weights.get(name, 1.0) / sum(weights.get(name, 1.0) for name in trees)
        mean *= (1 + sum(of_records) / len(records)) ** share
    return Best(mean - 1, levels, groups, left_out)


def full_domain(
    records: list[Record],
    trees: dict[str, Tree],
    holds: Holds,
    *,
    may_leave_out: int = 0,
    weights: dict[str, float] | None = None,
    lowest: dict[str, int] | None = None,
    highest: dict[str, int] | None = None,
) -> Best | None:
    """Of all levels at which no more persons are left out than may be, those that lose least."""
    heights = {name: len(next(iter(tree.values()))[0]) - 1 for name, tree in trees.items()}
    ranges = [
        range((lowest or {}).get(name, 0), (highest or {}).get(name, height) + 1) for name, height in heights.items()
    ]
    found = [at_levels(records, trees, levels, holds, weights or {}) for levels in product(*ranges)]
    possible = [best for best in found if len(best.left_out) <= may_leave_out and best.groups]
    return min(possible, key=lambda best: (round(best.loss, 9), best.levels), default=None)


def least_loss_of_a_sample(
    sample: list[dict[str, Any]],
    population: list[dict[str, Any]],
    trees: dict[str, Tree],
    *,
    k: int = 1,
    mean_risk: float = 1.0,
    may_leave_out: int = 0,
) -> float | None:
    """The least loss at which k persons of the population are in every cell, and the mean of 1 / persons is small.

    Every person has one record. Cells with fewer of the population are left out; then the smallest cells, those first
    that show least, as few as it takes.
    """
    heights = [len(next(iter(tree.values()))[0]) for tree in trees.values()]
    found = []
    for levels in product(*map(range, heights)):

        def nodes(person: dict[str, Any], levels: tuple[int, ...] = levels) -> tuple[Any, ...]:
            return tuple(
                tree[person[name]][0][level] for (name, tree), level in zip(trees.items(), levels, strict=True)
            )

        def lost(person: dict[str, Any], levels: tuple[int, ...] = levels) -> list[float]:
            return [tree[person[name]][1][level] for (name, tree), level in zip(trees.items(), levels, strict=True)]

        cells: dict[Any, list[dict[str, Any]]] = {}
        for person in sample:
            cells.setdefault(nodes(person), []).append(person)
        kept = [own for at, own in cells.items() if sum(nodes(other) == at for other in population) >= k]
        kept.sort(key=lambda own: (len(own), -sum(lost(own[0]))))
        while kept and len(kept) > mean_risk * sum(map(len, kept)):
            kept.pop(0)
        n_kept = sum(map(len, kept))
        if not kept or len(sample) - n_kept > may_leave_out:
            continue
        mean = 1.0
        for at in range(len(trees)):
            of_column = sum(lost(person)[at] for own in kept for person in own) + len(sample) - n_kept
            mean *= (1 + of_column / len(sample)) ** (1 / len(trees))
        found.append(mean - 1)
    return min(found, default=None)
