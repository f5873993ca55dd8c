"""What persons show of their histories, and how many of a group show the same: the counts of models of histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.models.exact import BoolArray, IntArray

if TYPE_CHECKING:
    from shoal.kernels.combining import Shown

Knows = Literal["values", "records", "times", "order"]
KNOWS: tuple[Knows, ...] = ("values", "records", "times", "order")
"""What an attacker knows of a history: values; whole records; these with their times; these in their order."""
MOST_KNOWN = 3
"""Of how many items together it is counted who shows them; more take longer than anybody waits."""
BUDGET = 100_000_000
"""So many combinations are looked at, and no more, where values are hidden and where a release is recounted."""
HIDDEN = "*"
"""What stands for a value that is hidden; it shows nothing."""
NOTHING = -1
"""The code of what shows nothing."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a model asks of the histories that persons show, which are hidden until it holds."""

    k: int = 1
    """The fewest persons who show what somebody may know."""
    m: int = 0
    """How many items are known."""
    c: Fraction | None = None
    """The largest share of those who show what is known that shows any one other item."""
    columns: Sequence[str] | None = None
    with_quasi: bool = True
    knows: Knows = "values"
    of_counts: bool = False
    """Whether it is the number of records that is known."""
    shares_hidden: bool = False
    """Whether a hidden value counts as a value."""


@dataclass(frozen=True, kw_only=True)
class HistoryCounts:
    """What every published record shows, of which group and whose it is.

    A person may have several pseudonyms; what is known of one of them does not lead to another. Counted are persons.
    """

    group_of_record: IntArray
    n_groups: int
    person_of_record: IntArray
    codes: dict[str, IntArray]
    """What each record shows of each column of histories, by name; `NOTHING` where that is hidden."""
    pseudonym_of_record: IntArray | None = None
    """Where persons have several pseudonyms: that of each record."""
    moment_of_record: IntArray | None = None
    """When each record was, as published, where there is a time; equal for equal times, in their order."""
    time: str | None = None
    """The column of times, which named as a column of histories stands for the days between a person's records."""
    gap_of_record: IntArray | None = None
    """The code of the days since the person's record before; `NOTHING` for the first, or where days are not shown."""

    _fewest: dict[tuple[object, ...], IntArray] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was counted already; a model asks whether it holds and what it reached."""

    @cached_property
    def persons(self) -> IntArray:
        """How many persons each group has."""
        n_persons = int(self.person_of_record.max(initial=0)) + 1
        member = np.unique(self.group_of_record * n_persons + self.person_of_record)
        return np.bincount(member // n_persons, minlength=self.n_groups)

    @property
    def as_one_group(self) -> HistoryCounts:
        """The same where nobody knows quasi-identifiers: all records lie in one group."""
        return replace(self, group_of_record=np.zeros_like(self.group_of_record), n_groups=1)

    def shares_hidden(self, k: int, m: int, columns: Sequence[str] | None, knows: Knows, *, model: str) -> BoolArray:
        """Groups in which whoever knows m items has k persons to choose from, also where what is known is hidden.

        Either k persons hide so much that any m items may be theirs, or what is hidden is shown by k persons as if it
        were a value, alone and beside others.
        """
        named = [name for name in self.columns_meant(columns, model=model) if name != self.time]
        shared = self._who_hides(named, m, knows) >= k
        is_hidden = np.zeros(len(self.group_of_record), np.bool_)
        for name in named:
            is_hidden |= self.codes[name] == NOTHING
        shared |= np.bincount(self.group_of_record[is_hidden], minlength=self.n_groups) == 0
        if m == 0 or shared.all():
            return shared | (m == 0)
        own = ~shared[self.group_of_record]
        codes = {
            name: np.where(each == NOTHING, each.max(initial=0) + 1, each)[own] for name, each in self.codes.items()
        }
        as_values = replace(
            self, codes=codes, group_of_record=self.group_of_record[own], person_of_record=self.person_of_record[own],
            pseudonym_of_record=None if self.pseudonym_of_record is None else self.pseudonym_of_record[own],
            moment_of_record=None if self.moment_of_record is None else self.moment_of_record[own],
            gap_of_record=None if self.gap_of_record is None else self.gap_of_record[own],
        )  # fmt: skip
        return shared | (as_values.fewest(m, columns, knows, model=model) >= k)

    def _who_hides(self, columns: Sequence[str], m: int, knows: Knows) -> IntArray:
        """How many persons of each group have a pseudonym with m hidden values in every column.

        Where whole records are known: with m records that show nothing. Where no pseudonym of the group has m records,
        with as many as the longest has: nobody can know more values of one column.
        """
        pseudonym = self.person_of_record if self.pseudonym_of_record is None else self.pseudonym_of_record
        hidden = [self.codes[name] == NOTHING for name in columns]
        if knows != "values":
            hidden = [np.logical_and.reduce(hidden)] if hidden else []
        _, first, number = np.unique(alike([self.group_of_record, pseudonym]), return_index=True, return_inverse=True)
        most = np.zeros(self.n_groups, np.int64)
        np.maximum.at(most, self.group_of_record[first], np.bincount(number, minlength=len(first)))
        does = np.ones(len(first), np.bool_)
        for each in hidden:
            n_hidden = np.bincount(number[each], minlength=len(first))
            does &= n_hidden >= np.minimum(m, most)[self.group_of_record[first]]
        group, person = self.group_of_record[first][does], self.person_of_record[first][does]
        _, one = np.unique(alike([group, person]), return_index=True)
        return np.bincount(group[one], minlength=self.n_groups)

    def columns_meant(self, columns: Sequence[str] | None, *, model: str) -> list[str]:
        """The columns that a model is about: those named, or all sensitive ones."""
        if columns is None:
            if not self.codes:
                raise SchemaError(f"{model} asks about sensitive attributes, but none is named. Name at least one.")
            return list(self.codes)
        known = [*self.codes, *([] if self.time is None else [self.time])]
        unknown = [name for name in columns if name not in known]
        if unknown:
            raise SchemaError(
                f"{model} names '{unknown[0]}', but that is neither a sensitive attribute nor the time. These are: "
                f"{', '.join(known)}.{did_you_mean(unknown[0], known)}"
            )
        if self.time in columns and self.gap_of_record is None:
            raise SchemaError(
                f"{model} names '{self.time}', whose days between records are shown only where times are published as "
                "shifted dates (time_as='shift')."
            )
        return list(columns)

    def fewest(self, m: int, columns: Sequence[str] | None, knows: Knows, *, model: str) -> IntArray:
        """The fewest persons of each group who show any one combination of at most m items that is shown there."""
        asked = (m, None if columns is None else tuple(columns), knows)
        if asked not in self._fewest:
            self._fewest[asked] = self._counted(m, columns, knows, model=model)
        return self._fewest[asked]

    def _counted(self, m: int, columns: Sequence[str] | None, knows: Knows, *, model: str) -> IntArray:
        from shoal.kernels import combining

        fewest = self.persons.astype(np.int64)
        if m == 0:
            return fewest
        shown, n_items = self._shown(m, columns, knows, model=model)
        room = _room(shown, m, model)
        if m == 1:
            group, persons = _persons_of_items(shown, n_items)
            np.minimum.at(fewest, group, persons)
            return fewest
        combining.fewest_of_groups(shown, m, _base(n_items, m, model), room, fewest)
        return fewest

    def surest(self, m: int, columns: Sequence[str] | None, knows: Knows, *, model: str) -> tuple[IntArray, IntArray]:
        """In each group the most that a combination of at most m items tells of another item.

        How many persons show both, and how many show the combination.
        """
        from shoal.kernels import combining

        shown, n_items = self._shown(max(m, 1), columns, knows, model=model)
        room, of_pairs = _room(shown, m, model), _room(shown, m, model, with_another=True)
        part, whole = np.zeros(self.n_groups, np.int64), self.persons.astype(np.int64)
        combining.surest_of_groups(shown, m, _base(n_items, m + 1, model), room, of_pairs, part, whole)
        return part, whole

    def fewest_by_count(self) -> IntArray:
        """In each group the fewest persons who have a pseudonym with any one number of records."""
        pseudonym = self.person_of_record if self.pseudonym_of_record is None else self.pseudonym_of_record
        _, first, records = np.unique(alike([self.group_of_record, pseudonym]), return_index=True, return_counts=True)
        group, owner = self.group_of_record[first], self.person_of_record[first]
        _, one = np.unique(alike([group, records, owner]), return_index=True)
        kind = alike([group[one], records[one]])
        _, of_kind, persons = np.unique(kind, return_index=True, return_counts=True)
        fewest = np.full(self.n_groups, np.iinfo(np.int64).max)
        np.minimum.at(fewest, group[one][of_kind], persons)
        return fewest

    def _shown(self, m: int, columns: Sequence[str] | None, knows: Knows, *, model: str) -> tuple[Shown, int]:
        """The items of all records by group, person, pseudonym and item, and how many different ones there are.

        Where their order tells nothing, a pseudonym has each item at most m times, since no more can be known.
        """
        from shoal.kernels.combining import Shown

        item, record = self._items(self.columns_meant(columns, model=model), knows, model=model)
        moment = np.zeros(len(item), np.int64)
        if knows == "order":
            assert self.moment_of_record is not None
            moment = self.moment_of_record[record]
        person, group = self.person_of_record[record], self.group_of_record[record]
        pseudonym = person if self.pseudonym_of_record is None else self.pseudonym_of_record[record]
        order = np.lexsort((item, moment, pseudonym, person, group))
        item, group, person, pseudonym = item[order], group[order], person[order], pseudonym[order]
        moment = moment[order]
        is_owner = _is_first(group) | _is_first(person)
        is_piece = is_owner | _is_first(pseudonym)
        if knows != "order":
            run = np.flatnonzero(is_piece | _is_first(item))
            keep = np.arange(len(item)) - np.repeat(run, np.diff(np.append(run, len(item)))) < m
            item, group, is_owner, is_piece = item[keep], group[keep], is_owner[keep], is_piece[keep]
        first_piece, first_owner = np.flatnonzero(is_piece), np.flatnonzero(is_owner)
        return Shown(
            start_of_group=np.searchsorted(group[first_owner], np.arange(self.n_groups + 1)),
            start_of_owner=np.append(np.searchsorted(first_piece, first_owner), len(first_piece)),
            start_of_piece=np.append(first_piece, len(item)),
            item=item,
            moment=moment if knows == "order" else np.empty(0, np.int64),
        ), int(item.max(initial=-1)) + 1

    def _items(self, columns: list[str], knows: Knows, *, model: str) -> tuple[IntArray, IntArray]:
        """What records show that somebody may know: an item, and the record that shows it."""
        if knows in ("times", "order") and self.moment_of_record is None:
            raise SchemaError(f"{model} asks what is known with its time, but no time column is named.")
        shown = [self.gap_of_record if name == self.time else self.codes[name] for name in columns]
        codes = [each for each in shown if each is not None]
        if knows == "values":
            offsets = np.cumsum([0, *(int(each.max(initial=NOTHING)) + 1 for each in codes)])
            items = [np.where(each == NOTHING, each, each + offsets[at]) for at, each in enumerate(codes)]
            item, record = np.concatenate(items), np.tile(np.arange(len(self.group_of_record)), len(items))
            return item[item != NOTHING], record[item != NOTHING]
        is_shown = np.any([each != NOTHING for each in codes], axis=0)
        if knows == "times":
            assert self.moment_of_record is not None
            codes.append(self.moment_of_record)
        record = np.flatnonzero(is_shown)
        _, item = np.unique(alike([each[record] for each in codes]), return_inverse=True)
        return item.astype(np.int64), record


def alike(columns: Sequence[IntArray]) -> IntArray:
    """A number per entry that is equal where all columns are; in the order of the columns."""
    number = np.zeros(len(columns[0]), np.int64)
    n_numbers = 1
    for column in columns:
        least = int(column.min(initial=0))
        n_codes = int(column.max(initial=0)) - least + 1
        if n_numbers * n_codes >= 2**62:
            distinct, number = np.unique(number, return_inverse=True)
            n_numbers = len(distinct)
        number = number * n_codes + (column - least)
        n_numbers *= n_codes
    return number


def _is_first(codes: IntArray) -> BoolArray:
    """Whether each entry differs from the one before."""
    return np.append(True, codes[1:] != codes[:-1])[: len(codes)]


def _persons_of_items(shown: Shown, n_items: int) -> tuple[IntArray, IntArray]:
    """How many owners of a group show each item that is shown there, and which group that is."""
    n_owners, n_pieces = len(shown.start_of_owner) - 1, len(shown.start_of_piece) - 1
    owner_of_piece = np.repeat(np.arange(n_owners), np.diff(shown.start_of_owner))
    group_of_owner = np.repeat(np.arange(len(shown.start_of_group) - 1), np.diff(shown.start_of_group))
    owner, item = np.repeat(owner_of_piece, np.diff(shown.start_of_piece)), shown.item
    if n_pieces > n_owners or len(shown.moment):
        once = np.unique(owner * n_items + item)
        owner, item = once // n_items, once % n_items
    kind, persons = np.unique(group_of_owner[owner] * n_items + item, return_counts=True)
    return kind // max(n_items, 1), persons


def _room(shown: Shown, m: int, model: str, *, with_another: bool = False) -> IntArray:
    """How many combinations of at most m items the persons of each group show, each counted as often as it is found.

    With another item, as often as there is one beside a combination or beside nothing.
    """
    items = np.diff(shown.start_of_piece).astype(np.float64)
    n_combinations, n = np.zeros(len(items)), np.ones(len(items))
    for size in range(1, m + 1):
        n = n * np.maximum(items - size + 1, 0) / (1 if len(shown.moment) else size)
        n_combinations += n
    if with_another:
        n_combinations = (n_combinations + 1) * items
    looked_at = n_combinations.sum() / (m + 1 if with_another else 1)  # any of its items may be the other one
    if looked_at > BUDGET:
        hint = "Ask for a smaller m, or let fewer records per person leave (max_records)."
        raise ParameterError(
            f"{model} would look at {looked_at:,.0f} combinations of what persons show; {BUDGET:,} is the most. {hint}",
            hint=hint,
        )
    piece = shown.start_of_owner[shown.start_of_group]
    behind = np.append(0, np.cumsum(np.rint(n_combinations))).astype(np.int64)
    return np.diff(behind[piece])


def _base(n_items: int, m: int, model: str) -> int:
    """In which base the items of a combination are the digits of one number."""
    if (n_items + 1) ** m >= 2**62:
        raise ParameterError(
            f"{model}: {n_items:,} different values are too many to be told apart {m} at a time. Ask for a smaller m, "
            "or group values by a hierarchy.",
        )
    return n_items + 1
