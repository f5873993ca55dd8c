"""What pages show, counted by the library: a table in, small dataclasses out. No table ever goes to the browser.

Names of columns and counts only, but for two things that a steward looks at on purpose and that stay small: a preview
of at most MOST_SHOWN records, and a page of groups as they are published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.judging.observation import Observation, number_alike
from shoal.judging.population_table import PopulationTable, with_population
from shoal.judging.recount import risk_of_table
from shoal.judging.risk import Risk
from shoal.judging.values_apart import observe_linked
from shoal.masking import mask_called
from shoal.masking.ranges import Range
from shoal.measuring.spread import SPREAD_NEEDS, UP_TO, RiskSpread, spread_of_risk
from shoal.models.counts import GroupCounts
from shoal.publishing.report.sections.risk import class_of_risk
from shoal.table.columns import Codes, code_values, persons_of
from shoal.table.own_columns import GROUP
from shoal.table.sample import Sample
from shoal.table.schema import Schema

MOST_SHOWN = 20
"""Records of a preview, at the most."""
MOST_COLUMNS_TOGETHER = 3
"""Combinations of at most so many columns are tried one by one."""
MOST_COMBINATIONS = 300
"""How many combinations are tried at the most; with many columns only the shorter ones are."""
SAFE_LOOKING = 5
"""Groups of at least so many records pass for safe where records are counted."""
RECORDS_UP_TO = (1, 2, 3, 5, 10, 20, 50, 100)
"""The upper ends of the classes of records per person; more is the last class."""

Told = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class RecordsPerPerson:
    """How many records persons have.

    Attributes
    ----------
    labels, persons
        Classes of numbers of records, and how many persons are in each.
    mean, median, most
        Over persons.
    with_several
        Persons with more than one record.
    """

    labels: tuple[str, ...]
    persons: tuple[int, ...]
    mean: float
    median: float
    most: int
    with_several: int


@dataclass(frozen=True, kw_only=True)
class RowCounting:
    """What a tool says that takes every record for a person of its own, beside what is true.

    Attributes
    ----------
    risk_by_records, true_risk
        One divided by the fewest records of a group, and the largest share of a group's records that is one person's.
    mean_by_records, true_mean
        The mean over records of one divided by the records of the group, and how often it is right to take any record
        of a person's group for theirs.
    alone_by_records, alone
        Records that no other is equal to, and persons who are alone in some group.
    safe_looking_groups
        Groups with at least SAFE_LOOKING records that all are one person's.
    persons_in_them
        Persons whose records they are.
    """

    risk_by_records: float
    true_risk: float
    mean_by_records: float
    true_mean: float
    alone_by_records: int
    alone: int
    safe_looking_groups: int
    persons_in_them: int


@dataclass(frozen=True, kw_only=True)
class Homogeneous:
    """Groups of which everybody has one value of a sensitive attribute in common: whoever is in one is found out.

    Attributes
    ----------
    groups, persons
        Groups of at least two persons, and the persons in them. Whoever stands in several of them counts once.
    all_groups, all_persons
        The same with groups of one person, whose values are always known.
    """

    column: str
    groups: int
    persons: int
    all_groups: int
    all_persons: int


@dataclass(frozen=True, kw_only=True)
class Combination:
    """A set of columns, and how many persons are alone with their values of them."""

    columns: tuple[str, ...]
    persons: int


@dataclass(frozen=True, kw_only=True)
class RiskNow:
    """Everything that the page about the table as it is shows."""

    risk: Risk
    spread: RiskSpread
    records_per_person: RecordsPerPerson
    row_counting: RowCounting
    homogeneous: tuple[Homogeneous, ...]
    combinations: tuple[Combination, ...]
    """The worst sets of each size, from one column to MOST_COLUMNS_TOGETHER, and all quasi-identifiers."""
    tried: int
    """How many sets were tried."""
    left_out: tuple[Combination, ...]
    """All quasi-identifiers but one each, the most helpful to leave out first; `columns` names the one left out."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return asdict(self)


def risk_now(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    sample: Sample | None = None,
    population: PopulationTable | None = None,
    told: Told = lambda done: None,
) -> RiskNow:
    """What is to be known of a table before anything is done about it.

    Parameters
    ----------
    frame, schema
        The table as `shoal.table.table.Table` holds it, and the roles of its columns.
    sample, population
        How its records were drawn, and the population that they were drawn from, where that is known.
    told
        Is told how much is done, from 0 to 1.

    Notes
    -----
    O(records) for each set of columns that is tried, and at most MOST_COMBINATIONS sets are.
    """
    seen = Observation.of_frame(frame, schema)
    counts = seen.counts(SPREAD_NEEDS)
    counts = with_population(counts, seen, frame, schema, population, form=Range.form)
    risk, spread = risk_of_table(seen, counts, frame, schema, sample), spread_of_risk(seen, counts)
    sets = sets_of_columns(schema.quasi_names)
    but_one = [tuple(n for n in schema.quasi_names if n != name) for name in schema.quasi_names]
    alone = alone_by_set(frame, schema, [*sets, *(each for each in but_one if each)], told=told)
    return RiskNow(
        risk=risk,
        spread=spread,
        records_per_person=records_per_person(seen),
        row_counting=row_counting(seen, counts, risk, spread),
        homogeneous=homogeneous(seen, counts),
        combinations=_worst(sets, alone, n_all=len(schema.quasi_names)),
        tried=len(sets),
        left_out=_left_out(schema.quasi_names, alone),
    )


def records_per_person(seen: Observation) -> RecordsPerPerson:
    """How many records the persons that are seen have."""
    records = np.bincount(seen.person_of_record, minlength=seen.n_persons)
    counted = np.bincount(np.searchsorted(RECORDS_UP_TO, records), minlength=len(RECORDS_UP_TO) + 1)
    last = int(np.flatnonzero(counted)[-1])
    return RecordsPerPerson(
        labels=tuple(_labels_of(RECORDS_UP_TO)[: last + 1]),
        persons=tuple(int(n) for n in counted[: last + 1]),
        mean=float(records.mean()),
        median=float(np.median(records)),
        most=int(records.max()),
        with_several=int((records > 1).sum()),
    )


def _labels_of(ends: Sequence[int]) -> list[str]:
    labels, low = [], 1
    for end in ends:
        labels.append(str(end) if low == end else f"{low}\N{EN DASH}{end}")
        low = end + 1
    return [*labels, f"over {ends[-1]}"]


def row_counting(seen: Observation, counts: GroupCounts, risk: Risk, spread: RiskSpread) -> RowCounting:
    """What counting records says, and what is true."""
    of_one = counts.persons == 1
    safe_looking = of_one & (counts.records >= SAFE_LOOKING)
    return RowCounting(
        risk_by_records=1 / risk.k,
        true_risk=risk.max_gidr,
        mean_by_records=risk.groups / risk.records,
        true_mean=spread.mean_record_risk,
        alone_by_records=int((counts.records == 1).sum()),
        alone=risk.unique_persons,
        safe_looking_groups=int(safe_looking.sum()),
        persons_in_them=seen.persons_alone(safe_looking),
    )


def homogeneous(seen: Observation, counts: GroupCounts) -> tuple[Homogeneous, ...]:
    """For each sensitive attribute the groups in which everybody has one value in common."""
    found = []
    for name, values in counts.values.items():
        shared = (values.most_persons == values.persons_of(counts)) & (values.most_persons > 0)
        several = shared & (counts.persons > 1)
        found.append(
            Homogeneous(
                column=name,
                groups=int(several.sum()),
                persons=_persons_in(seen, several),
                all_groups=int(shared.sum()),
                all_persons=_persons_in(seen, shared),
            )
        )
    return tuple(found)


def _persons_in(seen: Observation, groups: NDArray[np.bool_]) -> int:
    """How many persons have a record in one of these groups."""
    is_in = np.zeros(seen.n_persons, np.bool_)
    is_in[seen.person_of_record[groups[seen.group_of_record]]] = True
    return int(is_in.sum())


def sets_of_columns(names: Sequence[str], *, most: int = MOST_COMBINATIONS) -> list[tuple[str, ...]]:
    """The sets of columns to try: all of one, of two and of three as far as there are not too many, and the whole."""
    sets: list[tuple[str, ...]] = []
    for size in range(1, min(MOST_COLUMNS_TOGETHER, len(names)) + 1):
        if size > 1 and len(sets) + comb(len(names), size) > most:
            break
        sets += combinations(names, size)
    return sets if tuple(names) in sets else [*sets, tuple(names)]


def alone_by_set(
    frame: pl.DataFrame, schema: Schema, sets: Iterable[tuple[str, ...]], *, told: Told = lambda done: None
) -> dict[tuple[str, ...], int]:
    """For each set of columns how many persons are alone with some combination of their values of it."""
    wanted = list(dict.fromkeys(sets))
    coded = {name: _coded(frame[name]) for name in dict.fromkeys(name for names in wanted for name in names)}
    person_of_record, n_persons = persons_of(frame, schema)
    alone = {}
    for number, names in enumerate(wanted):
        told(number / len(wanted))
        group_of_record, n_groups = number_alike([coded[name] for name in names])
        seen = Observation(group_of_record, n_groups, person_of_record, n_persons, {})
        alone[names] = seen.persons_alone(seen.counts(frozenset()).persons == 1)
    return alone


def _coded(column: pl.Series) -> tuple[Codes, int]:
    codes, distinct = code_values(column)
    return codes, len(distinct) + 1


def _worst(
    sets: Sequence[tuple[str, ...]], alone: Mapping[tuple[str, ...], int], *, n_all: int, each: int = 3
) -> tuple[Combination, ...]:
    """Of each size the sets that single out most persons, and the set of all columns."""
    kept: list[Combination] = []
    for size in sorted({len(names) for names in sets}):
        of_size = [names for names in sets if len(names) == size]
        worst = sorted(of_size, key=lambda names: -alone[names])[: each if size < n_all else 1]
        kept += [Combination(columns=names, persons=alone[names]) for names in worst]
    return tuple(kept)


def _left_out(names: Sequence[str], alone: Mapping[tuple[str, ...], int]) -> tuple[Combination, ...]:
    """What leaving out each column comes to; with one column there is nothing to leave out."""
    if len(names) < 2:
        return ()
    found = [Combination(columns=(name,), persons=alone[tuple(n for n in names if n != name)]) for name in names]
    return tuple(sorted(found, key=lambda one: one.persons))


# --- classes of risk, for charts -----------------------------------------------------------------------------------


def classes_of_risk() -> list[str]:
    """The names of the classes that `RiskSpread` counts in, as in the report."""
    lows = (0.0, *UP_TO[:-1])
    ends = [*zip(lows, UP_TO, strict=True), (1.0, 1.0)]
    return [class_of_risk({"above": low, "up_to": up_to}) for low, up_to in ends]


def persons_above(spread: Mapping[str, Any], limit: float) -> int:
    """How many persons have a record risk above a limit, which must be the end of a class (0.1, 0.2, 0.5, ...)."""
    lows = (0.0, *UP_TO)
    return sum(n for n, low in zip(spread["persons"], lows, strict=True) if low >= limit)


# --- previews ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Preview:
    """The first records of a table as texts; a missing value is None."""

    columns: tuple[str, ...]
    records: tuple[tuple[str | None, ...], ...]
    n_records: int


def preview(frame: pl.DataFrame, *, first: int = 0, most: int = MOST_SHOWN) -> Preview:
    """At most MOST_SHOWN records from `first` on, as texts."""
    shown = frame.slice(max(first, 0), min(most, MOST_SHOWN))
    records = tuple(tuple(None if value is None else str(value) for value in record) for record in shown.iter_rows())
    return Preview(tuple(frame.columns), records, len(frame))


# --- groups of a release -------------------------------------------------------------------------------------------

RECORD_RISK = "record risk"
PERSONS = "persons"
RECORDS = "records"
NUMBERS = (PERSONS, RECORDS, RECORD_RISK)


def value_risk_name(column: str) -> str:
    """What the column of a value risk is called in the table of groups."""
    return f"value risk: {column}"


def shown_name(column: str) -> str:
    """What the column of a published quasi-identifier is called in the table of groups."""
    return f"shown: {column}"


def groups_of(
    frame: pl.DataFrame, schema: Schema, linked: pl.DataFrame | None = None, *, mask: str = "range"
) -> pl.DataFrame:
    """The groups of a release, one per line: its persons, records, risks, and what is shown of its quasi-identifiers.

    Parameters
    ----------
    frame, schema
        The published table, and the schema for looking at it.
    linked
        What the steward keeps of a release that publishes attributes apart or shows no groups; quasi-identifiers of a
        group are then not alike and not told.
    mask
        The mask of the release.
    """
    if linked is not None or not mask_called(mask).links_values:
        if linked is None:
            return pl.DataFrame()
        seen = observe_linked(linked, schema)
        return _groups(seen, {})
    seen = Observation.of_frame(frame, schema)
    record_of_group = np.empty(seen.n_groups, dtype=np.int64)
    record_of_group[seen.group_of_record] = np.arange(seen.n_records)
    shown = frame.select(schema.quasi_names)[record_of_group]
    return _groups(seen, {shown_name(name): shown[name].cast(pl.String) for name in schema.quasi_names})


def _groups(seen: Observation, shown: Mapping[str, pl.Series]) -> pl.DataFrame:
    counts = seen.counts(SPREAD_NEEDS)
    columns: dict[str, pl.Series | NDArray[Any]] = {
        PERSONS: counts.persons,
        RECORDS: counts.records,
        RECORD_RISK: counts.most_records / counts.records,
    }
    for name, values in counts.values.items():
        columns[value_risk_name(name)] = values.share_of_commonest(counts)
    return pl.DataFrame({**columns, **shown})


@dataclass(frozen=True)
class PageOfGroups:
    """Some of the groups of a release, sorted."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_groups: int
    first: int


def page_of_groups(
    groups: pl.DataFrame, *, by: str = RECORD_RISK, descending: bool = True, first: int = 0, most: int = MOST_SHOWN
) -> PageOfGroups:
    """A page of the groups, sorted by one of their numbers; equal ones in a fixed order."""
    if GROUP not in groups.columns:
        groups = groups.with_row_index(GROUP, offset=1)
    by = by if by in groups.columns else RECORD_RISK
    ordered = groups.sort(by, GROUP, descending=[descending, False], nulls_last=True)
    shown = ordered.slice(first, min(most, MOST_SHOWN))
    return PageOfGroups(tuple(shown.columns), tuple(shown.iter_rows()), len(groups), first)
