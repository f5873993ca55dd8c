"""The plain definition of any model, for recounting whole tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    EntropyBalance,
    GBalance,
    HAffiliation,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
    SubsetK,
    TCloseness,
)
from shoal.models.contract import OnSensitive
from tests.naive import models as naive

PersonValues = list[tuple[Any, Any]]
"""(person, value) records of a group or a table."""


def twin_of(model: Model) -> Callable[[PersonValues, PersonValues], tuple[float, bool]]:
    """What the plain definition says of a group of a table: (reached, holds)."""
    match model:
        case GBalance():
            return lambda group, table: naive.g_balance(group, g=model.g)
        case HAffiliation():
            return lambda group, table: naive.h_affiliation(group, h=model.h)
        case RecordRisk():
            return lambda group, table: naive.record_risk(group, rho=model.rho)
        case EntropyBalance():
            return lambda group, table: naive.entropy_balance(group, k=model.k)
        case KAnonymity():
            return lambda group, table: naive.k_anonymity(group, k=model.k)
        case PersonKAnonymity() | SubsetK():
            return lambda group, table: naive.person_k_anonymity(group, k=model.k)
        case LDiversity(kind="recursive"):
            return lambda group, table: naive.recursive_l_diversity(group, l=model.l, c=model.c, count=model.count)
        case LDiversity():
            definition = getattr(naive, f"{model.kind}_l_diversity")
            return lambda group, table: definition(group, l=model.l, count=model.count)
        case TCloseness():
            distance = getattr(naive, f"{model.distance}_t_closeness")
            return lambda group, table: distance(group, table, t=model.t, count=model.count)
        case AlphaKAnonymity():
            return lambda group, table: naive.alpha_k_anonymity(group, alpha=model.alpha, k=model.k)
        case BetaLikeness():
            likeness = getattr(naive, f"{model.kind}_beta_likeness")
            return lambda group, table: likeness(group, table, beta=model.beta)
        case DeltaDisclosure():
            return lambda group, table: naive.delta_disclosure(group, table, delta=model.delta)
    raise NotImplementedError(f"{model.name} has no plain definition yet")


def twin_told(model: Model, missing: object) -> Callable[[PersonValues, PersonValues], tuple[float, bool]]:
    """The same where a missing value, given by its code, tells nothing: a model of values is asked of those told."""
    if not isinstance(model, OnSensitive):
        return twin_of(model)
    of_values = AlphaKAnonymity(alpha=model.alpha, k=1) if isinstance(model, AlphaKAnonymity) else model

    def asked(group: PersonValues, table: PersonValues) -> tuple[float, bool]:
        told = naive.told(group, missing)
        reached, holds = math.inf if model.higher_is_safer else 0.0, True
        if told:
            reached, holds = twin_of(of_values)(told, naive.told(table, missing))
        return reached, holds and (not isinstance(model, AlphaKAnonymity) or len(group) >= model.k)

    return asked


def worst(model: Model, reached: Sequence[float]) -> float:
    return min(reached) if model.higher_is_safer else max(reached)


def column_of(model: Model) -> str | None:
    return getattr(model, "column", None)
