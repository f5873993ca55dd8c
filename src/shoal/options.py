"""The options of methods and masks as keyword arguments, for those who check types.

`protect(..., method="mdav", m=5)` is short for `protect(..., method=shoal.methods.Mdav(m=5))`. What each means and
which values it takes is said by the parts themselves; a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class Options(TypedDict, total=False):
    """All options of all methods and masks; a run takes those of its own."""

    cut: Literal["best", "median"]
    ties: Literal["together", "split"]
    alpha: float
    effort: Literal["low", "normal", "high"]
    spread: Literal["range", "z-score"]
    m: int | None
    variable: bool
    gamma: float
    distance: Literal["euclidean", "gower"]
    b: int | None
    start: int
    repair: bool
    nominal: Literal["zero-one", "coded"]
    length: Literal["columns", "root"]
    cell: int
    moves: bool
    order: Literal["similar", "balanced", "rarest"]
    weights: str | Mapping[str, float] | None
    lowest: str | Mapping[str, float] | None
    highest: str | Mapping[str, float] | None
    aggregate: Literal["geometric", "arithmetic", "entropy"]
    time_limit: float
    missing_matches: Literal["none", "all"]
    importance: str | Mapping[str, float] | None
    most_hidden: str | Mapping[str, float] | None
    epsilon: float
    delta: float
    degree: Literal["none", "low", "low-medium", "medium", "medium-high", "high"]
    levels: str | Mapping[str, float] | None
    code_extremes: bool
    also: str | Sequence[Any]
    noise: Literal["centred", "rescaled", "published", "hybrid"]
    distribution: Literal["normal", "uniform", "laplace", "residuals"]
    round_to_domain: bool
    quasi_as: Literal["exact", "range"]
    columns: str | Sequence[str] | None
    kind: Literal["additive", "correlated", "multiplicative"]
    amount: float
    correction: Literal["none", "unbiased", "exact"]
    only_outliers: bool
    matrix: Literal["invariant", "drawn", "given"]
    stays: float
    strength: float
    given: str | Mapping[str, Any] | None
    strata: str | Sequence[str] | None
    publish_matrix: bool
    within: float
    region: str | Sequence[str] | None
    similar: str | Sequence[str] | None
    rate: float
    at_risk: int
    beside: str | Sequence[str] | None
    size: int
    by: str | Sequence[Any]
