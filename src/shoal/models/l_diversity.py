"""l-diversity: the sensitive values of every group are well spread, in one of four readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Dial, OnSensitive, as_number, as_share
from shoal.models.counts import GroupCounts, ValueCounts, ValuesLeft
from shoal.models.entropy import at_least, effective_number, times_log2
from shoal.models.exact import (
    BoolArray,
    FloatArray,
    IntArray,
    Threshold,
    as_choice,
    as_count,
    as_fraction,
    ratio_at_most,
    share,
)
from shoal.parts import option

KINDS = ("frequency", "distinct", "entropy", "recursive")
COUNTS = ("records", "persons")

_NEEDS = {
    ("frequency", "records"): frozenset({"records", "most_records_of_value"}),
    ("frequency", "persons"): frozenset({"person_values", "most_persons_of_value"}),
    ("distinct", "records"): frozenset({"distinct_values"}),
    ("distinct", "persons"): frozenset({"values_of_person"}),
    ("entropy", "persons"): frozenset({"persons_of_value"}),
    ("recursive", "persons"): frozenset({"persons_of_value"}),
}


@dataclass(frozen=True, kw_only=True)
class LDiversity(OnSensitive):
    """The sensitive values of every group are well spread (Machanavajjhala, Kifer, Gehrke and others, 2007).

    Parameters
    ----------
    l
        How well: a number of at least 1, whole for the kinds "distinct" and "recursive".
    kind
        "frequency": the commonest value has at most a share 1/l. "distinct": there are at least l values. "entropy":
        the effective number of values, 2^H, is at least l. "recursive": with counts r1 >= r2 >= ... >= rm,
        r1 < c (rl + ... + rm).
    c
        The factor of the kind "recursive", above 0; no other kind has one.
    count
        "records", or "persons": then a value counts once for each person who has it, and "distinct" asks that l
        persons can each be given a different value of their own.
    column
        The sensitive attribute; None asks it of each one.

    Notes
    -----
    Exact in whole numbers, but for "entropy", where equality is decided to twelve digits. Monotone in every kind:
    counts of merged groups add up, so the commonest value's share is at most the larger of the two, values and
    matchings are kept, entropy is concave, and r1 + c (r1 + ... + r(l-1)) of a sum is at most the sum of theirs.
    The value reached by "recursive" is the largest l that holds with this c, 0 where none does.

    Examples
    --------
    >>> LDiversity(l=3, kind="recursive", c=0.5).c
    Fraction(1, 2)
    """

    l: Threshold = field(  # noqa: E741 - the paper's name
        metadata=option("l-diversity of the sensitive values of every group: 3.", metavar="L")
    )
    kind: str = field(
        default="frequency", metadata=option("frequency (default), distinct, entropy or recursive.", metavar="KIND")
    )
    c: Threshold | None = field(default=None, metadata=option("The factor of recursive l-diversity.", metavar="C"))
    count: str = field(default="records", metadata=option("Count records (default) or persons.", metavar="WHAT"))
    column: str | None = None
    name: ClassVar[str] = "l-diversity"
    is_common: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    flag: ClassVar[str | None] = "l"
    is_diversity: ClassVar[bool] = True
    asks_of_values_left: ClassVar[bool] = True
    dial: ClassVar[Dial | None] = Dial.count(is_whole=False, of_values=True)

    def __post_init__(self) -> None:
        as_choice(self.kind, name="kind of l-diversity", choices=KINDS)
        as_choice(self.count, name="count", choices=COUNTS)
        l = as_count(self.l, name="l") if self.kind in ("distinct", "recursive") else as_fraction(self.l, name="l")  # noqa: E741
        if l < 1:
            raise ParameterError(f"l must be at least 1, got {float(l):g}. l = 3 keeps every value under a third.")
        object.__setattr__(self, "l", l)
        object.__setattr__(self, "c", self._checked_c())

    def _checked_c(self) -> Threshold | None:
        if self.kind != "recursive":
            if self.c is not None:
                raise ParameterError(f"c belongs to kind='recursive', not to kind={self.kind!r}. Leave c out.")
            return None
        if self.c is None:
            raise ParameterError("kind='recursive' asks for c as well, as in c=3: r1 < c (rl + ... + rm).")
        c = as_fraction(self.c, name="c")
        if c <= 0:
            raise ParameterError(f"c must be above 0, got {float(c):g}. A usual choice is c=3.")
        return c

    @property
    def holds_with_more(self) -> bool:
        """Different values stay; shares and entropies can fall."""
        return self.kind == "distinct"

    @property
    def needs(self) -> frozenset[str]:
        """Names of the counts that this kind reads."""
        return _NEEDS.get((self.kind, self.count), frozenset({"values_of_group"}))

    @property
    def least_values(self) -> int | None:
        """l, where different values are counted on records."""
        return int(self.l) if self.kind == "distinct" and self.count == "records" else None

    def largest_share_of_a_value(self) -> float | None:
        """One in l, where frequencies are asked about."""
        return 1 / float(self.l) if self.kind == "frequency" else None

    def sentence(self) -> str:
        """What it promises, in plain words."""
        unit = "persons and their values" if self.count == "persons" else "records"
        of, least = self.value_in_words, as_number(self.l)
        match self.kind:
            case "distinct":
                return f"Every group has at least {least} different {of}s, counted on {unit}"
            case "entropy":
                return f"Guessing a {of} in any group is as hard as among {least} equally common ones ({unit})"
            case "recursive":
                return f"In every group the commonest {of} stays below {as_number(self.c)} times the rare ones ({unit})"
        return f"No {of} makes up more than {as_share(1 / Fraction(self.l))} of any group, counted on {unit}"

    def among_values_left(self, left: ValuesLeft) -> tuple[BoolArray, FloatArray]:
        """So many values are left."""
        return left.distinct >= float(self.l), left.distinct.astype(np.float64)

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        if self.kind == "frequency":
            most, total = self._most_and_total(attribute, groups)
            return ratio_at_most(most, total, 1 / as_fraction(self.l, name="l"))
        if self.kind == "entropy":
            return at_least(self._reached_on(attribute, groups), self.asked)
        if self.kind == "distinct" and self.count == "persons":
            return _matching_sizes(attribute, limit=int(self.l)) >= self.asked
        return self._reached_on(attribute, groups) >= self.asked

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        if self.kind == "frequency":
            most, total = self._most_and_total(attribute, groups)
            return share(total, most)
        if self.kind == "entropy":
            counts = self._counts(attribute)
            total = attribute.sum_by_group(counts)
            return effective_number(total, attribute.sum_by_group(times_log2(counts)), attribute.distinct)
        if self.kind == "recursive":
            return self._largest_recursive_l(attribute).astype(np.float64)
        if self.count == "persons":
            return _matching_sizes(attribute).astype(np.float64)
        return attribute.distinct.astype(np.float64)

    def _counts(self, attribute: ValueCounts) -> IntArray:
        _, _, records, persons = attribute.lists
        return records if self.count == "records" else persons

    def _most_and_total(self, attribute: ValueCounts, groups: GroupCounts) -> tuple[IntArray, IntArray]:
        if self.count == "records":
            return attribute.most_records, groups.records
        return attribute.most_persons, attribute.person_values

    def _largest_recursive_l(self, attribute: ValueCounts) -> IntArray:
        """For each group, how many of the ranks l have r1 < c (rl + ... + rm): they are the first ones."""
        counts = self._counts(attribute)
        group = attribute.group_of_entry
        descending = counts[np.lexsort((-counts, group))]
        start = attribute.lists[0]
        before = np.concatenate(([0], np.cumsum(descending)))
        tail = before[start[1:]][group] - before[:-1]
        too_common = ratio_at_most(tail, descending[start[:-1]][group], 1 / self.c)  # type: ignore[operator,arg-type]
        return attribute.sum_by_group((~too_common).astype(np.int64))


def _matching_sizes(attribute: ValueCounts, *, limit: int | None = None) -> IntArray:
    """How many persons of each group can each be given a different value of their own, counted up to `limit`."""
    from shoal.kernels.matching import matching_sizes  # here, since numba is slow to import

    start, person, value = attribute.pairs
    group = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.lexsort((person, group))
    person, value = person[order], value[order]
    is_first = np.ones(len(person), dtype=np.bool_)
    is_first[1:] = (person[1:] != person[:-1]) | (group[1:] != group[:-1])
    start_of_person = np.append(np.flatnonzero(is_first), len(person))
    start_of_group = np.searchsorted(start_of_person, start)
    n_values = len(attribute.records_in_table)
    most = n_values if limit is None else min(limit, n_values + 1)
    return np.asarray(matching_sizes(start_of_group, start_of_person, value.astype(np.int64), n_values, most))
