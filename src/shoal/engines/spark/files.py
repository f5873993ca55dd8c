"""CSV and Parquet files that executors read with shoal's own readers.

What is a record and what is a value is decided in one place, `shoal.reading`, for every engine. Spark's own readers
have other ideas of quotes, line breaks, short lines, types and names, and forget some of them where a column is not
asked for. So the driver only says which executor reads which piece of which file. Every piece is read once in full
before anything else is done: what is refused in memory is refused here, in the same words.
"""

from __future__ import annotations

import codecs
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import polars as pl

from shoal import errors
from shoal.engines.spark.errors import ExecutorError, explained
from shoal.engines.spark.group import in_batches
from shoal.errors import InputError, ShoalError
from shoal.policy.mend import MendChoices
from shoal.reading import CsvOptions, Reading, format_of_ending, formats_on, is_on
from shoal.reading.combine import note_on_counts, put_under_one_another
from shoal.reading.csv import (
    BLOCK_BYTES,
    Block,
    CsvBlocks,
    Head,
    Quotes,
    csv_of_bytes,
    read_csv_blocks,
    records_of_block,
)
from shoal.reading.encoding import is_utf8
from shoal.reading.mend import columns_of, mend
from shoal.reading.packed import is_packed
from shoal.reading.parquet import number_of_records, parquet_of_bytes, read_records
from shoal.reading.source import Source, check_is_file, read_bytes, refuse_pipe
from shoal.table.schema import Nominal, Ordered, Quasi, Schema
from shoal.table.table import refuse_unpublishable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

RECORDS_PER_PIECE = 250_000
"""So many records of a Parquet file are read at a time."""
BYTES_PER_TASK = 1 << 25
"""Small files are read by one task after the other, until they have so many bytes together."""
MOST_BYTES = 2**31 - 1
"""The largest file that Spark hands to an executor, where only Spark can reach it."""
WIDE = (pl.UInt64, pl.Int128, pl.UInt128)
"""Whole numbers for which Spark has no type."""


@dataclass(frozen=True)
class Tables:
    """What files hold together: a Spark frame, the types that the files have, and what there is to tell."""

    frame: DataFrame
    types: Mapping[str, pl.DataType]
    notes: tuple[str, ...]

    def kinds(self, schema: Schema) -> Schema:
        """The schema with what the files' own types say of kinds, which Spark's do not."""
        return replace(schema, quasi=tuple(self._kind(column) for column in schema.columns))

    def _kind(self, column: Quasi) -> Quasi:
        dtype = self.types[column.name]
        if column.kind == "auto" and dtype in (pl.Categorical, pl.Enum):
            return Nominal(column.name, column.hierarchy)
        if isinstance(column, Ordered) and column.order is None and isinstance(dtype, pl.Enum):
            return replace(column, order=tuple(dtype.categories))
        return column


def read_tables(
    spark: SparkSession,
    paths: Sequence[str],
    schema: Schema | None = None,
    *,
    csv: CsvOptions | None = None,
    mends: MendChoices | None = None,
) -> Tables:
    """The table that CSV or Parquet files, or folders of them, make together, as the engine in memory reads them.

    Columns that the schema drops are read and checked as all others, and their values left behind.

    Parameters
    ----------
    mends
        What will be mended in it: the schema is one of the table as it is then.

    Raises
    ------
    InputError, SchemaError
        As `shoal.read`, in the same words; also for columns of types that Spark does not have.
    """
    csv = csv or CsvOptions()
    formats = {format_of(path) for path in paths}
    if len(formats) > 1:
        raise InputError("Spark reads files of one format at a time: all CSV, or all Parquet.")
    format = formats.pop()
    files = [file for path in paths for file in _files(spark, path)]
    mends = mends or MendChoices()
    dropped = (frozenset(schema.dropped) if schema is not None else frozenset()) - columns_of(mends)
    plan = _Plan.of(files, format, csv, dropped, spark.sparkContext.defaultParallelism)
    with explained():
        seen, records_of_piece = _seen(spark, plan)
    readings = [
        Reading(pl.DataFrame(schema=own.types), Source((Path(file),), format), own.notes)
        for file, own in zip(files, seen, strict=True)
    ]
    like = put_under_one_another(readings).frame
    notes = [note for own in seen for note in own.notes]
    if len(files) > 1:
        counts = [own.records for own in seen]
        notes.append(note_on_counts([reading.source.name for reading in readings], counts))
    will_be = mend(like, mends, is_part=True).frame
    if schema is not None:
        schema.check_against(will_be.columns)
        refuse_unpublishable(will_be, schema)
    form = _form(spark, like, dropped, seen)
    read = _reader(plan, readings, records_of_piece, like, dropped, form)
    return Tables(plan.rows(spark).mapInArrow(read, form), dict(will_be.schema), tuple(notes))


def format_of(path: str) -> str:
    """The format of a file or a folder of files, by its ending or by those of the files in it."""
    inside = _local(path)
    if inside is not None:
        refuse_pipe(inside)
    formats = {format_of_ending(path.rstrip("/"))}
    if formats == {None} and inside is not None and inside.is_dir():
        formats = {format_of_ending(part) for part in _inside(inside)}
    format = formats.pop() if len(formats) == 1 else None
    if format is None or not is_on("spark", format.name):
        raise InputError(
            f"Spark reads {formats_on('spark')}, files or folders of them; which '{Path(path).name}' is cannot be told "
            "from its ending. Let it end with .csv or .parquet, or protect it in memory."
        )
    return format.name


# Which files


def _local(path: str) -> Path | None:
    """The path of a file that driver and executors open by themselves; None where only Spark can."""
    address = urlparse(path)
    if "://" not in path and not path.startswith("file:"):
        return Path(path)
    return Path(unquote(address.path)) if address.scheme == "file" else None


def _files(spark: SparkSession, path: str) -> list[str]:
    """A file, or the files of a folder in the order of their names."""
    here = _local(path)
    if here is None:
        return _remote_files(spark, path)
    if here.is_dir():
        return _inside(here)
    check_is_file(here)
    return [str(here.absolute())]


def _inside(folder: Path) -> list[str]:
    try:
        parts = sorted(part for part in folder.iterdir() if not part.name.startswith(("_", ".")))
    except OSError as error:
        raise InputError(f"The folder '{folder}' cannot be read: {error.strerror}.") from error
    _refuse_folders(folder.name, [part.name for part in parts if part.is_dir()])
    if not parts:
        raise InputError(f"The folder '{folder}' has no files.")
    for part in parts:
        check_is_file(part)
    return [str(part.absolute()) for part in parts]


def _refuse_folders(folder: str, names: Sequence[str]) -> None:
    if names:
        raise InputError(
            f"'{folder}' has {len(names):,} folders inside it, and what their names say is no column of any file. Name "
            "the folders that hold the files, or read them with Spark and give the frame to "
            "shoal.engines.spark.protect."
        )


def _remote_files(spark: SparkSession, path: str) -> list[str]:
    from pyspark.errors import PySparkException

    try:
        found = spark.read.format("binaryFile").load(path).select("path", "length").collect()
    except PySparkException as error:
        raise InputError(
            f"Spark cannot read '{Path(path).name}' ({type(error).__name__}). Check the name, and that the executors "
            "can reach it too."
        ) from None
    parents = sorted({str(row["path"]).rsplit("/", 1)[0] for row in found})
    _refuse_folders(Path(path).name, parents[1:])
    for row in found:
        if row["length"] > MOST_BYTES:
            raise InputError(
                f"'{Path(row['path']).name}' has {row['length'] / 1e9:,.1f} GB. Executors read a file from there as a "
                f"whole, of {MOST_BYTES / 1e9:,.1f} GB at the most. Write it in several files, or put it where the "
                "executors can open it."
            )
    return sorted(str(row["path"]) for row in found)


# Which pieces


@dataclass(frozen=True)
class Piece:
    """A file or a part of it that is read at a time."""

    file: int
    path: str
    n_bytes: int
    start: int = 0
    """The byte (of a CSV file) or the record (of a Parquet file) with which it begins."""
    length: int | None = None
    """How many bytes or records it has; None for all."""
    line: int = 0
    head: Head | None = None
    """The first lines of a CSV file that is read in blocks."""

    def read(
        self, format: str, csv: CsvOptions, dropped: Collection[str], content: bytes | None
    ) -> tuple[Reading, Quotes]:
        """The records, and of a block what there is to tell of quotes."""
        path = Path(self.path)
        if format == "parquet":
            if content is not None:
                return parquet_of_bytes(path, content, dropped), Quotes()
            return read_records(path, self.start, self.length, dropped), Quotes()
        if self.head is not None:
            with path.open("rb") as file:
                file.seek(self.start)
                block = Block(file.read(self.length), 0, self.line)
            frame, quotes = records_of_block(block, self.head, csv)
            return Reading(frame, Source((path,), "csv")), quotes
        return csv_of_bytes(path, read_bytes(path) if content is None else content, csv), Quotes()


@dataclass(frozen=True)
class _Plan:
    """Who reads what: pieces in tasks, or (`remote`) files that Spark hands over."""

    format: str
    csv: CsvOptions
    dropped: frozenset[str]
    tasks: Sequence[Sequence[Piece]] = ()
    blocks: Mapping[int, CsvBlocks] = field(default_factory=dict)
    remote: Sequence[str] = ()

    @classmethod
    def of(cls, files: Sequence[str], format: str, csv: CsvOptions, dropped: frozenset[str], parallelism: int) -> _Plan:
        """The plan for some files of a format, and for as many tasks at a time."""
        if any(_local(file) is None for file in files):
            return cls(format, csv, dropped, remote=tuple(files))
        pieces: list[Piece] = []
        blocks: dict[int, CsvBlocks] = {}
        for number, file in enumerate(files):
            if format == "parquet":
                pieces += _slices(number, file, dropped)
            elif _is_cut(file, csv):
                blocks[number] = read_csv_blocks(file, csv, block_bytes=BLOCK_BYTES)
                pieces += _blocks(number, blocks[number])
            else:
                pieces.append(Piece(number, file, Path(file).stat().st_size))
        return cls(format, csv, dropped, _tasks(pieces, parallelism), blocks)

    def rows(self, spark: SparkSession) -> DataFrame:
        """What Spark deals out to executors."""
        if self.remote:
            return spark.read.format("binaryFile").load(list(self.remote)).select("path", "content")
        return spark.range(0, len(self.tasks), 1, len(self.tasks)).toDF("task")

    def pieces(self, batch: Any) -> Iterator[tuple[Piece, bytes | None]]:
        """The pieces of a batch of rows, with the content where Spark hands it over."""
        if not self.remote:
            yield from ((piece, None) for task in batch.column("task").to_pylist() for piece in self.tasks[task])
            return
        for path, content in zip(batch.column("path").to_pylist(), batch.column("content"), strict=True):
            yield Piece(self.remote.index(path), path, 0), content.as_py()

    def read(self, piece: Piece, content: bytes | None) -> tuple[Reading, Quotes]:
        """The records of a piece, and of a block what there is to tell of quotes."""
        return piece.read(self.format, self.csv, self.dropped, content)


def _slices(number: int, file: str, dropped: frozenset[str]) -> list[Piece]:
    n_records, n_bytes = number_of_records(Path(file), dropped), Path(file).stat().st_size
    starts = range(0, n_records, RECORDS_PER_PIECE)
    return [Piece(number, file, n_bytes // len(starts), start, RECORDS_PER_PIECE) for start in starts]


def _is_cut(file: str, csv: CsvOptions) -> bool:
    """Whether a CSV file is read in blocks: a large one that can be cut where its bytes lie."""
    is_plain = is_utf8(csv.encoding) and csv.decimal == "." and not (csv.thousands or csv.date_format)
    is_plain = is_plain and not is_packed(file)
    return is_plain and Path(file).stat().st_size > BLOCK_BYTES


def _blocks(number: int, blocks: CsvBlocks) -> list[Piece]:
    with blocks.path.open("rb") as file:
        mark = len(codecs.BOM_UTF8) if file.read(3) == codecs.BOM_UTF8 else 0
    before = mark + blocks.head.start
    return [
        Piece(
            number,
            str(blocks.path),
            len(block.content),
            before + block.start,
            len(block.content),
            block.line,
            blocks.head,
        )
        for block in blocks.cut()
    ]


def _tasks(pieces: Sequence[Piece], parallelism: int) -> list[list[Piece]]:
    """Pieces for one task each; small ones together, but not so that tasks are fewer than can work at a time."""
    most = min(BYTES_PER_TASK, sum(piece.n_bytes for piece in pieces) // (2 * parallelism))
    tasks: list[list[Piece]] = [[]]
    for piece in pieces:
        if sum(own.n_bytes for own in tasks[-1]) + piece.n_bytes > most and tasks[-1]:
            tasks.append([])
        tasks[-1].append(piece)
    return tasks


# What is in them


@dataclass(frozen=True)
class SeenFiles:
    """What a piece or a file holds; `refused` is the kind and the words of the error."""

    records: int = 0
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    quotes: Quotes = field(default_factory=Quotes)
    ends: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The lowest and the highest value of columns of wide whole numbers."""
    finer: frozenset[str] = frozenset()
    """Columns of times that are finer than a microsecond."""
    refused: tuple[str, str] | None = None

    @classmethod
    def of(cls, reading: Reading, quotes: Quotes) -> SeenFiles:
        """What was read holds."""
        frame = reading.frame
        wide = [name for name, dtype in frame.schema.items() if dtype in WIDE and len(frame) > frame[name].null_count()]
        fine = [name for name, dtype in frame.schema.items() if getattr(dtype, "time_unit", None) == "ns"]
        return cls(
            len(frame), dict(frame.schema), reading.notes, quotes,
            {name: (frame[name].min(), frame[name].max()) for name in wide},  # type: ignore[misc]
            frozenset(name for name in fine if (frame[name].to_physical() % 1000 != 0).any()),
        )  # fmt: skip

    def and_(self, other: SeenFiles) -> SeenFiles:
        """What two pieces of one file hold, in their order."""
        ends = dict(self.ends)
        for name, (low, high) in other.ends.items():
            ends[name] = (min(low, ends.get(name, (low, high))[0]), max(high, ends.get(name, (low, high))[1]))
        return replace(
            self, records=self.records + other.records, quotes=self.quotes.and_(other.quotes), ends=ends,
            finer=self.finer | other.finer, refused=self.refused or other.refused,
        )  # fmt: skip


def _seen(spark: SparkSession, plan: _Plan) -> tuple[list[SeenFiles], dict[tuple[int, int], int]]:
    """What every file holds, and how many records each piece has; the first refusal in the order of files is raised."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for piece, content in plan.pieces(batch):
                try:
                    own = SeenFiles.of(*plan.read(piece, content))
                except ShoalError as error:
                    own = SeenFiles(refused=(type(error).__name__, str(error)))
                told = pickle.dumps((piece.file, piece.start, own))
                yield pa.RecordBatch.from_arrays([pa.array([told], pa.binary())], names=["seen"])

    rows = plan.rows(spark).mapInArrow(look, "seen binary").collect()
    seen: dict[int, SeenFiles] = {}
    records: dict[tuple[int, int], int] = {}
    for file, start, own in sorted((pickle.loads(row["seen"]) for row in rows), key=lambda told: told[:2]):
        if own.refused is not None:
            kind, message = own.refused
            raise getattr(errors, kind)(message)
        records[file, start] = own.records
        seen[file] = seen[file].and_(own) if file in seen else own
    for file, blocks in plan.blocks.items():
        blocks.quotes = seen[file].quotes
        seen[file] = replace(seen[file], notes=tuple(blocks.notes()))
    return [seen[file] for file in sorted(seen)], records


# As Spark has them


def _form(spark: SparkSession, like: pl.DataFrame, dropped: frozenset[str], seen: Sequence[SeenFiles]) -> StructType:
    """The columns as Spark has them; refuse what it cannot hold as it is."""
    from pyspark.sql.types import StringType, StructField, StructType

    is_utc = spark.conf.get("spark.sql.session.timeZone") == "UTC"
    fields, odd = [], []
    for name, dtype in like.schema.items():
        ends = [own.ends[name] for own in seen if name in own.ends]
        extent = (min(end[0] for end in ends), max(end[1] for end in ends)) if ends else (0, 0)
        is_fine = any(name in own.finer for own in seen)
        kind = StringType() if name in dropped else None if is_fine else _spark_type(dtype, extent, is_utc=is_utc)
        if kind is None:
            odd.append(f"'{name}' ({dtype})")
        fields.append(StructField(name, kind or StringType()))
    if odd:
        raise InputError(
            f"Spark has no type that holds {', '.join(odd)} as {'it is' if len(odd) == 1 else 'they are'}. Write times "
            "as local times in microseconds or as text, drop such columns, or protect the table in memory."
        )
    return StructType(fields)


def _spark_type(dtype: pl.DataType, extent: tuple[int, int], *, is_utc: bool) -> DataType | None:
    """The type of Spark's that holds every value of a column, or None."""
    from pyspark.sql import types

    plain: dict[Any, DataType] = {
        pl.Int8: types.ByteType(), pl.Int16: types.ShortType(), pl.Int32: types.IntegerType(),
        pl.Int64: types.LongType(), pl.UInt8: types.ShortType(), pl.UInt16: types.IntegerType(),
        pl.UInt32: types.LongType(),
        pl.Float32: types.FloatType(), pl.Float64: types.DoubleType(), pl.Boolean: types.BooleanType(),
        pl.String: types.StringType(), pl.Categorical: types.StringType(), pl.Enum: types.StringType(),
        pl.Null: types.StringType(), pl.Date: types.DateType(),
    }  # fmt: skip
    if dtype in WIDE:
        fits = extent[0] >= -(2**63) and extent[1] < 2**63
        return types.LongType() if fits else types.DecimalType(38, 0) if max(map(abs, extent)) < 10**38 else None
    if isinstance(dtype, pl.Decimal):
        return types.DecimalType(dtype.precision or 38, dtype.scale)
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            return types.TimestampNTZType()
        return types.TimestampType() if dtype.time_zone == "UTC" and is_utc else None
    return plain.get(dtype.base_type())


def _reader(
    plan: _Plan,
    readings: Sequence[Reading],
    records_of_piece: Mapping[tuple[int, int], int],
    like: pl.DataFrame,
    dropped: frozenset[str],
    form: StructType,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What an executor does: read its pieces, and give them the columns and types of all files together."""

    def shown(piece: Piece, frame: pl.DataFrame) -> pl.DataFrame:
        if len(frame) != records_of_piece[piece.file, piece.start]:
            raise InputError(f"'{Path(piece.path).name}' changed while it was read. Run again when it stays as it is.")
        if frame.schema != like.schema:
            own = replace(readings[piece.file], frame=frame)
            together = [own if number == piece.file else reading for number, reading in enumerate(readings)]
            frame = put_under_one_another(together).frame
        empty = [pl.lit(None, pl.String).alias(name) for name in like.columns if name in dropped]
        return frame.select(like.columns).with_columns(*empty).with_columns(_castings(form, frame))

    def read_all(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for piece, content in plan.pieces(batch):
                with ExecutorError.instead():
                    frame = shown(piece, plan.read(piece, content)[0].frame)
                yield from in_batches(frame, form)

    return read_all


def _castings(form: StructType, frame: pl.DataFrame) -> list[pl.Expr]:
    """Casts to types of polars' that Arrow and Spark know."""
    from pyspark.sql.types import DecimalType, LongType

    casts = [pl.col(pl.Categorical, pl.Enum, pl.Null).cast(pl.String)]
    for own in form.fields:
        if own.name in frame.columns and frame.schema[own.name] in WIDE:
            wide: Any = {LongType: pl.Int64(), DecimalType: pl.Decimal(38, 0)}.get(type(own.dataType))
            casts += [pl.col(own.name).cast(wide)] if wide is not None else []
    return casts
