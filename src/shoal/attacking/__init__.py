"""Stage 6: what an adversary gets, always next to blind guessing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.attacking import mining as mining
    from shoal.attacking.background import attack_background as attack_background
    from shoal.attacking.contract import Attack as Attack
    from shoal.attacking.contract import AttackResult as AttackResult
    from shoal.attacking.elimination import attack_by_exclusion as attack_by_exclusion
    from shoal.attacking.suite import ATTACKS as ATTACKS
    from shoal.attacking.suite import OtherRelease as OtherRelease

_HOME = {
    "Attack": "shoal.attacking.contract",
    "AttackResult": "shoal.attacking.contract",
    "ATTACKS": "shoal.attacking.suite",
    "OtherRelease": "shoal.attacking.suite",
    "attack_background": "shoal.attacking.background",
    "attack_by_exclusion": "shoal.attacking.elimination",
}


def __getattr__(name: str) -> Any:  # imported when it is first used
    if name == "mining":
        return import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
