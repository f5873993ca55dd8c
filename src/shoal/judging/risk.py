"""How likely an adversary finds a person's record or value: the measures of Kartal and Li, sections 7 and 8."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.judging.observation import Observation
from shoal.models.counts import GroupCounts

if TYPE_CHECKING:
    from shoal.judging.population import PopulationRisk

NEEDS = frozenset({"persons", "records", "squared_records", "most_records", "most_persons_of_value"})


@dataclass(frozen=True, kw_only=True)
class Risk:
    """Risks of a table or a release, as fractions. A group is the records with equal quasi-identifiers.

    Attributes
    ----------
    records, persons, groups
        How many there are.
    max_gidr, avg_gidr
        Individual-record disclosure risk: the largest share of a group's records that belongs to one person; the
        largest and the mean over groups.
    max_gsar, avg_gsar
        Sensitive-attribute risk, for each sensitive attribute: the largest share of a group's persons who have one
        value; the largest and the mean over groups.
    g_balance, h_affiliation
        The lowest g-balance of a group; the highest h-affiliation of a group and sensitive attribute (None without).
    k, person_k
        The fewest records and the fewest persons of a group.
    prosecutor_risk, journalist_risk, marketer_risk
        Re-identification counted on persons, one divided by the number of persons of the group. Prosecutor: the
        largest, for an adversary who knows that the target is in the table. Journalist: for one who does not; the
        groups of the population would be needed, and those of the table are the safe bound, so it equals the first.
        Marketer: the mean over persons, the share of all that can be expected to be found.
    unique_persons
        How many persons are alone in some group: an adversary who knows their quasi-identifiers finds them for sure.
    alone_by
        How many persons are alone in their group by what else is shown: "kept" (all kept columns together), "count"
        (their number of records), "time", and each sensitive column by its name; what there is not has no key
        (`shoal.judging.alone`).
    population
        Where the table is a sample: the risk with respect to the population (`shoal.judging.population`).
    """

    records: int
    persons: int
    groups: int
    max_gidr: float
    avg_gidr: float
    max_gsar: dict[str, float]
    avg_gsar: dict[str, float]
    g_balance: float
    h_affiliation: float | None
    k: int
    person_k: int
    prosecutor_risk: float
    journalist_risk: float
    marketer_risk: float
    unique_persons: int
    alone_by: dict[str, int] = field(default_factory=dict)
    population: PopulationRisk | None = None

    def to_dict(self) -> dict[str, Any]:
        """The keys of the JSON contract; what a table is not has no key."""
        told = asdict(self)
        return {key: value for key, value in told.items() if key != "population" or value is not None}


def measure_risk(seen: Observation, counts: GroupCounts | None = None) -> Risk:
    """The risks of a table or release as it is seen."""
    counts = counts if counts is not None else seen.counts(NEEDS)
    alone = seen.persons_alone(counts.persons == 1)
    return replace(risk_of_counts(counts), persons=seen.n_persons, unique_persons=alone)


def risk_of_counts(counts: GroupCounts) -> Risk:
    """The risks of groups of whole persons; what the counts do not show is not a number."""
    n_persons = int(counts.persons.sum())
    value_risk = {name: values.share_of_commonest(counts) for name, values in counts.values.items()}
    record_risk, balance = np.full((2, len(counts)), np.nan)
    if "most_records" in counts.known:
        record_risk = counts.most_records / counts.records
        balance = 1 - counts.squared_records / counts.records.astype(np.float64) ** 2
    return Risk(
        records=int(counts.records.sum()),
        persons=n_persons,
        groups=len(counts),
        max_gidr=float(record_risk.max()),
        avg_gidr=_mean(record_risk),
        max_gsar={name: float(risk.max()) for name, risk in value_risk.items()},
        avg_gsar={name: _mean(risk) for name, risk in value_risk.items()},
        g_balance=float(balance.min()),
        h_affiliation=max((float(risk.max()) for risk in value_risk.values()), default=None),
        k=int(counts.records.min()),
        person_k=int(counts.persons.min()),
        prosecutor_risk=float(1 / counts.persons.min()),
        journalist_risk=float(1 / counts.persons.min()),
        marketer_risk=float(len(counts) / n_persons),
        unique_persons=int((counts.persons == 1).sum()),
    )


def risks_together(parts: Sequence[Risk]) -> Risk:
    """The risk of a whole from those of its parts, of which each has all records of its groups.

    Somebody who stands in groups of several parts counts in each; who is alone by what is left to whoever knows that.
    """
    n_groups, n_persons = sum(part.groups for part in parts), sum(part.persons for part in parts)

    def mean(of_parts: Iterable[float]) -> float:
        return math.fsum(mean * part.groups for mean, part in zip(of_parts, parts, strict=True)) / n_groups

    return replace(
        least_safe(parts[0], parts[1:]),
        records=sum(part.records for part in parts),
        persons=n_persons,
        groups=n_groups,
        avg_gidr=mean(part.avg_gidr for part in parts),
        avg_gsar={name: mean(part.avg_gsar[name] for part in parts) for name in parts[0].avg_gsar},
        marketer_risk=n_groups / n_persons,
        unique_persons=sum(part.unique_persons for part in parts),
        alone_by={},
    )


def least_safe(whole: Risk, parts: Sequence[Risk]) -> Risk:
    """The risk of a whole, with what the parts show by themselves where that is less safe; counts and means stay."""
    every = [whole, *parts]
    affiliations = [risk.h_affiliation for risk in every if risk.h_affiliation is not None]
    return replace(
        whole,
        max_gidr=max(risk.max_gidr for risk in every),
        max_gsar={name: max(risk.max_gsar.get(name, 0.0) for risk in every) for name in whole.max_gsar},
        g_balance=min(risk.g_balance for risk in every),
        h_affiliation=max(affiliations, default=None),
        k=min(risk.k for risk in every),
        person_k=min(risk.person_k for risk in every),
        prosecutor_risk=max(risk.prosecutor_risk for risk in every),
        journalist_risk=max(risk.journalist_risk for risk in every),
        unique_persons=max(risk.unique_persons for risk in every),
        alone_by={key: max(risk.alone_by.get(key, 0) for risk in every) for key in whole.alone_by},
    )


def _mean(risk_of_group: NDArray[np.float64]) -> float:
    """The mean over groups, the same to the last digit in whatever order the groups stand."""
    return math.fsum(risk_of_group.tolist()) / len(risk_of_group)
