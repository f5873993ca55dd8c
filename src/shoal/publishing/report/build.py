"""Every number of the report, from a release or from what was published of it. No words, no pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import polars as pl

from shoal.attacking.contract import Recounted
from shoal.attacking.suite import SuiteResult, findings
from shoal.grouping.grouping import Method
from shoal.judging.observation import Observation
from shoal.judging.risk import Risk
from shoal.judging.values_apart import observe_linked
from shoal.masking import Mask, mask_called
from shoal.measuring.classes import FEWEST_PERSONS
from shoal.measuring.distributions import Kept, what_is_kept
from shoal.measuring.shown import Released, is_read
from shoal.measuring.spread import UP_TO, RiskSpread, observe_release, spread_of_risk
from shoal.measuring.statistics import Linkage
from shoal.measuring.utility import Utility
from shoal.models.contract import Model
from shoal.policy.explain import explain, explain_model, promised_by_linkage
from shoal.policy.policy import Policy
from shoal.table.schema import Schema

VERSION = 1
"""Raised when a key of the report changes its meaning."""


NOT_IN_MEMORY = {
    "cost": "Distributions, correlations and dependences are left out: they compare all records of the table with "
    "those of the release, and the engine that made it never holds them all.",
    "attacks": "Attacks that know the original were not tried: they need the original and the release side by side, "
    "which the engine that made the release never holds. ‘Exclude values’ was not tried either: it looks at all values "
    "of each person together, and the engine counts them one by one.",
}
"""What a report that is made from counts leaves out, by section, and why."""

OWN_MASK = {
    "cost": "Distributions, correlations and dependences are left out: only its maker can read what this mask shows."
}


class Reportable(Released, Protocol):
    """What a report needs of a release; the table and what is published only where `spread` was not counted."""

    @property
    def schema(self) -> Schema:
        """The roles of the columns."""
        ...

    @property
    def models(self) -> Sequence[Model]:
        """What was asked of every group."""
        ...

    @property
    def method(self) -> Method:
        """How groups were formed."""
        ...

    @property
    def risk(self) -> Risk:
        """The risks of what is published."""
        ...

    @property
    def utility(self) -> Utility:
        """What was lost."""
        ...

    @property
    def before(self) -> Risk | None:
        """The risks of the table as it was, where they were measured."""
        ...

    @property
    def spread_before(self) -> RiskSpread | None:
        """How these are spread."""
        ...

    @property
    def spread(self) -> RiskSpread | None:
        """How the risks of what is published are spread, where the engine counted that."""
        ...

    @property
    def linkage(self) -> Linkage | None:
        """Of a perturbed release, who can be linked."""
        ...

    @property
    def attacked(self) -> SuiteResult | None:
        """What attacks that know the original got, where they were tried."""
        ...

    @property
    def seed(self) -> int:
        """The seed of the run."""
        ...


def report_of(release: Reportable, *, columns: Sequence[Mapping[str, Any]], policy: Policy | None) -> dict[str, Any]:
    """The numbers of the report of a release, as `steward/report.json` has them under "report".

    Parameters
    ----------
    columns
        The columns of the codebook: what each is and how it is shown.
    policy
        What was asked; None where it cannot be said by a policy, such as with a method of one's own.

    Notes
    -----
    Of a release whose records were never in memory together it is made from counts. What these do not tell is left
    out, and the report says so.
    """
    if release.spread is not None:
        return _report(release, release.spread, None, None, columns=columns, policy=policy, left_out=NOT_IN_MEMORY)
    seen = observe_release(release)
    kept = what_is_kept(release) if is_read(release.mask) else None
    left_out = {} if kept is not None else OWN_MASK
    return _report(release, spread_of_risk(seen), seen, kept, columns=columns, policy=policy, left_out=left_out)


def _report(
    release: Reportable,
    spread: RiskSpread,
    seen: Observation | None,
    kept: Kept | None,
    *,
    columns: Sequence[Mapping[str, Any]],
    policy: Policy | None,
    left_out: Mapping[str, str],
) -> dict[str, Any]:
    recounted = Recounted(
        risk=release.risk,
        spread=spread,
        seen=seen,
        quasi=tuple(release.schema.quasi_names),
        before=release.before,
        spread_before=release.spread_before,
        linkage=release.linkage,
        seed=release.seed,
        shows_groups=release.mask.shows_groups,
        has_groups=release.mask.takes_groups,
    )
    return {
        "version": VERSION,
        "asked": _asked(release.models, policy),
        "done": _done(release.method, release.mask),
        "columns": _columns(columns, release.schema),
        "missing_tells_nothing": list(release.schema.missing_tells_nothing),
        "risk": _risk(release.models, release.risk, spread, release.spread_before),
        "cost": _cost(release.utility, kept),
        "attacks": [asdict(found) for found in findings(recounted)],
        **({"left_out": dict(left_out)} if left_out else {}),
        **suite_of(release.attacked),
    }


def suite_of(attacked: SuiteResult | None) -> dict[str, Any]:
    """What attacks that know the original got, as the report holds it; nothing where none was tried."""
    return {} if attacked is None else {"suite": attacked.to_dict()}


def report_of_published(
    frame: pl.DataFrame,
    policy: Policy,
    risk: Risk,
    *,
    linked: pl.DataFrame | None,
    columns: Sequence[Mapping[str, Any]],
    seed: int,
) -> dict[str, Any]:
    """The numbers that published files show by themselves: no table as it was, and no cost."""
    schema = policy.schema_of_release()
    seen: Observation | None = None
    if linked is not None:
        seen = observe_linked(linked, schema)
    elif mask_called(policy.mask).links_values:
        seen = Observation.of_frame(frame, schema)
    spread = None if seen is None else spread_of_risk(seen)
    recounted = Recounted(
        risk=risk,
        spread=spread,
        seen=seen,
        quasi=tuple(schema.quasi_names),
        seed=seed,
        shows_groups=mask_called(policy.mask).shows_groups,
        has_groups=mask_called(policy.mask).takes_groups,
    )
    return {
        "version": VERSION,
        "asked": _asked(policy.models, policy),
        "done": {
            "method": policy.method,
            "method_options": dict(policy.method_options),
            "mask": policy.mask,
            "mask_options": dict(policy.mask_options),
        },
        "columns": _columns(columns, schema),
        "missing_tells_nothing": list(schema.missing_tells_nothing),
        "risk": _risk(policy.models, risk, spread, None),
        "cost": None,
        "attacks": [asdict(found) for found in findings(recounted)],
    }


def _asked(models: Sequence[Model], policy: Policy | None) -> dict[str, Any]:
    promises = [explain_model(model) for model in models]
    if policy is not None and not mask_called(policy.mask).takes_groups:
        promises += promised_by_linkage(policy)
    told = explain(policy).splitlines() if policy is not None else promises
    return {"policy": told, "promises": promises}


def _done(method: Method, mask: Mask) -> dict[str, Any]:
    return {
        "method": method.name,
        "method_options": _plain(method.options),
        "mask": mask.name,
        "mask_options": _plain(mask.options),
    }


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if isinstance(value, str | int | float | bool)}


def _columns(columns: Sequence[Mapping[str, Any]], schema: Schema) -> list[dict[str, Any]]:
    named = {str(column["name"]) for column in columns}
    absent = [(name, role) for name, role in schema.roles() if name not in named]
    apart = {"sensitive": "counted by group, in a table of its own"}
    return [dict(column) for column in columns] + [
        {"name": name, "role": role, "shown_as": apart.get(role, "not published")} for name, role in absent
    ]


# --- risk ----------------------------------------------------------------------------------------------------------


def _risk(models: Sequence[Model], risk: Risk, after: RiskSpread | None, before: RiskSpread | None) -> dict[str, Any]:
    knows_records = math.isfinite(risk.max_gidr)
    names = after.values if after is not None else ()
    return {
        "classes": _classes(),
        "record_risk": {
            "asked": _threshold(models, "record-risk"),
            "before": None if before is None else list(before.persons),
            "after": list(after.persons) if after is not None and knows_records else None,
        },
        "value_risk": {
            name: {
                "asked": _threshold(models, "h-affiliation", name),
                "before": None if before is None else list(before.values[name]),
                "after": None if after is None else list(after.values[name]),
            }
            for name in names
        },
        "group_sizes": {
            "before": None if before is None else [asdict(size) for size in before.sizes],
            "after": None if after is None else [_size(asdict(size), knows_records) for size in after.sizes],
        },
        "riskiest_groups": (
            None if after is None or not knows_records else [asdict(group) for group in after.riskiest]
        ),
    }


def _classes() -> list[dict[str, float]]:
    """The classes of risk: above one end and up to the other; the last is certainty alone."""
    lows = (0.0, *UP_TO[:-1])
    return [{"above": low, "up_to": up_to} for low, up_to in zip(lows, UP_TO, strict=True)] + [
        {"above": 1.0, "up_to": 1.0}
    ]


def _size(size: dict[str, Any], knows_records: bool) -> dict[str, Any]:
    return size if knows_records else {**size, "max_record_risk": None}


def _threshold(models: Sequence[Model], name: str, column: str | None = None) -> float | None:
    """The strictest threshold that models of a name ask for, of an attribute where one is named."""
    asked = [
        model.asked for model in models if model.name == name and (column is None or model.column in (None, column))
    ]
    return min(asked, default=None)


# --- cost ----------------------------------------------------------------------------------------------------------


def _cost(utility: Utility, kept: Kept | None) -> dict[str, Any]:
    columns = {
        name: {"ane": ane, **(asdict(kept.columns[name]) if kept is not None else {})}
        for name, ane in utility.ane_of_column.items()
    }
    return {
        "fewest_persons": FEWEST_PERSONS,
        "columns": columns,
        "correlations": [] if kept is None else [asdict(pair) for pair in kept.correlations],
        "dependences": [] if kept is None else [asdict(pair) for pair in kept.dependences],
    }
