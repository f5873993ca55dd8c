"""What attacks look at: the original, what is published of it, and what only the judge of the attack knows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.attackers_view import AttackersView, in_type_of
from shoal.attacking.contract import ORIGINAL, DoesNotApply
from shoal.attacking.mining.rules import Rules
from shoal.errors import ParameterError, SchemaError, ShoalWarning
from shoal.grouping.grouping import Method
from shoal.masking import mask_called
from shoal.masking.shown_labels import as_texts
from shoal.models.contract import Model
from shoal.models.exact import IntArray
from shoal.table.frames import to_polars
from shoal.table.own_columns import GROUP
from shoal.table.schema import Schema
from shoal.table.spelling import spelled
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
        The person of the original that each published row belongs to, where the judge knows it; None otherwise. The
        attacker does not know it.
    most_targets, seed
        How many persons are attacked at the most, and what governs which are drawn and every other draw.
    guesses_values
        Whether linkage says values of persons too; a report has that of everybody, from its counts.
    method, models
        How the groups were formed, and for what.
    other
        Another release about the same persons.
    rules, are_own_rules
        Rules that say who cannot have which values, known to the adversary, and whether the release was made against
        them.
    linked, excluded
        What the steward keeps: the values of each person where they are published apart, and those that rules exclude.
    """

    schema: Schema
    frame: pl.DataFrame
    original: Table | None = None
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    mask: str = "range"
    origin: IntArray | None = None
    most_targets: int = MOST_TARGETS
    seed: int = 0
    guesses_values: bool = True
    method: Method | None = None
    models: tuple[Model, ...] = ()
    other: Setting | None = None
    rules: Rules | None = None
    are_own_rules: bool = True
    linked: pl.DataFrame | None = None
    excluded: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        if isinstance(self.most_targets, bool) or not isinstance(self.most_targets, int) or self.most_targets < 1:
            raise ParameterError("targets must be a whole number from 1 on.")

    @property
    def known_original(self) -> Table:
        """The original; where it is not at hand, an attack that needs it does not apply."""
        if self.original is None:
            raise DoesNotApply(ORIGINAL.why_not)
        return self.original

    @cached_property
    def view(self) -> AttackersView:
        """The release as an attacker sees it."""
        return AttackersView.of(self)

    @property
    def guessed(self) -> tuple[str, ...]:
        """The sensitive attributes whose values linkage says."""
        return tuple(self.schema.sensitive) if self.guesses_values else ()

    @property
    def shows_groups(self) -> bool:
        """Whether the persons of a group look alike."""
        return mask_called(self.mask).shows_groups

    @property
    def changes_numbers(self) -> bool:
        """Whether numbers are shown that nobody need have, so that a person is not among what fits exactly."""
        return mask_called(self.mask).changes_numbers

    @property
    def is_apart(self) -> bool:
        """Whether sensitive attributes are published apart from quasi-identifiers."""
        return bool(self.tables) or (not mask_called(self.mask).links_values and GROUP in self.frame.columns)

    def without_ids(self) -> Setting | None:
        """The release as it would be without person ids; None where it shows none, or could not be made so."""
        schema = self.schema
        if not self.shows_persons or schema.time is not None or self.is_apart or not self.shows_groups:
            return None
        frame = self.frame.drop(str(schema.person))
        return replace(self, frame=frame, schema=replace(schema, person_ids="none"))

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


# --- from a published table -------------------------------------------------------------------------------------------


def as_in_original(published: pl.DataFrame, original: Table | None) -> pl.DataFrame:
    """A published table with sensitive values in the types of the original; where they share none, that is warned of.

    Values that are written in another way would be those of nobody, and every attack on them would seem to fail.
    """
    if original is None:
        return published
    known = [name for name in original.sensitive if name in published.columns]
    read = published.with_columns(in_type_of(published[name], original.frame[name].dtype) for name in known)
    for name in known:
        form = original.sensitive[name].spelling
        shown, own = (spelled(as_texts(frame[name]).unique(), form).drop_nulls() for frame in (read, original.frame))
        if len(shown) and len(own) and not shown.is_in(own.implode()).any():
            warnings.warn(
                f"No value of '{name}' in the release is one of the original's, so that attacks on it find nothing. "
                "They may be written in another way: compare the two.",
                ShoalWarning,
                stacklevel=3,
            )
    return read


def person_of_row(records: pl.DataFrame, schema: Schema, original: Table | None, whose: Any) -> IntArray | None:
    """The person of each published record, as far as it can be told: what the judge knows, and the attacker does not.

    Parameters
    ----------
    whose
        A frame with `person` and `pseudonym`, "ids" or "order"; None where nobody can tell.
    """
    if whose is None or original is None:
        return None
    if isinstance(whose, str) and whose not in ("ids", "order"):
        raise ParameterError("whose must be 'ids', 'order', or a frame with person and pseudonym.")
    if isinstance(whose, str):
        return _person_by_ids(records, schema, original) if whose == "ids" else _person_by_order(records, original)
    return _person_by_map(records, schema, original, to_polars(whose)[0])


def _person_by_map(frame: pl.DataFrame, schema: Schema, original: Table, person_map: pl.DataFrame) -> IntArray:
    """The person of each published record by the map of pseudonyms that the steward keeps: `person`, `pseudonym`."""
    absent = [name for name in ("person", "pseudonym") if name not in person_map.columns]
    if absent or schema.person is None or schema.person not in frame.columns:
        raise SchemaError("The person map must have the columns person and pseudonym, and the release pseudonyms.")
    persons = spelled(person_map["person"], schema.spelling_of(schema.person))
    return _codes(frame, schema, original, pl.DataFrame({"name": as_texts(person_map["pseudonym"]), "person": persons}))


def _person_by_ids(frame: pl.DataFrame, schema: Schema, original: Table) -> IntArray:
    """The person of each record of a table that was published with the original's own ids."""
    if schema.person is None or schema.person not in frame.columns:
        raise SchemaError("The release has no person column, so ids do not tell which person a record belongs to.")
    ids = as_texts(frame[schema.person]).unique()
    persons = spelled(ids, schema.spelling_of(schema.person))
    return _codes(frame, schema, original, pl.DataFrame({"name": ids, "person": persons}))


def _person_by_order(frame: pl.DataFrame, original: Table) -> IntArray:
    """The person of each record of a table that was published in the order of the original."""
    if len(frame) != original.n_records:
        raise SchemaError(
            f"The release has {len(frame):,} records and the original {original.n_records:,}, so that their order does "
            "not tell which person a record belongs to."
        )
    return original.person_of_record.astype(np.int64)


def _codes(frame: pl.DataFrame, schema: Schema, original: Table, person_of_name: pl.DataFrame) -> IntArray:
    assert schema.person is not None
    ids = spelled(original.frame[schema.person], schema.spelling_of(schema.person))
    persons = pl.DataFrame({"person": ids, "code": original.person_of_record.astype(np.int64)}).unique()
    named = pl.DataFrame({"name": as_texts(frame[schema.person])})
    found = named.join(person_of_name.unique(), on="name", how="left", maintain_order="left").join(
        persons, on="person", how="left", maintain_order="left"
    )
    unknown = found["code"].null_count()
    if unknown or len(found) != len(frame):
        raise SchemaError(f"Of {unknown:,} of {len(frame):,} published records the person is not in the original.")
    return found["code"].to_numpy()
