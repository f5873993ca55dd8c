"""Mask "permute": one table in which each sensitive column is permuted inside its group, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking import secrecy
from shoal.masking.grouped import GroupedRecords
from shoal.masking.parting import Parting, linked_values, refuse_what_links
from shoal.masking.publish import Published, spread, without_unused_categories
from shoal.masking.ranges import Range
from shoal.table.own_columns import GROUP
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Permute(Parting):
    """Publish one table that can be analysed at once; inside a group values are dealt out anew, attribute by attribute.

    Parameters
    ----------
    quasi_as
        "exact": quasi-identifiers as they are; identities are then visible. "range": masked by group as well.

    Notes
    -----
    For one record per person: a person with several records could be followed through them. What a reader learns of a
    group are the counts of each attribute's values, as from anatomized tables.
    """

    name: ClassVar[str] = "permute"
    title: ClassVar[str] = "Sensitive values dealt out anew"
    sentence: ClassVar[str] = "Sensitive values are dealt out anew inside each group, each attribute on its own."
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "spark"})

    def publish(self, table: Table, grouping: Grouping, *, rng: np.random.Generator | None = None) -> Published:
        """The permuted table."""
        refuse_what_links(table.schema, self.name)
        if not table.schema.links_records:
            raise SchemaError(
                "The mask permute is for one record per person, which only person ids show: with person_ids='none' "
                "choose range, mean, suppress or anatomize."
            )
        if table.n_records != table.n_persons:
            raise SchemaError(
                f"The mask permute is for one record per person, but {table.n_persons:,} persons have "
                f"{table.n_records:,} records. Use anatomize or range."
            )
        order = secrecy.secret_order(table.n_records)
        person = table.person_of_record[order]
        group = grouping.group_of_person[person]
        number_of_group = secrecy.secret_order(grouping.n_groups) + 1
        names = secrecy.pseudonyms(table.n_persons) if table.schema.person is not None else None
        by_group = GroupedRecords.of(table, grouping)
        published = table.schema.published()
        columns: dict[str, pl.Series] = {}
        for name in table.frame.columns:
            if name not in published:
                continue
            if name in table.quasi and self.quasi_as == "range":
                columns[name] = spread(Range().mask(table.quasi[name], by_group, table), group)
            elif name == table.schema.person and names is not None:
                columns[name] = names.gather(person)
            elif name in table.sensitive:
                dealt = _dealt_inside(by_group, order)
                columns[name] = without_unused_categories(table.frame[name]).gather(dealt)
            else:
                columns[name] = without_unused_categories(table.frame[name]).gather(order)
        columns[GROUP] = pl.Series(number_of_group[group])
        return Published(
            pl.DataFrame(columns), group, order, names, linked=linked_values(table, grouping, number_of_group)
        )


def _dealt_inside(records: GroupedRecords, order: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each published record the record of the same group whose value it gets: a random one, each once."""
    group = records.group_of_record
    lot = secrecy.secret_order(len(order))
    places = np.argsort(group[order], kind="stable")
    givers = lot[np.argsort(group[lot], kind="stable")]
    dealt = np.empty(len(order), np.int32)
    dealt[places] = givers
    return dealt
