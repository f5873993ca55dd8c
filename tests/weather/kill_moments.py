"""Run in a process of its own: kill a command at many moments and look at what is left, each time.

    python kill_moments.py FOLDER KIND MOMENTS SEED [ADDRESS]

The command is run in children that are forked from a process which has imported all it needs, so that the moments
fall into its work and not into Python's start. Prints one JSON object.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from click.testing import CliRunner

from shoal.cli.main import cli

home, kind, n_moments, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
address = sys.argv[5] if len(sys.argv) > 5 else ""
os.chdir(home)
for name in (
    "numba",
    "scipy.linalg",
    "scipy.spatial",
    "shoal.engines.memory.run",
    "shoal.pipeline",
    "shoal.publishing.report.html",
    "shoal.publishing.report.summary",
    "shoal.cli.apply",
    "shoal.cli.protect",
    "shoal.cli.report",
    "shoal.cli.verify",
    "shoal.publishing.later",
    "shoal.kernels.counting",
    "shoal.kernels.trees",
    "adbc_driver_sqlite.dbapi",
    "adbc_driver_postgresql.dbapi",
):
    importlib.import_module(name)  # fmt: skip

ROLES = ["--person", "who", "--quasi", "age,zip", "--sensitive", "disease", "--keep", "batch"]
MODELS = ["--g-balance", "0.6", "--method", "mondrian"]


def run(*arguments: str) -> tuple[int, str, str]:
    ran = CliRunner().invoke(cli, list(arguments), prog_name="shoal")
    return ran.exit_code, ran.stdout, ran.stderr


def in_child(work: Callable[[], Any]) -> Any:
    """What a function gives, from a child: threads that it starts stay there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as answer:
            try:
                json.dump(work(), answer)
            except BaseException as error:
                json.dump({"error": repr(error)}, answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        told = json.load(answer)
    os.waitpid(child, 0)
    assert not (isinstance(told, dict) and "error" in told), told
    return told


def command(batch: str) -> list[str]:
    if kind == "apply":
        return ["apply", "base", f"later-{batch}.csv", "-o", "out", "--overwrite", "--all-new"]
    into = ["--into", address, "--into-table", "visits"] if address else []
    return ["protect", f"{batch}.csv", *ROLES, *MODELS, "-o", "out", "--overwrite", *into]


def killed(batch: str, after: float, *, when_writing: bool) -> bool:
    """Run the command for a batch and kill it after so many seconds (of writing, if asked); whether it was running."""
    child = os.fork()
    if child == 0:
        code, _, _ = run(*command(batch))
        os._exit(code)
    patience = time.perf_counter() + 60
    while when_writing and not hidden_folders() and time.perf_counter() < patience:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        time.sleep(0.0005)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def hidden_folders() -> list[str]:
    return [path.name for path in home.iterdir() if path.name.startswith(".out.shoal-") and path.is_dir()]


def batches_in(frame: pl.DataFrame) -> list[str]:
    counted = frame.group_by("batch").len().rows()
    return sorted(f"{batch} {count}" for batch, count in counted if batch != "e")


def folder_holds() -> list[str]:
    code, out, err = run("verify", "out", "--json")
    assert code == 0, (out, err)
    assert Path("out/steward/report.html").is_file()
    assert Path("out/summary.html").is_file()
    return batches_in(pl.read_csv("out/release.csv"))


def database_holds() -> list[str]:
    from shoal.reading.sql import read_database

    frame = read_database(address, table="visits").frame
    return batches_in(frame)


def write_tables() -> None:
    draw = random.Random(1)
    for batch, names in {"a": "a", "b": "b", "base": "c", "later-a": "d", "later-b": "e"}.items():
        records = [
            (
                f"{names}{person}",
                20 + person % 60,
                10000 + person % 97,
                draw.choice(["flu", "cold", "gout"]),
                batch[-1:],
            )
            for person in range(200)
            for _ in range(draw.randint(1, 3))
        ]
        columns = ["who", "age", "zip", "disease", "batch"]
        pl.DataFrame(records, schema=columns, orient="row").write_csv(f"{batch}.csv")


def must(answer: list[Any], what: str) -> None:
    assert answer[0] == 0, (what, answer)


def main() -> None:
    in_child(write_tables)
    if kind == "apply":
        must(in_child(lambda: run("protect", "base.csv", *ROLES, *MODELS, "-o", "base", "--keep-person-map")), "base")
    must(in_child(lambda: run(*command("a"))), "the first run")
    began = time.perf_counter()
    must(in_child(lambda: run(*command("b"))), "the second run")
    lasts = time.perf_counter() - began
    whole = in_child(folder_holds)
    assert len(whole) == 1, whole
    draw = random.Random(seed)
    now, n_left = "b", 0
    seen = dict.fromkeys(("old", "new", "database ahead", "finished first"), 0)
    for number in range(n_moments):
        batch = "a" if now == "b" else "b"
        when_writing = number % 2 == 0
        share = (number // 2 + draw.random()) / (n_moments / 2)
        was_running = killed(batch, lasts * share * (0.4 if when_writing else 1), when_writing=when_writing)
        n_left += bool(hidden_folders())
        holds = in_child(folder_holds)
        assert len(holds) == 1, (number, holds)
        state = holds[0].split()[0]
        stored = in_child(database_holds)[0].split()[0] if address else state
        assert stored in (now, batch), (number, stored)
        assert not (state == batch and stored == now), "the folder is new, and the database is not"
        reached = "new" if state == batch else "database ahead" if stored == batch else "old"
        seen[reached if was_running else "finished first"] += 1
        must(in_child(lambda batch=batch: run(*command(batch))), "the run after the kill")  # type: ignore[misc]
        assert in_child(folder_holds)[0].split()[0] == batch
        if address:
            assert len(in_child(database_holds)) == 1
        now = batch
        hidden = [path.name for path in home.iterdir() if path.name.startswith(".")]
        assert hidden == [], hidden
    print(json.dumps({"moments": n_moments, "seconds": lasts, "seen": seen, "left": n_left}))


main()
