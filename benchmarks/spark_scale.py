"""What the engine on Spark needs as tables grow: measured runs, and from them what 1,000,000,000 records would need.

    python -m benchmarks.spark_scale run 200000           one run, with that many persons (about five records each)
    python -m benchmarks.spark_scale driver 200000000     the driver's part alone, on simulated histograms
    python -m benchmarks.spark_scale page FILE...         the tables of docs/studies/spark.md, from what runs printed

A run prints one line of JSON. CPU seconds, bytes shuffled and bytes that came to the driver are Spark's own, from its
event log; memory is the highest resident memory of the JVM and of its Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

QUASI = ["age", "zip", "income", "education", "region"]
TARGET = 1_000_000_000


def run(persons: int, *, cell_persons: int, cores: int, folder: Path) -> dict[str, Any]:
    """Protect a table of so many persons, and say what it took."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from pyspark.sql import SparkSession

    import shoal
    from shoal.engines.spark import protect

    path = made_table(persons, folder)
    log = folder / "events"
    log.mkdir(exist_ok=True)
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri(), "spark.eventLog.compress": "false",
        "spark.driver.memory": "3g", "spark.sql.session.timeZone": "UTC", "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": str(max(8, persons // 100_000)),
    }  # fmt: skip
    builder = SparkSession.builder.master(f"local[{cores}]").appName("spark_scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    models = [shoal.RecordRisk(rho="0.1"), shoal.HAffiliation(h="0.5")]
    schema = shoal.Schema(person="person", quasi=QUASI, sensitive=["diagnosis"])
    with _Watched() as watched:
        release = protect(
            spark.read.parquet(str(path)), schema, models, effort="low", measure_input=False, cell_persons=cell_persons
        )
        release.data.write.mode("overwrite").parquet(str(folder / "release.parquet"))
        spark.stop()
    events = _events(log)
    return {
        "records": release.risk.records, "persons": persons, "groups": release.risk.groups,
        "cells": release.told["cells"], "largest_cell": release.told["largest_cell"],
        "ane": release.utility.ane, "holds": release.verdict.holds,
        "input_bytes": sum(part.stat().st_size for part in path.glob("*.parquet")), **events, **watched.found,
    }  # fmt: skip


def made_table(persons: int, folder: Path, portion: int = 400_000) -> Path:
    """The benchmark's table as a folder of Parquet files; persons of different files are others."""
    from shoal.demo.benchmark_table import benchmark_table

    path = folder / f"visits-{persons}.parquet"
    if path.exists():
        return path
    beside = path.with_name(f".{path.name}")
    beside.mkdir(parents=True)
    for number, first in enumerate(range(0, persons, portion)):
        part = benchmark_table(min(portion, persons - first), seed=number)
        part = part.with_columns(pl.col("person") + number * 10**12)
        part.write_parquet(beside / f"part-{number:05d}.parquet", row_group_size=250_000)
    beside.rename(path)
    return path


def _events(log: Path) -> dict[str, Any]:
    """What the tasks of a run wrote, read and sent, by Spark's own account."""
    total = {"shuffle_written": 0, "result_bytes": 0, "spilled": 0, "jvm_cpu": 0.0, "tasks": 0, "task_seconds": 0.0}
    for path in sorted(log.rglob("*")):
        if not path.is_file() or path.name.startswith(("appstatus", ".")):
            continue
        for line in path.open(encoding="utf-8"):
            event = json.loads(line)
            metrics = event.get("Task Metrics")
            if event["Event"] != "SparkListenerTaskEnd" or not metrics:
                continue
            total["tasks"] += 1
            total["shuffle_written"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            total["result_bytes"] += metrics["Result Size"]
            total["spilled"] += metrics["Disk Bytes Spilled"]
            total["jvm_cpu"] += metrics["Executor CPU Time"] / 1e9
            total["task_seconds"] += metrics["Executor Run Time"] / 1e3
    return total


class _Watched:
    """Watches the processes below this one: the CPU they used, the most memory they had, and the time that passed."""

    def __enter__(self) -> _Watched:
        self.found: dict[str, Any] = {}
        self._cpu: dict[int, tuple[str, float]] = {}
        self._most = {"java": 0, "python": 0}
        self._stop = threading.Event()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        import psutil

        while not self._stop.wait(0.5):
            for process in psutil.Process().children(recursive=True):
                try:
                    kind = "java" if process.name() == "java" else "python"
                    times = process.cpu_times()
                    self._cpu[process.pid] = kind, times.user + times.system
                    self._most[kind] = max(self._most[kind], process.memory_info().rss)
                except psutil.Error:
                    continue

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        own = {kind: sum(cpu for of, cpu in self._cpu.values() if of == kind) for kind in self._most}
        self.found = {
            "cpu_java": own["java"], "cpu_python": own["python"], "cpu_driver_python": time.process_time(),
            "peak_java": self._most["java"], "peak_python": self._most["python"],
            "wall": time.monotonic() - self._started,
        }  # fmt: skip


class SimulatedSource:
    """Counts of persons who were never there: every quasi-identifier is spread by a law of its own."""

    def __init__(self, persons: int) -> None:
        self.persons = persons
        grid = np.linspace(0.0, 1.0, 100_001)
        laws = [
            np.exp(-(((grid - middle) / width) ** 2))
            for middle, width in ((0.4, 0.3), (0.5, 0.6), (0.1, 0.1), (0.6, 0.4))
        ]
        self.grid = grid
        self.up_to = [np.cumsum(law) / law.sum() for law in laws]
        share = 1.0 / (np.arange(20) + 3)
        self.share = share / share.sum()
        self.bytes = 0

    def bins(self, tree: Any, nodes: Sequence[int]) -> pl.DataFrame:
        """The bins of nodes."""
        boxes = self._boxes(tree)
        parts = [self._node(tree, node, *boxes[node]) for node in nodes]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        rows = pl.DataFrame(columns)
        self.bytes = max(self.bytes, int(rows.estimated_size()))
        return rows

    def values(self, tree: Any, nodes: Sequence[int]) -> pl.DataFrame:
        """The sensitive values of nodes: five hundred, each as common in every node as in the whole."""
        weights = 1.0 / (np.arange(500) + 12)
        share = 3 * weights / weights.sum()
        boxes = self._boxes(tree)
        persons = np.array([self._size(*boxes[node]) for node in nodes])
        held = np.maximum(np.rint(persons[:, None] * share), 1).astype(np.int64)
        rows = pl.DataFrame(
            {
                "node": np.repeat(np.array(nodes), 500), "attribute": 0, "value": np.tile(np.arange(500), len(nodes)),
                "records": held.ravel() * 2, "persons": held.ravel(),
            }
        )  # fmt: skip
        self.bytes = max(self.bytes, int(rows.estimated_size()))
        return rows

    def _boxes(self, tree: Any) -> dict[int, tuple[list[list[float]], np.ndarray[Any, Any]]]:
        boxes = {0: ([[0.0, 1.0] for _ in range(4)], np.ones(20, bool))}
        waiting = [0]
        while waiting:
            node = waiting.pop()
            attribute = tree.attribute[node]
            if attribute < 0:
                continue
            ends, has = boxes[node]
            for side, child in enumerate((tree.left[node], tree.right[node])):
                own, own_has = [list(pair) for pair in ends], has.copy()
                if attribute < 4:
                    own[attribute][1 - side] = tree.threshold[node]
                else:
                    is_it = np.arange(20) == int(tree.threshold[node])
                    own_has &= ~is_it if side else is_it
                boxes[child] = own, own_has
                waiting.append(child)
        return boxes

    def _mass(self, attribute: int, ends: Any) -> Any:
        return np.interp(ends, self.grid, self.up_to[attribute])

    def _size(self, ends: list[list[float]], has: Any) -> float:
        shares = [float(np.diff(self._mass(j, pair))[0]) for j, pair in enumerate(ends)]
        return self.persons * float(np.prod(shares)) * float(self.share[has].sum())

    def _node(self, tree: Any, node: int, ends: list[list[float]], has: Any) -> dict[str, Any]:
        size = self._size(ends, has)
        parts = []
        for attribute in range(5):
            if attribute < 4:
                edges = np.clip(tree.edges[node][attribute], *ends[attribute])
                share = np.diff(self._mass(attribute, edges))
                share = share / share.sum()
            else:
                share = np.where(has, self.share, 0) / self.share[has].sum()
            persons = np.rint(size * share).astype(np.int64)
            at = np.flatnonzero(persons)
            persons = persons[at]
            middle = {j: np.full(len(at), sum(ends[j]) / 2) for j in range(4)}
            if attribute < 4:
                middle[attribute] = (edges[at] + edges[at + 1]) / 2
            masses = {f"m{j}": np.rint(5 * persons * middle[j] * 2**19).astype(np.int64) for j in range(4)}
            parts.append(
                {
                    "node": np.full(len(at), node), "attribute": np.full(len(at), attribute), "bin": at,
                    "persons": persons, "records": 5 * persons, "squared": 60 * persons, "most": np.full(len(at), 60),
                    "logs": 16.0 * persons, **masses, "m4": np.zeros(len(at), np.int64),
                }
            )  # fmt: skip
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def driver(persons: int, *, cell_persons: int) -> dict[str, Any]:
    """Grow the coarse tree of so many persons from simulated counts."""
    import resource

    import shoal
    from shoal.engines.spark.code import Grower

    source = SimulatedSource(persons)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    weights = 1.0 / (np.arange(500) + 12)
    held = np.rint(persons * 3 * weights / weights.sum()).astype(np.int64)
    started = time.process_time()
    grower = Grower(
        source,
        [shoal.RecordRisk(rho="0.1"), shoal.HAffiliation(h="0.5")],
        is_nominal=np.array([False, False, False, False, True]),
        top=np.array([1.0, 1.0, 1.0, 1.0, 19.0]),
        cell_persons=cell_persons,
        by_width=False,
        in_table={"diagnosis": (2 * held, held)},
    )
    grower.whole()
    grown = grower.grow()
    return {
        "persons": persons, "records": 5 * persons, "cells": len(grown.persons_of_cell), "levels": grown.n_levels,
        "largest_cell": grown.largest, "cpu": time.process_time() - started, "most_bytes": source.bytes,
        "memory_grown": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
    }  # fmt: skip


def page(files: Sequence[str]) -> str:
    """The tables of the page: what was measured, and what a thousand million records would need by it."""
    found = [json.loads(line) for file in files for line in Path(file).read_text().splitlines() if line.startswith("{")]
    runs = sorted((each for each in found if "shuffle_written" in each), key=lambda each: each["records"])
    lines = [
        "| records | persons | cells | CPU: Java | CPU: Python | shuffled | to the driver | memory: Java | Python |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each['records']:,} | {each['persons']:,} | {each['cells']:,} | {each['cpu_java']:,.0f} s "
        f"| {each['cpu_python']:,.0f} s | {each['shuffle_written'] / 1e9:.2f} GB | {each['result_bytes'] / 1e6:.1f} MB "
        f"| {each['peak_java'] / 1e9:.2f} GB | {each['peak_python'] / 1e9:.2f} GB |"
        for each in runs
    ]
    first, last = runs[0], runs[-1]

    def a_record(what: str) -> float:
        """What one more record costs; with one run alone its share of everything, starting and compiling included."""
        if len(runs) == 1:
            return float(last[what]) / last["records"]
        return float(last[what] - first[what]) / (last["records"] - first["records"])

    cpu = (a_record("cpu_java") + a_record("cpu_python")) * TARGET
    lines += ["", "| what | for 1,000,000,000 records |", "|---|---|"]
    lines += [
        f"| shuffled | {a_record('shuffle_written') * TARGET / 1e12:.2f} TB |",
        f"| CPU of executors | {cpu / 3600:,.0f} hours |",
        *(f"| on {cores:,} cores, evenly busy | {cpu / cores / 60:,.0f} minutes |" for cores in (64, 256, 1024)),
    ]
    return "\n".join(lines)


def main() -> None:
    """Do what the first argument says."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("what", choices=["run", "driver", "page"])
    asked.add_argument("arguments", nargs="+")
    asked.add_argument("--cell-persons", type=int, default=100_000)
    asked.add_argument("--cores", type=int, default=2)
    asked.add_argument("--folder", type=Path)
    given = asked.parse_args()
    if given.what == "page":
        print(page(given.arguments))
        return
    persons = int(given.arguments[0])
    if given.what == "driver":
        print(json.dumps(driver(persons, cell_persons=given.cell_persons)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(json.dumps(run(persons, cell_persons=given.cell_persons, cores=given.cores, folder=Path(folder))))


if __name__ == "__main__":
    main()
