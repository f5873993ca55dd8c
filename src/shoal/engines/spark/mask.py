"""What an executor does with a cell: group its persons, mask the groups, give pseudonyms; the library's own stages.

Everything random in it comes from a key that is drawn for the release by the system's secure source, told to the
executors, and thrown away. So nobody can guess or repeat it, and yet a cell that must be made again, since the executor
that made it was lost, comes out the same to the last bit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.engines.spark.code import is_countable
from shoal.engines.spark.errors import ExecutorError
from shoal.engines.spark.group import OWN_CELL, as_arrow
from shoal.engines.spark.read import Facts, frame_of, mapped_by
from shoal.grouping.feasibility import refuse_impossible
from shoal.grouping.grouping import Method
from shoal.masking import secrecy
from shoal.masking.publish import Mask, Published, publish
from shoal.measuring.utility import PartOfLoss, loss_of_part
from shoal.models.contract import Model
from shoal.progress import silent
from shoal.table.own_columns import COUNT, GROUP, MEMBER, PERSONS, RECORDS, what_is_counted
from shoal.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

KIND, ORDER, LOSS = "_shoal_kind", "_shoal_order", "_shoal_loss"
"""Columns of our own: what a line is, where it goes by chance, and what a cell loses."""

PUBLISHED, LINKED, LOST = "release", "linked", "loss"
"""The kinds of lines that a cell gives, besides those of sensitive tables, which are named after their attribute."""

OF_ATTRIBUTE = "attribute:"

BESIDE = (MEMBER, COUNT, PERSONS, RECORDS)
"""Columns of tables beside the published one, where attributes are published apart."""


@dataclass(frozen=True)
class Work:
    """All that an executor must know to protect a cell."""

    facts: Facts
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    key: bytes
    is_one_cell: bool


def keyed_bytes(key: bytes, cell: int) -> Callable[[int], bytes]:
    """Random bytes for one cell, from the release's key: each call gives others, the same calls give the same."""
    drawn = 0

    def draw(n: int) -> bytes:
        nonlocal drawn
        drawn += 1
        seeded = hashlib.shake_256(key)
        seeded.update(f"shoal cell {cell} draw {drawn}".encode())
        return seeded.digest(n)

    return draw


def protect_cell(frame: pl.DataFrame, cell: int, work: Work) -> tuple[pl.DataFrame, PartOfLoss]:
    """The lines that a cell publishes and what the steward keeps of it, and what it loses.

    The records are put in an order of their own first, so that nothing depends on the one they arrive in.
    """
    frame = frame.sort(frame.columns, nulls_last=True)
    table = (work.facts.alone() if work.is_one_cell else work.facts).table(frame)
    if work.is_one_cell and not all(map(is_countable, work.models)):
        refuse_impossible(table, work.models)
    grouping = work.method.group(table, work.models, silent)
    with secrecy.bytes_from(keyed_bytes(work.key, cell)):
        published = publish(table, grouping, work.mask)
        lines = _lines(table, published, grouping.n_groups)
    return lines, loss_of_part(table, grouping, published, work.mask)


def _lines(table: Table, published: Published, n_groups: int) -> pl.DataFrame:
    """Every line of a cell in one frame, with its kind and a random place."""
    number = (secrecy.secret_words(n_groups + 1) >> np.uint64(2)).astype(np.int64)
    frame = _without_categories(published.frame)
    person = table.schema.person
    if person is not None and person in frame.columns:
        names = secrecy.long_pseudonyms(table.n_persons)
        frame = frame.with_columns(names.gather(table.person_of_record[published.record_of_published]).alias(person))
    parts = [(PUBLISHED, frame)]
    parts += [(OF_ATTRIBUTE + name, _without_categories(own)) for name, own in published.tables.items()]
    if published.linked is not None:
        member = (secrecy.secret_words(table.n_persons) >> np.uint64(2)).astype(np.int64)
        linked = _without_categories(published.linked)
        parts.append((LINKED, linked.with_columns(pl.Series(MEMBER, member[linked[MEMBER].to_numpy()]))))
    lines = []
    for kind, rows in parts:
        if published.linked is not None:
            rows = rows.with_columns(pl.Series(GROUP, number[rows[GROUP].to_numpy()]))
        order = secrecy.secret_words(len(rows)).view(np.int64)
        lines.append(rows.with_columns(pl.lit(kind).alias(KIND), pl.Series(ORDER, order)))
    return pl.concat(lines, how="diagonal_relaxed")


def _without_categories(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def cell_maker(work: Work, schema: StructType) -> Callable[[int, Any], Any]:
    """The function that Spark calls for each cell, with its records as an Arrow table."""

    def make(cell: int, arrow: Any) -> Any:
        with ExecutorError.instead():
            lines, loss = protect_cell(frame_of(arrow).drop(OWN_CELL), cell, work)
            lost = pl.DataFrame({KIND: [LOST], LOSS: [json.dumps(asdict(loss))]})
            whole = pl.concat([lines, lost], how="diagonal_relaxed")
            absent = [pl.lit(None).alias(name) for name in schema.fieldNames() if name not in whole.columns]
            return as_arrow(whole.with_columns(*absent), schema)

    return make


def cells(records: DataFrame, work: Work) -> DataFrame:
    """All lines of all cells."""
    schema = schema_of_lines(records, work)
    return mapped_by(records, OWN_CELL, cell_maker(work, schema), schema)


def schema_of_lines(records: DataFrame, work: Work) -> StructType:
    """The columns of the lines that cells give: the published ones, those of tables beside them, and ours."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    facts, mask = work.facts, work.mask
    fields = [
        StructField(field.name, _published_type(field.name, field.dataType, facts, mask))
        for field in records.schema.fields
        if field.name != OWN_CELL
    ]
    if not mask.links_values:
        fields.append(StructField(GROUP, LongType()))
        fields += [StructField(name, LongType()) for name in BESIDE]
    return StructType(
        [*fields, StructField(KIND, StringType()), StructField(ORDER, LongType()), StructField(LOSS, StringType())]
    )


def _published_type(name: str, given: DataType, facts: Facts, mask: Mask) -> DataType:
    """The type of a column as it is published."""
    from pyspark.sql.types import DateType, DoubleType, IntegerType, StringType, TimestampNTZType

    schema = facts.schema
    if name == schema.person:
        return StringType()
    if name == schema.time and schema.time_as == "sequence":
        return IntegerType()
    if name == schema.time:
        return {"date": DateType(), "timestamp": TimestampNTZType()}.get(facts.time_type or "", given)
    if name not in facts.quasi:
        return given
    column = facts.quasi[name]
    if mask.name == "mean" and column.kind == "number":
        return DoubleType()
    return given if mask.shows_identities and _one_record_per_person(facts, mask) else StringType()


def _one_record_per_person(facts: Facts, mask: Mask) -> bool:
    return facts.one_record_per_person or not (mask.links_values or mask.has_tables)


def published_columns(lines: DataFrame, work: Work) -> list[str]:
    """The columns of the published table, in their order."""
    names = [name for name in lines.columns if name not in (KIND, ORDER, LOSS)]
    if work.mask.links_values:
        return names
    facts = work.facts
    beside = set(BESIDE)
    if work.mask.has_tables:
        beside |= {*facts.schema.sensitive, *([facts.schema.person] if facts.schema.person else [])}
    return [name for name in names if name not in beside]


def columns_of_table(work: Work, name: str) -> list[str]:
    """The columns of the sensitive table of an attribute."""
    counted = what_is_counted(
        one_record_per_person=work.facts.one_record_per_person, shows_identities=work.mask.shows_identities
    )
    return [GROUP, name, *counted]


def losses(texts: Sequence[str]) -> list[PartOfLoss]:
    """What cells lose, from what they told."""
    parts = []
    for text in texts:
        told = json.loads(text)
        told["moments"] = {name: tuple(pair) for name, pair in told["moments"].items()}
        told["categories"] = {name: tuple(counts) for name, counts in told["categories"].items()}
        parts.append(PartOfLoss(**told))
    return parts
