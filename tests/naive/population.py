"""The risk of a sample, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations, permutations
from math import comb, exp, factorial, lgamma, log


def classes(values_of_record: Sequence[Hashable], person_of_record: Sequence[int]) -> list[frozenset[Hashable]]:
    """What each person shows in all their records."""
    shown: dict[int, set[Hashable]] = {}
    for value, person in zip(values_of_record, person_of_record, strict=True):
        shown.setdefault(person, set()).add(value)
    return [frozenset(shown[person]) for person in sorted(shown)]


def expected_inverse(j: int, f: int, population: float) -> float:
    """E[(F - j)! / F!] where F - f is negative binomial: by its sum, term by term."""
    p = min(1.0, f / population)
    if p == 1:
        return factorial(f - j) / factorial(f)
    total = 0.0
    for size in range(f, f + int(200 / p) + 200):
        chance = lgamma(size) - lgamma(f) - lgamma(size - f + 1) + f * log(p) + (size - f) * log(1 - p)
        total += exp(chance + lgamma(size - j + 1) - lgamma(size + 1))
    return total


def nobody_right(m: int, f: int) -> float:
    """Of f records matched to f persons at random, the chance that none of the first m is right: by all matchings."""
    ways = list(permutations(range(f)))
    return sum(all(way[i] != i for i in range(m)) for way in ways) / len(ways)


def zayatz(sizes: Sequence[int], population: int) -> float:
    """Uniques of the sample, times the chance that one is a unique of the population, divided by the share drawn."""
    n = sum(sizes)

    def one_of(size: int) -> float:
        return size * comb(population - size, n - 1) / comb(population, n)

    unique = sum(one_of(size) for size in sizes if size == 1)
    return sizes.count(1) * unique / sum(map(one_of, sizes)) / (n / population)


def pitman_likelihood(sizes: Sequence[int], theta: float, alpha: float) -> float:
    """The chance of the sizes under Pitman's model, as a logarithm, by its product."""
    total = sum(log(theta + j * alpha) for j in range(1, len(sizes)))
    total -= sum(log(theta + i) for i in range(1, sum(sizes)))
    return total + sum(log(j - alpha) for size in sizes for j in range(1, size))


def minimal_uniques(rows: Sequence[Sequence[Hashable]]) -> list[list[tuple[int, ...]]]:
    """The minimal sample uniques of every row: sets of columns by which it is alone, and by no part of which it is."""
    n_columns = len(rows[0])

    def is_alone(row: Sequence[Hashable], columns: Sequence[int]) -> bool:
        return sum(all(other[c] == row[c] for c in columns) for other in rows) == 1

    found = []
    for row in rows:
        own: list[tuple[int, ...]] = []
        for size in range(1, n_columns + 1):
            for columns in combinations(range(n_columns), size):
                if is_alone(row, columns) and not any(set(less) < set(columns) for less in own):
                    own.append(columns)
        found.append(own)
    return found


def separation(values: Sequence[Hashable]) -> float:
    """The share of pairs that differ."""
    pairs = list(combinations(values, 2))
    return sum(a != b for a, b in pairs) / len(pairs)


def means_of_pair_and_single(rows: Sequence[tuple[Hashable, ...]]) -> dict[tuple[Hashable, ...], float]:
    """The mean of each row where the first two columns go together and the third has nothing to do with them."""

    def n_of(columns: Sequence[int], row: Sequence[Hashable]) -> int:
        return sum(all(other[c] == row[c] for c in columns) for other in rows)

    return {row: n_of((0, 1), row) * n_of((2,), row) / len(rows) for row in rows}
