"""History confidence: what is known of a person's records tells no further value of them with near certainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, as_share
from shoal.models.counts import HISTORIES, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray, Threshold, as_fraction, ratio_at_most, share
from shoal.models.histories import Asked, Knows
from shoal.models.known_histories import KnownHistories, known
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class HistoryConfidence(KnownHistories):
    """Whoever knows m published values of a person learns no further value of theirs with more than confidence c.

    Of the persons of a group who show a combination of at most m values, at most a share c shows any one other value
    (as LKC-privacy and (h, k, p)-coherence ask it of sensitive values).

    Parameters
    ----------
    c
        The largest share, in (0, 1].
    m, columns, with_quasi, knows
        What is known of a person, as in `HistoryK`; m from 0 to 2.

    Notes
    -----
    Monotone: the share in a merged group lies between those of its parts.

    Examples
    --------
    >>> HistoryConfidence(c=0.5, m=1).asked
    0.5
    """

    c: Threshold = field(
        metadata=option(
            "history confidence: who knows a value of a person learns no other with more than this share.", metavar="C"
        )
    )
    m: int = field(default=1, metadata=known("m", flags="history-confidence", most=2))
    columns: Sequence[str] | None = field(default=None, metadata=known("columns", flags="history-confidence"))
    with_quasi: bool = field(default=True, metadata=known("with_quasi", flags="history-confidence"))
    knows: Knows = field(default="values", metadata=known("knows", flags="history-confidence"))
    name: ClassVar[str] = "history-confidence"
    needs: ClassVar[frozenset[str]] = HISTORIES
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False

    def __post_init__(self) -> None:
        c = as_fraction(self.c, name="c")
        if not 0 < c <= 1:
            raise ParameterError(f"c must lie in (0, 1], got {float(c):g}.")
        object.__setattr__(self, "c", c)
        self._check_known()
        if self.m > 2:
            raise ParameterError("m must be at most 2 for history-confidence, which looks at one value more.")

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"{self.who} learns no other value with more than {as_share(self.c)} confidence"

    @property
    def of_histories(self) -> Asked:
        """What it asks of histories."""
        return Asked(m=self.m, c=self._share, columns=self.columns, with_quasi=self.with_quasi, knows=self.knows)

    @property
    def _share(self) -> Fraction:
        return as_fraction(self.c, name="c")

    def while_grouping(self) -> Model | None:
        """Nothing: values are hidden until it holds."""
        return None

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets it."""
        return ratio_at_most(*self._surest(groups), self._share)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The largest share in each group."""
        return share(*self._surest(groups))

    def _surest(self, groups: GroupCounts) -> tuple[IntArray, IntArray]:
        part, whole = self._seen(groups).surest(self.m, self.columns, self.knows, model=self.name)
        return (part, whole) if self.with_quasi else (np.repeat(part, len(groups)), np.repeat(whole, len(groups)))
