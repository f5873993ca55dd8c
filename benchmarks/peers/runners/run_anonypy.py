"""anonypy: Mondrian on pandas."""

from __future__ import annotations

import anonypy
import pandas as pd
from harness import job, tell, timed

todo = job()
frame = pd.read_csv(todo.table).astype(dict.fromkeys([*todo.nominal, todo.sensitive], "category"))


def run() -> pd.DataFrame:
    preserver = anonypy.Preserver(frame, todo.quasi, todo.sensitive)
    rows = preserver.anonymize_l_diversity(todo.k, todo.l) if todo.l else preserver.anonymize_k_anonymity(todo.k)
    return pd.DataFrame(rows)


published, seconds = timed(run)
for name in todo.quasi:  # each label comes in a list of one
    published[name] = published[name].str[0]
published.to_csv(todo.published, index=False)
tell(todo, seconds)
