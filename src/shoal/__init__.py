"""shoal publishes person-level data so that nobody in it can be singled out, also when a person has many records.

    import shoal

    schema = shoal.Schema(person="patient", quasi=["age", shoal.Nominal("sex")], sensitive=["disease"])
    release = shoal.protect(frame, schema, [shoal.GBalance(g=0.8)])
    release.write("out")

Errors are in `shoal.errors`, methods and masks with their options in `shoal.methods` and `shoal.masks`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import attacking as attacking
    from shoal import engines as engines
    from shoal import errors as errors
    from shoal import masks as masks
    from shoal import methods as methods
    from shoal import models as models
    from shoal import publishing as publishing
    from shoal import reading as reading
    from shoal.attacking.mining.mine import mine
    from shoal.attacking.suite import attack
    from shoal.measuring.tuning import compare, tune
    from shoal.models import (
        AlphaKAnonymity,
        AverageRisk,
        BetaLikeness,
        CountK,
        DeltaDisclosure,
        DeltaPresence,
        EntropyBalance,
        ExpectedReidentifications,
        ExponentialL,
        GBalance,
        HAffiliation,
        HistoryConfidence,
        HistoryK,
        JointDiversity,
        JointSpread,
        KAnonymity,
        KMap,
        LDiversity,
        MatchingDiversity,
        NoAttack,
        PersonKAnonymity,
        PopulationUniqueness,
        Posterior,
        RecordRisk,
        SubsetK,
        TCloseness,
    )
    from shoal.pipeline import assess, protect, verify
    from shoal.policy import Policy
    from shoal.publishing.later import apply
    from shoal.publishing.ledger import Ledger
    from shoal.publishing.received import read_release
    from shoal.publishing.release import Release
    from shoal.reading import read
    from shoal.reading.read import profile
    from shoal.table.coding import Coding
    from shoal.table.hierarchy import Hierarchy
    from shoal.table.schema import Date, Nominal, Number, Ordered, Schema

    __version__: str

_HOME = {
    **dict.fromkeys(("assess", "protect", "verify"), "shoal.pipeline"),
    "attack": "shoal.attacking.suite",
    **dict.fromkeys(("Schema", "Number", "Nominal", "Ordered", "Date"), "shoal.table.schema"),
    "Coding": "shoal.table.coding",
    "Hierarchy": "shoal.table.hierarchy",
    "Policy": "shoal.policy",
    "Release": "shoal.publishing.release",
    "Ledger": "shoal.publishing.ledger",
    "read_release": "shoal.publishing.received",
    "mine": "shoal.attacking.mining.mine",
    **dict.fromkeys(("compare", "tune"), "shoal.measuring.tuning"),
    "read": "shoal.reading",
    "profile": "shoal.reading.read",
    "apply": "shoal.publishing.later",
    **dict.fromkeys(
        ("GBalance", "HAffiliation", "RecordRisk", "EntropyBalance", "KAnonymity", "PersonKAnonymity", "SubsetK",
         "LDiversity", "TCloseness", "AlphaKAnonymity", "BetaLikeness", "DeltaDisclosure",
         "JointDiversity", "ExponentialL", "JointSpread", "MatchingDiversity", "Posterior", "HistoryK",
         "HistoryConfidence", "CountK", "KMap", "DeltaPresence", "PopulationUniqueness", "AverageRisk",
         "ExpectedReidentifications", "NoAttack"), "shoal.models",
    ),
}  # fmt: skip
"""Where each public name lives; it is imported when it is first used, so that `shoal --help` stays quick."""

_MODULES = ("attacking", "engines", "errors", "masks", "methods", "models", "publishing", "reading")
"""Modules with public names of their own, such as `shoal.errors.ShoalError`; imported when they are first used too."""

__all__ = [
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "Coding",
    "CountK",
    "Date",
    "DeltaDisclosure",
    "DeltaPresence",
    "EntropyBalance",
    "ExpectedReidentifications",
    "ExponentialL",
    "GBalance",
    "HAffiliation",
    "Hierarchy",
    "HistoryConfidence",
    "HistoryK",
    "JointDiversity",
    "JointSpread",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Ledger",
    "MatchingDiversity",
    "NoAttack",
    "Nominal",
    "Number",
    "Ordered",
    "PersonKAnonymity",
    "Policy",
    "PopulationUniqueness",
    "Posterior",
    "RecordRisk",
    "Release",
    "Schema",
    "SubsetK",
    "TCloseness",
    "apply",
    "assess",
    "attack",
    "compare",
    "mine",
    "profile",
    "protect",
    "read",
    "read_release",
    "tune",
    "verify",
]


def _found(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"shoal.{name}")
    if name == "__version__":
        return _version()
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(_HOME[name]), name)  # so that it is looked up once
    return found


if not TYPE_CHECKING:  # who checks types reads the imports above, and refuses a name that is not there
    __getattr__ = _found


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


def _version() -> str:
    """The version that is installed; a checkout that is not installed has none."""
    from importlib import metadata

    try:
        return metadata.version("shoal")
    except metadata.PackageNotFoundError:
        return "not installed"
