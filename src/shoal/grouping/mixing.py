"""Classes that groups are to mix as the table does: the sensitive values, or their combinations."""

from __future__ import annotations

import numpy as np

from shoal.errors import SchemaError
from shoal.grouping.spanning_tree import Classes, classes_of_persons
from shoal.table.table import Table


def classes_to_mix(table: Table, method: str) -> Classes:
    """The classes of persons, for a method that is asked to mix them (alpha below 1)."""
    if not table.sensitive:
        raise SchemaError(
            f"The method {method} is asked to mix sensitive values (alpha below 1), but no sensitive attribute is "
            "named. Name at least one, or leave alpha out."
        )
    if all(len(np.unique(column.codes)) == 1 for column in table.sensitive.values()):
        named = ", ".join(f"'{name}'" for name in table.sensitive)
        raise SchemaError(
            f"The method {method} is asked to mix sensitive values (alpha below 1), but {named} has the same value in "
            f"all {table.n_records:,} records. Leave alpha out."
        )
    return classes_of_persons(table)
