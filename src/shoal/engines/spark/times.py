"""The time column of a Spark frame: whether it can be read, as what it is published, and which dates are shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.masking.times import no_dates, no_times, refuse_no_zone, refuse_some_offsets
from shoal.table.schema import Schema
from shoal.table.times import PLACEHOLDERS, SharedDates, is_shared, local_days, refuse_untold, written_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def look_at_times(times: pl.Series, zone: str | None) -> dict[str, int]:
    """What one part of the time column shows: counts, which are added up over all parts."""
    present = times.drop_nulls()
    if present.dtype not in (pl.String, pl.Date, pl.Datetime):
        return {"present": len(present), "other": len(present)}
    untold = int(local_days(present, zone).is_untold.sum())
    if present.dtype != pl.String:
        return {"present": len(present), "untold": untold}
    clock, offset = written_times(present)
    return {
        "present": len(present),
        "untold": untold,
        "dates": len(present) - present.str.to_date("%Y-%m-%d", strict=False).null_count(),
        "moments": len(present) - clock.null_count(),
        "offsets": 0 if offset is None else len(present) - offset.null_count(),
        "numbers": len(present) - present.cast(pl.Float64, strict=False).null_count(),
    }


def checked_time_type(schema: Schema, seen: Mapping[str, int] | None) -> str | None:
    """How shifted times are published: "date", "timestamp", or None as they are given; refuse what cannot be."""
    if schema.time is None or seen is None:
        return None
    present = seen["present"]
    is_text = "moments" in seen
    if is_text and present not in (seen["moments"], seen["numbers"]):
        raise no_times(schema.time, present - max(seen["moments"], seen["numbers"]))
    if is_text and present == seen["moments"]:
        refuse_some_offsets(schema.time, present - seen["offsets"], seen["offsets"])
    if schema.time_as == "sequence":
        return None
    if seen.get("other") or (is_text and present != seen["moments"]):
        raise no_dates(schema.time)
    if schema.time_of_day == "cut":
        refuse_untold(schema.time, seen.get("untold", 0))
        return "date"
    if not is_text:
        return None
    refuse_no_zone(schema.time, seen["offsets"], schema)
    return "date" if present == seen["dates"] else "timestamp"


def shared_dates_of(frame: DataFrame, schema: Schema) -> SharedDates | None:
    """What the dates of the time column have in common, where they are to be shifted; only counts by day are told."""
    from pyspark import StorageLevel
    from pyspark.sql import functions
    from pyspark.sql.types import IntegerType, LongType, StructField, StructType

    if schema.time is None or schema.time_as != "shift":
        return None
    from shoal.engines.spark.group import as_arrow
    from shoal.engines.spark.read import frame_of, quoted

    person = functions.monotonically_increasing_id() if schema.person is None else quoted(schema.person)
    given = frame.select(person.alias("person"), quoted(schema.time).alias("time"))
    wanted = StructType([given.schema["person"], StructField("day", IntegerType()), StructField("records", LongType())])
    zone = schema.zone

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = frame_of(batch)
            days = rows.select("person", local_days(rows["time"], zone).days.to_physical().alias("day"))
            counted = days.drop_nulls("day").group_by("person", "day").len("records")
            yield from as_arrow(counted, wanted).to_batches()

    rows = given.mapInArrow(look, wanted).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return _counted(rows)
    finally:
        rows.unpersist()


def _counted(rows: DataFrame) -> SharedDates:
    from pyspark.sql import functions

    placeholders = pl.Series(PLACEHOLDERS).to_physical().to_list()
    day = functions.col("day")
    is_none = day.isin(placeholders)
    by_day = rows.groupBy("day").agg(functions.count_distinct("person").alias("n"), functions.sum("records").alias("r"))
    told = by_day.toArrow()
    days, n, records = (np.asarray(told[name].to_pylist(), np.int64) for name in ("day", "n", "r"))
    none = np.isin(days, placeholders)
    persons = int(rows.filter(~is_none).select("person").distinct().count())
    real, n_real, r_real = days[~none], n[~none], records[~none]
    shared = is_shared(n_real, persons)
    found = np.sort(real[shared]).astype(np.int32)
    is_found = day.isin(found.tolist()) if len(found) else functions.lit(False)
    each = rows.groupBy("person").agg(
        functions.bool_or(is_none).alias("none"),
        functions.bool_or(is_found).alias("shares"),
        functions.min(functions.when(~is_none, day)).alias("first"),
        functions.max(functions.when(~is_none, day)).alias("last"),
    )
    ends = [functions.col(name).isin(found.tolist()) for name in ("first", "last")]
    counted = each.agg(
        functions.count_if("none"), functions.count_if("shares"), functions.count_if(ends[0] | ends[1])
    ).first()
    assert counted is not None
    return SharedDates(
        persons=persons,
        placeholder_records=int(records[none].sum()),
        placeholder_persons=int(counted[0]),
        dates=len(found),
        sharing_records=int(r_real[shared].sum()),
        sharing_persons=int(counted[1]),
        at_an_end=int(counted[2]),
        days=found,
    )
