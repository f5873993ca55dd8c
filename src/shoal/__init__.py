"""shoal publishes person-level data so that nobody in it can be singled out, also when a person has many records."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.attacking.mining.knowledge import Knowledge
    from shoal.attacking.mining.mine import mine
    from shoal.attacking.mining.rules import Item, Rule, Rules
    from shoal.errors import (
        CannotSatisfyError,
        InputError,
        OutputError,
        ParameterError,
        PolicyError,
        PrivacyNotMetError,
        SchemaError,
        ShoalError,
        ShoalWarning,
    )
    from shoal.measuring.tuning import Target, compare, tune
    from shoal.models import (
        AlphaKAnonymity,
        BetaLikeness,
        DeltaDisclosure,
        EntropyBalance,
        ExponentialL,
        GBalance,
        HAffiliation,
        JointDiversity,
        KAnonymity,
        LDiversity,
        MatchingDiversity,
        PersonKAnonymity,
        RecordRisk,
        TCloseness,
    )
    from shoal.pipeline import assess, attack, attack_background, attack_by_exclusion, protect, verify
    from shoal.policy import Policy
    from shoal.publishing.ledger import Ledger
    from shoal.publishing.release import Release
    from shoal.reading import CsvOptions, Join, read_files
    from shoal.table.hierarchy import Hierarchy
    from shoal.table.schema import Date, Nominal, Number, Ordered, Schema
_HOME = {
    **dict.fromkeys(
        ("assess", "attack", "attack_background", "attack_by_exclusion", "protect", "verify"), "shoal.pipeline"
    ),
    **dict.fromkeys(("Schema", "Number", "Nominal", "Ordered", "Date"), "shoal.table.schema"),
    "Hierarchy": "shoal.table.hierarchy",
    "Policy": "shoal.policy",
    "Release": "shoal.publishing.release",
    "mine": "shoal.attacking.mining.mine",
    "Knowledge": "shoal.attacking.mining.knowledge",
    **dict.fromkeys(("Item", "Rule", "Rules"), "shoal.attacking.mining.rules"),
    "Ledger": "shoal.publishing.ledger",
    **dict.fromkeys(("Target", "compare", "tune"), "shoal.measuring.tuning"),
    **dict.fromkeys(("read_files", "CsvOptions", "Join"), "shoal.reading"),
    **dict.fromkeys(
        ("GBalance", "HAffiliation", "RecordRisk", "EntropyBalance", "KAnonymity", "PersonKAnonymity", "LDiversity",
         "TCloseness", "AlphaKAnonymity", "BetaLikeness", "DeltaDisclosure",
         "JointDiversity", "ExponentialL", "MatchingDiversity"), "shoal.models",
    ),
    **dict.fromkeys(
        ("ShoalError", "InputError", "SchemaError", "ParameterError", "PolicyError", "OutputError",
         "CannotSatisfyError", "PrivacyNotMetError", "ShoalWarning"), "shoal.errors",
    ),
}  # fmt: skip
"""Where each public name lives; it is imported when it is first used, so that `shoal --help` stays quick."""

_PARTS = ("engines", "publishing")
"""Parts with a door of their own, such as `shoal.engines.spark.protect`; imported when they are first used too."""

__all__ = [
    "AlphaKAnonymity",
    "BetaLikeness",
    "CannotSatisfyError",
    "CsvOptions",
    "Date",
    "DeltaDisclosure",
    "EntropyBalance",
    "ExponentialL",
    "GBalance",
    "HAffiliation",
    "Hierarchy",
    "InputError",
    "Item",
    "Join",
    "JointDiversity",
    "KAnonymity",
    "Knowledge",
    "LDiversity",
    "Ledger",
    "MatchingDiversity",
    "Nominal",
    "Number",
    "Ordered",
    "OutputError",
    "ParameterError",
    "PersonKAnonymity",
    "Policy",
    "PolicyError",
    "PrivacyNotMetError",
    "RecordRisk",
    "Release",
    "Rule",
    "Rules",
    "Schema",
    "SchemaError",
    "ShoalError",
    "ShoalWarning",
    "TCloseness",
    "Target",
    "assess",
    "attack",
    "attack_background",
    "attack_by_exclusion",
    "compare",
    "mine",
    "protect",
    "read_files",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"shoal.{name}")
    if name == "__version__":
        return _version()
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__


def _version() -> str:
    """The version that is installed; a checkout that is not installed has none."""
    from importlib import metadata

    try:
        return metadata.version("shoal")
    except metadata.PackageNotFoundError:
        return "not installed"
