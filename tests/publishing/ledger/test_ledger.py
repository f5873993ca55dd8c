"""The ledger as a file: what it remembers, what it refuses, and what it never holds."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.engines.memory import write as write_module
from shoal.errors import InputError, OutputError, ParameterError, PrivacyNotMetError, ShoalWarning
from shoal.publishing import folder as folder_module
from shoal.publishing.ledger import Ledger
from shoal.publishing.ledger import ledger as ledger_module
from shoal.publishing.ledger.key import create_key, read_key
from shoal.publishing.manifest import read_manifest
from shoal.publishing.release import Release


def release_of(
    frame: pl.DataFrame, *, quasi: tuple[str, ...] = ("age", "zip"), k: int = 2, spelling: dict[str, str] | None = None
) -> Release:
    schema = shoal.Schema(
        person="name", quasi=list(quasi), sensitive=["disease"],
        dropped=[name for name in frame.columns if name not in (*quasi, "name", "disease")],
        spelling=spelling or {},
    )  # fmt: skip
    models = [shoal.PersonKAnonymity(k=k), shoal.HAffiliation(h="0.8")]
    return shoal.protect(frame, schema, models, method="mondrian", seed=3, measure_input=False)


@pytest.fixture
def crossed() -> pl.DataFrame:
    """Eight persons whose groups by age cross those by ZIP."""
    return pl.DataFrame(
        {
            "name": [f"person {number}" for number in range(8)],
            "age": [20, 20, 20, 20, 60, 60, 60, 60],
            "zip": [1, 9, 1, 9, 1, 9, 1, 9],
            "disease": ["flu", "cold", "gout", "flu", "cold", "gout", "flu", "cold"],
        }
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def write(release: Release, folder: Path, ledger: Ledger, **options: object) -> None:
    release.write(folder, report=False, ledger=ledger, **options)  # type: ignore[arg-type]


def states(ledger: Ledger) -> list[str]:
    return [each.state for each in ledger.releases()]


# What is remembered


def test_a_first_release_is_entered_and_the_same_groups_again_break_nothing(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger
) -> None:
    release = release_of(clinics)
    write(release, tmp_path / "a", ledger)
    assert ledger.found is not None
    assert (ledger.found.releases, ledger.found.known_persons, ledger.found.holds) == (0, 0, True)
    write(release, tmp_path / "b", ledger)
    assert (ledger.found.releases, ledger.found.known_persons, ledger.found.holds) == (1, 8, True)
    listed = ledger.releases()
    assert [(each.number, each.name, each.state) for each in listed] == [(1, "a", "done"), (2, "b", "done")]
    assert {(each.persons, each.records, each.groups) for each in listed} == {(8, 19, release.risk.groups)}


def test_groups_that_cross_are_warned_of_and_the_report_says_so(
    crossed: pl.DataFrame, tmp_path: Path, ledger: Ledger
) -> None:
    write(release_of(crossed, quasi=("age",), k=4), tmp_path / "a", ledger)
    with pytest.warns(ShoalWarning, match="person-k-anonymity 4 is broken for 8 of 8 persons"):
        release_of(crossed, quasi=("zip",), k=4).write(tmp_path / "b", ledger=ledger)
    assert ledger.found is not None
    assert ledger.found.fewest == 2
    assert "is broken for 8 of 8 persons" in (tmp_path / "b" / "steward" / "report.json").read_text()
    told = (read_manifest(tmp_path / "b") or {})["ledger"]
    assert isinstance(told, dict)
    assert {name: told[name] for name in ("releases", "known_persons", "fewest", "holds")} == {
        "releases": 1, "known_persons": 8, "fewest": 2, "holds": False,
    }  # fmt: skip


def test_refusing_writes_nothing_and_enters_nothing(crossed: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    write(release_of(crossed, quasi=("age",), k=4), tmp_path / "a", ledger)
    ledger.mode = "refuse"
    with pytest.raises(PrivacyNotMetError, match="Nothing was written") as refusal:
        write(release_of(crossed, quasi=("zip",), k=4), tmp_path / "b", ledger)
    assert refusal.value.exit_code == 3
    assert not (tmp_path / "b").exists()
    assert len(ledger.releases()) == 1


def test_comparing_enters_nothing(crossed: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    write(release_of(crossed, quasi=("age",), k=4), tmp_path / "a", ledger)
    found = ledger.compare(release_of(crossed, quasi=("zip",), k=4))
    assert not found.holds
    assert len(ledger.releases()) == 1


def test_a_forgotten_release_no_longer_counts(crossed: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    write(release_of(crossed, quasi=("age",), k=4), tmp_path / "a", ledger)
    ledger.forget(1)
    with pytest.warns(ShoalWarning, match="1 releases of the ledger were forgotten"):
        write(release_of(crossed, quasi=("zip",), k=4), tmp_path / "b", ledger)
    assert ledger.found is not None
    assert (ledger.found.forgotten, ledger.found.releases, ledger.found.holds) == (1, 0, True)
    assert [(each.number, each.name, each.state) for each in ledger.releases()] == [
        (1, "a", "forgotten"), (2, "b", "done")
    ]  # fmt: skip
    with pytest.raises(InputError, match="forgotten already"):
        ledger.forget(1)
    with pytest.raises(InputError, match="no release 3"):
        ledger.forget(3)
    with sqlite3.connect(ledger.file) as connection:
        for table in ("members", "group_values"):
            assert connection.execute(f"SELECT count(*) FROM {table} WHERE release = 1").fetchone() == (0,)


def test_persons_are_known_again_whichever_type_names_them(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger
) -> None:
    numbered = clinics.with_columns(pl.col("name").rank("dense").cast(pl.Int64))
    write(release_of(numbered), tmp_path / "a", ledger)
    texts = numbered["name"].cast(pl.String)
    forms = [texts, numbered["name"].cast(pl.Float64), texts.cast(pl.Categorical), texts + ".0", " " + texts,
             numbered["name"].cast(pl.Decimal(9, 2))]  # fmt: skip
    for number, names in enumerate(forms):
        write(release_of(numbered.with_columns(names.alias("name"))), tmp_path / f"b{number}", ledger)
        assert ledger.found is not None
        assert ledger.found.known_persons == 8


def test_persons_and_values_are_known_again_in_another_spelling(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger
) -> None:
    write(release_of(clinics), tmp_path / "a", ledger)
    later = clinics.with_columns(pl.format(" {}\u200b", "name").alias("name"), pl.col("disease").str.to_uppercase())
    same = Ledger(tmp_path / "other.sqlite")
    write(release_of(clinics), tmp_path / "c", same)
    for frame, book, folder in ((later, ledger, "b"), (clinics, same, "d")):
        write(release_of(frame), tmp_path / folder, book)
    assert ledger.found is not None
    assert same.found is not None
    assert ledger.found.known_persons == 8
    assert ledger.found.to_dict() == same.found.to_dict()
    zeros = clinics.with_columns(pl.col("name").rank("dense").alias("name"))
    write(release_of(zeros.with_columns(pl.format("00{}", "name").alias("name"))), tmp_path / "e", ledger)
    write(release_of(zeros), tmp_path / "f", ledger)
    assert ledger.found.known_persons == 0  # 007 is not 7


def test_a_table_without_person_column_is_refused(clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    schema = shoal.Schema(quasi=["age"], sensitive=["disease"], dropped=["name", "gender", "zip", "admission"])
    release = shoal.protect(clinics, schema, [shoal.KAnonymity(k=2)], method="mondrian", measure_input=False)
    with pytest.raises(ParameterError, match="person column"):
        write(release, tmp_path / "a", ledger)
    assert not (tmp_path / "a").exists()


def test_anatomized_releases_are_remembered_by_person(clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    schema = shoal.Schema(person="name", quasi=["age"], sensitive=["disease"], dropped=["gender", "zip", "admission"])
    release = shoal.protect(
        clinics, schema, [shoal.PersonKAnonymity(k=2)], method="mondrian", mask="anatomize", measure_input=False
    )
    for name in "ab":
        write(release, tmp_path / name, ledger)
    assert ledger.found is not None
    assert (ledger.found.known_persons, ledger.found.holds) == (8, True)


# What it never holds


def test_neither_names_nor_values_nor_the_key_stand_where_they_should_not(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger
) -> None:
    canary = clinics.with_columns(
        name=pl.lit("CANARYNAME ") + pl.col("name"), disease="CANARYVALUE " + pl.col("disease")
    )
    release_of(canary).write(tmp_path / "a", ledger=ledger)
    kept = ledger.file.read_bytes()
    assert b"CANARY" not in kept
    key = ledger.key_file.read_text().strip()
    assert len(key) == 64
    for path in [ledger.file, *tmp_path.joinpath("a").rglob("*")]:
        if path.is_file():
            content = path.read_bytes()
            assert key.encode() not in content, path
            assert bytes.fromhex(key) not in content, path
    assert key not in repr(read_key(ledger.key_file))
    assert key not in repr(ledger)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_ledger_and_key_are_their_owner_s_alone(clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    before = os.umask(0o000)
    try:
        write(release_of(clinics), tmp_path / "a", ledger)
    finally:
        os.umask(before)
    for path in ledger.files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ledger.key_file.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        ledger.prepare()


# What it refuses


def test_without_its_key_a_ledger_is_of_no_use(clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger) -> None:
    write(release_of(clinics), tmp_path / "a", ledger)
    ledger.key_file.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no key file"):
        ledger.prepare()
    assert not ledger.key_file.exists(), "with a new key nobody would be known again"
    create_key(ledger.key_file)
    with pytest.raises(InputError, match="not the key of the ledger"):
        ledger.prepare()
    assert Ledger(ledger.file, key=tmp_path / "elsewhere").compare(release_of(clinics)).known_persons == 8


@pytest.mark.parametrize("way", ["gone", "empty", "without tables"])
def test_a_ledger_that_was_lost_is_not_begun_anew(
    crossed: pl.DataFrame, tmp_path: Path, ledger: Ledger, way: str
) -> None:
    """Everybody would be a stranger, and whatever breaks a model together with the past would pass."""
    write(release_of(crossed, quasi=("age",), k=4), tmp_path / "a", ledger)
    ledger.file.unlink()
    if way == "empty":
        ledger.file.touch()
    if way == "without tables":
        with sqlite3.connect(ledger.file) as connection:
            connection.executescript("CREATE TABLE a (b); DROP TABLE a;")
    for use in (ledger.prepare, lambda: write(release_of(crossed, quasi=("zip",), k=4), tmp_path / "b", ledger)):
        with pytest.raises(InputError, match="Put the ledger back"):
            use()
    assert not (tmp_path / "b").exists()
    if way != "without tables":
        write(release_of(crossed, quasi=("zip",), k=4), tmp_path / "b", Ledger(ledger.file, key=tmp_path / "other.key"))
        assert sorted(path.name for path in tmp_path.glob("*key*")) == [ledger.key_file.name, "other.key"]


@pytest.mark.parametrize("column", ["name", "disease"])
def test_a_release_in_another_spelling_is_refused(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, column: str
) -> None:
    """By "folded" a person is another text than by "plain", so that nobody whose name has capitals were known again."""
    write(release_of(clinics), tmp_path / "a", ledger)
    other = "folded" if column == "name" else "exact"
    with pytest.raises(ParameterError, match="would not be known again"):
        write(release_of(clinics, spelling={column: other}), tmp_path / "b", ledger)


def test_what_is_no_key_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    ledger.key_file.touch(mode=0o600)
    with pytest.raises(InputError, match="no key of a ledger"):
        ledger.prepare()


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "key"
    (tmp_path / ".key.shoal-new-0123456789abcdef").touch()
    first = create_key(path).check
    assert create_key(path).check == first
    assert [each.name for each in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 20, b""])
def test_what_is_no_ledger_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other"
    if content:
        file.write_bytes(content)
        create_key(tmp_path / "other.key")
    else:
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE t (x)")
        create_key(tmp_path / "other.key")
    with pytest.raises(InputError, match="no ledger"):
        Ledger(file).prepare()
    with pytest.raises(InputError, match="no ledger"):
        Ledger(file).releases()


def test_an_absent_ledger_cannot_be_listed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no ledger"):
        Ledger(tmp_path / "absent").releases()
    assert list(tmp_path.iterdir()) == []


def test_a_mode_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="warn, refuse"):
        Ledger(tmp_path / "x", mode="maybe")


def test_a_ledger_must_not_lie_in_the_release(clinics: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    ledger = Ledger(tmp_path / "a" / "ledger.sqlite", key=tmp_path / "key")
    with pytest.raises(OutputError, match="lies in it"):
        write(release_of(clinics), tmp_path / "a", ledger)
    assert ledger.releases() == []


def test_another_run_that_holds_the_ledger_is_waited_for_and_then_refused(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "SECONDS_TO_WAIT", 0.1)
    release = release_of(clinics)
    write(release, tmp_path / "a", ledger)
    with (
        ledger.recording(release, tmp_path / "b", in_database=False),
        pytest.raises(OutputError, match="Another run is using the ledger"),
    ):
        write(release, tmp_path / "c", Ledger(ledger.file))
    assert not (tmp_path / "c").exists()
    assert states(ledger) == ["done"]


# What goes wrong in between


class StopError(Exception):
    """Something that goes wrong."""


def test_an_error_before_the_swap_takes_the_entry_out(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> None:
        raise StopError

    monkeypatch.setattr(folder_module, "_swap_in", stop)
    with pytest.raises(StopError):
        write(release_of(clinics), tmp_path / "a", ledger)
    assert states(ledger) == []
    assert not (tmp_path / "a").exists()


def test_an_error_after_the_swap_keeps_the_entry(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = folder_module._swap_in

    def stop(*arguments: object) -> None:
        swap(*arguments)  # type: ignore[arg-type]
        raise StopError

    monkeypatch.setattr(folder_module, "_swap_in", stop)
    with pytest.raises(StopError):
        write(release_of(clinics), tmp_path / "a", ledger)
    assert states(ledger) == ["done"]


def pending(release: Release, folder: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that dies after the swap and before the entry is done."""
    with monkeypatch.context() as patched:
        patched.setattr(ledger_module.Recording, "done", lambda self: None)
        write(release, folder, ledger)
    assert states(ledger)[-1] == "in doubt"


def test_a_release_in_its_place_is_mended_to_done(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending(release_of(clinics), tmp_path / "a", ledger, monkeypatch)
    ledger.prepare()
    assert states(ledger) == ["done"]


def test_a_release_that_was_moved_away_stays_in_doubt_and_counts(
    crossed: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending(release_of(crossed, quasi=("age",), k=4), tmp_path / "a", ledger, monkeypatch)
    shutil.move(tmp_path / "a", tmp_path / "handed out")
    found = ledger.compare(release_of(crossed, quasi=("zip",), k=4))
    assert (found.in_doubt, found.holds) == (1, False)
    assert any("may never have been finished" in sentence for sentence in found.sentences())
    assert states(ledger) == ["in doubt"]
    ledger.forget(1)
    assert ledger.compare(release_of(crossed, quasi=("zip",), k=4)).holds


def test_what_lies_in_a_hidden_folder_of_its_own_run_was_not_published(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending(release_of(clinics), tmp_path / "a", ledger, monkeypatch)
    with sqlite3.connect(ledger.file) as connection:
        (staging,) = connection.execute("SELECT staging FROM releases").fetchone()
    shutil.move(tmp_path / "a", staging)
    ledger.prepare()
    assert states(ledger) == []


def test_what_lies_in_the_hidden_folder_of_another_run_was_published_before(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without ledger took its place and died: the exchange left the earlier release under the other name."""
    pending(release_of(clinics), tmp_path / "a", ledger, monkeypatch)
    shutil.move(tmp_path / "a", tmp_path / ".a.shoal-new-0123456789abcdef")
    ledger.prepare()
    assert states(ledger) == ["in doubt"]


def test_a_database_that_may_have_been_written_leaves_a_killed_run_in_doubt(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_module, "write_database", lambda *arguments, **options: None)
    release = release_of(clinics)
    with monkeypatch.context() as patched:
        patched.setattr(ledger_module.Recording, "done", lambda self: None)
        write(release, tmp_path / "a", ledger, into="sqlite:///x.db", into_table="t")
    with sqlite3.connect(ledger.file) as connection:
        (staging,) = connection.execute("SELECT staging FROM releases").fetchone()
    shutil.move(tmp_path / "a", staging)
    ledger.prepare()
    assert states(ledger) == ["in doubt"]


def test_a_database_that_refuses_takes_the_entry_out(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OutputError("no such database")

    monkeypatch.setattr(write_module, "write_database", refuse)
    with pytest.raises(OutputError, match="no such database"):
        write(release_of(clinics), tmp_path / "a", ledger, into="sqlite:///x.db", into_table="t")
    assert states(ledger) == []


def test_a_database_that_was_written_though_it_says_otherwise_keeps_the_entry(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost when the database has taken the release and before it says so."""
    from adbc_driver_manager import dbapi

    taken = dbapi.Connection.commit

    def lost(self: dbapi.Connection) -> None:
        taken(self)
        raise OSError("the connection is gone")

    earlier = tmp_path / "x.db"
    sqlite3.connect(earlier).execute("CREATE TABLE other (a)")
    monkeypatch.setattr(dbapi.Connection, "commit", lost)
    with pytest.raises(OutputError):
        write(release_of(clinics), tmp_path / "a", ledger, into=f"sqlite:///{earlier}", into_table="t")
    with sqlite3.connect(earlier) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (clinics.height,)
    assert states(ledger) == ["in doubt"]


def test_a_full_disk_is_told_and_enters_nothing(
    clinics: pl.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of(clinics)
    write(release, tmp_path / "a", ledger)
    opened = sqlite3.connect

    def small(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = opened(*arguments, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")  # as many as there are: no more fit
        return connection

    monkeypatch.setattr(ledger_module.sqlite3, "connect", small)
    monkeypatch.setattr(ledger_module, "_values_of_groups", many_values)
    with pytest.raises(OutputError, match="no space left"):
        write(release, tmp_path / "b", ledger)
    monkeypatch.undo()
    assert not (tmp_path / "b").exists()
    assert states(ledger) == ["done"]


def many_values(*arguments: object) -> list[list[tuple[int, str, bytes, int, int]]]:
    return [[(number, "disease", os.urandom(16), 1, 1) for number in range(20_000)]]
