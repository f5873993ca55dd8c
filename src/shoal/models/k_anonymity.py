"""k-anonymity: every group has at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.models.contract import Dial, Model, SpreadLimits
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_count
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Model):
    """Every group has at least k records (Samarati and Sweeney, 1998).

    Parameters
    ----------
    k
        The fewest records, a whole number of at least 1.

    Notes
    -----
    It counts records: k records of one person hold. Where persons have many records, ask for `RecordRisk`, `GBalance`
    or `PersonKAnonymity`. Monotone: a merged group has more records than either part.

    Examples
    --------
    >>> KAnonymity(k=5).asked
    5.0
    """

    k: int = field(metadata=option("Every group has at least K records.", metavar="K"))
    name: ClassVar[str] = "k-anonymity"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"records"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    flag: ClassVar[str | None] = "k"
    dial: ClassVar[Dial | None] = Dial.count()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"Every group has at least {self.k} records, which may be those of one person"

    @property
    def holds_with_more(self) -> bool:
        """Whoever comes makes a group larger."""
        return True

    @property
    def limits(self) -> SpreadLimits:
        """The model said as limits."""
        return SpreadLimits(least_records=self.k)

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group has at least k records."""
        return groups.records >= self.k

    def holds_by_bound(self, groups: GroupCounts) -> BoolArray:
        """Whether each group is proved to hold where its records are not counted: every person has one at least."""
        return groups.persons >= self.k

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The number of records of each group."""
        return groups.records.astype(np.float64)
