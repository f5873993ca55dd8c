"""What attacks look at: the original, what is published of it, and what only the judge of the attack knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from shoal.models.exact import IntArray
from shoal.table.apart import publishes_apart
from shoal.table.schema import Schema
from shoal.table.table import Table

MOST_TARGETS = 10_000
"""Persons who are attacked unless told otherwise; of more, so many are drawn."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A release under attack.

    Attributes
    ----------
    original
        The table as it was. Its persons are the targets, and the attacker is taken to know something of each.
    frame, tables
        What is published: the table, and the sensitive tables of an anatomized release by attribute.
    mask
        The mask by which quasi-identifiers are shown ("range", "mean", "suppress", "perturb", ...).
    origin
        Of each published row the person of the original whose it is, where the judge knows it; None otherwise. The
        attacker does not know it.
    most_targets, seed
        How many persons are attacked at the most, and what governs which are drawn and every other draw.
    """

    original: Table
    frame: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    mask: str = "range"
    origin: IntArray | None = None
    most_targets: int = MOST_TARGETS
    seed: int = 0

    @property
    def schema(self) -> Schema:
        """The roles of the original's columns."""
        return self.original.schema

    @property
    def is_apart(self) -> bool:
        """Whether sensitive attributes are published apart from quasi-identifiers."""
        return bool(self.tables) or publishes_apart(self.frame, self.schema)

    @property
    def shows_persons(self) -> bool:
        """Whether the published table has a person column, so that a person's records are seen to be one's."""
        return self.schema.person is not None and self.schema.person in self.frame.columns

    @cached_property
    def targets(self) -> IntArray:
        """The persons of the original who are attacked, ascending: those in the release, as far as that is known."""
        present = np.arange(self.original.n_persons) if self.origin is None else np.unique(self.origin)
        if len(present) <= self.most_targets:
            return present.astype(np.int64)
        drawn = np.random.default_rng(self.seed).choice(present, self.most_targets, replace=False)
        return np.sort(drawn).astype(np.int64)
