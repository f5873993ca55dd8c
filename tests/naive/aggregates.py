"""SUM, AVERAGE, MIN and MAX queries, written to be read. Never optimise this file; never import the package here.

Records, conditions and kinds of columns are those of tests/naive/queries.py. Chances are exact fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.naive.queries import Condition, Record, meets, meets_all, possible_values

Holder = tuple[Fraction, Fraction, list]
"""The chance to meet the conditions, how many records it stands for, the values it can have (missing is None)."""


def true_answer(records: Sequence[Record], kind: str, column: str, query: Sequence[Condition]) -> float | None:
    numbers = [values[column] for _, _, values in records if meets_all(values, query)]
    return answer(kind, [number for number in numbers if number is not None])


def answer(kind: str, numbers: Sequence) -> float | None:
    if not numbers:
        return None
    if kind == "average":
        return sum(numbers) / len(numbers)
    return {"sum": sum, "min": min, "max": max}[kind](numbers)


def share(values: Sequence, low: object, high: object) -> Fraction:
    return Fraction(sum(meets(value, low, high) for value in values), len(values))


def quasi_chance(
    own: Sequence[Record], records: Sequence[Record], query: Sequence[Condition], kinds: Mapping, shown: str
) -> Fraction:
    product = Fraction(1)
    for column, low, high in query:
        if column in kinds:
            everyones = [record[2][column] for record in records]
            values = possible_values([record[2][column] for record in own], everyones, kinds[column], shown)
            product *= share(values, low, high)
    return product


def numbers_shown(own: Sequence[Record], records: Sequence[Record], column: str, kinds: Mapping, shown: str) -> list:
    """What a place shows of a number: the mean itself has two decimals more than the column."""
    present = [values[column] for _, _, values in own if values[column] is not None]
    if shown == "mean":
        return [round(sum(present) / len(present), 2)] if present else [None]
    everyones = [record[2][column] for record in records]
    return possible_values([record[2][column] for record in own], everyones, kinds[column], shown)


def holders(
    records: Sequence[Record], column: str, query: Sequence[Condition], kinds: Mapping, shown: str
) -> list[Holder]:
    others = [condition for condition in query if condition[0] != column]
    sensitive = [condition for condition in others if condition[0] not in kinds]
    found: list[Holder] = []
    for group in {group for group, _, _ in records}:
        own = [record for record in records if record[0] == group]
        if shown in ("group", "range+group"):
            found += holders_apart(own, records, column, others, kinds, shown)
            continue
        chance = quasi_chance(own, records, others, kinds, shown)
        for _, _, values in own:
            if meets_all(values, sensitive):
                can_be = numbers_shown(own, records, column, kinds, shown) if column in kinds else [values[column]]
                found.append((chance, Fraction(1), can_be))
    return found


def holders_apart(
    own: Sequence[Record], records: Sequence[Record], column: str, others: Sequence, kinds: Mapping, shown: str
) -> list[Holder]:
    """The places of a group, persons or the group itself, where attributes are published apart."""

    def counted(name: str) -> list:
        """The values of the group by record, or, beside exact quasi-identifiers, each once for each person."""
        pairs = [(person, values[name]) for _, person, values in own]
        return [value for _, value in (set(pairs) if shown == "group" else pairs)]

    product = Fraction(1)
    for name, low, high in others:
        if name not in kinds:
            product *= share(counted(name), low, high)
    persons = {person for _, person, _ in own}
    places = [[record for record in own if record[1] == person] for person in persons]
    times = Fraction(len(records), len({person for _, person, _ in records}))  # records that a person stands for
    if shown == "range+group":
        places, times = [list(own)], Fraction(len(own))
    found = []
    for place in places:
        can_be = numbers_shown(place, records, column, kinds, "range") if column in kinds else counted(column)
        chance = quasi_chance(place, records, others, kinds, "range") * product
        found.append((chance, times, can_be))
    return found


def estimated_answer(
    records: Sequence[Record], kind: str, column: str, query: Sequence[Condition], kinds: Mapping, shown: str
) -> float | None:
    low, high = next(((low, high) for name, low, high in query if name == column), (-(10**6), 10**6))
    own_low, own_high = (1, 0) if low is None else (low, high)

    def is_asked(value: object) -> bool:
        """Whether a number meets a condition on itself; a mean does if the nearest whole number does."""
        return value is not None and own_low <= round(value) <= own_high  # type: ignore[call-overload]

    count, total = Fraction(0), 0.0
    entities = holders(records, column, query, kinds, shown)
    for chance, times, values in entities:
        asked = [value for value in values if is_asked(value)]
        count += chance * times * Fraction(len(asked), len(values))
        total += float(chance * times) * sum(asked) / len(values)
    if kind == "sum":
        return total
    if not count:
        return None
    if kind == "average":
        return total / float(count)
    candidates = sorted({value for _, _, values in entities for value in values if is_asked(value)})
    return extreme(entities, candidates if kind == "min" else candidates[::-1], is_asked, kind)


def extreme(entities: Sequence[Holder], candidates: Sequence, is_asked: object, kind: str) -> float:
    """The first candidate by which it is at least as likely as not that somebody has it or one before it."""

    def chance_of_none(reached: object) -> float:
        none = 1.0
        for chance, times, values in entities:
            having = sum(is_asked(value) and reached(value) for value in values)  # type: ignore[operator]
            none *= float(1 - chance * Fraction(having, len(values))) ** float(times)
        return none

    nobody = chance_of_none(lambda value: True)
    for candidate in candidates:
        reached = chance_of_none(lambda value, c=candidate: value <= c if kind == "min" else value >= c)
        if 1 - reached >= (1 - nobody) / 2 - 1e-9:
            return candidate
    raise AssertionError("somebody has one of the candidates")
