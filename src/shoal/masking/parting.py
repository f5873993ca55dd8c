"""What the masks have in common that part sensitive attributes from quasi-identifiers: anatomize and permute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import secrecy
from shoal.masking.publish import Mask, without_unused_categories
from shoal.table.own_columns import GROUP, MEMBER
from shoal.table.schema import Schema
from shoal.table.table import Table

SHOWN = ("exact", "range")


@dataclass(frozen=True, kw_only=True)
class Parting(Mask):
    """A mask that hides which value belongs to whom, and shows quasi-identifiers exactly or by group."""

    quasi_as: str = "exact"
    links_values: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.quasi_as not in SHOWN:
            raise ParameterError("quasi_as must be 'exact' or 'range'.")

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
    if schema.time is not None:
        raise SchemaError(f"The mask {mask} publishes no times: name '{schema.time}' as dropped.")
    if not schema.sensitive:
        raise SchemaError(f"The mask {mask} parts sensitive attributes from quasi-identifiers, but none is named.")


def linked_values(table: Table, grouping: Grouping, number_of_group: NDArray[np.int32]) -> pl.DataFrame:
    """What only the steward keeps: which values belong to one person, by published group and without ids.

    Where somebody is taken to know rules, also which values these exclude for the person.
    """
    order = secrecy.secret_order(table.n_records)
    member = secrecy.secret_order(table.n_persons)
    person = table.person_of_record[order]
    never = {} if table.adversary is None else table.adversary.never_columns(table.sensitive, person)
    return pl.DataFrame(
        {
            GROUP: number_of_group[grouping.group_of_person[person]],
            MEMBER: member[person],
            **{name: without_unused_categories(table.frame[name]).gather(order) for name in table.sensitive},
            **never,
        }
    )
