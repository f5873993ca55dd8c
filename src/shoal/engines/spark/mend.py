"""A Spark frame mended as a policy says: executors mend their batches, and what they changed is added up."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.engines.spark.errors import ExecutorError
from shoal.engines.spark.group import in_batches
from shoal.engines.spark.read import frame_of, mapped
from shoal.policy.mend import MendChoices
from shoal.reading.mend import MendedParts, mend

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def mended(frame: DataFrame, choices: MendChoices) -> tuple[DataFrame, tuple[dict[str, Any], ...]]:
    """The frame mended, and how many records each step changed.

    Every batch is looked at once before: what is refused in memory is refused here, with the counts of the whole table.

    Raises
    ------
    SchemaError, InputError
        As `shoal.reading.mend.mend`, in the same words.
    """
    form = _form(frame, choices)

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            with ExecutorError.instead():
                made = mend(frame_of(batch), choices, is_part=True)
            told = pickle.dumps((batch.num_rows, made.changes, made.refused))
            yield pa.RecordBatch.from_arrays([pa.array([told], pa.binary())], names=["seen"])

    def mend_all(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            with ExecutorError.instead():
                made = mend(frame_of(batch), choices, is_part=True)
                for each in made.refused:
                    raise each.error()  # a frame that is another each time it is made
            yield from in_batches(made.frame, form)

    parts = MendedParts()
    for row in mapped(frame, look, "seen binary").collect():
        parts.add(*pickle.loads(row["seen"]))
    return mapped(frame, mend_all, form), parts.told()


def _form(frame: DataFrame, choices: MendChoices) -> StructType:
    """The columns as they are when they are mended: texts and ages are new, all others stay of their types."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    before = frame_of(to_arrow_schema(frame.schema).empty_table())
    after = mend(before, choices, is_part=True).frame
    own = {field.name: field for field in frame.schema.fields}
    new = {pl.String: StringType(), pl.Int64: LongType()}
    return StructType([
        own[name] if name in own and before.schema[name] == dtype else StructField(name, new[dtype.base_type()])
        for name, dtype in after.schema.items()
    ])  # fmt: skip
