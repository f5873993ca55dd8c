"""Spark refuses to leave person ids out, before anything is run."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import SchemaError


def test_spark_refuses_to_publish_no_person_ids() -> None:
    pytest.importorskip("pyspark")
    from shoal.engines.spark.run import refuse_unoffered
    from shoal.grouping import METHODS
    from shoal.masking import MASKS

    method, mask, models = METHODS["balance-tree"](), MASKS["range"](), [shoal.RecordRisk(rho="0.5")]
    refuse_unoffered(method, mask, shoal.Schema(person="name", quasi=["age"]), models)
    with pytest.raises(SchemaError, match="not offered on Spark"):
        refuse_unoffered(method, mask, shoal.Schema(person="name", quasi=["age"], person_ids="none"), models)
