"""Questions to a table: COUNT queries with conditions on its columns, drawn at random or written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.kernels import querying
from shoal.measuring.shown import MISSING, values_of
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table


class Condition(NamedTuple):
    """That a column's value lies between two values, ends included; equality where both are the same.

    Values are whole numbers as the table holds them: units of numbers, dates and ordered categories, codes of
    categories. `MISSING` as both ends asks for the missing value, which lies in no other interval.
    """

    column: str
    low: int
    high: int


Query = tuple[Condition, ...]
"""COUNT of what meets all conditions, which are on different columns."""
Queries = Sequence[Query]


def random_queries(
    table: Table,
    n: int,
    *,
    seed: int,
    conditions: tuple[int, int] = (1, 4),
    selectivity: float | None = None,
) -> list[Query]:
    """Draw COUNT queries: one condition on a sensitive attribute, the others on different quasi-identifiers.

    Parameters
    ----------
    n
        How many queries; some may be equal.
    seed
        Same table, same seed: same queries.
    conditions
        The fewest and the most conditions of a query, drawn uniformly; where the table has too few quasi-identifiers
        for the most, as many as there can be.
    selectivity
        None draws conditions as said below. A share makes every condition, also on nominal columns, an interval of
        consecutive values of the table (nominal ones in their sorted order): as many as are drawn from 1 to this share
        of the column's values. So Li and Li (2008) draw queries, but from sets of values and also from none.

    Notes
    -----
    A condition on numbers, dates or ordered categories is an equality or a range, at even odds; on nominal columns
    it is an equality. Sensitive attributes have an order where they are numbers, dates or times. The equalities of a
    query take the values of one record, drawn for the query, so that they do not exclude each other; a range lies
    between the values of two records, drawn for it among those that have one. Missing is a value like others in
    equalities, and never an end of a range. After Gal, Chen and Gangopadhyay (2008), "Experimental Evaluation".
    """
    fewest, most = _conditions_possible(table, n, conditions)
    rng = np.random.default_rng(seed)
    return _draw(table, n, (fewest, most), tuple(table.quasi), tuple(table.sensitive), rng, selectivity)


def random_conditions(
    table: Table, n: int, *, besides: str, conditions: tuple[int, int], rng: np.random.Generator
) -> list[Query]:
    """Draw conditions as `random_queries` does, on other columns than one; at least one, if there is such a column.

    Where that is the only sensitive attribute, all conditions are on quasi-identifiers.
    """
    fewest, most = _conditions_possible(table, n, conditions)
    quasi = tuple(name for name in table.quasi if name != besides)
    sensitive = tuple(name for name in table.sensitive if name != besides)
    possible = len(quasi) + bool(sensitive)
    if not possible:
        return [()] * n
    return _draw(table, n, (min(fewest, possible), min(most, possible)), quasi, sensitive, rng, None)


def _draw(
    table: Table,
    n: int,
    conditions: tuple[int, int],
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    rng: np.random.Generator,
    selectivity: float | None,
) -> list[Query]:
    """Queries with one condition on a sensitive attribute, if there is one, and the others on quasi-identifiers."""
    if selectivity is not None and not 0 < selectivity <= 1:
        raise ParameterError(f"selectivity must lie in (0, 1], got {selectivity}.")
    fewest, most = conditions
    names = [*quasi, *sensitive]
    n_conditions = rng.integers(fewest, most + 1, size=n)
    first = [len(quasi) + rng.integers(len(sensitive), size=(n, 1))] if sensitive else []
    others = rng.permuted(np.tile(np.arange(len(quasi)), (n, 1)), axis=1)
    drawn = np.hstack([*first, others])[:, :most]
    record = rng.integers(table.n_records, size=n)
    is_range = rng.random(drawn.shape) < 0.5
    ends = rng.random((*drawn.shape, 2))
    low, high = np.empty_like(drawn), np.empty_like(drawn)
    for attribute, name in enumerate(names):
        at = drawn == attribute
        if selectivity is not None:
            low[at], high[at] = _draw_interval(column_of(table, name), selectivity, ends[at])
        else:
            low[at], high[at] = _draw_ends(column_of(table, name), record[np.nonzero(at)[0]], is_range[at], ends[at])
    drawn_queries = zip(drawn.tolist(), low.tolist(), high.tolist(), n_conditions.tolist(), strict=True)
    return [
        tuple(map(Condition, [names[attribute] for attribute in attributes[:length]], lows, highs))
        for attributes, lows, highs, length in drawn_queries
    ]


def _conditions_possible(table: Table, n: int, conditions: tuple[int, int]) -> tuple[int, int]:
    """The fewest and most conditions of a query on this table."""
    if not table.sensitive:
        raise SchemaError("Queries need a sensitive attribute, but the schema names none.")
    if n < 1:
        raise ParameterError(f"n must be at least 1, got {n}.")
    fewest, most = conditions
    possible = 1 + len(table.quasi)
    if not 1 <= fewest <= most:
        raise ParameterError(f"conditions must be two numbers, at least 1 and ascending, got {fewest} and {most}.")
    if fewest > possible:
        raise ParameterError(
            f"Queries of {fewest} conditions need {fewest - 1} quasi-identifiers, but the table has {len(table.quasi)}."
        )
    return fewest, min(most, possible)


def _draw_ends(
    column: QuasiColumn, record: NDArray[np.int64], is_range: BoolArray, ends: FloatArray
) -> tuple[IntArray, IntArray]:
    """The ends of conditions on a column: a record's value twice, or the values of two records that have one."""
    values = values_of(column)
    low, high = values[record], values[record]
    present = np.flatnonzero(values != MISSING)
    if len(present) and _has_order(column):
        two = values[present[(ends[is_range] * len(present)).astype(np.int64)]]
        low[is_range], high[is_range] = two.min(axis=1), two.max(axis=1)
    return low, high


def _draw_interval(column: QuasiColumn, selectivity: float, drawn: FloatArray) -> tuple[IntArray, IntArray]:
    """The ends of intervals of consecutive values: how many and where as drawn, each in [0, 1)."""
    values = values_of(column)
    distinct = np.unique(values[values != MISSING])
    if not len(distinct):
        nothing = np.full(len(drawn), MISSING)
        return nothing, nothing
    most = max(1, int(selectivity * len(distinct)))
    size = 1 + (drawn[:, 0] * most).astype(np.int64)
    first = (drawn[:, 1] * (len(distinct) - size + 1)).astype(np.int64)
    return distinct[first], distinct[first + size - 1]


def _has_order(column: QuasiColumn) -> bool:
    if isinstance(column, NumberColumn):
        return True
    dtype = column.categories.dtype
    return column.source is None and (dtype.is_numeric() or dtype.is_temporal())


def column_of(table: Table, name: str) -> QuasiColumn:
    """A column that a query may name."""
    columns = {**table.quasi, **table.sensitive}
    if name not in columns:
        raise SchemaError(
            f"A query asks for '{name}', which is neither quasi-identifier nor sensitive attribute. "
            f"These are: {', '.join(columns)}.{did_you_mean(name, columns)}"
        )
    return columns[name]


def asked_of(table: Table, queries: Queries, columns: tuple[str, ...]) -> querying.Asked:
    """The conditions on some columns, as arrays."""
    number_of_column = {name: number for number, name in enumerate(columns)}
    start, attribute, low, high = [0], [], [], []
    for query in queries:
        if len({condition.column for condition in query}) < len(query):
            raise ParameterError("The conditions of a query must be on different columns. Join those on one column.")
        for column, lowest, highest in query:
            number = number_of_column.get(column)
            if number is None:
                column_of(table, column)  # refuses what the table does not have
                continue
            attribute.append(number)
            low.append(lowest)
            high.append(highest)
        start.append(len(attribute))
    return querying.Asked(*(np.array(entries, dtype=np.int64) for entries in (start, attribute, low, high)))
