"""Anatomy: persons with different values, drawn at random (Xiao and Tao, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from shoal.grouping.buckets import Bucketing, form, size_of_buckets
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.options import M_OF_VALUES
from shoal.models.contract import Model
from shoal.progress import Progress, silent
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Anatomy(Method):
    """Take one person at random of each of the l commonest values that are left, again and again.

    Parameters
    ----------
    m
        The fewest persons per group. None: the l of the models asked for (l-diversity, matching diversity, joint
        diversity), which it is at least.

    Notes
    -----
    The baseline that `buckets` is measured against: it looks neither at quasi-identifiers nor at what rules exclude.
    Whoever is left over joins a group, drawn at random, that does not have their value. Where a model does not hold in
    groups so formed, they are merged until it does. O(n log n + n v) time for v values.
    """

    m: int | None = field(default=None, metadata=M_OF_VALUES)
    name: ClassVar[str] = "anatomy"
    starts_from_whole: ClassVar[bool] = False
    title: ClassVar[str] = "Anatomy"
    sentence: ClassVar[str] = "One person of each of the commonest values that are left is taken at random, and again."
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        return self.bucketize(table, models, progress, rng=rng).grouping

    def bucketize(
        self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None
    ) -> Bucketing:
        """Group the persons of a table, and tell how it went."""
        size = size_of_buckets(self.m, table, models, self.name)
        return form(table, models, size=size, order="balanced", by_rules=False, rng=rng, progress=progress)
