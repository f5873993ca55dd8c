"""Commands import what they use: modules are counted, not seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.demo.clinics import clinics

HEAVY = ("altair", "duckdb", "narwhals", "nicegui", "numba", "numpy", "pandas", "polars", "pyarrow", "pydantic",
         "pyspark", "rich", "scipy", "scipy.linalg._basic", "scipy.sparse", "shoal.kernels", "sklearn",
         "yaml.loader")  # fmt: skip
COLUMNS = ("--person", "name", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease", "--drop", "admission")
RUN = f"""
import atexit, json, sys
sys.argv = ["shoal", *sys.argv[1:]]
from shoal.cli.main import main
atexit.register(lambda: print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr))
main()
"""


def in_a_process(folder: Path, program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    left = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, env={**left, **environment}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def heavy_ones_of(folder: Path, *words: str) -> set[str]:
    return set(json.loads(in_a_process(folder, RUN, *words).stderr.splitlines()[-1]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clinics().write_csv(tmp_path / "visits.csv")
    return tmp_path


def test_help_imports_nothing_large(folder: Path) -> None:
    assert heavy_ones_of(folder, "--help") == set()


def test_looking_at_a_small_file_needs_no_compiler(folder: Path) -> None:
    assert heavy_ones_of(folder, "profile", "visits.csv") == {"numpy", "polars", "pydantic", "rich"}


def test_a_release_needs_no_frames_of_others_and_nothing_of_scipy_but_its_name(folder: Path) -> None:
    words = ("protect", "visits.csv", *COLUMNS, "--g-balance", "0.5", "-o", "out", "--json")
    used = {"numba", "numpy", "polars", "pydantic", "shoal.kernels"}
    assert heavy_ones_of(folder, *words) - {"scipy"} == used  # numba asks for scipy when it loads what it compiled


LINEAR_ALGEBRA = """
import sys
from shoal.cli.quick_start import start_quickly
start_quickly()
start_quickly()
import numba, numpy as np
product = numba.njit(lambda a, b: a @ b)
assert (product(np.eye(3), np.ones((3, 3))) == 1.0).all()
import scipy.linalg
import scipy.linalg.cython_blas
assert "scipy.linalg._basic" not in sys.modules
assert scipy.linalg.det(np.eye(2)) == 1.0
import yaml
assert "yaml.loader" not in sys.modules
assert yaml.safe_load("k: 5") == {"k": 5}
assert "scipy.linalg._basic" in sys.modules
from scipy.linalg import *
assert inv(np.eye(2)).tolist() == np.eye(2).tolist()
assert scipy.linalg.__spec__.loader is scipy.linalg.__loader__
try:
    scipy.linalg.no_such_name
except AttributeError:
    print("right")
"""


def test_linear_algebra_is_there_for_whoever_uses_it(tmp_path: Path) -> None:
    assert in_a_process(tmp_path, LINEAR_ALGEBRA).stdout == "right\n"


THREADS = "from shoal.cli.quick_start import start_quickly; import os; start_quickly(); print(os.environ['{}'])"


@pytest.mark.parametrize(("given", "taken"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_matrices_take_one_thread_unless_the_environment_says_more(
    tmp_path: Path, given: dict[str, Any], taken: str
) -> None:
    done = in_a_process(tmp_path, THREADS.format("OPENBLAS_NUM_THREADS"), **given)
    assert done.stdout.strip() == taken


def test_what_was_registered_to_run_at_the_end_runs(tmp_path: Path) -> None:
    program = """
import tempfile, sys
from shoal.cli.quick_start import start_quickly
start_quickly()
folder = tempfile.TemporaryDirectory(dir=".")
folder.itself = folder
print(folder.name)
"""
    made = in_a_process(tmp_path, program).stdout.strip()
    assert not (tmp_path / made).exists()
