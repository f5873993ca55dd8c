"""What an attack got: one result a way of trying, always with an interval and next to blind guessing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import ParameterError

NORMAL_95 = 1.959963984540054
"""A standard normal variable stays within this on both sides of 0 with a probability of 95 %."""


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """How often one way of attacking is right.

    Attributes
    ----------
    attack, name
        The attack of the suite, and this way of trying it; the name is unique among the results of a release.
    knows
        What the attacker knows, in one plain sentence.
    aim
        What counts as a success, in a few words.
    success, low, high
        The share of targets for whom the attacker is right (the mean of their chances where these can be computed),
        and a 95 % interval by Wilson's method: the targets are taken as drawn from persons like them.
    blind
        What a guess gets without the release.
    targets
        How many persons were attacked.
    is_exact
        Whether the success is that of this attack. If not it is an upper bound, which is said under `details`.
    details
        Further numbers, by name.
    """

    attack: str
    name: str
    knows: str
    aim: str
    success: float
    low: float
    high: float
    blind: float
    targets: int
    is_exact: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NotTried:
    """An attack that does not apply to a release, and why."""

    attack: str
    why: str


class DoesNotApply(Exception):  # noqa: N818 - it is no error
    """Raised by an attack that cannot be tried on a release; the message says why."""


def result_of(
    attack: str,
    name: str,
    *,
    knows: str,
    aim: str,
    successes: float,
    targets: int,
    blind: float,
    is_exact: bool = True,
    details: Mapping[str, Any] | None = None,
) -> AttackResult:
    """A result with its interval, from the (expected) number of targets for whom the attacker is right."""
    low, high = wilson(successes, targets)
    return AttackResult(
        attack=attack, name=name, knows=knows, aim=aim, success=min(successes / targets, 1.0), low=low,
        high=high, blind=blind, targets=targets, is_exact=is_exact, details=dict(details or {}),
    )  # fmt: skip


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's method (1927).

    `successes` may be a sum of chances: that of outcomes which are 0 or 1 varies most for a given mean, so the interval
    is then wider than needed, never narrower.

    >>> low, high = wilson(5, 10)
    >>> round(low, 4), round(high, 4)
    (0.2366, 0.7634)
    """
    if n < 1:
        raise ParameterError("An interval needs at least one target.")
    share = min(max(successes / n, 0.0), 1.0)
    square = NORMAL_95**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = NORMAL_95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if share == 0 else max(centre - half, 0.0)
    return low, 1.0 if share == 1 else min(centre + half, 1.0)
