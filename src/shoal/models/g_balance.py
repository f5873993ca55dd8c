"""g-balance: records are spread evenly over the persons of every group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.models.contract import Dial, Model, SpreadLimits, as_number
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_count, as_fraction, ratio_at_most, share, squared
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class GBalance(Model):
    """Records are spread evenly over the persons of every group (Kartal and Li, 2020, definition 1).

    Parameters
    ----------
    g
        The lowest value of 1 - sum (c_i / sum c)^2 that a group may have, in [0, 1); c_i is the number of records of
        person i.

    Notes
    -----
    A group that holds has at least 1 / (1 - g) persons (theorem 1). Merging groups of different persons never lowers
    g below the lower of the two, so the model is monotone.

    Examples
    --------
    >>> GBalance(g=0.8).g
    Fraction(4, 5)
    >>> GBalance.for_k(5) == GBalance(g=0.8)
    True
    """

    g: Threshold = field(
        metadata=option(
            "Records are spread evenly over the persons of every group: 0.8. Or k=5, for the g that 5 persons with "
            "equally many records have.",
            metavar="G",
        )
    )
    name: ClassVar[str] = "g-balance"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"records", "squared_records"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    stand_ins: ClassVar[Mapping[str, str]] = MappingProxyType({"k": "for_k"})
    dial: ClassVar[Dial | None] = Dial(
        lambda size: 1 - 1 / size, lambda g: 1 / (1 - g) if g < 1 else math.inf, is_free=True, digits_from_one=True
    )

    def __post_init__(self) -> None:
        g = as_fraction(self.g, name="g")
        if not 0 <= g < 1:
            raise ParameterError(f"g must lie in [0, 1), got {float(g):g}. g = 1 - 1/k relates it to k.")
        object.__setattr__(self, "g", g)

    @classmethod
    def for_k(cls, k: int) -> GBalance:
        """The g that equals k-anonymity where each person has one record: g = 1 - 1/k (equation 3)."""
        return cls(g=1 - Fraction(1, as_count(k, name="k")))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        persons = 1 / (1 - Fraction(self.g))
        return (
            f"In every group records are spread at least as evenly as over {as_number(persons)} persons with equally "
            "many"
        )

    @property
    def limits(self) -> SpreadLimits:
        """The model said as limits."""
        return SpreadLimits(largest_squares=1 - self.g)  # type: ignore[operator, arg-type]

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the squared shares of the persons sum to at most 1 - g."""
        most = 1 - as_fraction(self.g, name="g")
        return ratio_at_most(groups.squared_records, squared(groups.records), most)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The g-balance of each group."""
        all_pairs = squared(groups.records)
        return share(all_pairs - groups.squared_records, all_pairs)
