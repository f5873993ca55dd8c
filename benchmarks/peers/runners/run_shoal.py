"""shoal: protect a frame in memory, all of it, with the verdict and the measures of the release, without a report.

The method may be named as the second argument.
"""

from __future__ import annotations

import sys

import polars as pl
from harness import job, tell, timed

import shoal

todo = job()
method = sys.argv[2] if len(sys.argv) > 2 else "balance-tree"
frame = pl.read_csv(todo.table)
schema = shoal.Schema(
    quasi=[*todo.numbers, *(shoal.Nominal(name) for name in todo.nominal)], sensitive=[todo.sensitive]
)
models = [shoal.PersonKAnonymity(k=todo.k)]
if todo.l:
    models.append(shoal.LDiversity(l=todo.l, kind="distinct"))


def run(records: pl.DataFrame) -> shoal.Release:
    return shoal.protect(records, schema, models, method=method, measure_input=False, seed=1)


run(frame.head(2_000))  # loads what numba has compiled
release, seconds = timed(lambda: run(frame))
release.data.write_csv(todo.published)
tell(todo, seconds)
