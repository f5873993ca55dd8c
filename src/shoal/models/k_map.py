"""k-map: what every group shows fits at least k persons of the population."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, SpreadLimits
from shoal.models.counts import IN_POPULATION, WEIGHTS, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_choice, as_count, as_fraction
from shoal.parts import option

ESTIMATORS = ("weights", "poisson", "zero-truncated")


@dataclass(frozen=True, kw_only=True)
class KMap(Model):
    """What every group shows fits at least k persons of the population (Sweeney).

    Parameters
    ----------
    k
        The fewest persons, a whole number of at least 1.
    population
        The population: a frame, or the name of a file. Its persons who fit what a group shows are counted.
    estimator
        How the persons are estimated where there is no such table: "weights" adds up the weights of the persons of a
        group; "poisson" and "zero-truncated" ask for so many persons in the table that a class of k persons or fewer
        in the population hardly ever shows them.
    fraction, significance
        For "poisson" and "zero-truncated": the share of the population that is in the table, and how rarely.

    Notes
    -----
    Monotone: a merged group shows what fits the persons of both parts. With a population table or weights groups are
    formed without it, and the smallest size of groups is sought by which the release meets it; where the table is part
    of the population that is at most k.

    Examples
    --------
    >>> KMap(k=5, estimator="poisson", fraction=0.1).least_persons
    5
    """

    k: int = field(metadata=option("k-map: every group fits at least K persons of the population.", metavar="K"))
    population: Any = field(default=None, repr=False, compare=False, metadata=option("", is_kept_apart=True))
    estimator: str | None = field(
        default=None,
        metadata=option("How persons of the population are estimated: weights, poisson or zero-truncated. Without it "
                        "they are counted in the population table.", metavar="NAME"),
    )  # fmt: skip
    fraction: Fraction | None = field(
        default=None, metadata=option("For poisson and zero-truncated: the share that was drawn.", metavar="X")
    )
    significance: float = field(
        default=0.01, metadata=option("For poisson and zero-truncated: how rarely.", metavar="X")
    )
    name: ClassVar[str] = "k-map"
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))
        if self.estimator is not None:
            as_choice(self.estimator, name="estimator", choices=ESTIMATORS)
            if self.population is not None:
                raise ParameterError("k-map takes a population table or an estimator, not both.")
        object.__setattr__(self, "significance", float(_share(self.significance, "significance")))
        if self.fraction is not None:
            object.__setattr__(self, "fraction", _share(self.fraction, "fraction"))
        elif self.is_derived:
            raise ParameterError(f"k-map by the estimator {self.estimator} needs fraction, the share that was drawn.")

    @property
    def is_derived(self) -> bool:
        """Whether it asks for a number of persons of the table alone."""
        return self.estimator in ("poisson", "zero-truncated")

    @property
    def least_persons(self) -> int:
        """How many persons of the table a group must have, by an estimator that asks for them (as ARX derives it)."""
        assert self.fraction is not None
        rate, sure = float(self.k * self.fraction), 1 - self.significance
        seen, total = 0 if self.estimator == "poisson" else 1, 0.0
        some = 1.0 if self.estimator == "poisson" else -math.expm1(-rate)
        while total < sure:
            total += math.exp(seen * math.log(rate) - rate - math.lgamma(seen + 1)) / some
            seen += 1
        return min(self.k, seen + 1 if self.estimator == "poisson" else seen)

    @property
    def needs(self) -> frozenset[str]:
        """Persons, persons of the population, or weights."""
        if self.is_derived:
            return frozenset({"persons"})
        return WEIGHTS if self.estimator == "weights" else IN_POPULATION

    @property
    def is_searched(self) -> bool:
        """Unless persons of the table decide it."""
        return not self.is_derived

    def while_grouping(self) -> Model | None:
        """Itself, where persons of the table decide it."""
        return self if self.is_derived else None

    @property
    def holds_with_more(self) -> bool:
        """Whoever comes in beside only adds persons who fit."""
        return True

    @property
    def limits(self) -> SpreadLimits | None:
        """The model said as limits, where persons of the table decide it."""
        return SpreadLimits(least_persons=self.least_persons) if self.is_derived else None

    def sentence(self) -> str:
        """What it promises, in plain words."""
        if self.is_derived:
            return (
                f"Every group has at least {self.least_persons} persons, so that it hardly ever fits fewer than "
                f"{self.k} persons of the population"
            )
        of = "persons of the population, by the weights" if self.estimator else "persons of the population"
        return f"What a group shows fits at least {self.k} {of}"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group fits at least k persons."""
        if self.is_derived:
            return groups.persons >= self.least_persons
        return np.asarray(self.reached(groups) >= self.k)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The persons of the population that each group fits, as far as they are known."""
        if self.is_derived:
            return groups.persons.astype(np.float64) * self.k / self.least_persons
        assert groups.population is not None
        counted = groups.population.weights if self.estimator == "weights" else groups.population.persons
        assert counted is not None
        return counted.astype(np.float64)


def _share(value: Threshold, name: str) -> Fraction:
    made = as_fraction(value, name=name)
    if not 0 < made <= 1:
        raise ParameterError(f"{name} must lie above 0 and be at most 1, got {value}.")
    return made
