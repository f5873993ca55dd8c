"""Models as dials: one threshold turned from loose to the strictest that the whole table can meet."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from shoal.errors import ParameterError, did_you_mean
from shoal.grouping.feasibility import counts_of_whole
from shoal.models import (
    EntropyBalance,
    GBalance,
    HAffiliation,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
    TCloseness,
)
from shoal.models.contract import worst_of
from shoal.table.table import Table
from shoal.tuning.targets import Target

DIGITS = 3
"""Significant digits of a threshold that is searched for, so that a policy reads well."""

SMALLEST_SHARE = 0.001
"""A share is turned down to this where the whole table reaches 0, as it does for t-closeness."""

IDENTITY = frozenset({"g-balance", "record-risk", "entropy-balance"})
VALUES = frozenset({"h-affiliation"})
FREE = IDENTITY | VALUES
"""Models whose threshold `tune` may turn when the policy asks for them; others are floors that stay as they are."""


@dataclass(frozen=True)
class Dial:
    """A model whose threshold is turned.

    `size_of` and `threshold_of` translate between the threshold and the effective size that it stands for (persons that
    share the records, values that hide each other): sizes are what a ladder steps through evenly, by factors.
    """

    name: str
    make: Callable[[object, str | None], Model]
    threshold_of: Callable[[float], float]
    size_of: Callable[[float], float]
    is_whole: bool = False
    of_values: bool = False

    def model(self, size: float, column: str | None = None, *, strictest: float = math.inf) -> Model:
        """The model at a size, its threshold rounded to the loose side."""
        return self.make(self._rounded(min(size, strictest)), column)

    def _rounded(self, size: float) -> object:
        threshold = self.threshold_of(size)
        if self.is_whole:
            return max(1, math.floor(threshold + 1e-9))
        loose_is_high = self.threshold_of(2.0) < self.threshold_of(1.0)
        if loose_is_high:
            return _to_digits(threshold, ROUND_CEILING)
        if self.name == "g-balance":  # digits count from 1: 0.98 and 0.985 are far apart
            return 1 - _to_digits(1 - threshold, ROUND_CEILING)
        return _to_digits(threshold, ROUND_FLOOR)

    def strictest(self, table: Table) -> float:
        """The largest size that the whole table reaches, and so the largest that any grouping can."""
        loosest = self.make(self._rounded(1.0), None)
        reached = worst_of(loosest, loosest.reached(counts_of_whole(table, [loosest])))
        if not self.is_whole and self.threshold_of(2.0) < self.threshold_of(1.0):
            reached = max(reached, SMALLEST_SHARE)
        return max(1.0, self.size_of(reached))


def _to_digits(value: float, rounding: str) -> Fraction:
    return Fraction(Context(prec=DIGITS, rounding=rounding).create_decimal(Decimal(repr(value))))


def _share(name: str, make: Callable[[object, str | None], Model], *, of_values: bool = False) -> Dial:
    """A dial of a share that falls as it gets stricter: 1/size."""
    return Dial(name, make, lambda size: 1 / size, lambda share: 1 / share, of_values=of_values)


def _count(
    name: str, make: Callable[[object, str | None], Model], *, whole: bool = True, of_values: bool = False
) -> Dial:
    return Dial(name, make, float, float, is_whole=whole, of_values=of_values)


DIALS: dict[str, Dial] = {
    dial.name: dial
    for dial in (
        _share("record-risk", lambda rho, _: RecordRisk(rho=rho)),  # type: ignore[arg-type]
        Dial("g-balance", lambda g, _: GBalance(g=g), lambda size: 1 - 1 / size,  # type: ignore[arg-type]
             lambda g: 1 / (1 - g) if g < 1 else math.inf),
        _count("entropy-balance", lambda k, _: EntropyBalance(k=k), whole=False),  # type: ignore[arg-type]
        _count("k-anonymity", lambda k, _: KAnonymity(k=k)),  # type: ignore[arg-type]
        _count("person-k-anonymity", lambda k, _: PersonKAnonymity(k=k)),  # type: ignore[arg-type]
        _share("h-affiliation", lambda h, column: HAffiliation(h=h, column=column), of_values=True),  # type: ignore[arg-type]
        _count("l-diversity", lambda ell, column: LDiversity(l=ell, column=column), whole=False,  # type: ignore[arg-type]
               of_values=True),
        _share("t-closeness", lambda t, column: TCloseness(t=t, column=column), of_values=True),  # type: ignore[arg-type]
    )
}  # fmt: skip

SHORT_NAMES = {"k": "k-anonymity", "person-k": "person-k-anonymity", "l": "l-diversity", "t": "t-closeness"}
"""What the flags are called."""


def dial_named(name: str) -> Dial:
    """A dial by the name of its model or of its flag."""
    known = SHORT_NAMES.get(name, name)
    if known not in DIALS:
        names = [*SHORT_NAMES, *DIALS]
        raise ParameterError(
            f"The threshold of '{name}' cannot be turned. Models that can: {', '.join(DIALS)}."
            f"{did_you_mean(name, names)}"
        )
    return DIALS[known]


def model_of_target(target: Target) -> Model | None:
    """The model that is the target itself, so that meeting it meets the target; None where there is none."""
    limit = target.limit
    match target.key:
        case "max_gidr":
            return RecordRisk(rho=limit) if limit > 0 else None
        case "max_gsar" | "h_affiliation":
            return HAffiliation(h=limit, column=target.column) if limit > 0 else None
        case "prosecutor_risk" | "journalist_risk":
            return PersonKAnonymity(k=math.ceil(1 / limit)) if limit > 0 else None
        case "unique_persons":
            return PersonKAnonymity(k=2) if limit == 0 else None
        case "k":
            return KAnonymity(k=max(1, int(limit)))
        case "person_k":
            return PersonKAnonymity(k=max(1, int(limit)))
        case "g_balance":
            return GBalance(g=limit) if limit < 1 else None
    return None


def dial_for(target: Target) -> Dial:
    """The dial that moves a risk most directly."""
    match target.key:
        case "max_gsar" | "avg_gsar" | "h_affiliation":
            return DIALS["h-affiliation"]
        case "prosecutor_risk" | "journalist_risk" | "marketer_risk" | "unique_persons" | "person_k":
            return DIALS["person-k-anonymity"]
        case "k":
            return DIALS["k-anonymity"]
        case "g_balance":
            return DIALS["g-balance"]
    return DIALS["record-risk"]
