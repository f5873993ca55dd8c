"""What a machine does to a run: no space, no memory, no permission, a clock that jumps, a second run.

A clear error that ends with 2, one message, nothing lost.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.publishing.manifest import check_manifest
from tests.tiers import long_but_for

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from shoal.cli.main import main; main()"
ROLES = ["--person", "who", "--quasi", "age,zip", "--sensitive", "disease", "--drop", "name"]
MODELS = ["--g-balance", "0.6", "--method", "mondrian"]
CANARY = "Quixote"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and mounts are those of POSIX systems")


def visits(n: int) -> pl.DataFrame:
    draw = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "who": [f"p{number // 2}" for number in range(n)],
            "age": draw.integers(20, 90, n),
            "zip": draw.integers(10000, 99999, n),
            "disease": draw.choice(["flu", "cold", "gout"], n),
            "name": [f"{CANARY}{number}" for number in range(n)],
        }
    )


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with visits.csv, and a release of it in `out`."""
    folder = tmp_path_factory.mktemp("earlier")
    visits(400).write_csv(folder / "visits.csv")
    assert shoal(folder, "protect", "visits.csv", *ROLES, *MODELS, "-o", "out", "--seed", "1").returncode == 0
    return folder


@pytest.fixture
def home(earlier: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    shutil.copytree(earlier, tmp_path, dirs_exist_ok=True)
    return tmp_path


def shoal(
    folder: Path, *arguments: str, before: Callable[[], None] | None = None, code: str = MAIN
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # where files may not grow, half of it would be left for other runs
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, env=environment, preexec_fn=before,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


PROTECT = ["protect", "visits.csv", *ROLES, *MODELS, "-o", "out", "--overwrite", "--seed", "2"]


def told_clearly(ran: subprocess.CompletedProcess[str], words: str, folder: Path, *, seed: str | None = "1") -> None:
    """Ended with 2 and one message without a traceback or a value, and the old release is whole."""
    assert ran.returncode == 2, (ran.returncode, ran.stdout[-500:], ran.stderr[-2000:])
    assert re.search(words, ran.stderr), ran.stderr
    assert "Traceback" not in ran.stderr
    assert CANARY not in ran.stderr
    errors = [line for line in ran.stderr.splitlines() if re.match(r"\w+Error: ", line)]
    assert len(errors) == 1, ran.stderr
    assert ran.stdout == ""
    if seed is None:
        assert not (folder / "out").exists()
    else:
        assert check_manifest(folder / "out") == []
        assert json.loads((folder / "out" / "steward" / "manifest.json").read_text())["seed"] == seed
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".out")]


# No space


@pytest.mark.parametrize("format", long_but_for(["csv"], ["csv", "parquet", "xlsx", "sav"]))
def test_a_file_that_may_not_grow(home: Path, format: str) -> None:
    """What a full disk is like, with a limit that needs no rights: files end after so many bytes."""
    visits(6_000).write_csv(home / "visits.csv")

    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000))

    told_clearly(shoal(home, *PROTECT, "--format", format, before=limit), "Nothing was written", home)
    if format == "csv":
        assert shoal(home, *PROTECT).returncode == 0, "the next run works"


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    mounted = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mounted, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def mounting() -> None:
    if not can_mount():
        pytest.skip("a small disk and a read-only one can be mounted only by an administrator on Linux")


def shoal_on(mount: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run with something mounted for this run alone."""
    script = f'{mount} && cd "$0" && "$@"; code=$?; echo LEFT >&2; ls -A "$0/small" >&2; exit $code'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(folder), sys.executable, "-c", MAIN, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("format", long_but_for(["csv"], ["csv", "xlsx"]))
def test_a_disk_that_is_really_full(tmp_path: Path, mounting: None, format: str) -> None:
    visits(6_000).write_csv(tmp_path / "visits.csv")
    (tmp_path / "small").mkdir()
    small = 'mount -t tmpfs -o size=48k none "$0/small"'
    ran = shoal_on(small, tmp_path, "protect", "visits.csv", *ROLES, *MODELS, "-o", "small/out", "--format", format)
    assert ran.returncode == 2, ran.stderr
    assert "no space left on device. Nothing was written. Free some space or choose another disk." in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stderr.endswith("LEFT\n"), "something was left on the disk"


@pytest.mark.parametrize("kind", long_but_for(["sqlite"], ["sqlite", "duckdb"]))
def test_a_database_on_a_full_disk(home: Path, mounting: None, kind: str) -> None:
    visits(6_000).write_csv(home / "visits.csv")
    (home / "small").mkdir()
    into = ["--into", f"{kind}:///{home}/small/clinic.db", "--into-table", "visits"]
    ran = shoal_on('mount -t tmpfs -o size=48k none "$0/small"', home, *PROTECT, *into)
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "what was there before is as it was" in ran.stderr
    assert json.loads((home / "out" / "steward" / "manifest.json").read_text())["seed"] == "1"
    assert ran.stderr.endswith("LEFT\n"), "something was left on the disk"


# No permission


def test_a_folder_on_a_read_only_disk(home: Path, mounting: None) -> None:
    (home / "small").mkdir()
    read_only = 'mount --bind "$0/small" "$0/small" && mount -o remount,ro,bind "$0/small"'
    ran = shoal_on(read_only, home, "protect", "visits.csv", *ROLES, *MODELS, "-o", "small/out")
    assert ran.returncode == 2, ran.stderr
    assert re.search(r"may not write to|read-only file system", ran.stderr)
    assert "Traceback" not in ran.stderr
    assert list((home / "small").iterdir()) == []


# No memory


def test_too_little_memory_is_said_and_nothing_is_lost(home: Path) -> None:
    """The limit is set when everything is imported, at what the process has and a little more."""
    visits(300_000).write_csv(home / "visits.csv")
    code = f"""
import resource, sys
import numba, polars, scipy.linalg, shoal.engines.memory.run, shoal.pipeline
import shoal.cli.protect, shoal.cli.output, shoal.cli.choices
polars.DataFrame({{"a": [1]}}).group_by("a").len()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), used + (24 << 20)))
{MAIN}
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("how much memory a process has is told by /proc on Linux")
    ran = shoal(home, *PROTECT, code=code)
    assert ran.returncode != 0
    assert CANARY not in ran.stderr
    assert check_manifest(home / "out") == []
    assert json.loads((home / "out" / "steward" / "manifest.json").read_text())["seed"] == "1"
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.returncode == 2, (ran.returncode, ran.stderr)
    assert "MemoryError: There is too little memory for this table" in ran.stderr
    visits(400).write_csv(home / "visits.csv")
    assert shoal(home, *PROTECT).returncode == 0, "the next run works"
    assert not [path.name for path in home.iterdir() if path.name.startswith(".out")]


# The clock


def test_a_clock_that_jumps_changes_no_duration_and_no_file_but_its_times(home: Path) -> None:
    """Backwards by a year between two looks, and again."""
    code = f"""
import datetime as module, itertools, time
jumps = itertools.count(1)
real = time.time
time.time = lambda: real() - 31_536_000 * next(jumps)
class Jumping(module.datetime):
    @classmethod
    def now(cls, tz=None):
        return module.datetime.fromtimestamp(time.time(), tz)
real_datetime, module.datetime = module.datetime, Jumping
Jumping.fromtimestamp = real_datetime.fromtimestamp
{MAIN}
"""
    ran = shoal(home, *PROTECT, "--json", code=code)
    assert ran.returncode == 0, ran.stderr
    assert 0 < json.loads(ran.stdout)["seconds"] < 3600
    manifest = json.loads((home / "out" / "steward" / "manifest.json").read_text())
    assert manifest["started"] > manifest["finished"], "the clock did jump"
    assert check_manifest(home / "out") == []
    verified = shoal(home, "verify", "out", "--json")
    assert verified.returncode == 0, verified.stderr


# A second run


def test_many_runs_on_one_folder_leave_one_whole_release(home: Path) -> None:
    ran: list[subprocess.CompletedProcess[str]] = []

    def run(seed: int) -> None:
        ran.append(shoal(home, *PROTECT[:-1], str(seed)))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(10, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [each for each in ran if each.returncode == 0]
    assert won
    for each in ran:
        if each.returncode:
            assert each.returncode == 2, each.stderr
            assert "Another run is writing to 'out'. Nothing was written." in each.stderr
    assert check_manifest(home / "out") == []
    assert json.loads((home / "out" / "steward" / "manifest.json").read_text())["seed"] in ("10", "11", "12")
    assert not [path.name for path in home.iterdir() if path.name.startswith(".out")]
