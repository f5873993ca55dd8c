"""Mining rules with exceptions: who has a value more or less often than others, as an adversary could find it out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.mining.nodes import values_of
from shoal.attacking.mining.people import Targets, targets_of
from shoal.attacking.mining.rules import Item, Rule
from shoal.attacking.mining.trees import ABSENT, tree_of
from shoal.table.table import Table


def mine_chances(table: Table, *, min_expectation: Fraction, columns: Sequence[str] | None = None) -> tuple[Rule, ...]:
    """Rules with exceptions: nodes of one quasi-identifier whose persons have a value unusually often, or seldom.

    A rule is one that chance alone would hardly bring about: of as many persons drawn from all, as few (or as many)
    would have the value with a probability of at most 1 - min_expectation. Where nobody of them has it, that is a
    negative rule of Li and Li (2008), which `mine_rules` finds; here it is left out.

    Notes
    -----
    O(records x levels x values of a person) time.
    """
    targets = targets_of(table, columns, min_expectation)
    hierarchies = {column.name: column.hierarchy for column in table.schema.columns}
    found: list[Rule] = []
    for name in table.schema.quasi_names:
        values = values_of(table.quasi[name], hierarchies[name])
        tree = tree_of(values)
        persons, both = _counted(tree.node_of_code[values.codes], table.person_of_record, targets, tree.n_nodes)
        found += _unusual([Item(name, label) for label in tree.labels], persons, both, targets, 1 - min_expectation)
    return tuple(found)


def _counted(
    nodes_of_record: NDArray[np.int64], person_of_record: NDArray[np.int32], targets: Targets, n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many persons belong to each node, and how many of them have each value."""
    record, level = np.nonzero(nodes_of_record != ABSENT)
    pairs = np.unique(person_of_record[record].astype(np.int64) * n_nodes + nodes_of_record[record, level])
    person, node = pairs // n_nodes, pairs % n_nodes
    n_values = np.diff(targets.start)[person]
    first = np.repeat(targets.start[person] - np.append(0, np.cumsum(n_values))[:-1], n_values)
    value = targets.values[first + np.arange(n_values.sum())]
    both = np.bincount(np.repeat(node, n_values) * targets.n_values + value, minlength=n_nodes * targets.n_values)
    return np.bincount(node, minlength=n_nodes), both.reshape(n_nodes, targets.n_values)


def _unusual(
    items: Sequence[Item],
    persons: NDArray[np.int64],
    both: NDArray[np.int64],
    targets: Targets,
    at_most: Fraction,
) -> list[Rule]:
    """The rules that chance would hardly bring about, by node and value."""
    from scipy.stats import binom

    share = targets.persons / targets.n_persons
    low = binom.cdf(both, persons[:, None], share)
    high = binom.sf(both - 1, persons[:, None], share)
    tail = np.minimum(low, high)
    node, value = np.nonzero((tail <= float(at_most)) & (both > 0) & (both / persons[:, None] != share))
    return [
        Rule(
            (items[place],),
            targets.items[about],
            int(persons[place]),
            float(1 - tail[place, about]),
            "mined",
            float(both[place, about] / persons[place] / share[about]),
        )
        for place, about in zip(node.tolist(), value.tolist(), strict=True)
    ]
