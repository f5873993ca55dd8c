"""Every table that leaves meets every model by its own rows, where several related tables leave together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.models.contract import Model
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray


@dataclass(frozen=True)
class EveryTable(Model):
    """Every table that leaves meets every model by its own rows; asked while groups are formed, not by a policy."""

    name: ClassVar[str] = "every table"
    needs: ClassVar[frozenset[str]] = frozenset({"related_rows"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    asked: ClassVar[float] = 1.0

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group keeps to it."""
        assert groups.related is not None
        return groups.related.holds()

    def reached(self, groups: GroupCounts) -> FloatArray:
        """1 where a group keeps to it, else 0."""
        return self.holds(groups).astype(np.float64)
