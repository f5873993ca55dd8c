"""Work for the tests of jobs: what runs in the other process."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

from shoal.errors import CannotSatisfyError, ShoalWarning
from shoal.web.jobs import Tell
from shoal.web.project import Project


def add(project: Project, tell: Tell, *, numbers: list[int]) -> dict[str, Any]:
    for place, number in enumerate(numbers):
        tell("Adding", place / len(numbers))
        tell.partial({"number": number})
    warnings.warn("one to look at", ShoalWarning, stacklevel=2)
    warnings.warn("not one of ours", UserWarning, stacklevel=2)
    return {"sum": sum(numbers), "process": os.getpid(), "missing": project.chosen.missing}


def wait(project: Project, tell: Tell, *, until: str, stubborn: bool = False) -> dict[str, Any]:
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell("Waiting", 0.25)
    tell.partial({"process": os.getpid()})
    while not Path(until).exists():
        time.sleep(0.01)
    return {"missing": project.chosen.missing}


def refuse(project: Project, tell: Tell) -> dict[str, Any]:
    raise CannotSatisfyError("No grouping of this table meets it. Ask for less.")


def stumble(project: Project, tell: Tell) -> dict[str, Any]:
    os.write(2, b"a library that breaks shows secretitis")
    raise ValueError("the value 'secretitis' of patient p1 is odd")


def die(project: Project, tell: Tell) -> dict[str, Any]:
    tell.partial({"found": 1})
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def unsendable(project: Project, tell: Tell) -> dict[str, Any]:
    return {"function": lambda: None}
