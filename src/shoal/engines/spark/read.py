"""What must be known of a whole table before its parts can be worked on: kinds, extents, categories and their counts.

Every partition is looked at with the same readers of values that the engine in memory has, and what they saw is added
up on the driver. So a column is of the same kind, and has the same units and categories, whichever engine reads it.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.engines.spark.times import checked_time_type, look_at_times, shared_dates_of
from shoal.errors import InputError, SchemaError
from shoal.table.columns import (
    LARGEST_WHOLE_NUMBER,
    MOST_DECIMALS,
    CategoryColumn,
    Codes,
    NumberColumn,
    Whole,
    code_values,
    codes_of_one,
    persons_of,
    quasi_column,
)
from shoal.table.frames import refuse_patterns
from shoal.table.sample import refuse_faults, refuse_those_who_differ, refuse_too_small
from shoal.table.schema import Date, Nominal, Number, Ordered, Quasi, Schema
from shoal.table.spelling import letters_in, may_differ_by_case, spelled, told_of_persons, told_of_values
from shoal.table.table import QuasiColumn, Table
from shoal.table.times import SharedDates, local_days, notes_on_shared, refuse_shared, refuse_untold

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from shoal.engines.contract import Job
    from shoal.policy.policy import QuasiChoices
    from shoal.table.hierarchy import Hierarchy

MOST_CATEGORIES = 1_000_000
"""The most different values that a column of categories may have: every executor keeps a list of them."""

WHOLE_TEXT = r"^[+-]?\d+$"
UNPUBLISHABLE = ("array", "map", "struct", "binary", "interval", "daytimeinterval", "yearmonthinterval", "variant")
SMALLEST_PLAIN = 1e-3
"""Floats below this may be written with an exponent, which has a dash."""


@dataclass(frozen=True)
class QuasiFacts:
    """A quasi-identifier of the whole table: how values become units or codes."""

    source: Quasi
    kind: str
    """number, date, ordered or nominal."""
    has_missing: bool
    whole: Whole | None = None
    is_text: bool = False
    is_whole: bool = True
    """Whether every number is a whole number."""
    decimals: int | None = 0
    """How many decimals numbers have; None where they stay floats on a grid."""
    width: int = 0
    halves: tuple[float, float] = (0.0, 0.0)
    """Half the lowest and half the highest float, for the grid."""
    categories: pl.Series | None = None
    zone: str | None = None
    """The time zone in which days are counted."""

    def column(self, values: pl.Series) -> QuasiColumn:
        """Some records of the column, with what the whole table says of it."""
        if self.kind == "nominal":
            assert self.categories is not None
            codes = codes_in(_as_texts(values), self.categories)
            return CategoryColumn(values.name, codes, self.categories, self.has_missing, self.source)
        if self.kind == "number":
            return self._numbers(values)
        column = quasi_column(values, self.source, lambda record: None, self.zone)
        assert isinstance(column, NumberColumn)
        return replace(column, whole=self._known)

    def _numbers(self, values: pl.Series) -> NumberColumn:
        missing = values.is_null().to_numpy() if values.null_count() else None
        if self.is_whole:
            units = values.cast(pl.Int64).fill_null(0).to_numpy()
            return NumberColumn(
                values.name, "number", units, missing, width=self.width, source=self.source, whole=self._known
            )
        floats = values.cast(pl.Float64).fill_null(0.0).to_numpy()
        if self.decimals is not None:
            units = np.rint(floats * 10.0**self.decimals).astype(np.int64)
            return NumberColumn(
                values.name, "number", units, missing, decimals=self.decimals, source=self.source, whole=self._known
            )
        units = on_grid(floats, self.halves)
        if missing is not None:
            units = np.where(missing, 0, units)
        return NumberColumn(values.name, "number", units, missing, floats=floats, source=self.source, whole=self._known)

    @property
    def _known(self) -> Whole | None:
        """What is known of the whole column where only some of its records are held."""
        if self.whole is None:
            return None
        ends = (2 * self.halves[0], 2 * self.halves[1]) if self.decimals is None else None
        return replace(self.whole, has_missing=self.has_missing, ends=ends)


@dataclass(frozen=True)
class SensitiveFacts:
    """A sensitive attribute of the whole table: its values, and how many records and persons have each."""

    categories: pl.Series
    has_missing: bool
    records: np.ndarray[Any, np.dtype[np.int64]]
    persons: np.ndarray[Any, np.dtype[np.int64]]
    spelling: str
    written: pl.Series | None = None
    """The values as they are written, where some are one."""
    code_of_written: Codes | None = None
    """The code of each of these, and of a missing one behind them."""

    def codes(self, values: pl.Series) -> Codes:
        """The code of each value; missing has the code behind the last."""
        if self.written is None or self.code_of_written is None:
            return codes_in(values, self.categories)
        return self.code_of_written[codes_in(values, self.written)]

    def column(self, values: pl.Series) -> CategoryColumn:
        """Some records of the attribute."""
        return CategoryColumn(
            values.name, self.codes(values), self.categories, self.has_missing, None, (self.records, self.persons),
            self.spelling, None if self.written is None else len(self.written),
        )  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What every part of a table must know of the whole."""

    schema: Schema
    quasi: Mapping[str, QuasiFacts]
    sensitive: Mapping[str, SensitiveFacts]
    n_records: int
    one_record_per_person: bool = False
    time_type: str | None = None
    """Of a column of times that is shifted: "date" or "timestamp"."""
    notes: tuple[str, ...] = ()
    shared_dates: SharedDates | None = None
    """What dates that are shifted have in common."""

    def table(self, frame: pl.DataFrame) -> Table:
        """Some records as a table; no person may have others elsewhere."""
        person, n_persons = persons_of(frame, self.schema)
        quasi = {name: facts.column(frame[name]) for name, facts in self.quasi.items()}
        sensitive = {name: facts.column(frame[name]) for name, facts in self.sensitive.items()}
        return Table(
            self.schema, frame, "polars", person, n_persons, quasi, sensitive, self.notes,
            is_of_several=not self.one_record_per_person, shared_dates=self.shared_dates,
        )  # fmt: skip

    def missing_and_codes(self) -> dict[str, tuple[int, int]]:
        """Of each sensitive attribute, how many records miss it, and how many values it has."""
        return {
            name: (int(column.records[-1]) if column.has_missing else 0, len(column.categories) + column.has_missing)
            for name, column in self.sensitive.items()
        }

    def alone(self) -> Facts:
        """The same for a part that is the whole table, which can see by itself what parts must be told."""
        quasi = {
            name: replace(facts, whole=None if facts.whole is None else Whole(facts.whole.extent))
            for name, facts in self.quasi.items()
        }
        return replace(self, quasi=quasi)


def on_grid(floats: np.ndarray[Any, Any], halves: tuple[float, float]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Floats that have no common unit on a fine grid over their extent, as the engine in memory lays them."""
    low, high = halves
    span = high - low if high > low else 1.0
    return np.asarray(np.rint((floats / 2 - low) / span * 2.0**40).astype(np.int64))


def codes_in(values: pl.Series, categories: pl.Series) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The place of each value among the categories of the whole table; missing has the place behind the last."""
    n = len(categories)
    if categories.dtype == pl.String:
        codes = values.cast(pl.String).cast(pl.Enum(categories)).to_physical().cast(pl.Int32)
        return np.asarray(codes.fill_null(n).to_numpy())
    if values.dtype.is_float():
        values = values.fill_nan(None)
    places = pl.DataFrame({"value": categories, "place": np.arange(n, dtype=np.int32)})
    found = values.alias("value").to_frame().join(places, on="value", how="left", maintain_order="left")["place"]
    return np.asarray(found.fill_null(n).to_numpy())


def quoted(name: str) -> Column:
    """A column by its name, whatever signs that has."""
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def mapped(frame: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], form: Any) -> DataFrame:
    """What a function makes of the batches of a frame, whatever its columns are called.

    Spark itself looks columns up by their names here, and takes a dot or a backtick in one for something else.
    """
    names = frame.columns

    def named(batches: Iterator[Any]) -> Iterator[Any]:
        return function(batch.rename_columns(names) for batch in batches)

    return _with_plain_names(frame).mapInArrow(named, form)


def mapped_by(frame: DataFrame, by: str, function: Callable[[int, Any], Any], form: Any) -> DataFrame:
    """What a function makes of the records that have the same number in a column: of the number and an Arrow table."""
    names = frame.columns

    def named(key: tuple[Any, ...], table: Any) -> Any:
        return function(int(key[0].as_py()), table.rename_columns(names))

    plain = _with_plain_names(frame)
    return plain.groupBy(plain.columns[names.index(by)]).applyInArrow(named, form)


def _with_plain_names(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def frame_of(batch: Any) -> pl.DataFrame:
    """An Arrow batch or table as a polars frame."""
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame.rename(dict(zip(frame.columns, batch.schema.names, strict=True)))  # polars renames what has no name


def refuse_misfits(frame: DataFrame, schema: Schema) -> None:
    """Refuse a Spark frame that the schema does not fit, before anything is run."""
    names = [field.name for field in frame.schema.fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{len(twice)} column names occur more than once: {', '.join(twice)}. Rename or drop them.")
    refuse_patterns("The frame", names)
    schema.check_against(names)
    published = schema.published()
    odd = [
        field.name
        for field in frame.schema.fields
        if field.name in published and field.dataType.typeName().split("(")[0].split(" ")[0] in UNPUBLISHABLE
    ]
    if odd:
        raise InputError(
            f"Columns of lists, structures, bytes or durations cannot be published: {', '.join(odd)}. "
            "Make them text or numbers, or drop them."
        )


def facts_of(frame: DataFrame, schema: Schema, *, with_persons: bool) -> tuple[DataFrame, Facts]:
    """The records that are worked on (without those that the schema leaves out), and what is known of all of them.

    Parameters
    ----------
    with_persons
        Whether it is needed how many persons have each sensitive value.
    """
    frame, notes = _without_missing(_with_plain_floats(frame, schema), schema)
    seen = _look_at_all(frame, schema)
    n_records = seen["records"]
    if not n_records:
        raise InputError("The table has no records.")
    if seen["missing_persons"]:
        raise SchemaError(
            f"The person column '{schema.person}' is missing in {seen['missing_persons']:,} of {n_records:,} records. "
            "Without it their risk cannot be counted: fill it in, or leave those records out."
        )
    quasi = {
        column.name: _quasi_facts(frame, column, seen["columns"][column.name], schema.zone) for column in schema.columns
    }
    frame, told = _with_persons_spelled(frame, schema, seen)
    sensitive = {
        name: sensitive_facts(frame, name, schema.spelling_of(name), schema.person if with_persons else None)
        for name in schema.sensitive
    }
    for name, column in sensitive.items():
        if column.written is not None:
            told += told_of_values(name, column.spelling, len(column.written), len(column.categories))
    time_type = checked_time_type(schema, seen["time"])
    shared = shared_dates_of(frame, schema)
    refuse_shared(schema, shared)
    notes = (*notes, *told, *notes_on_shared(schema, shared))
    return frame, Facts(schema, quasi, sensitive, n_records, schema.person is None, time_type, notes, shared)


def _with_plain_floats(frame: DataFrame, schema: Schema) -> DataFrame:
    """Floats that count as one value written as one, as in memory: -0.0 as 0.0, NaN as missing where values stay."""
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, FloatType

    columns = []
    for own in frame.schema.fields:
        column = quoted(own.name)
        if isinstance(own.dataType, DoubleType | FloatType) and own.name != schema.person:
            zero = functions.lit(0.0).cast(own.dataType)
            plain = functions.when(column == zero, zero).otherwise(column)
            if own.name in (*schema.sensitive, *schema.kept):
                plain = functions.when(~functions.isnan(column), plain)
            column = plain.alias(own.name)
        columns.append(column)
    return frame.select(*columns)


def _without_missing(frame: DataFrame, schema: Schema) -> tuple[DataFrame, tuple[str, ...]]:
    """Apply the schema's choice about missing quasi-identifiers."""
    from pyspark.sql import functions

    if schema.missing == "value":
        return frame, ()
    every = functions.count(functions.lit(1))
    is_null = [functions.count_if(quoted(name).isNull()) for name in schema.quasi_names]
    complete = functions.lit(True)
    for name in schema.quasi_names:
        complete = complete & quoted(name).isNotNull()
    n_records, n_complete, *counts = frame.agg(every, functions.count_if(complete), *is_null).first()  # type: ignore[misc]
    missing = zip(schema.quasi_names, counts, strict=True)
    named = ", ".join(f"'{name}' in {count:,}" for name, count in missing if count)
    if not named:
        return frame, ()
    if schema.missing == "refuse":
        raise SchemaError(f"Missing quasi-identifiers are refused: {named} of {n_records:,} records.")
    if not n_complete:
        raise InputError(f"Every record misses a quasi-identifier ({named}); none is left.")
    note = (
        f"{n_records - n_complete:,} of {n_records:,} records were left out because a quasi-identifier is missing "
        f"({named})."
    )
    return frame.filter(complete), (note,)


def _look_at_all(frame: DataFrame, schema: Schema) -> dict[str, Any]:
    """Look at every partition, and add up what was seen."""
    kinds = {column.name: column.kind for column in schema.columns if not _is_coded(column)}
    watched = [*schema.quasi_names, *(name for name in (schema.person, schema.time) if name is not None)]

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        seen: dict[str, Any] | None = None
        for batch in batches:
            own = _look(frame_of(batch), schema, kinds)
            seen = own if seen is None else _added(seen, own)
        if seen is not None:
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(seen)], pa.binary())], names=["seen"])

    rows = mapped(frame.select(*map(quoted, watched)), look, "seen binary").collect()
    total: dict[str, Any] = {"records": 0, "missing_persons": 0, "columns": {}, "time": None, "letters": {}}
    for row in rows:
        own = pickle.loads(row["seen"])
        total = own if not total["records"] else _added(total, own)
    return total


def _is_coded(column: Quasi) -> bool:
    """Whether a quasi-identifier is one of categories, whatever its values are."""
    return isinstance(column, Nominal | Ordered) or (column.kind == "auto" and column.hierarchy is not None)


def _look(frame: pl.DataFrame, schema: Schema, kinds: Mapping[str, str]) -> dict[str, Any]:
    persons = None if schema.person is None else frame[schema.person]
    missing_persons = 0
    if persons is not None:
        missing_persons = persons.null_count() + (int(persons.is_nan().sum()) if persons.dtype.is_float() else 0)
    letters: dict[str, int] = {}
    if persons is not None and persons.dtype == pl.String:
        ids, form = persons.drop_nulls().unique(), schema.spelling_of(str(schema.person))
        found = letters_in(ids) | ({"odd"} if spelled(ids, form) is not ids else set())
        letters = {kind: int(kind in found) for kind in ("odd", "other", "capital", "small")}
    columns = {name: _look_at(frame[name], kinds.get(name), schema.zone) for name in schema.quasi_names}
    time = None if schema.time is None else look_at_times(frame[schema.time], schema.zone)
    return {
        "records": len(frame), "missing_persons": missing_persons, "columns": columns, "time": time, "letters": letters,
    }  # fmt: skip


MOST, LEAST = "most ", "least "


def _added(first: Any, second: Any) -> Any:
    """What was seen in two parts together: sums, but the most and the least where a name begins so."""
    if first is None or second is None:
        return first if second is None else second
    return {
        key: _added(first[key], second[key])
        if isinstance(first[key], dict) or first[key] is None
        else max(first[key], second[key])
        if key.startswith(MOST)
        else min(first[key], second[key])
        if key.startswith(LEAST)
        else first[key] + second[key]
        for key in first
    }


def _look_at(values: pl.Series, kind: str | None, zone: str | None) -> dict[str, Any]:
    """What one part of a quasi-identifier shows of its kind and extent."""
    present = values.drop_nulls()
    seen: dict[str, Any] = {"present": len(present), "missing": values.null_count()}
    if kind is None or values.dtype == pl.Boolean:
        return seen
    if kind == "date" or values.dtype.is_temporal():
        if present.dtype not in (pl.String, pl.Date, pl.Datetime):
            return {**seen, "no dates": len(present)}
        dates, is_untold = local_days(present, zone)
        days = dates.to_physical()
        ends = (days.min(), days.max()) if days.len() > days.null_count() else (math.inf, -math.inf)
        return {
            **seen, "no dates": days.null_count(), "untold": int(is_untold.sum()), LEAST + "unit": ends[0],
            MOST + "unit": ends[1],
        }  # fmt: skip
    if values.dtype == pl.String:
        lengths = present.str.len_chars()
        seen |= {
            "whole": len(present) - present.cast(pl.Int64, strict=False).null_count(),
            "digits": int(present.str.contains(WHOLE_TEXT).sum()),
            "zeros": int(present.str.starts_with("0").sum()),
            MOST + "length": lengths.max() if len(present) else -1,
            LEAST + "length": lengths.min() if len(present) else math.inf,
        }
    elif not values.dtype.is_numeric():
        return seen
    if values.dtype.is_integer():
        ends = (int(present.min()), int(present.max())) if len(present) else (math.inf, -math.inf)  # type: ignore[arg-type]
        return {**seen, "whole": len(present), LEAST + "unit": ends[0], MOST + "unit": ends[1]}
    whole = present.cast(pl.Int64, strict=False) if values.dtype == pl.String else present.clear()
    has_whole = whole.len() > whole.null_count()
    seen |= {
        LEAST + "unit": int(whole.min()) if has_whole else math.inf,  # type: ignore[arg-type]
        MOST + "unit": int(whole.max()) if has_whole else -math.inf,  # type: ignore[arg-type]
        **_look_at_floats(present.cast(pl.Float64, strict=False).drop_nulls()),
    }
    return seen


def _look_at_floats(numbers: pl.Series) -> dict[str, Any]:
    floats = numbers.to_numpy()
    is_odd = ~np.isfinite(floats)
    floats = floats[~is_odd]
    seen: dict[str, Any] = {
        "numbers": len(numbers), "odd": int(is_odd.sum()),
        "tiny": int(((floats != 0) & (abs(floats) < SMALLEST_PLAIN)).sum()),
        LEAST + "float": float(floats.min()) if len(floats) else math.inf,
        MOST + "float": float(floats.max()) if len(floats) else -math.inf,
    }  # fmt: skip
    for decimals in range(MOST_DECIMALS + 1):
        with np.errstate(over="ignore"):
            scaled = np.rint(floats * 10.0**decimals)
        seen[f"{MOST}size {decimals}"] = float(np.abs(scaled).max(initial=0))
        seen[f"finer {decimals}"] = int((scaled / 10.0**decimals != floats).sum())
    return seen


def _quasi_facts(frame: DataFrame, column: Quasi, seen: Mapping[str, Any], zone: str | None) -> QuasiFacts:
    """What the parts showed of a quasi-identifier, as the engine in memory would take it."""
    column = _of_kind(frame, column, seen)
    has_missing = bool(seen["missing"])
    if isinstance(column, Nominal | Ordered):
        distinct = distinct_values(frame, column.name)
        coded = quasi_column(distinct, column, lambda record: None)
        if isinstance(coded, CategoryColumn):
            return QuasiFacts(column, "nominal", coded.has_missing, categories=coded.categories)
        ordered = Ordered(column.name, column.hierarchy, coded.categories)
        return QuasiFacts(ordered, "ordered", has_missing, whole=Whole(coded.extent))
    low, high = seen.get(LEAST + "unit", 0), seen.get(MOST + "unit", 0)
    extent = (int(low), int(high)) if low <= high else (0, 0)
    if isinstance(column, Date):
        if seen.get("no dates"):
            raise SchemaError(
                f"'{column.name}' is named as a date, but {seen['no dates']:,} of its values are not of the form "
                "2024-12-31."
            )
        refuse_untold(column.name, seen.get("untold", 0))
        return QuasiFacts(column, "date", has_missing, whole=Whole(extent), zone=zone)
    is_text = "digits" in seen
    if seen.get("whole", 0) == seen["present"]:
        if max(map(abs, extent)) > LARGEST_WHOLE_NUMBER:
            raise _too_large(column)
        width = int(seen[MOST + "length"]) if is_text and _is_padded(seen) else 0
        whole = Whole(extent, has_dashes=extent[0] < 0)
        return QuasiFacts(column, "number", has_missing, whole=whole, is_text=is_text, width=width)
    return _float_facts(column, seen, has_missing, is_text=is_text)


def _is_padded(seen: Mapping[str, Any]) -> bool:
    return bool(seen["zeros"]) and seen[MOST + "length"] == seen[LEAST + "length"] >= 2


def _too_large(column: Quasi) -> SchemaError:
    return SchemaError(
        f"'{column.name}' has whole numbers of 19 digits or more. Take it as nominal: {column.name}:nominal, or drop "
        "it."
    )


def _of_kind(frame: DataFrame, column: Quasi, seen: Mapping[str, Any]) -> Quasi:
    """The column with the kind that the schema says or all its values show."""
    if _is_coded(column):
        return column if column.kind != "auto" else Nominal(column.name, column.hierarchy)
    present, n_numbers = seen["present"], seen.get("numbers", seen.get("whole"))
    if column.kind == "number" and n_numbers is None:
        raise SchemaError(
            f"'{column.name}' is named as a number, but the column is of type "
            f"{frame.schema[column.name].dataType.simpleString()}. Take it as nominal or, where it holds dates, as a "
            f"date: {column.name}:nominal, {column.name}:date."
        )
    if column.kind == "number" and n_numbers < present:
        raise SchemaError(
            f"'{column.name}' is named as a number, but {present - n_numbers:,} of its {present:,} values are "
            f"text. Mend them, or take the column as nominal: {column.name}:nominal."
        )
    if column.kind != "auto":
        return column
    if "no dates" in seen:
        return Date(column.name)
    if n_numbers is None or (n_numbers == 0 and "digits" in seen):
        return Nominal(column.name)
    if n_numbers < present:
        raise SchemaError(
            f"'{column.name}' holds {n_numbers:,} numbers and {present - n_numbers:,} other values. Say which kind it "
            f"is: {column.name}:number, {column.name}:nominal, {column.name}:ordered or {column.name}:date."
        )
    return Number(column.name)


def _float_facts(column: Quasi, seen: Mapping[str, Any], has_missing: bool, *, is_text: bool) -> QuasiFacts:
    if seen["odd"]:
        raise SchemaError(
            f"'{column.name}' has {seen['odd']:,} values that are infinite or not a number. Leave them empty, or drop "
            "those records."
        )
    if is_text and seen["digits"] == seen["present"]:
        raise _too_large(column)
    low, high = seen[LEAST + "float"], seen[MOST + "float"]
    for decimals in range(MOST_DECIMALS + 1):
        if seen[f"{MOST}size {decimals}"] >= 2**53:
            break
        if not seen[f"finer {decimals}"]:
            ends = tuple(int(np.rint(end * 10.0**decimals)) for end in (low, high))
            whole = Whole((ends[0], ends[1]), has_dashes=low < 0)
            return QuasiFacts(
                column, "number", has_missing, whole=whole, is_text=is_text, is_whole=False, decimals=decimals
            )
    halves = (low / 2, high / 2)
    units = on_grid(np.array([low, high]), halves)
    whole = Whole((int(units[0]), int(units[1])), has_dashes=low < 0 or bool(seen["tiny"]))
    return QuasiFacts(
        column, "number", has_missing, whole=whole, is_text=is_text, is_whole=False, decimals=None, halves=halves
    )


def _as_texts(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        values = values.fill_nan(None)
    return values if values.dtype == pl.String else values.cast(pl.String)


def distinct_values(frame: DataFrame, name: str) -> pl.Series:
    """The different values of a column, missing among them."""
    distinct = frame.select(quoted(name).alias("value")).distinct().limit(MOST_CATEGORIES + 1).toArrow()
    _refuse_many(name, distinct.num_rows)
    return frame_of(distinct)["value"].alias(name)


def _refuse_many(name: str, n_values: int) -> None:
    if n_values > MOST_CATEGORIES:
        raise SchemaError(
            f"'{name}' has more than {MOST_CATEGORIES:,} different values, and every executor would have to know all "
            "of them. Group them first, or take a quasi-identifier as a number."
        )


def _with_persons_spelled(frame: DataFrame, schema: Schema, seen: Mapping[str, Any]) -> tuple[DataFrame, list[str]]:
    """The records with ids of persons in the form by which they are told apart, and what to tell of that.

    Executors write the ids anew where some are not in that form already, and only then.
    """
    form = "exact" if schema.person is None else schema.spelling_of(schema.person)
    letters = {kind for kind, n in seen["letters"].items() if n}
    if form == "exact" or not letters:
        return frame, []
    name = str(schema.person)
    written, frame = frame, _spelled(frame, schema, form) if "odd" in letters else frame
    asks_case = form == "plain" and may_differ_by_case(letters)
    if written is frame and not asks_case:
        return frame, []
    n_persons = frame.select(quoted(name)).distinct().count()
    n_written = n_persons if written is frame else written.select(quoted(name)).distinct().count()
    n_folded = _spelled(frame, schema, "folded").select(quoted(name)).distinct().count() if asks_case else None
    return frame, told_of_persons(name, form, n_written, n_persons, n_folded)


def _spelled(frame: DataFrame, schema: Schema, form: str) -> DataFrame:
    """The records, without columns that are dropped, and with ids of persons in a form."""
    kept = frame.select(*(quoted(column) for column in frame.columns if column not in schema.dropped))
    return with_spelled(kept, {str(schema.person): form})


def with_spelled(frame: DataFrame, form_of_column: Mapping[str, str]) -> DataFrame:
    """The records with some columns, by name, each in a form."""
    form_of_place = {frame.columns.index(name): form for name, form in form_of_column.items()}

    def spell(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for place, form in form_of_place.items():
                values = pl.from_arrow(batch.column(place))
                assert isinstance(values, pl.Series)
                column = spelled(values, form).to_arrow().cast(batch.schema.field(place).type)
                batch = batch.set_column(place, batch.schema.field(place), column)
            yield batch

    return mapped(frame, spell, frame.schema)


def sensitive_facts(frame: DataFrame, name: str, spelling: str, person: str | None = None) -> SensitiveFacts:
    """The values of a sensitive attribute, and how many records and persons of the whole table have each.

    Without a person column persons are not told apart from records.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, FloatType

    value = quoted(name)
    if isinstance(frame.schema[name].dataType, DoubleType | FloatType):
        value = functions.when(functions.isnan(value), functions.lit(None)).otherwise(value)
    every = functions.count(functions.lit(1))
    if person is None:
        counted = frame.groupBy(value.alias("value")).agg(every.alias("records"))
        counted = counted.withColumn("persons", functions.col("records"))
    else:
        pairs = frame.groupBy(value.alias("value"), quoted(person).alias("person")).agg(every.alias("records"))
        counted = pairs.groupBy("value").agg(functions.sum("records").alias("records"), every.alias("persons"))
    arrow = counted.limit(MOST_CATEGORIES + 1).toArrow()
    _refuse_many(name, arrow.num_rows)
    rows = frame_of(arrow)
    facts = facts_of_counts(rows, name, spelling)
    if person is None or facts.written is None:
        return facts
    codes = pl.DataFrame({"value": rows["value"], "code": facts.codes(rows["value"])})
    code_of = functions.broadcast(frame.sparkSession.createDataFrame(codes.to_arrow()))
    coded = pairs.join(code_of, pairs["value"].eqNullSafe(code_of["value"])).select("person", "code").distinct()
    persons = np.zeros(len(facts.persons), np.int64)
    for row in coded.groupBy("code").count().collect():
        persons[row["code"]] = row["count"]
    return replace(facts, persons=persons)


def facts_of_counts(rows: pl.DataFrame, name: str, spelling: str) -> SensitiveFacts:
    """The facts of an attribute from how many `records` and `persons` have each `value`; persons of one add up."""
    _, distinct = code_values(rows["value"])
    one = codes_of_one(distinct, spelling)
    has_missing = bool(rows["value"].null_count() or (rows["value"].dtype.is_float() and rows["value"].is_nan().any()))
    nothing = np.zeros(0, np.int64)
    facts = SensitiveFacts(distinct, has_missing, nothing, nothing, spelling)
    if one is not None:
        facts = replace(facts, categories=one[1], written=distinct, code_of_written=one[0])
    codes, n_codes = facts.codes(rows["value"].alias(name)), len(facts.categories) + has_missing
    records, persons = (np.zeros(n_codes, np.int64) for _ in range(2))
    np.add.at(records, codes, rows["records"].to_numpy())
    np.add.at(persons, codes, rows["persons"].to_numpy())
    return replace(facts, records=records, persons=persons)


def schema_for(job: Job, frame: DataFrame) -> Schema:
    """The schema of a job, with hierarchies; those of prefixes and ICD codes are made from the values of a column."""
    if job.given_schema is not None:
        return job.given_schema
    policy = job.policy

    def hierarchy_of(column: QuasiChoices) -> Hierarchy | None:
        if column.hierarchy is None or column.name not in frame.columns:
            return None
        values = distinct_values(frame if column.hierarchy.is_made_from_values else frame.limit(0), column.name)
        return column.hierarchy.hierarchy(column.name, policy.folder, values.to_frame())

    return policy.columns.schema_with(hierarchy_of)


def refuse_unfit_weights(frame: DataFrame, schema: Schema) -> None:
    """Refuse weights that are missing, no numbers, not above 0, that differ inside a person, or that were scaled."""
    if schema.weight is None:
        return
    from pyspark.sql import functions

    name, column = schema.weight, quoted(schema.weight)
    number = column.try_cast("double")
    is_missing = column.isNull() | functions.coalesce(functions.isnan(number), functions.lit(False))
    faults = {
        "is missing": is_missing, "is no number": column.isNotNull() & number.isNull(), "is 0": number == 0,
        "is negative": number < 0, "is infinite": functions.abs(number) == math.inf,
    }  # fmt: skip
    found = frame.agg(functions.count("*"), *map(functions.count_if, faults.values())).first()
    assert found is not None
    refuse_faults(
        name, [f"{what} in {n:,} of {found[0]:,} records" for what, n in zip(faults, found[1:], strict=True) if n]
    )
    of_records = frame.select(number.alias("_weight"), *([quoted(schema.person)] if schema.person is not None else []))
    whose = [quoted(schema.person)] if schema.person is not None else [functions.monotonically_increasing_id()]
    low, high = functions.min("_weight").alias("_low"), functions.max("_weight").alias("_high")
    of_persons = of_records.groupBy(*whose).agg(low, high)
    told = of_persons.agg(
        functions.count("*"), functions.count_if(functions.expr("_low < _high")), functions.sum("_low")
    ).first()
    assert told is not None
    refuse_those_who_differ(told[1], told[0], name, "weight")
    refuse_too_small(told[2], told[0], name)
