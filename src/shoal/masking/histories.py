"""What is shown of persons' own records, so that who knows some of them does not find the person by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels import coarsening, hiding, showing
from shoal.models.histories import BUDGET
from shoal.progress import Progress, silent
from shoal.table.columns import Codes

MOST_COMBINATIONS = BUDGET
"""So many combinations of items, summed over persons, are counted at most."""
MOST_WAYS = 64
"""In so many ways at most the columns of one record are lowered together; those that lose least come first."""
POWERS = (0.7, 1.5)
"""How much more a finer label counts than a coarser one where bundles are tried by what they show; where pairs are
counted in a table, the first alone, since bundles are forced there."""
PLANNING_ROUNDS = 8
SHARED_LOSS = 0.01
"""Where hidden values are shared, what is lost counts so much in plans, so that to hide one by itself costs most."""
DEEPEST_PLAN = 256
"""Plans are made where k times two more than the number of levels is no more than this."""
FIRST_ROOM = 1 << 14
"""For so many combinations there is room at first."""
MOST_LABELS = 4_096
"""Pairs of labels are counted in a table where no unit has more labels than this; otherwise in a tree."""
FEWEST_FORCED, MOST_FORCED = 4, 20
"""So many bundles of a unit are shown in the place of others, to see whether less is lost; fewer in large tables."""
FORCED_IN_ALL = 4_000_000
"""So many cells in all are looked at for it, as often as there are cells, but for the fewest."""
FORCED_CELLS = 1_000_000
"""The same in cells of their unit, so that large units take no longer in proportion."""
STAGE = "hiding"
KNOWS = {"values": hiding.VALUES, "records": hiding.RECORDS, "times": hiding.TIMES, "order": hiding.ORDER}


@dataclass(frozen=True)
class HistoryColumn:
    """A column of the records, and what each value shows at each level of its hierarchy.

    Parameters
    ----------
    value_of_record
        Codes from 0; missing is a code like any other.
    node_of_value
        The node that each value shows, one row per level; level 0 is the value itself. Nodes of different levels have
        different numbers; several values may show the same node.
    loss_of_level
        What showing it loses, from 0 (the value itself) to 1, in the same shape. Hidden loses 1.
    """

    value_of_record: Codes
    node_of_value: NDArray[np.int32]
    loss_of_level: NDArray[np.float64]

    @property
    def with_root(self) -> HistoryColumn:
        """The same with a level more, that shows the same of every value and loses all of it."""
        n_values, root = self.node_of_value.shape[1], self.node_of_value.max(initial=-1) + 1
        return HistoryColumn(
            self.value_of_record,
            np.append(self.node_of_value, np.full((1, n_values), root, np.int32), axis=0),
            np.append(self.loss_of_level, np.ones((1, n_values)), axis=0),
        )


@dataclass(frozen=True)
class Histories:
    """The records of persons in groups; `time_of_record` is the time that is published, as a number."""

    group_of_person: Codes
    n_groups: int
    person_of_record: Codes
    columns: tuple[HistoryColumn, ...]
    time_of_record: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Each combination of at most m items is shown by k persons or nobody, and foretells no other item beyond c."""

    k: int
    m: int
    c: Fraction | None = None
    columns: tuple[int, ...]
    knows: str = "values"
    by_group: bool = True
    shares_hidden: bool = False
    """Whether what is hidden is an item as well."""

    @property
    def deepest(self) -> int:
        """The most items that are counted together."""
        return self.m + (self.c is not None)


def levels_shown(
    histories: Histories, demands: Sequence[Demand], progress: Progress = silent, *, is_quick: bool = False
) -> list[NDArray[np.int8]]:
    """For each column the level at which each record shows its value; the number of levels stands for hidden.

    Parameters
    ----------
    is_quick
        Whether it may hide more than it must, where several values are known: nothing is shown in the place of others.

    Returns
    -------
    list
        One array per column. A column that no demand names shows every value as it is.

    Raises
    ------
    ParameterError
        There are more than `MOST_COMBINATIONS` combinations to count.

    Notes
    -----
    Every demand is met where a group has as many persons as it asks for; the persons of a smaller group show nothing
    of the columns of demands. Where what is hidden is an item, nobody of a group or so many persons must have as many
    records as are known together. Elsewhere neither any one record nor all records of a group that would show a label
    can show it instead of what they show now without breaking a demand; where k alone is asked and values have no
    levels, no set of records of a group can show a label that they do not show. The same persons show the same in
    whatever order records and persons stand. Time and memory are linear in the number of combinations.
    """
    demanded = sorted({column for demand in demands for column in demand.columns})
    levels = [np.zeros(len(histories.person_of_record), np.int8) for _ in histories.columns]
    if not demanded or not len(histories.person_of_record):
        return levels
    _refuse_too_many(histories, demands)
    ordered = _Ordered(histories, demands, demanded)
    if not _are_covered(ordered):
        ordered.show_hidden()
    shown = _show_pairs(ordered, progress, is_quick) if _are_pairs(ordered) else _show(ordered, progress)
    for at, column in enumerate(demanded):
        levels[column][ordered.record_at] = np.minimum(shown[at], len(histories.columns[column].node_of_value))
    return levels


def records_kept(
    group_of_person: Codes, n_groups: int, records_of_person: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """How many records each person keeps, so that in every group each number is that of at least k persons.

    Notes
    -----
    The fewest records are left out: sorted by their number, the persons of a group fall into blocks of k to 2k - 1
    who keep the least number of the block, by a dynamic programme. A group of fewer than k persons keeps nothing.
    """
    kept = np.zeros(len(records_of_person), np.int64)
    order = np.lexsort((records_of_person, group_of_person))
    start = np.append(0, np.cumsum(np.bincount(group_of_person, minlength=n_groups)))
    kept[order] = hiding.counts_in_steps(records_of_person[order].astype(np.int64), start, max(k, 1))
    return kept


def _refuse_too_many(histories: Histories, demands: Sequence[Demand]) -> None:
    """Refuse to count more combinations than there is time and room for."""
    records = np.bincount(histories.person_of_record, minlength=len(histories.group_of_person))
    n = 0.0
    for demand in demands:
        items = (records * len(demand.columns) if demand.knows == "values" else records).astype(np.float64)
        of_size = np.ones(len(items))
        for size in range(1, min(demand.deepest, int(items.max(initial=0))) + 1):
            of_size = of_size * np.maximum(items - size + 1, 0) / (1 if demand.knows == "order" else size)
            n += of_size.sum()
    if n > MOST_COMBINATIONS:
        m = max(demand.m for demand in demands)
        raise ParameterError(
            f"The histories have {n:,.0f} combinations of up to {m} items of the same person; at most "
            f"{MOST_COMBINATIONS:,} can be counted. Ask for a smaller m, or lower the number of records per person "
            "with max_records=."
        )


class _Ordered:
    """Records by person and persons by group, each in an order that only their content decides."""

    def __init__(self, histories: Histories, demands: Sequence[Demand], demanded: list[int]) -> None:
        self.columns = [histories.columns[column] for column in demanded]
        self.floor = np.array([len(column.node_of_value) for column in self.columns], np.int64)
        """The level of each column that shows as little as can be: its root, or the one behind the last."""
        self.demands = demands
        self.place_of_column = {column: at for at, column in enumerate(demanded)}
        self.n_groups = histories.n_groups
        person, n_persons = histories.person_of_record, len(histories.group_of_person)
        time = np.zeros(len(person), np.int32)
        if histories.time_of_record is not None:
            time = np.unique(histories.time_of_record, return_inverse=True)[1].astype(np.int32)
        values = [column.value_of_record for column in histories.columns]  # also those that only tell persons apart
        order = np.lexsort((time, *values, person))
        start = np.append(0, np.cumsum(np.bincount(person, minlength=n_persons)))
        value = np.array([codes[order] for codes in values], np.int32)
        prints = hiding.fingerprints(value, time[order], start)
        self.person_at = np.lexsort((prints, histories.group_of_person))
        place_of_person = np.empty(n_persons, np.int32)
        place_of_person[self.person_at] = np.arange(n_persons, dtype=np.int32)
        place = place_of_person[person[order]]
        by_person = np.argsort(place, kind="stable")
        self.record_at = order[by_person]
        self.person = place[by_person]
        self.value = np.ascontiguousarray(value[demanded][:, by_person])
        self.time = time[self.record_at]
        self.group = histories.group_of_person[self.person_at].astype(np.int32)
        self.start = np.append(0, np.cumsum(np.bincount(self.person, minlength=n_persons)))
        # groups are worked on one by one, unless a demand looks at all of them
        self.is_whole = not all(demand.by_group for demand in demands)
        persons = np.bincount(self.group, minlength=self.n_groups)
        self.unit_start = np.array([0, n_persons]) if self.is_whole else np.append(0, np.cumsum(persons))
        self.unit = np.zeros(n_persons, np.int64) if self.is_whole else self.group.astype(np.int64)

    @property
    def n_persons(self) -> int:
        """How many persons there are, also without records."""
        return len(self.group)

    @property
    def sharing(self) -> list[Demand]:
        """The demands to which what is hidden is an item."""
        return [demand for demand in self.demands if demand.shares_hidden and demand.m]

    def hides(self) -> NDArray[np.bool_]:
        """Of which columns what is hidden is an item."""
        shared = np.zeros(len(self.columns), np.bool_)
        for demand in self.sharing:
            shared[[self.place_of_column[column] for column in demand.columns]] = True
        return shared

    def show_hidden(self) -> None:
        """Show what is hidden as a label like any other, where it is an item: the root, at which all begin."""
        for at in np.flatnonzero(self.hides()):
            self.columns[at] = self.columns[at].with_root

    def has_root(self, at: int) -> bool:
        """Whether what is hidden of a column is a label."""
        return bool(self.floor[at] < len(self.columns[at].node_of_value))

    def demands_of(self, places: set[int]) -> Iterator[Demand]:
        """The demands that count single items of one of these columns."""
        for demand in self.demands:
            if demand.m and places & {self.place_of_column[column] for column in demand.columns}:
                yield demand

    def is_closed(self) -> NDArray[np.bool_]:
        """Which persons show nothing, since their group is too small for a demand."""
        persons = np.bincount(self.group, minlength=self.n_groups)
        closed = np.zeros(self.n_persons, np.bool_)
        for demand in self.demands:
            closed |= (persons[self.group] if demand.by_group else self.n_persons) < demand.k
        return closed


def _are_pairs(ordered: _Ordered) -> bool:
    """Whether k is all that is asked, of at most two values of a person, by group or of all at once."""
    demands = ordered.demands
    return (
        all(demand.c is None and demand.m <= 2 for demand in demands)
        and all(demand.knows == "values" or not demand.m for demand in demands)
        and len({demand.by_group for demand in demands}) == 1
        and _most_labels(ordered) <= MOST_LABELS
    )


def _are_covered(ordered: _Ordered) -> bool:
    """Whether hidden values are shared by persons who have as many as are known together."""
    return _are_pairs(ordered) and any(demand.m > 1 for demand in ordered.sharing)


def _most_labels(ordered: _Ordered) -> int:
    """No unit has more labels than this."""
    of_all = sum(int(column.node_of_value.max(initial=-1)) + 1 for column in ordered.columns)
    n_levels = sum(len(column.node_of_value) for column in ordered.columns)
    records = np.diff(ordered.start[ordered.unit_start])
    return min(of_all, n_levels * int(records.max(initial=0)))


def _show_pairs(ordered: _Ordered, progress: Progress, is_quick: bool) -> NDArray[np.int8]:
    """The same as `_show` where `_are_pairs`."""
    n_columns, n_records = ordered.value.shape
    hidden = max(len(column.node_of_value) for column in ordered.columns)
    # of columns with fewer levels, too, what has no root is hidden behind the last of all
    roots = [ordered.floor[at] if ordered.has_root(at) else hidden for at in range(n_columns)]
    floor = np.array(roots, np.int8)
    label, loss = _labels_of_cells(ordered, hidden)
    bundles, orders, bundle_start, cells = _cells_of_bundles(ordered)
    k_one, k_two = _least_persons(ordered)
    unit_start, n_cells = n_columns * ordered.start[ordered.unit_start], n_columns * n_records
    plans = _plans(ordered)
    is_shown = (plans < ordered.floor[:, None]) & ~ordered.is_closed()[ordered.person]
    plan = np.where(is_shown, plans, hidden).transpose(0, 2, 1)
    sizes = np.diff(unit_start)
    has_pairs = bool((k_two > 1).any())
    most = max(FEWEST_FORCED, min(MOST_FORCED, FORCED_IN_ALL // n_cells)) if has_pairs and not is_quick else 0
    forced = np.minimum(most, FORCED_CELLS // np.maximum(sizes, 1))
    is_closed = np.zeros(len(sizes), np.bool_)
    is_closed[ordered.unit] = ordered.is_closed()
    last = np.where(is_closed, bundle_start[:-1], bundle_start[1:])
    n_labels = _most_labels(ordered)
    best = np.full(n_cells, hidden, np.int8)
    step = max(1, len(sizes) // 50)
    most_known = max((demand.m for demand in ordered.sharing), default=0)
    covered = np.array([max((demand.k for demand in ordered.sharing), default=0), most_known])
    covered *= most_known > 1
    memory = (
        np.zeros(len(bundles.unit), np.int8), np.zeros(n_cells, np.int8),
        np.full(n_cells, hidden, np.int8), np.full(n_cells, hidden, np.int8), best,
        np.full(int(label.max(initial=0)) + 1, -1, np.int32), np.zeros(n_labels, np.int32),
        np.zeros(n_labels**2 if has_pairs else 1, np.int32), np.zeros(n_labels, np.int32),
        np.zeros(n_labels, np.int64), np.zeros(int(sizes.max()), np.int64), np.array([0, 0, hidden, has_pairs, 0]),
    )  # fmt: skip
    for first in range(0, len(sizes), step):
        progress(STAGE, first / len(sizes))
        showing.show_units(
            np.array([first, min(first + step, len(sizes))]), unit_start, np.stack([bundle_start[:-1], last]), orders,
            bundles.start, bundles.end, bundles.target.max(axis=1), cells, n_columns * ordered.start,
            np.repeat(ordered.person, n_columns), np.tile(np.arange(n_columns, dtype=np.int8), n_records), label, loss,
            floor, plan.reshape(len(plan), n_cells).astype(np.int8), k_one, k_two, forced,
            ordered.hides(), covered, *memory,
        )  # fmt: skip
    levels = best.reshape(n_records, n_columns).T
    return np.where(levels == hidden, _n_levels(ordered)[:, None], levels).astype(np.int8)


def _n_levels(ordered: _Ordered) -> NDArray[np.int8]:
    return np.array([len(column.node_of_value) for column in ordered.columns], np.int8)


def _labels_of_cells(ordered: _Ordered, n_levels: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """What each cell would show at each level, numbered over all columns, and what that loses; cells go by record.

    A column with fewer levels repeats its last one, which no bundle shows.
    """
    labels, losses, first_node = [], [], 0
    for at, column in enumerate(ordered.columns):
        last = len(column.node_of_value) - 1
        rows = np.minimum(np.arange(n_levels), last)
        labels.append(column.node_of_value[rows][:, ordered.value[at]].T + np.int32(first_node))
        losses.append(column.loss_of_level[rows][:, ordered.value[at]].T)
        first_node += int(column.node_of_value.max(initial=-1)) + 1
    label = np.stack(labels, axis=1).reshape(-1, n_levels).astype(np.int32)
    return np.ascontiguousarray(label), np.ascontiguousarray(np.stack(losses, axis=1).reshape(-1, n_levels))


def _cells_of_bundles(ordered: _Ordered) -> tuple[_Part, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The bundles, the orders in which they are tried, where those of each unit start there, and their cells."""
    parts, cells, n_cells = [], [], 0
    for stage, way in _ways(ordered):
        part, of_part = _bundles_of_way(ordered, stage, way, n_cells)
        parts.append(part)
        cells.append(of_part * len(ordered.columns) + next(iter(way)))
        n_cells += len(of_part)
    whole = _Part(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    orders = _orders(ordered, whole, POWERS[:1])
    starts = np.searchsorted(whole.unit[orders[0]], np.arange(len(ordered.unit_start)))
    return whole, np.array(orders), starts, np.concatenate(cells)


def _least_persons(ordered: _Ordered) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many persons must show a label of each column, and two labels of each two columns."""
    n_columns = len(ordered.columns)
    k_one, k_two = np.ones(n_columns, np.int64), np.ones((n_columns, n_columns), np.int64)
    for demand in ordered.demands:
        places = [ordered.place_of_column[column] for column in demand.columns]
        if demand.m >= 1:
            k_one[places] = np.maximum(k_one[places], demand.k)
        if demand.m >= 2:
            both = np.ix_(places, places)
            k_two[both] = np.maximum(k_two[both], demand.k)
    return k_one, k_two


def _show(ordered: _Ordered, progress: Progress) -> NDArray[np.int8]:
    """The level of each demanded column and record, in the order of `ordered`."""
    n_columns, n_records = ordered.value.shape
    asked, shares, has_column, persons_of_root = _demands(ordered)
    place, node, loss = _labels(ordered)
    bundles, bundle_start = _bundles(ordered)
    deepest = max(min(demand.deepest, n_records * n_columns) for demand in ordered.demands) + 2
    level = np.empty((4, n_columns, n_records), np.int8)
    arrays = (
        asked,
        shares,
        has_column,
        np.array([column.node_of_value.shape[1] for column in ordered.columns], np.int64),
        ordered.floor,
        place,
        node,
        loss,
        ordered.person,
        ordered.start.astype(np.int64),
        ordered.group,
        level,
        np.full((2, len(ordered.demands), n_records * n_columns), -1, np.int32),
        np.zeros((2, len(ordered.demands), ordered.n_persons), np.int32),
        ordered.time if any(demand.knows == "order" for demand in ordered.demands) else None,
        np.zeros((4, deepest), np.int64),
        np.zeros(n_records, np.int64),
        *bundles,
        ordered.unit_start.astype(np.int64),
        bundle_start,
        persons_of_root,
        ordered.is_whole,
    )
    room = FIRST_ROOM
    while room < len(persons_of_root) + 1:
        room *= 4
    tree = _tree(room)
    n_units = len(ordered.unit_start) - 1
    unit, step = 0, max(1, n_units // 50)
    while unit < n_units:
        progress(STAGE, unit / n_units)
        last = min(unit + step, n_units)
        unit = hiding.show_bundles(*tree, *arrays, unit, last)
        if unit < last:
            room *= 4
            tree = _tree(room)
    return level[hiding.BEST]


def _tree(room: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Room for so many combinations: the hash table, the nodes, and how many there are."""
    table = np.zeros((2 * room, 2), np.int64)
    table[:, 1] = -1
    return table, np.zeros((room, 3), np.int64), np.zeros(3, np.int64)


def _labels(ordered: _Ordered) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Where the labels of each record's values start, the node of each label, and what it loses; hidden comes last."""
    places, nodes, losses = [], [], []
    n_labels, first_node = 0, 0
    for column, value in zip(ordered.columns, ordered.value, strict=True):
        n_values = column.node_of_value.shape[1]
        places.append(value + np.int32(n_labels))
        nodes += [column.node_of_value.ravel() + first_node, np.full(n_values, -1)]
        losses += [column.loss_of_level.ravel(), np.ones(n_values)]
        n_labels += column.node_of_value.size + n_values
        first_node += int(column.node_of_value.max(initial=-1)) + 1
    return (
        np.array([*places, ordered.time], np.int32),
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(losses).astype(np.float64),
    )


def _demands(
    ordered: _Ordered,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.bool_], NDArray[np.int64]]:
    """What is asked, what shares are asked, of which columns, and how many persons each root of the tree has."""
    n_demands, most_items = len(ordered.demands), ordered.value.size
    asked = np.zeros((n_demands + 1, 7), np.int64)
    shares = np.zeros((n_demands, 2), np.int64)
    has_column = np.zeros((n_demands, len(ordered.columns)), np.bool_)
    persons_of_root = [0]  # node 0 is where no combination is
    for at, demand in enumerate(ordered.demands):
        m = min(demand.m, most_items)
        by_group = ordered.is_whole and demand.by_group
        asked[at, :6] = demand.k, m, m + (demand.c is not None), KNOWS[demand.knows], by_group, len(persons_of_root)
        asked[at, hiding.SHARES_HIDDEN] = demand.shares_hidden and m > 0
        if demand.c is not None:
            shares[at] = demand.c.numerator, demand.c.denominator
        has_column[at, [ordered.place_of_column[column] for column in demand.columns]] = True
        if by_group:
            persons_of_root += np.bincount(ordered.group, minlength=ordered.n_groups).tolist()
        else:
            persons_of_root.append(ordered.n_persons)
    asked[n_demands, hiding.ROOT] = len(persons_of_root)
    return asked, shares if shares.any() else None, has_column, np.array([*persons_of_root, 0], np.int64)


class _Part(NamedTuple):
    """The bundles of one way to show columns: one entry each, and the records of all of them."""

    unit: NDArray[np.int64]
    stage: NDArray[np.int64]
    persons: NDArray[np.int64]
    label: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    loss: NDArray[np.float64]
    target: NDArray[np.int8]


class _Bundles(NamedTuple):
    """Records that would show the same label, as the kernel takes them."""

    record: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    target: NDArray[np.int8]  # (bundles, columns): the levels that they would show; -1 as it is
    order: NDArray[np.int64]
    plan: NDArray[np.int8]  # (plans, columns, records)


def _bundles(ordered: _Ordered) -> tuple[_Bundles, NDArray[np.int64]]:
    """The bundles of all units in the orders in which they are tried, and where those of each unit start."""
    parts, records, n_records = [], [], 0
    for stage, way in _ways(ordered):
        part, of_part = _bundles_of_way(ordered, stage, way, n_records)
        parts.append(part)
        records.append(of_part)
        n_records += len(of_part)
    whole = _Part(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    orders = _orders(ordered, whole, POWERS)
    record = np.concatenate(records)
    is_open = ~ordered.is_closed()[ordered.person[record]]
    behind = np.append(0, np.cumsum(is_open))
    bundles = _Bundles(
        record=record[is_open],
        start=behind[whole.start],
        end=behind[whole.end],
        target=whole.target,
        order=np.array(orders),
        plan=_plans(ordered),
    )
    return bundles, np.searchsorted(whole.unit[orders[0]], np.arange(len(ordered.unit_start)))


def _orders(ordered: _Ordered, bundles: _Part, powers: Sequence[float]) -> list[NDArray[np.int64]]:
    """The orders in which bundles are tried; that which loses least counts, unit by unit.

    Where single items are all that is known, finer labels come first and commoner ones before rarer ones. Otherwise
    those come first that show most, by how many records and by how much of each: what is shown early stands in the
    way of what else its persons could show.
    """
    if all(demand.m <= 1 for demand in ordered.demands):
        return [np.lexsort((bundles.label, -bundles.persons, bundles.stage, bundles.unit))]
    n_records = bundles.end - bundles.start
    return [
        np.lexsort((bundles.label, bundles.stage, -n_records * (1.0 - bundles.loss) ** power, bundles.unit))
        for power in powers
    ]


def _plans(ordered: _Ordered) -> NDArray[np.int8]:
    """Levels to begin with, column by column, where single values and k are all that matters; otherwise none."""
    demands = [demand for demand in ordered.demands if demand.deepest]
    deepest = max(
        (demand.k * (len(column.node_of_value) + 2) for column in ordered.columns for demand in demands), default=0
    )
    if (
        any(demand.m > 1 or demand.c is not None for demand in demands)
        or any(demand.knows != "values" and (demand.knows == "times" or len(demand.columns) > 1) for demand in demands)
        or len({demand.by_group for demand in demands}) != 1
        or deepest > DEEPEST_PLAN
    ):
        return np.zeros((0, *ordered.value.shape), np.int8)
    return np.array([[_plan(ordered, at) for at in range(len(ordered.columns))]], np.int8)


def _plan(ordered: _Ordered, at: int) -> NDArray[np.int8]:
    """The planned level of each record in one column."""
    column = ordered.columns[at]
    n_values = column.node_of_value.shape[1]
    key = ordered.person.astype(np.int64) * n_values + ordered.value[at]
    cells, cell_of_record, weight = np.unique(key, return_inverse=True, return_counts=True)
    person, value = (cells // n_values).astype(np.int64), cells % n_values
    path, unit = column.node_of_value[:, value], ordered.unit[person]
    order = np.lexsort((person, *path, unit))
    k = max((demand.k for demand in ordered.demands_of({at})), default=1)
    unit_start = np.searchsorted(unit[order], np.arange(len(ordered.unit_start)))
    level = np.empty(len(cells), np.int8)
    level[order] = coarsening.planned_levels(
        path[:, order],
        SHARED_LOSS ** ordered.has_root(at) * column.loss_of_level[:, value[order]],
        person[order],
        weight[order],
        unit_start,
        ordered.n_persons,
        k,
        PLANNING_ROUNDS,
    )
    return level[cell_of_record]


def _ways(ordered: _Ordered) -> Iterator[tuple[int, dict[int, int]]]:
    """The ways to show columns, a level for each column, and how early each is tried.

    Where a demand looks at whole records their columns are first shown together, then each column by itself.
    """
    together = {tuple(sorted(demand.columns)) for demand in ordered.demands if demand.knows != "values"}
    stage = 0
    for named in sorted(together):
        columns = [ordered.place_of_column[column] for column in named]
        if len(columns) > 1:
            levels = product(*(range(ordered.floor[column] + 1) for column in columns))
            ways = sorted(levels, key=lambda way: (_loss_of_way(ordered, columns, way), way))
            for way in ways[:-1][:MOST_WAYS]:
                yield stage, dict(zip(columns, way, strict=True))
                stage += 1
    for at in range(len(ordered.columns)):
        for level in range(ordered.floor[at]):
            yield stage + level, {at: level}


def _loss_of_way(ordered: _Ordered, columns: list[int], way: tuple[int, ...]) -> float:
    """What a record loses on average when its columns are shown at given levels; more than all where all is hidden."""
    if all(level == ordered.floor[column] for column, level in zip(columns, way, strict=True)):
        return 2.0
    return float(_loss_of_records(ordered, dict(zip(columns, way, strict=True))).mean())


def _loss_of_records(ordered: _Ordered, way: dict[int, int]) -> NDArray[np.float64]:
    """What each record loses on average over the columns of a way."""
    loss = np.zeros(len(ordered.person))
    for column, level in way.items():
        losses = ordered.columns[column].loss_of_level
        loss += losses[level][ordered.value[column]] if level < len(losses) else 1.0
    return loss / len(way)


def _bundles_of_way(ordered: _Ordered, stage: int, way: dict[int, int], first: int) -> tuple[_Part, NDArray[np.int64]]:
    """The bundles of records that would show the same labels, without those of fewer persons than a demand asks for."""
    key = ordered.unit[ordered.person]
    for at, level in way.items():
        column = ordered.columns[at]
        if level < len(column.node_of_value):
            key = key * (int(column.node_of_value.max()) + 1) + column.node_of_value[level][ordered.value[at]]
            key = np.unique(key, return_inverse=True)[1].astype(np.int64) if len(way) > 1 else key
    records = np.argsort(key, kind="stable")
    sorted_key, person = key[records], ordered.person[records]
    is_first = np.append(True, sorted_key[1:] != sorted_key[:-1])
    start = np.flatnonzero(is_first)
    is_new_person = is_first | np.append(True, person[1:] != person[:-1])
    persons = np.add.reduceat(is_new_person.astype(np.int64), start)
    sizes = np.diff(np.append(start, len(records)))
    shown = {at for at, level in way.items() if level < len(ordered.columns[at].node_of_value)}
    least = max((demand.k for demand in ordered.demands_of(shown)), default=1)
    target = np.full(len(ordered.columns), -1, np.int8)
    target[list(way)] = list(way.values())
    enough = persons >= least
    n = int(enough.sum())
    part = _Part(
        unit=ordered.unit[person[start]][enough],
        stage=np.full(n, stage),
        persons=persons[enough],
        label=sorted_key[start][enough],
        start=(start + first)[enough],
        end=(start + sizes + first)[enough],
        loss=(np.add.reduceat(_loss_of_records(ordered, way)[records], start) / sizes)[enough],
        target=np.repeat(target[None, :], n, axis=0),
    )
    return part, records
