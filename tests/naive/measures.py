"""The measures, written to be read. Never optimise this file; never import the package here.

A record is (group, person, value of the sensitive attribute) for risks, and (group, person, quasi-identifiers) for
what a grouping costs; None is a missing value.
"""

from __future__ import annotations

from collections.abc import Sequence


def of_group(records: Sequence[tuple], group: object) -> list[tuple]:
    return [record for record in records if record[0] == group]


def groups(records: Sequence[tuple]) -> list[object]:
    return list(dict.fromkeys(record[0] for record in records))


def persons(records: Sequence[tuple]) -> list[object]:
    return list(dict.fromkeys(record[1] for record in records))


def idr(records: Sequence[tuple], group: object, person: object) -> float:
    """Of the records of a group, the share that belongs to one person."""
    own = of_group(records, group)
    return sum(record[1] == person for record in own) / len(own)


def gidr(records: Sequence[tuple], group: object) -> float:
    return max(idr(records, group, person) for person in persons(of_group(records, group)))


def sar(records: Sequence[tuple], group: object, value: object) -> float:
    """Of the persons of a group, the share who have the value in one of their records."""
    own = of_group(records, group)
    having = {person for _, person, owned in own if owned == value}
    return len(having) / len(persons(own))


def gsar(records: Sequence[tuple], group: object) -> float:
    return max(sar(records, group, value) for _, _, value in of_group(records, group))


def g_balance(records: Sequence[tuple], group: object) -> float:
    return 1 - sum(idr(records, group, person) ** 2 for person in persons(of_group(records, group)))


def prosecutor(records: Sequence[tuple]) -> float:
    return max(1 / len(persons(of_group(records, group))) for group in groups(records))


def marketer(records: Sequence[tuple]) -> float:
    """The mean over persons (in each group they are seen in) of one divided by the persons of the group."""
    chances = [
        1 / len(persons(of_group(records, group)))
        for group in groups(records)
        for _ in persons(of_group(records, group))
    ]
    return sum(chances) / len(chances)


def unique_persons(records: Sequence[tuple]) -> int:
    alone = {
        persons(of_group(records, group))[0] for group in groups(records) if len(persons(of_group(records, group))) == 1
    }
    return len(alone)


def scaled(values: Sequence[float | None]) -> list[float]:
    """Numbers scaled to [0, 1] over the whole table; a missing one stands one whole range below the lowest."""
    present = [value for value in values if value is not None]
    low, high = (min(present), max(present)) if present else (0, 0)
    span = (high - low) or 1
    return [-1.0 if value is None else (value - low) / span for value in values]


def columns(records: Sequence[tuple]) -> list[list]:
    return [list(column) for column in zip(*(record[2] for record in records), strict=True)]


def error_of_record(records: Sequence[tuple], column: list, kind: str, place: int) -> float:
    """How far a record is from what stands for its group."""
    own = [i for i, record in enumerate(records) if record[0] == records[place][0]]
    if kind == "nominal":
        return sum(column[i] != column[place] for i in own) / len(own)
    numbers = scaled(column)
    mean = sum(numbers[i] for i in own) / len(own)
    return abs(numbers[place] - mean)


def ane_of_column(records: Sequence[tuple], column: list, kind: str) -> float:
    """The mean over persons of the mean over their records."""
    errors_of_person: dict[object, list[float]] = {}
    for place, record in enumerate(records):
        errors_of_person.setdefault(record[1], []).append(error_of_record(records, column, kind, place))
    return sum(sum(errors) / len(errors) for errors in errors_of_person.values()) / len(errors_of_person)


def ane(records: Sequence[tuple], kinds: Sequence[str]) -> float:
    errors = [ane_of_column(records, column, kind) for column, kind in zip(columns(records), kinds, strict=True)]
    return sum(errors) / len(errors)


def discernability(records: Sequence[tuple]) -> float:
    """The mean over records of how many records theirs cannot be told from."""
    return sum(len(of_group(records, record[0])) for record in records) / len(records)


def covered(own: list, column: list, kind: str) -> float:
    """The share of a column's domain that a group's range or set covers."""
    if kind == "nominal":
        return (len(set(own)) - 1) / max(len(set(column)) - 1, 1)
    if None in own:
        return 0.0 if all(value is None for value in own) else 1.0
    present = [value for value in column if value is not None]
    return (max(own) - min(own)) / ((max(present) - min(present)) or 1)


def granularity(records: Sequence[tuple], kinds: Sequence[str]) -> float:
    """1 less the mean over records and columns of the share of the domain that is covered."""
    shares = []
    for column, kind in zip(columns(records), kinds, strict=True):
        for record in records:
            own = [value for value, other in zip(column, records, strict=True) if other[0] == record[0]]
            shares.append(covered(own, column, kind))
    return 1 - sum(shares) / len(shares)


def squares(column: list, kind: str) -> float:
    """The sum of squares around the mean; of categories, half the share of unequal pairs times their number."""
    if kind == "nominal":
        return sum(one != other for one in column for other in column) / (2 * len(column))
    mean = sum(column) / len(column)
    return sum((value - mean) ** 2 for value in column)


def within_variance(records: Sequence[tuple], kinds: Sequence[str]) -> float:
    """The sum of squares inside groups over that of the whole table, of all columns together."""
    inside = total = 0.0
    for column, kind in zip(columns(records), kinds, strict=True):
        values = column if kind == "nominal" else scaled(column)
        total += squares(values, kind)
        for group in groups(records):
            own = [value for value, record in zip(values, records, strict=True) if record[0] == group]
            inside += squares(own, kind)
    return inside / total if total else 0.0


def alone_by(
    records: list[dict[str, object]],
    quasi: list[str],
    *,
    person: str | None = None,
    sensitive: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
    time: str | None = None,
) -> dict[str, int]:
    """How many persons have, in a group of equal quasi-identifiers, a value of something for themselves."""
    group_of = [tuple(record[name] for name in quasi) for record in records]
    who = [at if person is None else record[person] for at, record in enumerate(records)]
    own = list(zip(group_of, who, strict=True))
    values: dict[str, list[object]] = {name: [record[name] for record in records] for name in sensitive}
    if kept:
        values["kept"] = [tuple(record[name] for name in kept) for record in records]
    if person is not None:
        values["count"] = [own.count(each) for each in own]
    if time is not None:
        values["time"] = [record[time] for record in records]
    found = {}
    for key, of_record in values.items():
        cells = list(zip(group_of, of_record, strict=True))
        found[key] = len(
            {p for p, cell in zip(who, cells, strict=True)
             if all(q == p for q, other in zip(who, cells, strict=True) if other == cell)}
        )  # fmt: skip
    return found
