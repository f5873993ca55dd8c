"""COUNT queries that ask for sets of values, as Li and Li (2008, section VI-D) draw them, and their answers.

For releases that publish quasi-identifiers as they are and count sensitive values by group (anatomize, permute).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.errors import ParameterError, SchemaError
from shoal.measuring.asking import column_of
from shoal.measuring.queries import QueryError, query_error
from shoal.measuring.shown import Released, grouping_of, values_of
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.table import Table


class SetQuery(NamedTuple):
    """How many records have, in each column, one of these values: whole numbers as the table holds them."""

    values: dict[str, frozenset[int]]


def random_set_queries(table: Table, n: int, *, dimension: int, selectivity: float, seed: int) -> list[SetQuery]:
    """Draw queries on so many quasi-identifiers and a sensitive attribute, each asked for a random set of its values.

    A set has as many values as are drawn from 0 to `selectivity` of the column's values, as in the paper; a query with
    an empty set has the answer 0 and no relative error.
    """
    if not table.sensitive:
        raise SchemaError("Queries need a sensitive attribute, but the schema names none.")
    if not 0 <= dimension <= len(table.quasi):
        raise ParameterError(
            f"dimension must be between 0 and {len(table.quasi)}, the quasi-identifiers that there are."
        )
    if not 0 < selectivity <= 1:
        raise ParameterError(f"selectivity must lie in (0, 1], got {selectivity}.")
    rng = np.random.default_rng(seed)
    domain = {name: np.unique(values_of(column_of(table, name))) for name in (*table.quasi, *table.sensitive)}
    quasi, sensitive = list(table.quasi), list(table.sensitive)

    def drawn(name: str) -> frozenset[int]:
        most = int(selectivity * len(domain[name]))
        return frozenset(rng.choice(domain[name], size=int(rng.integers(most + 1)), replace=False).tolist())

    queries = []
    for _ in range(n):
        asked = [sensitive[int(rng.integers(len(sensitive)))]]
        asked += [quasi[at] for at in rng.permutation(len(quasi))[:dimension]]
        queries.append(SetQuery({name: drawn(name) for name in asked}))
    return queries


def _meets(table: Table, values: dict[str, frozenset[int]]) -> BoolArray:
    """Which records have one of the values in every column."""
    meets = np.ones(table.n_records, dtype=np.bool_)
    for name, wanted in values.items():
        meets &= np.isin(values_of(column_of(table, name)), list(wanted))
    return meets


def true_set_counts(table: Table, queries: Sequence[SetQuery]) -> IntArray:
    """How many records of the table meet each query."""
    return np.array([int(_meets(table, query.values).sum()) for query in queries], dtype=np.int64)


def estimated_set_counts(release: Released, queries: Sequence[SetQuery]) -> FloatArray:
    """How many the release seems to have: those of each group by quasi-identifiers, times the group's share of values.

    Attributes are taken as independent inside a group, as for other queries.
    """
    table = release.table
    if not release.mask.shows_identities:
        raise ParameterError("Sets of values are asked of releases that show exact quasi-identifiers (anatomize).")
    grouping = grouping_of(release)
    group = grouping.group_of_record(table)
    size = np.bincount(group, minlength=grouping.n_groups)
    estimates = np.empty(len(queries))
    for number, query in enumerate(queries):
        quasi = {name: wanted for name, wanted in query.values.items() if name in table.quasi}
        others = {name: wanted for name, wanted in query.values.items() if name not in table.quasi}
        found: FloatArray = np.bincount(group, weights=_meets(table, quasi), minlength=grouping.n_groups).astype(float)
        for name, wanted in others.items():
            found = (
                found * np.bincount(group, weights=_meets(table, {name: wanted}), minlength=grouping.n_groups) / size
            )
        estimates[number] = float(found.sum())
    return estimates


def set_query_error_of(
    release: Released, *, n: int = 1000, dimension: int = 3, selectivity: float = 0.5, seed: int = 8
) -> QueryError:
    """The mean relative error of random COUNT queries over sets of values."""
    queries = random_set_queries(release.table, n, dimension=dimension, selectivity=selectivity, seed=seed)
    return query_error(
        true_set_counts(release.table, queries), estimated_set_counts(release, queries), release.table.n_records
    )
