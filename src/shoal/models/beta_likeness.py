"""beta-likeness: no sensitive value is much likelier in a group than in the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import OnSensitive, as_number
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_choice, as_fraction, ratio_at_most, share
from shoal.models.likeness import Likeness, compare
from shoal.parts import option

KINDS = ("basic", "enhanced")


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(OnSensitive):
    """No sensitive value is much likelier in a group than in the whole table (Cao and Karras, 2012).

    Parameters
    ----------
    beta
        The largest gain (p - q) / q, above 0; p is the value's share of the group's records, q of the table's.
    kind
        "basic", or "enhanced": then a value's gain is also at most -ln q, which keeps common values from filling a
        group.
    column
        The sensitive attribute; None asks it of each one.

    Notes
    -----
    "basic" is exact in whole numbers. The logarithm of "enhanced" is a floating-point number, good to twelve digits
    and more. Where it is the tighter limit, the value reached is the gain times beta over that limit, so that it
    compares with beta. It counts records: where persons have many, h-affiliation is the safer choice. Monotone: each
    limit is on the share p of one value, and p of a merged group lies between those of its parts.

    Examples
    --------
    >>> BetaLikeness(beta=1, kind="enhanced").asked
    1.0
    """

    beta: Threshold = field(
        metadata=option(
            "beta-likeness: a value's share in a group is at most 1 + B times that in the table.", metavar="B"
        )
    )
    kind: str = field(default="basic", metadata=option("basic (default) or enhanced.", metavar="KIND"))
    column: str | None = None
    name: ClassVar[str] = "beta-likeness"
    needs: ClassVar[frozenset[str]] = frozenset({"values_of_group"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False
    flag: ClassVar[str | None] = "beta"

    def __post_init__(self) -> None:
        as_choice(self.kind, name="kind of beta-likeness", choices=KINDS)
        beta = as_fraction(self.beta, name="beta")
        if beta <= 0:
            raise ParameterError(f"beta must be above 0, got {float(beta):g}. beta = 1 lets a value's share double.")
        object.__setattr__(self, "beta", beta)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        times = as_number(1 + Fraction(self.beta))
        return f"No {self.value_in_words} is more than {times} times as common in a group as in the table"

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        likeness = compare(attribute)
        fits = ratio_at_most(likeness.observed, likeness.expected, 1 + self.beta)  # type: ignore[operator,arg-type]
        if self.kind == "enhanced":
            fits &= _gain(likeness) <= -np.log(likeness.table_share)
        return attribute.all_by_group(fits)

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        likeness = compare(attribute)
        gain = _gain(likeness)
        if self.kind == "enhanced":
            limit = np.minimum(self.asked, -np.log(likeness.table_share))
            # where q is 1 the limit is 0, and so is the gain
            gain = np.divide(gain * self.asked, limit, out=gain.copy(), where=limit > 0)
        return attribute.most_by_group(gain)


def _gain(likeness: Likeness) -> FloatArray:
    """(p - q) / q of each value of each group, 0 where p is smaller."""
    return share(np.maximum(likeness.observed - likeness.expected, 0), likeness.expected)
