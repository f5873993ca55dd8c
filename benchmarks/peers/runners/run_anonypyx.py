"""anonypyx: a fork of anonypy with more models."""

from __future__ import annotations

import anonypyx
import pandas as pd
from harness import job, tell, timed

todo = job()
frame = pd.read_csv(todo.table).astype(dict.fromkeys([*todo.nominal, todo.sensitive], "category"))


def run() -> pd.DataFrame:
    anonymiser = anonypyx.Anonymiser(
        frame, k=todo.k, l=todo.l, algorithm="Mondrian", feature_columns=todo.quasi, sensitive_column=todo.sensitive,
        generalisation_strategy="human-readable",
    )  # fmt: skip
    return anonymiser.anonymise()


published, seconds = timed(run)
published.to_csv(todo.published, index=False)
tell(todo, seconds)
