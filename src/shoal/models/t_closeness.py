"""t-closeness: the sensitive values of every group are distributed nearly as those of the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Dial, OnSensitive, as_number
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import (
    BoolArray,
    FloatArray,
    IntArray,
    Threshold,
    as_choice,
    as_fraction,
    ratio_at_most,
    share,
)
from shoal.models.likeness import compare, ordered_distance
from shoal.parts import option

DISTANCES = ("equal", "ordered")
COUNTS = ("records", "persons")


@dataclass(frozen=True, kw_only=True)
class TCloseness(OnSensitive):
    """The sensitive values of every group are distributed nearly as in the whole table (Li, Li and others, 2007).

    Parameters
    ----------
    t
        The largest distance between the two distributions, in [0, 1].
    distance
        "equal": every two values are equally far apart, half the sum of |p - q|. "ordered": the m values of the table
        stand in the order of the column, neighbours 1 / (m - 1) apart; the sum of the differences of the cumulative
        shares over m - 1.
    count
        "records", or "persons": then a value counts once for each person who has it.
    column
        The sensitive attribute; None asks it of each one.

    Notes
    -----
    Exact in whole numbers. Monotone: the distribution of a merged group is a weighted mean of those of its parts, and
    both distances are convex.

    Examples
    --------
    >>> TCloseness(t=0.2).t
    Fraction(1, 5)
    """

    t: Threshold = field(
        metadata=option("t-closeness: groups are distributed nearly as the whole table: 0.2.", metavar="T")
    )
    distance: str = field(default="equal", metadata=option("equal (default) or ordered.", metavar="KIND"))
    count: str = "records"
    column: str | None = None
    name: ClassVar[str] = "t-closeness"
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False
    flag: ClassVar[str | None] = "t"
    dial: ClassVar[Dial | None] = Dial.share(of_values=True)

    def __post_init__(self) -> None:
        as_choice(self.distance, name="distance", choices=DISTANCES)
        as_choice(self.count, name="count", choices=COUNTS)
        t = as_fraction(self.t, name="t")
        if not 0 <= t <= 1:
            raise ParameterError(f"t must lie in [0, 1], got {float(t):g}. A usual choice is t = 0.2.")
        object.__setattr__(self, "t", t)

    @property
    def needs(self) -> frozenset[str]:
        """Names of the counts that are read."""
        return frozenset({"values_of_group" if self.count == "records" else "persons_of_value"})

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return (
            f"The shares of each {self.value_in_words} in any group are within {as_number(self.t)} of those in the "
            "whole table"
        )

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        part, whole = self._distance_of(attribute)
        return ratio_at_most(part, whole, self.t)  # type: ignore[arg-type]

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        return share(*self._distance_of(attribute))

    def _distance_of(self, attribute: ValueCounts) -> tuple[IntArray, IntArray]:
        """The distance of each group as a fraction: part and whole."""
        if self.distance == "ordered":
            return ordered_distance(attribute, count=self.count)
        likeness = compare(attribute, count=self.count)
        # half of the sum of |p - q| is the sum of p - q where p > q, and only a value that the group has can have p > q
        surplus = np.maximum(likeness.observed - likeness.expected, 0)
        return attribute.sum_by_group(surplus), likeness.whole
