"""A real server in a process of its own, and ways to talk to it that no browser would take."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from shoal.web.project import Project

SOURCE = Path(__file__).resolve().parents[2] / "src"
ADDRESS = re.compile(r"http://([^/]+):(\d+)/\?token=([A-Za-z0-9_-]+)")
SECONDS = 120


def as_saved(folder: Path) -> Project:
    """The project in a folder, as it was saved last: to look at while a server has it."""
    return Project.as_saved(folder)


@dataclass
class Served:
    """A running server: its address, its process, and what it has written to stderr so far."""

    address: str
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    @property
    def stderr(self) -> str:
        return "".join(self.errors)

    def stranger(self) -> httpx.Client:
        """Somebody without the cookie."""
        return httpx.Client(base_url=self.base, timeout=SECONDS, trust_env=False)

    @contextmanager
    def steward(self) -> Iterator[httpx.Client]:
        """Somebody who opened the address, and sends the origin as a page of shoal would."""
        with self.stranger() as client:
            client.headers["origin"] = self.base
            assert client.get(self.address).status_code == 303
            yield client

    def end(self, with_signal: int = signal.SIGTERM) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(SECONDS)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from shoal.cli.main import main; main()", "serve", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Served]:
    """Start `shoal serve` in a folder, and end it."""
    process = subprocess.Popen(
        command("--no-browser", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**environment(), "TMPDIR": str(folder)},
    )
    assert process.stdout is not None
    served = Served("", process)
    listener = threading.Thread(target=lambda: served.errors.extend(process.stderr or ()), daemon=True)
    listener.start()
    try:
        line = process.stdout.readline()
        served.lines.append(line)
        assert ADDRESS.fullmatch(line.rstrip("\n")), (line, served.stderr)
        served.address = line.strip()
        yield served
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(SECONDS)
        listener.join(SECONDS)
        process.stdout.close()
        assert process.stderr is not None
        process.stderr.close()
