"""Times on Spark: the days of memory, the refusals of memory, and the same dates hidden."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

import shoal
from tests.engines.test_engines import canonical, in_memory, on

pytestmark = [pytest.mark.spark, pytest.mark.long]

MODELS = [shoal.PersonKAnonymity(k=2)]
N = 12


def table() -> pl.DataFrame:
    """Persons with three visits; all begin with one date, and two have a date that stands for none."""
    start = dt.datetime(2019, 12, 1, 0, 30)
    times = [
        dt.datetime(1900, 1, 1)
        if visit == 2 and i < 2
        else start
        if visit == 0
        else dt.datetime(2020 + visit, 1, 1 + i, 23, i)
        for i in range(N)
        for visit in range(3)
    ]
    visits = pl.DataFrame({"p": [f"p{i:02}" for i in range(N) for _ in range(3)], "t": times})
    berlin = pl.col("t").dt.replace_time_zone("Europe/Berlin", non_existent="null")
    return visits.with_columns(
        age=pl.int_range(pl.len()) // 6, born=berlin, text=berlin.dt.strftime("%Y-%m-%dT%H:%M:%S%:z"),
    )  # fmt: skip


@pytest.mark.parametrize("column", ["born", "text"])
def test_dates_with_zones_are_those_of_memory(spark: Any, column: str) -> None:
    frame = table().select("p", "age", column)
    schema = shoal.Schema(person="p", quasi=["age", f"{column}:date"], zone="Europe/Berlin")
    held = in_memory(frame, schema, MODELS).frame
    assert canonical(on(spark)(frame, schema, MODELS, measure_input=False).frame, "p") == canonical(held, "p")
    assert {text[:10] for text in held[column]} <= {str(day) for day in table()["t"].dt.date()}


def test_days_in_utc_are_refused_in_the_same_words(spark: Any) -> None:
    utc = table().select("p", "age", pl.col("born").dt.convert_time_zone("UTC"))
    for roles in ({"quasi": ["age", "born:date"]}, {"quasi": ["age"], "time": "born", "time_as": "shift"}):
        told = []
        for engine in (in_memory, on(spark)):
            with pytest.raises(shoal.errors.SchemaError) as refusal:
                engine(utc, shoal.Schema(person="p", **roles), MODELS)
            told.append(str(refusal.value))
        assert told[0] == told[1]


@pytest.mark.parametrize("column", ["born", "text"])
def test_shifted_times_hide_and_tell_what_memory_does(spark: Any, column: str) -> None:
    frame = table().select("p", "age", column)
    roles = {"person": "p", "quasi": ["age"], "time": column, "time_as": "shift", "zone": "Europe/Berlin"}
    schema = shoal.Schema(**roles, shared_dates="hide")
    held, there = in_memory(frame, schema, MODELS), on(spark)(frame, schema, MODELS, measure_input=False)
    assert there.frame[column].dtype == held.frame[column].dtype == pl.Date
    assert there.frame[column].null_count() == held.frame[column].null_count() == N + 2
    told = there.release.to_dict()
    assert told["shared_dates"] == held.release.to_dict()["shared_dates"]
    assert told["shared_dates"]["at_an_end"] == N
    assert [note for note in told["notes"] if "date" in note] == [n for n in held.release.notes if "date" in n]
    for engine in (in_memory, on(spark)):
        with pytest.raises(shoal.errors.PrivacyNotMetError, match=f"{N} of {N} have it"):
            engine(frame, shoal.Schema(**roles, shared_dates="refuse"), MODELS)


def test_persons_whom_a_kept_time_of_day_singles_out_are_those_of_memory(spark: Any) -> None:
    frame = table().select("p", "age", "text")
    roles = {"person": "p", "quasi": ["age"], "time": "text", "time_as": "shift", "zone": "Europe/Berlin"}
    schema = shoal.Schema(**roles, time_of_day="keep")
    held, there = in_memory(frame, schema, MODELS), on(spark)(frame, schema, MODELS, measure_input=False)
    assert there.frame["text"].dtype == held.frame["text"].dtype == pl.Datetime("us")
    assert there.release.risk.alone_by["time_of_day"] == held.release.risk.alone_by["time_of_day"] > 0
