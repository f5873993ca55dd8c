"""Databases as source and sink: real types both ways, one transaction, and no password anywhere."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.demo.clinics import clinics
from shoal.errors import InputError, OutputError, ParameterError, PolicyError, without_credentials
from shoal.policy import Policy
from shoal.publishing.sql import write_database
from shoal.reading import read
from shoal.reading.sql import is_address, parse_address, read_database
from tests.databases.servers import DATABASE, PASSWORD, USER, Server

pytestmark = pytest.mark.database

VALUES = pl.DataFrame(
    {
        "text": ["a'b\"c", "日本", None, ""],
        "whole": pl.Series([2**63 - 1, -(2**63), None, 0], dtype=pl.Int64),
        "small": pl.Series([1, -1, None, 0], dtype=pl.Int16),
        "beyond": pl.Series([2**64 - 1, 0, None, 1], dtype=pl.UInt64),
        "share": [0.1, -1e300, None, 2.5],
        "cost": pl.Series(["1.10", "-3.00", None, "12345678901234567.89"]).cast(pl.Decimal(20, 2)),
        "day": [date(2020, 1, 2), date(1, 1, 1), None, date(2999, 12, 31)],
        "moment": [datetime(2020, 1, 2, 3, 4, 5, 678912), datetime(1960, 1, 1), None, datetime(2000, 1, 1)],
        "zoned": pl.Series([datetime(2020, 1, 2, 12, tzinfo=UTC), None, None, None], dtype=pl.Datetime("us", "UTC")),
        "hour": [time(1, 2, 3, 4), time(0, 0), None, time(23, 59, 59)],
        "yes": [True, False, None, True],
        "kind": pl.Series(["x", None, "y", "x"], dtype=pl.Categorical),
        "Name with space": ["p", "q", "r", "s"],
    }
)  # fmt: skip
PLAIN = VALUES.with_columns(pl.col("kind").cast(pl.String))
COLUMNS = ["--person", "name", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease", "--drop", "admission"]
MODELS = ["--g-balance", "0.5", "--h-affiliation", "0.5"]

Url = Callable[[str], str]


@pytest.fixture(params=["postgresql", "sqlite", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("server")
        server.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
        return server.url
    return f"{request.param}:///{tmp_path}/clinic.db"


@pytest.fixture
def postgresql(server: Server) -> Server:
    server.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
    return server


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="shoal")
    return result.exit_code, result.stdout, result.stderr


# Types


def test_real_types_go_in_and_come_back(database: str) -> None:
    write_database({"values": VALUES}, database, overwrite=False)
    back = read_database(database, table="values").frame
    expected = PLAIN
    if database.startswith("sqlite"):  # which has no decimals, times or zones
        expected = expected.with_columns(pl.col("cost", "hour", "zoned", "beyond").cast(pl.String))
        expected = expected.with_columns(pl.col("small").cast(pl.Int64))
    elif database.startswith("postgresql"):  # whose decimals come with as many digits as a frame has
        expected = expected.with_columns(pl.col("cost").cast(pl.Decimal(38, 2)), pl.col("beyond").cast(pl.String))
    if database.startswith("duckdb"):
        back = back.with_columns(pl.col("zoned").dt.convert_time_zone("UTC"))
    assert back.schema == expected.schema
    for name in expected.columns:
        assert back[name].to_list() == expected[name].to_list(), name


def test_types_that_only_postgresql_has(postgresql: Server) -> None:
    postgresql.run(
        "CREATE TYPE mood AS ENUM ('low', 'high');"
        "CREATE TABLE odd (m mood, u uuid, n numeric, w numeric, v varchar(9), j jsonb, t timestamptz, r real);"
        "INSERT INTO odd VALUES ('low', '0123abcd-0000-0000-0000-00000000000f', 0.1, 12345678901234567890, 'é', '[1]',"
        " '2020-01-02 03:00+02', 0.5), (null, null, null, null, null, null, null, null), "
        "('high', '0123abcd-0000-0000-0000-00000000000e', 12.345, 1, 'x', '{}', '2020-01-02 03:00+02', 1)"
    )
    frame = read_database(postgresql.url, table="public.odd").frame
    assert frame["m"].to_list() == ["low", None, "high"]
    assert frame["u"].to_list()[0] == "0123abcd-0000-0000-0000-00000000000f"
    assert frame["n"].to_list() == [Decimal("0.100"), None, Decimal("12.345")]
    assert frame["w"].to_list() == [Decimal(12345678901234567890), None, Decimal(1)]
    assert frame["j"].to_list() == ["[1]", None, "{}"]
    assert frame["t"][0] == datetime(2020, 1, 2, 1, tzinfo=UTC)
    postgresql.run("CREATE TABLE nan (n numeric); INSERT INTO nan VALUES ('NaN'), (1), (1e100)")
    assert read_database(postgresql.url, table="nan").frame["n"].to_list()[:2] == ["nan", "1"]
    postgresql.run("CREATE TABLE bad (a int[], b bytea, c int); INSERT INTO bad VALUES ('{1}', '\\x00', 7)")
    with pytest.raises(InputError, match=r"more than one plain value per record: 'a'.*'b'"):
        read_database(postgresql.url, table="bad")
    emptied = read(postgresql.url, table="bad", dropped=["a", "b"]).frame
    assert emptied.to_dict(as_series=False) == {"a": [None], "b": [None], "c": [7]}


def test_types_that_a_frame_has_not_come_as_the_database_writes_them(postgresql: Server) -> None:
    """Money came in hundredths, without a word; an interval stopped the reading even where it is dropped."""
    postgresql.run(
        "CREATE TABLE odd (m money, i interval, z timetz, n inet, b bit(3), p char(5), o oid);"
        "INSERT INTO odd VALUES (12.5, '1 day 2 hours', '24:00:00+02', '10.0.0.1', '101', 'ab', 4000000000)"
    )
    for asked in ({"table": "odd"}, {"query": "SELECT * FROM odd; "}, {"query": "SELECT * FROM odd -- all of it"}):
        (record,) = read_database(postgresql.url, **asked).frame.rows()  # type: ignore[arg-type]
        assert record == (Decimal("12.50"), "1 day 02:00:00", "24:00:00+02", "10.0.0.1/32", "101", "ab", 4_000_000_000)


def test_types_of_duckdb_that_a_frame_has_not(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT INTERVAL '1 month 2 days' AS i, '10:00:00+02'::TIMETZ AS z, [1] AS l"
        )
    reading = read(f"duckdb:///{tmp_path}/a.db", table="t", dropped=["l"])
    assert reading.frame.rows() == [("1 month 2 days", "10:00:00+02", None)]


@pytest.mark.parametrize("kind", ["postgresql", "duckdb"])
def test_dates_that_no_calendar_has_are_texts(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    """Infinity ended in a panic, and 24:00:00 became missing without a word."""
    made = (
        "CREATE TABLE t (a int, d date, m timestamp, z timestamptz, h time);"
        "INSERT INTO t VALUES (1, 'infinity', '-infinity', 'infinity', '24:00:00'), "
        "(2, '2020-01-02', '2020-01-02 03:04:05', null, '23:59:59')"
    )
    if kind == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        server.run(made)
        address = server.url
    else:
        import duckdb

        address = f"duckdb:///{tmp_path}/a.db"
        with duckdb.connect(str(tmp_path / "a.db")) as connection:
            connection.execute(made)
    reading = read_database(address, query="SELECT * FROM t ORDER BY a")
    assert reading.frame.rows() == [
        (1, "infinity", "-infinity", "infinity", "24:00:00"),
        (2, "2020-01-02", "2020-01-02 03:04:05", None, "23:59:59"),
    ]
    assert "1 in 'd', 1 in 'm', 1 in 'z', 1 in 'h'" in reading.notes[-1]


def test_dates_of_frames_that_no_calendar_has_are_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2], "d": pl.Series([2**31 - 1, 0], dtype=pl.Int32).cast(pl.Date)})
    for schema in (shoal.Schema(quasi=["age"], sensitive=["d"]), shoal.Schema(quasi=["age"], kept=["d"])):
        with pytest.raises(InputError, match="1 in 'd'"):
            shoal.assess(frame, schema)
    shoal.assess(frame, shoal.Schema(quasi=["age"], dropped=["d"]))


def test_a_large_table_comes_in_batches(database: str) -> None:
    frame = pl.DataFrame({"a": range(200_000), "b": ["x", "y"] * 100_000})
    write_database({"large": frame}, database, overwrite=False)
    back = read_database(database, query="SELECT * FROM large ORDER BY a").frame
    assert back.equals(frame)


def test_values_of_several_types_in_sqlite_are_refused(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(70_000)] + [("canary",)])
    with pytest.raises(InputError, match="CAST in a query") as caught:
        read_database(f"sqlite:///{tmp_path}/a.db", table="t")
    assert "canary" not in str(caught.value)


# Reading


def test_tables_are_named_in_the_address_too_and_queries_only_read(database: str) -> None:
    write_database({"values": PLAIN}, database, overwrite=False)
    assert read(f"{database}?table=values").frame.height == 4
    reading = read(database, query='SELECT "whole" FROM "values" WHERE "whole" > 0')
    assert reading.frame.to_dict(as_series=False) == {"whole": [2**63 - 1]}
    assert reading.source.name.startswith("a query to the ")
    with pytest.raises(InputError) as caught:
        read_database(database, query='DELETE FROM "values"')
    assert "values" not in str(caught.value)
    assert read_database(database, table="values").frame.height == 4


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1 AS a) TO '{file}'",
        "SELECT 1 AS a; COPY (SELECT 1 AS a) TO '{file}'",
        "COPY (SELECT 1 AS a) TO PROGRAM 'touch {file}'",
        "EXPORT DATABASE '{file}'",
        "ATTACH '{file}' AS other",
        "VACUUM INTO '{file}'",
        "SELECT 1 AS a) AS b; VACUUM INTO '{file}'; SELECT * FROM (SELECT 1 AS a",
        "CREATE TABLE made (a INT)",
        "INSERT INTO t VALUES (9) RETURNING a",
        "SET TRANSACTION READ WRITE",
    ],
)
def test_a_query_makes_no_file_and_changes_nothing(database: str, tmp_path: Path, query: str) -> None:
    write_database({"t": pl.DataFrame({"a": [1]})}, database, overwrite=False)
    file = tmp_path / "made"
    os.chmod(tmp_path, 0o777)  # so that the server of PostgreSQL could
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(InputError):
        read_database(database, query=query.format(file=file))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert read_database(database, table="t").frame.rows() == [(1,)]


def test_a_query_of_duckdb_sees_no_files_and_none_of_our_variables(tmp_path: Path) -> None:
    write_database({"t": pl.DataFrame({"a": [1]})}, f"duckdb:///{tmp_path}/a.db", overwrite=False)
    (tmp_path / "secret.csv").write_text("a\nCanary\n")
    for table in (f"'{tmp_path}/secret.csv'", f"read_csv('{tmp_path}/secret.csv')", "driver", "statement"):
        with pytest.raises(InputError, match=r"no files beside it|no such table"):
            read_database(f"duckdb:///{tmp_path}/a.db", query=f"SELECT * FROM {table}")


def test_names_with_dots_stand_in_quotes(database: str) -> None:
    names = ['"x.y"'] if database.startswith("sqlite") else ['"x.y"', '"my.schema"."x.y"', '"my.schema".plain']
    if database.startswith("postgresql"):
        import adbc_driver_postgresql.dbapi as dbapi

        with dbapi.connect(database, autocommit=True) as connection:
            connection.execute('DROP SCHEMA IF EXISTS "my.schema" CASCADE').close()
            connection.execute('CREATE SCHEMA "my.schema"').close()
    elif database.startswith("duckdb"):
        import duckdb

        with duckdb.connect(database.removeprefix("duckdb:///")) as connection:
            connection.execute('CREATE SCHEMA "my.schema"')
    for number, name in enumerate(names):
        write_database({name: pl.DataFrame({"a": [number]})}, database, overwrite=False)
        write_database({name: pl.DataFrame({"a": [number]})}, database, overwrite=True)
    assert [read_database(database, table=name).frame.item() for name in names] == list(range(len(names)))
    with pytest.raises(InputError, match="no such table; a name that has a dot in it stands in quotes"):
        read_database(database, table="absent.x.y")


def test_tables_of_an_anatomized_release_have_the_quotes_of_the_first(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": range(40), "illness": ["a", "b", "c", "d"] * 10})
    schema = shoal.Schema(quasi=["age"], sensitive=["illness"])
    release = shoal.protect(frame, schema, [shoal.LDiversity(l=2)], mask="anatomize")
    release.write(tmp_path / "out", into=f"sqlite:///{tmp_path}/a.db", into_table='"a.b"')
    assert read_database(f"sqlite:///{tmp_path}/a.db", table='"a.b_illness"').frame.columns == [
        "group",
        "illness",
        "count",
    ]


def test_row_security_is_told_of(postgresql: Server) -> None:
    postgresql.run(
        "DROP ROLE IF EXISTS bob; CREATE ROLE bob LOGIN PASSWORD 'bobpw'; CREATE TABLE r (a int, who text);"
        "INSERT INTO r VALUES (1, 'bob'), (2, 'ann'); ALTER TABLE r ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY p ON r USING (who = current_user); GRANT USAGE ON SCHEMA public TO bob;"
        "GRANT SELECT ON r TO bob;"
    )
    assert len(read_database(postgresql.url, table="r").notes) == 1, "of the password, and none of row security"
    reading = read_database(postgresql.url.replace(f"{USER}:{PASSWORD}", "bob:bobpw"), table="r")
    assert reading.frame["a"].to_list() == [1]
    assert "Row security hides some records" in reading.notes[-1]
    postgresql.run("DROP TABLE r; REVOKE ALL ON SCHEMA public FROM bob; DROP ROLE bob;")


def test_faults_of_a_server_are_told_by_their_cause(postgresql: Server) -> None:
    """A lost connection was blamed on the password, and a table that is absent on the database."""
    postgresql.run("CREATE TABLE here (a int); INSERT INTO here VALUES (1)")
    for query, words in (
        ("SELECT pg_terminate_backend(pg_backend_pid()) FROM here", "connection to the server was lost"),
        ("SELECT * FROM absent", "no such table"),
        ("SELECT absent FROM here", "a column that the query names does not exist"),
        ("SELECT absent(1)", "a function that the query names does not exist"),
        ("SELECT 1/0 AS a", "SQLSTATE 22012"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            read_database(postgresql.url, query=query)
        assert "PGPASSWORD" not in str(caught.value)
    with pytest.raises(InputError, match="no server answers there") as caught:
        read_database(postgresql.url.replace(str(postgresql.port), "1"), table="t")
    assert "PGPASSWORD" not in str(caught.value)
    with pytest.raises(InputError, match=r"does not accept the user and the password.*PGPASSWORD"):
        read_database(postgresql.url.replace(PASSWORD, "wrong"), table="t")


def test_what_is_not_said_or_said_twice_is_refused(database: str) -> None:
    write_database({"values": PLAIN, "nothing": PLAIN.clear()}, database, overwrite=False)
    for address, options, words in (
        (database, {}, "not said"),
        (database, {"table": "values", "query": "SELECT 1"}, "said twice"),
        (f"{database}?table=values", {"table": "other"}, "two different tables"),
        (database, {"table": "absent"}, "cannot be read"),
        (database, {"query": "SELEKT"}, "cannot be read"),
        (database, {"query": "SELECT 1 AS a, 2 AS a"}, "more than once|cannot be read|no records|1 AS a"),
        (database, {"table": "nothing"}, "no records"),
    ):
        with pytest.raises(InputError, match=words):
            read_database(address, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address", ["mysql://me:CanaryPw@host/db", "sqlite://host/a.db", "sqlite:///", "postgresql://["]
)
def test_addresses_that_are_none_are_refused_without_showing_them(address: str) -> None:
    with pytest.raises(InputError) as caught:
        read(address, table="t")
    assert "CanaryPw" not in str(caught.value)
    code, out, err = run("assess", address, "--table", "t", *COLUMNS)
    assert code == 2
    assert "CanaryPw" not in out + err


def test_a_database_file_that_is_absent_is_not_made(tmp_path: Path) -> None:
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(InputError, match="There is no file"):
            read_database(f"{kind}:///{tmp_path}/absent.db", table="t")
    assert list(tmp_path.iterdir()) == []


def test_tables_and_queries_go_with_addresses_only(tmp_path: Path) -> None:
    clinics().write_csv(tmp_path / "clinics.csv")
    with pytest.raises(ParameterError, match="address"):
        read(tmp_path / "clinics.csv", table="t")
    assert not is_address("C:\\clinics.csv")
    assert parse_address("postgres://host/db?sslmode=require&table=a.b").table == "a.b"


@pytest.mark.parametrize(("kind", "package"), [("postgresql", "adbc_driver_postgresql.dbapi"), ("duckdb", "duckdb")])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "a.db").write_bytes(b"")
    address = f"{kind}://host/a" if kind == "postgresql" else f"{kind}:///{tmp_path}/a.db"
    for work in (lambda: read_database(address, table="t"), lambda: write_database({}, address, overwrite=False)):
        with pytest.raises((InputError, OutputError), match=r"pip install 'shoal\[sql\]'"):
            work()


# Writing


def test_a_table_is_replaced_only_if_asked_and_if_shoal_wrote_it(database: str) -> None:
    write_database({"values": PLAIN.head(1)}, database, overwrite=False)
    with pytest.raises(OutputError, match="overwrite=True"):
        write_database({"values": PLAIN}, database, overwrite=False)
    assert read_database(database, table="values").frame.height == 1
    write_database({"values": PLAIN}, database, overwrite=True)
    assert read_database(database, table="values").frame.height == 4


def make_foreign(database: str) -> None:
    """A table that somebody else made."""
    if database.startswith("postgresql"):
        import adbc_driver_postgresql.dbapi as dbapi

        connection = dbapi.connect(database)
    elif database.startswith("sqlite"):
        import sqlite3

        connection = sqlite3.connect(database.removeprefix("sqlite:///"))
    else:
        import duckdb

        connection = duckdb.connect(database.removeprefix("duckdb:///"))
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE precious (a INTEGER)")
    cursor.close()
    cursor = connection.cursor()
    cursor.execute("INSERT INTO precious VALUES (7)")
    cursor.close()
    connection.commit()
    connection.close()


def test_a_table_of_others_is_never_replaced(database: str) -> None:
    make_foreign(database)
    with pytest.raises(OutputError, match="not written by shoal"):
        write_database({"values": PLAIN, "precious": PLAIN}, database, overwrite=True)
    assert read_database(database, table="precious").frame.to_dict(as_series=False) == {"a": [7]}
    with pytest.raises(InputError):
        read_database(database, table="values")


def test_a_failure_leaves_the_old_table(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.publishing import sql

    write_database({"values": PLAIN.head(1), "more": PLAIN.head(2)}, database, overwrite=False)
    counted: list[str] = []

    def miscount(self: object, target: str) -> int:
        counted.append(target)
        return 4 if len(counted) == 1 else -1

    monkeypatch.setattr(sql._Store, "count", miscount)
    with pytest.raises(OutputError, match="did not take all records"):
        write_database({"values": PLAIN, "more": PLAIN}, database, overwrite=True)
    assert len(counted) == 2
    assert read_database(database, table="values").frame.height == 1
    assert read_database(database, table="more").frame.height == 2


def test_a_value_that_postgresql_cannot_hold_leaves_the_old_table(postgresql: Server) -> None:
    write_database({"t": pl.DataFrame({"a": ["old"]})}, postgresql.url, overwrite=False)
    with pytest.raises(OutputError, match="as it was") as caught:
        write_database({"t": pl.DataFrame({"a": ["canary\0"]})}, postgresql.url, overwrite=True)
    assert "canary" not in str(caught.value)
    assert read_database(postgresql.url, table="t").frame["a"].to_list() == ["old"]
    with pytest.raises(OutputError, match="63 bytes"):
        write_database({"t": pl.DataFrame({"x" * 64: [1]})}, postgresql.url, overwrite=True)


def test_a_file_that_was_made_for_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.publishing import sql

    monkeypatch.setattr(sql._Store, "count", lambda self, target: -1)
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(OutputError):
            write_database({"t": PLAIN}, f"{kind}:///{tmp_path}/new.db", overwrite=False)
    assert list(tmp_path.iterdir()) == []


# The command


def test_from_a_database_into_a_database(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_database({"visits": clinics()}, database, overwrite=False)
    protect = ["protect", database, "--table", "visits", *COLUMNS, *MODELS, "-o", "out", "--into", database,
               "--into-table", "released"]  # fmt: skip
    code, out, err = run(*protect)
    assert code == 0, err
    published = read_database(database, table="released").frame
    written = read("out/release.parquet").frame
    texts = [frame.with_columns(pl.all().cast(pl.String)).rows() for frame in (published, written)]
    assert sorted(map(str, texts[0])) == sorted(map(str, texts[1]))
    policy = Policy.load("out/steward/policy.toml")
    assert shoal.verify(published, policy.schema_of_release(), policy.models).holds
    manifest = json.loads(Path("out/steward/manifest.json").read_text())
    assert "table 'visits' of the" in manifest["sources"][0]
    assert "table 'released' of the" in manifest["written_to"][0]
    assert run("verify", "out")[0] == 0
    code, _, err = run(*protect[:-6], "-o", "out2", *protect[-4:])
    assert (code, "--overwrite" in err, Path("out2").exists()) == (2, True, False)
    assert run(*protect, "--overwrite")[0] == 0
    everything = (
        out + err + "".join(each.read_bytes().decode("latin-1") for each in Path("out").rglob("*") if each.is_file())
    )
    assert PASSWORD not in everything
    assert USER not in everything


def test_an_anatomized_release_has_all_its_tables(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"age": range(40), "illness": ["a", "b", "c", "d"] * 10})
    release = shoal.protect(
        frame, shoal.Schema(quasi=["age"], sensitive=["illness"]), [shoal.LDiversity(l=2)], mask="anatomize"
    )
    release.write("out", into=database, into_table="released")
    assert read_database(database, table="released").frame.height == 40
    assert read_database(database, table="released_illness").frame.columns == ["group", "illness", "count"]


def test_into_and_its_table_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clinics().write_csv("clinics.csv")
    assert run("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out", "--into", "sqlite:///a.db")[0] == 2
    code, _, err = run("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "postgresql://me:CanaryPw@host/db")
    assert code == 2
    assert "CanaryPw" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["clinics.csv"]


# Passwords


def test_user_and_password_come_from_where_libpq_finds_them(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_database({"t": PLAIN}, postgresql.url, overwrite=False)
    bare = postgresql.bare_url
    for name in ("PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE"):
        monkeypatch.delenv(name, raising=False)
    with monkeypatch.context() as environment:
        environment.setenv("PGUSER", USER)
        environment.setenv("PGPASSWORD", PASSWORD)
        reading = read_database(bare, table="t")
        assert reading.frame.height == 4
        assert reading.notes == ()
    with monkeypatch.context() as environment:
        passwords = tmp_path / "pgpass"
        passwords.write_text(f"127.0.0.1:{postgresql.port}:*:{USER}:{PASSWORD}\n")
        os.chmod(passwords, 0o600)
        environment.setenv("PGUSER", USER)
        environment.setenv("PGPASSFILE", str(passwords))
        assert read_database(bare, table="t").frame.height == 4
    with monkeypatch.context() as environment:
        services = tmp_path / "services"
        services.write_text(
            f"[clinic]\nhost=127.0.0.1\nport={postgresql.port}\ndbname={DATABASE}\nuser={USER}\npassword={PASSWORD}\n"
        )
        environment.setenv("PGSERVICEFILE", str(services))
        assert read_database("postgresql:///?service=clinic", table="t").frame.height == 4
    assert "~/.pgpass" in read_database(postgresql.url, table="t").notes[0]


def test_no_error_shows_the_password_or_the_user(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clinics().write_csv("clinics.csv")
    wrong = postgresql.url.replace(PASSWORD, "CanaryWrongPassword")
    absent = postgresql.url.replace(f"/{DATABASE}", "/absent")
    deaf = postgresql.url.replace(str(postgresql.port), "1")
    in_parameters = f"{postgresql.bare_url}?user={USER}&password=CanaryWrongPassword"
    for address in (wrong, absent, deaf, in_parameters, postgresql.url):
        for command in (
            ["assess", address, "--table", "absent", *COLUMNS],
            ["assess", address, *COLUMNS],
            ["assess", address, "--query", "SELECT 1/0", *COLUMNS],
            ["assess", f"{address}/", f"{address}.csv", *COLUMNS],
            ["profile", address, "--table", "absent", "--debug"],
            ["protect", address, "--table", "absent", *COLUMNS, *MODELS, "-o", "out"],
            [
                "protect",
                "clinics.csv",
                *COLUMNS,
                *MODELS,
                "-o",
                "out",
                "--into",
                address,
                "--into-table",
                "absent.absent",
            ],
            ["protect", "clinics.csv", "--join", address, "--on", "name", *COLUMNS, *MODELS, "-o", "out"],
            ["protect", "clinics.csv", *COLUMNS, *MODELS, "-o", address],
            ["protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out", "--policy", address],
            ["verify", address, *COLUMNS, *MODELS],
            ["report", address],
            ["assess", "clinics.csv", *COLUMNS, "--decimal", address],
        ):
            code, out, err = run(*command)
            assert code == 2, (command[0], out, err)
            for secret in (PASSWORD, "CanaryWrongPassword", USER):
                assert secret not in out + err, command
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinics.csv"]


def test_what_profile_writes_and_shows_has_no_password(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_database({"visits": clinics()}, postgresql.url, overwrite=False)
    code, out, err = run("profile", postgresql.url, "--table", "visits")
    assert code == 0, err
    everything = out + err + Path("visits.policy.toml").read_text()
    assert PASSWORD not in everything
    assert USER not in everything


def test_a_policy_holds_no_address() -> None:
    document = {
        "columns": {"quasi": ["age"]},
        "source": {"join": {"person_file": "postgresql://me:CanaryPw@h/d", "on": "a"}},
    }
    with pytest.raises(PolicyError, match="must be a file") as caught:
        Policy.from_document(document)
    assert "CanaryPw" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("x 'postgresql://u:p@h:5/d?password=p' y", "x 'postgresql://h:5/d' y"),
        ("postgresql:/u:p@h/d", "postgresql:/h/d"),
        ("postgresql://u:p/q@r@h/d", "postgresql://h/d"),
        ("a folder out/steward?", "a folder out/steward?"),
        ("me@example", "me@example"),
    ],
)
def test_addresses_lose_user_and_password(text: str, clean: str) -> None:
    assert without_credentials(text) == clean


KILLED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")  # pages of the file itself are changed long before the end
connection.execute("BEGIN")
connection.execute("UPDATE visits SET disease = 'changed ' || disease")
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
print("waiting", flush=True)
sys.stdin.read()
"""


def visits_in_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE visits (patient INTEGER, disease TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", [(at, f"disease {at:080}") for at in range(4000)])
        connection.commit()


def test_a_table_whose_writer_was_killed_is_read_as_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "clinic.db"
    visits_in_sqlite(path)
    subprocess.run([sys.executable, "-c", KILLED, str(path), "killed"], check=False)
    assert (tmp_path / "clinic.db-journal").stat().st_size > 0
    frame = read_database(f"sqlite:///{path}", table="visits").frame
    assert frame.height == 4000
    assert frame["disease"].str.starts_with("disease").all()
    assert not (tmp_path / "clinic.db-journal").exists()


def test_a_change_that_is_still_going_on_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "clinic.db"
    visits_in_sqlite(path)
    command = [sys.executable, "-c", KILLED, str(path), "waiting"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "waiting\n"
        journal = (tmp_path / "clinic.db-journal").stat().st_size
        with pytest.raises(InputError, match="locked"):
            read_database(f"sqlite:///{path}", table="visits")
        assert (tmp_path / "clinic.db-journal").stat().st_size == journal
        writer.stdin.close()
    assert read_database(f"sqlite:///{path}", table="visits").frame.height == 4000
