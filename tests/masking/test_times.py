"""Time as the person's own sequence or as shifted dates, never as it is."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal import Schema, SchemaError

DAYS = [dt.date(2020, 1, 5), dt.date(2020, 1, 1), dt.date(2020, 1, 5), dt.date(2021, 7, 1), dt.date(2020, 2, 1)]
PERSONS = ["a", "a", "a", "b", "b"]


def published(times: Any, time_as: str = "sequence", persons: list[str] | None = None) -> dict[str, list[Any]]:
    """The published times of each person, found again by their own sensitive values, in the original order."""
    persons = persons or PERSONS
    frame = pl.DataFrame({"p": persons, "age": 5, "s": [f"v{i}" for i in range(len(persons))]})
    frame = frame.with_columns(t=times if isinstance(times, pl.Series) else pl.Series(times))
    schema = Schema(person="p", quasi=["age"], sensitive=["s"], time="t", time_as=time_as)
    data = shoal.protect(frame, schema, [shoal.GBalance(g=0)], method="mondrian").data
    shown = dict(zip(data["s"].to_list(), data["t"].to_list(), strict=True))
    return {
        name: [shown[f"v{i}"] for i, person in enumerate(persons) if person == name] for name in sorted(set(persons))
    }


@pytest.mark.parametrize(
    "times",
    [
        DAYS,
        [dt.datetime(day.year, day.month, day.day, 12) for day in DAYS],
        [str(day) for day in DAYS],
        [f"{day}T10:00:00" for day in DAYS],
        pl.Series([str(day) for day in DAYS]).cast(pl.Categorical),
        [3, 1, 3, 9, 2],
        ["10", "9", "10", "100", "11"],  # as numbers, not as texts
        [10.5, 9.5, 10.5, 100.0, 11.0],
        [dt.timedelta(3), dt.timedelta(1), dt.timedelta(3), dt.timedelta(9), dt.timedelta(2)],
    ],
)
def test_a_sequence_counts_the_persons_own_times(times: Any) -> None:
    assert published(times) == {"a": [2, 1, 2], "b": [2, 1]}


def test_a_missing_time_stays_missing() -> None:
    assert published([DAYS[0], None, DAYS[2], None, DAYS[4]]) == {"a": [1, None, 1], "b": [None, 1]}
    assert published([1.0, float("nan"), 2.0, None, 3.0]) == {"a": [1, None, 2], "b": [None, 1]}
    assert published([None] * 5) == {"a": [None] * 3, "b": [None] * 2}
    assert published([None] * 5, "shift") == {"a": [None] * 3, "b": [None] * 2}


@pytest.mark.parametrize("as_text", [False, True])
def test_shifted_dates_keep_the_differences_inside_a_person(as_text: bool) -> None:
    times = [str(day) for day in DAYS] if as_text else DAYS
    shown = published(times, "shift")
    offsets = {shown_day - day for shown_day, day in zip(shown["a"], DAYS[:3], strict=True)}
    assert len(offsets) == 1
    assert 1 <= abs(offsets.pop().days) <= 365
    assert shown["b"][0] - shown["b"][1] == DAYS[3] - DAYS[4]


def test_date_times_keep_their_differences_also_where_clocks_change() -> None:
    moments = [dt.datetime(2020, 3, 28, 10), dt.datetime(2020, 3, 29, 10), dt.datetime(2020, 10, 25, 10)]
    zoned = pl.Series([*moments, moments[0], moments[1]]).dt.replace_time_zone("Europe/Berlin")
    shown = {name: [time.astimezone(dt.UTC) for time in times] for name, times in published(zoned, "shift").items()}
    original = [time.astimezone(dt.UTC) for time in zoned.to_list()]
    assert shown["a"][2] - shown["a"][0] == original[2] - original[0]
    assert shown["a"][1] - shown["a"][0] == original[1] - original[0]


def test_offsets_differ_between_persons_and_between_releases() -> None:
    persons = [f"p{i}" for i in range(60)]
    day = dt.date(2020, 1, 1)
    first = [(times[0] - day).days for times in published([day] * 60, "shift", persons).values()]
    second = [(times[0] - day).days for times in published([day] * 60, "shift", persons).values()]
    assert len(set(first)) > 30
    assert 0 not in first
    assert first != second


@pytest.mark.parametrize("times", [[3, 1, 3, 9, 2], ["10", "9", "10", "100", "11"], [True, False] * 2 + [True]])
def test_what_holds_no_dates_cannot_be_shifted(times: list[Any]) -> None:
    with pytest.raises(SchemaError, match="'t' holds no dates, so it cannot be shifted"):
        published(times, "shift")


def test_texts_that_are_no_times_are_refused_with_a_count() -> None:
    """By the alphabet 01/02/2021 comes before 02/01/2020; a wrong sequence would look right."""
    with pytest.raises(SchemaError) as refusal:
        published(["01/02/2021", "02/01/2020", "2020-01-01", None, "2020-01-01"])
    assert "'t' holds 2 texts that are neither dates of the form 2024-12-31" in str(refusal.value)
    assert "01/02/2021" not in str(refusal.value)


@pytest.mark.parametrize("time_as", ["sequence", "shift"])
def test_the_time_is_never_published_as_it_is(time_as: str) -> None:
    days = pd.date_range("1950-01-01", periods=400, freq="D")
    frame = pd.DataFrame({"p": [i // 4 for i in range(400)], "age": 5, "t": days})
    schema = Schema(person="p", quasi=["age"], time="t", time_as=time_as)
    data = shoal.protect(frame, schema, [shoal.GBalance(g=0.5)]).data
    assert len(data) == 400
    if time_as == "sequence":
        assert sorted(data["t"].unique()) == [1, 2, 3, 4]
    else:
        assert not data["t"].reset_index(drop=True).equals(frame["t"])
        spans = data.groupby("p")["t"].agg(lambda times: (times.max() - times.min()).days)
        assert set(spans) == {3}
