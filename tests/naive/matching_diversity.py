"""Matching diversity, written to be read: every way to deal values out is tried. Never optimise this file.

Li and Li (2008), definition 1: a value is valid for a person if, once they have it, the values that are left can be
dealt out to all the others. A person's holding is one value, or a set of them where a person has several.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

Holding = TypeVar("Holding", bound=Hashable)


def assignments(may_have: Sequence[set[Holding]], holdings: Sequence[Holding]) -> Iterator[tuple[Holding, ...]]:
    """All ways to deal the holdings out, one to each person, such that everybody may have theirs."""
    for dealt in set(permutations(holdings)):
        if all(holding in possible for holding, possible in zip(dealt, may_have, strict=True)):
            yield dealt


def valid_by_trying(may_have: Sequence[set[Holding]], holdings: Sequence[Holding]) -> list[set[Holding]]:
    """The holdings that each person has in some assignment."""
    valid: list[set[Holding]] = [set() for _ in may_have]
    for dealt in assignments(may_have, holdings):
        for own, holding in zip(valid, dealt, strict=True):
            own.add(holding)
    return valid


def valid_by_matching(may_have: Sequence[set[Holding]], holdings: Sequence[Holding]) -> list[set[Holding]]:
    """The same as the paper's figure 1 does, mended: give a person a holding, and match all the others."""
    valid: list[set[Holding]] = [set() for _ in may_have]
    for person, possible in enumerate(may_have):
        others = [may for other, may in enumerate(may_have) if other != person]
        for place, holding in enumerate(holdings):
            left = [each for other, each in enumerate(holdings) if other != place]
            if holding in possible and _can_be_matched(others, left):
                valid[person].add(holding)
    return valid


def valid_by_costs(may_have: Sequence[set[Holding]], holdings: Sequence[Holding]) -> list[set[Holding]]:
    """The same by assignments of least cost: what a person may not have costs one, and no assignment may cost any."""
    cost = np.array([[holding not in possible for holding in holdings] for possible in may_have], dtype=float)
    valid: list[set[Holding]] = [set() for _ in may_have]
    for person in range(len(may_have)):
        for place, holding in enumerate(holdings):
            without = np.delete(np.delete(cost, person, axis=0), place, axis=1)
            rows, columns = linear_sum_assignment(without)
            if cost[person, place] + without[rows, columns].sum() == 0:
                valid[person].add(holding)
    return valid


def _can_be_matched(may_have: Sequence[set[Holding]], holdings: Sequence[Holding]) -> bool:
    if not may_have:
        return True
    edges = csr_matrix([[holding in possible for holding in holdings] for possible in may_have])
    return bool((maximum_bipartite_matching(edges, perm_type="column") >= 0).all())


def left_by_elimination(may_have: Sequence[set[Holding]], holdings: Sequence[Holding]) -> list[set[Holding]]:
    """The holdings of the group that each person may have, whatever that leaves for the others."""
    return [possible & set(holdings) for possible in may_have]


def fewest_to_exclude(sets: Iterable[frozenset[int]]) -> int:
    """The fewest values such that each of the sets has one of them; of sets with one value each, their number."""
    sets = list(sets)
    values = sorted(set().union(*sets)) if sets else []
    for size in range(len(values) + 1):
        if any(all(set(chosen) & each for each in sets) for chosen in combinations(values, size)):
            return size
    raise AssertionError("every set has a value")


def values_left(
    may_have: Sequence[Sequence[set[int]]], own: Sequence[Sequence[frozenset[int]]], *, together: bool
) -> list[list[int]]:
    """How many values of each attribute each person of a group may have.

    `may_have` and `own` hold, for each person and attribute, the values that rules admit and those that the person has.
    Attributes are dealt out together, or each on its own; 0 where there is no way to deal them out.
    """
    n_attributes = len(own[0])
    if together:
        possible = _possible(may_have, own)
        return [[fewest_to_exclude(each[a] for each in sets) for a in range(n_attributes)] for sets in possible]
    alone = [_possible([[each[a]] for each in may_have], [[each[a]] for each in own]) for a in range(n_attributes)]
    return [
        [fewest_to_exclude(each[0] for each in alone[a][person]) for a in range(n_attributes)]
        for person in range(len(own))
    ]


def _possible(
    may_have: Sequence[Sequence[set[int]]], own: Sequence[Sequence[frozenset[int]]]
) -> list[set[tuple[frozenset[int], ...]]]:
    """What each person may have of all attributes together, by trying every way to deal it out."""
    holdings = [tuple(each) for each in own]
    admitted = [
        {holding for holding in set(holdings) if all(a <= b for a, b in zip(holding, may, strict=True))}
        for may in may_have
    ]
    return valid_by_trying(admitted, holdings)
