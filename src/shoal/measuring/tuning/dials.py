"""Models as dials: one threshold turned from loose to the strictest that the whole table can meet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from shoal.errors import ParameterError, did_you_mean
from shoal.grouping.feasibility import counts_of_whole
from shoal.measuring.tuning.targets import Target
from shoal.models import MODELS, GBalance, HAffiliation, KAnonymity, Model, PersonKAnonymity, RecordRisk
from shoal.models.contract import Dial, worst_of
from shoal.table.table import Table

DIGITS = 3
"""Significant digits of a threshold that is searched for, so that a policy reads well."""

SMALLEST_SHARE = 0.001
"""A share is turned down to this where the whole table reaches 0, as it does for t-closeness."""


@dataclass(frozen=True)
class TurnedModel:
    """A model whose threshold is turned, by the dial that it has."""

    cls: type[Model]
    dial: Dial

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.cls.name

    def model(self, size: float, column: str | None = None, *, strictest: float = math.inf) -> Model:
        """The model at a size, its threshold rounded to the loose side."""
        return self.cls.made(_rounded(self.dial, min(size, strictest)), column)

    def strictest(self, table: Table) -> float:
        """The largest size that the whole table reaches, and so the largest that any grouping can."""
        loosest = self.model(1.0)
        reached = worst_of(loosest, loosest.reached(counts_of_whole(table, [loosest])))
        if not self.dial.is_whole and self.dial.loose_is_high:
            reached = max(reached, SMALLEST_SHARE)
        return max(1.0, self.dial.size_of(reached))


def is_free(model: Model) -> bool:
    """Whether `tune` may turn the threshold of a model that a policy asks for; others stay as they are."""
    return model.dial is not None and model.dial.is_free


def dials() -> dict[str, TurnedModel]:
    """The models whose threshold can be turned, by their names."""
    return {name: TurnedModel(model, model.dial) for name, model in MODELS.items() if model.dial is not None}


def dial_named(name: str) -> TurnedModel:
    """A model that can be turned, by its name or that of its flag."""
    turned = dials()
    by_flag = {turn.cls.flag: turn for turn in turned.values() if turn.cls.flag is not None}
    known = {**by_flag, **turned}
    if name not in known:
        raise ParameterError(
            f"The threshold of '{name}' cannot be turned. Models that can: {', '.join(turned)}."
            f"{did_you_mean(name, known)}"
        )
    return known[name]


def _rounded(dial: Dial, size: float) -> object:
    threshold = dial.threshold_of(size)
    if dial.is_whole:
        return max(1, math.floor(threshold + 1e-9))
    if dial.loose_is_high:
        return _to_digits(threshold, ROUND_CEILING)
    if dial.digits_from_one:
        return 1 - _to_digits(1 - threshold, ROUND_CEILING)
    return _to_digits(threshold, ROUND_FLOOR)


def _to_digits(value: float, rounding: str) -> Fraction:
    return Fraction(Context(prec=DIGITS, rounding=rounding).create_decimal(Decimal(repr(value))))


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


def dial_for(target: Target) -> TurnedModel:
    """The dial that moves a risk most directly."""
    match target.key:
        case "max_gsar" | "avg_gsar" | "h_affiliation":
            return dial_named(HAffiliation.name)
        case "prosecutor_risk" | "journalist_risk" | "marketer_risk" | "unique_persons" | "person_k" | "linkage":
            return dial_named(PersonKAnonymity.name)
        case "k":
            return dial_named(KAnonymity.name)
        case "g_balance":
            return dial_named(GBalance.name)
    return dial_named(RecordRisk.name)
