"""Who has which values of all sensitive attributes together, for models that look at them jointly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from shoal.models.exact import IntArray


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
