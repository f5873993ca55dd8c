"""Subset k: whoever knows any few of the quasi-identifiers of a person has k persons to choose from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.models.contract import Dial, Model, SpreadLimits
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_count
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class SubsetK(Model):
    """Whatever m of the quasi-identifiers somebody knows of a person, at least k persons fit.

    Parameters
    ----------
    k
        The fewest persons, a whole number of at least 1.
    m
        How many quasi-identifiers an adversary knows at the most, a whole number of at least 1.

    Notes
    -----
    Less than `PersonKAnonymity`, which counts those who fit all quasi-identifiers: whoever fits these fits any m. So a
    method that knows nothing of it asks for groups of k persons. Cell suppression with `missing_matches="all"` hides
    less for it, as sdcMicro does with `combs`, and there it is recounted for every set of m columns. Monotone: a merged
    group has the persons of both parts.

    Examples
    --------
    >>> SubsetK(k=3, m=2).asked
    3.0
    """

    k: int = field(metadata=option("At least K persons fit whatever few quasi-identifiers are known.", metavar="K"))
    m: int = field(default=3, metadata=option("How many quasi-identifiers are known at the most.", metavar="M"))
    name: ClassVar[str] = "subset-k"
    needs: ClassVar[frozenset[str]] = frozenset({"persons"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    flag: ClassVar[str | None] = "subset-k"
    dial: ClassVar[Dial | None] = Dial.count()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))
        object.__setattr__(self, "m", as_count(self.m, name="m"))

    @property
    def known_columns(self) -> int | None:
        """m."""
        return self.m

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"Whoever knows any {self.m} quasi-identifiers of a person has at least {self.k} persons to choose from"

    @property
    def holds_with_more(self) -> bool:
        """Whoever comes makes a group larger."""
        return True

    @property
    def limits(self) -> SpreadLimits:
        """Enough persons who fit all quasi-identifiers are enough for any m."""
        return SpreadLimits(least_persons=self.k)

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether at least k persons fit what is known of any person of each group."""
        return self.reached(groups) >= self.k

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The fewest persons who fit any m columns, where that was counted; else those who fit all."""
        return groups.persons_by_known.get(self.m, groups.persons).astype(np.float64)
