"""The risk of a sample: who would be found in the population that it was drawn from.

Every figure counts persons. Persons who show the same quasi-identifiers in all their records form a class; f is how
many persons of the table a class has, F how many of the population, known from a population table or estimated by the
sum of weights. Where each person has one record these are the figures of sdcMicro and ARX.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.judging.columns_apart import columns_apart
from shoal.judging.households import HouseholdRisk, household_risk
from shoal.judging.log_linear import log_linear_risk
from shoal.judging.observation import Observation
from shoal.judging.suda import SudaRisk, suda_of
from shoal.models.individual_risk import individual_risk
from shoal.models.uniqueness import ClassSizes, population_uniques
from shoal.table.columns import code_values

if TYPE_CHECKING:
    from shoal.table.sample import Sample
    from shoal.table.schema import Schema

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ABOVE = (0.05, 0.2, 0.5)
"""Risks above which persons are counted."""
MOST_FREQUENCIES = 1_000
"""So many pairs of f and F are told, those of the largest risk."""
SMALL_CLASSES = (2, 3, 5)
"""Sizes of classes below which persons are counted."""


@dataclass(frozen=True, kw_only=True)
class StratumRisk:
    """The figures of one stratum."""

    stratum: str
    persons: int
    population: float | None
    expected_reidentifications: float


@dataclass(frozen=True, kw_only=True)
class PopulationRisk:
    """The risk of a sample.

    Attributes
    ----------
    persons, population, fraction
        How many persons the table and the population have, and the share of the one in the other; None where no weights
        say it.
    classes, sample_uniques, below
        How many classes there are, how many persons are alone in theirs, and how many are in a class of fewer than 2, 3
        and 5.
    global_risk, expected_reidentifications, max_risk
        The mean, sum and maximum over persons of the individual risk (Benedetti and Franconi): the chance to be found
        by somebody who knows the quasi-identifiers of everybody in the population. Without weights it is 1/f.
    frequencies, other_classes
        f, F and the individual risk of single classes, and how many classes have just these: those of the largest risk
        first, a thousand pairs of f and F at the most; and how many classes have others.
    uniques
        How many persons of the population are unique, by estimator.
    log_linear
        Of the sample uniques, how many are expected to be unique in the population, and how many to be found
        (Skinner and Shlomo 2008, main effects).
    households, strata, suda, columns
        The risk of households, of each stratum, of special uniques, and how well columns tell persons apart.
    journalist
        Where there is a population table: the chance to be found for somebody who does not know who is in the table,
        one divided by the persons of the population who fit what is shown; the highest, the mean, and the share of the
        persons for whom it is above 0.05, 0.2 and 0.5.
    """

    persons: int
    population: float | None
    fraction: float | None
    classes: int
    sample_uniques: int
    below: dict[str, int]
    global_risk: float
    expected_reidentifications: float
    max_risk: float
    frequencies: tuple[dict[str, float], ...]
    other_classes: int
    uniques: dict[str, float | None]
    log_linear: dict[str, float]
    households: HouseholdRisk | None = None
    strata: tuple[StratumRisk, ...] = ()
    journalist: dict[str, float] | None = None
    suda: SudaRisk | None = None
    columns: dict[str, dict[str, float]] | None = None


def population_risk(
    seen: Observation,
    sample: Sample,
    frame: pl.DataFrame,
    schema: Schema,
    *,
    in_table: IntArray | None = None,
    matched: tuple[IntArray, FloatArray] | None = None,
    of_columns: bool = True,
) -> PopulationRisk:
    """The risk of a table as it is seen, drawn as the sample says.

    Parameters
    ----------
    in_table
        How many persons of a population table fit what each group shows, where there is one.
    matched
        Where a hidden cell matches anything: f and F of all who match what each group shows. Estimators of uniques, and
        what is told of columns, go by rows that look the same.
    of_columns
        Whether special uniques and columns are looked at too.
    """
    class_of_person, n_classes = classes_of_persons(seen.group_of_record, seen.person_of_record, seen.n_persons)
    persons = np.bincount(class_of_person, minlength=n_classes)
    weight = of_persons(sample.weight, seen)
    in_population = None if weight is None else sums_of(weight, class_of_person, n_classes)
    told = risk_of_classes(persons, in_population, matched=matched)
    f, population = matched or (persons, (persons if in_population is None else in_population).astype(np.float64))
    codes = [
        classes_of_persons(code_values(frame[name])[0], seen.person_of_record, seen.n_persons)
        for name in schema.quasi_names
    ]
    return replace(
        told,
        log_linear={} if weight is None else log_linear_risk(codes, class_of_person, persons, weight),
        households=_households(seen, sample, class_of_person, f, population),
        strata=_strata(seen, sample, weight, individual_risk(f, population)[class_of_person]),
        journalist=None if in_table is None else _journalist(seen, in_table),
        suda=suda_of(codes, schema.quasi_names, fraction=told.fraction) if of_columns else None,
        columns=columns_apart(codes, schema.quasi_names) if of_columns else None,
    )


def risk_of_classes(
    persons: IntArray, weights: FloatArray | None, *, matched: tuple[IntArray, FloatArray] | None = None
) -> PopulationRisk:
    """The risk of a sample, as far as the persons of each class and the sum of their weights decide it.

    Parameters
    ----------
    matched
        f and F of each class where they are not those of the class alone, as in `population_risk`.
    """
    n_persons, in_population = int(persons.sum()), persons.astype(np.float64) if weights is None else weights
    total = None if weights is None else math.fsum(weights.tolist())
    f, population = (persons, in_population) if matched is None else matched
    risk_of_class = individual_risk(f, population)
    frequencies, other_classes = _frequencies(f, population, risk_of_class)
    expected = math.fsum((risk_of_class * persons).tolist())
    sizes = ClassSizes.of(persons, total if total is not None else n_persons)
    return PopulationRisk(
        persons=n_persons,
        population=total,
        fraction=None if total is None else sizes.fraction,
        classes=len(persons),
        sample_uniques=int(persons[f == 1].sum()),
        below={str(k): int(persons[f < k].sum()) for k in SMALL_CLASSES},
        global_risk=expected / n_persons,
        expected_reidentifications=expected,
        max_risk=float(risk_of_class.max()),
        frequencies=frequencies,
        other_classes=other_classes,
        uniques={} if total is None else population_uniques(sizes),
        log_linear={},
    )


def _frequencies(f: IntArray, population: FloatArray, risk: FloatArray) -> tuple[tuple[dict[str, float], ...], int]:
    """f, F and the risk of classes, and how many have just these, the largest risk first; and how many have others."""
    pairs, first, classes = np.unique(np.stack([f, population], axis=1), axis=0, return_index=True, return_counts=True)
    at = np.argsort(-risk[first], kind="stable")[:MOST_FREQUENCIES]
    told = tuple(
        {"f": int(pairs[i, 0]), "F": float(pairs[i, 1]), "risk": float(risk[first[i]]), "classes": int(classes[i])}
        for i in at
    )
    return told, len(f) - int(classes[at].sum())


def _journalist(seen: Observation, in_table: IntArray) -> dict[str, float]:
    """The risk by a population table; of a person in several groups the largest."""
    risk = np.zeros(seen.n_persons)
    np.maximum.at(risk, seen.person_of_record, 1 / np.maximum(in_table, 1)[seen.group_of_record])
    above = {f"above_{limit}": float((risk > limit).mean()) for limit in ABOVE}
    return {"highest": float(risk.max()), "mean": math.fsum(risk.tolist()) / len(risk), **above}


def _households(
    seen: Observation, sample: Sample, class_of_person: IntArray, persons: IntArray, in_population: FloatArray
) -> HouseholdRisk | None:
    household = of_persons(sample.household, seen)
    return None if household is None else household_risk(household, class_of_person, persons, in_population)


def _strata(seen: Observation, sample: Sample, weight: FloatArray | None, risk: FloatArray) -> tuple[StratumRisk, ...]:
    if sample.stratum is None:
        return ()
    stratum = of_persons(sample.stratum, seen)
    assert stratum is not None
    n = len(sample.strata)
    persons = np.bincount(stratum, minlength=n)
    expected = np.bincount(stratum, weights=risk, minlength=n)
    population = None if weight is None else np.bincount(stratum, weights=weight, minlength=n)
    return tuple(
        StratumRisk(
            stratum=name, persons=int(persons[i]), population=None if population is None else float(population[i]),
            expected_reidentifications=float(expected[i]),
        )
        for i, name in enumerate(sample.strata)
        if persons[i]
    )  # fmt: skip


def sums_of(weight: FloatArray, class_of_person: NDArray[np.integer], n_classes: int) -> FloatArray:
    """The sum of the weights of the persons of each class."""
    return np.bincount(class_of_person, weights=weight, minlength=n_classes).astype(np.float64)


Kind = TypeVar("Kind", bound=np.generic)


def of_persons(of_record: NDArray[Kind] | None, seen: Observation) -> NDArray[Kind] | None:
    """What records say of their persons, for each person; of several that of the first."""
    if of_record is None:
        return None
    found = np.zeros(seen.n_persons, of_record.dtype)
    found[seen.person_of_record[::-1]] = of_record[::-1]
    return found


def classes_of_persons(
    code_of_record: NDArray[np.integer], person_of_record: NDArray[np.integer], n_persons: int
) -> tuple[IntArray, int]:
    """Number persons alike whose records show the same set of codes.

    Sets are compared by two sums of 64 random bits per code, so that two different ones are as good as never taken for
    one.
    """
    code, person = code_of_record.astype(np.int64), person_of_record.astype(np.int64)
    first = np.zeros(n_persons, np.int64)
    first[person] = code
    if (first[person] == code).all():
        return _numbered(first)
    n_codes = int(code.max()) + 1
    bits = np.random.default_rng(0).integers(0, 2**63, size=(2, n_codes), dtype=np.int64)
    pair = np.unique(person * n_codes + code)
    start = np.searchsorted(pair, np.arange(n_persons) * n_codes)
    sums = [_numbered(np.add.reduceat(each[pair % n_codes], start)) for each in bits]
    (first, _), (second, n_second) = sums
    return _numbered(first * n_second + second)


def _numbered(values: IntArray) -> tuple[IntArray, int]:
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(distinct)
