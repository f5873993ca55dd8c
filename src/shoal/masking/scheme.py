"""The scheme of a release: what each group shows of each quasi-identifier, and which values that covers.

The steward keeps it, so that later records can be masked by the groups that there are. It says no more than the
published table does, but in a form that need not be read out of labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Published
from shoal.masking.ranges import names_of_codes, sets_of_groups, shown_ends
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.label_sets import EVERYTHING
from shoal.table.table import QuasiColumn, Table
from shoal.table.units import texts_of_floats, texts_of_units

FORM: dict[str, Any] = {
    "column": pl.String,
    "kind": pl.String,
    "group": pl.Int32,
    "label": pl.String,
    "low": pl.String,
    "high": pl.String,
    "members": pl.List(pl.String),
    "anything": pl.Boolean,
    "missing": pl.Boolean,
}
"""One line for each quasi-identifier and group. `low` and `high` are of numbers and dates, null where open; `members`
are of categories, and of groups that show several nodes of a hierarchy; `anything` says that every value is covered,
`missing` that a missing one is."""

BELOW, ABOVE = " or less", "at least "


@dataclass(frozen=True)
class _Part:
    """What the groups show of one quasi-identifier."""

    column: QuasiColumn
    records: GroupedRecords
    labels: pl.Series

    def lines(self, mask: str) -> pl.DataFrame:
        n = self.records.n_groups
        covered = self._covered(mask)
        n_missing = self.records.n_missing(self.column)
        everything = self.labels.fill_null("").str.strip_suffix(" or missing") == EVERYTHING
        nothing = pl.repeat(None, n, eager=True)
        return pl.DataFrame(
            {
                "column": pl.repeat(self.column.name, n, eager=True),
                "kind": pl.repeat(self._kind(), n, eager=True),
                "group": np.arange(n, dtype=np.int32),
                "label": self.labels,
                "low": covered.get("low", nothing),
                "high": covered.get("high", nothing),
                "members": covered.get("members", nothing),
                "anything": everything,
                "missing": n_missing > 0,
            },
            schema=FORM,
        )

    def _kind(self) -> str:
        if self.column.source is not None and self.column.source.hierarchy is not None:
            return "node"
        return getattr(self.column, "kind", "nominal")

    def _covered(self, mask: str) -> dict[str, Any]:
        if mask == "mean":
            return {"low": self.labels, "high": self.labels}
        if self.column.source is not None and self.column.source.hierarchy is not None:
            return {"members": self._nodes(self.column.source.hierarchy)}
        if isinstance(self.column, CategoryColumn):
            start, codes, _ = self.records.categories(self.column)
            group = np.repeat(np.arange(self.records.n_groups), np.diff(start))
            names = pl.Series(names_of_codes(self.column), dtype=pl.String)
            is_name = codes < len(self.column.categories)
            present = pl.DataFrame({"group": group[is_name], "name": names.gather(codes[is_name])})
            members = present.group_by("group", maintain_order=True).agg("name")
            everyone = pl.DataFrame({"group": np.arange(self.records.n_groups)})
            found = everyone.join(members, on="group", how="left", maintain_order="left")["name"]
            return {"members": found.fill_null(pl.Series([[]], dtype=pl.List(pl.String)))}
        low, high, n_missing = shown_ends(self.column, self.records)
        has_values = n_missing < self.records.n_records
        if self.column.categories:
            order = self.column.categories
            ends = zip(low.tolist(), high.tolist(), has_values.tolist(), strict=True)
            return {"members": [list(order[first : last + 1]) if is_any else [] for first, last, is_any in ends]}
        return self._open_ended(_texts(self.column, low), _texts(self.column, high), has_values)

    def _nodes(self, hierarchy: Hierarchy) -> list[list[str] | None]:
        """The nodes of the groups that show several."""
        sets = sets_of_groups(self.column, hierarchy, self.records)
        shown = self.labels.fill_null("").str.strip_suffix(" or missing").to_list()
        return [
            sets.labels(group) if group in sets.nodes_of_group and sets.text(group) == label else None
            for group, label in enumerate(shown)
        ]

    def _open_ended(self, low: pl.Series, high: pl.Series, has_values: NDArray[np.bool_]) -> dict[str, Any]:
        """Ends of ranges; one that is published as open is open here, and a group without values covers none."""
        shown = self.labels.fill_null("").str.strip_suffix(" or missing")
        is_open_below, is_open_above = shown.str.ends_with(BELOW), shown.str.starts_with(ABOVE)
        lows = pl.select(pl.when(~is_open_below & ~is_open_above).then(low).when(is_open_above)
                         .then(shown.str.strip_prefix(ABOVE))).to_series()  # fmt: skip
        highs = pl.select(pl.when(~is_open_below & ~is_open_above).then(high).when(is_open_below)
                          .then(shown.str.strip_suffix(BELOW))).to_series()  # fmt: skip
        empty = pl.Series(~has_values)
        return {
            "low": pl.select(pl.when(empty).then(pl.lit("1")).otherwise(lows)).to_series(),
            "high": pl.select(pl.when(empty).then(pl.lit("0")).otherwise(highs)).to_series(),
        }


def scheme_of(table: Table, published: Published, mask: Any) -> pl.DataFrame:
    """The scheme of a release, for masks that show a label per group."""
    group_of_record = np.empty(table.n_records, dtype=np.int32)
    group_of_record[published.record_of_published] = published.group_of_record
    records = GroupedRecords(group_of_record, int(group_of_record.max()) + 1, published.levels, published.hidden)
    labels = {column.name: mask.mask(column, records, table).cast(pl.String) for column in table.quasi.values()}
    return scheme_of_groups(table, records, labels, str(mask.name))


def scheme_of_groups(table: Table, records: GroupedRecords, labels: Mapping[str, pl.Series], mask: str) -> pl.DataFrame:
    """The same, where what each group shows of each quasi-identifier is known."""
    return pl.concat(_Part(column, records, labels[name]).lines(mask) for name, column in table.quasi.items())


def _texts(column: NumberColumn, values: NDArray[Any]) -> pl.Series:
    return texts_of_units(column, values) if column.floats is None else texts_of_floats(values)
