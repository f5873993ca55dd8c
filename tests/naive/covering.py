"""Joint diversity as the paper defines it, and its figures. Never optimise this file; never import the package here.

A member is a set of items, an item is a pair (attribute, value). Caps are numbers by attribute; an attribute without
one has no cap.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, pstdev

Item = tuple[int, object]
Member = frozenset[Item]
Caps = Mapping[int, int]


def members_of(records: Iterable[Sequence[object]]) -> list[Member]:
    """One member a record: its values, attribute by attribute."""
    return [frozenset(enumerate(record)) for record in records]


def is_admitted(items: Collection[Item], caps: Caps) -> bool:
    """Whether at most caps[a] of the items are values of each attribute a."""
    number = Counter(attribute for attribute, _ in items)
    return all(number[attribute] <= cap for attribute, cap in caps.items())


def deletes_everybody(items: Collection[Item], members: Sequence[Member]) -> bool:
    return all(member & set(items) for member in members)


def joint_diversity(members: Sequence[Member], caps: Caps | None = None) -> float:
    """Definitions 6 and 7: the size of the smallest admitted set of items that deletes everybody; infinite if none."""
    items = sorted(set().union(*members), key=repr)
    for size in range(len(items) + 1):
        for chosen in combinations(items, size):
            if is_admitted(chosen, caps or {}) and deletes_everybody(chosen, members):
                return size
    return math.inf


# --- the figures ---------------------------------------------------------------------------------------------------


def by_total_frequency(members: Sequence[Member]) -> list[Member]:
    """Figure 6, lines 1 to 3; ties as they come."""
    frequency = Counter(item for member in members for item in member)
    return sorted(members, key=lambda member: sum(frequency[item] for item in member))


def members_without_common_items(members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """The set C of figure 6, and the members not in it, in the order of the figure."""
    chosen: list[Member] = []
    others: list[Member] = []
    for member in by_total_frequency(members):
        (others if any(member & picked for picked in chosen) else chosen).append(member)
    return chosen, others


def figure_6(members: Sequence[Member], l: int) -> bool:  # noqa: E741
    return len(members_without_common_items(members)[0]) >= l


def most_frequent(chosen: Sequence[Member], number: int, caps: Caps) -> list[int]:
    """The frequencies of the `number` most frequent items, at most caps[a] of them of attribute a; fewer if so many
    cannot be selected."""
    frequency = Counter(item for member in chosen for item in member)
    taken: list[Item] = []
    for item, _ in sorted(frequency.items(), key=lambda entry: (-entry[1], repr(entry[0]))):
        if len(taken) < number and is_admitted([*taken, item], caps):
            taken.append(item)
    return [frequency[item] for item in taken]


def figure_7_as_printed(members: Sequence[Member], l: int, caps: Caps) -> bool:  # noqa: E741
    """It does not ask whether x + 1 values can be selected at all: sums of fewer are compared in their place."""
    chosen, others = members_without_common_items(members)
    if len(chosen) >= l:
        return True
    x = len(chosen)
    for member in others:
        chosen.append(member)
        if sum(most_frequent(chosen, x, caps)) > len(chosen):
            chosen.pop()
        elif sum(most_frequent(chosen, x + 1, caps)) <= len(chosen):
            x += 1
            if x == l:
                return True
    return False


def figure_7_repaired(members: Sequence[Member], l: int, caps: Caps) -> list[int]:  # noqa: E741
    """x at the start and after each member tried, up to l. C is x-diverse if x - 1 values delete fewer than |C|."""
    deletable = [frozenset(item for item in member if caps.get(item[0]) != 0) for member in members]
    chosen, others = members_without_common_items(deletable)
    x = min(len(chosen), l)
    trace = [x]
    for member in others:
        if x >= l:
            break
        chosen.append(member)
        if sum(most_frequent(chosen, x - 1, caps)) >= len(chosen):
            chosen.pop()
        while x < l and sum(most_frequent(chosen, x, caps)) < len(chosen):
            x += 1
        trace.append(x)
    return trace


Record = tuple[tuple[float, ...], Member]


def figure_5_as_printed(records: list[Record], holds: Callable[[list[Record]], bool]) -> list[list[Record]]:
    """Split as printed, but that it adds the group and not T. A side that fails is left out of the partition."""
    partition: list[list[Record]] = []
    _split(records, holds, partition)
    return partition


def _split(group: list[Record], holds: Callable[[list[Record]], bool], partition: list[list[Record]]) -> None:
    attribute = max(range(len(group[0][0])), key=lambda a: z_range([values[a] for values, _ in group]))
    ordered = sorted(values[attribute] for values, _ in group)
    median = ordered[(len(ordered) - 1) // 2]
    left = [record for record in group if record[0][attribute] <= median]
    right = [record for record in group if record[0][attribute] > median]
    if holds(left):
        _split(left, holds, partition)
    if holds(right):
        _split(right, holds, partition)
    if not holds(left) and not holds(right):
        partition.append(group)


def z_range(values: Sequence[float]) -> float:
    """The range of the values after subtracting their mean and dividing by their standard deviation."""
    spread = pstdev(values)
    scores = [(value - fmean(values)) / spread for value in values] if spread else [0.0]
    return max(scores) - min(scores)


# --- exponential l -------------------------------------------------------------------------------------------------


def exponential_l(records: Sequence[Sequence[object]]) -> int:
    """The fewest values of an attribute among the records that are equal on all the others."""
    fewest = []
    for attribute in range(len(records[0])):
        values_of_others: dict[tuple[object, ...], set[object]] = {}
        for record in records:
            others = (*record[:attribute], *record[attribute + 1 :])
            values_of_others.setdefault(others, set()).add(record[attribute])
        fewest.append(min(len(values) for values in values_of_others.values()))
    return min(fewest)


def spread_after_excluding(
    members: list[set[tuple[int, int]]], excluded: int, spread: Callable[[list[int]], float]
) -> float:
    """The least spread of an attribute among those left, over all sets of up to so many values; 0 if nobody is left.

    A member is the set of their values, each as an attribute and a value.
    """
    everything = sorted(set().union(*members))
    lowest = math.inf
    for size in range(excluded + 1):
        for chosen in combinations(everything, size):
            left = [own for own in members if not own & set(chosen)]
            if not left:
                return 0.0
            for attribute in {attribute for own in left for attribute, _ in own}:
                values = [value for own in left for of, value in own if of == attribute]
                lowest = min(lowest, spread([values.count(value) for value in set(values)]))
    return lowest


def effective_number(counts: list[int]) -> float:
    """Two to the entropy of shares."""
    return 2.0 ** -sum(c / sum(counts) * math.log2(c / sum(counts)) for c in counts)


def largest_recursive_l(counts: list[int], c: float) -> float:
    """The largest l with r1 < c (rl + ... + rm), 0 where there is none."""
    ranked = sorted(counts, reverse=True)
    return float(max((at + 1 for at in range(len(ranked)) if ranked[0] < c * sum(ranked[at:])), default=0))
