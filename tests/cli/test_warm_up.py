"""Compiling ahead: every way that it takes goes through, and what goes wrong is told."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from shoal.cli import warm_up
from shoal.demo.patients import made_up_patients
from shoal.grouping import METHODS
from shoal.masking import MASKS
from tests.cli.conftest import Shoal


@pytest.mark.long
def test_every_way_is_a_release(shoal: Shoal) -> None:
    made_up_patients(warm_up.PERSONS, seed=1).write_csv("patients.csv")
    for number, way in enumerate((warm_up.FIRST, *warm_up.WAYS)):
        done = shoal("protect", "patients.csv", *warm_up.COLUMNS, *way, "-o", str(number), "--no-report")
        assert done.code == 0, f"{way}: {done.err}"


def test_every_method_and_mask_is_among_the_ways() -> None:
    flags = {name for way in warm_up.WAYS for flag in way for name in re.split("[:;]", flag)} | {
        "balance-tree",
        "range",
    }
    assert {*METHODS, *MASKS} - flags <= {"permute", "safepub"}, "they have no kernels of their own"


def test_it_compiles_in_processes_of_their_own_and_tells_what_went_wrong(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "WAYS", ())
    assert shoal("warm-up", "--json").json["ways"] == 1
    monkeypatch.setattr(warm_up, "FIRST", ("--k", "0"))
    told = shoal("warm-up")
    assert told.code == 2
    assert "1 of 1 ways" in told.err
    assert "--k 0" in told.err


KERNEL = """
import sys
from pathlib import Path
import numpy as np
from shoal.kernels import counting
numbers, distinct = counting.number_distinct(np.array([3, 1, 3]))
assert distinct.tolist() == [3, 1]
assert Path(counting.__file__).is_relative_to(Path(sys.argv[1]).resolve()), counting.__file__
from numba.core.registry import CPUDispatcher
kernels = [kernel for kernel in vars(counting).values() if isinstance(kernel, CPUDispatcher)]
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels),
      sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
"""


def counted_in(folder: Path, python_path: str) -> tuple[int, int]:
    """How many kernels a process loads compiled, and how many it compiles."""
    environment = warm_up.environment_of(Path(python_path))
    environment.pop("NUMBA_DISABLE_JIT", None)
    ran = subprocess.run(
        [sys.executable, "-c", KERNEL, python_path], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    loaded, compiled = ran.stdout.split()
    return int(loaded), int(compiled)


def test_an_executor_finds_in_the_archive_what_was_compiled(tmp_path: Path) -> None:
    """As Spark does: the archive is unpacked below the folder in which the executor works, and named relative to it."""
    copy = warm_up.copied_package(tmp_path / "copy")
    loaded, compiled = counted_in(tmp_path, str(copy))
    assert (loaded, compiled > 0) == (0, True)
    warm_up.pack(copy, tmp_path / "shoal.tar.gz")
    executor = tmp_path / "executor"
    executor.mkdir()
    with tarfile.open(tmp_path / "shoal.tar.gz") as archive:
        names = archive.getnames()
        assert {entry.uname for entry in archive.getmembers()} == {""}
        archive.extractall(executor / "here", filter="data")
    assert [name for name in names if name.startswith("shoal/kernels/__pycache__/counting.") and name.endswith(".nbc")]
    assert counted_in(executor, "here") == (compiled, 0)
    counting = executor / "here" / "shoal" / "kernels" / "counting.py"
    counting.write_text(counting.read_text() + "\n# another source than the one that was compiled\n")
    assert counted_in(executor, "here") == (0, compiled)


def test_the_archive_is_what_the_command_makes(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_in: list[str | None] = []

    def fault_of(table: Path, environment: dict[str, str] | None, number: int, flags: tuple[str, ...]) -> str:
        compiled_in.append(environment and environment["PYTHONPATH"])
        return ""

    monkeypatch.setattr(warm_up, "_fault_of", fault_of)
    assert shoal("warm-up", "--json").json["archive"] is None
    assert set(compiled_in) == {None}
    compiled_in.clear()
    assert shoal("warm-up", "--archive", "shoal.tar.gz", "--json").json["archive"] == "shoal.tar.gz"
    (copy,) = set(compiled_in)
    assert copy is not None
    with tarfile.open("shoal.tar.gz") as archive:
        assert {"shoal/__init__.py", "shoal/publishing/report/templates", "shoal/py.typed"} <= set(archive.getnames())


@pytest.mark.parametrize(
    ("name", "why"),
    [("shoal.zip", "end in .tar.gz or .tgz"), ("there.tgz", "exists"), ("nowhere/shoal.tgz", "does not exist")],
)
def test_an_archive_that_cannot_be_is_refused_before_anything_is_compiled(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.setattr(warm_up, "_fault_of", None)
    Path("there.tgz").write_bytes(b"mine")
    told = shoal("warm-up", "--archive", name)
    assert told.code == 2
    assert why in told.err
    assert Path("there.tgz").read_bytes() == b"mine"
