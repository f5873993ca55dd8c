"""How tables seem to hang together: keys that name rows, and columns of other tables that name the same rows."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from shoal.publishing.related.star import StarTable
from shoal.table.spelling import spelled

MOST_ORPHANS = 0.05
"""Of a link, the largest share of rows that may belong to no row of the other table."""


def suggested_tables(frames: Mapping[str, pl.DataFrame]) -> dict[str, StarTable]:
    """For each table its key and its links, as names and contents have it; the steward has the last word.

    A column links to another table where it is called like that table's key, or like the table, and nearly all of its
    values are values of that key. A key has no value twice. The first link is that to the table furthest from persons.
    """
    keys = {name: _keys(frame) for name, frame in frames.items()}
    links: dict[str, dict[str, str]] = {name: {} for name in frames}
    taken: dict[str, str] = {}
    for parent in sorted(frames, key=lambda name: frames[name].height):
        for child, frame in frames.items():
            found = next((found for key in keys[parent] if taken.get(parent, key) == key and child != parent
                          and (found := _link(frame, frames[parent], key, parent)) is not None), None)  # fmt: skip
            if found is None or _is_above(child, parent, links):
                continue
            key, column = found
            taken[parent] = key
            links[child].setdefault(column, parent)
    rooted = {name: StarTable(key=taken.get(name), links=_deepest_first(own, links)) for name, own in links.items()}
    roots = [name for name, table in rooted.items() if not table.links]
    if len(roots) == 1 and rooted[roots[0]].key is None and keys[roots[0]]:
        rooted[roots[0]] = StarTable(key=keys[roots[0]][0])
    return rooted


def _keys(frame: pl.DataFrame) -> list[str]:
    """Columns that name each row, those that are called so first."""
    unique = [
        column.name for column in frame.iter_columns() if not column.null_count() and column.n_unique() == len(column)
    ]
    return sorted(unique, key=lambda name: (not re.search(r"(?i)(id|nr|no|key|nummer|number)$", name),
                                            frame.columns.index(name)))  # fmt: skip


def _link(child: pl.DataFrame, parent: pl.DataFrame, key: str, table: str) -> tuple[str, str] | None:
    """The key, and the column of another table that holds its values; None where there is none."""
    called = {_plain(key), _plain(table), _plain(table) + _plain(key), _plain(table).removesuffix("s") + _plain(key)}
    for column in child.columns:
        if _plain(column) in called and _belong(child[column], parent[key]):
            return key, column
    return None


def _belong(values: pl.Series, keys: pl.Series) -> bool:
    known = spelled(keys, "exact").unique().to_list()
    n_belong = int(spelled(values, "exact").is_in(known).fill_null(False).sum())
    return n_belong >= (1 - MOST_ORPHANS) * len(values) > 0


def _is_above(child: str, parent: str, links: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether the one that would be below is above already."""
    waiting, seen = [parent], set()
    while waiting:
        table = waiting.pop()
        if table == child:
            return True
        if table not in seen:
            seen.add(table)
            waiting += links[table].values()
    return False


def _deepest_first(own: Mapping[str, str], links: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    def depth(table: str) -> int:
        return max((1 + depth(other) for other in links[table].values()), default=0)

    return dict(sorted(own.items(), key=lambda each: -depth(each[1])))


def _plain(name: str) -> str:
    return re.sub(r"[^\w]|_", "", name).casefold()
