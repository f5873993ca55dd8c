"""The minimality attack on one group, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

Values = tuple[str, ...]
"""The values of a person's records, sorted."""


def posterior(
    held: Sequence[Values], cuts: Sequence[set[int]], meets: Callable[[list[Values]], bool]
) -> list[dict[str, Fraction]]:
    """For each person the probability of each value, once it is known that none of the cuts was made.

    Parameters
    ----------
    held
        What each person of the group has. Everybody knows how many records a person has, so that only persons with as
        many records can have each other's values.
    cuts
        The persons on the left of each cut that the tree would have made, had both sides met the models.
    meets
        Whether the persons of a side, given by their values, meet the models.
    """
    n_ways = 0
    ways_with: list[dict[str, int]] = [{} for _ in held]
    everybody = range(len(held))
    for dealt in itertools.permutations(held):
        if any(len(values) != len(own) for values, own in zip(dealt, held, strict=True)):
            continue
        if any(
            meets([dealt[person] for person in everybody if person in left])
            and meets([dealt[person] for person in everybody if person not in left])
            for left in cuts
        ):
            continue
        n_ways += 1
        for person, values in enumerate(dealt):
            for value in set(values):
                ways_with[person][value] = ways_with[person].get(value, 0) + 1
    return [{value: Fraction(n, n_ways) for value, n in ways.items()} for ways in ways_with]


def meets_h(h: Fraction) -> Callable[[list[Values]], bool]:
    """No value belongs to more than a share h of the persons."""

    def meets(side: list[Values]) -> bool:
        values = {value for held in side for value in held}
        return all(sum(value in held for held in side) <= h * len(side) for value in values)

    return meets


def meets_l(least: int) -> Callable[[list[Values]], bool]:
    """There are at least so many values."""
    return lambda side: len({value for held in side for value in held}) >= least
