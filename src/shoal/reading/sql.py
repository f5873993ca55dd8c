"""Tables of databases to frames: PostgreSQL and SQLite by ADBC, DuckDB files by DuckDB.

An address may hold a user and a password. So it is never shown or stored: messages, notes and manifests name the kind
of database, the database and the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import polars as pl

from shoal.errors import InputError, ShoalError
from shoal.reading.extras import imported
from shoal.reading.source import Reading, Source, check_is_file, refuse_no_records, refuse_not_plain

KINDS: dict[str, Literal["postgresql", "sqlite", "duckdb"]] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
NAMES = {"postgresql": "PostgreSQL", "sqlite": "SQLite", "duckdb": "DuckDB"}
DRIVERS = {"postgresql": "adbc_driver_postgresql.dbapi", "sqlite": "adbc_driver_sqlite.dbapi", "duckdb": "duckdb"}
NOT_FETCHING = {"autoinstall_known_extensions": "false"}
"""How DuckDB is opened: else it would fetch extensions from the network, and run them, where a query needs one."""
RECORDS_A_BATCH = 1 << 16
MOST_DIGITS = 38
"""Of a decimal number in a frame."""

REASONS = (
    ("28P01", "password authentication failed", "the server does not accept the user and the password"),
    ("28000", "no pg_hba.conf entry", "the server does not let this user in"),
    ("", "no password supplied", "the server asks for a password, and none is known"),
    ("3D000", "does not exist", "there is no such database or user"),
    ("", "connection refused", "no server answers there"),
    ("", "could not translate host name", "the server's name is not known"),
    ("", "timeout", "the server does not answer"),
    ("", "definition of service", "the service file does not name that service"),
    ("42P01", "no such table", "there is no such table"),
    ("42501", "permission denied", "you may not do that there"),
    ("42601", "syntax error", "the query is not valid SQL"),
    ("42703", "no such column", "a column that the query names does not exist"),
    (
        "",
        "attempt to write a readonly database",
        "a writer was killed in the middle of a change, which you may not undo",
    ),
    ("25006", "read-only", "a query may only read, and this one would write"),
    ("55P03", "locked", "somebody else has locked it"),
    ("", "database is locked", "somebody else has locked it"),
    ("53100", "disk full", "the disk of the server is full"),
    ("", "type mismatch", "a column holds values of several types; bring them to one with CAST in a query"),
    ("2BP01", "depend", "views or other tables depend on it"),
)
"""What an error of a driver means: its SQLSTATE, words in its message, and ours. Its own may show values and users."""


@dataclass(frozen=True)
class Address:
    """Where a database is. `url` may hold a password, so it is never shown."""

    kind: Literal["postgresql", "sqlite", "duckdb"]
    url: str = field(repr=False)
    table: str | None = None
    path: Path | None = None
    database: str = ""
    has_password: bool = field(default=False, repr=False)

    @property
    def shown(self) -> str:
        """The database as messages and manifests name it: without host, user and password."""
        named = f" '{self.database}'" if self.database else ""
        return f"the {NAMES[self.kind]} database{named}"


def is_address(text: object) -> bool:
    """Whether a text is an address such as postgresql://… and no file."""
    return isinstance(text, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def parse_address(text: str) -> Address:
    """Read the address of a database; what is wrong with it is told without showing it.

    Examples
    --------
    >>> parse_address("sqlite:///visits.db?table=visits").table
    'visits'
    >>> parse_address("postgresql://me:secret@host/clinic").shown
    "the PostgreSQL database 'clinic'"
    """
    try:
        parts = urlsplit(text)
        has_password = parts.password is not None
        parameters = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise InputError(
            "The address of the database cannot be read. Write it as postgresql://host/database."
        ) from None
    kind = KINDS.get(parts.scheme.lower())
    if kind is None:
        raise InputError(
            "The address of a database begins with postgresql://, sqlite:/// or duckdb:///. Files are named by their "
            "path."
        )
    table = dict(parameters).get("table") or None
    others = [(name, value) for name, value in parameters if name != "table"]
    if kind == "postgresql":
        query = f"?{urlencode(others, quote_via=quote)}" if others else ""
        url = f"postgresql://{parts.netloc}{parts.path}{query}"
        has_password |= any(name in ("password", "sslpassword") for name, _ in others)
        database = unquote(parts.path.removeprefix("/")) or dict(others).get("dbname", "")
        return Address(kind, url, table, None, database, has_password)
    if parts.netloc or others or not parts.path.removeprefix("/"):
        raise InputError(
            f"A {NAMES[kind]} database is a file: {kind}:///visits.db in this folder, {kind}:////data/visits.db from "
            "the root. Only ?table= may follow."
        )
    path = Path(unquote(parts.path.removeprefix("/")))
    return Address(kind, "", table, path, path.name)


def read_database(text: str, *, table: str | None = None, query: str | None = None) -> Reading:
    """Read a table or a query of a database.

    Parameters
    ----------
    text
        The address: postgresql://host:port/database, sqlite:///file.db, duckdb:///file.duckdb. It may end with
        ?table=name. User and password of PostgreSQL are best left to libpq: PGUSER and PGPASSWORD, ~/.pgpass, or a
        service file (postgresql:///?service=name).
    table
        The table or view, with its schema before a dot where it is not on the search path.
    query
        A query in place of a table. It runs where nothing can be written.

    Raises
    ------
    InputError
        The database cannot be opened, or the table cannot be read exactly. The message shows neither user nor values.
    """
    address = parse_address(text)
    if table is not None and address.table is not None and table != address.table:
        raise InputError("The address and --table name two different tables. Name one.")
    table = table or address.table
    if (table is None) == (query is None):
        raise InputError(
            f"What to read from {address.shown} is {'not said' if table is None else 'said twice'}. Name a table "
            "(--table visits, or ?table=visits at the end of the address) or give a query (--query), one of the two."
        )
    if address.path is not None:
        check_is_file(address.path)
    driver = driver_of(address, InputError, "Reading")
    what = f"table '{table}'" if table is not None else "a query"
    statement = query if query is not None else f"SELECT * FROM {quoted_name(address, table or '')}"
    name = f"{what} of {address.shown}" if table is not None else f"a query to {address.shown}"
    with errors_explained(address, driver, InputError, f"{name} cannot be read"):
        frame = _read(address, driver, statement, table)
    frame = frame.with_columns(_mended(column) for column in frame.iter_columns())
    refuse_not_plain(name, frame)
    refuse_no_records(name, frame)
    notes = [PASSWORD_NOTE] if address.has_password else []
    paths = (address.path,) if address.path is not None else ()
    return Reading(frame, Source(paths, "database", shown=(name,)), tuple(notes))


PASSWORD_NOTE = (
    "The address of the database held a password, which others on this machine can see while the command runs. Leave "
    "it to PGPASSWORD, ~/.pgpass or a service file."
)


def driver_of(address: Address, error: type[ShoalError], doing: str) -> Any:
    """The module that speaks with a kind of database."""
    what = f"{doing} {NAMES[address.kind]} databases"
    return imported(DRIVERS[address.kind], extra="sql", what=what, error=error)


def quoted(name: str) -> str:
    """An identifier in quotes, as all three kinds take it."""
    return '"' + name.replace('"', '""') + '"'


def parts_of_name(address: Address, table: str) -> tuple[str | None, str]:
    """The schema and the name of a table; SQLite has no schemas."""
    schema, dot, name = table.rpartition(".") if address.kind != "sqlite" else ("", "", table)
    return (schema if dot and schema else None), (name if dot and schema else table)


def quoted_name(address: Address, table: str) -> str:
    """A table, with its schema where one is named, in quotes."""
    schema, name = parts_of_name(address, table)
    return quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"


@contextmanager
def errors_explained(address: Address, driver: Any, error: type[ShoalError], what: str) -> Iterator[None]:
    """Turn a driver's errors into ours, in words that show no values, users or addresses."""
    import pyarrow as pa

    try:
        yield
    except ShoalError:
        raise
    except (driver.Error, OSError, pa.ArrowException) as fault:  # the latter two while records come in
        state = str(getattr(fault, "sqlstate", "") or "")
        said = str(fault).lower()
        known = [reason for code, words, reason in REASONS if (code and code == state) or words in said]
        reason = f": {known[0]}" if known else f" ({type(fault).__name__}{f', SQLSTATE {state}' if state else ''})"
        advice = ""
        if address.kind == "postgresql" and (not state or state.startswith("28")):
            advice = " User and password come from PGUSER and PGPASSWORD, ~/.pgpass or a service file."
        raise error(f"{what[0].upper()}{what[1:]}{reason}.{advice}") from None


def _read(address: Address, driver: Any, statement: str, table: str | None) -> pl.DataFrame:
    """The records that a statement gives, batch by batch, from a connection that cannot write."""
    if address.kind == "duckdb":
        connection = driver.connect(str(address.path), read_only=True, config=NOT_FETCHING)
        try:
            found = connection.sql(statement)
            if found is None:
                raise InputError("The query gives no table. It must be a SELECT.")
            return _from_batches(found)
        finally:
            connection.close()
    if address.kind == "sqlite":
        _undo_what_a_killed_writer_left(address, driver)
    with connected(address, driver, is_read_only=True) as connection, connection.cursor() as cursor:
        if address.kind == "postgresql":
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.close()
            cursor = connection.cursor()
        else:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(RECORDS_A_BATCH)})
        cursor.execute(statement)
        frame = _from_batches(cursor.fetch_record_batch())
        cursor.close()
        if address.kind == "sqlite" and table is not None:
            return _as_declared(frame, connection, table)
        return frame


def _undo_what_a_killed_writer_left(address: Address, driver: Any) -> None:
    """Let SQLite go back to the state before a change that was never finished, which it cannot where it may only read.

    SQLite itself tells by its locks whether the change is still going on, and then leaves it alone.
    """
    if Path(f"{address.path}-journal").exists():
        with connected(address, driver, is_read_only=False) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_master")
            cursor.fetchall()


def connected(address: Address, driver: Any, *, is_read_only: bool) -> Any:
    """A connection by ADBC, with a transaction that ends without effect unless it is committed."""
    if address.kind == "postgresql":
        return driver.connect(address.url)
    assert address.path is not None
    mode = "ro" if is_read_only else "rwc"
    return driver.connect(f"file:{quote(str(address.path.absolute()))}?mode={mode}")


def _from_batches(batches: Any) -> pl.DataFrame:
    """A frame from a stream of Arrow batches; types that frames have not become plain ones."""
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(batches)
    intervals = [one.name for one in reader.schema if pa.types.is_interval(one.type) or pa.types.is_duration(one.type)]
    if intervals:
        raise InputError(
            f"Columns of intervals cannot be read: {', '.join(intervals)}. Leave them out, or CAST them in a query."
        )
    twice = sorted({name for name in reader.schema.names if reader.schema.names.count(name) > 1})
    if twice:
        raise InputError(
            f"The query names a column more than once: {', '.join(twice)}. Give each its own name with AS."
        )
    extensions = {
        one.name: getattr(one.type, "type_name", one.type.extension_name)
        for one in reader.schema
        if isinstance(one.type, pa.BaseExtensionType)
    }
    plain = pa.schema(
        pa.field(one.name, one.type.storage_type if isinstance(one.type, pa.BaseExtensionType) else one.type)
        for one in reader.schema
    )
    chunks = [
        pa.RecordBatch.from_arrays(
            [array.storage if isinstance(array, pa.ExtensionArray) else array for array in batch.columns], schema=plain
        )
        for batch in reader
    ]
    found = pl.from_arrow(pa.Table.from_batches(chunks, schema=plain))
    assert isinstance(found, pl.DataFrame)
    return found.with_columns(_of_extension(found[name], extension) for name, extension in extensions.items())


def _of_extension(column: pl.Series, extension: str) -> pl.Series:
    """Decimals and identifiers of PostgreSQL, which drivers hand over as texts and bytes."""
    if extension == "numeric":
        return _decimals(column)
    if extension in ("uuid", "arrow.uuid"):
        digits = column.bin.encode("hex")
        ends = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))
        parts = [digits.str.slice(start, length) for start, length in ends]
        return pl.select(pl.concat_str(parts, separator="-").alias(column.name)).to_series()
    return column


def _decimals(texts: pl.Series) -> pl.Series:
    """Texts as decimal numbers with as many decimals as the longest has; texts where no type holds them all."""
    after = texts.str.split_exact(".", 1).struct.rename_fields(["whole", "decimals"])
    scale = int(after.struct.field("decimals").str.len_bytes().max() or 0)  # type: ignore[arg-type]
    digits = int(after.struct.field("whole").str.strip_chars_start("-").str.len_bytes().max() or 0)  # type: ignore[arg-type]
    if digits + scale > MOST_DIGITS:
        return texts
    numbers = texts.cast(pl.Decimal(MOST_DIGITS, scale), strict=False)
    return numbers if numbers.null_count() == texts.null_count() else texts


def _mended(column: pl.Series) -> pl.Series:
    return column.fill_nan(None) if column.dtype.is_float() else column


def _as_declared(frame: pl.DataFrame, connection: Any, table: str) -> pl.DataFrame:
    """Columns of an SQLite table as they are declared: SQLite keeps dates as texts and truth as 1 and 0."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name, type FROM pragma_table_info('{table.replace(chr(39), chr(39) * 2)}')")
        declared = {str(name): str(kind).upper() for name, kind in cursor.fetchall()}
    return frame.with_columns(_declared(column, declared.get(column.name, "")) for column in frame.iter_columns())


def _declared(column: pl.Series, kind: str) -> pl.Series:
    read = column
    if column.dtype == pl.String and kind == "DATE":
        read = column.str.to_date("%Y-%m-%d", strict=False)
    elif column.dtype == pl.String and kind in ("TIMESTAMP", "DATETIME"):
        read = column.str.replace("T", " ", literal=True).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False,
                                                                          time_unit="us")  # fmt: skip
    elif column.dtype.is_integer() and kind in ("BOOLEAN", "BOOL") and column.drop_nulls().is_in([0, 1]).all():
        read = column.cast(pl.Boolean)
    return read if read.null_count() == column.null_count() else column
