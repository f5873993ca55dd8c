"""What the methods that span a tree refuse, and say so on their pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.models import Model
from shoal.table.schema import Schema

SPANNED = ("spanning-tree", "spanning-cells", "longest-edge")


def is_refused(method: Any, frame: pl.DataFrame, schema: Schema, models: Sequence[Model]) -> bool:
    """Whether there are fewer than 2m persons, a number is missing, or there is nothing to mix."""
    if method.name not in SPANNED:
        return False
    asked = [int(model.asked) for model in models if model.name in ("k-anonymity", "person-k-anonymity", "subset-k")]
    m = method.m or max(asked, default=3)
    n_persons = frame[schema.person].n_unique() if schema.person else len(frame)
    misses_a_number = any(frame[name].dtype.is_numeric() and frame[name].null_count() for name in schema.quasi_names)
    has_one_class = frame.select(schema.sensitive).unique().height == 1
    return n_persons < 2 * m or misses_a_number or (has_one_class and method.name != "longest-edge")
