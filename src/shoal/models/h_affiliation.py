"""h-affiliation: no sensitive value belongs to too large a share of a group's persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Dial, OnSensitive, as_share
from shoal.models.counts import GroupCounts, ValueCounts, ValuesLeft
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_count, as_fraction, ratio_at_most, share
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class HAffiliation(OnSensitive):
    """No sensitive value belongs to more than a share h of a group's persons (Kartal and Li, 2020, definition 3).

    Parameters
    ----------
    h
        The largest share, in (0, 1].
    column
        The sensitive attribute; None asks it of each one.

    Notes
    -----
    Where a group is split and nobody's records are, one part has at least the h of the whole (lemma 1), so the model is
    monotone.

    Examples
    --------
    >>> HAffiliation.for_l(4) == HAffiliation(h=0.25)
    True
    """

    h: Threshold = field(
        metadata=option(
            "No sensitive value belongs to more than this share of a group's persons: 0.5. Or l=2.", metavar="H"
        )
    )
    column: str | None = None
    name: ClassVar[str] = "h-affiliation"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"persons", "most_persons_of_value"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False
    asks_of_values_left: ClassVar[bool] = True
    stand_ins: ClassVar[Mapping[str, str]] = MappingProxyType({"l": "for_l"})
    dial: ClassVar[Dial | None] = Dial.share(of_values=True, is_free=True)

    def __post_init__(self) -> None:
        h = as_fraction(self.h, name="h")
        if not 0 < h <= 1:
            raise ParameterError(f"h must lie in (0, 1], got {float(h):g}. h = 1/l relates it to l.")
        object.__setattr__(self, "h", h)

    @classmethod
    def for_l(cls, l: int, *, column: str | None = None) -> HAffiliation:  # noqa: E741
        """The h that equals l-diversity where each person has one record: h = 1/l (equation 6)."""
        return cls(h=Fraction(1, as_count(l, name="l")), column=column)

    def largest_share_of_a_value(self) -> float:
        """The threshold itself."""
        return float(self.h)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"No {self.value_in_words} belongs to more than {as_share(self.h)} of the persons of any group"

    def among_values_left(self, left: ValuesLeft) -> tuple[BoolArray, FloatArray]:
        """No value that is left belongs to too many of those who have one of them."""
        persons = np.maximum(left.persons, 1)
        return ratio_at_most(left.most_persons, persons, self.h), share(left.most_persons, persons)  # type: ignore[arg-type]

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        return ratio_at_most(attribute.most_persons, groups.persons, self.h)  # type: ignore[arg-type]

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        return share(attribute.most_persons, groups.persons)
