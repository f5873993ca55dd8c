"""delta-presence: that somebody of the population is in the table is neither too likely nor too unlikely."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, as_share
from shoal.models.counts import IN_POPULATION, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_fraction, ratio_at_most
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Model):
    """Of the persons of the population who fit a group, between `low` and `high` are in the table (Nergiz 2007).

    Parameters
    ----------
    high, low
        The largest and the smallest share, from 0 to 1.
    population
        The population: a frame, or the name of a file. The persons of the table are some of its persons.

    Notes
    -----
    Not monotone: of a merged group more persons of the population may fit than of its parts. Groups are formed without
    it, sizes are tried, and it is verified at the end. With a `low` above 0 every person of the population must fit
    some group.

    Examples
    --------
    >>> DeltaPresence(high=0.5).asked
    0.5
    """

    high: Fraction = field(
        metadata=option("delta-presence: at most this share of those who fit a group are in the table.", metavar="X")
    )
    low: Fraction = field(
        default=cast(Fraction, 0), metadata=option("delta-presence: at least this share of those who fit.", metavar="X")
    )
    population: Any = field(default=None, repr=False, compare=False, metadata=option("", is_kept_apart=True))
    name: ClassVar[str] = "delta-presence"
    needs: ClassVar[frozenset[str]] = IN_POPULATION | {"persons"}
    higher_is_safer: ClassVar[bool] = False
    is_searched: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("high", "low"):
            object.__setattr__(self, name, as_fraction(getattr(self, name), name=name))
        if not 0 <= self.low <= self.high <= 1 or not self.high:
            raise ParameterError(f"low and high must be shares with 0 <= low <= high, got {self.low} and {self.high}.")

    def while_grouping(self) -> Model | None:
        """Nothing: sizes of groups are tried."""
        return None

    def sentence(self) -> str:
        """What it promises, in plain words."""
        least = f"at least {as_share(self.low)} and " if self.low else ""
        return (
            f"Of the persons of the population who fit a group, {least}at most {as_share(self.high)} are in the table"
        )

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the share of each group lies within the limits, exactly."""
        assert groups.population is not None
        persons = groups.population.persons
        assert persons is not None
        if self.low and groups.population.outside:
            return np.zeros(len(groups), np.bool_)
        return ratio_at_most(groups.persons, persons, self.high) & ratio_at_most(-groups.persons, persons, -self.low)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The share of each group; that farthest below `low` counts as 1."""
        assert groups.population is not None
        persons = groups.population.persons
        assert persons is not None
        return np.asarray(groups.persons / np.maximum(persons, 1))
