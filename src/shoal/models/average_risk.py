"""Average risk: over all persons, the mean chance to be found is at most r."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, as_share
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_fraction
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class AverageRisk(Model):
    """The mean over all persons of one divided by the persons of their group is at most r (marketer risk).

    Parameters
    ----------
    r
        The largest mean, above 0 and at most 1.

    Notes
    -----
    About the whole table: it holds in every group or in none. The mean is the number of groups divided by that of
    persons, so that a few small groups are no matter: ask for `PersonKAnonymity` as well where nobody may stand out.
    Groups are formed without it, and the smallest size of groups is sought by which the release meets it.

    Examples
    --------
    >>> AverageRisk(r=0.05).asked
    0.05
    """

    r: Fraction = field(metadata=option("The mean chance of a person to be found is at most R.", metavar="R"))
    name: ClassVar[str] = "average-risk"
    needs: ClassVar[frozenset[str]] = frozenset({"persons"})
    higher_is_safer: ClassVar[bool] = False
    is_searched: ClassVar[bool] = True
    is_of_whole_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "r", as_fraction(self.r, name="r"))
        if not 0 < self.r <= 1:
            raise ParameterError(f"r must lie above 0 and be at most 1, got {self.r}.")

    def while_grouping(self) -> Model | None:
        """Nothing: sizes of groups are tried."""
        return None

    @property
    def enough_persons(self) -> int:
        """So many that nobody is found more likely than the mean may be."""
        return math.ceil(1 / self.r)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"Averaged over all persons, the chance to be found is at most {as_share(self.r)}"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the mean over all groups is small enough, exactly; the same for each group."""
        is_met = len(groups) * self.r.denominator <= self.r.numerator * int(groups.persons.sum())
        return np.full(len(groups), is_met)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The mean; the same for each group."""
        return np.full(len(groups), len(groups) / max(int(groups.persons.sum()), 1))
