"""Every table that leaves meets every model by its own rows, where several do, and so does every episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from shoal.models.contract import Model, asked_of_groups
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray
from shoal.models.related import Related


class HasViews(Protocol):
    """A table of which more can be looked at than its records."""

    @property
    def views(self) -> Callable[..., Related] | None:
        """How to tell what else can be looked at."""
        ...


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


def asked_by_row(rows: HasViews, models: Sequence[Model]) -> tuple[Model, ...]:
    """What is asked of groups while they are formed, and that related tables or episodes meet it by their own rows."""
    return (*asked_of_groups(models), *(() if rows.views is None else (EveryTable(),)))
