"""Columns with a hierarchy laid on a line, for methods that cut at places: what the tree holds together lies close."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from shoal.table.columns import CategoryColumn, Laid, NumberColumn, Whole, has_hierarchy
from shoal.table.levels import levels_of, texts_in_hierarchy
from shoal.table.table import QuasiColumn, Table

LENGTH = 10**6
"""How many units a line is long."""


def on_lines(table: Table) -> Table:
    """The table with every quasi-identifier that has a hierarchy laid on a line; as it is where none has.

    Values stand in the order of a walk through the tree, neighbours as far apart as the share of the domain that the
    lowest node above both covers. A missing value is one that stands under everything directly.
    """
    if not any(map(has_hierarchy, table.quasi.values())):
        return table
    return replace(
        table,
        quasi={name: _laid(column, table) if has_hierarchy(column) else column for name, column in table.quasi.items()},
    )


def _laid(column: QuasiColumn, table: Table) -> NumberColumn:
    nodes = _as_categories(column)
    levels = levels_of(nodes)
    walk = levels.walk
    one, next_ = walk[:-1], walk[1:]
    level = (levels.node[one] == levels.node[next_]).argmax(axis=1)
    ends = np.append(0.0, np.cumsum(levels.share[one, level]))
    place = np.empty(len(walk), np.int64)
    place[walk] = np.rint(ends / (ends[-1] or 1.0) * LENGTH)
    records = table.records_of_code(nodes)
    off = place - (records * place).sum() / max(int(records.sum()), 1)
    deviation = float(np.sqrt((records * off**2).sum() / max(int(records.sum()), 1)))
    extent = (0, int(place.max()))
    return NumberColumn(
        column.name, "number", np.array(extent), None, source=column.source,
        whole=Whole(extent, deviation=deviation), laid=Laid(nodes, place),
    )  # fmt: skip


def _as_categories(column: QuasiColumn) -> CategoryColumn:
    """The different values of a column in their order."""
    if isinstance(column, CategoryColumn):
        return column
    texts, codes = texts_in_hierarchy(column)
    known = [text for text in texts if text is not None]
    categories = pl.Series(column.name, known, dtype=pl.String)
    return CategoryColumn(column.name, codes, categories, len(texts) > len(known), column.source)
