"""SafePub: differential privacy for persons by sampling, classes that do not depend on the data, and suppression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.lattice import levels_for_all, tree_of
from shoal.grouping.per_column import PerColumn, by_column, of_columns, written
from shoal.grouping.sampling import each_by_chance
from shoal.judging.observation import number_equal
from shoal.models.contract import Model
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.table import Table

DEGREES = {"none": 0.0, "low": 0.2, "low-medium": 0.4, "medium": 0.5, "medium-high": 0.6, "high": 0.8}
"""How far up the levels of a hierarchy a degree goes."""
TINY = 1e-9
"""So that a product that is a whole number but for rounding counts as just below it, which asks for more."""
MOST_PERSONS_WEIGHED = 5_000_000
"""So large groups are weighed at the most when k is looked for."""


@dataclass(frozen=True, kw_only=True)
class SafePub(Method):
    """Publish a random sample of persons at fixed levels, without those whose whole record is too rare.

    Parameters
    ----------
    epsilon, delta
        What is promised: whether somebody is in the table or not changes the chance of any release by at most a factor
        e^epsilon, but for a chance of delta. Choose delta far below one in the number of persons.
    degree
        How far up its hierarchy every column is shown: "none", "low", "low-medium", "medium", "medium-high", "high".
    levels
        The levels of columns where they are to be others: "age=2,zip=3".

    Notes
    -----
    After Bild, Kuhn and Prasser (2018), who build on Li, Qardaji and Su (2012). Everybody is drawn with the chance
    beta = 1 - e^-epsilon. What is published of a person is compared as a whole: quasi-identifiers at their levels, and
    all values of all their records that are published beside. Who is drawn and shares that with fewer than k persons
    drawn, themselves included, is left out; k follows from epsilon and delta. Levels must not be chosen by looking at
    the table, and hierarchies must not be made from its values.

    O(n) time. The same table and seed give the same sample: whoever has the seed has no promise.
    """

    epsilon: float = field(default=1.0, metadata=option("The epsilon of differential privacy.", low=0.01, high=5.0))
    delta: float = field(default=1e-6, metadata=option("The delta of differential privacy.", low=1e-15, high=0.5))
    degree: Literal["none", "low", "low-medium", "medium", "medium-high", "high"] = field(
        default="medium", metadata=option("How far up its hierarchy every column is shown, whatever the data.")
    )
    levels: PerColumn = field(
        default=None, metadata=option("The levels of columns, where not by the degree.", metavar="C=N,C=N")
    )
    name: ClassVar[str] = "safepub"
    title: ClassVar[str] = "Differential privacy"
    sentence: ClassVar[str] = (
        "A random sample of persons is published in classes that do not depend on the data, without rare ones."
    )
    is_one_for_all: ClassVar[bool] = True
    draws_persons: ClassVar[bool] = True
    leaves_out_freely: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", written(self.levels))
        super().__post_init__()
        by_column("levels", self.levels)

    @property
    def beta(self) -> float:
        """With which chance everybody is drawn."""
        return -math.expm1(-self.epsilon)

    @cached_property
    def k(self) -> int:
        """How many persons must share what is published of one of them."""
        return k_of(self.epsilon, self.delta)

    @property
    def spends(self) -> tuple[float, float]:
        """Its epsilon and delta."""
        return self.epsilon, self.delta

    @property
    def own_models(self) -> tuple[Model, ...]:
        """Every published group has at least k persons, which a recount can see."""
        return (PersonKAnonymity(k=self.k),)

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Draw persons, and leave out those whose whole record is too rare among them."""
        if table.schema.time is not None:
            raise SchemaError(
                "safepub promises something about all that is published of a person, and a column of times is "
                "published in a way of its own. Drop it, or name the year as quasi-identifier."
            )
        progress("grouping", 0.0)
        names, trees = list(table.quasi), [tree_of(table, levels_for_all(column)) for column in table.quasi.values()]
        level = self._levels(names, [tree.n_levels - 1 for tree in trees])
        shown = np.stack(
            [tree.up[level[name], tree.node_of_person] for name, tree in zip(names, trees, strict=True)], axis=1
        )
        draws = np.random.default_rng() if rng is None else rng
        is_drawn = each_by_chance(table.n_persons, self.beta, draws)
        cell, _ = _numbered(shown)
        whole, n_wholes = _numbered(np.stack([cell, _beside(table)], axis=1))
        stays = is_drawn & (_alike(whole, n_wholes, is_drawn)[whole] >= self.k)
        if not stays.any():
            raise CannotSatisfyError(
                f"Nothing is left to publish: of {int(is_drawn.sum()):,} persons drawn no {self.k:,} share all that is "
                "published of them. Choose higher levels (degree=), fewer sensitive and kept columns, or a larger "
                "epsilon."
            )
        kept, group = np.unique(cell[stays], return_inverse=True)
        group_of_person = np.full(table.n_persons, -1, np.int32)
        group_of_person[stays] = group
        told = {
            "epsilon": self.epsilon, "delta": self.delta, "beta": self.beta, "k": self.k, "levels": level,
            "drawn_persons": int(is_drawn.sum()),
        }  # fmt: skip
        return Grouping(group_of_person, len(kept), notes=self._notes(is_drawn, stays), levels=level, told=told)

    def _levels(self, names: list[str], tops: list[int]) -> dict[str, int]:
        """The level of each column: that which is asked for, or by the degree."""
        given = of_columns("levels", self.levels, names)
        found = {}
        for name, top in zip(names, tops, strict=True):
            level = given.get(name, math.floor(DEGREES[self.degree] * top + 0.5))
            if level != int(level) or not 0 <= level <= top:
                raise ParameterError(f"levels of '{name}' must be a whole number from 0 to {top}, its highest level.")
            found[name] = int(level)
        return found

    def _notes(self, is_drawn: NDArray[np.bool_], stays: NDArray[np.bool_]) -> tuple[str, ...]:
        return (
            f"Differential privacy for persons with epsilon {self.epsilon:g} and delta {self.delta:g}: "
            f"{int(is_drawn.sum()):,} of {len(stays):,} persons were drawn, each with a chance of {self.beta:.4f}, and "
            f"{int((is_drawn & ~stays).sum()):,} of these left out, since fewer than {self.k:,} were alike in all that "
            "is published of them. It holds as long as levels and hierarchies were not chosen by the data, the seed "
            "stays secret, and this is the only release about these persons; several add up, which a ledger does.",
        )


def _alike(whole: NDArray[np.int64], n_wholes: int, is_drawn: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many of the persons drawn share each whole record."""
    return np.bincount(whole[is_drawn], minlength=n_wholes)


def _numbered(rows: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Equal rows under one number."""
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1), len(distinct)


def _beside(table: Table) -> NDArray[np.int64]:
    """A number for all that is published of a person beside quasi-identifiers: their records, as a whole."""
    schema = table.schema
    names = [
        name
        for name in table.frame.columns
        if name in schema.published() and name not in table.quasi and name != schema.person
    ]
    row = np.zeros(table.n_records, np.int32)
    if names:
        row, _ = number_equal([table.frame[name] for name in names])
    persons = (
        pl.DataFrame({"row": row, "person": table.person_of_record})
        .group_by("person")
        .agg(pl.col("row").sort())
        .sort("person")
    )
    number_of: dict[tuple[int, ...], int] = {}
    return np.array([number_of.setdefault(tuple(own), len(number_of)) for own in persons["row"].to_list()], np.int64)


@lru_cache(maxsize=64)
def k_of(epsilon: float, delta: float) -> int:
    """How many persons must be alike, so that sampling and suppression give (epsilon, delta)-differential privacy.

    With beta = 1 - e^-epsilon and gamma = (e^epsilon - 1 + beta) / e^epsilon, a_n is the chance that of n persons more
    than gamma n are drawn; k is one more than the first whose n, from k / gamma - 1 on, all have a_n below delta (ARX
    counts so, and it is on the safe side).
    """
    from scipy.stats import binom

    beta = -math.expm1(-epsilon)
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    rate = gamma * math.log(gamma / beta) - (gamma - beta)
    most = math.ceil(math.log(1 / delta) / rate) + 1  # beyond these a_n <= e^(-n rate) < delta
    if most > MOST_PERSONS_WEIGHED:
        raise ParameterError("No k is found for this epsilon and delta. Choose an epsilon between 0.1 and 4.")
    n = np.arange(1, most + 1)
    chance = binom.sf(np.floor(n * gamma - TINY), n, beta)
    too_likely = np.flatnonzero(chance >= delta)
    last = int(n[too_likely[-1]]) if len(too_likely) else 0
    k = 1
    while math.ceil(k / gamma - 1 - TINY) <= last:
        k += 1
    return k + 1
