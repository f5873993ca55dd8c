"""Which hierarchy a column can have without any work, and how many persons each of its levels leaves alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.errors import ShoalError
from shoal.table.contents import Contents
from shoal.table.hierarchy import FROM_VALUES, Hierarchy

FEWEST_NUMBERS = 10
"""Numbers with fewer different values need no intervals."""
MOST_VALUES = 100_000
"""A column with more different values is not tried: its hierarchy would list them all."""


@dataclass(frozen=True)
class Level:
    """A level of a hierarchy: how many nodes a column has there, and how many persons are alone in one of them."""

    level: int
    nodes: int
    alone: int


def alone_by_level(values: pl.Series, persons: pl.Series, hierarchy: Hierarchy) -> tuple[Level, ...]:
    """For each level how many persons have a node that nobody else has; a missing value is a value of its own.

    Parameters
    ----------
    values, persons
        Of each record the value of the column, and whose it is.
    hierarchy
        One that covers the values.

    Notes
    -----
    O(records) time for each level.
    """
    texts = values.cast(pl.String)
    distinct = texts.unique()
    node_of_text, labels = hierarchy.codes(distinct.to_list())
    code_of_record = texts.to_frame("text").join(
        pl.DataFrame({"text": distinct, "code": np.arange(len(distinct))}), on="text", how="left", nulls_equal=True,
        maintain_order="left",
    )["code"].to_numpy()  # fmt: skip
    found = []
    for level in range(hierarchy.n_levels):
        nodes = pl.Series("node", node_of_text[code_of_record, level])
        owners = pl.DataFrame({"person": persons, "node": nodes}).group_by("node").agg(
            pl.col("person").n_unique().alias("n"), pl.col("person").first()
        )  # fmt: skip
        alone = owners.filter(pl.col("n") == 1)["person"].n_unique()
        found.append(Level(level, len(labels[level]), alone))
    return tuple(found)


def hierarchy_for(values: pl.Series, contents: Contents, holds: str) -> tuple[str, Hierarchy] | None:
    """The hierarchy that fits a column, by the key of a policy, such as "dates"; None where none does.

    Parameters
    ----------
    values, contents, holds
        The column, what it looks like, and what it seems to hold (`shoal.table.roles`).
    """
    choice = _choice(contents, holds)
    if choice is None or not 1 < contents.distinct <= MOST_VALUES:
        return None
    try:
        return choice, FROM_VALUES[choice](values.cast(pl.String).drop_nulls().unique().sort().to_list())
    except ShoalError:  # some values are no such codes
        return None


def _choice(contents: Contents, holds: str) -> str | None:
    by_shape = {"icd-10": "icd10", "icd-9": "icd9", "atc": "atc"}
    shape = next((by_shape[shape] for shape in by_shape if shape in contents.shapes), None)
    if holds in ("diagnosis", "treatment") and shape is not None:
        return shape
    if contents.is_time and contents.kind != "number":
        return "dates"
    if holds == "postcode":
        return "prefixes"
    return "numbers" if contents.kind == "number" and contents.distinct >= FEWEST_NUMBERS else None
