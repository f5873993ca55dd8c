"""polarfrost: Mondrian on polars. It has no l-diversity."""

from __future__ import annotations

import sys
import types

import polars as pl
from harness import job, tell, timed

# polarfrost imports pyspark for its Spark part even where that is not used; a stand-in saves installing it
functions = types.ModuleType("pyspark.sql.functions")
functions.pandas_udf = functions.PandasUDFType = None  # type: ignore[attr-defined]
sys.modules.update({"pyspark": types.ModuleType("pyspark"), "pyspark.sql": types.ModuleType("pyspark.sql"),
                    "pyspark.sql.functions": functions})  # fmt: skip
from polarfrost import mondrian_k_anonymity_polars  # noqa: E402

todo = job()
frame = pl.read_csv(todo.table)
published, seconds = timed(
    lambda: mondrian_k_anonymity_polars(frame, todo.quasi, todo.sensitive, todo.k, categorical=todo.nominal)
)
published.write_csv(todo.published)
tell(todo, seconds)
