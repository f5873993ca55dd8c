"""Telling a door how far long work is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives what stage is under way and how much of it is done, from 0 to 1."""

    def __call__(self, stage: str, done: float) -> None:
        """Called now and then during long work."""


def silent(stage: str, done: float) -> None:
    """Tell nobody."""
