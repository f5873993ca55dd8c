"""The privacy models: what every group of a release must meet, each in its own file."""

from __future__ import annotations

from importlib.metadata import entry_points

from shoal.models.alpha_k_anonymity import AlphaKAnonymity
from shoal.models.beta_likeness import BetaLikeness
from shoal.models.contract import Model
from shoal.models.delta_disclosure import DeltaDisclosure
from shoal.models.entropy_balance import EntropyBalance
from shoal.models.exponential_l import ExponentialL
from shoal.models.g_balance import GBalance
from shoal.models.h_affiliation import HAffiliation
from shoal.models.joint_diversity import JointDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import LDiversity
from shoal.models.matching_diversity import MatchingDiversity
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.models.record_risk import RecordRisk
from shoal.models.t_closeness import TCloseness

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        GBalance,
        HAffiliation,
        RecordRisk,
        EntropyBalance,
        KAnonymity,
        PersonKAnonymity,
        LDiversity,
        TCloseness,
        AlphaKAnonymity,
        BetaLikeness,
        DeltaDisclosure,
        JointDiversity,
        ExponentialL,
        MatchingDiversity,
    )
}
"""Every model by the name that policies and reports use."""

OFFERED = "shoal.models"
"""The entry points by which an installed package offers models of its own, each under the model's name."""


def model_called(name: str) -> type[Model] | None:
    """The model of a name: one of these, or one that an installed package offers; None where there is none."""
    if name not in MODELS:
        for entry in entry_points(group=OFFERED, name=name):
            offered: type[Model] = entry.load()
            if offered.name == name:
                MODELS[name] = offered
    return MODELS.get(name)


__all__ = [
    "MODELS",
    "AlphaKAnonymity",
    "BetaLikeness",
    "DeltaDisclosure",
    "EntropyBalance",
    "ExponentialL",
    "GBalance",
    "HAffiliation",
    "JointDiversity",
    "KAnonymity",
    "LDiversity",
    "MatchingDiversity",
    "Model",
    "PersonKAnonymity",
    "RecordRisk",
    "TCloseness",
    "model_called",
]
