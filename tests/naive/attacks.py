"""Attacks on a release, written to be read. Never optimise this file; never import the package here.

Published rows are (person, quasi-identifiers as sets of the values that they stand for, sensitive value); the records
of the original are (person, quasi-identifiers, sensitive value). A person of a row is a pseudonym.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import permutations
from math import log, sqrt
from typing import Any

Row = tuple[Hashable, tuple[frozenset[Any], ...], Hashable]
Record = tuple[Hashable, tuple[Any, ...], Hashable]


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The shares p whose distance from the share seen is at most z standard errors of p: roots of a quadratic."""
    z, seen = 1.959963984540054, successes / n
    a, b, c = 1 + z * z / n, -(2 * seen + z * z / n), seen * seen
    root = sqrt(max(b * b - 4 * a * c, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


# --- person linkage ---------------------------------------------------------------------------------------------------


def fits(known: tuple[Any, ...], shown: tuple[frozenset[Any], ...]) -> bool:
    return all(value in values for value, values in zip(known, shown, strict=True))


def link_one(rows: Sequence[Row], records: Sequence[Record], target: Hashable, origin: dict) -> tuple[float, float]:
    """The chances of a record and of the person, one record of the target known, the mean over their records."""
    own = [quasi for person, quasi, _ in records if person == target]
    by_record, by_person = 0.0, 0.0
    for known in own:
        candidates = [row for row in rows if fits(known, row[1])]
        if not candidates:
            continue
        hits = [row for row in candidates if origin[row[0]] == target]
        by_record += len(hits) / len(candidates)
        by_person += bool(hits) / len({row[0] for row in candidates})
    return by_record / len(own), by_person / len(own)


def persons_who_fit_all(rows: Sequence[Row], records: Sequence[Record], target: Hashable) -> set[Hashable]:
    """The pseudonyms of which every known record of the target fits some row."""
    own = [quasi for person, quasi, _ in records if person == target]
    return {
        name
        for name in {row[0] for row in rows}
        if all(any(row[0] == name and fits(known, row[1]) for row in rows) for known in own)
    }


def link_all(rows: Sequence[Row], records: Sequence[Record], target: Hashable, origin: dict) -> tuple[float, float]:
    """The chances of a record and of the person where all records are known and persons stay in one group."""
    names = persons_who_fit_all(rows, records, target)
    if not any(origin[name] == target for name in names):
        return 0.0, 0.0
    candidates = [row for row in rows if row[0] in names]
    hits = [row for row in candidates if origin[row[0]] == target]
    return len(hits) / len(candidates), 1 / len(names)


def link_number(rows: Sequence[Row], records: Sequence[Record], target: Hashable, origin: dict) -> float:
    """The chance of the person where the number of their records is known as well."""
    number = sum(person == target for person, _, _ in records)
    of_name = Counter(row[0] for row in rows)
    names = [name for name in persons_who_fit_all(rows, records, target) if of_name[name] == number]
    return 1 / len(names) if any(origin[name] == target for name in names) else 0.0


def guess_value(rows: Sequence[Row], records: Sequence[Record], target: Hashable) -> float:
    """The chance that the value most candidates have is the target's, one record known."""
    own = [quasi for person, quasi, _ in records if person == target]
    theirs = {value for person, _, value in records if person == target}
    chance = 0.0
    for known in own:
        pairs = {(row[0], row[2]) for row in rows if fits(known, row[1])}
        count = Counter(value for _, value in pairs)
        if count:
            top = [value for value in count if count[value] == max(count.values())]
            chance += sum(value in theirs for value in top) / len(top)
    return chance / len(own)


# --- distance ---------------------------------------------------------------------------------------------------------


def squared(first: Sequence[float], second: Sequence[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


def nearest(own: Sequence[Sequence[float]], where: Sequence[Sequence[float]]) -> list[float]:
    """The chance that the original nearest to each published point is its own; line i is person i in both."""
    chances = []
    for number, point in enumerate(where):
        distances = [sqrt(squared(point, other)) for other in own]
        ties = [at for at, distance in enumerate(distances) if distance <= min(distances) + 1e-9]
        chances.append(1 / len(ties) if number in ties else 0.0)
    return chances


def least_cost(own: Sequence[Sequence[float]], where: Sequence[Sequence[float]]) -> float:
    """The smallest sum of squared distances of all ways to pair everybody."""
    return min(
        sum(squared(where[at], own[pair]) for at, pair in enumerate(order)) for order in permutations(range(len(own)))
    )


# --- skewness and similarity ------------------------------------------------------------------------------------------


def draw_from(groups: Sequence[Sequence[tuple[Hashable, Hashable]]], *, from_table: bool) -> float:
    """The mean over persons of the chance that a record drawn has a value of theirs; a group lists (person, value)."""
    table = [pair for group in groups for pair in group]
    chances = []
    for group in groups:
        drawn = table if from_table else group
        for person in {person for person, _ in group}:
            theirs = {value for who, value in group if who == person}
            chances.append(sum(value in theirs for _, value in drawn) / len(drawn))
    return sum(chances) / len(chances)


def distance_to_table(groups: Sequence[Sequence[tuple[Hashable, Hashable]]]) -> list[float]:
    """Half the sum of differences between the shares of values in each group and in the table."""
    table = [value for group in groups for _, value in group]
    inside = [[value for _, value in group] for group in groups]
    return [
        sum(abs(own.count(value) / len(own) - table.count(value) / len(table)) for value in set(table)) / 2
        for own in inside
    ]  # fmt: skip


def in_best_window(groups: Sequence[Sequence[tuple[Hashable, float]]], width: float) -> tuple[int, int]:
    """Persons with a number in the window of their group with most records (the first such), and persons in all."""
    right = total = 0
    for group in groups:
        starts = sorted({number for _, number in group})
        inside = {start: [pair for pair in group if start <= pair[1] <= start + width] for start in starts}
        best = max(starts, key=lambda start: (len(inside[start]), -start))
        right += len({person for person, _ in inside[best]})
        total += len({person for person, _ in group})
    return right, total


# --- trajectory -------------------------------------------------------------------------------------------------------


def count_having(holdings: Sequence[set[int]], known: Sequence[int]) -> int:
    return sum(set(known) <= held for held in holdings)


# --- anchored dates ---------------------------------------------------------------------------------------------------


def anchored(real: dict[Hashable, set[int]], shift: dict[Hashable, int], most: int) -> dict[str, dict[Hashable, float]]:
    """The chance to find each person's shift, by what is known; `real` are the true days, `most` the largest shift."""
    every = [day for days in real.values() for day in days]
    first, last = min(every), max(every)
    shared = min(set(every), key=lambda day: (-every.count(day), day))
    chances: dict[str, dict[Hashable, float]] = {"first and last day": {}, "shared date": {}, "calendar": {}}
    for person, days in real.items():
        shown = {day + shift[person] for day in days}
        possible = {}
        for by in [by for by in range(-most, most + 1) if by != 0]:
            moved_back = {day - by for day in shown}
            if min(moved_back) >= first and max(moved_back) <= last:
                possible[by] = moved_back
        others = [day for other, theirs in real.items() if other != person for day in theirs]
        scores = {
            "first and last day": dict.fromkeys(possible, 0.0),
            "shared date": {by: float(shared in back) for by, back in possible.items()},
            "calendar": {by: round(sum(log(others.count(d) + 0.5) for d in back), 9) for by, back in possible.items()},
        }
        for name, score in scores.items():
            best = [by for by in score if score[by] == max(score.values())]
            chances[name][person] = (shift[person] in best) / len(best)
    return chances


# --- naive Bayes over parts -------------------------------------------------------------------------------------------


def naive_bayes(
    lessons: Sequence[tuple[tuple[dict[int, float], ...], int]], n_parts: Sequence[int], asked: tuple[int, ...]
) -> dict[int, float]:
    """The logarithm of how likely each value is; a lesson gives, of each column, the share in each part."""
    scores = {}
    for value in {value for _, value in lessons}:
        own = [columns for columns, label in lessons if label == value]
        score = log(len(own) / len(lessons))
        for at, part in enumerate(asked):
            count = sum(columns[at].get(part, 0.0) for columns in own)
            score += log((count + 1) / (len(own) + n_parts[at]))
        scores[value] = score
    return scores


# --- found by what one record shows -----------------------------------------------------------------------------------


def found_by(person_of_record: Sequence[Hashable], shown: Sequence[Hashable]) -> float:
    """The mean chance to find a person by what one of their records shows, of those who have a record like it."""
    people = set(person_of_record)
    records = list(zip(person_of_record, shown, strict=True))
    chances = []
    for person in people:
        own = [item for owner, item in records if owner == person]
        having = [len({owner for owner, item in records if item == known}) for known in own]
        chances.append(sum(1 / n for n in having) / len(own))
    return sum(chances) / len(people)
