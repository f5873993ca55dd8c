"""What every privacy model offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from shoal.errors import SchemaError, did_you_mean
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, FloatArray


@runtime_checkable
class Model(Protocol):
    """A promise about every group of a release.

    `needs` says which counts it reads (names in `shoal.models.counts`), `monotone` whether groups that hold still
    hold when merged, `higher_is_safer` which way `reached` runs.
    """

    name: ClassVar[str]
    monotone: ClassVar[bool]
    higher_is_safer: ClassVar[bool]

    @property
    def needs(self) -> frozenset[str]:
        """Names of the counts that the model reads."""
        ...

    @property
    def asked(self) -> float:
        """The threshold, as a number to show."""
        ...

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets the model; exact at the threshold."""
        ...

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The value that each group reaches, to show beside `asked`."""
        ...


class OnSensitive:
    """The part that models of sensitive attributes share: one `column`, or (None) each sensitive attribute."""

    column: str | None
    name: ClassVar[str]
    higher_is_safer: ClassVar[bool]

    def _attributes(self, groups: GroupCounts) -> Iterator[ValueCounts]:
        if not groups.values:  # a promise about nothing would hold, and look like safety
            raise SchemaError(f"{self.name} asks about sensitive attributes, but none is named. Name at least one.")
        if self.column is None:
            yield from groups.values.values()
        elif self.column in groups.values:
            yield groups.values[self.column]
        else:
            raise SchemaError(
                f"{self.name} names '{self.column}', but that is not a sensitive attribute. "
                f"These are: {', '.join(groups.values)}.{did_you_mean(self.column, groups.values)}"
            )

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets the model on its attribute, or on every sensitive attribute."""
        result = np.ones(len(groups), dtype=np.bool_)
        for attribute in self._attributes(groups):
            result &= self._holds_on(attribute, groups)
        return result

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The least safe value over the attributes, for each group."""
        worst = np.full(len(groups), np.inf if self.higher_is_safer else -np.inf)
        keep = np.minimum if self.higher_is_safer else np.maximum
        for attribute in self._attributes(groups):
            worst = keep(worst, self._reached_on(attribute, groups))
        return worst

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        raise NotImplementedError

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        raise NotImplementedError


def worst_of(model: Model, reached: FloatArray) -> float:
    """The least safe of the values that groups reached."""
    if len(reached) == 0:
        return float("nan")
    return float(reached.min() if model.higher_is_safer else reached.max())
