"""A model, a mask and an attack of somebody else's package, for shoal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.attacking import Attack, AttackResult
from shoal.attacking.contract import GROUPS, LINKED_VALUES, SENSITIVE
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError
from shoal.masking import Mean
from shoal.models.contract import OnSensitive
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, FloatArray
from shoal.parts import option
from shoal.table.columns import NumberColumn


@dataclass(frozen=True, kw_only=True)
class ValueRange(OnSensitive):
    """The sensitive values of every group lie far apart in the order of the column.

    Parameters
    ----------
    least
        How many places of that order the lowest and the highest value of a group are apart, at least.
    column
        The sensitive attribute; None asks it of each one.
    """

    least: int = field(metadata=option("Values of a group lie at least N places apart: 3.", metavar="N", low=1))
    column: str | None = None
    name: ClassVar[str] = "value-range"
    needs: ClassVar[frozenset[str]] = frozenset({"values_of_group"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.least, bool) or not isinstance(self.least, int) or self.least < 1:
            raise ParameterError("least must be a whole number of at least 1.")

    @property
    def asked(self) -> float:
        """The threshold."""
        return float(self.least)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"The lowest and the highest {self.value_in_words} of any group lie at least {self.least} places apart"

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        return self._reached_on(attribute, groups) >= self.least

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        start, value, *_ = attribute.lists  # the values of a group stand in ascending order
        if not len(groups):
            return np.zeros(0)
        return (value[start[1:] - 1] - value[start[:-1]]).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class RoundedMean(Mean):
    """Show the mean of a group's numbers, rounded.

    Parameters
    ----------
    digits
        How many decimals are shown.
    """

    digits: int = field(default=0, metadata=option("How many decimals the mean of a group has.", low=0, high=6))
    name: ClassVar[str] = "rounded-mean"
    title: ClassVar[str] = "Rounded means"
    sentence: ClassVar[str] = "A group shows the rounded mean of its numbers and its commonest category."
    engines: ClassVar[frozenset[str]] = frozenset({"memory"})

    def _shown(self, column: NumberColumn, means: pl.Series) -> pl.Series:
        shown = super()._shown(column, means)
        return shown.round(self.digits) if shown.dtype.is_float() else shown


@dataclass(frozen=True)
class LargestGroup(Attack):
    """The share of records whose value is the commonest of the largest group: a guess of somebody in a hurry."""

    name: ClassVar[str] = "largest-group"
    question: ClassVar[str] = "What does somebody have who is taken to be in the largest group?"
    knows: ClassVar[str] = "That the person is in the table."
    needs = (SENSITIVE, GROUPS, LINKED_VALUES)

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it on the published table alone."""
        return [self._guessed(setting, column) for column in setting.schema.sensitive]

    def _guessed(self, setting: Setting, column: str) -> AttackResult:
        place = setting.view.place_of_row
        values = setting.frame[column]
        largest = place == np.bincount(place).argmax()
        guess = values.filter(largest).mode().sort()[0]
        return self.result(
            f"largest-group, value of {column}",
            aim=f"the value of '{column}' that is said of a record is its own",
            successes=int(values.eq_missing(guess).sum()),
            targets=len(values),
            blind=1 / values.n_unique(),
        )
