"""Compiled kernels have a place even where nothing can be written to, and whoever waits for them is told, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from shoal.kernels import compiling

WITHOUT_A_PLACE = """
import os, stat, sys, warnings
from pathlib import Path
from shoal.kernels import compiling
compiling._can_write = lambda folder: False
compiling.config.CACHE_DIR = ""
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    compiling.prepare(Path("."))
place = Path(compiling.config.CACHE_DIR)
assert os.environ["NUMBA_CACHE_DIR"] == str(place)
assert stat.S_IMODE(place.stat().st_mode) == 0o700
from shoal.kernels import counting
import numpy as np
counting.number_distinct(np.array([3, 1, 3]))
assert list(place.rglob("counting*.nbi"))
(warning,) = told
assert "NUMBA_CACHE_DIR" in str(warning.message)
print(place)
"""


def test_a_service_without_a_home_compiles_into_a_folder_of_its_own_that_goes_with_it() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_A_PLACE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not Path(ran.stdout.strip()).exists()


def test_a_folder_that_can_be_written_to_is_made_and_left_empty(tmp_path: Path) -> None:
    assert compiling._can_write(tmp_path / "new" / "folder")
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    (tmp_path / "file").write_text("x")
    assert not compiling._can_write(tmp_path / "file")


def a_kernel() -> Any:
    @numba.njit
    def twice(number: Any) -> Any:
        return 2 * number

    return twice


def test_who_waits_is_told_once_and_only_where_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    kernel = a_kernel()
    with compiling.telling_of_compiling(lambda: told.append("hasty")):
        monkeypatch.setattr(compiling, "PATIENCE", 1e9)
        kernel(1)
        assert told == []
        monkeypatch.setattr(compiling, "PATIENCE", -1.0)
        kernel(1)  # compiled already
        assert told == []
        kernel(1.5)
        kernel(1j)
        assert told == ["hasty"]
    a_kernel()(1)
    assert told == ["hasty"]  # nobody waits any more


IN_WHICH_ORDER = """
import operator
import numpy as np
from shoal.kernels import counting
counting.number_distinct(np.array([3, 1, 3]))
from numba.core.registry import cpu_target
asked = cpu_target.typing_context._lookup_global(operator.getitem).templates
print(*(template.__mro__[1].__name__ for template in asked))
"""


def test_numba_asks_arrays_what_an_index_means_before_it_asks_all_else(tmp_path: Path) -> None:
    """Else each index of each kernel is first tried as one of texts, lists and dictionaries: a tenth of compiling."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", IN_WHICH_ORDER], capture_output=True, text=True, check=True, env=environment
    )
    asked = ran.stdout.split()
    assert asked.index("GetItemBuffer") < asked.index("_OverloadFunctionTemplate")
