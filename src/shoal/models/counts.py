"""What a model may know of groups: counts, one entry a group in every array. No tables, no values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from shoal.models.background import BackgroundCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.models.joint import JointCounts
from shoal.models.related import RelatedCounts

Entries = TypeVar("Entries", IntArray, FloatArray)

SPREAD_OF_RECORDS = frozenset({"squared_records", "most_records", "log_records"})
"""How the records of a group are spread over its persons, which hides nobody whom quasi-identifiers single out."""

SPREAD = frozenset({"persons", "records"}) | SPREAD_OF_RECORDS
"""Counts of how records are spread over persons: cheap, and swept along every possible cut of a tree."""

VALUE_SUMMARIES = frozenset({"most_persons_of_value", "most_records_of_value", "distinct_values", "person_values"})
"""Counts of sensitive values that have one number a group."""

VALUE_TABLES = frozenset({"values_of_group", "persons_of_value", "values_of_person"})
"""Counts of sensitive values that have a list a group: the persons and records of each value, its persons alone, and
who has it."""


JOINT = frozenset({"joint_values"})
"""Who has which values of all sensitive attributes together."""


BACKGROUND = frozenset({"background_values"})
"""Which values persons may have once an adversary's rules are known; counted only where there are such rules."""


RELATED = frozenset({"related_rows"})
"""The rows that persons have in several tables; counted only where several leave together."""


EVERYTHING = SPREAD | VALUE_SUMMARIES | VALUE_TABLES | JOINT
"""What a table shows by itself."""


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
        """Sums over the entries of each group (every group has at least one value)."""
        start = self.lists[0]
        return np.add.reduceat(entries, start[:-1]) if len(start) > 1 else entries[:0]

    def most_by_group(self, entries: Entries) -> Entries:
        """The largest entry of each group (every group has at least one value)."""
        start = self.lists[0]
        return np.maximum.reduceat(entries, start[:-1]) if len(start) > 1 else entries[:0]

    def all_by_group(self, entries: BoolArray) -> BoolArray:
        """Whether every entry of a group is true (every group has at least one value)."""
        start = self.lists[0]
        return np.logical_and.reduceat(entries, start[:-1]) if len(start) > 1 else entries[:0]

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
    known: frozenset[str] = EVERYTHING
    """The counts that can be believed: tables that publish attributes apart do not show all."""

    def __len__(self) -> int:
        return len(self.persons)
