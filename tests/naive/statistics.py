"""The measures of Li and Sarkar (2013) as they are defined. Never optimise this file; never import the package here.

Tables are lists of tuples of numbers, one per record; groups and classes are one label per record.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from statistics import fmean, stdev

Row = Sequence[float]


def scaled(rows: Sequence[Row], original: Sequence[Row]) -> list[list[Fraction]]:
    """Values above the lowest of the original, over the extent of the original."""
    columns = list(zip(*original, strict=True))
    lows = [Fraction(min(column)) for column in columns]
    extents = [Fraction(max(column)) - low or Fraction(1) for column, low in zip(columns, lows, strict=True)]
    return [[(Fraction(x) - low) / e for x, low, e in zip(row, lows, extents, strict=True)] for row in rows]


def linkage(original: Sequence[Row], masked: Sequence[Row]) -> tuple[float, float]:
    """Expected numbers of records that are linked and second closely linked, equally close ones taken by chance."""
    linked = second = Fraction(0)
    candidates = scaled(original, original)
    for i, row in enumerate(scaled(masked, original)):
        away = [sum((a - b) ** 2 for a, b in zip(row, other, strict=True)) for other in candidates]
        closer = sum(distance < away[i] for distance in away)
        as_close = sum(distance == away[i] for distance in away)
        if closer == 0:
            linked += Fraction(1, as_close)
        if closer == 1 or (closer == 0 and as_close > 1):
            second += Fraction(1, as_close)
    return float(linked), float(second)


def class_chi_square(classes: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    n, total = len(classes), Fraction(0)
    for g in set(groups):
        inside = [c for c, group in zip(classes, groups, strict=True) if group == g]
        for k in set(classes):
            expected = Fraction(len(inside) * list(classes).count(k), n)
            total += (inside.count(k) - expected) ** 2 / expected
    return float(total / len(set(groups)))


def homogeneous_share(classes: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    classes_of = {g: {c for c, group in zip(classes, groups, strict=True) if group == g} for g in groups}
    return sum(len(classes_of[g]) == 1 for g in groups) / len(groups)


def shares(classes: Sequence[Hashable], of: Sequence[Hashable]) -> list[float]:
    """The share of each class, in the order of `of`."""
    return [list(classes).count(k) / len(classes) for k in of]


def kld(f: Sequence[float], other: Sequence[float]) -> float:
    """Definition 1, with logarithms to base 2."""
    return sum(p * math.log2(p / q) for p, q in zip(f, other, strict=True) if p > 0)


def jsd(f: Sequence[float], other: Sequence[float]) -> float:
    """Definition 2."""
    middle = [(p + q) / 2 for p, q in zip(f, other, strict=True)]
    return (kld(f, middle) + kld(other, middle)) / 2


def mean_divergences(classes: Sequence[Hashable], groups: Sequence[Hashable]) -> tuple[float, float]:
    """KLD and JSD of the groups, each by its share of the records (definition 4)."""
    kinds = sorted(set(classes), key=repr)
    whole, total_kld, total_jsd = shares(classes, kinds), 0.0, 0.0
    for g in set(groups):
        inside = [c for c, group in zip(classes, groups, strict=True) if group == g]
        own = shares(inside, kinds)
        total_kld += len(inside) / len(classes) * kld(own, whole)
        total_jsd += len(inside) / len(classes) * jsd(own, whole)
    return total_kld, total_jsd


def biases(before: Sequence[float | None], after: Sequence[float | None]) -> tuple[float, int]:
    """The mean relative change and how many are left out: those that were 0 or are undefined."""
    changes = [abs((b - a) / a) for a, b in zip(before, after, strict=True) if a and b is not None]
    return (fmean(changes) if changes else math.nan), len(before) - len(changes)


def present(column: Sequence[float]) -> list[float]:
    """The numbers that are not missing."""
    return [x for x in column if not math.isnan(x)]


def abim(original: Sequence[Row], masked: Sequence[Row]) -> tuple[float, int]:
    return biases(*([fmean(present(column)) for column in zip(*rows, strict=True)] for rows in (original, masked)))


def abisd(original: Sequence[Row], masked: Sequence[Row]) -> tuple[float, int]:
    return biases(*([stdev(present(column)) for column in zip(*rows, strict=True)] for rows in (original, masked)))


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Over records that miss neither: None where one of the two is constant; exactly 0 where the products cancel."""
    both = [(x, y) for x, y in zip(one, other, strict=True) if not math.isnan(x) and not math.isnan(y)]
    one, other = [x for x, _ in both], [y for _, y in both]
    a, b = [Fraction(x) for x in one], [Fraction(x) for x in other]
    a, b = [x - sum(a) / len(a) for x in a], [x - sum(b) / len(b) for x in b]
    scatter = sum(x * y for x, y in zip(a, b, strict=True))
    squares = sum(x * x for x in a) * sum(y * y for y in b)
    return float(scatter) / math.sqrt(squares) if squares else None


def abico(original: Sequence[Row], masked: Sequence[Row]) -> tuple[float, int]:
    found = []
    for rows in (original, masked):
        columns = list(zip(*rows, strict=True))
        found.append(
            [correlation(columns[j], columns[h]) for j in range(len(columns)) for h in range(j + 1, len(columns))]
        )
    return biases(*found)


def within_share(rows: Sequence[Row], groups: Sequence[Hashable]) -> float:
    values = scaled(rows, rows)
    inside = sum(squares([row for row, group in zip(values, groups, strict=True) if group == g]) for g in set(groups))
    return float(inside / squares(values)) if squares(values) else 0.0


def squares(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    """The sum of squared distances to the mean."""
    total = Fraction(0)
    for column in zip(*rows, strict=True):
        middle = sum(column, Fraction(0)) / len(column)
        total += sum((x - middle) ** 2 for x in column)
    return total
