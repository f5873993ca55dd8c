"""Episodes of persons, written to be read. Never optimise this file; never import the package here.

A record is a tuple (group, person, episode, label, ..., time), as `tests.naive.histories` has it without the episode.
What is known together is shown by one episode; whom it leads to are persons.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction

from tests.naive import histories
from tests.naive.histories import Combination, Item, Record


def cut_by_days(days: Sequence[int | None], length: int) -> list[int]:
    """The number of the episode of each record of one person, by its day; those without a day have one alone."""
    first = min((day for day in days if day is not None), default=0)
    return [-1 if day is None else (day - first) // length for day in days]


def cut_by_number(times: Sequence[int | None], most: int) -> list[int]:
    """The number of the episode of each record of one person, in the order of times; those without one come last."""
    order = sorted(range(len(times)), key=lambda at: (times[at] is None, times[at] or 0, at))
    return [order.index(at) // most for at in range(len(times))]


def by_episode(records: Sequence[Record]) -> list[Record]:
    """The records as they look to whoever takes episodes for persons."""
    return [(record[0], (record[1], record[2]), *record[3:]) for record in records]


def episodes(records: Sequence[Record], *, by_group: bool) -> dict[Hashable, dict[Hashable, list[list[Record]]]]:
    """The episodes of each person of each group, each with its records."""
    found: dict[Hashable, dict[Hashable, list[list[Record]]]] = defaultdict(lambda: defaultdict(list))
    for group, owners in histories.records_of_persons(by_episode(records), by_group=by_group).items():
        for (person, _), own in owners.items():  # type: ignore[misc]
            found[group][person].append(own)
    return found


def holds_by_person(
    records: Sequence[Record],
    *,
    k: int,
    m: int,
    c: Fraction | None,
    columns: Sequence[int],
    knows: str,
    by_group: bool,
) -> bool:
    """History-k and history-confidence: what one episode shows is shown by episodes of enough persons."""
    for persons in episodes(records, by_group=by_group).values():
        showing: dict[Combination, set[Hashable]] = defaultdict(set)
        with_further: dict[Combination, dict[Item, set[Hashable]]] = defaultdict(lambda: defaultdict(set))
        for person, own in persons.items():
            for episode in own:
                held = set(histories.items_of_person(episode, columns, knows))
                for combination in histories.combinations_of_person(episode, columns, knows, m):
                    showing[combination].add(person)
                    for item in held - set(combination):
                        with_further[combination][item].add(person)
        if any(len(who) < k for who in showing.values()):
            return False
        for combination, further in with_further.items():
            if c is not None and any(len(who) > c * len(showing[combination]) for who in further.values()):
                return False
    return True


def fewest_by_count(records: Sequence[Record]) -> int:
    """Count-k: the fewest persons of a group who have an episode with any one number of records."""
    fewest = []
    for persons in episodes(records, by_group=True).values():
        with_number = Counter(number for own in persons.values() for number in {len(episode) for episode in own})
        fewest.append(min(with_number.values()))
    return min(fewest)
