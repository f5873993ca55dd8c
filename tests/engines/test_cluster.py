"""A real cluster on loopback: half a million records, executors killed at every stage, and one of two workers."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.demo.benchmark_table import benchmark_table
from tests.engines.clusters import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.long]

PERSONS = 100_000
PROJECT = Path(__file__).resolve().parents[2]


STAGES = ("looking", "reading", "grouping", "masking", "verifying", "writing")


def test_killed_executors_and_a_killed_worker_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """In a process of its own, since a session of Spark is one a process."""
    import subprocess
    import sys

    frame = benchmark_table(PERSONS, seed=2)
    assert len(frame) > 4.9 * PERSONS
    frame.write_parquet(tmp_path / "visits.parquet", row_group_size=50_000)
    n_records, n_persons = len(frame), frame["person"].n_unique()
    diagnoses = frame["diagnosis"].value_counts().sort("diagnosis")
    del frame
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.killing", cluster.address, str(tmp_path)],
        stdout=subprocess.PIPE, stderr=(tmp_path / "run.log").open("wb"), text=True, cwd=PROJECT,
    )  # fmt: skip
    assert run.stdout is not None
    killed: dict[str, int] = {}

    def listen() -> None:
        for line in run.stdout:  # type: ignore[union-attr]
            stage = line.split()[0]
            if stage in killed:
                continue
            time.sleep(2)  # that there is work to lose
            killed[stage] = cluster.kill_executor(1)
            if stage == "masking":
                cluster.kill_worker(0)

    ear = threading.Thread(target=listen)
    ear.start()
    run.wait()
    ear.join()
    log = (tmp_path / "run.log").read_text(encoding="utf-8", errors="replace")
    assert run.returncode == 0, log[-3000:]
    assert set(killed) == set(STAGES)
    assert sum(map(bool, killed.values())) >= len(STAGES) - 1, killed  # one may still be starting
    assert cluster.workers[0].poll() is not None
    out = tmp_path / "out"
    seen = _verified(out)
    assert seen.holds
    assert (seen.records, seen.persons) == (n_records, n_persons)
    published = _parts(out)
    assert published["diagnosis"].value_counts().sort("diagnosis").equals(diagnoses)


def _parts(out: Path) -> Any:
    import polars as pl

    return pl.read_parquet(sorted((out / "release.parquet").glob("part-*.parquet")))


def _verified(out: Path) -> Any:
    from shoal.policy import Policy

    policy = Policy.load(out / "steward" / "policy.toml")
    return shoal.verify(_parts(out), policy.schema_of_release(), policy.models)
