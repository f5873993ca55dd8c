"""Kills runs of protect with a ledger: run as a script, which prints what was found after each kill as JSON.

Each run is a process of its own, forked from one that has imported everything and used nothing. It is killed before
a line of the modules that write ledger and folder, or in the midst of what SQLite does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import warnings
from pathlib import Path
from typing import Any

import shoal.demo.clinics
import shoal.engines.memory.write
import shoal.pipeline
import shoal.publishing.pages
from shoal.publishing import folder as folder_module
from shoal.publishing import manifest as manifest_module
from shoal.publishing.ledger import key as key_module
from shoal.publishing.ledger import ledger as ledger_module
from shoal.publishing.manifest import check_manifest, read_manifest

WATCHED = {folder_module.__file__, ledger_module.__file__, key_module.__file__, shoal.engines.memory.write.__file__}
STEPS_OF_SQLITE = 5
"""A kill can come after so many steps of SQLite's own machine."""


def protect(home: Path) -> None:
    """A release of the paper's clinics, entered in a ledger."""
    warnings.simplefilter("ignore")
    schema = shoal.Schema(
        person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
    )
    models = [shoal.PersonKAnonymity(k=2), shoal.HAffiliation(h=0.5)]
    release = shoal.protect(
        shoal.demo.clinics.clinics(), schema, models, method="mondrian", seed=1, measure_input=False
    )
    ledger = shoal.Ledger(home / "ledger.sqlite", mode="refuse")
    release.write(home / "out", report=False, overwrite=True, ledger=ledger)


def kill_at_step(last: int) -> list[int]:
    """Kill this process at a step, counted from when the release is made; gives where the count stands."""
    count = [0]

    def step() -> int:
        count[0] += 1
        if count[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            step()
        return trace

    connect = sqlite3.connect

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(step, STEPS_OF_SQLITE)
        return connection

    sqlite3.connect = connected  # type: ignore[assignment]
    sys.settrace(trace)
    return count


def run(home: Path, last: int) -> int | None:
    """Protect in a process of its own; the number of its steps, or None where it was killed."""
    told = home / "steps"
    process = os.fork()
    if process == 0:
        try:
            count = kill_at_step(last)
            protect(home)
            sys.settrace(None)
            told.write_text(str(count[0]))
        except BaseException as error:
            sys.settrace(None)
            told.write_text(f"{type(error).__name__}: {error}")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        return None
    assert os.WEXITSTATUS(status) == 0, told.read_text()
    return int(told.read_text())


def state(home: Path) -> tuple[str | None, list[tuple[str, str, int]]]:
    """The entry of the release that is in its place, which must be whole; and what the ledger holds."""
    target = home / "out"
    entry = None
    if target.exists():
        assert check_manifest(target) == [], check_manifest(target)
        entry = read_manifest(target)["ledger"]["entry"]  # type: ignore[index]
    file = home / "ledger.sqlite"
    if not file.exists():
        return entry, []
    connection = sqlite3.connect(file)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return entry, []
        rows = connection.execute(
            "SELECT entry, state, (SELECT count(*) FROM members WHERE release = number) FROM releases ORDER BY number"
        ).fetchall()
        strays = connection.execute(
            "SELECT count(*) FROM members WHERE release NOT IN (SELECT number FROM releases)"
        ).fetchone()
        assert strays == (0,)
        return entry, rows
    finally:
        connection.close()


def main(home: Path, way: str, start: str, n_kills: int, seed: int) -> None:
    """Kill runs at random moments; look at what is there after each, and at what a rerun makes of it.

    `way` is how folders are swapped: "exchange" or "two steps". `start` is what is there before a run that is killed:
    "nothing", or a "release" in its place and in the ledger.
    """
    os.fsync = lambda descriptor: None  # type: ignore[assignment] - only a power cut would tell
    manifest_module._version_of = lambda package: None  # type: ignore[assignment]
    if way == "two steps":
        folder_module._renameat2 = lambda: None  # type: ignore[assignment]
    first = home / "first"
    first.mkdir()
    if start == "release":
        assert run(first, -1) is not None
    whole = home / "whole"
    shutil.copytree(first, whole)
    n_steps = run(whole, -1)
    assert n_steps is not None
    old, _ = state(first)
    seen = []
    for number, last in enumerate(random.Random(seed).sample(range(1, n_steps + 1), n_kills)):
        at = home / str(number)
        shutil.copytree(first, at)
        survived = run(at, last) is not None
        killed_entry, killed = state(at)
        assert run(at, -1) is not None
        entry, after = state(at)
        seen.append(
            {
                "step": last,
                "survived": survived,
                "is_old": killed_entry == old,
                "killed": [each for _, each, _ in killed],
                "persons": [n for _, _, n in [*killed, *after]],
                "after": [each for _, each, _ in after],
                "knows_the_release_in_place": [entry, "done"] in [[name, each] for name, each, _ in after],
                "knows_all_that_were_in_place": {killed_entry, old} - {None} <= {name for name, _, _ in after},
                "beside": sorted(path.name for path in at.iterdir()),
            }
        )
        shutil.rmtree(at)
    print(json.dumps({"steps": n_steps, "seen": seen}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
