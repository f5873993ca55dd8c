"""Telling a door how far long work is, and a log which stages it went through."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

LOGGER = logging.getLogger("shoal")
"""Says at level INFO how long each stage took and how much it was about: counts, never values of the table."""
LOGGER.addHandler(logging.NullHandler())


class Progress(Protocol):
    """Receives what stage is under way and how much of it is done, from 0 to 1."""

    def __call__(self, stage: str, done: float) -> None:
        """Called now and then during long work."""


def silent(stage: str, done: float) -> None:
    """Tell nobody."""


class Stage:
    """A stage that is under way; `counts` are what it was about, for the log."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: dict[str, int] = {}


@contextmanager
def stage(name: str, progress: Progress = silent) -> Iterator[Stage]:
    """Tell a door that a stage begins, and the log when it is done."""
    progress(name, 0.0)
    under_way, started = Stage(name), time.perf_counter()
    yield under_way
    counted = "".join(f", {n:,} {what}" for what, n in under_way.counts.items())
    LOGGER.info("%s: %.2f s%s", name, time.perf_counter() - started, counted)
