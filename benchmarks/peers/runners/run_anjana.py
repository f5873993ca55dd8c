"""anjana: one level a quasi-identifier for the whole table, from hierarchies; up to 5 % of the records left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity, l_diversity
from harness import job, tell, timed

LEFT_OUT = 5

todo = job()
frame = pd.read_csv(todo.table)
lines = json.loads(Path(todo.hierarchies).read_text(encoding="utf-8"))
hierarchies = {}
for name in todo.quasi:
    levels = list(zip(*lines[name], strict=True))
    bottom = np.array([int(value) for value in levels[0]]) if name in todo.numbers else np.array(levels[0], object)
    hierarchies[name] = {0: bottom, **{level: np.array(levels[level], object) for level in range(1, len(levels))}}


def run() -> pd.DataFrame:
    if todo.l:
        return l_diversity(frame, [], todo.quasi, todo.sensitive, todo.k, todo.l, LEFT_OUT, hierarchies)
    return k_anonymity(frame, [], todo.quasi, todo.k, LEFT_OUT, hierarchies)


published, seconds = timed(run)
published.to_csv(todo.published, index=False)
tell(todo, seconds)
