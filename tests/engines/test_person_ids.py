"""Spark refuses to leave person ids out, before anything is run."""

from __future__ import annotations

import pytest

import shoal
from shoal.engines.contract import Job, engine_called, refuse_unoffered
from shoal.errors import ParameterError


def test_spark_refuses_to_publish_no_person_ids() -> None:
    pytest.importorskip("pyspark")
    spark, models = engine_called("spark"), [shoal.RecordRisk(rho="0.5")]
    assert not spark.why_not(Job.of(None, shoal.Schema(person="name", quasi=["age"]), models))
    with pytest.raises(ParameterError, match="not offered on Spark"):
        refuse_unoffered(spark, Job.of(None, shoal.Schema(person="name", quasi=["age"], person_ids="none"), models))
