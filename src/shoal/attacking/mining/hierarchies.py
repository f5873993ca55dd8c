"""Hierarchies by what values go along with: those whose persons have like sensitive values are joined first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.table.code_systems import ROOT
from shoal.table.hierarchy import Hierarchy
from shoal.table.label_sets import as_set

Node = tuple[str, ...]
"""The values that a node joins."""

MOST_VALUES = 2_000
EQUAL = 9
"""Costs that agree to so many decimals are equal: of equal ones the pair that stands first is joined."""


def hierarchy_by_sensitive_values(
    frame: pl.DataFrame, column: str, sensitive: Sequence[str], *, person: str | None = None
) -> Hierarchy:
    """A hierarchy of a column's values, in which values with like chances of sensitive values are joined first.

    Of all pairs those are joined that take least off what the column tells about the sensitive values (the mutual
    information, counted in persons), one after the other; each level has half as many nodes as the one below it. Li and
    Li (2008), section VIII, ask for that: values with very different chances are joined last.

    Parameters
    ----------
    frame
        The table.
    column
        The column whose values are joined. Missing values are not listed.
    sensitive
        The sensitive attributes; what is told about each of them is added up.
    person
        The column that says whose a record is; without it each record is a person of its own.

    Raises
    ------
    SchemaError
        A column is not there, or has no values, or more than 2,000.
    """
    names = [column, *sensitive, *([person] if person is not None else [])]
    absent = [name for name in names if name not in frame.columns]
    if absent or not sensitive:
        missing = f"The table has no column '{absent[0]}'." if absent else "Name at least one sensitive attribute."
        raise SchemaError(missing)
    texts = frame.select(pl.col(name).cast(pl.String) for name in names).with_row_index("record")
    values = texts[column].drop_nulls().unique().sort().to_list()
    if not 0 < len(values) <= MOST_VALUES:
        raise SchemaError(
            f"'{column}' has {len(values):,} different values; a hierarchy by sensitive values takes 1 to "
            f"{MOST_VALUES:,}. Join some of them first, or take a hierarchy of codes or of steps."
        )
    who = "record" if person is None else person
    counts = [_persons(texts, column, each, who, values) for each in sensitive]
    levels: list[list[Node]] = [[(value,) for value in values], *_halved(values, counts)]
    below_root = levels[: max(1, len(levels) - 1)]
    label_of = [{value: _label(node) for node in level for value in node} for level in below_root]
    paths = [[*(labels[value] for labels in label_of), ROOT] for value in values]
    return Hierarchy.from_rows(paths, source=f"hierarchy of '{column}' by sensitive values")


def _persons(texts: pl.DataFrame, column: str, sensitive: str, who: str, values: Sequence[str]) -> NDArray[np.float64]:
    """How many persons have each value (rows) together with each sensitive value (columns)."""
    pairs = texts.filter(pl.col(column).is_not_null()).select(who, column, sensitive).unique()
    found = pairs.group_by(column, sensitive).len()
    row = {value: place for place, value in enumerate(values)}
    of_sensitive = {value: place for place, value in enumerate(found[sensitive].unique(maintain_order=True).to_list())}
    counts = np.zeros((len(values), len(of_sensitive)))
    for value, target, n in found.iter_rows():
        counts[row[value], of_sensitive[target]] = n
    return counts


def _halved(values: Sequence[str], counts: Iterable[NDArray[np.float64]]) -> list[list[Node]]:
    """The nodes of each level, each with half as many as the one before, down to one."""
    tables = [table.copy() for table in counts]
    nodes: list[Node | None] = [(value,) for value in values]
    n = len(values)
    costs = np.full((n, n), np.inf)
    for place in range(n - 1):
        costs[place, place + 1 :] = _costs(tables, place, np.arange(place + 1, n))
    levels = []
    left, wanted = n, -(-n // 2)
    while left > 1:
        first, second = divmod(int(costs.argmin()), n)
        nodes[first], nodes[second] = (*(nodes[first] or ()), *(nodes[second] or ())), None
        for table in tables:
            table[first] += table[second]
        costs[second, :] = costs[:, second] = np.inf
        others = np.array([place for place, node in enumerate(nodes) if node is not None and place != first], np.int64)
        renewed = _costs(tables, first, others)
        costs[np.minimum(others, first), np.maximum(others, first)] = renewed
        left -= 1
        if left == wanted:
            levels.append([node for node in nodes if node is not None])
            wanted = -(-left // 2)
    return levels


def _costs(tables: Iterable[NDArray[np.float64]], place: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
    """What is no longer told about sensitive values once a node is joined with each of some others, in persons."""
    costs = np.zeros(len(others))
    for table in tables:
        own, other = table[place], table[others]
        costs += _told(own[None, :]) + _told(other) - _told(own[None, :] + other)
    return costs.round(EQUAL)


def _told(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of n log(n / all n) for each row; an empty cell adds nothing."""
    whole = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(counts > 0, counts * np.log(counts / whole[:, None]), 0.0)
    return np.asarray(logs.sum(axis=1))


def _label(node: Node) -> str:
    return node[0] if len(node) == 1 else as_set(sorted(node))
