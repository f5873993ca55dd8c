"""Who is alone in their group by what leaves beside the quasi-identifiers, and how many may be.

A model judges a group by its quasi-identifiers and its sensitive values. But whoever knows something else of a person
that leaves too finds them in their group: a kept column, how many records they have, a sensitive value that nobody else
has, a time. A person is alone by one of these where, within their group, one of their values of it is nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.judging.observation import Observation, number_equal
from shoal.judging.verdict import ALLOW_IT, LOWER_IT, Verdict
from shoal.kernels import counting
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, IntArray
from shoal.table.columns import code_values
from shoal.table.own_columns import GROUP
from shoal.table.schema import Schema
from shoal.table.times import since_first, times_of_day

KEPT, COUNT, TIME, TIME_OF_DAY = "kept", "count", "time", "time_of_day"
OWN_KEYS = (KEPT, COUNT, TIME, TIME_OF_DAY)
"""Keys of our own, beside those of sensitive columns."""
FEW = 20
"""Of kept columns one in so many persons may be alone by them before somebody has to allow it."""

OWN_GROUP, WHOLE_TABLE = "their group", "the whole table"


@dataclass(frozen=True)
class Alone:
    """How many are alone by what, among how many."""

    by: Mapping[str, int]
    """Counts by the keys of `Risk.alone_by`."""
    n: int
    """Of how many persons; of how many records, where nobody sees which of them belong to one person."""
    by_kept_column: Mapping[str, int] = field(default_factory=dict)
    """Counts by each kept column alone, where they are counted already."""
    counts_records: bool = False
    crowd: str = OWN_GROUP
    """Among whom they are alone: their group, or everybody where a release shows no groups."""
    is_bound: bool = False
    """Whether sensitive columns have a bound: tables of counts do not show whether two values are one person's."""
    by_column: Callable[[str], int] | None = field(default=None, compare=False, repr=False)
    """Counts by one kept column alone; only a message about too many asks for it."""


@dataclass(frozen=True, kw_only=True)
class AloneLimit:
    """How many persons may be alone in their group by what else leaves.

    Parameters
    ----------
    max_alone
        How many may be by any of kept columns, number of records, sensitive columns and time; None sets no limit.
    allow_alone
        Whether more than one in twenty may be by the kept columns. They are published as they are, so that a kept
        column that identifies undoes what a mask does.
    """

    max_alone: int | None = None
    allow_alone: bool = False

    def __post_init__(self) -> None:
        most: object = self.max_alone
        if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0):
            raise ParameterError("max_alone must be a whole number of persons, such as 0.")
        if not isinstance(self.allow_alone, bool | np.bool_):
            raise ParameterError("allow_alone must be True or False.")

    def judged(self, verdict: Verdict, alone: Alone, schema: Schema) -> Verdict:
        """The verdict, saying who is alone by what, and with a problem where more are than may be."""
        return replace(
            verdict,
            problems=(*verdict.problems, *self._problems(alone, schema)),
            notes=(*verdict.notes, *_note(alone, schema)),
        )

    def _problems(self, alone: Alone, schema: Schema) -> list[str]:
        problems = []
        if FEW * alone.by.get(KEPT, 0) > alone.n and not self.allow_alone:
            problems.append(
                f"{_alone_in(alone, alone.by[KEPT], f' ({alone.by[KEPT] / alone.n:.1%})')} by "
                f"{_words(KEPT, schema)}{_most_by(alone, schema)}: whoever knows "
                f"{'it' if len(schema.kept) == 1 else 'these'} of a person finds them. {ALLOW_IT}"
            )
        most = max(alone.by, key=lambda key: alone.by[key], default=None)
        if self.max_alone is not None and most is not None and alone.by[most] > self.max_alone:
            problems.append(
                f"{_alone_in(alone, alone.by[most])} by {_words(most, schema)}"
                f"{_most_by(alone, schema) if most == KEPT else ''}; at most {self.max_alone:,} may be (max_alone). "
                f"{LOWER_IT}"
            )
        return problems


def _alone_in(alone: Alone, n: int, share: str = "") -> str:
    """Such as "3 of 40 persons (7.5%) are alone in their group"."""
    unit = "records" if alone.counts_records else "persons"
    return f"{n:,} of {alone.n:,} {unit}{share} are alone in {alone.crowd}"


def by_what(key: str) -> str:
    """What a key of `Risk.alone_by` stands for, in words."""
    own = {
        KEPT: "the kept columns together",
        COUNT: "their number of records",
        TIME: "the time",
        TIME_OF_DAY: "the time of day",
    }
    return own.get(key, f"'{key}'")


def _words(key: str, schema: Schema) -> str:
    """By what somebody is alone."""
    if key == KEPT and len(schema.kept) == 1:
        return f"the kept column '{schema.kept[0]}'"
    if key == KEPT:
        return f"the kept columns {', '.join(map(repr, schema.kept))} together"
    return f"'{schema.time}' as published" if key == TIME else by_what(key)


def _most_by(alone: Alone, schema: Schema) -> str:
    """Which kept column does most by itself, where there are several."""
    counts = dict(alone.by_kept_column)
    if alone.by_column is not None and len(schema.kept) > 1:
        counts = {name: alone.by_column(name) for name in schema.kept}
    if not counts:
        return ""
    most = max(counts, key=lambda name: counts[name])
    return f" (most by '{most}' alone: {counts[most]:,})"


def _note(alone: Alone, schema: Schema) -> list[str]:
    """Who is alone by what, in one sentence; none where nobody is."""
    found = [(key, n) for key, n in alone.by.items() if n]
    if not found:
        return []
    at_most = "at most " if alone.is_bound else ""
    told = [f"{at_most if key not in OWN_KEYS else ''}{n:,} by {_words(key, schema)}" for key, n in found]
    unit = "records" if alone.counts_records else "persons"
    crowd = alone.crowd if alone.crowd == OWN_GROUP else f"{alone.crowd}, which shows no groups,"
    return [
        f"Of {alone.n:,} {unit} some are alone in {crowd} by what else leaves: {', '.join(told)}. Whoever knows that "
        "of a person finds them."
    ]


def is_about_alone(note: str) -> bool:
    """Whether a note says who is alone: for the steward, not for whoever gets the release."""
    return " are alone in " in note


def look_for_alone(
    seen: Observation, frame: pl.DataFrame, schema: Schema, *, is_release: bool = True, by_column: bool = False
) -> Alone:
    """Who is alone in their group by what a table shows beside its quasi-identifiers.

    Parameters
    ----------
    seen, frame
        The groups and persons of the records, and the records.
    is_release
        Whether times are those that were published. Shifted dates tell how far apart they are and no more, since the
        days by which they are shifted are random: they count from the first day of their person on.
    by_column
        Whether to count by each kept column alone at once, where there are several.
    """
    by = {key: int(who.sum()) for key, who in who_is_alone(seen, frame, schema, is_release=is_release).items()}
    alone = Alone(by, seen.n_persons)

    def one_column(name: str) -> int:
        return int(_by_values(seen, [frame[name]]).sum())

    if by_column:
        kept = _kept_in(frame, schema)
        return replace(alone, by_kept_column={name: one_column(name) for name in kept} if len(kept) > 1 else {})
    return replace(alone, by_column=one_column)


def who_is_alone(
    seen: Observation, frame: pl.DataFrame, schema: Schema, *, is_release: bool = True
) -> dict[str, BoolArray]:
    """Which persons are alone in some group, by the keys of `Risk.alone_by`; parameters as in `look_for_alone`."""
    by: dict[str, BoolArray] = {}
    kept = _kept_in(frame, schema)
    if kept:
        by[KEPT] = _by_values(seen, [frame[name] for name in kept])
    if schema.person is not None and schema.person in frame.columns:
        by[COUNT] = _by_number_of_records(seen)
    for name in seen.sensitive:
        by[key_of(name)] = seen.who_has_own_value(name)
    if schema.time is not None:
        times = frame[schema.time]
        by[TIME] = _by_values(
            seen, [since_first(times, seen.linked_records) if is_release and schema.time_as == "shift" else times]
        )
        if is_release and keeps_time_of_day(schema):
            by[TIME_OF_DAY] = _by_values(seen, [times_of_day(times)])
    return by


def _kept_in(frame: pl.DataFrame, schema: Schema) -> list[str]:
    return [name for name in schema.kept if name in frame.columns]


def look_for_alone_apart(counts: GroupCounts, frame: pl.DataFrame, schema: Schema, *, by_column: bool = False) -> Alone:
    """Who is alone where sensitive values are published apart: one row per person, groups by their own column.

    How many records a person has is not shown. Of a sensitive value that one person of a group has it is not shown
    whether that person has another such value, so that no more than all persons of the group are counted.
    """
    group, groups = code_values(frame[GROUP])
    rows = Observation(group, len(groups) + 1, np.arange(len(frame), dtype=np.int32), len(frame), {})
    without_ids = replace(schema, person=None, person_ids="pseudonyms", time=None)
    alone = look_for_alone(rows, frame, without_ids, by_column=by_column)
    by = dict(alone.by)
    one_each = True
    for name, values in counts.values.items():
        by[key_of(name)] = int(np.minimum(values_of_one(values), counts.persons).sum())
        one_each &= np.array_equal(values.person_values, counts.persons)
    return replace(alone, by=by, is_bound=not one_each)


def values_of_one(values: ValueCounts) -> IntArray:
    """How many values of each group are those of one person."""
    return values.sum_by_group((values.lists[3] == 1).astype(np.int64))


def together(parts: Sequence[Alone]) -> Alone:
    """Several parts of a table as one, where nobody has records in two of them."""
    first = parts[0]
    return replace(
        first,
        by={key: sum(part.by[key] for part in parts) for key in first.by},
        n=sum(part.n for part in parts),
        by_kept_column={key: sum(part.by_kept_column[key] for part in parts) for key in first.by_kept_column},
        is_bound=any(part.is_bound for part in parts),
    )


def key_of(sensitive: str) -> str:
    """The key of a sensitive column: its name, unless it is called as one of our own keys."""
    return f"sensitive {sensitive}" if sensitive in OWN_KEYS else sensitive


def keeps_time_of_day(schema: Schema) -> bool:
    """Whether a release shows the times of day of shifted dates, which are not shifted."""
    return schema.time is not None and schema.time_as == "shift" and schema.time_of_day == "keep"


def _by_values(seen: Observation, columns: list[pl.Series]) -> BoolArray:
    return seen.who_has_own(*number_equal(columns))


def _by_number_of_records(seen: Observation) -> BoolArray:
    """Who is alone by how many records they have in their group; with several pseudonyms, by those of any of them."""
    if seen.pseudonym_of_record is not None:
        in_all = np.bincount(seen.linked_records)
        return seen.who_has_own(in_all[seen.linked_records], int(in_all.max()) + 1)
    (group, person), first = seen.in_order, seen.start_of_member
    records = np.diff(np.append(first, len(group))).astype(np.int32)
    n_values = int(records.max()) + 1
    return counting.persons_with_own(group[first], records, person[first], n_values, seen.n_persons)
