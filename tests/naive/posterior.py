"""How probable values are for the persons of a group, by all ways to deal them out; and rules with exceptions."""

from fractions import Fraction
from itertools import permutations
from math import comb, prod


def posteriors(weights, holdings):
    """For each person and item the probability that they have it.

    `weights[p][item]` says how likely person p is to have an item, beside others; `holdings` are what the persons have,
    each a tuple of items, in any order. A way to deal them out has the product of the weights of all items. None where
    no way has any weight.
    """
    persons = range(len(holdings))
    items = sorted({item for holding in holdings for item in holding})
    total = Fraction(0)
    having = [dict.fromkeys(items, Fraction(0)) for _ in persons]
    for dealt in permutations(holdings):
        weight = prod(
            (Fraction(weights[person][item]) for person in persons for item in dealt[person]), start=Fraction(1)
        )
        total += weight
        for person in persons:
            for item in dealt[person]:
                having[person][item] += weight
    if total == 0:
        return None
    return [{item: share / total for item, share in each.items()} for each in having]


def unusual_rules(values_of_person, nodes_of_person, min_expectation):
    """Nodes and values that meet unusually often or seldom, but do meet: node, value, persons of the node, lift.

    Unusual: drawing as many persons from all at random, each with replacement, would give as few or as many of them the
    value with a probability of at most 1 - min_expectation.
    """
    n = len(values_of_person)
    found = set()
    for node in {node for nodes in nodes_of_person for node in nodes}:
        inside = [values for values, nodes in zip(values_of_person, nodes_of_person, strict=True) if node in nodes]
        for value in {value for values in values_of_person for value in values}:
            share = Fraction(sum(value in values for values in values_of_person), n)
            met = sum(value in values for values in inside)
            chance = [
                comb(len(inside), k) * share**k * (1 - share) ** (len(inside) - k) for k in range(len(inside) + 1)
            ]
            tail = min(sum(chance[: met + 1]), sum(chance[met:]))
            lift = Fraction(met, len(inside)) / share
            if met and lift != 1 and tail <= 1 - min_expectation:
                found.add((node, value, len(inside), lift))
    return found
