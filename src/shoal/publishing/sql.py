"""Published tables to a database, in one transaction: all of them are there afterwards, or the old ones are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import polars as pl

from shoal.errors import OutputError
from shoal.reading.sql import (
    NOT_FETCHING,
    Address,
    connected,
    driver_of,
    errors_explained,
    parse_address,
    parts_of_name,
    quoted,
    quoted_name,
)

MARK = "Release made by shoal"
"""What a table says of itself, so that only a table that shoal wrote is ever replaced."""

LONGEST_NAME = 63
"""Bytes of a name in PostgreSQL, which cuts longer ones without a word."""

RECORDS_PER_BATCH = 1 << 16

BESIDE_A_FILE = (".wal", "-journal", "-wal", "-shm")
"""The endings of files that DuckDB and SQLite put beside a database while they write."""


def write_database(
    tables: Mapping[str, pl.DataFrame],
    text: str,
    *,
    overwrite: bool,
    about_to_commit: Callable[[], None] = lambda: None,
) -> list[str]:
    """Write tables to a database in one transaction; gives what to tell of them, without host, user and password.

    Parameters
    ----------
    tables
        By name, with a schema before a dot where it is not the usual one.
    text
        The address of the database, as for reading.
    overwrite
        Whether tables that an earlier release wrote may be replaced. Others never are.
    about_to_commit
        Called when all is filled, right before it is there for others: from then on nobody can be sure that it is not.

    Raises
    ------
    OutputError
        Where a table may not be replaced or cannot be written; then the database is as it was.
    """
    address = parse_address(text)
    driver = driver_of(address, OutputError, "Writing to")
    _refuse_names(address, tables)
    is_new = address.path is not None and not address.path.exists()
    if address.path is not None and not address.path.absolute().parent.is_dir():
        raise OutputError(f"The folder of {address.shown} does not exist. Nothing was written.")
    failed = f"the release cannot be written to {address.shown}; what was there before is as it was"
    try:
        with errors_explained(address, driver, OutputError, failed), _transaction(address, driver) as store:
            for name, frame in tables.items():
                store.replace(name, frame, overwrite=overwrite)
            about_to_commit()
    except BaseException:
        if is_new and address.path is not None:
            for ending in ("", *BESIDE_A_FILE):
                address.path.with_name(address.path.name + ending).unlink(missing_ok=True)
        raise
    return [f"table '{name}' of {address.shown}" for name in tables]


def _refuse_names(address: Address, tables: Mapping[str, pl.DataFrame]) -> None:
    if address.kind != "postgresql":
        return
    names = {part for name in tables for part in parts_of_name(address, name) if part is not None}
    names |= {column for frame in tables.values() for column in frame.columns}
    long = sorted(name for name in names if len(name.encode()) > LONGEST_NAME)
    if long:
        raise OutputError(
            f"PostgreSQL takes names of up to {LONGEST_NAME} bytes, but {len(long):,} are longer: {', '.join(long)}. "
            "Nothing was written."
        )


class _Store(ABC):
    """A database in a transaction."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def replace(self, name: str, frame: pl.DataFrame, *, overwrite: bool) -> None:
        """Put a table in the place of an earlier one."""
        known = self.mark_of(name)
        where = f"The table '{name}' of {self.address.shown}"
        if known is not None and not overwrite:
            raise OutputError(f"{where} exists. Nothing was written. Choose another name, or use overwrite=True.")
        if known is not None and MARK not in known:
            raise OutputError(
                f"{where} was not written by shoal, so it is not overwritten. Nothing was written. Choose another name."
            )
        target = quoted_name(self.address, name)
        if known is not None:
            self.run(f"DROP TABLE {target}")
        self.fill(name, target, frame)
        if self.count(target) != frame.height:
            raise OutputError(f"{where} did not take all records. Nothing was written.")

    @abstractmethod
    def mark_of(self, name: str) -> str | None:
        """What an existing table says of itself; None where there is none."""

    @abstractmethod
    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement, and give what it gives."""

    @abstractmethod
    def fill(self, name: str, target: str, frame: pl.DataFrame) -> None:
        """Make a table and fill it."""

    def count(self, target: str) -> int:
        """How many records a table has."""
        return int(self.run(f"SELECT count(*) FROM {target}")[0][0])


@contextmanager
def _transaction(address: Address, driver: Any) -> Iterator[_Store]:
    if address.kind == "duckdb":
        connection = driver.connect(str(address.path), config=NOT_FETCHING)
        try:
            connection.begin()
            yield _DuckDb(address, connection)
            connection.commit()
        finally:
            connection.close()
        return
    with connected(address, driver, is_read_only=False) as connection:
        try:
            yield (_PostgreSql if address.kind == "postgresql" else _Sqlite)(address, connection)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise


class _Adbc(_Store):
    """A database that ADBC speaks with."""

    types: ClassVar[Mapping[Any, str]] = {}

    def __init__(self, address: Address, connection: Any) -> None:
        super().__init__(address)
        self.connection = connection

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def fill(self, name: str, target: str, frame: pl.DataFrame) -> None:
        fitted = frame.with_columns(self.fitted(column) for column in frame.iter_columns())
        columns = ", ".join(f"{quoted(column)} {self.type_of(kind)}" for column, kind in fitted.schema.items())
        self.create(target, columns)
        schema, plain = parts_of_name(self.address, name)
        batches = fitted.to_arrow(compat_level=pl.CompatLevel.oldest()).to_reader(max_chunksize=RECORDS_PER_BATCH)
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(plain, batches, mode="append", db_schema_name=schema)

    @abstractmethod
    def create(self, target: str, columns: str) -> None:
        """Make an empty table."""

    def type_of(self, kind: pl.DataType) -> str:
        return self.types[kind.base_type()]

    def fitted(self, column: pl.Series) -> pl.Series:
        """A column in a type that the database has."""
        kind = column.dtype
        if kind in (pl.Categorical, pl.Enum, pl.Null):
            return column.cast(pl.String)
        if kind in (pl.UInt64, pl.Int128, pl.UInt128):
            whole = column.cast(pl.Int64, strict=False)
            return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
        if kind == pl.Datetime and getattr(kind, "time_unit", "us") != "us":
            rounded = column.dt.cast_time_unit("us")
            is_exact = rounded.cast(kind).equals(column, null_equal=True)
            return rounded if is_exact else column.cast(pl.String)
        return column


class _PostgreSql(_Adbc):
    types: ClassVar = {
        pl.String: "text", pl.Boolean: "boolean", pl.Int8: "smallint", pl.UInt8: "smallint", pl.Int16: "smallint",
        pl.UInt16: "integer", pl.Int32: "integer", pl.UInt32: "bigint", pl.Int64: "bigint", pl.Float32: "real",
        pl.Float64: "double precision", pl.Date: "date", pl.Datetime: "timestamp", pl.Time: "time",
    }  # fmt: skip

    def mark_of(self, name: str) -> str | None:
        target = "'" + quoted_name(self.address, name).replace("'", "''") + "'"
        (found,) = self.run(
            f"SELECT to_regclass({target}) IS NOT NULL, obj_description(to_regclass({target}), 'pg_class')"
        )
        return (found[1] or "") if found[0] else None

    def create(self, target: str, columns: str) -> None:
        self.run(f"CREATE TABLE {target} ({columns})")
        self.run(f"COMMENT ON TABLE {target} IS '{MARK}'")

    def type_of(self, kind: pl.DataType) -> str:
        if isinstance(kind, pl.Decimal):
            return f"numeric({kind.precision}, {kind.scale})"
        if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
            return "timestamptz"
        return super().type_of(kind)


class _Sqlite(_Adbc):
    types: ClassVar = {
        pl.String: "TEXT", pl.Boolean: "BOOLEAN", pl.Float32: "REAL", pl.Float64: "REAL", pl.Date: "DATE",
        pl.Datetime: "TIMESTAMP",
        **dict.fromkeys((pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Int32, pl.UInt32, pl.Int64), "INTEGER"),
    }  # fmt: skip

    def mark_of(self, name: str) -> str | None:
        literal = parts_of_name(self.address, name)[1].replace("'", "''")
        found = self.run(f"SELECT sql FROM sqlite_master WHERE lower(name) = lower('{literal}')")
        return str(found[0][0]) if found else None

    def create(self, target: str, columns: str) -> None:
        self.run(f"CREATE TABLE {target} /* {MARK} */ ({columns})")

    def fitted(self, column: pl.Series) -> pl.Series:
        """SQLite knows whole numbers, floats and texts; dates it keeps as texts."""
        column = super().fitted(column)
        if column.dtype in (pl.Decimal, pl.Time) or getattr(column.dtype, "time_zone", None) is not None:
            return column.cast(pl.String)
        return column


class _DuckDb(_Store):
    def __init__(self, address: Address, connection: Any) -> None:
        super().__init__(address)
        self.connection = connection

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(statement).fetchall())

    def mark_of(self, name: str) -> str | None:
        schema, plain = parts_of_name(self.address, name)
        found = self.connection.execute(
            "SELECT comment FROM (SELECT table_name, schema_name, comment FROM duckdb_tables() UNION ALL "
            "SELECT view_name, schema_name, '' FROM duckdb_views()) "
            "WHERE lower(table_name) = lower(?) AND lower(schema_name) = lower(?)",
            [plain, schema or "main"],
        ).fetchall()
        return (found[0][0] or "") if found else None

    def fill(self, name: str, target: str, frame: pl.DataFrame) -> None:
        texts = [column for column, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum, pl.Null)]
        plain = frame.with_columns(pl.col(texts).cast(pl.String)) if texts else frame
        self.connection.register("shoal_release_to_write", plain.to_arrow(compat_level=pl.CompatLevel.oldest()))
        self.run(f"CREATE TABLE {target} AS SELECT * FROM shoal_release_to_write")
        self.connection.unregister("shoal_release_to_write")
        self.run(f"COMMENT ON TABLE {target} IS '{MARK}'")
