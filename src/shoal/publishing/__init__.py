"""Stage 7: the files that leave the house, and those that stay."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = ("later", "ledger", "related", "report")


def __getattr__(name: str) -> Any:  # a part is imported when it is first used
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
