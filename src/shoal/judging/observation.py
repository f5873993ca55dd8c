"""What can be seen in a table: who is published alike, and which sensitive values they have.

The same view serves the table as it is (groups are equal quasi-identifiers) and a release (groups are equal masked
quasi-identifiers), so that a release is judged by what it shows and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels import counting
from shoal.models.background import BackgroundCounts, Lists, background_of
from shoal.models.counts import (
    BACKGROUND,
    EVERYTHING,
    HISTORIES,
    JOINT,
    RELATED,
    VALUE_SUMMARIES,
    VALUE_TABLES,
    GroupCounts,
    ValueCounts,
)
from shoal.models.histories import HIDDEN, NOTHING, HistoryCounts
from shoal.models.joint import JointCounts, join_lists, joint_counts
from shoal.models.related import Related, RelatedCounts
from shoal.table.adversary import Known
from shoal.table.columns import CategoryColumn, Codes, Persons, code_values, sensitive_columns
from shoal.table.schema import Schema
from shoal.table.spelling import TEXTS, spelled
from shoal.table.table import Table
from shoal.table.times import moments_of, since_first


class _Members(NamedTuple):
    """Persons in groups, with their values of each attribute, and one record of each."""

    start_of_group: NDArray[np.int64]
    lists: dict[str, Lists]
    record: Codes

    def joint(self, columns: Iterable[str]) -> JointCounts:
        """The values of all sensitive attributes of each person in each group."""
        everyone = np.arange(len(self.record))
        return joint_counts(self.start_of_group, everyone, join_lists(list(self.lists.values())), tuple(columns))


@dataclass(frozen=True)
class ShownTimes:
    """The column of times as it is shown."""

    name: str
    shown: pl.Series
    are_dates: bool
    """Whether the days between two records can be told."""

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema) -> ShownTimes | None:
        """The times of a table, where it has some."""
        if schema.time is None or schema.time not in frame.columns:
            return None
        return cls(schema.time, frame[schema.time], schema.time_as == "shift")

    def moments(self, person_of_record: Codes) -> NDArray[np.int64]:
        """When each record was, as numbers in the order of times; of dates as they stand to the person's first."""
        times = since_first(self.shown, person_of_record) if self.are_dates else self.shown
        if times.dtype == pl.String:
            numbers = times.cast(pl.Float64, strict=False)
            times = numbers if numbers.null_count() == times.null_count() else times
        return code_values(times)[0].astype(np.int64)

    def gaps(self, person_of_record: Codes) -> NDArray[np.int64] | None:
        """The code of the days since the record before of the same person, where dates are shown."""
        moments = moments_of(self.shown) if self.are_dates else None
        if moments is None:
            return None
        by_time = pl.DataFrame({"person": person_of_record, "time": moments}).with_row_index().sort("person", "time")
        days = pl.col("time").dt.truncate("1d")
        gap = by_time.select("index", gap=(days - days.shift(1)).over("person").dt.total_days()).sort("index")["gap"]
        codes, distinct = code_values(gap)
        return np.where(codes == len(distinct), NOTHING, codes).astype(np.int64)


@dataclass(frozen=True)
class Observation:
    """The group and person of each record, and its sensitive values. A person may stand in several groups."""

    group_of_record: Codes
    n_groups: int
    person_of_record: Codes
    n_persons: int
    sensitive: Mapping[str, CategoryColumn]
    known: Known | None = None
    """What an adversary knows of the person of each record, where that is known."""
    related: Related | None = None
    """The rows that each person has in several tables, where they leave together."""
    pseudonym_of_record: NDArray[np.integer] | None = None
    """Where a person's records are not all linked to one another: those that are have one number."""
    times: ShownTimes | None = None
    """When the records were, as it is shown."""

    @classmethod
    def of_groups(cls, table: Table, group_of_person: Codes, n_groups: int) -> Observation:
        """The persons of a table in groups, each person in one."""
        known = None if table.adversary is None else table.adversary.known_of(table.person_of_record)
        group_of_record = group_of_person[table.person_of_record]
        person_of_record, n_persons = table.person_of_record, table.n_persons
        return cls(group_of_record, n_groups, person_of_record, n_persons, table.sensitive, known, table.related)

    @classmethod
    def of_whole(cls, table: Table) -> Observation:
        """All records of a table as one group."""
        return cls.of_groups(table, np.zeros(table.n_persons, dtype=np.int32), 1)

    @property
    def persons_in_several_groups(self) -> int:
        """How many persons have records in more than one group."""
        if self._whole_persons is not None:
            return 0
        order = counting.order_by_code(self.person_of_record, self.n_persons, self.by_group)
        groups, *_ = counting.spread_of_groups(order, self.person_of_record, self.group_of_record, self.n_persons)
        return int((groups > 1).sum())

    @classmethod
    def of_frame(cls, frame: pl.DataFrame, schema: Schema) -> Observation:
        """Look at a table by a schema: records with equal quasi-identifiers form a group."""
        group_of_record, n_groups = number_equal([frame[name] for name in schema.quasi_names])
        if schema.person is None:
            person_of_record, n_persons = np.arange(len(frame), dtype=np.int32), len(frame)
        else:
            person_of_record, n_persons = number_persons(frame[schema.person], schema.spelling_of(schema.person))
        sensitive, times = sensitive_columns(frame, schema), ShownTimes.of(frame, schema)
        return cls(group_of_record, n_groups, person_of_record, n_persons, sensitive, times=times)

    @property
    def linked_records(self) -> Codes:
        """Which records are seen to be one's: those of a pseudonym, or of a person who has one."""
        if self.pseudonym_of_record is None:
            return self.person_of_record
        return self.pseudonym_of_record.astype(np.int32, copy=False)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return len(self.group_of_record)

    @cached_property
    def _by_person(self) -> Codes:
        everything = np.arange(self.n_records, dtype=np.int32)
        return counting.order_by_code(self.person_of_record, self.n_persons, everything)

    @cached_property
    def by_group(self) -> Codes:
        """The records sorted by group, and by person inside a group."""
        if self._whole_persons is None:
            return counting.order_by_code(self.group_of_record, self.n_groups, self._by_person)
        persons, start = self._whole_persons
        start_of_person = np.empty(self.n_persons, np.int64)
        start_of_person[persons] = start[:-1]
        return counting.order_by_start(self.person_of_record, start_of_person)

    @cached_property
    def _whole_persons(self) -> tuple[Codes, NDArray[np.int64]] | None:
        """Where each person stands in one group alone: the persons by group, and where their records start there."""
        group_of_person = counting.code_of_person(self.group_of_record, self.person_of_record, self.n_persons)
        if group_of_person.min(initial=0) < 0:
            return None
        everyone = np.arange(self.n_persons, dtype=np.int32)
        persons = counting.order_by_code(group_of_person, self.n_groups, everyone)
        records = np.bincount(self.person_of_record, minlength=self.n_persons)[persons]
        return persons, np.append(0, np.cumsum(records))

    def persons_alone(self, is_alone: NDArray[np.bool_]) -> int:
        """How many different persons the groups marked as having one person only have."""
        return int(self.who_is_alone(is_alone).sum())

    def who_is_alone(self, is_alone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which persons the groups marked as having one person only have."""
        starts = self.start_of_group[:-1]
        is_one_of_them = np.zeros(self.n_persons, np.bool_)
        is_one_of_them[self.person_of_record[self.by_group[starts[is_alone]]]] = True
        return is_one_of_them

    def who_has_own(self, value_of_record: NDArray[np.integer], n_values: int) -> NDArray[np.bool_]:
        """Which persons have, in some group, a value that nobody else in it has."""
        group, person = self.in_order
        return counting.persons_with_own(group, value_of_record[self.by_group], person, n_values, self.n_persons)

    def who_has_own_value(self, name: str) -> NDArray[np.bool_]:
        """Which persons have, in some group, a value of a sensitive attribute that nobody else in it has."""
        (group, person), n_values = self.in_order, self.sensitive[name].n_codes
        return counting.persons_with_own(group, self._codes_in_order[name], person, n_values, self.n_persons)

    @cached_property
    def _codes_in_order(self) -> dict[str, Codes]:
        """The sensitive values of the records as they stand in `by_group`."""
        return {name: column.codes[self.by_group] for name, column in self.sensitive.items()}

    @cached_property
    def in_order(self) -> tuple[Codes, Codes]:
        """Group and person of the records as they stand in `by_group`."""
        if self._whole_persons is None:
            return self.group_of_record[self.by_group], self.person_of_record[self.by_group]
        persons, start = self._whole_persons
        groups = np.arange(self.n_groups, dtype=np.int32)
        return np.repeat(groups, np.diff(self.start_of_group)), np.repeat(persons, np.diff(start))

    @cached_property
    def start_of_member(self) -> NDArray[np.int64]:
        """Where the records of each person in each group start in `by_group`."""
        if self._whole_persons is not None:
            return self._whole_persons[1][:-1]
        return counting.starts_of_runs(*self.in_order)

    @cached_property
    def start_of_group(self) -> NDArray[np.int64]:
        """Where the records of each group start in `by_group`, and where the last end."""
        return counting.start_of_code(self.group_of_record, self.n_groups)

    def counts(self, needs: frozenset[str]) -> GroupCounts:
        """The counts of every group, as far as they are needed; the names are those of `shoal.models.counts`."""
        spread = counting.spread_in_order(self.start_of_member, self.in_order[0], self.n_groups)
        persons, records, squared, most, logs = spread
        values = {}
        if needs & (VALUE_SUMMARIES | VALUE_TABLES):
            values = {name: self._value_counts(name, needs) for name in self.sensitive}
        joint, background = None, None
        if needs & JOINT or (needs & BACKGROUND and self.known is not None):
            members = self._members
            joint = members.joint(self.sensitive) if needs & JOINT else None
            background = self._background_counts(members) if needs & BACKGROUND and self.known is not None else None
        related = None
        if needs & RELATED and self.related is not None:
            who = self.person_of_record[self._members.record]
            related = RelatedCounts(start_of_group=self._members.start_of_group, who=who, related=self.related)
        return GroupCounts(
            persons=persons, records=records, squared_records=squared, most_records=most, log_records=logs,
            values=values, joint=joint, background=background, related=related,
            histories=self._histories if needs & HISTORIES else None,
            known=EVERYTHING if self.known is None else EVERYTHING | BACKGROUND,
        )  # fmt: skip

    @cached_property
    def _members(self) -> _Members:
        """Each person in each group, and the values of each attribute that their records there have."""
        (group, person), first = self.in_order, self.start_of_member
        start_of_member = np.append(first, self.n_records)
        lists = {}
        for name, column in self.sensitive.items():
            start, value, *_ = counting.values_in_order(start_of_member, self._codes_in_order[name], person)
            lists[name] = (start, value, column.n_codes)
        start_of_group = counting.start_of_code(group[first], self.n_groups)
        return _Members(start_of_group, lists, self.by_group[first])

    @cached_property
    def _histories(self) -> HistoryCounts:
        """What every record shows, and whose it is; values that are hidden show nothing."""
        moments = gaps = name = None
        if self.times is not None:
            numbers = self.linked_records
            name, moments, gaps = self.times.name, self.times.moments(numbers), self.times.gaps(numbers)
        return HistoryCounts(
            group_of_record=self.group_of_record.astype(np.int64),
            n_groups=self.n_groups,
            person_of_record=self.person_of_record.astype(np.int64),
            codes={name: _shown_codes(column) for name, column in self.sensitive.items()},
            pseudonym_of_record=None if self.pseudonym_of_record is None else self.pseudonym_of_record.astype(np.int64),
            moment_of_record=moments,
            time=name,
            gap_of_record=gaps,
        )

    def _background_counts(self, members: _Members) -> BackgroundCounts:
        """What an adversary's rules leave for each person in each group."""
        assert self.known is not None
        types = {
            name: (type_of_record[members.record], allowed)
            for name, (type_of_record, allowed) in self.known.types_of_record.items()
        }
        return BackgroundCounts(
            start_of_group=members.start_of_group,
            who=np.arange(len(members.record)),
            background=background_of(members.lists, types, is_linked=self.known.is_linked),
        )

    def _value_counts(self, name: str, needs: frozenset[str]) -> ValueCounts:
        column = self.sensitive[name]
        records_in_table = np.bincount(column.codes, minlength=column.n_codes).astype(np.int64)
        persons_in_table = np.zeros(column.n_codes, dtype=np.int64)
        if needs & VALUE_TABLES:
            by_person, everything = self._by_person, np.array([0, self.n_records])
            _, value, _, persons = counting.values_in_order(
                everything, column.codes[by_person], self.person_of_record[by_person]
            )
            persons_in_table[value] = persons
        start, value, records, persons = counting.values_in_order(
            self.start_of_group, self._codes_in_order[name], self.in_order[1]
        )
        pairs: tuple[NDArray[np.int64] | None, ...] = (None, None, None)
        if "values_of_person" in needs:
            order = counting.order_by_code(column.codes, column.n_codes, self._by_person)
            order = counting.order_by_code(self.group_of_record, self.n_groups, order)
            pairs = counting.pairs_of_groups(
                order, self.group_of_record, column.codes, self.person_of_record, self.n_groups
            )
        counted = ValueCounts(
            records_in_table=records_in_table, persons_in_table=persons_in_table,
            start_of_group=start, value=value, records=records, persons=persons,
            pair_start_of_group=pairs[0], pair_person=pairs[1], pair_value=pairs[2],
        )  # fmt: skip
        hidden = code_of_hidden(column) if needs & HISTORIES else None
        gone = [code for code in (column.code_left_out, hidden) if code is not None]
        if not gone:
            return counted
        persons, records, in_table = self._told(~np.isin(column.codes, gone))
        if hidden is not None:  # whoever has a hidden value still is one of those among whom others are hidden
            among, _, in_table = self._told(~np.isin(column.codes, [code for code in gone if code != hidden]))
            persons = np.where(records > 0, among, 0)
        for code in gone:
            counted = counted.without(code, persons, records, in_table)
        return counted

    def _told(self, is_told: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """How many persons and records of each group have a value, and how many persons have one at all."""
        records = np.bincount(self.group_of_record[is_told], minlength=self.n_groups)
        has_value = np.add.reduceat(is_told[self.by_group], self.start_of_member, dtype=np.int64) > 0
        group = self.in_order[0][self.start_of_member]
        persons = np.bincount(group[has_value], minlength=self.n_groups)
        return persons, records, len(np.unique(self.person_of_record[is_told]))


def _shown_codes(column: CategoryColumn) -> NDArray[np.int64]:
    """The code of what each record shows of a column; what is hidden shows nothing."""
    codes, hidden = column.codes.astype(np.int64), code_of_hidden(column)
    return codes if hidden is None else np.where(codes == hidden, NOTHING, codes)


def code_of_hidden(column: CategoryColumn) -> int | None:
    """The code of what stands for a hidden value, where a column shows it."""
    return column.categories.index_of(HIDDEN) if column.categories.dtype == pl.String else None


def number_persons(persons: pl.Series, spelling: str) -> tuple[Codes, int]:
    """Number persons in any order, which is all that counting asks for, and quicker than sorting their names."""
    if persons.dtype != pl.String:
        found = Persons.of(persons, spelling)
        return found.codes, found.n
    lengths = persons.str.len_bytes()
    if lengths.min() == lengths.max() == 8:  # as our pseudonyms are
        words = persons.cast(pl.Binary).bin.reinterpret(dtype=pl.Int64, endianness="little")
        codes, distinct_words = counting.number_distinct(words.to_numpy())
        if are_one_only_where_equal(distinct_words, spelling):
            return codes, len(distinct_words)
    numbers = _as_categories(persons)
    codes = numbers.to_physical().cast(pl.Int32).to_numpy()
    n_written = int(codes.max(initial=-1)) + 1
    written = pl.Series(np.arange(n_written, dtype=np.uint32)).cat.to(numbers.dtype).cast(pl.String)
    forms = spelled(written, spelling)
    if forms is written:
        return codes, len(written)
    code_of_written, distinct = code_values(forms)
    return code_of_written[codes], len(distinct)


def _as_categories(texts: pl.Series) -> pl.Series:
    """Texts as categories that no other column shares, numbered in the order in which they first appear."""
    return texts.cast(pl.Categorical(pl.Categories.random("shoal")))


def are_one_only_where_equal(words: NDArray[np.int64], spelling: str) -> bool:
    """Whether texts of eight bytes have only signs that leave a text as it is in a spelling, as our pseudonyms do."""
    signs = words.view(np.uint8)
    is_plain = (signs > ord(" ")) & (signs <= ord("~")) & (signs != ord("."))
    if spelling == "folded":
        is_plain &= (signs < ord("a")) | (signs > ord("z"))  # with capitals alone, case tells nobody apart
    return spelling == "exact" or bool(is_plain.all())


def number_equal(columns: list[pl.Series]) -> tuple[Codes, int]:
    """Number records that are equal in all columns alike, in the order in which they first appear.

    Texts and categories are compared by the numbers of categories, whole numbers by how far they are from the lowest.
    Equal records of other columns have equal hashes; that records of equal hashes are equal is looked up, column by
    column. Where two are not, values are coded instead.
    """
    if all(column.dtype in TEXTS or _is_narrow(column) for column in columns):
        return number_alike(map(_numbers_of, columns))
    values = pl.DataFrame([_as_compared(column).alias(str(place)) for place, column in enumerate(columns)])
    key = np.zeros(len(values), np.uint64)
    for own in values.select(pl.all().hash()):
        key = (key ^ own.to_numpy()) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    numbers, distinct = counting.number_distinct(key.view(np.int64))
    first = np.empty(len(distinct), np.uint32)
    first[numbers[::-1]] = np.arange(len(numbers), dtype=np.uint32)[::-1]
    is_equal = pl.all().gather(pl.Series(first[numbers])).eq_missing(pl.all()).all()
    if all(values.select(is_equal).row(0)):
        return numbers, len(distinct)
    coded = [code_values(column) for column in columns]
    return number_alike([(codes, len(distinct) + 1) for codes, distinct in coded])


def _is_narrow(column: pl.Series) -> bool:
    """Whether a column holds whole numbers that are near enough to each other to be numbered by their distances."""
    is_whole = column.dtype.is_integer() and column.dtype not in (pl.Int128, pl.UInt128)
    if not is_whole or len(column) == column.null_count():
        return False
    return int(column.max()) - int(column.min()) < 2**31 - 2  # type: ignore[arg-type]


def _numbers_of(column: pl.Series) -> tuple[NDArray[np.integer], int]:
    """The number of the value of each record, and how many numbers there may be; the last is that of missing."""
    if column.dtype.is_integer():
        low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
        wide = pl.UInt64 if column.dtype.is_unsigned_integer() else pl.Int64
        above = column.cast(wide) - pl.Series([low], dtype=wide)
        return above.cast(pl.Int64).fill_null(high - low + 1).to_numpy(), high - low + 2
    numbers = (_as_categories(column) if column.dtype == pl.String else column).to_physical()
    missing = int(numbers.max() or 0) + 1  # type: ignore[arg-type]
    return (numbers.cast(pl.UInt32).fill_null(missing) if numbers.null_count() else numbers).to_numpy(), missing + 1


def _as_compared(column: pl.Series) -> pl.Series:
    """Values as they are compared: categories by their number, floats by their code, since 0.0 and -0.0 are equal."""
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.to_physical()
    if column.dtype.is_float():
        return pl.Series(code_values(column)[0])
    return column


def number_alike(columns: Iterable[tuple[NDArray[np.integer], int]]) -> tuple[Codes, int]:
    """Number records that are equal in all coded columns alike; a missing value is equal to a missing value only."""
    rest = iter(columns)
    first, n_numbers = next(rest)
    numbers: NDArray[np.int64] = first.astype(np.int64)
    for codes, n_codes in rest:
        if n_numbers * n_codes > 2**62:
            compact, distinct = counting.number_distinct(numbers)
            numbers, n_numbers = compact.astype(np.int64), len(distinct)
        numbers *= n_codes
        numbers += codes
        n_numbers *= n_codes
    alike, distinct = counting.number_distinct(numbers)
    return alike, len(distinct)
