"""The published file: masked, and its records in a secret order, without ever holding them all.

Every record is put into one of several buckets by secure randomness, and each bucket is put into a secret order when
it is written. That is the same as putting all records into one random order: every order is equally probable.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from shoal.engines.stream.code import PERSON, CodedFile, Portion
from shoal.kernels import counting
from shoal.masking.secrecy import secret_order, secret_words
from shoal.publishing.cells import cells_that_run
from shoal.reading import CsvOptions
from shoal.reading.csv import missing_in_csv
from shoal.table.columns import CategoryColumn
from shoal.table.schema import Schema


@dataclass(frozen=True)
class DiskBuckets:
    """Records in buckets: one file per portion, in which the records of a bucket stand together."""

    parts: tuple[Path, ...]
    starts: tuple[NDArray[np.int64], ...]
    """Where each bucket starts in each file, in bytes."""
    n_buckets: int

    def bucket(self, number: int) -> pl.DataFrame:
        """The records of a bucket, in no order of theirs yet."""
        pieces = []
        for part, start in zip(self.parts, self.starts, strict=True):
            with part.open("rb") as file:
                file.seek(int(start[number]))
                pieces.append(pl.read_ipc_stream(io.BytesIO(file.read(int(start[number + 1] - start[number])))))
        return pl.concat(pieces, rechunk=True)


class DiskBucketing:
    """Puts records into buckets, portion by portion."""

    def __init__(self, work: Path, n_records: int, portion: int, name: str = "buckets") -> None:
        self.work, self.name = work, name
        self.bits = max(1, (max(n_records - 1, 1) // portion).bit_length())
        self._parts: list[Path] = []
        self._starts: list[NDArray[np.int64]] = []

    def add(self, portion: Portion, schema: Schema) -> None:
        """Put a portion into buckets: the person of each record, and what is published of it unchanged."""
        columns = [pl.Series(PERSON, portion.person_of_record)]
        columns += [pl.Series(f"sensitive-{at}", portion.categories[name].codes)
                    for at, name in enumerate(schema.sensitive) if name not in portion.others.columns]  # fmt: skip
        columns += [portion.others[name].alias(f"other-{at}") for at, name in enumerate(portion.others.columns)]
        self.put(pl.DataFrame(columns), secret_words(len(portion.person_of_record)))

    def put(self, records: pl.DataFrame, words: NDArray[np.uint64]) -> None:
        """Put records into buckets by the first bits of a word of each."""
        n_buckets = 2**self.bits
        bucket = (words >> np.uint64(64 - self.bits)).astype(np.int32)
        order = counting.order_by_code(bucket, n_buckets, np.arange(len(bucket), dtype=np.int32))
        records, start = records[order], counting.start_of_code(bucket, n_buckets)
        self._parts.append(self.work / f"{self.name}-{len(self._parts):06d}.arrow")
        places = [0]
        with self._parts[-1].open("wb") as file:
            for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
                records.slice(first, last - first).write_ipc_stream(file, compression="uncompressed")
                places.append(file.tell())
        self._starts.append(np.array(places))

    def filled(self) -> DiskBuckets:
        """All buckets."""
        return DiskBuckets(tuple(self._parts), tuple(self._starts), 2**self.bits)


@dataclass(frozen=True)
class Publisher:
    """Makes published records of what the buckets hold."""

    coded: CodedFile
    schema: Schema
    columns: tuple[str, ...]
    """The published columns, in the order of the input."""
    group_of_person: NDArray[np.int32]
    labels: Mapping[str, pl.Series]
    """What each group shows of each quasi-identifier."""
    pseudonyms: pl.Series | None
    enums: Mapping[str, pl.DataType]
    """The types of columns whose own names values that are not published."""
    cells_that_run: dict[str, int] = field(default_factory=dict)
    """How many cells of each column a spreadsheet would run, counted as they are written."""

    def records(self, bucket: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int32]]:
        """The published records of a bucket in a secret order, and their groups."""
        bucket = bucket[secret_order(len(bucket))]
        person = bucket[PERSON].to_numpy()
        group = self.group_of_person[person]
        places = {name: at for at, name in enumerate(self.schema.sensitive)}
        others = {name: at for at, name in enumerate(self.coded.others)}
        shown: dict[str, pl.Series] = {}
        for name in self.columns:
            if name in self.labels:
                shown[name] = self.labels[name].gather(group)
            elif name == self.schema.person and self.pseudonyms is not None:
                shown[name] = self.pseudonyms.gather(person)
            elif name in others:
                values = bucket[f"other-{others[name]}"]
                shown[name] = values.cast(self.enums[name]) if name in self.enums else values
            else:
                shown[name] = _texts(self.coded.domain.sensitive[name]).gather(bucket[f"sensitive-{places[name]}"])
        return pl.DataFrame(shown), group

    def write(self, buckets: DiskBuckets, path: Path, format: str, csv: CsvOptions | None, groups: Path) -> None:
        """Write all published records, and the group of each into a file of numbers."""
        like, _ = self.records(buckets.bucket(0).clear())
        self.cells_that_run.update(cells_that_run(like))  # of names of columns
        with groups.open("wb") as file:
            _sink(like.schema, lambda: self._all(buckets, file), path, format, csv)

    def _all(self, buckets: DiskBuckets, groups: BinaryIO) -> Iterator[pl.DataFrame]:
        for number in range(buckets.n_buckets):
            records, group = self.records(buckets.bucket(number))
            groups.write(group.astype(np.int32).tobytes())
            names = cells_that_run(records.clear())
            for name, count in cells_that_run(records).items():
                self.cells_that_run[name] = self.cells_that_run.get(name, 0) + count - names.get(name, 0)
            yield records


def write_groups(numbers: Path, path: Path, portion: int) -> None:
    """The group of each published record, from a file of numbers, as the steward keeps it."""

    def all_groups() -> Iterator[pl.DataFrame]:
        group = np.memmap(numbers, np.int32, mode="r")
        for first in range(0, len(group), portion):
            part = np.array(group[first : first + portion])
            record = np.arange(first, first + len(part), dtype=np.uint32)
            yield pl.DataFrame({"record": record, "group": part})

    _sink(pl.Schema({"record": pl.UInt32(), "group": pl.Int32()}), all_groups, path, "parquet", None)


def _sink(
    schema: pl.Schema, frames: Callable[[], Iterator[pl.DataFrame]], path: Path, format: str, csv: CsvOptions | None
) -> None:
    """Write frames one after the other to one file."""

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in frames():
            yield frame if with_columns is None else frame.select(with_columns)

    scan = register_io_source(source, schema=schema)
    if format == "csv":
        options = csv or CsvOptions()
        with_mark = options.encoding.lower().replace("_", "-") == "utf-8-sig"
        missing = missing_in_csv(len(schema))
        scan.sink_csv(
            path, separator=options.delimiter or ",", include_bom=with_mark, maintain_order=True, null_value=missing
        )
    else:
        scan.sink_parquet(path, compression="zstd", compression_level=1, maintain_order=True)


def _texts(column: CategoryColumn) -> pl.Series:
    """The value of each code, missing last."""
    if not column.has_missing:
        return column.categories
    return pl.concat([column.categories, pl.Series([None], dtype=column.categories.dtype)])
