"""COUNT queries, written to be read. Never optimise this file; never import the package here.

A record is (group, person, {column: value}); None is a missing value. A condition is (column, low, high), ends
included; None as low and high asks for the missing value. `kinds` says of each quasi-identifier what it is: "number",
"nominal", or a dictionary that gives the parent of each value, with one root "*" above all parents.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

Record = tuple[object, object, Mapping[str, object]]
Condition = tuple[str, object, object]


def meets(value: object, low: object, high: object) -> bool:
    if low is None or value is None:
        return low is None and value is None
    return low <= value <= high  # type: ignore[operator]


def meets_all(values: Mapping[str, object], query: Sequence[Condition]) -> bool:
    return all(meets(values[column], low, high) for column, low, high in query)


def true_count(records: Sequence[Record], query: Sequence[Condition], count: str) -> int:
    matching = [person for _, person, values in records if meets_all(values, query)]
    return len(matching) if count == "records" else len(set(matching))


def possible_values(own: Sequence, everyones: Sequence, kind: object, shown: str) -> list:
    """The values that a record can have by what is shown of `own`, the values of all records it is shown with."""
    present = [value for value in own if value is not None]
    missing = [None] if len(present) < len(own) else []
    if shown == "mean" and kind != "number":
        return [most_frequent(own)]
    if shown == "mean" and present:
        return [round(sum(present) / len(present))]
    if shown == "suppress" and len(set(own)) > 1:
        return possible_values(everyones, everyones, "number" if kind == "number" else "nominal", "range")
    if not present:
        return missing
    if kind == "number":
        return [*range(min(present), max(present) + 1), *missing]
    if kind == "nominal" or len(set(present)) == 1:
        return [*set(present), *missing]
    parents = {kind[value] for value in present}
    covered = [value for value in kind if kind[value] in parents]
    if 2 * (len(covered) - 1) > len(kind) - 1 or len(parents) > 1:
        covered = few_nodes(set(present), kind)
    return [*(value for value in set(everyones) if value in covered), *missing]


def few_nodes(values: set, parent_of: Mapping) -> list:
    """What at most four values and parents leave open that cover some values: as little as can be, or everything."""
    below = {parent: {value for value in parent_of if parent_of[value] == parent} for parent in parent_of.values()}
    ways = []
    for whole in itertools.product([True, False], repeat=len(below)):
        under_each = zip(whole, below.values(), strict=True)
        own = [(values & under, under if is_whole else values & under) for is_whole, under in under_each]
        shown = [(used, leaves_open) for used, leaves_open in own if used]
        n_labels = sum(1 if leaves_open != used or len(used) == 1 else len(used) for used, leaves_open in shown)
        if n_labels <= 4:
            ways.append(sorted(value for _, leaves_open in shown for value in leaves_open))
    return min(ways, key=len, default=list(parent_of))


def most_frequent(values: Sequence) -> object:
    """Of equally frequent values the first, missing last."""
    return min(set(values), key=lambda value: (-list(values).count(value), value is None, value or ""))


def share(values: Sequence, low: object, high: object) -> float:
    return sum(meets(value, low, high) for value in values) / len(values)


def quasi_share(
    own: Sequence[Record], records: Sequence[Record], query: Sequence[Condition], kinds: Mapping, shown: str
) -> float:
    product = 1.0
    for column, low, high in query:
        if column in kinds:
            values = [record[2][column] for record in own]
            everyones = [record[2][column] for record in records]
            product *= share(possible_values(values, everyones, kinds[column], shown), low, high)
    return product


def estimated_count(
    records: Sequence[Record], query: Sequence[Condition], kinds: Mapping, shown: str, count: str
) -> float:
    total = 0.0
    for group in {group for group, _, _ in records}:
        own = [record for record in records if record[0] == group]
        if shown in ("group", "range+group"):
            total += estimate_apart(own, records, query, kinds, shown, count)
        else:
            sensitive = [condition for condition in query if condition[0] not in kinds]
            total += quasi_share(own, records, query, kinds, shown) * true_count(own, sensitive, count)
    return total


def estimate_apart(
    own: Sequence[Record], records: Sequence[Record], query: Sequence[Condition], kinds: Mapping, shown: str, count: str
) -> float:
    """What a group adds where attributes are published apart, each as counts."""
    persons = {person for _, person, _ in own}
    hides_records = shown == "group" and count == "records"
    counted = len(own) if count == "records" else len(persons)
    if hides_records:  # exact quasi-identifiers: values are counted by persons, who have as many records as the mean
        counted = len(persons) * len(records) / len({person for _, person, _ in records})
    sensitive_share = 1.0
    for column, low, high in query:
        if column not in kinds:
            pairs = [(person, values[column]) for _, person, values in own]
            pairs = pairs if count == "records" and not hides_records else list(set(pairs))
            having = [value for _, value in pairs if meets(value, low, high)]
            sensitive_share *= min(1.0, len(having) / (len(pairs) if hides_records else counted))
    if shown == "range+group":
        return counted * quasi_share(own, records, query, kinds, "range") * sensitive_share
    quasi = sum(
        quasi_share([record for record in own if record[1] == person], records, query, kinds, "range")
        for person in persons
    )
    return quasi * counted / len(persons) * sensitive_share


def set_count(columns: dict[str, list[int]], asked: dict[str, frozenset[int]]) -> int:
    """Records that have one of the values asked for in every column."""
    n = len(next(iter(columns.values())))
    return sum(all(columns[name][record] in wanted for name, wanted in asked.items()) for record in range(n))


def estimated_set_count(
    columns: dict[str, list[int]], group: list[int], asked: dict[str, frozenset[int]], *, sensitive: str
) -> float:
    """The same where sensitive values are known by group only: everybody has each by its share."""
    total = 0.0
    for record in range(len(group)):
        if all(columns[name][record] in wanted for name, wanted in asked.items() if name != sensitive):
            inside = [other for other in range(len(group)) if group[other] == group[record]]
            total += sum(columns[sensitive][other] in asked[sensitive] for other in inside) / len(inside)
    return total
