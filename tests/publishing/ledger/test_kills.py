"""Killed at random moments, protect with a ledger leaves the old state or the new, and a rerun mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from tests.tiers import long_but_for

SOURCE = Path(shoal.__file__).parents[1]
KILLING = Path(__file__).with_name("killing.py")


def killed_runs(home: Path, way: str, start: str, n_kills: int) -> list[dict]:
    ran = subprocess.run(
        [sys.executable, str(KILLING), str(home), way, start, str(n_kills), "7"],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_DISABLE_JIT": "1"},  # small tables: quicker as they are
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["steps"] > 500
    return told["seen"]


def check_runs(seen: list[dict]) -> None:
    for run in seen:
        assert not run["survived"]
        assert run["killed"].count("pending") <= 1, run
        assert run["is_old"] or run["killed"][-1] in ("pending", "done"), run
        assert set(run["persons"]) == {8}, run  # no half of an entry
        assert set(run["after"]) == {"done"}, run
        assert run["knows_the_release_in_place"], run
        assert run["knows_all_that_were_in_place"], run
        assert run["beside"] == ["ledger.sqlite", "ledger.sqlite.key", "out", "steps"], run


@pytest.mark.parametrize("start", long_but_for(["release"], ["release", "nothing"]))
@pytest.mark.parametrize("way", long_but_for(["exchange"], ["exchange", "two steps"]))
def test_a_kill_leaves_the_old_or_the_new_and_a_rerun_mends_it(tmp_path: Path, way: str, start: str) -> None:
    check_runs(killed_runs(tmp_path, way, start, 5))


@pytest.mark.nightly
@pytest.mark.parametrize("start", ["release", "nothing"])
@pytest.mark.parametrize("way", ["exchange", "two steps"])
def test_kills_at_many_moments(tmp_path: Path, way: str, start: str) -> None:
    seen = killed_runs(tmp_path, way, start, 300)
    check_runs(seen)
    assert any("pending" in run["killed"] for run in seen)
    assert any(not run["is_old"] for run in seen)
