"""The trees as their definitions read, in exact fractions. Never optimise this file; never import the package here.

A record is (person, values of quasi-identifiers by name, sensitive value); a missing value is None. An attribute is
(name, "number" or "nominal"). `holds` says of the records of a group whether it meets every model. A tree gives its
groups as a set of sets of persons, and how close a second choice came anywhere in it (0: two cuts were equally good).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from tests.naive.spanning import jsd

Person = Any
Record = tuple[Person, dict[str, Any], Any]
Attribute = tuple[str, str]
Holds = Callable[[list[Record]], bool]
Groups = set[frozenset[Person]]
NEVER_BUT_LAST = Fraction(-(10**12))


class Column(NamedTuple):
    """A number scaled to [0, 1] over the table, or a zero-one column that says who has a category."""

    name: str
    low: int = 0
    span: int = 1
    category: Any = None  # None in a column of numbers
    n_categories: int = 0

    def value(self, record: Record) -> Fraction:
        value = record[1][self.name]
        if self.n_categories:
            return Fraction(category_of(value) == self.category)
        if value is None:  # one whole extent below the lowest number
            return Fraction(-1)
        return Fraction(value - self.low, self.span)


class Cut(NamedTuple):
    merit: Fraction
    left: frozenset[Person]


def category_of(value: Any) -> tuple[bool, Any]:
    """Categories in order, missing last."""
    return (value is None, "" if value is None else value)


def categories(records: list[Record], name: str) -> list[tuple[bool, Any]]:
    return sorted({category_of(record[1][name]) for record in records})


def columns_of(table: list[Record], attributes: list[Attribute]) -> list[Column]:
    """One column a number; one a category, and one only where there are two categories."""
    columns = []
    for name, kind in attributes:
        if kind == "number":
            present = [record[1][name] for record in table if record[1][name] is not None] or [0]
            columns.append(Column(name, low=min(present), span=max(max(present) - min(present), 1)))
        else:
            found = categories(table, name)
            shown = found[:1] if len(found) == 2 else found
            columns += [Column(name, category=category, n_categories=len(found)) for category in shown]
    return columns


def mean(numbers: list[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


def records_of(node: list[Record]) -> dict[Person, int]:
    return dict(Counter(record[0] for record in node))


def key_of_person(node: list[Record], column: Column) -> dict[Person, Fraction]:
    """The mean of the person's records; of a category with its sign turned, so that who has it comes first."""
    values: dict[Person, list[Fraction]] = {}
    for record in node:
        values.setdefault(record[0], []).append(column.value(record))
    sign = -1 if column.n_categories else 1
    return {person: sign * mean(own) for person, own in values.items()}


def cuts_of(node: list[Record], column: Column) -> list[frozenset[Person]]:
    """The left sides of all cuts between two different keys."""
    key = key_of_person(node, column)
    limits = sorted(set(key.values()))[:-1]
    return [frozenset(person for person in key if key[person] <= limit) for limit in limits]


def cuts_inside_ties(node: list[Record], column: Column) -> list[frozenset[Person]]:
    """The left sides of all cuts of a number, also between persons of equal keys: those of fewer records first."""
    key, count = key_of_person(node, column), records_of(node)
    ordered = sorted(key, key=lambda person: (key[person], count[person], person))
    return [frozenset(ordered[:place]) for place in range(1, len(ordered))]


def median_of(node: list[Record], cuts: list[frozenset[Person]]) -> frozenset[Person]:
    """The left side that is closest to half of the records; of two equally close the larger."""
    count = records_of(node)
    size = {left: sum(count[person] for person in left) for left in cuts}
    return min(cuts, key=lambda left: (abs(2 * size[left] - len(node)), -size[left]))


def sides_of(node: list[Record], left: frozenset[Person]) -> tuple[list[Record], list[Record]]:
    return [record for record in node if record[0] in left], [record for record in node if record[0] not in left]


def balance(node: list[Record]) -> Fraction:
    """Definition 1: the g of a group."""
    return 1 - sum(Fraction(own, len(node)) ** 2 for own in records_of(node).values())


def balance_change(node: list[Record], left: frozenset[Person]) -> Fraction:
    """Definition 2: the g of a group less the g of its sides, weighted by their records."""
    return balance(node) - sum(Fraction(len(side), len(node)) * balance(side) for side in sides_of(node, left))


def variance(node: list[Record], column: Column) -> Fraction:
    """Over records, not persons."""
    values = [column.value(record) for record in node]
    middle = mean(values)
    return mean([(value - middle) ** 2 for value in values])


def median_cuts(node: list[Record], columns: list[Column], ties: str) -> list[Cut]:
    """The median cut of each column; the merit is the balance-variance ratio (definition 4) with its sign turned."""
    found = []
    for column in columns:
        cuts = cuts_of(node, column) if ties == "together" else cuts_inside_ties(node, column)
        if cuts:
            left, spread = median_of(node, cuts), variance(node, column)
            found.append(Cut(-balance_change(node, left) / spread if spread else NEVER_BUT_LAST, left))
    return found


def squares_inside(side: list[Record], columns: list[Column]) -> Fraction:
    """The sum of squares around the means of numbers, plus half of what is left of a nominal: R - sum n_c^2 / R."""
    total = Fraction(0)
    for column in columns:
        if not column.n_categories:
            values = [column.value(record) for record in side]
            total += sum(value**2 for value in values) - sum(values) ** 2 / len(side)
    for name in {column.name for column in columns if column.n_categories}:
        counts = Counter(record[1][name] for record in side).values()
        total += Fraction(1, 2) * (len(side) - Fraction(sum(count**2 for count in counts), len(side)))
    return total


def best_cuts(node: list[Record], columns: list[Column]) -> list[Cut]:
    """All cuts of all columns; the merit is what they take off the sum of squares inside groups."""
    before = squares_inside(node, columns)
    found = []
    for left in dict.fromkeys(left for column in columns for left in cuts_of(node, column)):
        found.append(Cut(before - sum(squares_inside(side, columns) for side in sides_of(node, left)), left))
    return found


def mixing_cuts(node: list[Record], columns: list[Column], table: list[Record], alpha: float) -> list[Cut]:
    """All cuts; the merit weighs what one takes off the squares against its rise in divergence, as shares of the most.

    Two is added, so that no merit is 0.
    """
    cuts = best_cuts(node, columns)
    rises = []
    for cut in cuts:
        sides = sides_of(node, cut.left)
        rises.append(sum(len(side) / len(node) * divergence(side, table) for side in sides) - divergence(node, table))
    most_squares, most_rise = max((cut.merit for cut in cuts), default=Fraction(0)), max(rises, default=0.0)
    found = []
    for cut, rise in zip(cuts, rises, strict=True):
        loss = rise / most_rise if most_rise > 1e-12 else 0.0
        found.append(Cut(Fraction(2 + alpha * float(cut.merit / most_squares) - (1 - alpha) * loss), cut.left))
    return found


def divergence(side: list[Record], table: list[Record]) -> float:
    """How far the sensitive values of some records are from those of the table (Jensen-Shannon, in bits)."""
    values = sorted({record[2] for record in table}, key=category_of)
    in_table, in_side = Counter(record[2] for record in table), Counter(record[2] for record in side)
    return jsd([in_side[value] for value in values], [in_table[value] / len(table) for value in values])


def widest_cuts(node: list[Record], columns: list[Column], everyone: list[Record]) -> list[Cut]:
    """The median cut of each column; the merit is its width, and of a nominal's cuts the most even comes first.

    The width of a number is the share of the extent of the persons' means; that of a nominal the share of its
    categories, less one, that is present. Of equal widths, numbers come first.
    """
    found = []
    for column in columns:
        cuts = cuts_of(node, column)
        if not cuts:
            continue
        left = median_of(node, cuts)
        if column.n_categories:
            present = len(categories(node, column.name))
            uneven = abs(Fraction(2 * len(sides_of(node, left)[0]), len(node)) - 1)
            width = Fraction(present - 1, column.n_categories - 1) - uneven / 10**9
        else:
            here, everywhere = key_of_person(node, column).values(), key_of_person(everyone, column).values()
            width = (max(here) - min(here)) / (max(everywhere) - min(everywhere))
        found.append(Cut(width, left))
    return found


def is_same_cut(node: list[Record], one: Cut, other: Cut) -> bool:
    persons = {record[0] for record in node}
    return one.left in (other.left, persons - other.left)


def grow(table: list[Record], holds: Holds, propose: Callable[[list[Record]], list[Cut]]) -> tuple[Groups, float]:
    """Cut where the merit is largest and both sides hold, the first of equals; then the sides, until no cut is left."""
    groups: Groups = set()
    closest = float("inf")
    nodes = [table]
    while nodes:
        node = nodes.pop()
        allowed = [cut for cut in propose(node) if all(holds(side) for side in sides_of(node, cut.left))]
        if not allowed:
            groups.add(frozenset(record[0] for record in node))
            continue
        chosen = max(allowed, key=lambda cut: cut.merit)
        others = [chosen.merit - cut.merit for cut in allowed if not is_same_cut(node, cut, chosen)]
        closest = min([closest, *(float(away / abs(chosen.merit)) if away else 0.0 for away in others)])
        nodes += sides_of(node, chosen.left)
    return groups, closest


def median_tree(
    table: list[Record], attributes: list[Attribute], holds: Holds, *, ties: str = "together"
) -> tuple[Groups, float]:
    """The algorithm of Kartal and Li (2020, Table 5)."""
    columns = columns_of(table, attributes)
    return grow(table, holds, lambda node: median_cuts(node, columns, ties))


def best_tree(table: list[Record], attributes: list[Attribute], holds: Holds) -> tuple[Groups, float]:
    """The best of all cuts."""
    columns = columns_of(table, attributes)
    return grow(table, holds, lambda node: best_cuts(node, columns))


def mixing_tree(
    table: list[Record], attributes: list[Attribute], holds: Holds, *, alpha: float
) -> tuple[Groups, float]:
    """The best of all cuts, the mix of sensitive values weighed in."""
    columns = columns_of(table, attributes)
    return grow(table, holds, lambda node: mixing_cuts(node, columns, table, alpha))


def mondrian(table: list[Record], attributes: list[Attribute], holds: Holds) -> tuple[Groups, float]:
    """The widest attribute at its median (LeFevre, DeWitt and Ramakrishnan, 2006)."""
    columns = columns_of(table, attributes)
    return grow(table, holds, lambda node: widest_cuts(node, columns, table))


def decomposition(table: list[Record], attributes: list[Attribute], holds: Holds) -> tuple[Groups, float]:
    """Mondrian on one record per person, of which `holds` is asked: mean of the numbers, most frequent category."""
    columns = columns_of(table, attributes)
    alone: list[Record] = []
    for person in records_of(table):
        own = [record for record in table if record[0] == person]
        values: dict[str, Any] = {}
        for column in columns:
            if column.n_categories:
                count = Counter(record[1][column.name] for record in own)
                values[column.name] = min(count, key=lambda value: (-count[value], category_of(value)))
            else:
                values[column.name] = column.low + column.span * mean([column.value(record) for record in own])
        alone.append((person, values, None))
    return grow(alone, holds, lambda node: widest_cuts(node, columns, alone))
