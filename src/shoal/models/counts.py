"""What a model may know of groups: counts, one entry per group in every array. No tables, no values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shoal.models.background import BackgroundCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.models.histories import HistoryCounts
from shoal.models.joint import JointCounts
from shoal.models.related import RelatedCounts

Entries = TypeVar("Entries", IntArray, FloatArray)

SPREAD_OF_RECORDS = frozenset({"squared_records", "most_records", "log_records"})
"""How the records of a group are spread over its persons, which hides nobody whom quasi-identifiers single out."""

SPREAD = frozenset({"persons", "records"}) | SPREAD_OF_RECORDS
"""Counts of how records are spread over persons: cheap, and swept along every possible cut of a tree."""

VALUE_SUMMARIES = frozenset({"most_persons_of_value", "most_records_of_value", "distinct_values", "person_values"})
"""Counts of sensitive values that have one number per group."""

VALUE_TABLES = frozenset({"values_of_group", "persons_of_value", "values_of_person"})
"""Counts of sensitive values that have one list per group: the persons and records of each value, its persons alone,
and who has it."""


JOINT = frozenset({"joint_values"})
"""Who has which values of all sensitive attributes together."""


BACKGROUND = frozenset({"background_values"})
"""Which values persons may have once an adversary's rules are known; counted only where there are such rules."""


RELATED = frozenset({"related_rows"})
"""The rows that persons have in several tables; counted only where several leave together."""


HISTORIES = frozenset({"histories"})
"""What the records of each person show together, and how many persons show the same."""


IN_POPULATION = frozenset({"population_persons"})
"""How many persons of a population table fit what each group shows; counted only where there is such a table."""


WEIGHTS = frozenset({"weights"})
"""How many persons of the population those of each group stand for; counted only where weights are known."""


EVERYTHING = SPREAD | VALUE_SUMMARIES | VALUE_TABLES | JOINT | HISTORIES
"""What a table shows by itself."""


class ValuesLeft(NamedTuple):
    """What is left of the values of groups once others are excluded, for each combination of groups."""

    distinct: IntArray
    """How many values are left."""
    most_persons: IntArray
    """How many persons of the group have the commonest of them."""
    persons: IntArray
    """How many persons of the group have any of them."""


@dataclass(frozen=True, kw_only=True)
class ValueCounts:
    """The values of one sensitive attribute in every group.

    The list form is sparse: the entries `start_of_group[i]:start_of_group[i + 1]` of `value`, `records` and `persons`
    are the values of group i, ascending. Values are codes in the order of the column. Where a tree needs summaries
    only, it gives `summaries` and leaves the lists out.
    """

    records_in_table: IntArray
    """How many records of the whole table have each value (code)."""
    persons_in_table: IntArray
    """How many persons of the whole table have each value (code)."""
    start_of_group: IntArray | None = None
    value: IntArray | None = None
    records: IntArray | None = None
    persons: IntArray | None = None
    pair_start_of_group: IntArray | None = None
    """Person-value pairs, for models that ask who has what: pairs of group i stand at start[i]:start[i + 1]."""
    pair_person: IntArray | None = None
    pair_value: IntArray | None = None
    summaries: Mapping[str, IntArray] = field(default_factory=dict)
    persons_told: IntArray | None = None
    """How many persons of each group have a value at all; None where a missing value is one, so that everybody has."""
    records_told: IntArray | None = None
    """The same of records."""
    told_in_table: int | None = None
    """How many persons of the whole table have a value, where not everybody has."""

    def persons_of(self, groups: GroupCounts) -> IntArray:
        """How many persons of each group have a value: everybody, but where a missing one tells nothing."""
        return groups.persons if self.persons_told is None else self.persons_told

    def with_told(self, persons: IntArray, records: IntArray) -> ValueCounts:
        """The same, with the persons and records of each group that have a value."""
        return replace(self, persons_told=persons, records_told=records)

    def among_told(self, groups: GroupCounts) -> tuple[ValueCounts, GroupCounts, BoolArray]:
        """The counts of the persons and records that have a value, of the groups that have one, and which these are."""
        if self.persons_told is None:
            return self, groups, np.ones(len(groups), np.bool_)
        assert self.records_told is not None
        some = self.persons_told > 0
        logs = groups.log_records
        told = GroupCounts(
            persons=self.persons_told[some], records=self.records_told[some],
            squared_records=groups.squared_records[some], most_records=groups.most_records[some],
            log_records=None if logs is None else logs[some], known=groups.known,
        )  # fmt: skip
        kept = np.append(some, True)
        start, pair_start = self.start_of_group, self.pair_start_of_group
        return (
            replace(
                self, start_of_group=None if start is None else start[kept],
                pair_start_of_group=None if pair_start is None else pair_start[kept],
                summaries={name: counts[some] for name, counts in self.summaries.items()},
                persons_told=None, records_told=None,
            ),
            told,
            some,
        )  # fmt: skip

    def without(self, code: int, persons: IntArray, records: IntArray, in_table: int) -> ValueCounts:
        """The counts without one code, that of missing; with the persons and records of each group that have a value.

        Parameters
        ----------
        in_table
            How many persons of the whole table have a value.
        """
        is_value = np.arange(len(self.records_in_table)) != code
        start, value, of_records, of_persons = self.lists
        kept = value != code
        counted = replace(
            self, records_in_table=self.records_in_table * is_value, persons_in_table=self.persons_in_table * is_value,
            start_of_group=_starts_of_kept(start, kept), value=value[kept], records=of_records[kept],
            persons=of_persons[kept], persons_told=persons, records_told=records, told_in_table=in_table,
        )  # fmt: skip
        if self.pair_start_of_group is None:
            return counted
        pair_start, pair_person, pair_value = self.pairs
        has = pair_value != code
        return replace(
            counted, pair_start_of_group=_starts_of_kept(pair_start, has), pair_person=pair_person[has],
            pair_value=pair_value[has],
        )  # fmt: skip

    def share_of_commonest(self, groups: GroupCounts) -> FloatArray:
        """Of the persons of each group who have a value, the share that have the commonest; 0 where nobody has one."""
        return np.asarray(self.most_persons / np.maximum(self.persons_of(groups), 1))

    @property
    def lists(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """start_of_group, value, records, persons."""
        assert self.start_of_group is not None
        assert self.value is not None
        assert self.records is not None
        assert self.persons is not None
        return self.start_of_group, self.value, self.records, self.persons

    @property
    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """pair_start_of_group, pair_person, pair_value."""
        assert self.pair_start_of_group is not None
        assert self.pair_person is not None
        assert self.pair_value is not None
        return self.pair_start_of_group, self.pair_person, self.pair_value

    @cached_property
    def group_of_entry(self) -> IntArray:
        """The group of each entry of the lists."""
        start = self.lists[0]
        return np.repeat(np.arange(len(start) - 1), np.diff(start))

    def sum_by_group(self, entries: Entries) -> Entries:
        """Sums over the entries of each group."""
        return self._reduced(np.add, entries, 0)

    def most_by_group(self, entries: Entries) -> Entries:
        """The largest entry of each group; 0 where a group has none."""
        return self._reduced(np.maximum, entries, 0)

    def all_by_group(self, entries: BoolArray) -> BoolArray:
        """Whether every entry of a group is true."""
        return self._reduced(np.logical_and, entries, True)

    def _reduced(self, how: np.ufunc, entries: Any, of_none: Any) -> Any:
        start = self.lists[0]
        some = start[1:] > start[:-1]
        if some.all():
            return how.reduceat(entries, start[:-1]) if len(start) > 1 else entries[:0]
        reduced = np.full(len(some), of_none, entries.dtype)
        if some.any():
            reduced[some] = how.reduceat(entries, start[:-1][some])
        return reduced

    @cached_property
    def most_persons(self) -> IntArray:
        """Persons who have the value that most persons of the group have."""
        given = self.summaries.get("most_persons_of_value")
        return given if given is not None else self.most_by_group(self.lists[3])

    @cached_property
    def most_records(self) -> IntArray:
        """Records that have the value that most records of the group have."""
        given = self.summaries.get("most_records_of_value")
        return given if given is not None else self.most_by_group(self.lists[2])

    @cached_property
    def distinct(self) -> IntArray:
        """How many different values a group has."""
        given = self.summaries.get("distinct_values")
        return given if given is not None else np.diff(self.lists[0])

    @cached_property
    def person_values(self) -> IntArray:
        """How many pairs of a person and a value of theirs a group has."""
        given = self.summaries.get("person_values")
        return given if given is not None else self.sum_by_group(self.lists[3])


def _starts_of_kept(start: IntArray, kept: BoolArray) -> IntArray:
    """Where groups start among the entries that are kept."""
    return np.append(0, np.cumsum(kept))[start]


@dataclass(frozen=True, kw_only=True)
class PopulationCounts:
    """The groups of a sample with respect to the population that it was drawn from."""

    persons: IntArray | None = None
    """How many persons of a population table fit what each group shows."""
    outside: int = 0
    """How many persons of a population table fit what no group shows."""
    weights: FloatArray | None = None
    """The sum of the weights of the persons of each group."""


@dataclass(frozen=True, kw_only=True)
class GroupCounts:
    """Counts of groups, as far as the models asked for them (their `needs`)."""

    persons: IntArray
    records: IntArray
    squared_records: IntArray
    """The sum over the persons of a group of their number of records, squared."""
    most_records: IntArray
    """The number of records of the person who has most in the group."""
    log_records: FloatArray | None = None
    """The sum over the persons of a group of c log2 c, c the person's number of records."""
    values: Mapping[str, ValueCounts] = field(default_factory=dict)
    """The sensitive attributes, by column name."""
    joint: JointCounts | None = None
    """All sensitive attributes together, person by person."""
    background: BackgroundCounts | None = None
    """What an adversary's rules leave possible, person by person."""
    related: RelatedCounts | None = None
    """The rows of each of several tables, where they leave together."""
    histories: HistoryCounts | None = None
    """What the records of each person show together."""
    persons_by_known: Mapping[int, IntArray] = field(default_factory=dict)
    """Where hidden cells match anything: by how many columns are known, the fewest persons who fit any so many."""
    population: PopulationCounts | None = None
    """The groups with respect to the population that the table was drawn from."""
    known: frozenset[str] = EVERYTHING
    """The counts that can be believed: tables that publish attributes apart do not show all."""

    @classmethod
    def of_persons(cls, persons: IntArray, weights: FloatArray | None = None) -> GroupCounts:
        """Groups of which it is known how many persons they have, maybe their weights, and nothing else."""
        known = cls(
            persons=persons, records=persons, squared_records=persons, most_records=np.ones_like(persons),
            known=frozenset({"persons"}),
        )  # fmt: skip
        return known if weights is None else known.with_weights(weights)

    def with_weights(self, weights: FloatArray) -> GroupCounts:
        """The same with the sum of the weights of each group."""
        known = replace(self.population or PopulationCounts(), weights=weights)
        return replace(self, population=known, known=self.known | WEIGHTS)

    def __len__(self) -> int:
        return len(self.persons)
