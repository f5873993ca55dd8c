"""What every runner shares: the job it is given, the clock, and what it hands back.

Runs in the peers' environment as well as in shoal's, so it needs the standard library only.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """What to do: a table as CSV, its columns, the models, and where the published table goes."""

    table: str
    published: str
    told: str
    numbers: list[str]
    nominal: list[str]
    sensitive: str
    k: int
    l: int | None  # noqa: E741 - its name everywhere
    hierarchies: str

    @property
    def quasi(self) -> list[str]:
        """All quasi-identifiers."""
        return [*self.numbers, *self.nominal]


def job() -> Job:
    """The job in the file that the first argument names."""
    return Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and the CPU seconds it took, over all threads."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def tell(to: Job, seconds: float, **more: Any) -> None:
    """Hand back the CPU seconds, and what else was found."""
    Path(to.told).write_text(json.dumps({"seconds": seconds, **more}), encoding="utf-8")
