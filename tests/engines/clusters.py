"""A standalone Spark cluster of the tests' own, on loopback: a master and workers in processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

PATIENCE = 120
"""How many seconds a process has to start; nothing is asserted about time."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spark_class() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / "spark-class")


@dataclass
class Cluster:
    """A master and its workers."""

    folder: Path
    port: int
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @classmethod
    def start(cls, folder: Path, *, workers: int) -> Cluster:
        port = free_port()
        master = _started(
            folder / "master.log", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port),
            "--webui-port", str(free_port()),
        )  # fmt: skip
        cluster = cls(folder, port, master)
        _wait_for(folder / "master.log", "I have been elected leader")
        for number in range(workers):
            own = folder / f"worker-{number}"
            own.mkdir()
            worker = _started(
                folder / f"worker-{number}.log", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
                "--cores", "1", "--memory", "2g", "--work-dir", str(own), "--webui-port", str(free_port()),
                cluster.address,
            )  # fmt: skip
            cluster.workers.append(worker)
        for number in range(workers):
            _wait_for(folder / f"worker-{number}.log", "Successfully registered with master")
        return cluster

    def kill_worker(self, number: int) -> None:
        """Kill a worker and the executor it started, as a machine that is switched off."""
        _kill(self.workers[number])

    def kill_executor(self, number: int) -> int:
        """Kill what works for a worker, which starts another; how many processes that were."""
        started = psutil.Process(self.workers[number].pid).children(recursive=True)
        executors = [process for process in started if "CoarseGrainedExecutorBackend" in " ".join(_command(process))]
        family = [member for process in executors for member in (process, *process.children(recursive=True))]
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        return len(family)

    def end(self) -> None:
        for process in (*self.workers, self.master):
            _kill(process)


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def _started(log: Path, *command: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_NO_DAEMONIZE": "1"}
    with log.open("wb") as out:
        return subprocess.Popen(
            [spark_class(), *command], stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )


def _wait_for(log: Path, text: str) -> None:
    until = time.monotonic() + PATIENCE
    while text not in log.read_text(encoding="utf-8", errors="replace"):
        if time.monotonic() > until:
            raise RuntimeError(f"'{text}' is not said in {log.name}:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        found = psutil.Process(process.pid)
        family = [*found.children(recursive=True), found]
    except psutil.NoSuchProcess:
        family = []
    for member in family:
        try:
            member.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    process.wait()
