"""How fast buckets are formed: beside the paper's form, which looks at every person again and again, and at scale.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Nominal, Schema
from shoal.attacking.mining import Item, Rule, Rules
from shoal.attacking.mining.adversary import face
from shoal.grouping import Buckets
from shoal.kernels import bucketing
from shoal.models import Model
from shoal.table.table import Table
from tests.naive import buckets as naive

L = 6
SIZES = {"work": 7, "school": 16, "family": 7, "origin": 5, "sex": 2}
COMMON = np.array([13.4, 13.4, 13.2, 12.3, 11.9, 10.6, 6.5, 5.2, 4.5, 3.3, 3.0, 2.1, 0.5, 0.1])
"""How common each of 14 jobs is."""
NEVER = {"sex": {"0": [13]}, "work": {"5": [12], "6": [12, 11]}, "school": {"13": [3, 10], "14": [6, 8], "15": [5, 8]}}
"""Jobs that nobody of some category has, and that is known."""


def census(n: int, seed: int = 1) -> pl.DataFrame:
    """People whose jobs go with their age, schooling and sex."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {"age": chance.integers(17, 90, n)}
    weight = COMMON * np.exp(-0.001 * (columns["age"][:, None] - 20.0 - 4.0 * np.arange(14)) ** 2 / 4)
    for name, size in SIZES.items():
        codes = np.minimum((size * chance.random(n) ** 1.5).astype(np.int64), size - 1)
        weight *= np.exp(0.7 * chance.standard_normal((size, 14)))[codes]
        for category, jobs in NEVER.get(name, {}).items():
            weight[np.ix_(codes == int(category), jobs)] = 0
        columns[name] = codes.astype(str)
    for _ in range(5):  # so that jobs are as common as they should be
        weight /= weight.sum(axis=1, keepdims=True)
        weight *= COMMON / weight.sum(axis=0)
    summed = np.cumsum(weight, axis=1)
    job = (chance.random(n)[:, None] * summed[:, -1:] > summed).sum(axis=1)
    return pl.DataFrame(columns).with_columns(pl.Series("job", np.char.add("j", job.astype(str))))


def rules(columns: tuple[str, ...]) -> Rules:
    return Rules(
        tuple(
            Rule((Item(column, category),), Item("job", f"j{job}"))
            for column in columns
            for category, jobs in NEVER[column].items()
            for job in jobs
        )
    )


@cache
def known(n: int, columns: tuple[str, ...] = tuple(NEVER)) -> tuple[Table, tuple[Model, ...]]:
    """The table of n persons, facing somebody who knows the rules about some columns."""
    schema = Schema(quasi=["age", *map(Nominal, SIZES)], sensitive=["job"])
    model = shoal.MatchingDiversity(l=L, rules=rules(columns))
    return face(Table.from_frame(census(n), schema), [model], is_linked=False)


def seconds(n: int, method: Any, *, times: int = 3, columns: tuple[str, ...] = tuple(NEVER)) -> float:
    """CPU seconds to form the buckets of n persons, the median of some runs after one that compiles."""
    method.bucketize(*known(3_000))
    table, models = known(n, columns)
    taken = []
    for seed in range(times):
        started = time.process_time()
        method.bucketize(table, models, rng=np.random.default_rng(seed))
        taken.append(time.process_time() - started)
    return sorted(taken)[times // 2]


def test_a_million_persons_take_at_most_four_seconds() -> None:
    small, large = seconds(30_162, Buckets()), seconds(1_000_000, Buckets())
    found = Buckets().bucketize(*known(1_000_000))
    print(
        f"\nl = {L}, {found.n_kinds} kinds of persons: 30,162 persons {small:.3f} s CPU, 1,000,000 {large:.2f} s; "
        f"{found.n_left_over:,} left over"
    )
    assert small <= 0.2
    assert large <= 4


@pytest.mark.parametrize("order", ["similar", "balanced", "rarest"])
def test_growth_is_linear_in_persons(order: str) -> None:
    sizes = (125_000, 250_000, 500_000, 1_000_000)
    costs = [seconds(n, Buckets(order=order), times=1 if order == "rarest" else 3) for n in sizes]
    print(f"\n{order}: " + "; ".join(f"{n:,} {cost:.2f} s" for n, cost in zip(sizes, costs, strict=True)))
    assert costs[-1] / costs[0] <= 8 * 2  # steps are linear; a table that no cache holds costs more a step


def test_it_is_a_thousand_times_faster_than_looking_at_every_person() -> None:
    n, columns = 3_000, ("sex",)  # with all rules it takes half an hour
    table, _ = known(n, columns)
    type_of_person, allowed = table.adversary.types_of_person["job"]  # type: ignore[union-attr]
    persons = [
        naive.Person(frozenset([int(value)]), frozenset(np.flatnonzero(~allowed[kind]).tolist()))
        for kind, value in zip(type_of_person, table.sensitive["job"].codes, strict=True)
    ]
    started = time.process_time()
    buckets, _ = naive.deal(persons, L, "rarest")
    plain = time.process_time() - started
    for order in ("similar", "rarest"):
        fast = seconds(n, Buckets(order=order), times=5, columns=columns)
        print(f"\n{n:,} persons: person by person {plain:.0f} s, {order} {fast:.4f} s: {plain / fast:,.0f} times")
        assert plain / fast >= 1000
    distinct = sorted(set(persons), key=lambda person: (min(person.has), sorted(person.never)))
    number = {person: at for at, person in enumerate(distinct)}
    compatible = np.array([[naive.are_compatible(a, b) for b in distinct] for a in distinct])
    may_have = np.array([[naive.may_have(a, b) for b in distinct] for a in distinct])
    item = np.array([min(person.has) for person in distinct], np.int32)
    kinds = bucketing.Kinds(compatible, may_have, np.arange(len(distinct) + 1), item, len(COMMON))
    kind_at = np.array([number[person] for person in persons], np.int32)
    assert bucketing.deal(kind_at, kinds, L, bucketing.RAREST)[1] == len(buckets), "both form the same"
