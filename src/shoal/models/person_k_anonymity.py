"""Person k-anonymity: every group has at least k persons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.models.contract import Dial, Model, SpreadLimits
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_count
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class PersonKAnonymity(Model):
    """Every group has records of at least k persons, however many records each has.

    Parameters
    ----------
    k
        The fewest persons, a whole number of at least 1.

    Notes
    -----
    It does not see how records are spread: one person may have nearly all of them. `RecordRisk` and `GBalance` do.
    Monotone: a merged group has the persons of both parts.

    Examples
    --------
    >>> PersonKAnonymity(k=5).asked
    5.0
    """

    k: int = field(metadata=option("Every group has at least K persons.", metavar="K"))
    name: ClassVar[str] = "person-k-anonymity"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"persons"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    flag: ClassVar[str | None] = "person-k"
    dial: ClassVar[Dial | None] = Dial.count()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"Every group has at least {self.k} persons"

    @property
    def holds_with_more(self) -> bool:
        """Whoever comes makes a group larger."""
        return True

    @property
    def limits(self) -> SpreadLimits:
        """The model said as limits."""
        return SpreadLimits(least_persons=self.k)

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group has at least k persons."""
        return groups.persons >= self.k

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The number of persons of each group."""
        return groups.persons.astype(np.float64)
