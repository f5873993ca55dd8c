"""The risk of households: that at least one member is found, and that all are.

Whoever finds one member finds the household. Members who show the same quasi-identifiers are not found independently
of each other: of two who are alike in a class of two, either both are told right or none. So the members of a class
are counted together, by matchings of persons to records, and only different classes are multiplied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.models.individual_risk import all_right, individual_risk

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class HouseholdRisk:
    """The risk of households.

    Attributes
    ----------
    households
        How many there are.
    expected_any, expected_all
        In how many at least one member is expected to be found, and in how many everybody.
    persons_by_any
        How many persons live in households of which a member is expected to be found.
    max_any
        The largest chance that a member of a household is found.
    multiplied
        The same as `persons_by_any` where members are taken to be found independently (as sdcMicro has it); it is
        larger where members are alike.
    """

    households: int
    expected_any: float
    expected_all: float
    persons_by_any: float
    max_any: float
    multiplied: float


def household_risk(
    household_of_person: IntArray, class_of_person: IntArray, persons: IntArray, in_population: FloatArray
) -> HouseholdRisk:
    """The risk of households whose members stand in classes of f persons in the sample and F in the population.

    Parameters
    ----------
    persons, in_population
        f and F of each class; where both are equal F is known, else it is estimated by a sum of weights.
    """
    _, household = np.unique(household_of_person, return_inverse=True)
    household = household.reshape(-1)
    n = int(household.max()) + 1
    members = np.bincount(household, minlength=n)
    pairs, alike = np.unique(household * len(persons) + class_of_person, return_counts=True)
    of_household, of_class = pairs // len(persons), pairs % len(persons)
    own = individual_risk(persons, in_population)
    none, every = _matched(alike, persons[of_class], in_population[of_class], own[of_class])
    nobody = _product(none, of_household, n)
    everybody = _product(every, of_household, n)
    apart = _product(1 - own[class_of_person], household, n)
    return HouseholdRisk(
        households=n,
        expected_any=math.fsum((1 - nobody).tolist()),
        expected_all=math.fsum(everybody.tolist()),
        persons_by_any=math.fsum(((1 - nobody) * members).tolist()),
        max_any=float((1 - nobody).max()),
        multiplied=math.fsum(((1 - apart) * members).tolist()),
    )


def _product(factors: FloatArray, of: IntArray, n: int) -> FloatArray:
    """The product of the factors of each household."""
    made = np.ones(n)
    np.multiply.at(made, of, factors)
    return made


def _matched(alike: IntArray, f: IntArray, population: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chances that none, and that each, of m alike members of a class is matched right, by a random matching."""
    none, every = 1 - own, own.copy()
    keys, place = np.unique(np.stack([alike, f, population], axis=1), axis=0, return_inverse=True)
    several = np.flatnonzero(keys[:, 0] > 1)
    for number in several:
        m, in_sample, in_population = int(keys[number, 0]), int(keys[number, 1]), float(keys[number, 2])
        chances = [1.0] + [all_right(j, in_sample, in_population) for j in range(1, m + 1)]
        told = math.fsum((-1) ** j * math.comb(m, j) * chances[j] for j in range(m + 1))
        none[place.reshape(-1) == number] = min(1.0, max(0.0, told))
        every[place.reshape(-1) == number] = chances[m]
    return none, every
