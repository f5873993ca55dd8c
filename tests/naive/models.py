"""The privacy models as their definitions read. Never optimise this file; never import the package here.

A group is a list of (person, value) records; so is the whole table. Each model gives (value reached, holds).
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from tests.naive.matching import matching_size

Records = list[tuple[object, int]]


def records_of_person(records: Records) -> list[int]:
    """How many records each person has."""
    return list(Counter(person for person, _ in records).values())


def counts_of_value(records: Records, count: str) -> dict[int, int]:
    """How many records have each value; or, counting persons, how many persons have it."""
    counted = records if count == "records" else sorted(set(records))
    return dict(Counter(value for _, value in counted))


def told(records: Records, missing: object) -> Records:
    """The records that have a value, where a missing one tells nothing."""
    return [(person, value) for person, value in records if value != missing]


def shares(counts: dict[int, int]) -> dict[int, Fraction]:
    total = sum(counts.values())
    return {value: Fraction(number, total) for value, number in counts.items()}


def effective_number(counts: list[int]) -> float:
    """Two to the entropy of the shares."""
    total = sum(counts)
    return 2 ** -sum(number / total * math.log2(number / total) for number in counts)


def effective_number_is_at_least(counts: list[int], k: Fraction) -> bool:
    """Without logarithms: 2^H >= k raised to the power of the total."""
    total = sum(counts)
    return Fraction(total) ** total >= k**total * math.prod(number**number for number in counts)


def g_balance(records: Records, *, g: Fraction) -> tuple[float, bool]:
    reached = 1 - sum(Fraction(own, len(records)) ** 2 for own in records_of_person(records))
    return float(reached), reached >= g


def h_affiliation(records: Records, *, h: Fraction) -> tuple[float, bool]:
    persons = {person for person, _ in records}
    reached = max(Fraction(len({p for p, v in records if v == value}), len(persons)) for _, value in records)
    return float(reached), reached <= h


def record_risk(records: Records, *, rho: Fraction) -> tuple[float, bool]:
    reached = Fraction(max(records_of_person(records)), len(records))
    return float(reached), reached <= rho


def entropy_balance(records: Records, *, k: Fraction) -> tuple[float, bool]:
    own = records_of_person(records)
    return effective_number(own), effective_number_is_at_least(own, k)


def k_anonymity(records: Records, *, k: int) -> tuple[float, bool]:
    return len(records), len(records) >= k


def person_k_anonymity(records: Records, *, k: int) -> tuple[float, bool]:
    persons = {person for person, _ in records}
    return len(persons), len(persons) >= k


def frequency_l_diversity(records: Records, *, l: Fraction, count: str) -> tuple[float, bool]:  # noqa: E741
    commonest = max(shares(counts_of_value(records, count)).values())
    return float(1 / commonest), commonest <= 1 / Fraction(l)


def distinct_l_diversity(records: Records, *, l: int, count: str) -> tuple[float, bool]:  # noqa: E741
    if count == "records":
        reached = len({value for _, value in records})
    else:
        persons = sorted({person for person, _ in records})
        reached = matching_size([{v for p, v in records if p == person} for person in persons])
    return reached, reached >= l


def entropy_l_diversity(records: Records, *, l: Fraction, count: str) -> tuple[float, bool]:  # noqa: E741
    counts = list(counts_of_value(records, count).values())
    return effective_number(counts), effective_number_is_at_least(counts, Fraction(l))


def recursive_l_diversity(records: Records, *, l: int, c: Fraction, count: str) -> tuple[float, bool]:  # noqa: E741
    descending = sorted(counts_of_value(records, count).values(), reverse=True)

    def is_diverse(rank: int) -> bool:
        return descending[0] < c * sum(descending[rank - 1 :])

    return max([rank for rank in range(1, len(descending) + 1) if is_diverse(rank)], default=0), is_diverse(l)


def equal_t_closeness(records: Records, table: Records, *, t: Fraction, count: str) -> tuple[float, bool]:
    p, q = shares(counts_of_value(records, count)), shares(counts_of_value(table, count))
    reached = sum(abs(p.get(value, Fraction(0)) - q[value]) for value in q) / 2
    return float(reached), reached <= t


def ordered_t_closeness(records: Records, table: Records, *, t: Fraction, count: str) -> tuple[float, bool]:
    p, q = shares(counts_of_value(records, count)), shares(counts_of_value(table, count))
    lead, moved = Fraction(0), Fraction(0)
    for value in sorted(q):
        lead += p.get(value, Fraction(0)) - q[value]
        moved += abs(lead)
    reached = moved / (len(q) - 1) if len(q) > 1 else Fraction(0)
    return float(reached), reached <= t


def alpha_k_anonymity(records: Records, *, alpha: Fraction, k: int) -> tuple[float, bool]:
    reached = max(shares(counts_of_value(records, "records")).values())
    return float(reached), reached <= alpha and len(records) >= k


def basic_beta_likeness(records: Records, table: Records, *, beta: Fraction) -> tuple[float, bool]:
    p, q = shares(counts_of_value(records, "records")), shares(counts_of_value(table, "records"))
    reached = max((p[value] - q[value]) / q[value] for value in p)
    return float(reached), reached <= beta


def enhanced_beta_likeness(records: Records, table: Records, *, beta: Fraction) -> tuple[float, bool]:
    p, q = shares(counts_of_value(records, "records")), shares(counts_of_value(table, "records"))
    reached, holds = 0.0, True
    for value in p:
        gain = (p[value] - q[value]) / q[value]
        if gain > 0:
            limit = min(float(beta), -math.log(q[value]))
            reached = max(reached, float(gain) * float(beta) / limit)
            holds = holds and gain <= beta and gain <= -math.log(q[value])
    return reached, holds


def delta_disclosure(records: Records, table: Records, *, delta: Fraction) -> tuple[float, bool]:
    p, q = shares(counts_of_value(records, "records")), shares(counts_of_value(table, "records"))
    reached = max(abs(math.log(p[value] / q[value])) if value in p else math.inf for value in q)
    return reached, reached < delta
