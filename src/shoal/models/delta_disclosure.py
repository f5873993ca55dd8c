"""delta-disclosure privacy: every sensitive value is about as likely in a group as in the whole table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import OnSensitive, as_number
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_fraction, share
from shoal.models.likeness import compare
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(OnSensitive):
    """Every sensitive value is about as likely in a group as in the whole table (Brickell and Shmatikov, 2008).

    Parameters
    ----------
    delta
        What |ln (p / q)| must stay below for every value of the table, above 0; p is the value's share of the group's
        records, q of the table's, ln the natural logarithm.
    column
        The sensitive attribute; None asks it of each one.

    Notes
    -----
    A value of the table that a group lacks breaks it (the value reached is infinite), so it asks for large groups. The
    logarithm is a floating-point number; equality does not arise, as no ratio of counts but 1 has a logarithm that can
    be written down. It counts records: where persons have many, h-affiliation is the safer choice. Monotone: the
    limits hold the share p of each value in an interval, and p of a merged group lies between those of its parts.

    Examples
    --------
    >>> DeltaDisclosure(delta=1.5).asked
    1.5
    """

    delta: Threshold = field(
        metadata=option("delta-disclosure: shares in group and table differ by less than e^D.", metavar="D")
    )
    column: str | None = None
    name: ClassVar[str] = "delta-disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"values_of_group"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False

    def __post_init__(self) -> None:
        delta = as_fraction(self.delta, name="delta")
        if delta <= 0:
            raise ParameterError(
                f"delta must be above 0, got {float(delta):g}. delta = 0.7 lets a share about double or halve."
            )
        object.__setattr__(self, "delta", delta)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        factor = as_number(math.exp(float(self.delta)))
        return f"Each {self.value_in_words} is as common in every group as in the table, within a factor of {factor}"

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        return self._reached_on(attribute, groups) < self.asked

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        likeness = compare(attribute)
        distance = attribute.most_by_group(np.abs(np.log(share(likeness.observed, likeness.expected))))
        has_every_value = attribute.distinct == np.count_nonzero(attribute.records_in_table)
        return np.where(has_every_value, distance, np.inf)
