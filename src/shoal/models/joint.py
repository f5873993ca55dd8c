"""Who has which values of all sensitive attributes together, for models that look at them jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.models.exact import IntArray


class Items(NamedTuple):
    """Lists of items: a value of a sensitive attribute is one item."""

    start: IntArray
    """The items of list m stand at start[m]:start[m + 1]."""
    item: NDArray[np.int32]
    attribute_of_item: NDArray[np.int32]
    """The number of the attribute that each item is a value of."""


@dataclass(frozen=True, kw_only=True)
class JointCounts:
    """The values of all sensitive attributes that each member of each group has.

    A value of an attribute is one *item*. A member is a person, with the union of the values of their records in the
    group.
    """

    start_of_group: IntArray
    """The members of group g stand at start[g]:start[g + 1] of `who`."""
    who: NDArray[Any]
    item_start: IntArray
    """The items of member m stand at item_start[m]:item_start[m + 1] of `item`."""
    item: NDArray[Any]
    attribute_of_item: NDArray[Any]
    """The number of the attribute that each item is a value of."""
    columns: tuple[str, ...]
    """The names of the attributes, in the order of their numbers."""

    @property
    def group_of_member(self) -> IntArray:
        """The group of each member."""
        return np.repeat(np.arange(len(self.start_of_group) - 1), np.diff(self.start_of_group))


def joint_counts(start_of_group: IntArray, who: NDArray[Any], items: Items, columns: tuple[str, ...]) -> JointCounts:
    """Groups of members who have lists of items."""
    return JointCounts(
        start_of_group=start_of_group,
        who=who,
        item_start=items.start,
        item=items.item,
        attribute_of_item=items.attribute_of_item,
        columns=columns,
    )


def join_lists(lists: Sequence[tuple[IntArray, IntArray, int]]) -> Items:
    """One list of items per member from lists of their values of each attribute: (starts, values, n_values) each."""
    lengths = sum(np.diff(start) for start, _, _ in lists)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    item = np.empty(int(start[-1]), np.int32)
    attribute_of_item = np.repeat(np.arange(len(lists)), [n_values for *_, n_values in lists]).astype(np.int32)
    write = start[:-1].copy()
    offset = 0
    for own_start, value, n_values in lists:
        length = np.diff(own_start)
        place = np.repeat(write - own_start[:-1], length) + np.arange(len(value))
        item[place] = value + offset
        write += length
        offset += n_values
    return Items(start, item, attribute_of_item)
