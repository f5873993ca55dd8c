"""pycanon: k, distinct l and t of a published table."""

from __future__ import annotations

import pandas as pd
from harness import job, tell, timed
from pycanon import anonymity

todo = job()
frame = pd.read_csv(todo.table)
k, k_seconds = timed(lambda: anonymity.k_anonymity(frame, todo.quasi))
l, l_seconds = timed(lambda: anonymity.l_diversity(frame, todo.quasi, [todo.sensitive]))  # noqa: E741 - its name
t, t_seconds = timed(lambda: anonymity.t_closeness(frame, todo.quasi, [todo.sensitive]))
tell(
    todo, k_seconds + l_seconds + t_seconds, k=int(k), l=int(l), t=float(t), k_seconds=k_seconds, l_seconds=l_seconds,
    t_seconds=t_seconds,
)  # fmt: skip
