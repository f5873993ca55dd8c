"""No attack: finding a person of any group costs an adversary more than it gains (Wan and others 2015)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, SpreadLimits, as_number
from shoal.models.counts import IN_POPULATION, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_choice, as_fraction
from shoal.parts import option

ATTACKERS = ("prosecutor", "journalist")


@dataclass(frozen=True, kw_only=True)
class NoAttack(Model):
    """An attack on a person gains less than it costs: gain / (persons who fit) < cost, in every group.

    The game between a publisher and an adversary (Wan and others 2015), played so that no attack pays.

    Parameters
    ----------
    gain, cost
        What an adversary gains from a person who is found, and what an attack on one costs.
    attacker
        "prosecutor" knows that the person is in the table: the persons of the group fit. "journalist" does not: the
        persons of the population fit, by a population table.
    population
        For "journalist": a frame, or the name of a file.

    Notes
    -----
    Monotone: more persons fit a merged group. Equality does not pass: an adversary who neither wins nor loses may
    attack.

    Examples
    --------
    >>> NoAttack(gain=300, cost=4).least_persons
    76
    """

    gain: Fraction = field(metadata=option("What an adversary gains from a person who is found."))
    cost: Fraction = field(metadata=option("What an attack on a person costs."))
    attacker: str = "prosecutor"
    population: Any = field(default=None, repr=False, compare=False, metadata=option("", is_kept_apart=True))
    name: ClassVar[str] = "no-attack"
    shared_flag: ClassVar[tuple[str, str, str] | None] = (
        "GAIN,COST", "No attack pays: what a found person gains, and what an attack costs", "300,4",
    )  # fmt: skip
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("gain", "cost"):
            made = as_fraction(getattr(self, name), name=name)
            object.__setattr__(self, name, made)
            if made <= 0:
                raise ParameterError(f"{name} must be above 0, got {as_number(made)}.")
        as_choice(self.attacker, name="attacker", choices=ATTACKERS)
        if self.population is not None and self.attacker == "prosecutor":
            raise ParameterError("A population table is for attacker = 'journalist'.")

    @property
    def least_persons(self) -> int:
        """How many persons must fit: the fewest by which an attack does not pay."""
        return int(self.gain / self.cost) + 1

    @property
    def asked(self) -> float:
        """The fewest persons who must fit."""
        return float(self.least_persons)

    @property
    def needs(self) -> frozenset[str]:
        """Persons, or persons of the population."""
        return frozenset({"persons"}) if self.attacker == "prosecutor" else IN_POPULATION

    @property
    def is_searched(self) -> bool:
        """Where a population table says who fits."""
        return self.attacker == "journalist"

    def while_grouping(self) -> Model | None:
        """Itself, where persons of the table decide it."""
        return None if self.is_searched else self

    @property
    def holds_with_more(self) -> bool:
        """Whoever comes in beside only adds persons who fit."""
        return True

    @property
    def limits(self) -> SpreadLimits | None:
        """The model said as limits, where persons of the table decide it."""
        return None if self.is_searched else SpreadLimits(least_persons=self.least_persons)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return (
            f"No attack pays: at least {self.least_persons:,} persons fit every group, where a found person gains "
            f"{as_number(self.gain)} and an attack costs {as_number(self.cost)}"
        )

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether so many persons fit each group."""
        return np.asarray(self._fit(groups) >= self.least_persons)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The persons who fit each group."""
        return self._fit(groups).astype(np.float64)

    def _fit(self, groups: GroupCounts) -> Any:
        if not self.is_searched:
            return groups.persons
        assert groups.population is not None
        assert groups.population.persons is not None
        return groups.population.persons
