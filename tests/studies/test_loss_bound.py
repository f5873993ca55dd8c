"""No grouping loses less than the bound: on small tables the best of all groupings is found exactly."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.grouping import Grouping
from shoal.measuring.utility import measure_utility
from shoal.table.table import Table
from studies.loss_bound import bound_on_ane


def least_ane(table: Table, rho: str) -> float:
    """The least error of all groupings under record risk: of all sets of persons that hold, the best partition."""
    judge = shoal.RecordRisk(rho=rho)
    everyone = range(table.n_persons)
    cost = {}
    for size in range(2, table.n_persons + 1):
        for group in itertools.combinations(everyone, size):
            records = table.records_of_person[list(group)]
            if records.max() <= float(judge.rho) * records.sum() + 1e-12:
                numbers = np.zeros(table.n_persons, np.int32)
                others = [person for person in everyone if person not in group]
                numbers[others] = np.arange(1, len(others) + 1)
                whole = measure_utility(table, Grouping(numbers, len(others) + 1)).ane
                alone = measure_utility(table, _apart(table)).ane
                cost[group] = whole - alone
    best = {frozenset(): 0.0}
    for count in range(1, table.n_persons + 1):
        for some in itertools.combinations(everyone, count):
            options = [
                best[frozenset(some) - frozenset(group)] + price
                for group, price in cost.items()
                if group[0] == some[0] and set(group) <= set(some)
            ]
            best[frozenset(some)] = min(options, default=math.inf)
    return best[frozenset(everyone)] + measure_utility(table, _apart(table)).ane


def _apart(table: Table) -> Grouping:
    return Grouping(np.arange(table.n_persons, dtype=np.int32), table.n_persons)


@pytest.mark.parametrize("rho", ["1/2", "1/3"])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_groupings_loses_no_less_than_the_bound(rho: str, seed: int) -> None:
    chance = random.Random(seed)
    rows = []
    for person in range(6):
        age, pay = chance.randrange(100), chance.randrange(100)
        for _ in range(chance.randint(1, 3)):
            drift = chance.choice([0, 0, 5]) if seed % 2 else 0
            rows.append((person, age + drift, pay, chance.choice("ab"), "flu"))
    frame = pl.DataFrame(rows, schema=["person", "age", "pay", "sex", "disease"], orient="row")
    quasi = ["age", "pay", *([shoal.Nominal("sex")] if seed > 1 else [])]
    frame = frame if seed > 1 else frame.drop("sex")
    table = Table.from_frame(frame, shoal.Schema(person="person", quasi=quasi, sensitive=["disease"]))
    best, bound = least_ane(table, rho), bound_on_ane(table, rho)
    assert 0 < bound <= best + 1e-12
    if seed == 0:
        assert bound > 0.15 * best, "a bound that says nothing"
