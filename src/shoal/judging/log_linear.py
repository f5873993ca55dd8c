"""The log-linear risk of sample uniques: how many are expected to be unique in the population, how many to be found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Weighing = Literal["none", "offset", "counts", "covariate"]

MOST_CELLS = 200_000
"""So many combinations of values a model of more than main effects is fitted to."""
TRIES = 100


def log_linear_risk(
    codes: Sequence[tuple[IntArray, int]],
    class_of_person: IntArray,
    persons: IntArray,
    weight: FloatArray,
    *,
    is_population: bool = True,
    together: Sequence[tuple[int, int]] = (),
    weighing: Weighing = "none",
) -> dict[str, float]:
    """Of the sample uniques, how many are expected to be unique in the population, and how many to be found.

    A Poisson log-linear model says how many persons a cell of the quasi-identifiers is expected to have (Skinner and
    Shlomo 2008): mu of the sample, mu/pi of the population, pi the share that was drawn.

    Parameters
    ----------
    is_population
        Whether the mean of the population is mu/pi, as in the paper; else it is mu, as sdcMicro's modRisk has it.
    together
        Pairs of columns, by their numbers, that have an effect together beside that of each of them.
    weighing
        What weights have to do with mu: "none"; "offset", persons per weight of a cell (Clogg and Eliason 1987, CE in
        sdcMicro); "counts", weights scaled to the size of the sample in the place of persons (PML); "covariate", the
        weights of a cell as one more effect (weightedLLM).
    """
    alone = persons[class_of_person] == 1
    if together or weighing != "none":
        mu = _fitted(codes, weight, together, weighing)[alone]
    else:
        mu = _of_main_effects(codes)[alone]
    pi = np.minimum(1.0, 1 / weight[alone])
    rest = mu * (1 - pi) / (pi if is_population else 1.0)
    found = np.where(rest > 0, -np.expm1(-rest) / np.where(rest > 0, rest, 1), 1.0)
    return {"uniques": math.fsum(np.exp(-rest).tolist()), "found": math.fsum(found.tolist())}


def _of_main_effects(codes: Sequence[tuple[IntArray, int]]) -> FloatArray:
    """The mean of the cell of each person where columns have nothing to do with each other: a product of shares."""
    n = len(codes[0][0])
    expected = np.full(n, float(n))
    for code, n_codes in codes:
        expected *= np.bincount(code, minlength=n_codes)[code] / n
    return expected


def _fitted(
    codes: Sequence[tuple[IntArray, int]],
    weight: FloatArray,
    together: Sequence[tuple[int, int]],
    weighing: Weighing,
) -> FloatArray:
    """The mean of the cell of each person, by a Poisson regression over all combinations of values."""
    columns = [np.unique(code, return_inverse=True)[1].reshape(-1) for code, _ in codes]
    shape = tuple(int(column.max()) + 1 for column in columns)
    n_cells = math.prod(shape)
    if n_cells > MOST_CELLS:
        raise ParameterError(
            f"There are {n_cells:,} combinations of values, and a log-linear model of more than main effects is fitted "
            f"to {MOST_CELLS:,} at the most. Take fewer columns."
        )
    cell = np.ravel_multi_index(columns, shape)
    counts = np.bincount(cell, minlength=n_cells).astype(np.float64)
    weights = np.bincount(cell, weights=weight, minlength=n_cells)
    effects = _effects(shape, together)
    offset = np.zeros(n_cells)
    if weighing == "offset":
        offset = np.log(np.divide(counts, weights, out=np.zeros(n_cells), where=weights > 0) + 0.1)
    elif weighing == "counts":
        counts = np.round(weights * (counts.sum() / weights.sum()))
    elif weighing == "covariate":
        effects = np.column_stack([effects, weights / weights.max()])
    return _poisson(effects, counts, offset)[cell]


def _effects(shape: tuple[int, ...], together: Sequence[tuple[int, int]]) -> FloatArray:
    """A column per effect: all, each value but the first of each column, and those of pairs of columns together."""
    values = np.indices(shape).reshape(len(shape), -1)
    single = [[values[j] == value for value in range(1, n)] for j, n in enumerate(shape)]
    pairs = [a & b for first, second in together for a in single[first] for b in single[second]]
    every = [np.ones(values.shape[1], np.bool_), *(effect for of_column in single for effect in of_column), *pairs]
    return np.column_stack(every).astype(np.float64)


def _poisson(effects: FloatArray, counts: FloatArray, offset: FloatArray) -> FloatArray:
    """The means that are most likely, by reweighted least squares."""
    log_mean = np.log(counts + 0.1)
    before = math.inf
    for _ in range(TRIES):
        mean = np.exp(log_mean)
        root = np.sqrt(mean)
        aim = (log_mean - offset + (counts - mean) / mean) * root
        log_mean = effects @ np.linalg.lstsq(effects * root[:, None], aim, rcond=None)[0] + offset
        log_mean = np.clip(log_mean, -700, 700)
        height = float((counts * log_mean - np.exp(log_mean)).sum())
        if abs(height - before) <= 1e-13 * abs(height):
            break
        before = height
    return np.exp(log_mean)
