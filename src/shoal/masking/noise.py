"""Mask "noise": every person's numbers and noise, drawn once per person (Kim, 1986; Brand, 2002)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.masking.changing import Changed, Changing, is_number, present, with_missing
from shoal.masking.draws import Draws
from shoal.masking.perturb import SINGULAR, noise_root
from shoal.masking.shown_labels import numbers_of
from shoal.masking.shown_numbers import shown_numbers
from shoal.parts import option
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table

FAR = 3.0
"""Robust standard deviations from the median beyond which a number is an outlier."""
MAD_OF_NORMAL = 1.4826022185056018
"""The standard deviation of a normal distribution over its median absolute deviation."""
MEAN_DEVIATION_OF_NORMAL = 1.2533141373155001
"""The same over its mean absolute deviation."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Noise(Changing):
    """Publish every number with noise, which all records of a person share.

    Parameters
    ----------
    columns
        The columns that are changed, quasi-identifiers or sensitive ones. None: the quasi-identifiers that are numbers,
        dates or ordered.
    kind
        "additive": independent normal noise in each column. "correlated": normal noise that has the covariances of the
        table, so that correlations stay. "multiplicative": the number times a factor that is 1 on average, and never
        below 0.
    amount
        The standard deviation of noise over that of its column; of factors their standard deviation itself.
    correction
        For correlated noise, which makes variances too large by amount^2. "unbiased": numbers are drawn towards their
        mean such that means and covariances are to be expected as they were. "exact": noise is drawn such that they are
        as they were, but for rounding.
    only_outliers
        Change only persons with a number farther than 3 robust standard deviations from the median of its column, and
        only that column. All others are published as they are: the gate tells whether that may be.
    round_to_domain
        Round to the decimals that a column has and clip to its extent, which changes means and covariances.

    Notes
    -----
    With x a number, s its standard deviation and a the amount: additive noise multiplies variances by 1 + a^2 and
    leaves covariances, correlated noise multiplies both by 1 + a^2. Factors are log-normal with mean 1 and standard
    deviation a: E[x'] = x, E[x'^2] = (1 + a^2) x^2.

    A missing number stays missing; correlated noise needs every number. Dates and ordered categories are rounded to the
    nearest. O(n q^2) for n records and q columns.
    """

    kind: Literal["additive", "correlated", "multiplicative"] = field(
        default="additive", metadata=option("How noise goes with the numbers and with each other.")
    )
    amount: float = field(
        default=0.5, metadata=option("The standard deviation of noise over that of the column.", low=0.0, high=100.0)
    )
    correction: Literal["none", "unbiased", "exact"] = field(
        default="none", metadata=option("For correlated noise: whether means and covariances are given back.")
    )
    only_outliers: bool = field(default=False, metadata=option("Change outliers only, and publish all others."))
    round_to_domain: bool = field(default=False, metadata=option("Round and clip to what the column can hold."))
    name: ClassVar[str] = "noise"
    title: ClassVar[str] = "Noise"
    sentence: ClassVar[str] = "Every number is shown with noise, drawn once per person."
    shown_as: ClassVar[str] = "the person's number and noise"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.amount == 0:
            raise ParameterError("amount = 0 adds no noise. Say 0.5 for half a standard deviation, for example.")
        if self.correction != "none" and (self.kind != "correlated" or self.only_outliers):
            raise ParameterError(
                f"correction = '{self.correction}' goes with kind = 'correlated' and with noise on everybody: only "
                "then can covariances be given back."
            )

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Numbers, dates and ordered categories."""
        return isinstance(column, NumberColumn)

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """The columns with noise."""
        numbers = [column for column in columns if isinstance(column, NumberColumn)]
        if not numbers:
            raise SchemaError("The mask noise changes numbers, but no quasi-identifier is one. Choose the mask pram.")
        self._refuse(numbers, table)
        values, there = _scaled(numbers), np.stack([present(column) for column in numbers], axis=1)
        drawn = draws.normal((table.n_persons, len(numbers)))
        changed = self._changed(values, there, numbers, drawn, table)
        if self.only_outliers:
            changed = np.where(_outliers(values, there, table), changed, values)
        shown = {
            column.name: with_missing(
                shown_numbers(column, changed[:, j], to_domain=self.round_to_domain).alias(column.name), there[:, j]
            )
            for j, column in enumerate(numbers)
        }
        return Changed(shown)

    def _changed(
        self,
        values: Matrix,
        there: NDArray[np.bool_],
        columns: Sequence[NumberColumn],
        drawn: Matrix,
        table: Table,
    ) -> Matrix:
        """Values, scaled to [0, 1], with the noise of their persons."""
        person = table.person_of_record
        if self.kind == "multiplicative":
            spread = np.sqrt(np.log1p(self.amount**2))
            factor = np.exp(spread * drawn - spread**2 / 2)[person]
            ends = [column.ends for column in columns]
            below = np.array([low / (high - low) if high > low else 0.0 for low, high in ends])
            return np.asarray((values + below) * factor - below)  # scaled values lie above the true 0 by `below`
        if self.kind == "additive":
            return np.asarray(values + (self.amount * drawn * _deviations(values, there))[person])
        centred = values - values.mean(axis=0)
        weight = table.records_of_person.astype(np.float64)
        if self.correction == "exact":
            drawn, spread_of_noise = _uncorrelated_draws(drawn, centred, weight, table), 1.0
        else:  # of noise that some records share, a sample has less variance than it was drawn with
            spread_of_noise = float((weight.sum() - (weight**2).sum() / weight.sum()) / max(weight.sum() - 1, 1))
        root = noise_root(centred.T @ centred, max(weight.sum() - 1, 1))
        noisy = centred + self.amount * (drawn @ root)[person]
        shrink = 1.0 if self.correction == "none" else np.sqrt(1 + self.amount**2 * spread_of_noise)
        return np.asarray(values.mean(axis=0) + noisy / shrink)

    def _refuse(self, columns: Sequence[NumberColumn], table: Table) -> None:
        if self.kind == "multiplicative":
            others = [column.name for column in columns if not is_number(column) or column.kind == "date"]
            if others:
                raise SchemaError(
                    f"kind = 'multiplicative' is for numbers, and '{others[0]}' is none. Choose kind = 'additive' for "
                    "dates and ordered categories."
                )
        missing = {column.name: int((~present(column)).sum()) for column in columns}
        named = ", ".join(f"'{name}' in {count:,}" for name, count in missing.items() if count)
        if self.kind == "correlated" and named:
            raise SchemaError(
                f"kind = 'correlated' needs every number, but some are missing: {named} of {table.n_records:,} "
                "records. Complete them, leave these records out (missing='drop'), or choose kind = 'additive'."
            )


def _scaled(columns: Sequence[NumberColumn]) -> Matrix:
    """Values scaled to [0, 1] by the ends of their columns; a missing one is 0."""
    scaled = []
    for column in columns:
        low, high = column.ends
        extent = high - low if high > low else 1.0
        scaled.append(np.nan_to_num((numbers_of(column) - low) / extent))
    return np.stack(scaled, axis=1)


def _deviations(values: Matrix, there: NDArray[np.bool_]) -> Matrix:
    """The standard deviation of the values that are there, column by column."""
    n = np.maximum(there.sum(axis=0), 1)
    centred = np.where(there, values - np.where(there, values, 0).sum(axis=0) / n, 0.0)
    return np.sqrt((centred**2).sum(axis=0) / np.maximum(n - 1, 1))


def _uncorrelated_draws(drawn: Matrix, centred: Matrix, weight: Matrix, table: Table) -> Matrix:
    """Draws of persons that have, over records, mean 0, covariance 1, and none with the numbers.

    They are freed of what a weighted regression on the persons' means explains and then brought to the unit matrix.
    """
    person, n_columns = table.person_of_record, centred.shape[1]
    means = np.stack([np.bincount(person, column, table.n_persons) for column in centred.T], axis=1) / weight[:, None]
    root = np.sqrt(weight)[:, None]
    known = root * np.column_stack([np.ones(len(weight)), means])
    beside = root * drawn
    left = beside - known @ np.linalg.lstsq(known, beside, rcond=None)[0]
    values, vectors = np.linalg.eigh(left.T @ left / (weight.sum() - 1))
    if table.n_persons <= 2 * n_columns + 1 or values[0] <= SINGULAR:
        raise CannotSatisfyError(
            f"correction = 'exact' needs more persons than the {table.n_persons:,} there are, for {n_columns:,} "
            f"columns: at least {2 * n_columns + 2:,}. Change fewer columns, or use correction = 'unbiased'."
        )
    return np.asarray(left / root @ (vectors / np.sqrt(values)) @ vectors.T)


def _outliers(values: Matrix, there: NDArray[np.bool_], table: Table) -> NDArray[np.bool_]:
    """For each record and column whether its person has an outlier there."""
    found = np.zeros(values.shape, np.bool_)
    for j in range(values.shape[1]):
        own = values[there[:, j], j]
        if not len(own):
            continue
        off = np.abs(values[:, j] - np.median(own))
        spread = MAD_OF_NORMAL * np.median(off[there[:, j]]) or MEAN_DEVIATION_OF_NORMAL * off[there[:, j]].mean()
        is_far = there[:, j] & (off > FAR * spread)
        of_person = np.zeros(table.n_persons, np.bool_)
        of_person[table.person_of_record[is_far]] = True
        found[:, j] = of_person[table.person_of_record]
    return found
