"""A grouping: which persons are published alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.models.contract import Model
from shoal.progress import Progress
from shoal.table.table import Table


@dataclass(frozen=True)
class Grouping:
    """The group of each person; each person is in exactly one."""

    group_of_person: NDArray[np.int32]
    n_groups: int
    notes: tuple[str, ...] = ()
    """What the steward should know of how the groups were formed, in plain sentences."""

    def group_of_record(self, table: Table) -> NDArray[np.int32]:
        """The group of each record: that of its person."""
        return self.group_of_person[table.person_of_record]


class Method(Protocol):
    """How groups are formed: table and models in, grouping out; each group meets each model."""

    def group(self, table: Table, models: Sequence[Model], progress: Progress) -> Grouping:
        """Group the persons of a table."""
        ...
