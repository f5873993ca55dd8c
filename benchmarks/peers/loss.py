"""What a published table loses, read from the table itself, in the same way for every tool.

`python -m benchmarks.peers.loss made-up table.csv published.csv` prints it, for tools that are run by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.peers.tables import TASKS, Task

COUNT = "count"
EVERYTHING = "*"


@dataclass(frozen=True)
class Loss:
    """What a published table shows of a table.

    Attributes
    ----------
    ncp
        Normalized certainty penalty (Xu et al., 2006): the mean over all original records and quasi-identifiers of, for
        a number, the width of the published range over that of the whole column; for a category, 0 where one value
        is published, else the number of values that it may be over the number of values of the column. A record
        that was left out counts 1 in every quasi-identifier.
    left_out
        The share of records that were left out.
    smallest_group
        The fewest records that are published alike.
    """

    ncp: float
    left_out: float
    smallest_group: int


def loss_of(published: pl.DataFrame, original: pl.DataFrame, task: Task) -> Loss:
    """The loss of a published table: labels as text, and how many records a line stands for (`count`) where not one."""
    if COUNT not in published.columns:
        published = published.with_columns(pl.lit(1).alias(COUNT))
    groups = published.group_by(task.quasi).agg(pl.col(COUNT).sum())
    n_published = int(groups[COUNT].sum())
    n_records = len(original)
    lost = float(n_records - n_published) * len(task.quasi)
    for name in task.numbers:
        low, high = original[name].min(), original[name].max()
        lost += _total(groups, name, partial(_width, whole=float(high - low)))
    for name in task.nominal:
        lost += _total(groups, name, partial(_covered, n_values=original[name].n_unique()))
    return Loss(lost / n_records / len(task.quasi), 1 - n_published / n_records, int(groups[COUNT].min() or 0))


def read_published(path: str | Path) -> pl.DataFrame:
    """A published table from CSV, labels as text."""
    frame = pl.read_csv(path, infer_schema_length=0)
    return frame.with_columns(pl.col(COUNT).cast(pl.Int64)) if COUNT in frame.columns else frame


def _total(groups: pl.DataFrame, name: str, share_of: Callable[[str], float]) -> float:
    """The sum over records of the share that their label covers."""
    records = groups.group_by(name).agg(pl.col(COUNT).sum())
    return sum(share_of(label) * count for label, count in records.iter_rows())


def _width(label: str, whole: float) -> float:
    """The share of the whole width that `84-86`, `84.0 - 86.0` or `84` covers."""
    if label == EVERYTHING:
        return 1.0
    ends = [float(end) for end in re.split(r"\s*-\s*", label)]
    return (ends[-1] - ends[0]) / whole


def _covered(label: str, n_values: int) -> float:
    """The share of values that `a`, `a,b`, `a-b` or `{a, b}` covers."""
    if label == EVERYTHING:
        return 1.0
    n = len(re.split(r"\s*[,-]\s*", label.strip("{}")))
    return n / n_values if n > 1 else 0.0


if __name__ == "__main__":
    print(loss_of(read_published(sys.argv[3]), pl.read_csv(sys.argv[2]), TASKS[sys.argv[1]]))
