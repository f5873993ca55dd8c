"""Estimates from categories that were drawn anew by a known matrix, corrected by it (Kooiman and others, 1997)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.table.frames import to_polars

SINGULAR = 1e-9
"""A matrix has no inverse where its smallest singular value is not above this."""

Array = NDArray[np.float64]


def estimated_counts(frame: Any, told: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """How often each combination of categories was there before these were drawn anew.

    Parameters
    ----------
    frame
        The published table.
    told
        For each column to count by what the codebook says of it where matrices are published, or what the steward's
        report has under `changed`: `matrices` and `strata`.

    Returns
    -------
    DataFrame
        One row per combination: the columns, the `count` in the release, the unbiased `estimate`, and its
        `standard_error` by the draws alone, where every record was drawn by itself.

    Notes
    -----
    With P the matrix and f the counts in the release, the estimate is the solution t of P' t = f; of several columns
    the same along each. Inside strata it is done stratum by stratum, and added up.
    """
    records, _ = to_polars(frame)
    strata = {tuple(each.get("strata", ())) for each in told.values()}
    if not told or len(strata) != 1:
        raise ParameterError("Name at least one column with its matrices, all of them by the same strata.")
    by = strata.pop()
    parts = []
    for number in range(len(next(iter(told.values()))["matrices"])):
        matrices = [each["matrices"][number] for each in told.values()]
        inside = records
        for name in by:
            inside = inside.filter(
                pl.col(name).cast(pl.String).eq_missing(pl.lit(matrices[0]["stratum"][name], pl.String))
            )
        parts.append(_of_stratum(inside, list(told), matrices))
    together = pl.concat(parts).group_by(list(told), maintain_order=True)
    sums = together.agg(pl.col("count").sum(), pl.col("estimate").sum(), pl.col("variance").sum())
    return sums.with_columns(pl.col("variance").clip(lower_bound=0).sqrt().alias("standard_error")).drop("variance")


def _of_stratum(records: pl.DataFrame, names: Sequence[str], matrices: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    categories = [list(each["categories"]) for each in matrices]
    grid = reduce(
        lambda left, right: left.join(right, how="cross"),
        [pl.DataFrame({name: own}, schema={name: pl.String}) for name, own in zip(names, categories, strict=True)],
    )
    counted = records.select(pl.col(name).cast(pl.String) for name in names).group_by(names).len("count")
    grid = grid.join(counted, on=names, how="left", maintain_order="left").with_columns(pl.col("count").fill_null(0))
    counts = grid["count"].to_numpy().reshape([len(own) for own in categories])
    estimate, variance = corrected(counts, [np.array(each["lines"]) for each in matrices])
    return grid.with_columns(pl.Series("estimate", estimate.ravel()), pl.Series("variance", variance.ravel()))


def corrected(counts: NDArray[Any], matrices: Sequence[Array]) -> tuple[Array, Array]:
    """Counts by one category per axis as they were to be expected before, and the variances of the draws."""
    estimate = counts.astype(np.float64)
    for axis, matrix in enumerate(matrices):
        if np.linalg.svd(matrix, compute_uv=False)[-1] <= SINGULAR:
            raise ParameterError("A matrix has no inverse: what was drawn by it cannot be corrected.")
        estimate = _along(np.linalg.inv(matrix.T), estimate, axis)
    spread = np.maximum(estimate, 0.0)
    for axis, matrix in enumerate(matrices):
        spread = _along(np.linalg.inv(matrix.T) ** 2 @ matrix.T, spread, axis)
    return estimate, spread - np.maximum(estimate, 0.0)


def _along(matrix: NDArray[Any], values: Array, axis: int) -> Array:
    """The product of a matrix with every line of an array along an axis."""
    return np.asarray(np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis))
