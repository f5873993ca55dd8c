"""What a sample says of its population, before and after: means, totals and tables that are estimated by weights.

A record stands for as many records of the population as its person does for persons. What a release shows is read as an
analyst would (`shoal.measuring.distributions`): a value that a group shows is as likely as each other, the middle
stands for a range. Persons who were left out are not counted before either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.measuring.classes import FEWEST_PERSONS, classes_of
from shoal.measuring.distributions import Sums, counted_together, numbers_in, numbers_shown, read_release
from shoal.measuring.shown import Released
from shoal.models.exact import FloatArray
from shoal.table.columns import NumberColumn


@dataclass(frozen=True, kw_only=True)
class EstimatedClass:
    """One class of a column: how many records of the population are estimated to be in it."""

    label: str
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class ColumnEstimates:
    """What is estimated of one quasi-identifier.

    Attributes
    ----------
    mean_before, mean_after, total_before, total_after
        Of numbers, over records that are not missing; dates in days since 1970. None for categories, after a mask
        that shows no numbers, and in tables of fewer than ten persons.
    table
        Estimated records of the population by class; None where classes would have too few persons.
    total_variation
        Half the sum over classes of the difference of their shares.
    """

    mean_before: float | None = None
    mean_after: float | None = None
    total_before: float | None = None
    total_after: float | None = None
    table: tuple[EstimatedClass, ...] | None = None
    total_variation: float | None = None


@dataclass(frozen=True, kw_only=True)
class EstimatedTable:
    """How far the estimated table of a quasi-identifier by a sensitive attribute moves: its total variation."""

    quasi: str
    sensitive: str
    total_variation: float


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Estimates for the population, before and after.

    Attributes
    ----------
    records
        How many records of the population those of the table stand for.
    """

    records: float
    columns: dict[str, ColumnEstimates]
    tables: tuple[EstimatedTable, ...] = ()


def estimates_of(release: Released) -> Estimates | None:
    """What the weights of a sample estimate of its population, before and after; None without weights."""
    table = release.table
    weight = None if table.sample is None else table.sample.weight
    if weight is None:
        return None
    after = read_release(release, weight)
    classes = {name: classes_of(column, table) for name, column in table.quasi.items()}
    numbers = _of_numbers(release, after, weight)
    columns = {}
    for name, own in classes.items():
        told: dict[str, Any] = dict(numbers.get(name, {}))
        if own is not None:
            before = np.bincount(own.class_of_record, weights=weight, minlength=len(own)).astype(np.float64)
            seen = after.counts(name, own)
            told["table"] = tuple(
                EstimatedClass(label=label, before=float(old), after=float(new))
                for label, old, new in zip(own.labels, before, seen, strict=True)
            )
            told["total_variation"] = _moved(before, seen)
        columns[name] = ColumnEstimates(**told)
    tables = []
    for sensitive, column in table.sensitive.items():
        values = classes_of(column, table)
        for name, own in classes.items():
            if own is not None and values is not None:
                before = counted_together(own.class_of_record, len(own), values, weight)
                moved = _moved(before, after.together(name, own, values))
                tables.append(EstimatedTable(quasi=name, sensitive=sensitive, total_variation=moved))
    return Estimates(records=float(weight.sum()), columns=columns, tables=tuple(tables))


def _of_numbers(release: Released, after: Any, weight: FloatArray) -> dict[str, dict[str, float | None]]:
    """Means and totals of columns of numbers."""
    table = release.table
    numbers = {name: column for name, column in table.quasi.items() if isinstance(column, NumberColumn)}
    if table.n_persons < FEWEST_PERSONS or not numbers:
        return {}
    before = Sums.of([numbers_in(column) for column in numbers.values()], weight, table.n_records)
    shown, weight_of_place = numbers_shown(release, after, weight)
    seen = Sums.of(list(shown.values()), weight_of_place, len(weight_of_place))
    told: dict[str, dict[str, float | None]] = {}
    for at, name in enumerate(numbers):
        place = list(shown).index(name) if name in shown else None
        told[name] = {
            "mean_before": before.mean(at), "total_before": before.sum(at),
            "mean_after": None if place is None else seen.mean(place),
            "total_after": None if place is None else seen.sum(place),
        }  # fmt: skip
    return told


def _moved(before: FloatArray, after: FloatArray) -> float:
    """The total variation between two tables."""
    return 0.5 * float(np.abs(before / before.sum() - after / after.sum()).sum())
