"""What gathering alike histories means, written to be read. Never optimise this file; never import the package here.

A person is where they stand (a list of numbers), how many records they have, and what they show (a set of items).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Person(NamedTuple):
    value: tuple[float, ...]
    records: int
    items: frozenset[int]


class Prices(NamedTuple):
    of_item: Sequence[float]
    of_distance: Sequence[float]
    of_width: Sequence[float]


Group = Sequence[Person]


def worth(n: int, k: int, ramp: float) -> float:
    """How much n persons who show an item count, where k are needed."""
    return n if n >= k else n * (n / k) ** ramp


def worth_of_group(group: Group, prices: Prices, k: int, ramp: float) -> float:
    total = 0.0
    for item, price in enumerate(prices.of_item):
        total += price * worth(sum(item in person.items for person in group), k, ramp)
    return total


def distance_to(group: Group, person: Person, prices: Prices) -> float:
    records = sum(each.records for each in group)
    total = 0.0
    for j, price in enumerate(prices.of_distance):
        mean = sum(each.records * each.value[j] for each in group) / records
        total += price * abs(person.value[j] - mean)
    return total


def cost_of_width(group: Group, prices: Prices) -> float:
    """Every person of a group pays for how wide it is."""
    total = 0.0
    for j, price in enumerate(prices.of_width):
        places = [person.value[j] for person in group]
        total += price * len(group) * (max(places) - min(places))
    return total


def gain_of_move(here: Group, there: Group, person: Person, prices: Prices, k: int, ramp: float) -> float:
    """What is gained when a person of one group goes to another; distances are taken to the means as they are."""
    left, joined = list(here), [*there, person]
    left.remove(person)
    gain = distance_to(here, person, prices) - distance_to(there, person, prices)
    for before, after in ((here, left), (there, joined)):
        gain += worth_of_group(after, prices, k, ramp) - worth_of_group(before, prices, k, ramp)
        gain += cost_of_width(before, prices) - cost_of_width(after, prices)
    return gain


def lost_in_all(groups: Sequence[Group], prices: Prices, k: int) -> float:
    """What is lost per person: distances, widths, and what is shown by fewer than k persons of the group."""
    total = 0.0
    for group in groups:
        total += sum(distance_to(group, person, prices) for person in group) + cost_of_width(group, prices)
        for item, price in enumerate(prices.of_item):
            n = sum(item in person.items for person in group)
            total += price * n if n < k else 0.0
    return total / sum(map(len, groups))


def gathered(
    persons: Sequence[Person],
    group_of_person: Sequence[int],
    prices: Prices,
    k: int,
    ramp: float,
    keeps: Callable[[Group], bool],
    passes: int,
) -> tuple[list[int], float]:
    """Each person in turn goes where it is best; and by how much the closest decision was made."""
    groups = list(group_of_person)
    closest = float("inf")
    for _ in range(passes):
        for number, person in enumerate(persons):
            members = {
                group: [other for other, own in zip(persons, groups, strict=True) if own == group]
                for group in sorted(set(group_of_person))
            }
            here = members[groups[number]]
            left = list(here)
            left.remove(person)
            if not left or not keeps(left):
                continue
            gains = [(0.0, groups[number])]
            for group, there in members.items():
                if group != groups[number] and keeps([*there, person]):
                    gains.append((gain_of_move(here, there, person, prices, k, ramp), group))
            gains.sort(key=lambda gain: -gain[0])
            if len(gains) > 1:
                closest = min(closest, gains[0][0] - gains[1][0])
            groups[number] = gains[0][1]
    return groups, closest
