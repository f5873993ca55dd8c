"""Time as the person's own sequence or as shifted dates, never as it is."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal import Schema
from shoal.errors import PrivacyNotMetError, SchemaError

DAYS = [dt.date(2020, 1, 5), dt.date(2020, 1, 1), dt.date(2020, 1, 5), dt.date(2021, 7, 1), dt.date(2020, 2, 1)]
PERSONS = ["a", "a", "a", "b", "b"]


def published(
    times: Any, time_as: str = "sequence", persons: list[str] | None = None, **more: Any
) -> dict[str, list[Any]]:
    """The published times of each person, found again by their own sensitive values, in the original order."""
    persons = persons or PERSONS
    frame = pl.DataFrame({"p": persons, "age": 5, "s": [f"v{i}" for i in range(len(persons))]})
    frame = frame.with_columns(t=times if isinstance(times, pl.Series) else pl.Series(times))
    schema = Schema(person="p", quasi=["age"], sensitive=["s"], time="t", time_as=time_as, **more)
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
    shown = {
        name: [time.astimezone(dt.UTC) for time in times]
        for name, times in published(zoned, "shift", time_of_day="keep").items()
    }
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


MOMENTS = [f"{day} {hour:02}:45:00" for hour, day in zip((0, 23, 7, 12, 0), DAYS, strict=True)]
OFFSETS = [f"{moment}+02:00" for moment in MOMENTS]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York", "UTC"])
@pytest.mark.parametrize("is_text", [False, True])
def test_shifted_times_are_cut_to_the_days_that_the_clock_showed(zone: str | None, is_text: bool) -> None:
    times = pl.Series("t", MOMENTS)
    if not is_text:
        times = times.str.to_datetime().dt.replace_time_zone(zone)
    shown = published(times, "shift", zone="UTC" if zone == "UTC" else None)
    offsets = [{day - own for day, own in zip(shown[name], days, strict=True)} for name, days in
               (("a", DAYS[:3]), ("b", DAYS[3:]))]  # fmt: skip
    assert all(isinstance(day, dt.date) and not isinstance(day, dt.datetime) for day in shown["a"])
    assert [len(each) for each in offsets] == [1, 1]


def test_times_with_offsets_are_cut_to_their_own_days_or_those_of_a_zone() -> None:
    a = published(OFFSETS, "shift")["a"]
    assert (a[0] - a[1], a[2]) == (DAYS[0] - DAYS[1], a[0])
    a = published(OFFSETS, "shift", zone="America/New_York")["a"]  # 00:45 in Berlin is the evening before
    assert (a[0] - a[1], a[2] - a[0]) == (DAYS[0] - DAYS[1] - dt.timedelta(1), dt.timedelta(1))


def test_the_time_of_day_is_kept_where_that_is_asked_for() -> None:
    shown = published(MOMENTS, "shift", time_of_day="keep")
    assert [time.strftime("%H:%M") for time in shown["a"]] == ["00:45", "23:45", "07:45"]
    with pytest.raises(SchemaError, match="'t' holds 5 times with an offset from UTC, so that the time of day"):
        published(OFFSETS, "shift", time_of_day="keep")
    shown = published(OFFSETS, "shift", time_of_day="keep", zone="UTC")
    assert [time.strftime("%H:%M") for time in shown["b"]] == ["10:45", "22:45"]


def test_persons_whom_a_kept_time_of_day_singles_out_are_counted() -> None:
    """Ten persons have a visit at eight; four of them another one at a minute of their own."""
    clocks = {"p0": "09:31", "p1": "14:07", "p2": "14:07", "p3": "23:59", "p4": "00:00", "p5": "09:30"}
    rows = [(f"p{i}", f"2020-0{1 + i % 9}-0{1 + i % 5} {clock}") for i in range(10)
            for clock in ("08:00", clocks.get(f"p{i}", "08:00"))]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["p", "t"], orient="row").with_columns(age=5)
    schema = Schema(person="p", quasi=["age"], time="t", time_as="shift", time_of_day="keep")
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=10)])
    assert release.risk.alone_by["time_of_day"] == 4
    assert release.to_dict()["alone_by"]["time_of_day"] == 4
    assert any("4 by the time of day" in note for note in release.verdict.notes)
    read = release.data.with_columns(pl.col("t").cast(pl.String))
    assert shoal.verify(read, schema, [shoal.PersonKAnonymity(k=10)]).risk.alone_by == release.risk.alone_by
    cut = shoal.protect(frame, replace(schema, time_of_day="cut"), [shoal.PersonKAnonymity(k=10)])
    assert "time_of_day" not in cut.risk.alone_by
    with pytest.raises(PrivacyNotMetError, match="alone in their group"):
        shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=10)], max_alone=3)


@pytest.mark.parametrize("time_as", ["sequence", "shift"])
def test_the_order_of_times_with_and_without_offsets_is_not_told(time_as: str) -> None:
    with pytest.raises(SchemaError, match="'t' holds 2 times with an offset from UTC and 3 without"):
        published([*OFFSETS[:2], *MOMENTS[2:]], time_as)


def test_a_sequence_follows_moments_not_clocks() -> None:
    """Summer time ends: 02:30 came twice."""
    times = ["2020-10-25T02:30:00+01:00", "2020-10-25T02:40:00+02:00", "2020-10-25T02:30:00+01:00"]
    assert published([*times, *OFFSETS[3:]])["a"] == [2, 1, 2]


@pytest.mark.parametrize("is_text", [False, True])
def test_shifted_times_in_utc_need_a_zone_to_be_cut(is_text: bool) -> None:
    times: Any = [f"{moment}Z" for moment in MOMENTS]
    if not is_text:
        times = pl.Series("t", MOMENTS).str.to_datetime().dt.replace_time_zone("UTC")
    with pytest.raises(SchemaError, match="'t' holds 5 times in UTC, which do not tell the day"):
        published(times, "shift")
    assert published(times, "shift", zone="UTC")["a"][0] is not None
    assert published(times) == {"a": [2, 1, 3], "b": [2, 1]}  # moments are in order in any zone


def test_verify_finds_times_that_are_not_published_as_the_policy_says() -> None:
    def problems(times: Any, **more: Any) -> tuple[str, ...]:
        frame = pl.DataFrame({"p": PERSONS, "age": "5", "t": times})
        schema = Schema(person="p", quasi=["age"], time="t", **more)
        return shoal.verify(frame, schema, [shoal.KAnonymity(k=2)]).problems

    assert problems(MOMENTS, time_as="shift") == ("'t' shows times of day, but the policy cuts shifted times to days.",)
    assert problems(pl.Series(MOMENTS).str.to_datetime(), time_as="shift")
    assert not problems(MOMENTS, time_as="shift", time_of_day="keep")
    assert not problems(DAYS, time_as="shift")
    assert not problems([f"{day} 00:00:00" for day in DAYS], time_as="shift")
    assert problems(DAYS) == ("'t' holds 5 times that are not the person's own 1, 2, 3, as the policy says.",)
    assert not problems(["1", "2", None, "1", "2"])
    assert not problems([1.0, 2.0, None, 1.0, 2.0])


SENTINELS = ["1900-01-01", "1899-12-30", "1970-01-01", "1753-01-01", "0001-01-01", "2099-12-31", "9999-12-31"]


@pytest.mark.parametrize("sentinel", [*SENTINELS, "9999-12-31 23:59:59"])
@pytest.mark.parametrize("time_of_day", ["cut", "keep"])
def test_dates_that_stand_for_none_are_published_as_missing(sentinel: str, time_of_day: str) -> None:
    shown = published([sentinel, *MOMENTS[1:4], sentinel], "shift", time_of_day=time_of_day)
    assert [time is None for time in shown["a"] + shown["b"]] == [True, False, False, False, True]


def shared(n_sharing: int, n: int = 30, **more: Any) -> shoal.Release:
    """Persons with a date of their own in each of three years; some of them begin with the same date."""
    rows = [
        (f"p{i}", dt.date(2019, 12, 1) if i < n_sharing and visit == 0 else dt.date(2020 + visit, 1, 1 + i))
        for i in range(n)
        for visit in range(3)
    ]
    frame = pl.DataFrame(rows, schema=["p", "t"], orient="row").with_columns(age=5)
    schema = Schema(person="p", quasi=["age"], time="t", time_as="shift", **more)
    return shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)])


def test_a_date_that_many_share_is_told_with_counts() -> None:
    release = shared(10)
    told = release.to_dict()["shared_dates"]
    assert told == {"persons": 30, "placeholder_records": 0, "placeholder_persons": 0, "dates": 1,
                    "sharing_records": 10, "sharing_persons": 10, "at_an_end": 10}  # fmt: skip
    (note,) = [note for note in release.notes if "shared" in note]
    assert "1 date in 't' is shared by unlikely many persons: 10 of 30 have it" in note
    assert "For 10 of them it is the first or the last date" in note
    assert "2019" not in note
    assert release.data["t"].null_count() == 0


def test_a_date_that_everybody_shares_is_said_to_tell_every_shift() -> None:
    (note,) = [note for note in shared(30).notes if "shared" in note]
    assert "30 of 30" in note
    assert "For everybody it is the first or the last date" in note


def test_dates_that_few_share_are_nothing_to_tell() -> None:
    release = shared(2)
    assert release.to_dict()["shared_dates"]["dates"] == 0
    assert not [note for note in release.notes if "shared" in note]


def test_shared_dates_are_hidden_or_refused_as_asked() -> None:
    release = shared(10, shared_dates="hide")
    assert release.data["t"].null_count() == 10
    assert [note for note in release.notes if "10 records are published without their date" in note]
    with pytest.raises(PrivacyNotMetError, match=r"10 of 30 have it.*nothing was written"):
        shared(10, shared_dates="refuse")
    assert shared(2, shared_dates="refuse").data["t"].null_count() == 0


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
