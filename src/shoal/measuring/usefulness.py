"""What analysts can still do with a release: predict a column, see marginals and associations, count records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from shoal.errors import ParameterError
from shoal.measuring.distributions import pairs_of_categories, what_is_kept
from shoal.measuring.prediction import Prediction, prediction_of
from shoal.measuring.predictors import Kind
from shoal.measuring.queries import QueryError, query_error_of
from shoal.measuring.shown import Released, is_read
from shoal.policy.policy import USUAL_QUERIES


@dataclass(frozen=True, kw_only=True)
class PairKept:
    """How two columns go together in the table, and as the release shows them; None where that is undefined.

    `measure` is "correlation" of two numbers (-1 to 1), else "cramers_v" by their classes (0 none, 1 one tells the
    other).
    """

    first: str
    second: str
    measure: Literal["correlation", "cramers_v"]
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """What can still be done with a release.

    Attributes
    ----------
    prediction
        How well a column is predicted from the others by what the release teaches.
    marginals
        Total variation by quasi-identifier: the share of records that seem to be in another class. None where classes
        would have too few persons.
    pairs
        How each two columns go together, before and after.
    counts
        How far random counts are off; None where none were asked for.
    """

    prediction: Prediction
    marginals: Mapping[str, float | None] = field(default_factory=dict)
    pairs: tuple[PairKept, ...] = ()
    counts: QueryError | None = None

    def to_dict(self) -> dict[str, Any]:
        """The keys of the JSON contract."""
        return {
            **self.prediction.to_dict(),
            "marginals": dict(self.marginals),
            "pairs": [asdict(pair) for pair in self.pairs],
            "counts": None if self.counts is None else self.counts.to_dict(),
        }


def usefulness_of(
    release: Released, target: str, *, kind: Kind | None = None, queries: int = USUAL_QUERIES, seed: int = 0
) -> Usefulness:
    """What can still be done with a release, for somebody who wants to predict one column.

    Parameters
    ----------
    target, kind
        As `prediction_of` takes them.
    queries
        How many random counts are asked; 0 for none.
    seed
        Governs who is kept apart when, and which counts are asked.
    """
    if isinstance(queries, bool) or not isinstance(queries, int) or queries < 0:
        raise ParameterError("queries must be a whole number: how many random counts are asked.")
    prediction = prediction_of(release, target, kind=kind, seed=seed)
    if not is_read(release.mask):
        return Usefulness(prediction=prediction)
    kept = what_is_kept(release)
    correlations = [_pair(pair.first, pair.second, "correlation", pair) for pair in kept.correlations]
    dependences = [_pair(pair.quasi, pair.sensitive, "cramers_v", pair) for pair in kept.dependences]
    categories = [_pair(pair.first, pair.second, "cramers_v", pair) for pair in pairs_of_categories(release)]
    return Usefulness(
        prediction=prediction,
        marginals={name: column.total_variation for name, column in kept.columns.items()},
        pairs=tuple(pair for pair in (*correlations, *categories, *dependences) if pair.before is not None),
        counts=query_error_of(release, n=queries, seed=seed) if queries else None,
    )


def _pair(first: str, second: str, measure: Literal["correlation", "cramers_v"], told: Any) -> PairKept:
    return PairKept(first=first, second=second, measure=measure, before=told.before, after=told.after)
