"""Association rules, written to be read. Never optimise this file; never import the package here.

Records and kinds of columns are those of tests/naive/queries.py. A node is a label: of numbers an interval such as
"20-29" or "-5 to -1", or one number; of categories the category or its parent; or "missing". `margins` gives for some
columns how far around a node a number belongs to it in part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import inf, prod

from tests.naive.queries import Record, possible_values


def covers(label: str, value: object, kind: object) -> bool:
    if value is None:
        return label == "missing"
    if kind == "number":
        ends = re.fullmatch(r"(-?\d+)(?:(?:-| to )(-?\d+))?", label)
        return ends is not None and int(ends[1]) <= value <= int(ends[2] or ends[1])  # type: ignore[operator]
    return label == value or (isinstance(kind, Mapping) and kind[value] == label)


def degree(
    label: str, value: object, column: str, records: Sequence[Record], kinds: Mapping, margins: Mapping
) -> float:
    """How far a value belongs to a node: 1 inside, less and less up to a margin away from the table's values in it."""
    if covers(label, value, kinds[column]):
        return 1.0
    if value is None or not margins.get(column):
        return 0.0
    everyones = [record[2][column] for record in records]
    inside = [other for other in everyones if other is not None and covers(label, other, kinds[column])]
    return max([0.0, *(1 - abs(other - value) / margins[column] for other in inside)])


def belongs(
    shown: Sequence[Record], when: Sequence[tuple[str, str]], records: Sequence[Record], kinds: Mapping,
    margins: Mapping, conjunction: str, how: str,
) -> float:  # fmt: skip
    """How far a record that is shown with some others belongs to all nodes, over all values that it can have."""
    can_be = [
        possible_values([one[2][column] for one in shown], [one[2][column] for one in records], kinds[column], how)
        for column, _ in when
    ]
    degrees = [
        [degree(node, value, column, records, kinds, margins) for (column, node), value in zip(when, one, strict=True)]
        for one in product(*can_be)
    ]
    joined = [prod(one) if conjunction == "product" else min(one) for one in degrees]
    return sum(joined) / len(joined)


def counts(
    records: Sequence[Record], when: Sequence[tuple[str, str]], sensitive: str, kinds: Mapping, margins: Mapping,
    conjunction: str, shown: str,
) -> dict[object, float]:  # fmt: skip
    """How many records with each sensitive value satisfy all nodes; `shown` is "table" for the original."""
    found: dict[object, float] = {record[2][sensitive]: 0.0 for record in records}

    def share(places: Sequence[Record], how: str) -> float:
        return belongs(places, when, records, kinds, margins, conjunction, how)

    if shown == "table":
        for record in records:
            found[record[2][sensitive]] += share([record], "range")
        return found
    for group in {group for group, _, _ in records}:
        own = [record for record in records if record[0] == group]
        if shown not in ("group", "range+group"):
            for record in own:
                found[record[2][sensitive]] += share(own, shown)
            continue
        persons = [[record for record in own if record[1] == person] for person in {record[1] for record in own}]
        if shown == "range+group":
            for record in own:
                found[record[2][sensitive]] += share(own, "range")
            continue
        pairs = {(record[1], record[2][sensitive]) for record in own}  # beside exact quasi-identifiers persons count
        mean = len(records) / len({record[1] for record in records})
        for place in persons:
            for _, value in pairs:
                found[value] += share(place, "range") * mean / len(pairs)
    return found


def conviction(by_value: Mapping[object, float], value: object, everything: Mapping[object, float]) -> float:
    """P(X) P(not Y) / P(X and not Y); `everything` are the counts without any condition."""
    n = sum(everything.values())
    with_y = everything[value] / n
    x, x_without_y = sum(by_value.values()) / n, (sum(by_value.values()) - by_value[value]) / n
    return inf if x_without_y <= 1e-9 * x else x * (1 - with_y) / x_without_y
