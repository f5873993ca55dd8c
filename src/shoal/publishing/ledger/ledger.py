"""The ledger: an SQLite file that remembers which person was in which group of which release, by keyed hashes alone.

A release is entered in three steps, so that a kill at any moment is mended by whoever opens the ledger next:

1. When every file of the release is written to its hidden folder, and nothing is published yet, all that is to be
   remembered is entered as "pending", in one transaction.
2. The hidden folder takes the place of the target (and a database, where one was named, is written before).
3. The entry becomes "done".

The manifest of the release holds the number of the entry. A pending entry whose number stands in the target's manifest
was published: it becomes done. One whose hidden folder is still there was not: it is taken out. Where neither can be
seen, for the folder was moved or a database may have been written, the entry stays, is "in doubt", and counts as
released. A lock of SQLite, which the system lets go of when a run dies, keeps two runs from one ledger; it is held from
the check until the entry is done.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import InputError, OutputError, ParameterError, PrivacyNotMetError, ShoalWarning
from shoal.judging.observation import Observation
from shoal.measuring.shown import grouping_of
from shoal.models.exact import IntArray
from shoal.publishing.folder import finish_interrupted, ready_folders
from shoal.publishing.ledger.accountant import Account, Spent
from shoal.publishing.ledger.check import ABSENT, Earlier, LedgerCheck, check_release
from shoal.publishing.ledger.key import Key, create_key, put, read_key
from shoal.publishing.manifest import read_manifest
from shoal.table.columns import CategoryColumn
from shoal.table.spelling import spelled

if TYPE_CHECKING:
    from shoal.publishing.release import Release
    from shoal.table.table import Table
MODES = ("warn", "refuse")
APPLICATION = 0x73686F61
"""What SQLite files of ours have as application_id: the letters "shoa"."""
VERSION = 2
FORGOTTEN = "forgotten"
SPENT = ("epsilon", "delta")
"""What a release spends of differential privacy."""
SECONDS_TO_WAIT = 10.0
"""How long a run waits for another that holds the ledger."""

REASONS = {
    "SQLITE_FULL": "no space left on device",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_READONLY": "it may not be written to",
    "SQLITE_IOERR": "the system reported an error",
}

TABLES = """
CREATE TABLE about (key_check BLOB NOT NULL);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL UNIQUE, state TEXT NOT NULL, made TEXT NOT NULL,
    spelling TEXT NOT NULL,
    name TEXT NOT NULL, folder TEXT, staging TEXT, in_database INTEGER NOT NULL,
    persons INTEGER NOT NULL, records INTEGER NOT NULL, groups INTEGER NOT NULL, epsilon REAL, delta REAL
);
CREATE TABLE members (
    release INTEGER NOT NULL, person BLOB NOT NULL, grp INTEGER NOT NULL, records INTEGER NOT NULL,
    PRIMARY KEY (release, person)
) WITHOUT ROWID;
CREATE TABLE group_values (
    release INTEGER NOT NULL, grp INTEGER NOT NULL, attribute TEXT NOT NULL, value BLOB NOT NULL,
    persons INTEGER NOT NULL, records INTEGER NOT NULL, PRIMARY KEY (release, attribute, grp, value)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, kw_only=True)
class ListedRelease:
    """A release as the ledger lists it: counts only.

    Attributes
    ----------
    number
        By which it is forgotten.
    made, name
        When, in UTC, and the name of its folder.
    state
        "done"; "in doubt": it may never have been finished, and counts as released; or "forgotten": nothing of it is
        known any more, and no release is looked at together with it.
    persons, records, groups
        How many it has.
    epsilon, delta
        What it spends of differential privacy; None where it promises none.
    """

    number: int
    made: str
    name: str
    state: str
    persons: int
    records: int
    groups: int
    epsilon: float | None = None
    delta: float | None = None


class Ledger:
    """What was released about whom, in a file; opt-in.

    Parameters
    ----------
    file
        The ledger; made where it is absent.
    key
        The file of its key, by default `file` with `.key` behind it. Made, readable by its owner only, where it is
        absent and the ledger is new.
    mode
        "warn" tells where a model is broken together with earlier releases; "refuse" writes nothing then.
    max_epsilon, max_delta
        How much of differential privacy all releases together may spend; more counts as a broken model.

    Examples
    --------
    Give it to `release.write("out", ledger=Ledger("ledger.sqlite"))`; `ledger.found` is what the check found.
    """

    def __init__(
        self,
        file: str | Path,
        *,
        key: str | Path | None = None,
        mode: str = "warn",
        max_epsilon: float | None = None,
        max_delta: float | None = None,
    ) -> None:
        if mode not in MODES:
            raise ParameterError(f"The mode of a ledger must be one of: {', '.join(MODES)}.")
        if any(limit is not None and not limit > 0 for limit in (max_epsilon, max_delta)):
            raise ParameterError("max_epsilon and max_delta of a ledger must be numbers above 0.")
        self.max_epsilon, self.max_delta = max_epsilon, max_delta
        self.file = Path(file)
        self.key_file = Path(key) if key is not None else self.file.with_name(f"{self.file.name}.key")
        self.mode = mode
        self.found: LedgerCheck | None = None
        """What the last release written with this ledger is like together with the earlier ones."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The ledger and its key, which must not lie in a release folder."""
        return self.file, self.key_file

    def releases(self) -> list[ListedRelease]:
        """The releases that the ledger remembers, the first one first; the key is not needed."""
        with self._opened(must_exist=True) as connection:
            names: tuple[str, ...] = ("number", "made", "name", "state", "persons", "records", "groups")
            names += SPENT if _has_account(connection) else ()
            rows = connection.execute(f"SELECT {', '.join(names)} FROM releases ORDER BY number").fetchall()
        listed = [dict(zip(names, row, strict=True)) for row in rows]
        return [ListedRelease(**{**row, "state": _shown_state(row["state"])}) for row in listed]

    def forget(self, number: int) -> None:
        """Forget what a release said of whom, for good: it is overwritten. That there was a release stays listed."""
        with self._opened(must_exist=True, exclusive=True) as connection:
            with _transaction(connection):
                known = connection.execute("SELECT state FROM releases WHERE number = ?", (number,)).fetchone()
                if known is None:
                    raise InputError(f"The ledger '{self.file}' has no release {number}. 'shoal ledger' lists them.")
                if known == (FORGOTTEN,):
                    raise InputError(f"Release {number} of the ledger '{self.file}' is forgotten already.")
                _forget_persons(connection, number)
                connection.execute(
                    "UPDATE releases SET state = ?, folder = NULL, staging = NULL WHERE number = ?", (FORGOTTEN, number)
                )
            connection.execute("VACUUM")

    def prepare(self) -> None:
        """Refuse what is no ledger or not its key, and mend what was interrupted; an absent ledger is not made yet."""
        if not self.file.exists() and not self.key_file.exists():
            return
        key = self._key()
        if self.file.exists():
            with self._opened(exclusive=True) as connection:
                self._begin(connection, key)

    def compare(self, release: Release) -> LedgerCheck:
        """What a release is like together with those that the ledger remembers; nothing is entered."""
        key = self._key()
        with self._opened(exclusive=True) as connection:
            self._begin(connection, key)
            return self._compare(connection, key, release)

    @contextmanager
    def recording(self, release: Release, folder: str | Path, *, in_database: bool) -> Iterator[Recording]:
        """Check a release and enter it while it is written; see the module's words for the order of things.

        Raises
        ------
        PrivacyNotMetError
            In the mode "refuse", where a model is broken together with earlier releases. Nothing is written then.
        OutputError
            Where another run holds the ledger, or it cannot be written.
        """
        key = self._key()
        with self._opened(exclusive=True) as connection:
            self._begin(connection, key)
            self.found = self._compare(connection, key, release)
            told = self.found.sentences()
            if not self.found.holds and self.mode == "refuse":
                raise PrivacyNotMetError(" ".join([*told, "Nothing was written."]))
            for sentence in told:
                warnings.warn(sentence, ShoalWarning, stacklevel=4)
            target = Path(os.path.abspath(folder))
            entry = Recording(connection, key, release, target, in_database, self.files, self.found)
            try:
                yield entry
            except BaseException:
                entry.give_up()
                raise
            entry.done()

    # --- the file ----------------------------------------------------------------------------------------------------

    def _key(self) -> Key:
        """The key; a new one is made only for a new ledger, for with another nobody would be known again.

        It is called `.new` until the ledger is made, so that a key of its own name had a ledger.
        """
        has_ledger = self.file.exists() and self.file.stat().st_size > 0
        if not self.key_file.exists() and (not has_ledger or self._new_key_file.exists()):
            return create_key(self._new_key_file)
        key = read_key(self.key_file)
        if not has_ledger:
            raise self._lost()
        return key

    @property
    def _new_key_file(self) -> Path:
        return self.key_file.with_name(f"{self.key_file.name}.new")

    def _lost(self) -> InputError:
        return InputError(
            f"The key '{self.key_file}' is there, but its ledger '{self.file}' is gone or empty, so nobody would be "
            "known again. Put the ledger back. For a new one name a key that is not there yet with key=."
        )

    @contextmanager
    def _opened(self, *, must_exist: bool = False, exclusive: bool = False) -> Iterator[sqlite3.Connection]:
        """An open ledger; what SQLite refuses becomes a clear error."""
        if not self.file.exists():
            if must_exist:
                raise InputError(f"There is no ledger '{self.file}'. Check the name and the folder.")
            _make_private(self.file)
        try:
            with closing(sqlite3.connect(self.file, timeout=SECONDS_TO_WAIT, isolation_level=None)) as connection:
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("PRAGMA synchronous = EXTRA")
                if exclusive:  # SQLite keeps the lock over transactions, until the connection is closed
                    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                    connection.execute("BEGIN EXCLUSIVE")
                    connection.execute("COMMIT")
                if must_exist:
                    self._refuse_strangers(connection)
                yield connection
        except sqlite3.Error as error:
            raise self._told(error) from None

    def _told(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return OutputError(
                f"Another run is using the ledger '{self.file}'. Nothing was written. Wait until it has finished, and "
                "run again."
            )
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return InputError(f"'{self.file}' is no ledger, or is damaged: {code}. Put back a copy, or name another.")
        reason = next((words for name, words in REASONS.items() if code.startswith(name)), code or "unknown")
        return OutputError(f"The ledger '{self.file}' cannot be used: {reason}. Nothing was written.")

    def _refuse_strangers(self, connection: sqlite3.Connection) -> None:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION or version != VERSION:
            raise InputError(f"'{self.file}' is no ledger of this version of shoal. Name another file.")

    def _begin(self, connection: sqlite3.Connection, key: Key) -> None:
        """Make the tables of a new ledger, or see that the key is that of an old one; then mend it."""
        is_new = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if is_new:
            if self.key_file.exists():
                raise self._lost()
            with _transaction(connection):
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES (?)", (key.check,))
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
        self._refuse_strangers(connection)
        if not _has_account(connection):  # made before releases had an account of what they spend
            with _transaction(connection):
                for name in SPENT:
                    connection.execute(f"ALTER TABLE releases ADD COLUMN {name} REAL")
        (known,) = connection.execute("SELECT key_check FROM about").fetchone()
        if known != key.check:
            raise InputError(
                f"'{self.key_file}' is not the key of the ledger '{self.file}', so nobody in it could be known again. "
                "Name its own key with key=."
            )
        if self._new_key_file.exists():
            put(self._new_key_file, self.key_file)
        _mend(connection)

    def _compare(self, connection: sqlite3.Connection, key: Key, release: Release) -> LedgerCheck:
        table = release.table
        _refuse_nameless(table)
        persons = pl.DataFrame({"person": _hashes_of_persons(table, key)}, schema={"person": pl.Binary})
        hashes = {name: key.hashes(f"value of {name}", _texts_of_codes(column))
                  for name, column in table.sensitive.items()}  # fmt: skip
        listed = connection.execute(
            "SELECT number, state, spelling, epsilon, delta FROM releases ORDER BY number"
        ).fetchall()
        known = [entry for entry in listed if entry[1] != FORGOTTEN]
        for _, _, spelling, _, _ in known:
            _refuse_other_spelling(table, json.loads(spelling))
        earlier = [_earlier(connection, number, persons, hashes) for number, *_ in known]
        in_doubt = sum(state == "pending" for _, state, *_ in known)
        found = check_release(
            table, grouping_of(release).group_of_person, release.models, earlier, in_doubt=in_doubt,
            forgotten=len(listed) - len(known),
        )  # fmt: skip
        return self._with_account(found, [None if line[3] is None else (line[3], line[4]) for line in known], release)

    def _with_account(self, found: LedgerCheck, earlier: Sequence[Spent], release: Release) -> LedgerCheck:
        """What is found, with what all releases spend together where one of them promises differential privacy."""
        account = Account.of([*earlier, release.spends])
        if not account.releases:
            return found
        return replace(found, account=account, is_overspent=account.passes(self.max_epsilon, self.max_delta))


@dataclass
class Recording:
    """A release that is being written, and its entry in the ledger."""

    connection: sqlite3.Connection = field(repr=False)
    key: Key = field(repr=False)
    release: Release = field(repr=False)
    target: Path
    in_database: bool
    files: tuple[Path, ...]
    found: LedgerCheck
    entry: str = field(default_factory=lambda: secrets.token_hex(16))
    number: int | None = None
    wrote_database: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What the release's report says of it."""
        return tuple(self.found.sentences())

    @property
    def manifest(self) -> dict[str, Any]:
        """What the manifest says of it: the entry by which an interrupted run is mended, and counts."""
        counts = self.found.to_dict()
        return {"ledger": {"entry": self.entry, **{name: counts[name] for name in (
            "releases", "persons", "known_persons", "fewest", "holds")}}}  # fmt: skip

    def about_to_publish(self, staging: Path) -> None:
        """Enter the release as pending; to be called when all files are written and nothing is published."""
        table = self.release.table
        grouping = grouping_of(self.release)
        with _transaction(self.connection):
            made = datetime.now(UTC).isoformat(timespec="seconds")
            cursor = self.connection.execute(
                "INSERT INTO releases (entry, state, made, spelling, name, folder, staging, in_database, persons, "
                "records, groups, epsilon, delta) VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self.entry, made, json.dumps(_spelling_of(table)), self.target.name, str(self.target), str(staging),
                 int(self.in_database), table.n_persons, table.n_records, grouping.n_groups,
                 *(self.release.spends or (None, None))),
            )  # fmt: skip
            self.number = cursor.lastrowid
            members = zip(_hashes_of_persons(table, self.key), grouping.group_of_person.tolist(),
                          table.records_of_person.tolist(), strict=True)  # fmt: skip
            self.connection.executemany(f"INSERT INTO members VALUES ({self.number}, ?, ?, ?)", sorted(members))
            for rows in _values_of_groups(table, grouping.group_of_person, grouping.n_groups, self.key):
                self.connection.executemany(f"INSERT INTO group_values VALUES ({self.number}, ?, ?, ?, ?, ?)", rows)

    def done(self) -> None:
        """The release is published."""
        if self.number is not None:
            _finish(self.connection, self.number)

    def give_up(self) -> None:
        """An error came up: the entry is taken out unless the release is in its place, or in a database."""
        if self.number is None:
            return
        if _holds(self.target, self.entry):
            _finish(self.connection, self.number)
        elif not self.wrote_database:
            with _transaction(self.connection):
                _forget(self.connection, self.number)


# --- entries ---------------------------------------------------------------------------------------------------------


def _mend(connection: sqlite3.Connection) -> None:
    """Settle the entries of runs that were killed; only for the holder of the lock, when no other run is alive."""
    rows = connection.execute(
        "SELECT number, entry, folder, staging, in_database FROM releases WHERE state = 'pending'"
    ).fetchall()
    for number, entry, folder, staging, in_database in rows:
        target, hidden = Path(folder), Path(staging)
        was_waiting = _holds(hidden, entry) or any(_holds(ready, entry) for ready in ready_folders(target))
        if was_waiting:
            finish_interrupted(target)
        still_ready = any(_holds(ready, entry) for ready in ready_folders(target))
        if _holds(target, entry):
            _finish(connection, number)
        elif was_waiting and not still_ready and not in_database:
            with _transaction(connection):
                _forget(connection, number)


def _holds(folder: Path, entry: str) -> bool:
    """Whether a folder is the release of an entry."""
    manifest = read_manifest(folder) if folder.is_dir() else None
    told = (manifest or {}).get("ledger")
    return isinstance(told, dict) and told.get("entry") == entry


def _finish(connection: sqlite3.Connection, number: int) -> None:
    """An entry is done; where its folder lies need not be known any longer."""
    with _transaction(connection):
        connection.execute(
            "UPDATE releases SET state = 'done', folder = NULL, staging = NULL WHERE number = ?", (number,)
        )


def _forget(connection: sqlite3.Connection, number: int) -> None:
    """Take an entry out that was never published."""
    _forget_persons(connection, number)
    connection.execute("DELETE FROM releases WHERE number = ?", (number,))


def _forget_persons(connection: sqlite3.Connection, number: int) -> None:
    for table in ("members", "group_values"):
        connection.execute(f"DELETE FROM {table} WHERE release = ?", (number,))


def _has_account(connection: sqlite3.Connection) -> bool:
    """Whether a ledger has a place for what releases spend; one that is older has none yet."""
    return any(row[1] == SPENT[0] for row in connection.execute("PRAGMA table_info(releases)"))


def _shown_state(state: str) -> str:
    return "in doubt" if state == "pending" else state


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _make_private(file: Path) -> None:
    """Make an empty file that only its owner can read; SQLite fills it, and its journal gets the same permissions."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        if sys.platform != "win32":
            os.chmod(file, 0o600)
    except OSError as error:
        raise OutputError(f"The ledger '{file}' cannot be made: {error.strerror}. Nothing was written.") from None


# --- what is remembered ----------------------------------------------------------------------------------------------


def _refuse_nameless(table: Table) -> None:
    if table.schema.person is None:
        raise ParameterError(
            "A ledger knows persons again by their person column, and the table has none. Name it (person=), or leave "
            "the ledger out."
        )


def _spelling_of(table: Table) -> dict[str, str]:
    """By which spelling persons and the values of each sensitive attribute are known again."""
    assert table.schema.person is not None
    names = (table.schema.person, *table.sensitive)
    return {name if at else "": table.schema.spelling_of(name) for at, name in enumerate(names)}


def _refuse_other_spelling(table: Table, earlier: Mapping[str, str]) -> None:
    """Refuse a release that writes persons or values in another form than an earlier one: none would be known again."""
    for name, form in _spelling_of(table).items():
        if earlier.get(name, form) != form:
            what = f"values of '{name}'" if name else "persons"
            raise ParameterError(
                f'An earlier release of the ledger tells {what} apart by the spelling "{earlier[name]}", and this one '
                f'by "{form}", so that they would not be known again. Ask for the spelling of the earlier one.'
            )


def _hashes_of_persons(table: Table, key: Key) -> list[bytes]:
    """The keyed hash of each person's identifier, by the number of the person."""
    _refuse_nameless(table)
    assert table.schema.person is not None
    first = np.empty(table.n_persons, np.int64)
    first[table.person_of_record[::-1]] = np.arange(table.n_records)[::-1]
    ids = table.frame[table.schema.person].gather(first)
    return key.hashes("person", spelled(ids, table.schema.spelling_of(table.schema.person)).to_list())


def _texts_of_codes(column: CategoryColumn) -> list[str | None]:
    """The value of each code as the text by which it is known again; missing, which is the last, as None."""
    return [*spelled(column.categories, column.spelling).to_list(), *([None] if column.has_missing else [])]


def _values_of_groups(
    table: Table, group_of_person: Any, n_groups: int, key: Key
) -> Iterator[list[tuple[int, str, bytes, int, int]]]:
    """For each sensitive attribute the values of every group, with how many persons and records have them."""
    if not table.sensitive:
        return
    seen = Observation.of_groups(table, group_of_person, n_groups)
    for name, counts in seen.counts(frozenset({"values_of_group"})).values.items():
        hashes = key.hashes(f"value of {name}", _texts_of_codes(table.sensitive[name]))
        _, value, records, persons = counts.lists
        entries = zip(counts.group_of_entry.tolist(), value.tolist(), persons.tolist(), records.tolist(), strict=True)
        yield [(group, name, hashes[code], n_persons, n_records) for group, code, n_persons, n_records in entries]


def _earlier(
    connection: sqlite3.Connection, number: int, persons: pl.DataFrame, hashes: Mapping[str, Sequence[bytes]]
) -> Earlier:
    """What the ledger knows of some persons from one release."""
    rows = connection.execute("SELECT person, grp, records FROM members WHERE release = ?", (number,)).fetchall()
    form = {"person": pl.Binary, "group": pl.Int64, "records": pl.Int64}
    known = pl.DataFrame(rows, schema=form, orient="row")
    met = persons.join(known, on="person", how="left", maintain_order="left")
    values: dict[str, IntArray] = {}
    for name, of_codes in hashes.items():
        code_of_hash = {each: code for code, each in enumerate(of_codes)}
        entries = connection.execute(
            "SELECT grp, value FROM group_values WHERE release = ? AND attribute = ?", (number, name)
        ).fetchall()
        if entries:
            keys = [group * len(of_codes) + code_of_hash[each] for group, each in entries if each in code_of_hash]
            values[name] = np.sort(np.array(keys, np.int64))
    return Earlier(
        met["group"].fill_null(ABSENT).to_numpy().astype(np.int64),
        met["records"].fill_null(0).to_numpy().astype(np.int64),
        values,
    )
