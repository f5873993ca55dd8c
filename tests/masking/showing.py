"""What each group shows of one quasi-identifier, for tests: one person per record unless said otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal import Schema
from shoal.grouping.grouping import Grouping
from shoal.masking.grouped import GroupedRecords
from shoal.masking.publish import Mask
from shoal.table.schema import Quasi
from shoal.table.table import Table


def shown(
    mask: Mask,
    values: Sequence[object],
    groups: Sequence[int],
    kind: Quasi | None = None,
    persons: Sequence[int] | None = None,
) -> list[object]:
    """The labels of groups 0, 1, ... of a column; persons are numbered from 0 without gaps."""
    persons = list(range(len(values))) if persons is None else persons
    series = values if isinstance(values, pl.Series) else pl.Series(values)
    frame = pl.DataFrame({"p": persons}).with_columns(q=series)
    table = Table.from_frame(frame, Schema(person="p", quasi=[kind or Quasi("q")]))
    group_of_person = np.zeros(table.n_persons, np.int32)
    for person, group in zip(persons, groups, strict=True):
        group_of_person[person] = group
    grouping = Grouping(group_of_person, max(groups) + 1)
    return mask.mask(table.quasi["q"], GroupedRecords.of(table, grouping), table).to_list()
