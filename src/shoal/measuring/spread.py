"""How risk is spread: over persons, over sensitive values, and over groups by their size. Counts only, no values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.judging.observation import Observation, number_alike
from shoal.judging.risk import NEEDS
from shoal.measuring.shown import Released, grouping_of
from shoal.models.counts import GroupCounts
from shoal.table.columns import code_values

UP_TO = (0.01, 0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0)
"""The upper ends of the classes of risk, ends included; but 1 itself, certainty, is a class of its own."""
SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""The fewest persons of each class of group sizes."""
MOST_LISTED = 10
"""How many of the riskiest groups are listed."""

SPREAD_NEEDS = NEEDS | {"values_of_group"}
"""The counts that `spread_of_risk` reads; `measure_risk` takes them too."""

CLASS_ENDS = np.array([*UP_TO[:-1], np.nextafter(1.0, 0.0)])


@dataclass(frozen=True, kw_only=True)
class SizeClass:
    """The groups of one class of sizes.

    Attributes
    ----------
    at_least, at_most
        Persons of a group; no upper end in the last class.
    groups, persons
        How many groups there are, and persons in them. A person in several groups counts in each.
    max_record_risk, max_value_risk
        The largest share of a group's records that belongs to one person, and of a group's persons who have one value
        of an attribute; None where there is none.
    """

    at_least: int
    at_most: int | None
    groups: int
    persons: int
    max_record_risk: float | None
    max_value_risk: float | None


@dataclass(frozen=True, kw_only=True)
class GroupRisk:
    """One group by its size and its risks, without any value of it."""

    persons: int
    records: int
    record_risk: float
    value_risk: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RiskSpread:
    """How risk is spread in a table or a release.

    Attributes
    ----------
    persons
        Persons in each class of record risk: of a person the share of the group's records that are theirs; where a
        person stands in several groups the largest.
    values
        For each sensitive attribute the values of persons in each class of value risk: of a person's value the share of
        the group's persons who have it. A person who has it in several groups counts in each.
    sizes
        Groups by their number of persons.
    riskiest
        The groups with the highest record risk; of equal ones those with the highest value risk, then the smaller.
    mean_record_risk
        How often it is right to take any record of a person's group for theirs: the mean over persons.
    guessed, blind
        For each sensitive attribute how often it is right to guess the value that most persons of a group have, and
        the one that most persons of the table have.
    """

    persons: tuple[int, ...]
    values: dict[str, tuple[int, ...]]
    sizes: tuple[SizeClass, ...]
    riskiest: tuple[GroupRisk, ...]
    mean_record_risk: float
    guessed: dict[str, float]
    blind: dict[str, float]


def observe_release(release: Released) -> Observation:
    """Who is published alike in a release, from what the steward knows of it; records as in the table.

    Groups that show the same are one, as for a reader of the published table. Where values are published apart or
    perturbed, groups are those of the grouping.
    """
    table, published, grouping = release.table, release.published, grouping_of(release)
    group_of_person, n_groups = grouping.group_of_person, grouping.n_groups
    if release.mask.links_values and release.mask.shows_groups:
        record_of_group = np.empty(n_groups, dtype=np.int64)
        record_of_group[published.group_of_record] = np.arange(len(published.group_of_record))
        labels = published.frame.select(table.schema.quasi_names)[record_of_group]
        coded = [code_values(column) for column in labels]
        alike_of_group, n_groups = number_alike([(codes, len(distinct) + 1) for codes, distinct in coded])
        group_of_person = alike_of_group[group_of_person]
    known = None if table.adversary is None else table.adversary.known_of(table.person_of_record)
    group_of_record = group_of_person[table.person_of_record]
    return Observation(group_of_record, n_groups, table.person_of_record, table.n_persons, table.sensitive, known)


def spread_of_risk(seen: Observation, counts: GroupCounts | None = None) -> RiskSpread:
    """How risk is spread over the persons, values and groups that are seen; O(records)."""
    counts = counts if counts is not None else seen.counts(SPREAD_NEEDS)
    return spread_of_counts(counts, record_risk_of_persons(seen, counts))


def spread_of_counts(counts: GroupCounts, risk_of_person: NDArray[np.float64]) -> RiskSpread:
    """How risk is spread, from the counts of groups (`SPREAD_NEEDS`) and the record risk of each person."""
    value_risk = {name: values.share_of_commonest(counts) for name, values in counts.values.items()}
    persons, mean_record_risk = over_persons(risk_of_person)
    return RiskSpread(
        persons=persons,
        values={
            name: _by_class(values.lists[3] / values.persons_of(counts)[values.group_of_entry], values.lists[3])
            for name, values in counts.values.items()
        },
        sizes=_sizes(counts, value_risk),
        riskiest=_riskiest(counts, value_risk),
        mean_record_risk=mean_record_risk,
        guessed={
            name: float(values.most_persons.sum() / max(values.persons_of(counts).sum(), 1))
            for name, values in counts.values.items()
        },
        blind={
            name: float(values.persons_in_table.max() / (values.told_in_table or len(risk_of_person)))
            for name, values in counts.values.items()
        },
    )


def spreads_together(
    parts: Sequence[RiskSpread],
    blind: Mapping[str, float],
    over_persons: tuple[tuple[int, ...], float] | None = None,
) -> RiskSpread:
    """The spread of a whole from those of its parts, of which each has all records of its groups.

    Parameters
    ----------
    blind
        That of the whole, since parts do not know how common a value is elsewhere.
    over_persons
        What `over_persons` gives of the whole, where persons may stand in groups of several parts.
    """
    groups = [group for part in parts for group in part.riskiest]
    n_persons = [sum(part.persons) for part in parts]
    if over_persons is None:
        mean = float(np.average([part.mean_record_risk for part in parts], weights=n_persons))
        over_persons = _added([part.persons for part in parts]), mean
    places = [sum(size.persons for size in part.sizes) for part in parts]
    return RiskSpread(
        persons=over_persons[0],
        values={name: _added([part.values[name] for part in parts]) for name in parts[0].values},
        sizes=tuple(_sizes_together(alike) for alike in zip(*(part.sizes for part in parts), strict=True)),
        riskiest=tuple(sorted(groups, key=_least_safe_first)[:MOST_LISTED]),
        mean_record_risk=over_persons[1],
        guessed={
            name: float(np.average([part.guessed[name] for part in parts], weights=places)) for name in parts[0].guessed
        },
        blind=dict(blind),
    )


def over_persons(risk_of_person: NDArray[np.float64]) -> tuple[tuple[int, ...], float]:
    """How many persons are in each class of record risk, and the mean of it."""
    return _by_class(risk_of_person), float(risk_of_person.mean())


def _added(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*parts, strict=True)))


def _sizes_together(parts: Sequence[SizeClass]) -> SizeClass:
    """One class of sizes in several parts."""
    record = [part.max_record_risk for part in parts if part.max_record_risk is not None]
    value = [part.max_value_risk for part in parts if part.max_value_risk is not None]
    return replace(
        parts[0],
        groups=sum(part.groups for part in parts),
        persons=sum(part.persons for part in parts),
        max_record_risk=max(record, default=None),
        max_value_risk=max(value, default=None),
    )


def _least_safe_first(group: GroupRisk) -> tuple[float, ...]:
    each_value = [-risk for risk in group.value_risk.values()]
    return -group.record_risk, min(each_value, default=0.0), group.persons, group.records, *each_value


def record_risk_of_persons(seen: Observation, counts: GroupCounts) -> NDArray[np.float64]:
    """Of each person the largest share of a group's records that are theirs."""
    (group, person), first = seen.in_order, seen.start_of_member
    share = np.diff(np.append(first, len(group))) / counts.records[group[first]]
    risk = np.zeros(seen.n_persons)
    np.maximum.at(risk, person[first], share)
    return risk


def _by_class(risk: NDArray[np.float64], weights: NDArray[np.int64] | None = None) -> tuple[int, ...]:
    counted = np.bincount(np.searchsorted(CLASS_ENDS, risk), weights=weights, minlength=len(CLASS_ENDS) + 1)
    return tuple(int(n) for n in counted)


def _sizes(counts: GroupCounts, value_risk: dict[str, NDArray[np.float64]]) -> tuple[SizeClass, ...]:
    size = np.searchsorted(np.array(SIZES), counts.persons, side="right") - 1
    record_risk = counts.most_records / counts.records
    worst_value = np.max(list(value_risk.values()), axis=0) if value_risk else None
    ends = [*(first - 1 for first in SIZES[1:]), None]
    classes = []
    for number, (at_least, at_most) in enumerate(zip(SIZES, ends, strict=True)):
        inside = size == number
        some = bool(inside.any())
        classes.append(
            SizeClass(
                at_least=at_least,
                at_most=at_most,
                groups=int(inside.sum()),
                persons=int(counts.persons[inside].sum()),
                max_record_risk=float(record_risk[inside].max()) if some else None,
                max_value_risk=float(worst_value[inside].max()) if some and worst_value is not None else None,
            )
        )
    return tuple(classes)


def _riskiest(counts: GroupCounts, value_risk: dict[str, NDArray[np.float64]]) -> tuple[GroupRisk, ...]:
    record_risk = counts.most_records / counts.records
    worst_value = np.max(list(value_risk.values()), axis=0) if value_risk else np.zeros(len(counts))
    each_value = [-risk for risk in reversed(value_risk.values())]  # so that the order of groups tells nothing
    order = np.lexsort((*each_value, counts.records, counts.persons, -worst_value, -record_risk))[:MOST_LISTED]
    return tuple(
        GroupRisk(
            persons=int(counts.persons[group]),
            records=int(counts.records[group]),
            record_risk=float(record_risk[group]),
            value_risk={name: float(risk[group]) for name, risk in value_risk.items()},
        )
        for group in order.tolist()
    )
