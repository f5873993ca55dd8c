"""Mask "perturb": the mean of the group and noise that gives back the spread inside groups (Li and Sarkar, 2013)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking.draws import Draws
from shoal.masking.mean import Mean
from shoal.masking.publish import Mask, Published
from shoal.masking.shown_numbers import scaled, shown_numbers
from shoal.parts import option
from shoal.table.columns import NumberColumn
from shoal.table.table import Table

SINGULAR = 1e-9
"""A covariance is singular where its smallest eigenvalue, columns scaled to variance 1, is not above this; a column is
constant where its deviation, scaled by the extent in the table, is not."""


@dataclass(frozen=True, kw_only=True)
class Perturb(Mask):
    """Publish numbers as the group's mean and noise, such that means and covariances of the table stay what they are.

    Parameters
    ----------
    noise
        "centred": re-centred in each group; means of groups and of the table are exact, the covariance is unbiased.
        "rescaled": independent draws of a smaller variance; mean and covariance are unbiased.
        "published": independent draws as in the paper's Theorem 2, which inflate the covariance.
        "hybrid": draws that have exactly the covariance of the group, for each group by itself: means and covariances
        of groups and of the table are exact (R-microhybrid, Domingo-Ferrer and Gonzalez-Nicolas, 2010).
    distribution
        What noise is drawn from, with the same covariance: "normal"; "uniform", which is bounded; "laplace", which has
        more small and more large draws; "residuals": what other persons are off the mean of their group, drawn with
        replacement, so that noise has the shape that the data have.
    round_to_domain
        Round to the decimals that a column has and clip to its extent. It changes means and covariances:
        `shoal.measuring.statistics.moments` says how much.

    Notes
    -----
    With W the scatter of records around the mean of their group, N records, G groups and one record per person, noise
    has covariance S = W / (N - G). Noise that is centred in a group of n has the expected scatter (n - 1) S,
    over all groups (N - G) S = W: so no factor n / (n - 1) is needed, the N - G in S is that factor. Independent draws
    have the expected scatter (N - 1) S, which is too much by (G - 1) S = (G - 1) / (N - G) W; "rescaled" draws with
    W / (N - 1) instead.

    A person's records share one draw. Where a person has w records and a group n, the N - G above is the sum over
    groups of n - (sum of w^2) / n, and N - 1 is N - (sum of all w^2) / N. A group of one person gets no noise when
    centred: it shows its mean, so ask for a model that rules such groups out.

    "hybrid" needs more persons in every group than there are numeric columns that vary, and no group in which a column
    is constant or follows from others; anything else is refused. It shows more of a group than the other kinds do: the
    more so, the fewer persons there are and the closer columns go together.

    Numbers have two decimals more than the column (six digits where it has more than nine decimals); dates are rounded
    to days and ordered categories to the nearest category, always. Nominal columns are shown as the mask mean does: by
    the most frequent category of the group. Nobody may miss a number.
    """

    noise: Literal["centred", "rescaled", "published", "hybrid"] = field(
        default="centred", metadata=option("How noise is drawn: which means and covariances stay exact.")
    )
    distribution: Literal["normal", "uniform", "laplace", "residuals"] = field(
        default="normal", metadata=option("What noise is drawn from, with the same covariance.")
    )
    round_to_domain: bool = field(default=False, metadata=option("Round and clip to what the column can hold."))
    name: ClassVar[str] = "perturb"
    form: ClassVar[str] = "noise"
    title: ClassVar[str] = "Means and noise"
    sentence: ClassVar[str] = (
        "Numbers are shown as the mean of the group and noise, categories as the commonest of the group."
    )
    shows_groups: ClassVar[bool] = False
    changes_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise == "hybrid" and self.distribution == "residuals":
            raise ParameterError(
                "noise = 'hybrid' gives every group its own covariance, which residuals that are drawn twice in a "
                "group cannot have. Choose another distribution, or noise = 'centred'."
            )

    def publish(self, table: Table, grouping: Grouping, *, rng: np.random.Generator | None = None) -> Published:
        """The perturbed table; noise from `rng`, or else from the system's secure randomness."""
        columns = [column for column in table.quasi.values() if isinstance(column, NumberColumn)]
        _refuse(columns, table)
        if not table.schema.links_records:
            raise SchemaError(
                "The mask perturb gives all records of a person the same noise, by which they could be put together "
                "again: with person_ids='none' choose range, mean or suppress."
            )
        values = np.stack([scaled(column) for column in columns], axis=1)
        group = grouping.group_of_record(table)
        means = _means(values, group, grouping.n_groups)
        residuals = values - means[group]
        noise = self._noise(residuals, table, grouping, self._drawn(residuals, table.n_persons, Draws(rng)))
        masked = means[group] + noise[table.person_of_record]
        published = Mean().publish(table, grouping)
        order = published.record_of_published
        shown = [
            shown_numbers(column, masked[order, j], to_domain=self.round_to_domain).alias(column.name)
            for j, column in enumerate(columns)
        ]
        return replace(published, frame=published.frame.with_columns(shown))

    def _drawn(self, residuals: NDArray[np.float64], n_persons: int, draws: Draws) -> NDArray[np.float64]:
        """For each person draws with mean 0 and the unit matrix as covariance.

        Those of residuals have it in the directions in which there are any.
        """
        if self.distribution == "residuals":
            at = (draws.uniform(n_persons) * len(residuals)).astype(np.int64)
            return (residuals @ _inverse_root(residuals.T @ residuals / len(residuals)))[at]
        shape = n_persons, residuals.shape[1]
        if self.distribution == "normal":
            return draws.normal(shape)
        centred = draws.uniform(*shape) - 0.5
        if self.distribution == "uniform":
            return centred * np.sqrt(12.0)
        return -np.sign(centred) * np.log1p(-2.0 * np.abs(centred)) / np.sqrt(2.0)

    def _noise(
        self, residuals: NDArray[np.float64], table: Table, grouping: Grouping, drawn: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The noise of each person."""
        if self.noise == "hybrid":
            return _hybrid_noise(residuals, table, grouping, drawn)
        weight = table.records_of_person.astype(np.float64)
        group, n_groups = grouping.group_of_person, grouping.n_groups
        n_of_group = np.bincount(group, weights=weight, minlength=n_groups)
        if self.noise == "rescaled":
            freedom = weight.sum() - (weight**2).sum() / weight.sum()
        else:
            squares = np.bincount(group, weights=weight**2, minlength=n_groups)
            freedom = float((n_of_group - squares / n_of_group).sum())
        noise = drawn @ noise_root(residuals.T @ residuals, freedom)
        if self.noise == "centred":
            centres = [np.bincount(group, weights=weight * part, minlength=n_groups) / n_of_group for part in noise.T]
            noise -= np.stack(centres, axis=1)[group]
        return noise


def _hybrid_noise(
    residuals: NDArray[np.float64], table: Table, grouping: Grouping, draws: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Noise that has in each group, over its records, mean 0 and exactly the scatter of the residuals.

    Draws weighted by the roots of the persons' numbers of records are freed of their mean, brought to the unit matrix
    as scatter, and from there to that of the group.
    """
    group, n_groups = grouping.group_of_person, grouping.n_groups
    varies = np.array([np.ptp(column.units) > 0 for column in table.quasi.values() if isinstance(column, NumberColumn)])
    if not varies.any():
        return np.zeros(draws.shape)
    scatter = _scatters(residuals[:, varies], grouping.group_of_record(table), n_groups)
    _refuse_singular(scatter, np.bincount(group, minlength=n_groups))
    weight = table.records_of_person.astype(np.float64)[:, None]
    n_of_group = np.bincount(group, weights=weight[:, 0], minlength=n_groups)[:, None]
    drawn = draws[:, varies]
    centres = [np.bincount(group, weights=part, minlength=n_groups) for part in (weight * drawn).T]
    drawn = drawn - (np.stack(centres, axis=1) / n_of_group)[group]
    to_unit = _powers(_scatters(np.sqrt(weight) * drawn, group, n_groups), -0.5)
    turns = to_unit @ _powers(scatter, 0.5)
    order, ends = _by_group(group, n_groups)
    noise = np.zeros(draws.shape)
    parts = [part @ turn for part, turn in zip(np.split(drawn[order], ends), turns, strict=True)]
    noise[np.ix_(order, varies)] = np.concatenate(parts)
    return noise


def _by_group(group: NDArray[np.int32], n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order in which groups stand together, and where each but the last ends."""
    return np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=n_groups))[:-1]


def _scatters(values: NDArray[np.float64], group: NDArray[np.int32], n_groups: int) -> NDArray[np.float64]:
    """For each group the sum over its lines of xx'."""
    order, ends = _by_group(group, n_groups)
    return np.stack([part.T @ part for part in np.split(values[order], ends)])


def _powers(matrices: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Symmetric positive matrices to a power."""
    values, vectors = np.linalg.eigh(matrices)
    result: NDArray[np.float64] = (vectors * values[:, None, :] ** power) @ np.swapaxes(vectors, 1, 2)
    return result


def _refuse_singular(scatter: NDArray[np.float64], n_persons: NDArray[np.int64]) -> None:
    """Refuse groups whose covariance has no inverse, so that no draws can be given it."""
    n_columns = scatter.shape[1]
    is_small = n_persons <= n_columns
    deviation = np.sqrt(np.diagonal(scatter, axis1=1, axis2=2))
    has_constant = (deviation <= SINGULAR).any(axis=1)
    deviation = np.maximum(deviation, SINGULAR)
    smallest = np.linalg.eigvalsh(scatter / (deviation[:, :, None] * deviation[:, None, :]))[:, 0]
    is_singular = ~is_small & (has_constant | (smallest <= SINGULAR))
    if is_small.any() or is_singular.any():
        raise CannotSatisfyError(
            f"noise = 'hybrid' keeps the covariance of every group, which must not be singular. Of {len(scatter):,} "
            f"groups {int(is_small.sum()):,} have no more persons than there are numeric columns ({n_columns:,}), and "
            f"in {int(is_singular.sum()):,} others a column is constant or follows from others. Ask for larger groups "
            "(person-k), publish fewer columns, or use noise = 'centred'."
        )


def noise_root(scatter: NDArray[np.float64], freedom: float) -> NDArray[np.float64]:
    """The symmetric root of scatter / freedom; where that is singular noise has no part in those directions."""
    if freedom <= 0:
        return np.zeros_like(scatter)
    values, vectors = np.linalg.eigh(scatter / freedom)
    root: NDArray[np.float64] = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _inverse_root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric root of the inverse, without the directions in which there is no variance."""
    values, vectors = np.linalg.eigh(covariance)
    there = values > SINGULAR * max(float(values.max()), SINGULAR)
    inverse: NDArray[np.float64] = (vectors[:, there] / np.sqrt(values[there])) @ vectors[:, there].T
    return inverse


def _refuse(columns: list[NumberColumn], table: Table) -> None:
    if not columns:
        raise SchemaError(
            "The mask perturb adds noise to numbers, but no quasi-identifier is one. Use range or mean, or code "
            "categories as 0 and 1."
        )
    missing = {column.name: int(column.is_missing.sum()) for column in columns if column.is_missing is not None}
    if missing:
        named = ", ".join(f"'{name}' in {count:,}" for name, count in missing.items())
        raise SchemaError(
            f"The mask perturb needs every number, but some are missing: {named} of {table.n_records:,} records. "
            "Complete them, leave these records out (missing='drop'), or use the mask mean."
        )


def _means(values: NDArray[np.float64], group: NDArray[np.int32], n_groups: int) -> NDArray[np.float64]:
    sums = [np.bincount(group, weights=column, minlength=n_groups) for column in values.T]
    means: NDArray[np.float64] = np.stack(sums, axis=1) / np.bincount(group, minlength=n_groups)[:, None]
    return means
