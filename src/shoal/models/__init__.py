"""The privacy models: what every group of a release must meet, each in its own file."""

from __future__ import annotations

from shoal.models.alpha_k_anonymity import AlphaKAnonymity
from shoal.models.average_risk import AverageRisk
from shoal.models.beta_likeness import BetaLikeness
from shoal.models.contract import Model
from shoal.models.count_k import CountK
from shoal.models.delta_disclosure import DeltaDisclosure
from shoal.models.delta_presence import DeltaPresence
from shoal.models.entropy_balance import EntropyBalance
from shoal.models.expected_reidentifications import ExpectedReidentifications
from shoal.models.exponential_l import ExponentialL
from shoal.models.g_balance import GBalance
from shoal.models.h_affiliation import HAffiliation
from shoal.models.history_confidence import HistoryConfidence
from shoal.models.history_k import HistoryK
from shoal.models.joint_diversity import JointDiversity
from shoal.models.joint_spread import JointSpread
from shoal.models.k_anonymity import KAnonymity
from shoal.models.k_map import KMap
from shoal.models.l_diversity import LDiversity
from shoal.models.matching_diversity import MatchingDiversity
from shoal.models.no_attack import NoAttack
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.models.population_uniqueness import PopulationUniqueness
from shoal.models.posterior import Posterior
from shoal.models.record_risk import RecordRisk
from shoal.models.subset_k import SubsetK
from shoal.models.t_closeness import TCloseness
from shoal.registry import Registry

MODELS: Registry[Model] = Registry(
    what="model",
    contract=Model,
    own=(
        GBalance,
        HAffiliation,
        RecordRisk,
        EntropyBalance,
        KAnonymity,
        PersonKAnonymity,
        SubsetK,
        LDiversity,
        TCloseness,
        AlphaKAnonymity,
        BetaLikeness,
        DeltaDisclosure,
        JointDiversity,
        ExponentialL,
        JointSpread,
        MatchingDiversity,
        Posterior,
        HistoryK,
        HistoryConfidence,
        CountK,
        KMap,
        DeltaPresence,
        PopulationUniqueness,
        AverageRisk,
        ExpectedReidentifications,
        NoAttack,
    ),
    entry_points="shoal.models",
)
"""Every model by the name that policies and reports use."""

__all__ = [
    "MODELS",
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "CountK",
    "DeltaDisclosure",
    "DeltaPresence",
    "EntropyBalance",
    "ExpectedReidentifications",
    "ExponentialL",
    "GBalance",
    "HAffiliation",
    "HistoryConfidence",
    "HistoryK",
    "JointDiversity",
    "JointSpread",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "MatchingDiversity",
    "Model",
    "NoAttack",
    "PersonKAnonymity",
    "PopulationUniqueness",
    "Posterior",
    "RecordRisk",
    "SubsetK",
    "TCloseness",
]
