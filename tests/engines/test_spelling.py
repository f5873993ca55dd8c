"""Three engines count persons and values by the same spelling, and publish values as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engines.stream import protect_file
from tests.engines.test_engines import collected

pytestmark = [pytest.mark.spark, pytest.mark.long]

SCHEMA = shoal.Schema(person="patient", quasi=["age"], sensitive=["disease"], dropped=["note"])
SPELLINGS = [(" {}", "{}"), ("Jos\u00e9 {}", "Jose\u0301  {}"), ("{}\u200b", "{}.0")]
DISEASES = ["HIV", "hiv", "Flu ", "flu", "gout", "\uff27\uff2f\uff35\uff34", "ulcer", "cold"]


def messy() -> pl.DataFrame:
    """Forty persons, with two records each in spellings of their own, and eight spellings of five diseases."""
    rows = []
    for number in range(40):
        for place, form in enumerate(SPELLINGS[number % 3]):
            rows.append((form.format(number), 20 + number // 2, DISEASES[(3 * number + place) % 8], "x"))
    return pl.DataFrame(rows, schema=["patient", "age", "disease", "note"], orient="row")


def _shape(frame: pl.DataFrame) -> Any:
    """What is published but for pseudonyms: by person, what their records show."""
    records = frame.select("patient", shown=pl.concat_str("age", "disease", separator="|"))
    return sorted(records.group_by("patient").agg(pl.col("shown").sort())["shown"].to_list())


def test_engines_count_by_the_same_spelling(spark: Any, tmp_path: Path) -> None:
    from shoal.engines.spark import protect as protect_on_spark

    frame = messy()
    models = [shoal.PersonKAnonymity(k=4), shoal.HAffiliation(h=0.7), shoal.TCloseness(t=0.5)]
    memory = shoal.protect(frame, SCHEMA, models, effort="low")
    assert memory.risk.persons == 40
    frame.write_parquet(tmp_path / "table.parquet")
    streamed = protect_file(
        tmp_path / "table.parquet", SCHEMA, models, tmp_path / "out", portion=11, report=False, effort="low"
    )
    cluster = protect_on_spark(spark.createDataFrame(frame.to_arrow()), SCHEMA, models, effort="low")
    published = collected(cluster.data)
    assert _shape(memory.data) == _shape(published)
    assert _shape(memory.data) == _shape(pl.read_parquet(tmp_path / "out" / "release.parquet"))
    assert sorted(published["disease"]) == sorted(frame["disease"])
    for other in (streamed, cluster):
        assert other.risk == memory.risk
        assert other.verdict.models == memory.verdict.models
    assert cluster.before == memory.before
    of_spelling = [note for note in memory.notes if " another one but for " in note]
    assert len(of_spelling) == 2
    assert [note for note in streamed.notes if " another one but for " in note] == of_spelling
    assert [note for note in cluster.notes if " another one but for " in note] == of_spelling


def test_anatomized_on_spark_counts_one_value_once(spark: Any) -> None:
    from shoal.engines.spark import protect as protect_on_spark

    models = [shoal.HAffiliation(h=0.8)]
    frame = messy()
    release = protect_on_spark(spark.createDataFrame(frame.to_arrow()), SCHEMA, models, mask="anatomize")
    table = collected(release.tables["disease"])
    assert table["disease"].n_unique() == 5
    assert table.columns == ["group", "disease", "persons"]
    assert release.risk.records == 80, "the steward knows"
    assert shoal.protect(frame, SCHEMA, models, mask="anatomize").published.tables["disease"]["disease"].n_unique() == 5


def test_case_of_ids_is_noted_on_spark(spark: Any) -> None:
    from shoal.engines.spark import protect as protect_on_spark

    frame = pl.DataFrame({"patient": ["ann", "Ann", "b", "c"], "age": [1] * 4, "disease": ["x"] * 4, "note": ["n"] * 4})
    models = [shoal.PersonKAnonymity(k=3)]
    notes = protect_on_spark(spark.createDataFrame(frame.to_arrow()), SCHEMA, models).notes
    assert shoal.protect(frame, SCHEMA, models).notes[0] in notes
