"""Anatomy: persons with different values, drawn at random (Xiao and Tao, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.grouping.buckets import Bucketing, form, refuse_odd_size, size_of_buckets
from shoal.grouping.grouping import Grouping, Method
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Anatomy(Method):
    """Take one person at random of each of the l commonest values that are left, again and again.

    Parameters
    ----------
    m
        The fewest persons a group. None: the l of the models asked for (l-diversity, matching diversity, joint
        diversity), which it is at least.

    Notes
    -----
    The baseline that `buckets` is measured against: it looks neither at quasi-identifiers nor at what rules exclude.
    Who is left over joins a group, drawn at random, that does not have their value. Where a model does not hold in
    groups so formed, they are merged until it does. O(n log n + n v) time for v values.
    """

    m: int | None = None
    name: ClassVar[str] = "anatomy"
    keeps_models: ClassVar[bool] = True

    def __post_init__(self) -> None:
        refuse_odd_size(self.m)

    def group(
        self,
        table: Table,
        models: Sequence[Model],
        progress: Progress = silent,
        *,
        rng: np.random.Generator | None = None,
    ) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        return self.bucketize(table, models, progress, rng=rng).grouping

    def bucketize(
        self,
        table: Table,
        models: Sequence[Model],
        progress: Progress = silent,
        *,
        rng: np.random.Generator | None = None,
    ) -> Bucketing:
        """Group the persons of a table, and tell how it went."""
        size = size_of_buckets(self.m, table, models, self.name)
        return form(table, models, size=size, order="balanced", by_rules=False, rng=rng, progress=progress)
