"""Tables of databases to frames: PostgreSQL and SQLite by ADBC, DuckDB files by DuckDB.

An address may hold a user and a password. So it is never shown or stored: messages, notes and manifests name the kind
of database, the database and the table.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import polars as pl

from shoal.errors import InputError, ShoalError
from shoal.reading.extras import imported
from shoal.reading.source import DATABASE, Reading, Source, check_is_file, plain_or_refused, refuse_no_records
from shoal.table.times import n_beyond_calendar

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
ITSELF_ALONE = {**NOT_FETCHING, "enable_external_access": "false", "python_enable_replacements": "false"}
"""How DuckDB is opened for a query: it sees neither files beside the database nor our own variables."""
ONLY_SELECT = "A query must be one SELECT: it may only read, and give a table."
RECORDS_PER_BATCH = 1 << 16
MOST_DIGITS = 38
"""Of a decimal number in a frame."""

NO_TABLE = 'there is no such table; a name that has a dot in it stands in quotes: "my.schema"."visits"'
NO_FUNCTION = "a function that the query names does not exist"
LOST = "the connection to the server was lost while it answered; try again"
REASONS = (
    ("28P01", "password authentication failed", "the server does not accept the user and the password"),
    ("28000", "no pg_hba.conf entry", "the server does not let this user in"),
    ("28000", "no password supplied", "the server asks for a password, and none is known"),
    ("42P01", "no such table", NO_TABLE),
    ("3F000", "no such schema", NO_TABLE),
    ("", "table with name", NO_TABLE),
    ("42703", "no such column", "a column that the query names does not exist"),
    ("42883", "no such function", NO_FUNCTION),
    ("", "function with name", NO_FUNCTION),
    ("57P01", "server closed the connection", LOST),
    ("", "terminating connection", LOST),
    ("", "could not receive data", LOST),
    ("", "connection reset", LOST),
    ("", "ssl syscall error", LOST),
    ("", "no connection to the server", LOST),
    ("", "external access", "a query sees only the database itself, and no files beside it"),
    ("", "file system operations are disabled", "a query sees only the database itself, and no files beside it"),
    ("", "not authorized", "a query may only read, and this one would write"),
    ("", "only execute one statement", "a query must be one SELECT"),
    ("42501", "row-level security", "row security hides some of its records from this user"),
    ("3D000", "does not exist", "there is no such database or user"),
    ("", "connection refused", "no server answers there"),
    ("", "could not translate host name", "the server's name is not known"),
    ("", "timeout", "the server does not answer"),
    ("", "definition of service", "the service file does not name that service"),
    ("42501", "permission denied", "you may not do that there"),
    ("42601", "syntax error", "the query is not valid SQL"),
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


NOT_LET_IN = tuple(reason for code, _, reason in REASONS if code.startswith("28"))

READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
ROW_SECURITY_NOTE = (
    "Row security hides some records of the table from this user: what was read is not all of it. Read it as a user "
    "whom it does not concern, if all are meant."
)
CASTS_OF_POSTGRESQL = {"money": "numeric", "oid": "bigint", "interval": "text"}
"""Types that the driver hands over as other numbers than they stand for, or not at all, and what they are cast to."""
TEXTS_OF_DUCKDB = {"INTERVAL", "TIME WITH TIME ZONE", "BIT", "UNION", "BIGNUM", "VARINT"}
READING_OF_SQLITE = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


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


def read_database(
    text: str, *, table: str | None = None, query: str | None = None, dropped: Collection[str] = ()
) -> Reading:
    """Read a table or a query of a database.

    Parameters
    ----------
    text
        The address: postgresql://host:port/database, sqlite:///file.db, duckdb:///file.duckdb. It may end with
        ?table=name. User and password of PostgreSQL are best left to libpq: PGUSER and PGPASSWORD, ~/.pgpass, or a
        service file (postgresql:///?service=name).
    table
        The table or view, with its schema before a dot where it is not on the search path; a name with a dot in it
        stands in double quotes.
    query
        One SELECT in place of a table. It runs where nothing can be written.
    dropped
        Columns that will not be published: lists, structures and bytes in them are not refused.

    Raises
    ------
    InputError
        The database cannot be opened, or the table cannot be read exactly. The message shows neither user nor values.
    """
    address = parse_address(text)
    if table is not None and address.table is not None and table != address.table:
        raise InputError("The address and table= name two different tables. Name one.")
    table = table or address.table
    if (table is None) == (query is None):
        raise InputError(
            f"What to read from {address.shown} is {'not said' if table is None else 'said twice'}. Name a table "
            "(table='visits', or ?table=visits at the end of the address) or give a query (query=), one of the two."
        )
    if address.path is not None:
        check_is_file(address.path)
    driver = driver_of(address, InputError, "Reading")
    what = f"table '{table}'" if table is not None else "a query"
    statement = f"SELECT * FROM {quoted_name(address, table or '')}" if query is None else _without_end(query)
    name = f"{what} of {address.shown}" if table is not None else f"a query to {address.shown}"
    read = READERS[address.kind]
    with errors_explained(address, driver, InputError, f"{name} cannot be read"):
        got = read(address, driver, statement, table, ())
        notes = [PASSWORD_NOTE] if address.has_password else []
        if got.beyond:
            listed = ", ".join(f"{count:,} in '{column}'" for column, count in got.beyond.items())
            notes.append(
                "Dates and times that no calendar or day has (infinity, years before 1 or after 9999, 24:00:00) make "
                f"their columns texts: {listed}."
            )
            got = read(address, driver, statement, table, tuple(got.beyond))
    frame = got.frame.with_columns(_mended(column) for column in got.frame.iter_columns())
    frame = plain_or_refused(name, frame, dropped)
    refuse_no_records(name, frame)
    paths = (address.path,) if address.path is not None else ()
    return Reading(frame, Source(paths, DATABASE, shown=(name,)), (*notes, *got.notes))


def _without_end(query: str) -> str:
    """A query that others can be put around: without its semicolon, and with the end of a comment at its end."""
    return query.strip().rstrip(";").rstrip() + "\n"


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


QUOTED_NAME = r'(?:"(?:[^"]|"")+"|[^".]+)'


def parts_of_name(address: Address, table: str) -> tuple[str | None, str]:
    """The schema and the name of a table; SQLite has no schemas.

    Where a part stands in double quotes the parts are those of SQL; else the last dot parts schema and name.

    Examples
    --------
    >>> at = parse_address("duckdb:///clinic.db")
    >>> [parts_of_name(at, name) for name in ("visits", "ward.visits", '"a.b"."c.d"', '"c.d"')]
    [(None, 'visits'), ('ward', 'visits'), ('a.b', 'c.d'), (None, 'c.d')]
    """
    if re.fullmatch(rf"{QUOTED_NAME}(?:\.{QUOTED_NAME})?", table) and '"' in (table[0], table[-1]):
        parts = [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in re.findall(QUOTED_NAME, table)]
        if address.kind == "sqlite" and len(parts) > 1:
            raise InputError("SQLite has no schemas: name the table alone.")
        return (parts[0] if len(parts) > 1 else None), parts[-1]
    schema, dot, name = table.rpartition(".") if address.kind != "sqlite" else ("", "", table)
    return (schema if dot and schema else None), (name if dot and schema else table)


def with_ending(table: str, ending: str) -> str:
    """The name of a table beside another one: of the same schema, and in quotes where the other is."""
    if not table.endswith('"'):
        return f"{table}{ending}"
    return f"{table[:-1]}{ending.replace(chr(34), chr(34) * 2)}{table[-1]}"


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
    except (driver.Error, sqlite3.Error, OSError, pa.ArrowException, pl.exceptions.PolarsError) as fault:
        said = str(fault).lower()
        found = re.search(r"sqlstate: ([0-9a-z]{5})", said)  # of faults while records come in
        state = str(getattr(fault, "sqlstate", "") or (found[1].upper() if found else ""))
        known = _reason(state, said)
        reason = f": {known}" if known else f" ({type(fault).__name__}{f', SQLSTATE {state}' if state else ''})"
        advice = ""
        if address.kind == "postgresql" and known in NOT_LET_IN:
            advice = " User and password come from PGUSER and PGPASSWORD, ~/.pgpass or a service file."
        raise error(f"{what[0].upper()}{what[1:]}{reason}.{advice}") from None


def _reason(state: str, said: str) -> str | None:
    """What an error of a driver means: by its SQLSTATE where it has one, else by its words."""
    by_words = [(code, reason) for code, words, reason in REASONS if words in said]
    if not state:
        return by_words[0][1] if by_words else None
    by_state = [reason for code, reason in by_words if code == state]
    by_state += [reason for code, _, reason in REASONS if code == state]
    return by_state[0] if by_state else None


class _Read(NamedTuple):
    """What came from a database."""

    frame: pl.DataFrame
    beyond: Mapping[str, int] = {}
    """How many dates and times of a column are none that a frame can hold."""
    notes: tuple[str, ...] = ()


def _read_duckdb(address: Address, driver: Any, statement: str, table: str | None, as_text: Sequence[str]) -> _Read:
    config = ITSELF_ALONE if table is None else NOT_FETCHING
    connection = driver.connect(str(address.path), read_only=True, config=config)
    try:
        parsed = connection.extract_statements(statement)
        if len(parsed) != 1 or parsed[0].type != driver.StatementType.SELECT:
            raise InputError(ONLY_SELECT)
        found = connection.sql(statement)
        _refuse_twice(found.columns)
        kinds = zip(found.columns, map(str, found.types), strict=True)
        texts = {name for name, kind in kinds if kind.split("(")[0] in TEXTS_OF_DUCKDB} | set(as_text)
        if texts:
            found = found.project(", ".join(
                f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if name in texts else quoted(name)
                for name in found.columns
            ))  # fmt: skip
        return _from_batches(found)
    finally:
        connection.close()


def _read_sqlite(address: Address, driver: Any, statement: str, table: str | None, as_text: Sequence[str]) -> _Read:
    _undo_what_a_killed_writer_left(address, driver)
    if table is None:
        _refuse_all_but_select(address, statement)
    with connected(address, driver, is_read_only=True) as connection, connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(RECORDS_PER_BATCH)})
        cursor.execute(statement)
        got = _from_batches(cursor.fetch_record_batch())
        cursor.close()
        return got if table is None else got._replace(
            frame=_as_declared(got.frame, connection, parts_of_name(address, table)[1])
        )  # fmt: skip


def _refuse_all_but_select(address: Address, query: str) -> None:
    """Let SQLite look at a query without running it: a file that cannot be written does not keep it from making others.

    ATTACH makes a file, and so does VACUUM INTO.
    """

    def allow(action: int, *_: str | None) -> int:
        return sqlite3.SQLITE_OK if action in READING_OF_SQLITE else sqlite3.SQLITE_DENY

    with closing(sqlite3.connect(_sqlite_uri(address, "ro"), uri=True)) as connection:
        connection.set_authorizer(allow)
        connection.execute(f"EXPLAIN SELECT * FROM ({query})").close()


def _read_postgresql(address: Address, driver: Any, statement: str, table: str | None, as_text: Sequence[str]) -> _Read:
    with connected(address, driver, is_read_only=True) as connection:
        _run(connection, READ_ONLY, "SET LOCAL row_security = off")
        notes: tuple[str, ...] = ()
        try:
            columns = _described(connection, statement)
        except driver.Error as fault:
            if "row-level security" not in str(fault):
                raise
            connection.rollback()
            _run(connection, READ_ONLY)
            columns = _described(connection, statement)
            notes = (ROW_SECURITY_NOTE,)
        casts = {one.name: kind for one in columns if (kind := _cast_of(one))} | dict.fromkeys(as_text, "text")
        if casts:
            shown = ", ".join(
                f"{quoted(one.name)}::{casts[one.name]} AS {quoted(one.name)}"
                if one.name in casts
                else quoted(one.name)
                for one in columns
            )
            statement = f"SELECT {shown} FROM ({statement}) AS shoal_asked"
        with connection.cursor() as cursor:
            cursor.execute(statement)
            got = _from_batches(cursor.fetch_record_batch())
        padded = [one.name for one in columns if _type_of(one) == "bpchar"]
        return _Read(got.frame.with_columns(pl.col(padded).str.strip_chars_end(" ")), got.beyond, notes)


def _described(connection: Any, statement: str) -> Any:
    """The columns that a statement would give, before it runs; refuses one that gives none, such as COPY."""
    with connection.cursor() as cursor:
        columns = cursor.adbc_execute_schema(statement)
    if not len(columns):
        raise InputError(ONLY_SELECT)
    _refuse_twice(columns.names)
    return columns


def _type_of(column: Any) -> str:
    return str((column.metadata or {}).get(b"POSTGRESQL:type", b"").decode())


def _cast_of(column: Any) -> str | None:
    """What PostgreSQL is to make of a column whose values its driver does not hand over as such."""
    import pyarrow as pa

    kind, arrow = _type_of(column), column.type
    if kind in CASTS_OF_POSTGRESQL:
        return CASTS_OF_POSTGRESQL[kind]
    if isinstance(arrow, pa.BaseExtensionType) and pa.types.is_binary(arrow.storage_type) and kind != "uuid":
        return "text"
    return None


def _run(connection: Any, *statements: str) -> None:
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(statement)


def _refuse_twice(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InputError(
            f"The query names a column more than once: {', '.join(twice)}. Give each its own name with AS."
        )


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
    return driver.connect(_sqlite_uri(address, "ro" if is_read_only else "rwc"))


def _sqlite_uri(address: Address, mode: str) -> str:
    assert address.path is not None
    return f"file:{quote(str(address.path.absolute()))}?mode={mode}"


def _from_batches(batches: Any) -> _Read:
    """A frame from a stream of Arrow batches; types that frames have not become plain ones."""
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(batches)
    _refuse_twice(reader.schema.names)
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
    table = pa.Table.from_batches(chunks, schema=plain)
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    frame = found.with_columns(_of_extension(found[name], extension) for name, extension in extensions.items())
    beyond = {column.name: _n_beyond(column, table[column.name].null_count) for column in frame.iter_columns()}
    return _Read(frame, {name: count for name, count in beyond.items() if count})


def _n_beyond(column: pl.Series, n_missing: int) -> int:
    """How many dates lie beyond the calendar, and how many times beyond the day: these polars turns into missing."""
    if column.dtype == pl.Time:
        return column.null_count() - n_missing
    return n_beyond_calendar(column) if column.dtype in (pl.Date, pl.Datetime) else 0


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
        cursor.execute(f"SELECT name, type FROM pragma_table_xinfo('{table.replace(chr(39), chr(39) * 2)}')")
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


READERS = {"duckdb": _read_duckdb, "sqlite": _read_sqlite, "postgresql": _read_postgresql}
