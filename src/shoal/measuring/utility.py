"""What a release costs: how far masked quasi-identifiers are from the original ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.grouping import Grouping
from shoal.kernels import distances
from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Mask, Published
from shoal.masking.ranges import Range
from shoal.measuring.loss import ColumnLoss, LossSums, losses_of_grouping, losses_of_release
from shoal.table.columns import CategoryColumn, NumberColumn, has_hierarchy
from shoal.table.levels import levels_of
from shoal.table.table import QuasiColumn, Table


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What a release loses, and what its grouping does.

    Attributes
    ----------
    loss
        What is lost in the published cells, on average over columns: 0 where every cell shows the record's own value, 1
        where nothing is shown. Of records that were left out nothing is.
    loss_of_column
        The same for each quasi-identifier, and for sensitive attributes that are published apart from them.
    columns
        More of each column: what is hidden, how wide what is shown is, and how far the best guess from it is off.
    ane
        The papers' measure, of the grouping whatever the mask shows of it.
        Average normalized error (Kartal and Li, 2020, section 7): the mean over quasi-identifiers and persons of the
        mean over their records of the distance to the group's mean, values scaled to [0, 1]; of a nominal
        quasi-identifier the share of the group's records that differ.
    ane_of_column
        The same for each quasi-identifier.
    discernability
        The sum of squared group sizes over the number of records (records that each record cannot be told from).
    average_group_size
        Records per group.
    granularity
        1 less the mean over records and quasi-identifiers of the share of the domain that the group's range or set
        covers (1: every value exact; 0: everything hidden). Of records that were left out all is hidden. Of a column
        with a hierarchy what counts is the lowest node above the group's values, which covers (c - 1) / (n - 1) for c
        of the n values that the hierarchy lists, as ARX reports it.
    within_variance
        The share of the total sum of squares that lies inside groups (SSE / SST), over all quasi-identifiers.
    """

    loss: float
    loss_of_column: dict[str, float]
    columns: dict[str, ColumnLoss]
    ane: float
    ane_of_column: dict[str, float]
    discernability: float
    average_group_size: float
    granularity: float
    within_variance: float


def measure_utility(
    table: Table, grouping: Grouping, mask: Mask | None = None, published: Published | None = None
) -> Utility:
    """What a grouping of a table loses, and what is lost in the cells that are published or that a mask would show.

    O(records x quasi-identifiers). Unless told the mask is range.
    """
    mask = mask or Range()
    lost = losses_of_grouping(table, grouping, mask) if published is None else losses_of_release(table, published, mask)
    kinds = {name: column.kind for name, column in table.quasi.items()}
    return _utility_of(table, grouping, means_of_losses(lost, kinds, left_out=table.left_out), mask)


def _with_exact_quasi(utility: Utility) -> Utility:
    """The same where quasi-identifiers are published as they are, so that nothing of them is lost."""
    nothing = dict.fromkeys(utility.ane_of_column, 0.0)
    return replace(utility, ane=0.0, ane_of_column=nothing, granularity=1.0, within_variance=0.0)


def _without_groups(utility: Utility) -> Utility:
    """The same where nobody is grouped: what is lost is what cells lose, and each record is told from all others."""
    lost = {name: utility.loss_of_column[name] for name in utility.ane_of_column}
    mean = float(np.mean(list(lost.values())))
    return replace(
        utility, ane=mean, ane_of_column=lost, granularity=1.0 - mean, within_variance=0.0, discernability=1.0,
        average_group_size=1.0,
    )  # fmt: skip


def means_of_losses(
    sums: Mapping[str, LossSums], kinds: Mapping[str, str], *, left_out: int = 0
) -> dict[str, ColumnLoss]:
    """What is lost of each column on average over records, by the kinds of quasi-identifiers."""
    return {name: part.of_column(kinds.get(name), left_out=left_out) for name, part in sums.items()}


def _utility_of(table: Table, grouping: Grouping, lost: dict[str, ColumnLoss], mask: Mask) -> Utility:
    records = GroupedRecords.of(table, grouping)
    weight_of_person = 1.0 / (table.records_of_person.astype(np.float64) * table.n_persons)
    weight_of_record = weight_of_person[table.person_of_record]
    errors, covered, inside, total = {}, [], 0.0, 0.0
    for name, column in table.quasi.items():
        loss = _loss(column, records, weight_of_record)
        errors[name] = loss.error
        covered.append(_covered(column, records, loss))
        inside += loss.inside
        total += loss.total
    utility = utility_of_losses(errors, covered, inside, total, records, lost)
    published = table.n_records / (table.n_records + table.left_out)
    utility = replace(utility, granularity=utility.granularity * published)
    if not mask.takes_groups:
        return _without_groups(utility)
    return _with_exact_quasi(utility) if mask.shows_identities else utility


def utility_of_losses(
    errors: dict[str, float],
    covered: Sequence[float],
    inside: float,
    total: float,
    records: GroupedRecords,
    lost: dict[str, ColumnLoss],
) -> Utility:
    """The utility from what quasi-identifiers lose: their errors, what is covered, and squares inside and in all."""
    sizes = records.n_records
    n_records = int(sizes.sum())
    return Utility(
        **_cells(lost),
        ane=float(np.mean(list(errors.values()))),
        ane_of_column=errors,
        discernability=float((sizes.astype(np.float64) ** 2).sum() / n_records),
        average_group_size=float(n_records / records.n_groups),
        granularity=1.0 - float(np.mean(covered)),
        within_variance=inside / total if total else 0.0,
    )


def with_columns(utility: Utility, more: Mapping[str, ColumnLoss]) -> Utility:
    """The same with what is lost of further columns, such as histories of which parts are hidden."""
    return replace(utility, **_cells({**utility.columns, **more}))


def _cells(lost: dict[str, ColumnLoss]) -> dict[str, Any]:
    """What is lost in published cells, in one number and column by column."""
    of_column = {name: part.loss for name, part in lost.items()}
    return {"loss": float(np.mean(list(of_column.values()))), "loss_of_column": of_column, "columns": lost}


@dataclass(frozen=True)
class PartOfLoss:
    """What a part of a table loses, as sums that can be added up over parts that are grouped by themselves."""

    records: int
    persons: int
    groups: int
    squared_sizes: float
    """The sum of squared group sizes, in records."""
    errors: dict[str, float]
    """For each quasi-identifier, the sum over persons of the mean distance of their records."""
    covered: dict[str, float]
    """The sum over records of the share of the domain that their group covers."""
    inside: dict[str, float]
    """The sum of squares inside groups."""
    moments: dict[str, tuple[float, float]]
    """For numbers, the sums of values and of their squares, scaled to [0, 1]."""
    categories: dict[str, tuple[int, ...]]
    """For nominal quasi-identifiers, the records of each category of the whole table."""
    cells: dict[str, tuple[float, ...]]
    """What is lost in published cells, as sums (`LossSums`)."""
    kinds: dict[str, str]
    """The kind of each quasi-identifier."""


def loss_of_part(table: Table, grouping: Grouping, published: Published, mask: Mask) -> PartOfLoss:
    """What is lost of a part of a larger table, whose extents and categories the columns know."""
    records = GroupedRecords.of(table, grouping)
    weight_of_record = (1.0 / table.records_of_person.astype(np.float64))[table.person_of_record]
    errors, covered, inside, moments, categories = {}, {}, {}, {}, {}
    for name, column in table.quasi.items():
        loss = _loss(column, records, weight_of_record)
        errors[name], inside[name] = loss.error, loss.inside
        covered[name] = _covered(column, records, loss) * table.n_records
        if isinstance(column, CategoryColumn):
            categories[name] = tuple(np.bincount(column.codes, minlength=column.n_codes).tolist())
        else:
            low, high = column.extent
            scaled = (column.units_with_missing() - low) / float(max(high - low, 1))
            moments[name] = float(scaled.sum()), float((scaled**2).sum())
    sizes = records.n_records.astype(np.float64)
    return PartOfLoss(
        records=table.n_records, persons=table.n_persons, groups=grouping.n_groups,
        squared_sizes=float((sizes**2).sum()), errors=errors, covered=covered, inside=inside, moments=moments,
        categories=categories, cells=dict(losses_of_release(table, published, mask)),
        kinds={name: column.kind for name, column in table.quasi.items()},
    )  # fmt: skip


def utility_of_parts(parts: Sequence[PartOfLoss], *, exact_quasi: bool = False) -> Utility:
    """What all parts of a table lose together: the same as of the whole table, but for rounding."""
    n_records, n_persons = sum(part.records for part in parts), sum(part.persons for part in parts)
    names = list(parts[0].errors)
    errors = {name: sum(part.errors[name] for part in parts) / n_persons for name in names}
    covered = [sum(part.covered[name] for part in parts) / n_records for name in names]
    total = 0.0
    for name in names:
        if name in parts[0].categories:
            counts = np.sum([part.categories[name] for part in parts], axis=0).astype(np.float64)
            total += 0.5 * float(n_records - (counts**2).sum() / n_records)
        else:
            sums, squares = np.sum([part.moments[name] for part in parts], axis=0)
            total += float(squares - sums**2 / n_records)
    inside = sum(part.inside[name] for part in parts for name in names)
    sums = {name: LossSums(*np.sum([part.cells[name] for part in parts], axis=0).tolist()) for name in parts[0].cells}
    utility = Utility(
        **_cells(means_of_losses(sums, parts[0].kinds)),
        ane=float(np.mean(list(errors.values()))),
        ane_of_column=errors,
        discernability=sum(part.squared_sizes for part in parts) / n_records,
        average_group_size=n_records / sum(part.groups for part in parts),
        granularity=1.0 - float(np.mean(covered)),
        within_variance=inside / total if total else 0.0,
    )
    return _with_exact_quasi(utility) if exact_quasi else utility


@dataclass(frozen=True)
class _Loss:
    error: float
    covered: float
    inside: float
    total: float


def _loss(column: QuasiColumn, records: GroupedRecords, weight_of_record: NDArray[np.float64]) -> _Loss:
    if isinstance(column, CategoryColumn):
        return _nominal_loss(column, records, weight_of_record)
    return _number_loss(column, records, weight_of_record)


def _covered(column: QuasiColumn, records: GroupedRecords, loss: _Loss) -> float:
    """The mean over records of the share of the domain that is shown of their group."""
    if has_hierarchy(column):
        return covered_by_nodes(column, records)
    return 1.0 if records.level_of(column) else loss.covered


def _number_loss(column: NumberColumn, records: GroupedRecords, weight_of_record: NDArray[np.float64]) -> _Loss:
    units = column.units_with_missing()
    low, high = column.extent
    span = float(max(high - low, 1))
    error, inside, total = distances.errors_of_persons(
        units, records.group_of_record, records.n_groups, weight_of_record, span
    )
    return _Loss(error, covered_by_ranges(column, records), inside, total)


def covered_by_ranges(column: NumberColumn, records: GroupedRecords) -> float:
    """The mean over records of the share of a number's extent that the range of their group covers."""
    low, high = column.extent
    lowest, highest, n_missing = records.extremes(column)
    width = (highest - lowest) / float(max(high - low, 1))
    width[(n_missing > 0) & (n_missing < records.n_records)] = 1.0
    return float((width * records.n_records).sum() / int(records.n_records.sum()))


def _nominal_loss(column: CategoryColumn, records: GroupedRecords, weight_of_record: NDArray[np.float64]) -> _Loss:
    start, codes, differs = differing_categories(column, records)
    error = distances.differences_of_persons(
        column.codes, records.group_of_record, start, codes, differs, weight_of_record
    )
    in_table = np.bincount(column.codes, minlength=column.n_codes)
    return _Loss(error, covered_by_sets(column, records), *squares_of_categories(column, records, in_table))


def differing_categories(
    column: CategoryColumn, records: GroupedRecords
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The categories of each group, and the share of its records that have another: starts, codes, shares."""
    start, codes, counts = records.categories(column)
    return start, codes, 1.0 - counts / records.n_records[np.repeat(np.arange(records.n_groups), np.diff(start))]


def squares_of_categories(
    column: CategoryColumn, records: GroupedRecords, records_of_code: NDArray[np.int64]
) -> tuple[float, float]:
    """The sums of squares of a nominal column inside groups and in all."""
    start, _, counts = records.categories(column)
    group = np.repeat(np.arange(records.n_groups), np.diff(start))
    squared = np.bincount(group, weights=counts.astype(np.float64) ** 2, minlength=records.n_groups)
    n_records = int(records_of_code.sum())
    inside = 0.5 * float((records.n_records - squared / records.n_records).sum())
    return inside, 0.5 * float(n_records - (records_of_code.astype(np.float64) ** 2).sum() / n_records)


def covered_by_nodes(column: QuasiColumn, records: GroupedRecords) -> float:
    """The mean over records of the share of the values that the node above their group covers."""
    levels = levels_of(column)
    if isinstance(column, CategoryColumn):
        start, codes, _ = records.categories(column)
        group = np.repeat(np.arange(records.n_groups, dtype=np.int32), np.diff(start))
        levels, group_of_record = replace(levels, code_of_record=codes.astype(np.int32)), group
    else:
        group_of_record = records.group_of_record
    share = levels.share_of_groups(group_of_record, records.n_groups, lowest=records.level_of(column))
    return float((share * records.n_records).sum() / int(records.n_records.sum()))


def covered_by_sets(column: CategoryColumn, records: GroupedRecords) -> float:
    """The mean over records of the share of the categories that the set of their group covers."""
    start, _, _ = records.categories(column)
    width = (np.diff(start) - 1) / max(column.n_codes - 1, 1)
    return float((width * records.n_records).sum() / int(records.n_records.sum()))
