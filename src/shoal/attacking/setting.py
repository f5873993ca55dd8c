"""What attacks look at: the original, what is published of it, and what only the judge of the attack knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from shoal.attacking.released import Released
from shoal.attacking.result import DoesNotApply
from shoal.grouping.grouping import Method
from shoal.masking import mask_called
from shoal.models.contract import Model
from shoal.models.exact import IntArray
from shoal.table.hierarchy import Hierarchy
from shoal.table.own_columns import GROUP
from shoal.table.schema import Schema
from shoal.table.table import Table

MOST_TARGETS = 10_000
"""Persons who are attacked unless told otherwise; of more, so many are drawn."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A release under attack.

    Attributes
    ----------
    schema
        The roles of the original's columns.
    original
        The table as it was; None where only the release is at hand. Its persons are the targets, and the attacker is
        taken to know something of each.
    frame, tables
        What is published: the table, and the sensitive tables of an anatomized release by attribute.
    mask
        The mask by which quasi-identifiers are shown ("range", "mean", "suppress", "perturb", ...).
    origin
        Of each published row the person of the original whose it is, where the judge knows it; None otherwise. The
        attacker does not know it.
    most_targets, seed
        How many persons are attacked at the most, and what governs which are drawn and every other draw.
    similar
        Hierarchies of sensitive attributes, which say what values are alike.
    known_values
        How many sensitive values of a person are known, for the attack by trajectories.
    method, models
        How the groups were formed, and for what, for the minimality attack.
    other
        Another release about the same persons, for the attack by two releases.
    """

    schema: Schema
    frame: pl.DataFrame
    original: Table | None = None
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    mask: str = "range"
    origin: IntArray | None = None
    most_targets: int = MOST_TARGETS
    seed: int = 0
    similar: Mapping[str, Hierarchy] = field(default_factory=dict)
    known_values: tuple[int, ...] = (1, 2, 3, 4)
    method: Method | None = None
    models: tuple[Model, ...] = ()
    other: Setting | None = None

    @property
    def known_original(self) -> Table:
        """The original; where it is not at hand, an attack that needs it does not apply."""
        if self.original is None:
            raise DoesNotApply("It takes the original: name it with --original.")
        return self.original

    @cached_property
    def released(self) -> Released:
        """The release as an attacker sees it."""
        return Released.of(self)

    @property
    def is_apart(self) -> bool:
        """Whether sensitive attributes are published apart from quasi-identifiers."""
        return bool(self.tables) or (not mask_called(self.mask).links_values and GROUP in self.frame.columns)

    @property
    def shows_persons(self) -> bool:
        """Whether the published table has a person column, so that a person's records are seen to be one's."""
        return self.schema.person is not None and self.schema.person in self.frame.columns

    @cached_property
    def targets(self) -> IntArray:
        """The persons of the original who are attacked, ascending: those in the release, as far as that is known."""
        present = np.arange(self.known_original.n_persons) if self.origin is None else np.unique(self.origin)
        if len(present) <= self.most_targets:
            return present.astype(np.int64)
        drawn = np.random.default_rng(self.seed).choice(present, self.most_targets, replace=False)
        return np.sort(drawn).astype(np.int64)
