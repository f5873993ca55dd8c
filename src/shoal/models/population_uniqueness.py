"""Population uniqueness: at most a share of the population is estimated to be unique by what is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, as_share
from shoal.models.counts import WEIGHTS, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_choice, as_fraction
from shoal.models.uniqueness import ClassSizes, population_uniques
from shoal.parts import option

ESTIMATORS = ("dankar", "pitman", "zayatz", "snb")


@dataclass(frozen=True, kw_only=True)
class PopulationUniqueness(Model):
    """At most a share of the persons of the population is estimated to be unique by what a sample shows.

    Parameters
    ----------
    share
        The largest share, from 0 to 1.
    estimator
        "dankar" (which chooses between the others by the share that was drawn), "pitman", "zayatz" or "snb".
    fraction
        The share of the population that is in the table; unless told the weights say it.

    Notes
    -----
    About the whole table: it holds in every group or in none. Where an estimator does not apply it does not hold. A
    release without groups of one person meets it at any share. Groups are formed without it, and the smallest size of
    groups is sought by which the release meets it.

    Examples
    --------
    >>> PopulationUniqueness(share=0.01).asked
    0.01
    """

    share: Fraction = field(
        metadata=option("At most this share of the population is estimated to be unique.", metavar="X")
    )
    estimator: str = field(
        default="dankar", metadata=option("The estimator: dankar, pitman, zayatz or snb.", metavar="NAME")
    )
    fraction: Fraction | None = field(
        default=None, metadata=option("The share of the population that is in the table.", metavar="X")
    )
    name: ClassVar[str] = "population-uniqueness"
    higher_is_safer: ClassVar[bool] = False
    has_bound: ClassVar[bool] = True
    is_searched: ClassVar[bool] = True
    is_of_whole_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", as_fraction(self.share, name="share"))
        if not 0 <= self.share <= 1:
            raise ParameterError(f"share must lie between 0 and 1, got {self.share}.")
        as_choice(self.estimator, name="estimator", choices=ESTIMATORS)
        if self.fraction is not None:
            object.__setattr__(self, "fraction", as_fraction(self.fraction, name="fraction"))
            if not 0 < self.fraction <= 1:
                raise ParameterError(f"fraction must lie above 0 and be at most 1, got {self.fraction}.")

    @property
    def needs(self) -> frozenset[str]:
        """Persons, and weights unless the share that was drawn is told."""
        return frozenset({"persons"}) | (WEIGHTS if self.fraction is None else frozenset())

    def while_grouping(self) -> Model | None:
        """Nothing: sizes of groups are tried."""
        return None

    @property
    def enough_persons(self) -> int:
        """Two: who is not alone in the table is not alone in the population."""
        return 2

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"At most {as_share(self.share)} of the population is estimated to be unique by what is shown"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the estimate is small enough; the same for each group."""
        return self.reached(groups) <= float(self.share)

    def holds_by_bound(self, groups: GroupCounts) -> BoolArray:
        """Whether nobody is alone in a group, so that nobody is unique in the population either."""
        return np.full(len(groups), not (groups.persons == 1).any())

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The estimated share; the same for each group."""
        n = int(groups.persons.sum())
        if self.fraction is not None:
            population = float(n / self.fraction)
        else:
            assert groups.population is not None
            weights = groups.population.weights
            assert weights is not None
            population = math.fsum(weights.tolist())
        found = population_uniques(ClassSizes.of(groups.persons, population))[self.estimator]
        return np.full(len(groups), math.inf if found is None else found / population)
