"""Matching diversity: everybody may have at least l values, also to somebody who knows what never goes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.background import known_counts
from shoal.models.contract import Model
from shoal.models.counts import GroupCounts
from shoal.models.exact import LARGEST_L, BoolArray, FloatArray, as_count, as_fraction
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class MatchingDiversity(Model):
    """Everybody may have at least l values once rules such as "no man has ovarian cancer" are known (Li and Li, 2008).

    A value is possible for a person if they may have it by the rules, and all other values of the group can then still
    be dealt out to the others such that no rule is broken (definition 1).

    Parameters
    ----------
    l
        The fewest values that must stay possible for everybody, a whole number of at least 1.
    rules
        What an adversary knows, as `shoal.mine` finds it; None has it mined from the table that is protected.
    column
        The sensitive attribute; None takes each of them.
    min_expectation, max_len
        How rules are mined where none are given: how probable it must be that chance alone would have broken a rule,
        and how many quasi-identifiers a rule may combine. None takes what is said of the adversary's knowledge
        elsewhere (`knowledge` in `shoal.protect`, [knowledge] in a policy), which is 0.9 and 1 by default.

    Notes
    -----
    Exact, by reachability: from the true values, persons can pass theirs on in a circle. O(persons + types x values)
    for each group. Monotone as long as rules stay the same and none is broken by the data, both of which `protect`
    sees to: an assignment of each of two groups is one of both together, so what is possible stays so. Rules that are
    mined anew from other persons need not be the same, and a person who joins a group need not find l values in it.

    A person with several values has a set of them. Sets are dealt out as they are, and at least l values must be
    excluded to exclude all sets that are possible for a person: so at l = 2 nothing is sure of anybody. Where a release
    shows several sensitive attributes side by side (any mask but anatomize and permute), those of a person are
    dealt out together, and each attribute must keep l values.

    Examples
    --------
    >>> MatchingDiversity(l=3, column="disease").asked
    3.0
    """

    l: int = field(  # noqa: E741 - the paper's name
        metadata=option(
            "matching diversity: everybody may have L values, also to somebody who knows which never go with which "
            "quasi-identifiers.",
            metavar="L",
        )
    )
    rules: Any = field(default=None, repr=False, metadata=option("", is_kept_apart=True))
    column: str | None = None
    min_expectation: Fraction | None = field(
        default=None,
        metadata=option(
            "For matching diversity: how probable it must be that chance alone would have broken a rule that is "
            "mined: 0.9 (default).",
            metavar="E",
            flag="min-expectation",
        ),
    )
    max_len: int | None = field(
        default=None,
        metadata=option(
            "For matching diversity: how many quasi-identifiers a rule may combine (1).", metavar="N", flag="max-len"
        ),
    )
    name: ClassVar[str] = "matching-diversity"
    needs: ClassVar[frozenset[str]] = frozenset({"background_values"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    flag: ClassVar[str | None] = "matching-l"
    is_diversity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", as_count(self.l, name="l", at_most=LARGEST_L))
        if self.rules is not None and not hasattr(self.rules, "allowed"):
            raise ParameterError(
                f"rules must be rules as shoal.mine gives them, not {type(self.rules).__name__}. In a policy, facts "
                "are stated under [knowledge]."
            )
        if self.min_expectation is not None:
            expectation = as_fraction(self.min_expectation, name="min_expectation")
            if not 0 < expectation < 1:
                raise ParameterError(f"min_expectation must lie between 0 and 1, got {self.min_expectation}.")
            object.__setattr__(self, "min_expectation", expectation)
        if self.max_len is not None:
            object.__setattr__(self, "max_len", as_count(self.max_len, name="max_len", at_least=0))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        about = f"'{self.column}'" if self.column is not None else "each sensitive attribute"
        return (
            f"Everybody may have at least {self.l} values of {about}, also to somebody who knows which values never go "
            "with which quasi-identifiers"
        )

    def knowing(self, rules: Any) -> MatchingDiversity:
        """The same, reckoning with rules that an adversary knows."""
        return replace(self, rules=rules)

    @property
    def knowledge(self) -> Mapping[str, Any]:
        """How the rules that it reckons with are mined, as far as it says so."""
        said = {"min_expectation": self.min_expectation, "max_len": self.max_len}
        return {name: value for name, value in said.items() if value is not None}

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether everybody in each group may have at least l values of each attribute."""
        counts = known_counts(self.name, groups)
        holds = np.diff(counts.start_of_group) > 0
        for column in self.columns_among(counts.background.columns):
            holds &= counts.by_group(counts.has_left(column, self.l).astype(np.int64)) == 1
        return holds

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The fewest values that somebody in each group may have; 0 where the rules fit no way to deal values out."""
        counts = known_counts(self.name, groups)
        fewest = np.full(len(groups), np.inf)
        for column in self.columns_among(counts.background.columns):
            left = counts.values_left(column, at_least=self.l)
            fewest = np.minimum(fewest, counts.by_group(left))
        return fewest

    def members_below(self, groups: GroupCounts) -> BoolArray:
        """Which members of the groups, in their order, may have fewer than l values of some attribute."""
        counts = known_counts(self.name, groups)
        below = np.zeros(len(counts.who), np.bool_)
        for column in self.columns_among(counts.background.columns):
            below |= ~counts.has_left(column, self.l)
        return below
