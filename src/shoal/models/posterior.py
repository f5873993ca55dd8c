"""Posterior: nobody is believed to have a value with more than a given probability, also by who knows its chances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.background import BackgroundCounts, known_counts
from shoal.models.contract import Model, as_share
from shoal.models.counts import BACKGROUND, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_fraction
from shoal.parts import option

ROUNDING = 1e-9
"""Probabilities are floating-point numbers; those within this of the limit are taken to be the limit."""


@dataclass(frozen=True, kw_only=True)
class Posterior(Model):
    """No value is anybody's with a probability of more than c, also to somebody who knows how likely each value is.

    An adversary knows how much likelier a value is for some persons than for others, from rules that have exceptions
    and from stated chances. By the release they know the values of each group. The probability that somebody has a
    value is that of all ways to deal the group's values out in which they do, each way weighing as much as its chances
    say (what Li and Li, 2008, section VIII-B, leave to later work).

    Parameters
    ----------
    c
        The largest probability, in (0, 1].
    rules
        What an adversary knows; None has it mined from the table that is protected.
    column
        The sensitive attribute; None takes each of them.

    Notes
    -----
    Exact by permanents in groups whose values can be dealt out in few ways up to alike ones (`MOST_STATES` of the
    kernel), and elsewhere by an upper bound that is equal to the share of a value where nobody is likelier to have it
    than others: never a wrong yes. Not monotone: in a larger group there may be more of just the value that somebody is
    likely to have. Without rules it is the share of a value among a group's persons, as in h-affiliation.

    Examples
    --------
    >>> Posterior(c=0.5).asked
    0.5
    """

    c: Threshold = field(
        metadata=option(
            "posterior: no value is anybody's with more than this probability, also to who knows its chances.",
            metavar="C",
        )
    )
    rules: Any = field(default=None, repr=False, metadata=option("", is_kept_apart=True))
    column: str | None = None
    name: ClassVar[str] = "posterior"
    needs: ClassVar[frozenset[str]] = BACKGROUND
    higher_is_safer: ClassVar[bool] = False

    def __post_init__(self) -> None:
        c = as_fraction(self.c, name="c")
        if not 0 < c <= 1:
            raise ParameterError(f"c must lie in (0, 1], got {float(c):g}.")
        object.__setattr__(self, "c", c)
        if self.rules is not None and not hasattr(self.rules, "allowed"):
            raise ParameterError(f"rules must be rules as shoal.mine gives them, not {type(self.rules).__name__}.")

    def sentence(self) -> str:
        """What it promises, in plain words."""
        about = f"'{self.column}'" if self.column is not None else "each sensitive attribute"
        return (
            f"No value of {about} is anybody's with a probability of more than {as_share(self.c)}, also to somebody "
            "who knows how likely values are by quasi-identifiers"
        )

    def knowing(self, rules: Any) -> Posterior:
        """The same, reckoning with rules that an adversary knows."""
        return replace(self, rules=rules)

    @property
    def knowledge(self) -> Mapping[str, Any]:
        """Rules with exceptions are mined too."""
        return {"chances": True}

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether nobody in each group has a value with a higher probability."""
        return self.reached(groups) <= float(self.c) + ROUNDING

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The highest probability of a value for anybody in each group, or a bound above it; 1 in an empty group."""
        counts = known_counts(self.name, groups)
        start = counts.start_of_group
        highest = np.ones(len(groups))
        some = np.diff(start) > 0
        if some.any():
            highest[some] = np.maximum.reduceat(self._of_members(counts), start[:-1][some])
        return highest

    def members_below(self, groups: GroupCounts) -> BoolArray:
        """Which members of the groups, in their order, have a value with a higher probability."""
        return self._of_members(known_counts(self.name, groups)) > float(self.c) + ROUNDING

    def _of_members(self, counts: BackgroundCounts) -> FloatArray:
        highest = np.zeros(len(counts.who))
        for column in self.columns_among(counts.background.columns):
            highest = np.maximum(highest, counts.highest_posterior(column))
        return highest
