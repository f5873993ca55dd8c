"""What a policy may give up so that a table can be protected: a few persons, or records of persons who have many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.grouping.feasibility import counts_of_whole
from shoal.judging.observation import Observation
from shoal.models.contract import Model
from shoal.models.counts import BACKGROUND, JOINT, RELATED, SPREAD, GroupCounts
from shoal.models.related import RowsView
from shoal.policy.numbers import fault_of_suppressed
from shoal.table.table import Table

TOGETHER = JOINT | BACKGROUND
"""Counts whose models are not helped by fewer persons who have the commonest value."""


def within_budget(
    table: Table,
    models: Sequence[Model],
    *,
    max_suppressed: int | str,
    max_records: int | None,
    rng: np.random.Generator,
) -> Table:
    """Leave out as little as the budget allows and the models ask for, and note it; say how many more may be left out.

    Where the whole table meets every model nothing is left out. Else the persons with most records are sampled down to
    `max_records` records, as few persons as make the models of records hold; then up to `max_suppressed` persons are
    left out, those with most records first, and for models of sensitive values those who have the commonest value.
    """
    max_suppressed = persons_of(max_suppressed, table.n_persons)
    _check(max_records)
    if (max_suppressed == 0 and max_records is None) or _holds(table, models):
        return replace(table, may_leave_out=max_suppressed) if max_suppressed else table
    if max_records is not None:
        table = _sample_heavy(table, models, max_records, rng)
    for _ in range(max_suppressed + 1):
        left = max_suppressed - table.suppressed_persons
        if _holds(table, models) or left <= 0:
            break
        smaller = _suppress(table, models, left)
        if smaller is table:
            break
        table = smaller
    return replace(table, may_leave_out=max(max_suppressed - table.suppressed_persons, 0))


def persons_of(max_suppressed: int | str, n_persons: int) -> int:
    """How many persons may be left out: the number, or the share of all in whole persons."""
    fault = fault_of_suppressed(max_suppressed)
    if fault is not None:
        raise ParameterError(f"max_suppressed {fault}")
    if isinstance(max_suppressed, int):
        return max_suppressed
    return int(Fraction(max_suppressed.strip().removesuffix("%").strip()) / 100 * n_persons)


def _check(max_records: int | None) -> None:
    if max_records is None:
        return
    if isinstance(max_records, bool) or not isinstance(max_records, int) or max_records < 1:
        raise ParameterError("max_records must be a whole number of records per person, 1 or more.")


def _holds(table: Table, models: Sequence[Model]) -> bool:
    counts = counts_of_whole(table, models)
    return all(bool(model.holds(counts).all()) for model in models)


def _spread_after(records: NDArray[np.int64], kept: NDArray[np.int64]) -> GroupCounts:
    """Counts of the whole table after the first 0, 1, 2, ... persons keep only `kept` of their records.

    `records` is in falling order; kept = 0 leaves the person out.
    """
    before, after = records[: len(kept)], kept
    logs = _times_log2(records)

    persons = len(records) - np.concatenate([[0], np.cumsum(after == 0)])
    most_left = np.append(records, 0)[: len(kept) + 1]
    return GroupCounts(
        persons=persons.astype(np.int64),
        records=records.sum() + _changes(before, after),
        squared_records=(records**2).sum() + _changes(before**2, after**2),
        most_records=np.maximum(most_left, np.concatenate([[0], np.maximum.accumulate(after)])),
        log_records=logs.sum() + _changes(logs[: len(kept)], _times_log2(after)),
    )


def _changes(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """The change of a sum after 0, 1, 2, ... of its terms have changed."""
    return np.concatenate([[0], np.cumsum(after - before)])


def _times_log2(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    logs: NDArray[np.float64] = np.log2(np.maximum(counts, 1))
    return counts * logs


def _fewest(models: Sequence[Model], after: GroupCounts) -> int | None:
    """The fewest persons that must change for the models of records and persons to hold, or None."""
    holds = np.ones(len(after), np.bool_) & (after.persons > 1)
    for model in models:
        if model.needs <= SPREAD:
            holds &= model.holds(after)
    holds |= after.persons == 0  # one of several tables may be left without rows
    return int(holds.argmax()) if holds.any() else None


def _sample_heavy(table: Table, models: Sequence[Model], max_records: int, rng: np.random.Generator) -> Table:
    sampled = _to_sample(table, models, max_records)
    for view in _views(table):
        sampled = np.union1d(sampled, view.persons[_to_sample(view.rows.table, view.rows.models, max_records)])
    if not len(sampled):
        return table
    keep = np.ones(table.n_records, np.bool_)
    is_sampled = np.zeros(table.n_persons, np.bool_)
    is_sampled[sampled] = True
    theirs = np.flatnonzero(is_sampled[table.person_of_record])
    lot = rng.permutation(len(theirs))
    order = theirs[np.lexsort((lot, table.person_of_record[theirs]))]
    start = np.concatenate([[0], np.cumsum(np.bincount(table.person_of_record[theirs], minlength=table.n_persons))])
    rank = np.arange(len(order)) - start[table.person_of_record[order]]
    keep[order[rank >= max_records]] = False
    note = (
        f"{len(sampled):,} of {table.n_persons:,} persons were sampled down to {max_records:,} records each: "
        f"{int((~keep).sum()):,} of {table.n_records:,} records were left out."
    )
    return table.with_records(keep, note)


def _to_sample(table: Table, models: Sequence[Model], max_records: int) -> NDArray[np.int64]:
    """The fewest persons with more records than so many who must be sampled for the models of records to hold."""
    records = table.records_of_person
    heavy = np.argsort(-records, kind="stable")
    heavy = heavy[records[heavy] > max_records]
    falling = np.sort(records)[::-1]
    fewest = _fewest(models, _spread_after(falling, np.full(len(heavy), max_records, np.int64)))
    return heavy if fewest is None else heavy[:fewest]


def _views(table: Table) -> tuple[RowsView, ...]:
    """The rows of each of several tables, where they leave together."""
    return () if table.related is None else table.related.views


def _suppress(table: Table, models: Sequence[Model], at_most: int) -> Table:
    """Leave out the fewest persons that make the models of records hold, or else one who has the commonest value.

    Where several tables leave together, that is asked about each of them where all joined keep to the models.
    """
    at_most = min(at_most, table.n_persons - 2)  # one person alone has nobody to hide among
    if at_most <= 0:
        return table
    out = _to_leave_out(table, [model for model in models if not model.needs & RELATED], at_most)
    for view in _views(table):
        if not len(out):
            out = view.persons[_to_leave_out(view.rows.table, view.rows.models, at_most)]
    if not len(out):
        return table
    leave = np.zeros(table.n_persons, np.bool_)
    leave[out] = True
    return table.without_persons(leave)


def _to_leave_out(table: Table, models: Sequence[Model], at_most: int) -> NDArray[np.int64]:
    """Whom to leave out for the models to hold, at most so many at a time; nobody where they hold."""
    records = table.records_of_person
    heavy = np.argsort(-records, kind="stable")
    fewest = _fewest(models, _spread_after(records[heavy], np.zeros(min(at_most, len(heavy)), np.int64)))
    if fewest is None:
        return heavy[:at_most]
    if fewest:
        return heavy[:fewest]
    if len(excluded := _excluded_by_rules(table, models)):
        return excluded[:at_most]
    return _with_commonest_value(table, models, heavy, at_most)


def _excluded_by_rules(table: Table, models: Sequence[Model]) -> NDArray[np.int64]:
    """The persons for whom rules that an adversary knows leave too few values, in the order of their numbers."""
    asked = [model for model in models if model.needs & BACKGROUND]
    if not asked:
        return np.zeros(0, np.int64)
    counts = Observation.of_whole(table).counts(BACKGROUND)
    below = [model.members_below(counts) for model in asked]
    # in one group, members come in the order of the persons
    return np.flatnonzero(np.any([own for own in below if own is not None], axis=0))


def _with_commonest_value(
    table: Table, models: Sequence[Model], heavy: NDArray[np.int64], at_most: int
) -> NDArray[np.int64]:
    """Of the persons who have the commonest value of a sensitive attribute, one in a thousand of all, or one."""
    counts = counts_of_whole(table, models)
    # with fewer persons it takes fewer values of all attributes together to delete everybody: that helps no such model
    broken = [model for model in models if not model.needs & TOGETHER and not model.holds(counts).all()]
    if not broken:
        return heavy[:0]
    named = {model.column for model in broken}
    columns = [column for name, column in table.sensitive.items() if None in named or name in named]
    if not columns:
        return heavy[:0]
    worst, share = columns[0], -1
    for column in columns:
        commonest = int(counts.values[column.name].most_persons[0])
        if commonest > share:
            worst, share = column, commonest
    persons_of_value = np.bincount(
        np.unique(np.stack([worst.codes.astype(np.int64), table.person_of_record.astype(np.int64)]), axis=1)[0],
        minlength=worst.n_codes,
    )
    if worst.code_left_out is not None:
        persons_of_value[worst.code_left_out] = 0
    value = int(persons_of_value.argmax())
    has_it = np.zeros(table.n_persons, np.bool_)
    has_it[table.person_of_record[worst.codes == value]] = True
    among = heavy[has_it[heavy]]
    return among[: max(1, min(at_most, len(among) // 1000))]
