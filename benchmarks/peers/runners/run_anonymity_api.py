"""anonymity-api: Mondrian on pandas that cuts numbers only. Its l-diversity takes no k."""

from __future__ import annotations

import pandas as pd
from anonymity_api import anonymity
from harness import job, tell, timed

todo = job()
frame = pd.read_csv(todo.table)


def run() -> pd.DataFrame:
    if todo.l:
        return anonymity.distinct_l_diversity(frame, todo.quasi, [todo.sensitive], todo.l)
    return anonymity.k_anonymity(frame, todo.quasi, todo.k)


published, seconds = timed(run)
published.to_csv(todo.published, index=False)
tell(todo, seconds)
