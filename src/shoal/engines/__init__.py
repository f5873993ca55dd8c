"""Engines run the stages: in memory, in portions of a file larger than memory, on a Spark cluster."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = ("memory", "spark", "stream")


def __getattr__(name: str) -> Any:  # a part is imported when it is first used
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
