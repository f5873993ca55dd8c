"""Files that are larger than memory: summed up by person, grouped, masked and verified in portions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.stream.recount import verify_file
    from shoal.engines.stream.run import protect_file

__all__ = ["protect_file", "verify_file"]

_HOME = {"protect_file": "shoal.engines.stream.run", "verify_file": "shoal.engines.stream.recount"}


def __getattr__(name: str) -> Any:  # imported when it is first used: who reads a file in memory needs neither
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
