"""shoal warm-up: compile the kernels now, so that no run waits for them later."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from shoal.cli import options
from shoal.errors import OutputError

EPILOG = """\b
Examples:
  shoal warm-up
  NUMBA_CACHE_DIR=compiled shoal warm-up
  shoal warm-up --archive shoal.tar.gz

In a Dockerfile:
  RUN pip install shoal
  RUN shoal warm-up
"""

PERSONS = 60
WRITTEN_AT = 1_577_836_800
"""When files of an archive were written, as they say: at a whole second."""

COLUMNS = ("--person", "patient", "--quasi", "age:number,gender:nominal,zip:number", "--sensitive", "disease,treatment",
           "--drop", "visit_date,education", "--seed", "1")  # fmt: skip
SPREAD = ("--record-risk", "0.5", "--g-balance", "k=3")
FIRST = ("--h-affiliation", "0.9", *SPREAD)
"""The usual way: all others share its kernels, so that it goes first."""

WAYS: tuple[tuple[str, ...], ...] = (
    ("--entropy-balance", "2", "--person-k", "2", "--queries", "2", "--query-kinds", "count,sum,average,min,max",
     "--associations", "2", "--attack", "20"),
    ("--l", "2", "--t", "0.9"),
    ("--matching-l", "2"),
    ("--posterior", "1"),
    ("--history-k", "2"),
    ("--history-k", "2", "--history-m", "2", "--history-confidence", "0.9", "--count-k", "2"),
    ("--cut", "median", *SPREAD),
    ("--alpha", "0.5", *SPREAD),
    ("--method", "mondrian", *SPREAD),
    ("--method", "mondrian", "--k", "5"),
    ("--method", "local-recoding", "--k", "5"),
    ("--method", "full-domain", "--k", "3", "--max-suppressed", "20"),
    ("--method", "cell-suppression", "--k", "3"),
    ("--method", "cell-suppression", "--k", "3", "--missing-matches", "all", "--mask", "wildcards"),
    ("--method", "mdav", "--k", "5", "--mask", "mean"),
    ("--method", "mdav", "--k", "5", "--alpha", "0.5"),
    ("--method", "spanning-tree", "--k", "5"),
    ("--method", "spanning-cells", "--k", "5"),
    ("--method", "longest-edge", "--k", "5"),
    ("--joint-l", "2", "--mask", "anatomize"),
    ("--method", "buckets", "--joint-l", "2", "--mask", "anatomize"),
    ("--method", "anatomy", "--l", "2", "--mask", "anatomize"),
    ("--method", "decomposition", "--l", "2", "--mask", "anatomize"),
    ("--mask", "anatomize", "--l", "2", "--queries", "2"),
    ("--mask", "perturb", "--k", "3"),
    ("--mask", "suppress", "--k", "3"),
    ("--mask", "columns", "--by", "rank-swap:columns=age,zip;pram:columns=gender", "--max-linkage", "1"),
    ("--mask", "columns", "--by", "noise:columns=age;pram:columns=gender;record-swap:region=zip", "--max-linkage", "1"),
    ("--mask", "columns", "--by", "shuffle:columns=age;pram:columns=gender;individual-ranking:columns=zip",
     "--max-linkage", "1"),
    ("--engine", "stream", *FIRST),
)  # fmt: skip
"""Flags of `shoal protect` that together call the kernels of every method, model and mask."""


@click.command("warm-up", epilog=EPILOG, short_help="Compile ahead what releases need; for images of containers.")
@click.option("--archive", metavar="FILE", type=click.Path(path_type=Path), help="Put shoal and what was compiled into "
              "this .tar.gz file, for executors of Spark.")  # fmt: skip
@options.common
def warm_up(archive: Path | None, as_json: bool) -> None:
    """Compile what releases need, on all processors, and keep it for later runs.

    Small made-up tables are protected in every way. What is compiled is kept beside shoal, or in the folder that the
    environment variable NUMBA_CACHE_DIR names; with --archive in the archive alone.
    """
    from shoal.cli import output as say
    from shoal.demo.patients import made_up_patients

    clock = time.perf_counter()
    if archive is not None:
        refuse_archive(archive)
    with tempfile.TemporaryDirectory(prefix="shoal-warm-up-") as name:
        table = Path(name) / "patients.csv.gz"  # packed, since a small file that is not is read without kernels
        table.write_bytes(gzip.compress(made_up_patients(PERSONS, seed=1).write_csv().encode()))
        if archive is None:
            n_ways = _compile(table, None)
        else:
            copy = copied_package(Path(name) / "copy")
            n_ways = _compile(table, environment_of(copy))
            pack(copy, archive)
    seconds = time.perf_counter() - clock
    if as_json:
        say.say_json({"ways": n_ways, "seconds": seconds, "archive": None if archive is None else str(archive)})
        return
    into = "" if archive is None else f", into {archive}"
    say.console().print(f"Compiled for {n_ways} ways to protect a table, in {seconds:.0f} seconds{into}.")


def _compile(table: Path, environment: dict[str, str] | None) -> int:
    """Protect the table in every way; how many there are."""
    from shoal.threads import n_threads

    with ThreadPoolExecutor(n_threads()) as pool:
        faults = [_fault_of(table, environment, 0, FIRST)]
        faults += pool.map(lambda numbered: _fault_of(table, environment, *numbered), enumerate(WAYS, start=1))
    told = [fault for fault in faults if fault]
    if told:
        raise OutputError(f"{len(told)} of {len(faults)} ways could not be compiled. The first: {told[0]}")
    return len(faults)


def _fault_of(table: Path, environment: dict[str, str] | None, number: int, flags: tuple[str, ...]) -> str:
    """Protect the table in a process of its own; gives what went wrong, or nothing."""
    out = ("-o", str(table.parent / str(number)))
    done = subprocess.run(
        [sys.executable, "-m", "shoal.cli.main", "protect", str(table), *COLUMNS, *flags, *out],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    return f"{' '.join(flags)}: {done.stderr.strip()}" if done.returncode else ""


# The archive


def refuse_archive(archive: Path) -> None:
    """Refuse a name that Spark would not unpack, and a file that is there, before anything is compiled."""
    if not archive.name.endswith((".tar.gz", ".tgz")):
        raise OutputError(f"Spark unpacks files that end in .tar.gz or .tgz; '{archive.name}' does not.")
    if archive.exists():
        raise OutputError(f"The file '{archive}' exists. Nothing was written. Name another, or remove it.")
    if not archive.absolute().parent.is_dir():
        raise OutputError(f"The folder of '{archive}' does not exist. Nothing was written. Make it first.")


def copied_package(folder: Path) -> Path:
    """A folder with shoal in it, uncompiled, all files as old as one another.

    Compiled code is taken for old where the time of its source differs in a fraction of a second, which archives lose.
    """
    import shoal

    shutil.copytree(Path(shoal.__file__).parent, folder / "shoal", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (folder / "shoal").rglob("*"):
        os.utime(file, (WRITTEN_AT, WRITTEN_AT))
    return folder


def environment_of(copy: Path) -> dict[str, str]:
    """The environment of a process that works with a copy of shoal, and keeps what it compiles in the copy."""
    others = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX")}
    return {**others, "PYTHONPATH": str(copy)}


def pack(copy: Path, archive: Path) -> None:
    """Put a copy of shoal and what was compiled in it into an archive that tells nothing of who made it."""

    def unnamed(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    unfinished = archive.with_name(f".{archive.name}.unfinished")
    try:
        with tarfile.open(unfinished, "w:gz") as file:
            file.add(copy / "shoal", "shoal", filter=unnamed)
        unfinished.replace(archive)
    except OSError as error:
        raise OutputError(f"The archive '{archive}' could not be written ({error.strerror}).") from error
    finally:
        unfinished.unlink(missing_ok=True)
