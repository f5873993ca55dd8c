"""How many records persons show: brought to steps, and to numbers that enough others of the group have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.grouping.grouping import Grouping
from shoal.kernels import counting
from shoal.masking.histories import records_kept
from shoal.models.contract import Model
from shoal.models.counts import SPREAD, GroupCounts
from shoal.models.exact import BoolArray, IntArray
from shoal.models.histories import Asked, alike
from shoal.table.table import Table


def numbers_kept(
    table: Table,
    grouping: Grouping,
    records: IntArray,
    *,
    k: int,
    steps: Sequence[int] | None,
    models: Sequence[Model],
    hidden_together: Sequence[Asked] = (),
) -> IntArray:
    """How many records each pseudonym keeps of those that it has.

    Parameters
    ----------
    records
        How many records of each pseudonym would be shown; 0 where none is.
    k
        The fewest persons of a group who show a number of records.
    steps
        The numbers that there may be; None where there may be any.
    models
        Those of how records are spread over persons still hold.
    hidden_together
        What is asked of values that are hidden together: k persons of a group have m records, or nobody has.
    """
    if steps is not None:
        records = step_below(records, steps)
    group = grouping.group_of_person[table.person_of_pseudonym].astype(np.int64)
    for asked in hidden_together:
        unit = group if asked.with_quasi else np.zeros_like(group)
        records = as_many_as_enough(table.person_of_pseudonym, unit, records, asked.k, asked.m)
    if k > 1:
        records = _of_enough(table.person_of_pseudonym, group, records, k)
    spread = [model for model in models if model.needs <= SPREAD]
    return _still_spread(table.person_of_pseudonym, grouping, records, spread)


def step_below(records: IntArray, steps: Sequence[int]) -> IntArray:
    """The largest step that is at most as large as each number; 0 where there is none."""
    known = np.append(0, np.asarray(steps, np.int64))
    return known[np.searchsorted(known, records, side="right") - 1]


def as_many_as_enough(person: IntArray, group: IntArray, records: IntArray, k: int, m: int) -> IntArray:
    """Fewer records for those of a group who have up to m of them together with fewer than k persons."""
    records = records.copy()
    n_groups = int(group.max(initial=-1)) + 1
    for number in range(m, 1, -1):
        has = records >= number
        _, one = np.unique(alike([group[has], person[has]]), return_index=True)
        too_few = np.bincount(group[has][one], minlength=n_groups) < k
        records[has & too_few[group]] = number - 1
    return records


def _of_enough(person: IntArray, group: IntArray, records: IntArray, k: int) -> IntArray:
    """Fewer records, so that each number is shown by k persons of the group.

    Where persons have several pseudonyms these are first taken for persons; where a number is then that of too few
    persons more of them are put together, in the end all of the group, which show what the least of them has.
    """
    kept = records.copy()
    asked = np.full(int(group.max(initial=-1)) + 1, k, np.int64)
    pseudonyms = np.bincount(group[records > 0], minlength=len(asked))
    open_groups = pseudonyms > 0
    while open_groups.any():
        for number in np.unique(asked[open_groups]):
            some = np.flatnonzero((open_groups & (asked == number))[group] & (records > 0))
            groups, own = np.unique(group[some], return_inverse=True)
            kept[some] = records_kept(own.astype(np.int32), len(groups), records[some], int(number))
        too_few = _fewest_persons(person, group, kept, len(asked)) < k
        open_groups &= too_few & (asked < pseudonyms)
        asked = np.where(open_groups, np.minimum(2 * asked, pseudonyms), asked)
    return kept


def _fewest_persons(person: IntArray, group: IntArray, records: IntArray, n_groups: int) -> IntArray:
    """In each group the fewest persons who have a pseudonym with any one number of records."""
    shown = records > 0
    one = np.unique(alike([group[shown], records[shown], person[shown]]), return_index=True)[1]
    _, first, persons = np.unique(
        alike([group[shown][one], records[shown][one]]), return_index=True, return_counts=True
    )
    fewest = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(fewest, group[shown][one][first], persons)
    return fewest


def _still_spread(person: IntArray, grouping: Grouping, records: IntArray, models: Sequence[Model]) -> IntArray:
    """Fewer records for those who have most in a group, as long as a model of how records are spread is broken there.

    Where others are sampled down, the share of those who have most grows. In the end every pseudonym of the group has
    as many, and then everybody as many pseudonyms, which is the evenest spread that there is.
    """
    n_groups, records = grouping.n_groups, records.copy()
    group = grouping.group_of_person[person].astype(np.int64)
    everybody = np.argsort(grouping.group_of_person, kind="stable").astype(np.int32)
    start = np.append(0, np.cumsum(np.bincount(grouping.group_of_person, minlength=n_groups)))
    while models:
        of_person = np.bincount(person, weights=records, minlength=len(everybody)).astype(np.int64)
        persons, n_records, squared, most, logs = counting.spread_of_person_parts(everybody, start, of_person)
        counts = GroupCounts(
            persons=persons, records=n_records, squared_records=squared, most_records=most, log_records=logs
        )
        broken = ~np.logical_and.reduce([model.holds(counts) for model in models])
        if not _lower(person, group, records, broken):
            break
    return records


def _lower(person: IntArray, group: IntArray, records: IntArray, broken: BoolArray) -> bool:
    """Give those who have most in broken groups the next number below, or one pseudonym less; whether anybody could."""
    n_groups = len(broken)
    most, below = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    np.maximum.at(most, group, records)
    is_most = (records == most[group]) & (records > 0)
    np.maximum.at(below, group[~is_most], records[~is_most])
    lowered = (broken & (below > 0))[group] & is_most
    if lowered.any():
        records[lowered] = below[group[lowered]]
        return True
    pseudonyms = np.bincount(person[records > 0], minlength=int(person.max(initial=0)) + 1)
    several = np.zeros(n_groups, np.int64)
    np.maximum.at(several, group, pseudonyms[person])
    could = (broken & (several > 1))[group] & (records > 0) & (pseudonyms[person] == several[group])
    last = np.full(len(pseudonyms), -1)
    last[person[could]] = np.flatnonzero(could)
    gone = last[last >= 0]
    records[gone] = 0
    return bool(len(gone))
