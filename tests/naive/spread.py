"""How risk is spread and what a release keeps, written to be read. Never optimise this; never import the package here.

A record is (group, person, value of the sensitive attribute).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tests.naive.measures import groups, idr, of_group, persons, sar

RISK_ENDS = [Fraction(1, 100), Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 3),
             Fraction(1, 2)]  # fmt: skip


def class_of_risk(share: Fraction) -> int:
    """Up to 1 %, 2 %, 5 %, 10 %, 20 %, a third, a half, below 1, and 1 itself."""
    for number, end in enumerate(RISK_ENDS):
        if share <= end:
            return number
    return 8 if share == 1 else 7


def record_risk(records: Sequence[tuple], person: object) -> Fraction:
    """Of the groups that a person stands in, the largest share of a group's records that are theirs."""
    found = []
    for group in groups(records):
        own = of_group(records, group)
        mine = sum(record[1] == person for record in own)
        if mine:
            found.append(Fraction(mine, len(own)))
    return max(found)


def persons_by_risk(records: Sequence[tuple]) -> list[int]:
    counted = [0] * 9
    for person in persons(records):
        counted[class_of_risk(record_risk(records, person))] += 1
    return counted


def values_by_risk(records: Sequence[tuple]) -> list[int]:
    """Each (group, person, value) once, by the share of the group's persons who have the value."""
    counted = [0] * 9
    for group, _, value in set(records):
        share = Fraction(sar(records, group, value)).limit_denominator(1000)
        counted[class_of_risk(share)] += 1
    return counted


def mean_record_risk(records: Sequence[tuple]) -> float:
    everybody = persons(records)
    return float(sum(record_risk(records, person) for person in everybody)) / len(everybody)


def guessed(records: Sequence[tuple]) -> float:
    """How often guessing the commonest value of the group is right; who stands in several groups counts in each."""
    right = everybody = 0.0
    for group in groups(records):
        own = of_group(records, group)
        n = len(persons(own))
        right += n * max(sar(records, group, value) for _, _, value in own)
        everybody += n
    return right / everybody


def blind(records: Sequence[tuple]) -> float:
    """How often guessing the commonest value of the table is right."""
    values = {value for *_, value in records}
    having = [len({person for _, person, owned in records if owned == value}) for value in values]
    return max(having) / len(persons(records))


def groups_of_size(records: Sequence[tuple], at_least: int, at_most: int | None) -> list[object]:
    sizes = {group: len(persons(of_group(records, group))) for group in groups(records)}
    return [group for group, n in sizes.items() if n >= at_least and (at_most is None or n <= at_most)]


def highest_record_risk(records: Sequence[tuple], group: object) -> float:
    return max(idr(records, group, person) for person in persons(of_group(records, group)))
