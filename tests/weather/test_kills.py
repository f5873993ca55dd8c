"""A run that is killed at any moment leaves the old state or the new one, and the next run works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.databases.conftest import server  # noqa: F401 - a fixture
from tests.databases.servers import Server
from tests.tiers import long_but_for
from tests.weather.sizes import KILLS

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("SHOAL_KILL_SEED", "1"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, which this system cannot")


def kill_at_moments(home: Path, kind: str, n: int, address: str = "") -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("kill_moments.py")), str(home), kind, str(n), str(SEED),
         *([address] if address else [])],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"SHOAL_KILL_SEED={SEED}: {ran.stderr[-3000:]}"
    told: dict[str, Any] = json.loads(ran.stdout)
    assert sum(told["seen"].values()) == n
    return told


@pytest.mark.grows
@pytest.mark.parametrize("kind", long_but_for(["protect"], ["protect", "apply"]))
def test_a_killed_run_leaves_the_old_release_or_the_new_one(kind: str, tmp_path: Path) -> None:
    told = kill_at_moments(tmp_path, kind, KILLS if kind == "protect" else KILLS // 2)
    assert told["seen"]["old"] > 0, "no kill came in time"
    assert told["left"] > 0, "no kill came while files were written"


@pytest.mark.grows
@pytest.mark.database
@pytest.mark.parametrize("database", long_but_for(["postgresql"], ["sqlite", "duckdb", "postgresql"]))
def test_a_killed_run_leaves_the_database_with_the_old_table_or_the_new_one(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = f"{database}:///{tmp_path}/clinic.db"
    if database == "postgresql":
        started: Server = request.getfixturevalue("server")
        started.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
        address = started.url
    told = kill_at_moments(tmp_path, "protect", KILLS // 3, address)
    assert told["seen"]["old"] > 0, "no kill came in time"
