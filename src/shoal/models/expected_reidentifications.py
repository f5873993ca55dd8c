"""Expected re-identifications: of a sample, at most n persons are expected to be found in the population."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, as_number
from shoal.models.counts import WEIGHTS, GroupCounts
from shoal.models.exact import BoolArray, FloatArray
from shoal.models.individual_risk import individual_risk
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class ExpectedReidentifications(Model):
    """Of the persons of a sample at most n are expected to be found: the sum of their individual risks.

    Parameters
    ----------
    n
        The largest sum, above 0.

    Notes
    -----
    About the whole table: it holds in every group or in none. The individual risk (Benedetti and Franconi) needs
    weights; where the published table does not show them, the number of groups is a bound that is safe. Groups are
    formed without it, and the smallest size of groups is sought by which the release meets it.

    Examples
    --------
    >>> ExpectedReidentifications(n=10).asked
    10.0
    """

    n: float = field(metadata=option("At most N persons of a sample are expected to be found.", metavar="N"))
    name: ClassVar[str] = "expected-reidentifications"
    needs: ClassVar[frozenset[str]] = WEIGHTS | {"persons"}
    higher_is_safer: ClassVar[bool] = False
    has_bound: ClassVar[bool] = True
    is_searched: ClassVar[bool] = True
    is_of_whole_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            n = math.nan if isinstance(self.n, bool) else float(self.n)
        except (TypeError, ValueError):
            n = math.nan
        if not 0 < n < math.inf:
            raise ParameterError(f"n must be a number above 0, got {self.n!r}.")
        object.__setattr__(self, "n", n)

    def while_grouping(self) -> Model | None:
        """Nothing: sizes of groups are tried."""
        return None

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"Of all persons together at most {as_number(self.n)} are expected to be found in the population"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the sum over all groups is small enough; the same for each group."""
        return self.reached(groups) <= self.n

    def holds_by_bound(self, groups: GroupCounts) -> BoolArray:
        """Whether there are so few groups that it holds whatever the population is."""
        return np.full(len(groups), len(groups) <= self.n)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The sum; the same for each group."""
        assert groups.population is not None
        weights = groups.population.weights
        assert weights is not None
        found = groups.persons * individual_risk(groups.persons, weights)
        return np.full(len(groups), math.fsum(found.tolist()))
