"""The published table: masked quasi-identifiers, pseudonyms, times, sensitive and kept columns, in a secret order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.grouping.grouping import Grouping
from shoal.masking import secrecy
from shoal.masking.grouped import GroupedRecords
from shoal.masking.times import masked_times
from shoal.models.contract import Model
from shoal.models.counts import BACKGROUND, JOINT, SPREAD_OF_RECORDS
from shoal.parts import Part
from shoal.table.label_sets import EVERYTHING
from shoal.table.own_columns import GROUP, MEMBER
from shoal.table.table import QuasiColumn, Table


class Mask(Part):
    """What is shown of a group.

    What a mask does not say of itself is taken in the way that is safe: records that show the same form a group, values
    belong to the person beside whom they stand, and every model is recounted from the published table by that.
    """

    sentence: ClassVar[str] = "Groups are masked."
    links_values: ClassVar[bool] = True
    """Whether the published table shows which values belong to one person. Where it does not, values are counted by
    the group that a column `group` names."""
    has_tables: ClassVar[bool] = False
    """Whether each sensitive attribute is published in a table of its own, which counts its values by group."""
    has_scheme: ClassVar[bool] = False
    """Whether each group shows one label per quasi-identifier, by which later records can be masked."""
    form: ClassVar[str] = "label"
    """How a cell of a quasi-identifier is read: "generalized" (a range, a set or a node), "agreed" (the value of the
    whole group, or nothing), "mean", "noise", "changed" (one value, which need not be the person's own); "label" is
    what nobody can read back."""
    shows_groups: ClassVar[bool] = True
    """Whether the persons of a group look alike. Where they do not, models are judged by the grouping only."""
    matches_anything: ClassVar[bool] = False
    """Whether a hidden cell is counted as alike to anything, so that groups overlap and only persons and records can be
    counted."""
    changes_numbers: ClassVar[bool] = False
    """Whether numbers are shown that nobody need have, such as means, so that nothing fits a person exactly."""

    takes_groups: ClassVar[bool] = True
    """Whether it shows the groups that a method forms. Where it does not, persons are changed one by one: no groups are
    formed, no model can be promised, and a limit on who may be linked (`max_linkage`) is needed instead."""

    @property
    def changes_beside(self) -> bool:
        """Whether it changes other columns too, person by person; later records cannot be masked alike then."""
        return False

    @property
    def shows_identities(self) -> bool:
        """Whether quasi-identifiers are published as they are, so that a group hides nobody in it."""
        return False

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """One text or number per group."""
        raise NotImplementedError(f"The mask {self.name} gives no labels of groups.")

    def publish(self, table: Table, grouping: Grouping, *, rng: np.random.Generator | None = None) -> Published:
        """A table as it will be published; masks that do more than give each group a label have their own way."""
        return published_by_labels(table, grouping, self)


class OwnMask(Mask):
    """A mask of somebody's own that says nothing but what each group shows."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def mask(self, column: QuasiColumn, records: GroupedRecords, table: Table) -> pl.Series:
        """What it gives."""
        labels: pl.Series = self._own.mask(column, records, table)
        return labels


def as_mask(given: Any) -> Mask:
    """A mask as it is, or one of somebody's own by the contract; what is neither is refused."""
    if isinstance(given, Mask):
        return given
    if isinstance(given, type) or not callable(getattr(given, "mask", None)):
        raise ParameterError(f"A mask is expected by its name or as an object with 'mask', not {type(given).__name__}.")
    return OwnMask(given)


def refuse_visible(mask: Mask, models: Sequence[Model]) -> None:
    """Refuse models of how records are spread over persons where exact quasi-identifiers tell who is who."""
    spread = [model.name for model in models if model.needs & SPREAD_OF_RECORDS]
    if spread and mask.shows_identities:
        raise ParameterError(
            f"{', '.join(spread)} cannot be promised with the mask {mask.name}: it publishes "
            "exact quasi-identifiers, so identities are visible. Mask these too with quasi_as='range', or drop the "
            "model."
        )


def refuse_groupless(mask: Mask, models: Sequence[Model], max_linkage: float | None) -> None:
    """Refuse, of a mask that takes no groups, models, which nobody could count; and to go without a gate."""
    if mask.takes_groups:
        return
    if models:
        raise ParameterError(
            f"{', '.join(dict.fromkeys(model.name for model in models))} cannot be promised with the mask {mask.name}: "
            "it changes persons one by one, so that there are no groups to count. Ask for no model and limit who may "
            "be linked (max_linkage), or choose the mask range, mean or perturb."
        )
    if max_linkage is None:
        raise ParameterError(
            f"The mask {mask.name} promises no groups, so that nothing would say how well persons are protected. Say "
            "which share of the persons may be linked to their original values at the most, such as max_linkage=0.05."
        )


def refuse_histories(mask: Mask, models: Sequence[Model]) -> None:
    """Refuse models of histories where values are published apart from the persons who have them."""
    asked = [model.name for model in models if model.of_histories is not None]
    if asked and not mask.links_values:
        raise ParameterError(
            f"{', '.join(asked)} cannot be promised with the mask {mask.name}: it publishes values apart from persons, "
            "so that no history is shown. Choose the mask range, or drop the model."
        )
    together = [model.name for model in models if model.needs & (JOINT | BACKGROUND)]
    if asked and together:
        raise ParameterError(
            f"{', '.join(asked)} hides values, and {', '.join(together)} needs to know every value. Ask for "
            "h-affiliation or l-diversity beside it."
        )


def refuse_episodes(mask: Mask, models: Sequence[Model]) -> None:
    """Refuse to cut records into episodes, or to bring their numbers to steps, where no such records are shown."""
    if not (mask.links_values and mask.shows_groups):
        raise ParameterError(
            f"The mask {mask.name} does not publish the records of a person side by side, so they are neither cut into "
            "episodes nor brought to numbers in steps. Choose the mask range, or leave it out."
        )
    by_rules = [model.name for model in models if model.needs & BACKGROUND]
    if by_rules:
        raise ParameterError(
            f"{', '.join(by_rules)} reckons with rules about persons and all their records, which are cut into "
            "episodes or left out here. Ask for h-affiliation or l-diversity."
        )


@dataclass(frozen=True)
class Published:
    """A table as it will be published, and what only the steward may know of it."""

    frame: pl.DataFrame
    group_of_record: NDArray[np.int32]
    """The group of each published record."""
    record_of_published: NDArray[np.int32]
    """Which original record each published one is."""
    pseudonyms: pl.Series | None
    """The pseudonym of each person, or of each episode where persons have one per episode."""
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    """Sensitive tables that are published beside the frame, by attribute (anatomize)."""
    linked: pl.DataFrame | None = None
    """What the steward keeps where attributes are published apart, or no person ids: which values belong to one
    person."""
    hidden: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Which groups hide a quasi-identifier (`Grouping.hidden`)."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The level at which a quasi-identifier is shown for all, where it is (`Grouping.levels`)."""
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What only the steward is told of columns that were changed one by one, by column, as JSON has it."""
    book: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What readers are told of them, in the codebook."""
    excluded: pl.DataFrame | None = None
    """What the steward keeps where an adversary's rules are reckoned with and quasi-identifiers are masked: the values
    that the person of each published record cannot have."""


def publish(table: Table, grouping: Grouping, mask: Mask, *, rng: np.random.Generator | None = None) -> Published:
    """Mask a table by groups, in the way of the mask; noise is drawn from `rng`, and nothing else is."""
    return replace(mask.publish(table, grouping, rng=rng), levels=grouping.levels, hidden=grouping.hidden)


def hidden_cells(published: Published, table: Table, mask: Mask) -> dict[str, Any]:
    """How many cells of quasi-identifiers are hidden, where a mask shows values or nothing; as JSON has it."""
    if mask.form != "agreed":
        return {}
    shown = published.frame.select(pl.col(list(table.quasi)).cast(pl.String))
    of_column = {name: int((shown[name] == EVERYTHING).sum()) for name in shown.columns}
    return {"suppressed_cells": sum(of_column.values()), "suppressed_cells_of_column": of_column}


def published_by_labels(table: Table, grouping: Grouping, mask: Mask) -> Published:
    """Mask a table by a label per group.

    Columns keep their names and order; dropped columns are gone. Person ids become random pseudonyms that are not
    derived from the id, and records are shuffled by secure randomness, so that neither tells the original id or order.
    """
    records = GroupedRecords.of(table, grouping)

    def shown(column: QuasiColumn, order: NDArray[np.int32]) -> pl.Series:
        return spread(mask.mask(column, records, table), records.group_of_record[order])

    by_column = {name: partial(shown, column) for name, column in table.quasi.items()}
    return published_with(table, records.group_of_record, by_column)


def published_with(
    table: Table,
    group_of_record: NDArray[np.int32],
    shown: Mapping[str, Callable[[NDArray[np.int32]], pl.Series]],
) -> Published:
    """A table in a secret order: masked columns as `shown` gives them for an order, the others as all masks do.

    Every quasi-identifier must be among those that are masked.
    """
    order = secrecy.secret_order(table.n_records)
    group = group_of_record[order]
    names = secrecy.pseudonyms(table.n_pseudonyms) if _has_pseudonyms(table) else None
    columns: dict[str, pl.Series] = {}
    published = table.schema.published()
    for name in table.frame.columns:
        if name not in published:
            continue
        if name in shown:
            columns[name] = shown[name](order)
        elif name == table.schema.person and names is not None:
            columns[name] = names.gather(table.pseudonym_of_record[order])
        elif name == table.schema.time:
            columns[name] = masked_times(table).gather(order)
        else:
            columns[name] = without_unused_categories(table.frame[name]).gather(order)
    linked = None
    if not table.schema.links_records or table.schema.has_episodes:
        number = secrecy.secret_order(int(group.max()) + 1) + 1
        linked = linked_rows(table, number[group], order)
    return Published(pl.DataFrame(columns), group, order, names, linked=linked, excluded=_excluded(table, order))


def _has_pseudonyms(table: Table) -> bool:
    return table.schema.person is not None and table.schema.links_records


def linked_rows(table: Table, number_of_group: NDArray[np.int32], order: NDArray[np.int32]) -> pl.DataFrame:
    """What only the steward keeps: of records in an order the number of their group, their person and their values.

    Where somebody is taken to know rules, also which values these exclude for the person.
    """
    person = table.person_of_record[order]
    never = {} if table.adversary is None else table.adversary.never_columns(table.sensitive, person)
    return pl.DataFrame(
        {
            GROUP: number_of_group,
            MEMBER: secrecy.secret_order(table.n_persons)[person],
            **{name: without_unused_categories(table.frame[name]).gather(order) for name in table.sensitive},
            **never,
        }
    )


def _excluded(table: Table, order: NDArray[np.int32]) -> pl.DataFrame | None:
    """The values that the person of each published record cannot have, where somebody knows rules about them."""
    if table.adversary is None:
        return None
    return pl.DataFrame(table.adversary.never_columns(table.sensitive, table.person_of_record[order]))


def spread(label_of_group: pl.Series, group_of_record: NDArray[np.int32]) -> pl.Series:
    """A label per record from a label per group; texts are dictionary-encoded, each stands in memory once."""
    if label_of_group.dtype == pl.String:
        label_of_group = label_of_group.cast(pl.Categorical)
    return label_of_group.gather(group_of_record)


def without_unused_categories(values: pl.Series) -> pl.Series:
    """The same values in a type that names no others: categories of persons who are not published stay behind."""
    if isinstance(values.dtype, pl.Enum):
        used = set(values.drop_nulls().unique().cast(pl.String))
        categories = [category for category in values.dtype.categories if category in used]
        return values.cast(pl.String).cast(pl.Enum(categories))
    if isinstance(values.dtype, pl.Categorical) and values.dtype != pl.Categorical():
        return values.cast(pl.String).cast(pl.Categorical)
    return values
