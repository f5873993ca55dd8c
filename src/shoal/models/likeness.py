"""How the values of groups compare with those of the whole table, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.models.counts import ValueCounts
from shoal.models.exact import FloatArray, IntArray, widen


@dataclass(frozen=True)
class Likeness:
    """Each value's share p of its group beside its share q of the whole table.

    Where n of the group's m and N of the table's M have a value, `observed` is n M and `expected` is N m for each entry
    of the lists, and `whole` is m M for each group: p / q = observed / expected, p - q = (observed - expected) / whole.
    """

    observed: IntArray
    expected: IntArray
    whole: IntArray
    table_share: FloatArray


def compare(attribute: ValueCounts, *, count: str = "records") -> Likeness:
    """Compare the groups' values with the table's, counting records, or each value once for each person."""
    _, value, _, _ = attribute.lists
    in_group, in_table = _counts(attribute, count)
    group_total = attribute.sum_by_group(in_group)
    table_total = int(in_table.sum())
    table_share = in_table[value] / table_total
    largest = int(group_total.max(initial=0)) * table_total
    in_group, group_total, in_table = widen(largest, in_group, group_total, in_table)
    return Likeness(
        observed=in_group * table_total,
        expected=in_table[value] * group_total[attribute.group_of_entry],
        whole=group_total * table_total,
        table_share=table_share,
    )


def ordered_distance(attribute: ValueCounts, *, count: str = "records") -> tuple[IntArray, IntArray]:
    """How far values must be moved to turn each group's into the table's, over the farthest there is: part and whole.

    Sums |group's cumulative share - table's cumulative share| over the table's values, in whole numbers. Between two
    values that a group has, its cumulative share stays level while the table's rises, so the sum over the stretch has
    two parts, before and after the table's passes the level: O(entries x log values), whatever the number of values.
    """
    start, value, _, _ = attribute.lists
    in_group, in_table = _counts(attribute, count)
    rank_of_value = np.cumsum(in_table > 0) - 1
    in_table = in_table[in_table > 0]
    n_values, table_total = len(in_table), int(in_table.sum())
    group_total = attribute.sum_by_group(in_group)
    group = attribute.group_of_entry

    first_rank = rank_of_value[value]
    end_rank = np.append(first_rank[1:], n_values)
    end_rank[start[1:] - 1] = n_values
    table_up_to = np.cumsum(in_table)

    largest = int(group_total.max(initial=0)) * table_total * max(n_values, 1)
    in_group, group_total, wide_up_to = widen(largest, in_group, group_total, table_up_to)
    area = np.concatenate((np.zeros(1, dtype=wide_up_to.dtype), np.cumsum(wide_up_to)))
    before = np.concatenate((np.zeros(1, dtype=in_group.dtype), np.cumsum(in_group)))

    size = group_total[group]
    level = (before[1:] - before[start[:-1]][group]) * table_total
    passes = np.searchsorted(table_up_to, (-(-level // size)).astype(np.int64))
    passes = np.clip(passes, first_rank, end_rank)
    below = level * (passes - first_rank) - size * (area[passes] - area[first_rank])
    above = size * (area[end_rank] - area[passes]) - level * (end_rank - passes)
    ahead_of_first = group_total * area[first_rank[start[:-1]]]
    moved = attribute.sum_by_group(below + above) + ahead_of_first
    return moved, group_total * table_total * max(n_values - 1, 1)


def _counts(attribute: ValueCounts, count: str) -> tuple[IntArray, IntArray]:
    """Each value's count in its group (an entry of the lists) and in the table (by code)."""
    _, _, records, persons = attribute.lists
    if count == "records":
        return records, attribute.records_in_table
    return persons, attribute.persons_in_table
