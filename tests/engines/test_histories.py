"""Models of histories on Spark: groups are judged as in memory, and what is not met without hiding is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import PrivacyNotMetError
from tests.engines.test_engines import on

pytestmark = [pytest.mark.spark, pytest.mark.long]


def test_spark_checks_histories_as_memory_does(spark: Any) -> None:
    person = np.repeat(np.arange(40), 2)
    frame = pl.DataFrame({"person": person, "age": 20 + person, "one": ["a", "b"] * 40})
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["one"])
    asked = [shoal.HistoryK(k=4, m=2), shoal.CountK(k=4), shoal.HistoryConfidence(c=1, m=1), shoal.HAffiliation(h=1)]
    made = on(spark)(frame, schema, asked, measure_input=False, cell_persons=20)
    held = shoal.verify(made.frame, schema, asked)
    assert made.release.verdict.models == held.verdict.models
    assert held.holds
    rare = frame.with_columns(one=pl.when(pl.col("person") == 7).then(pl.lit("c")).otherwise(pl.col("one")))
    with pytest.raises(PrivacyNotMetError, match="break history-k 4"):
        on(spark)(rare, schema, asked, measure_input=False)
