"""Mask "anatomize": quasi-identifiers in one table, each sensitive attribute in a table of counts, joined by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.grouping.grouping import Grouping
from shoal.kernels import counting
from shoal.masking import secrecy
from shoal.masking.grouped import GroupedRecords
from shoal.masking.parting import Parting, linked_values, refuse_what_links
from shoal.masking.publish import Published, spread, without_unused_categories
from shoal.masking.ranges import Range, as_it_is
from shoal.table.columns import CategoryColumn
from shoal.table.own_columns import COUNT, GROUP, PERSONS, RECORDS, what_is_counted
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Anatomize(Parting):
    """Publish a quasi-identifier table and, for each sensitive attribute, a table that counts its values by group.

    Parameters
    ----------
    quasi_as
        "exact": quasi-identifiers as they are (Xiao and Tao, 2006). Identities are then visible; what is hidden is
        which value belongs to whom. "range": quasi-identifiers masked by group as well.

    Notes
    -----
    Where persons have several records the quasi-identifier table has one row per person: it shows the range of their
    values where these differ, and does not tell the number of their records. Sensitive tables then count persons, and
    records too where quasi-identifiers are masked. Beside exact ones such counts would link: a value that one person
    has in 37 records is that of whoever is known to come often.
    Group numbers and the order of rows come from secure randomness.
    """

    name: ClassVar[str] = "anatomize"
    title: ClassVar[str] = "Sensitive values in own tables"
    sentence: ClassVar[str] = (
        "Sensitive values are counted by group, each attribute in a table of its own, apart from who is who."
    )
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "spark"})
    has_tables: ClassVar[bool] = True

    def publish(self, table: Table, grouping: Grouping, *, rng: np.random.Generator | None = None) -> Published:
        """The quasi-identifier table and the sensitive tables."""
        refuse_what_links(table.schema, self.name, own=(COUNT, PERSONS, RECORDS))
        one_each = table.one_record_per_person
        if table.schema.kept and not one_each:
            raise SchemaError(
                f"The mask anatomize has one row per person, so it cannot keep columns of records: "
                f"{', '.join(table.schema.kept)}. Drop them."
            )
        number_of_group = secrecy.secret_order(grouping.n_groups) + 1
        order = secrecy.secret_order(table.n_persons)
        group = grouping.group_of_person[order]
        columns = self._quasi_columns(table, grouping, order, one_each)
        columns[GROUP] = pl.Series(number_of_group[group])
        records = GroupedRecords.of(table, grouping)
        counted = what_is_counted(one_record_per_person=one_each, shows_identities=self.shows_identities)
        tables = {
            name: _sensitive_table(column, records, table, number_of_group).select(GROUP, name, *counted)
            for name, column in table.sensitive.items()
        }
        return Published(
            pl.DataFrame(columns),
            group,
            order,
            None,
            tables=tables,
            linked=linked_values(table, grouping, number_of_group),
        )

    def _quasi_columns(
        self, table: Table, grouping: Grouping, order: NDArray[np.int32], one_each: bool
    ) -> dict[str, pl.Series]:
        person_at = np.argsort(table.person_of_record, kind="stable")[order] if one_each else order
        by_group = GroupedRecords.of(table, grouping)
        by_person = GroupedRecords(table.person_of_record, table.n_persons)
        columns: dict[str, pl.Series] = {}
        for name in table.frame.columns:
            if name in table.quasi and self.quasi_as == "range":
                labels = Range().mask(table.quasi[name], by_group, table)
                columns[name] = spread(labels, grouping.group_of_person[order])
            elif name in table.quasi and one_each:
                columns[name] = without_unused_categories(table.frame[name]).gather(person_at)
            elif name in table.quasi:
                columns[name] = spread(Range().mask(as_it_is(table.quasi[name]), by_person, table), order)
            elif name in table.schema.kept:
                columns[name] = without_unused_categories(table.frame[name]).gather(person_at)
        return columns


def _sensitive_table(
    column: CategoryColumn, records: GroupedRecords, table: Table, number_of_group: NDArray[np.int32]
) -> pl.DataFrame:
    """Each value of each group, with everything that can be counted of it."""
    everything = np.arange(table.n_records, dtype=np.int32)
    order = counting.order_by_code(table.person_of_record, table.n_persons, everything)
    order = counting.order_by_code(records.group_of_record, records.n_groups, order)
    start, value, n_records, n_persons = counting.values_of_groups(
        order, records.group_of_record, column.codes, table.person_of_record, records.n_groups
    )
    group = np.repeat(np.arange(records.n_groups), np.diff(start))
    values = column.categories if not column.has_missing else column.categories.extend_constant(None, 1)
    counts = {COUNT: n_records, PERSONS: n_persons, RECORDS: n_records}
    frame = pl.DataFrame({GROUP: number_of_group[group], column.name: values.gather(value), **counts})
    return frame[secrecy.secret_order(len(frame))]
