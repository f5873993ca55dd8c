"""What a steward asks for: a risk that may not be exceeded, and a loss to keep small."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from shoal.errors import ParameterError, did_you_mean
from shoal.judging.risk import Risk
from shoal.masking.publish import Mask
from shoal.measuring.statistics import SHOWN_AS_NUMBERS
from shoal.measuring.utility import Utility
from shoal.models.exact import as_fraction

HIGHER_IS_SAFER = frozenset({"g_balance", "k", "person_k"})
WHOLE = frozenset({"k", "person_k", "unique_persons"})
OF_VALUES = frozenset({"max_gsar", "avg_gsar", "h_affiliation"})
NOT_RISKS = frozenset({"records", "persons", "groups", "population"})
LINKAGE = "linkage"
"""The share of persons whose published numbers lead to their original ones: a risk of what is shown, not of groups."""
RISKS = (*(field.name for field in fields(Risk) if field.name not in NOT_RISKS), LINKAGE)

NUMBERS_NEEDED = "Choose the mask perturb or mean, or aim at a risk of groups, such as max_gidr."
HIGHER_IS_BETTER = frozenset({"granularity"})
LOSSES = tuple(field.name for field in fields(Utility) if field.type == "float")


@dataclass(frozen=True)
class Target:
    """A bound on a risk measure: `max_gidr` at most 0.1; of `g_balance`, `k` and `person_k` at least.

    Parameters
    ----------
    key
        A risk of the JSON contract: max_gidr, avg_gidr, max_gsar, person_k, ..., or
        linkage, of masks that show numbers.
    limit
        The bound, taken as the decimal that is written.
    column
        For max_gsar and avg_gsar: the sensitive attribute meant; None means each of them.

    Examples
    --------
    >>> Target("max_gidr", "0.10")
    Target(key='max_gidr', limit=Fraction(1, 10), column=None)
    """

    key: str
    limit: Fraction
    column: str | None = None

    def __post_init__(self) -> None:
        if self.key not in RISKS:
            raise ParameterError(
                f"There is no risk '{self.key}' to aim at. These are: {', '.join(RISKS)}."
                f"{did_you_mean(self.key, RISKS)}"
            )
        if self.column is not None and self.key not in ("max_gsar", "avg_gsar"):
            raise ParameterError(f"{self.key} is not a risk of one sensitive attribute, but '{self.column}' is named.")
        limit = as_fraction(self.limit, name=self.key)
        object.__setattr__(self, "limit", limit)
        if self.key in WHOLE and limit.denominator != 1:
            raise ParameterError(f"{self.key} is a count: aim at a whole number.")
        if limit < 0 or (self.key not in WHOLE and limit > 1):
            raise ParameterError(f"{self.key} must be between 0 and 1, such as 0.1 for 10 %.")

    @property
    def at_least(self) -> bool:
        """Whether more of it is safer."""
        return self.key in HIGHER_IS_SAFER

    @property
    def name(self) -> str:
        """As it is written: `max_gsar.disease`."""
        return self.key if self.column is None else f"{self.key}.{self.column}"

    def reached(self, risk: Risk, linkage: float | None = None) -> float:
        """The measure of a table or release; the worst over sensitive attributes where it has several."""
        if self.key == LINKAGE:
            if linkage is None:
                raise ParameterError(
                    f"linkage was not measured here: it is a risk of masks that show numbers. {NUMBERS_NEEDED}"
                )
            return linkage
        measured = getattr(risk, self.key)
        if isinstance(measured, Mapping):
            if self.column is not None and self.column not in measured:
                raise ParameterError(
                    f"'{self.column}' is not a sensitive attribute. These are: {', '.join(measured)}."
                    f"{did_you_mean(self.column, measured)}"
                )
            chosen = [measured[self.column]] if self.column is not None else list(measured.values())
            measured = max(chosen, default=None)
        if measured is None:
            raise ParameterError(f"{self.key} is a risk of sensitive attributes, but none is named.")
        return float(measured)

    def is_met(self, risk: Risk, linkage: float | None = None) -> bool:
        """Whether a release stays within the bound; a share that equals it in the last digit does."""
        reached = self.reached(risk, linkage)
        if not math.isfinite(reached):
            return False
        limit = float(self.limit)
        return reached >= limit if self.at_least else reached <= limit

    def __str__(self) -> str:
        return f"{self.name} {'at least' if self.at_least else 'at most'} {float(self.limit):g}"


def parse_targets(given: Mapping[str, Any] | Iterable[Target]) -> tuple[Target, ...]:
    """Targets from `{"max_gidr": 0.1, "max_gsar.disease": 0.2}`, or as they are.

    Raises
    ------
    ParameterError
        Where none is given, a name is unknown, or a bound is out of range.
    """
    if isinstance(given, Mapping):
        targets = []
        for name, limit in given.items():
            key, _, column = str(name).partition(".")
            targets.append(Target(key, limit, column or None))
    else:
        targets = list(given)
    if any(not isinstance(target, Target) for target in targets):
        raise ParameterError("Targets are written as a risk and its bound: {'max_gidr': 0.10}.")
    if not targets:
        raise ParameterError("No target is given. Aim at a risk, such as max_gidr=0.10: nobody above 10 %.")
    return tuple(targets)


def refuse_linkage_of(mask: Mask, targets: Iterable[Target]) -> None:
    """Refuse to aim at the linkage of a mask that shows no numbers."""
    if mask.form not in SHOWN_AS_NUMBERS and any(target.key == LINKAGE for target in targets):
        raise ParameterError(f"linkage is a risk of masks that show numbers, not of {mask.name}. {NUMBERS_NEEDED}")


PAYOUT = "payout"
"""What a release is worth by a game (`shoal.measuring.game`), which is kept large."""


def loss_of(utility: Utility, minimise: str) -> float:
    """What is to be kept small: a loss, or one less a quality."""
    value = float(getattr(utility, minimise))
    return 1.0 - value if minimise in HIGHER_IS_BETTER else value


def checked_loss(minimise: str, *, with_game: bool = False) -> str:
    """The name of a loss that can be kept small; with a game also "payout"."""
    if minimise == PAYOUT and with_game:
        return minimise
    if minimise == PAYOUT:
        raise ParameterError("A payout needs the stakes of a game (game=): gain, cost, benefit and loss.")
    if minimise not in LOSSES:
        raise ParameterError(
            f"There is no loss '{minimise}'. These are: {', '.join(LOSSES)}.{did_you_mean(minimise, LOSSES)}"
        )
    return minimise
