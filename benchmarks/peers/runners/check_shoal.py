"""shoal: verify k, distinct l and t of a published table, one by one and all together."""

from __future__ import annotations

import polars as pl
from harness import job, tell, timed

import shoal

todo = job()
frame = pl.read_csv(todo.table)
schema = shoal.Schema(quasi=[shoal.Nominal(name) for name in todo.quasi], sensitive=[todo.sensitive])
asked = {
    "k": shoal.KAnonymity(k=2),
    "l": shoal.LDiversity(l=2, kind="distinct"),
    "t": shoal.TCloseness(t=0.5),
}
for model in asked.values():
    shoal.verify(frame.head(2_000), schema, [model])
told = {}
for name, model in asked.items():
    seen, told[f"{name}_seconds"] = timed(lambda model=model: shoal.verify(frame, schema, [model]))
    told[name] = float(seen.verdict.models[0].reached)
_, together = timed(lambda: shoal.verify(frame, schema, list(asked.values())))
tell(todo, together, **told)
