"""What the masks have in common that part sensitive attributes from quasi-identifiers: anatomize and permute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import secrecy
from shoal.masking.publish import Mask, linked_rows
from shoal.parts import option
from shoal.table.own_columns import GROUP, MEMBER
from shoal.table.schema import Schema
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Parting(Mask):
    """A mask that hides which value belongs to whom, and shows quasi-identifiers exactly or by group."""

    form: ClassVar[str] = "generalized"
    quasi_as: Literal["exact", "range"] = field(
        default="exact", metadata=option("Show quasi-identifiers as they are, or by group.")
    )
    links_values: ClassVar[bool] = False

    @property
    def shows_identities(self) -> bool:
        """Whether exact quasi-identifiers are published."""
        return self.quasi_as == "exact"


def refuse_what_links(schema: Schema, mask: str, *, own: tuple[str, ...] = ()) -> None:
    """Refuse columns that would link a person's values in spite of the mask, and those called as its own are."""
    if GROUP in {name for name, _ in schema.roles()}:
        raise SchemaError(f"The mask {mask} publishes a column '{GROUP}' of its own: give yours another name.")
    taken = [name for name in schema.sensitive if name in (MEMBER, *own)]
    if taken:
        raise SchemaError(
            f"The mask {mask} makes tables with columns of its own that are called {', '.join(taken)}: give your "
            "sensitive attribute another name."
        )
    if schema.missing_tells_nothing:
        raise SchemaError(
            f"The mask {mask} publishes a missing value as one of the group's values, and does not show who has it: a "
            f"missing '{schema.missing_tells_nothing[0]}' cannot be left out of its counts. Take it out of "
            "missing_tells_nothing, or choose the mask range."
        )
    if schema.time is not None:
        raise SchemaError(f"The mask {mask} publishes no times: name '{schema.time}' as dropped.")
    if not schema.sensitive:
        raise SchemaError(f"The mask {mask} parts sensitive attributes from quasi-identifiers, but none is named.")


def linked_values(table: Table, grouping: Grouping, number_of_group: NDArray[np.int32]) -> pl.DataFrame:
    """What only the steward keeps: which values belong to one person, by published group and without ids."""
    order = secrecy.secret_order(table.n_records)
    return linked_rows(table, number_of_group[grouping.group_of_person[table.person_of_record[order]]], order)
