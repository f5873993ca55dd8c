"""Days are those where a time was: zones and offsets never make another day of one, and UTC does not tell it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal import Schema
from shoal.errors import SchemaError
from shoal.table.table import Table
from shoal.table.times import local_days, read_times

BERLIN = dt.timezone(dt.timedelta(hours=2))
NEW_YORK = dt.timezone(dt.timedelta(hours=-5))
BORN = ["1990-05-01", "1990-12-31", "1991-01-01", "1991-06-30"]


def days(values: Any, zone: str | None = None) -> list[str]:
    found = local_days(values if isinstance(values, pl.Series) else pl.Series(values), zone)
    assert not found.is_untold.any()
    return [str(day) for day in found.days]


def zoned(zone: str, hour: int = 0) -> pl.Series:
    naive = pl.Series("born", [f"{day} {hour:02}:30:00" for day in BORN]).str.to_datetime()
    return naive.dt.replace_time_zone(zone)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Kiritimati", "Etc/GMT-2"])
@pytest.mark.parametrize("hour", [0, 12, 23])
def test_a_column_with_a_zone_has_the_days_of_that_zone(zone: str, hour: int) -> None:
    assert days(zoned(zone, hour)) == BORN
    assert days(zoned(zone, hour).dt.convert_time_zone("UTC"), zone) == BORN


@pytest.mark.parametrize("offset", ["+02:00", "+0200", "+02", " +02:00", "-05:00", "+05:30", "-14", ""])
@pytest.mark.parametrize("clock", ["T00:30:00", " 00:30", "T23:59:59.999"])
def test_a_text_with_an_offset_is_on_the_day_that_is_written(offset: str, clock: str) -> None:
    assert days([f"{day}{clock}{offset}" for day in BORN]) == BORN


def test_mixed_offsets_are_each_on_their_own_day() -> None:
    assert days(["2024-05-01T00:30:00+02:00", "2024-05-01T23:30:00-05:00", "2024-05-01"]) == ["2024-05-01"] * 3
    told = days(["2024-05-01T00:30:00+02:00", "2024-05-01T23:30:00-05:00", "2024-05-01"], "Europe/Berlin")
    assert told == ["2024-05-01", "2024-05-02", "2024-05-01"]


@pytest.mark.parametrize("utc", ["Z", "+00:00", "+00"])
def test_a_text_in_utc_tells_no_day_but_at_midnight_or_by_a_zone(utc: str) -> None:
    late = f"1990-04-30T22:00:00{utc}"
    assert local_days(pl.Series([late, None])).is_untold.to_list() == [True, False]
    assert days([f"1990-05-01T00:00:00{utc}"]) == ["1990-05-01"]
    assert days([late], "Europe/Berlin") == ["1990-05-01"]
    assert days([late], "UTC") == ["1990-04-30"]


def test_what_is_no_time_stays_unread() -> None:
    texts = ["2024-05-01T00:30:00+25:00", "2024-05-01+02:00", "01/02/2024", "2024-02-30T10:00Z", "Z", "", None]
    assert read_times(pl.Series(texts)).null_count() == len(texts)


def frames() -> dict[str, Any]:
    """Days of birth at midnight in Berlin, in every kind of frame that knows zones."""
    born = BORN * 2
    zoned = pd.to_datetime(born).tz_localize("Europe/Berlin")
    plain = {"p": list("abcdefgh"), "s": ["x", "y"] * 4}
    early, late = ((f"{hour}:30:00", zone) for hour, zone in (("00", BERLIN), ("23", NEW_YORK)))
    objects = [dt.datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=zone)
               for day, (clock, zone) in zip(born, [early, late, early, early] * 2, strict=True)]  # fmt: skip
    return {
        "polars": pl.DataFrame({**plain, "born": pl.from_pandas(zoned)}),
        "pandas": pd.DataFrame({**plain, "born": zoned}),
        "pandas, mixed offsets": pd.DataFrame({**plain, "born": pd.Series(objects, dtype=object)}),
        "pyarrow": pa.table({**plain, "born": pa.array(zoned)}),
        "texts": pl.DataFrame({**plain, "born": [f"{day}T00:00:00+02:00" for day in born]}),
    }


@pytest.mark.parametrize("kind", frames())
def test_a_date_of_birth_is_published_as_the_local_day(kind: str) -> None:
    schema = Schema(person="p", quasi=["born:date"], sensitive=["s"])
    release = shoal.protect(frames()[kind], schema, [shoal.PersonKAnonymity(k=8)])
    assert set(release.data["born"].to_pylist() if kind == "pyarrow" else release.data["born"]) == {
        f"{BORN[0]} to {BORN[-1]}"
    }


@pytest.mark.parametrize("role", ["sensitive", "kept"])
@pytest.mark.parametrize("kind", frames())
def test_a_time_that_is_published_as_it_is_keeps_its_clock(kind: str, role: str, tmp_path: Any) -> None:
    roles = {role: ["born"], "dropped": ["s"]}
    release = shoal.protect(frames()[kind], Schema(quasi=["p:nominal"], **roles), [shoal.KAnonymity(k=8)])
    release.write(tmp_path / "out", report=False)
    shown = pl.read_csv(tmp_path / "out" / "release.csv", infer_schema=False)["born"]
    assert sorted(text[:10] for text in shown) == sorted(BORN * 2)


@pytest.mark.parametrize("utc", [True, False])
def test_days_of_times_in_utc_are_refused_unless_a_zone_is_named(utc: bool) -> None:
    moments = zoned("Europe/Berlin").dt.convert_time_zone("UTC")
    born = moments if utc else moments.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    frame = pl.DataFrame({"born": born})
    with pytest.raises(SchemaError, match="'born' holds 4 times in UTC, which do not tell the day") as refusal:
        Table.from_frame(frame, Schema(quasi=["born:date"]))
    assert "1990" not in str(refusal.value)
    assert refusal.value.changes == ("zone",)  # so that every door says how to choose it
    table = Table.from_frame(frame, Schema(quasi=["born:date"], zone="Europe/Berlin"))
    assert pl.Series(table.quasi["born"].units).cast(pl.Int32).cast(pl.Date).cast(pl.String).to_list() == BORN


@pytest.mark.parametrize("zone", ["Berlin", "", 5, "Europe/Berlin; drop"])
def test_what_is_no_zone_is_refused(zone: Any) -> None:
    with pytest.raises(SchemaError, match="zone must be the name of a time zone"):
        Schema(quasi=["born"], zone=zone)
