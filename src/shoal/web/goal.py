"""What a steward asks for in words, and what the library is asked with it. No page, no browser.

A goal is a plain dict that the project keeps:

    {"way": "goal" or "models",
     "record": {"on": True, "limit": "0.1"},                 nobody's record is recognised with more than 10 %
     "values": {"disease": {"on": True, "limit": "0.2"}},    nobody's disease is guessed with more than 20 %
     "history": {"on": False, "limit": "0.2"},               nobody is found by one value with more than 20 %
     "persons": {"on": False, "k": 5},                       every group has at least 5 persons
     "options": {"minimise": "loss", "method": "balance-tree", "mask": "range", "max_suppressed": 0, ...},
     "models": {"record-risk": {"on": True, "value": "0.1"}, ...},
     "further": {"count-k": {"on": False, "value": {"k": "5"}}, ...},   models without a slider, by their parameters
     "floors": {"t-closeness": {"on": True, "value": "0.3", "ways": ["goal", "models"]}},   further models of a policy
     "point": 7, "of": "2024-..."}                            the point of the frontier that was chosen
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from shoal.masking import mask_called
from shoal.policy.numbers import persons_or_share
from shoal.policy.presets import PRESETS, is_kept_by

if TYPE_CHECKING:
    from shoal.parts import Option, Part
    from shoal.policy import Policy
Plain = dict[str, Any]
OPTIONS: Plain = {
    "minimise": "loss", "method": "balance-tree", "mask": "range", "max_suppressed": 0, "max_records": None,
    "sample": None, "max_alone": None, "allow_alone": False, "safe_cells": False, "code_extremes": False,
    "useful_for": "", "method_options": {}, "mask_options": {}, "ledger": "", "ledger_mode": "warn",
    "keep_person_map": False, "attack_all": False, "max_linkage": None, "episode": "", "record_steps": "",
}  # fmt: skip
DEFAULT_RECORD, DEFAULT_VALUE, DEFAULT_HISTORY, DEFAULT_PERSONS = "0.1", "0.5", "0.2", 5


@dataclass(frozen=True)
class Slide:
    """A model that is set by a slider: its name in a policy, words for it, and the ends and step of the slider."""

    name: str
    label: str
    low: str
    high: str
    step: str
    start: str
    hint: str
    is_share: bool = False


SLIDES: tuple[Slide, ...] = (
    Slide("record-risk", "Record risk", "0.01", "1", "0.01", "0.1", "the largest share of a group's records that may "
          "be one person's", True),
    Slide("g-balance", "g-balance", "0.5", "0.99", "0.01", "0.8", "how evenly records are spread over the persons of "
          "a group"),
    Slide("person-k-anonymity", "Persons in a group", "2", "50", "1", "5", "the fewest persons of a group"),
    Slide("k-anonymity", "Records in a group (k)", "2", "100", "1", "10", "the fewest records of a group, which may "
          "all be one person's"),
    Slide("h-affiliation", "Value risk", "0.05", "1", "0.01", "0.5", "the largest share of a group's persons who may "
          "have one sensitive value", True),
    Slide("l-diversity", "l-diversity", "2", "20", "1", "2", "how many sensitive values hide each other in a group"),
    Slide("t-closeness", "t-closeness", "0.05", "1", "0.01", "0.4", "how far the values of a group may be from those "
          "of the table"),
)  # fmt: skip


def starting_goal(
    sensitive: Sequence[str], told: Mapping[str, Any] | None, kept: Mapping[str, Any], policy: Policy | None = None
) -> Plain:
    """The goal to begin with, over which what was kept is laid; a limit that no grouping can meet is not proposed.

    Parameters
    ----------
    sensitive
        The sensitive attributes.
    told
        What is known of the table as it is (`work.assess`), or None.
    kept
        The goal that the project keeps.
    policy
        What was asked before there was a goal, such as by a policy file: none of its models is forgotten.
    """
    kept = kept or (goal_of_policy(policy, sensitive) if policy is not None else {})
    values = {}
    for name in sensitive:
        limit = Decimal(DEFAULT_VALUE)
        lowest = lowest_value_limit(told, name)
        if lowest is not None and lowest > limit:
            limit = min(Decimal(1), lowest.quantize(Decimal("0.01")) + Decimal("0.05"))
        values[name] = {"on": True, "limit": text_of(limit)}
    for name, given in kept.get("values", {}).items():
        if name in values:
            values[name] = dict(given)
    models = {slide.name: {"on": slide.name == "record-risk", "value": slide.start} for slide in SLIDES}
    return {
        "way": kept.get("way", "goal"),
        "record": dict(kept.get("record", {"on": True, "limit": DEFAULT_RECORD})),
        "values": values,
        "history": dict(kept.get("history", {"on": False, "limit": DEFAULT_HISTORY})),
        "persons": dict(kept.get("persons", {"on": False, "k": DEFAULT_PERSONS})),
        "options": {**OPTIONS, **_set_by(policy), **kept.get("options", {})},
        "models": {**models, **{name: dict(each) for name, each in kept.get("models", {}).items() if name in models}},
        "further": {**further_models(), **{name: dict(each) for name, each in kept.get("further", {}).items()}},
        "floors": {name: dict(each) for name, each in kept.get("floors", {}).items()},
        "point": kept.get("point"),
        "preset": kept.get("preset", "" if policy is None else policy.preset or ""),
        "of": kept.get("of"),
    }


def at_levels(goal: Plain, protection: Plain, levels: Mapping[str, int]) -> tuple[Plain, Plain]:
    """A goal and a protection of one set of classes at just these levels, in the place of a search among all."""
    just = dict.fromkeys(("lowest", "highest"), ",".join(f"{name}={level}" for name, level in levels.items()))
    options, method = goal.get("options", {}), protection.get("method", {})
    own = options.get("method_options", {}) if options.get("method") == "full-domain" else {}
    chosen = {**options, "method": "full-domain", "method_options": {**own, **just}}
    kept = method if method.get("name") == "full-domain" else {}
    return {**goal, "options": chosen}, {**protection, "method": {**kept, "name": "full-domain", **just}}


def _set_by(policy: Policy | None) -> Plain:
    """What a policy says of cells, of extremes, and of what somebody wants to predict from the release."""
    if policy is None:
        return {}
    return {
        "safe_cells": policy.safe_cells,
        "code_extremes": bool(policy.mask_options.get("code_extremes", False)),
        "useful_for": "" if policy.usefulness is None else policy.usefulness.target,
        "method_options": dict(policy.method_options),
        "mask_options": {name: value for name, value in policy.mask_options.items() if name != "code_extremes"},
        "max_linkage": policy.max_linkage,
        "ledger": "" if policy.ledger is None else policy.ledger.file,
        "ledger_mode": "warn" if policy.ledger is None else policy.ledger.mode,
        "episode": policy.history.episode or "",
        "record_steps": ", ".join(str(step) for step in policy.history.record_steps or ()),
    }


STARTS = {"k": "5", "l": "2", "alpha": "0.5", "beta": "1", "delta": "1", "c": "0.5"}
"""Where parameters of models without a slider begin."""


def further_models() -> Plain:
    """The models that have no slider and whose needed parameters are numbers, all unticked.

    Their whole numbers that have a value unless told are parameters too, such as how many values are known.
    """
    from shoal.models import MODELS
    from shoal.parts import options_of

    slides = {slide.name for slide in SLIDES}
    taken = {
        name: [each for each in options_of(model) if each.is_needed or (each.kind is int and each.default is not None)]
        for name, model in MODELS.items()
        if name not in slides
    }
    return {
        name: {"on": False, "value": {each.name: _start_of(each) for each in options}}
        for name, options in taken.items()
        if any(each.is_needed for each in options) and all(each.kind in (int, float) for each in options)
    }


def _start_of(option: Option) -> str:
    return STARTS.get(option.name, "0.5") if option.is_needed else str(option.default)


def value_of_further(value: Mapping[str, str]) -> Plain:
    """The parameters of a model without a slider, as a policy document has them."""
    return {name: int(text) if str(text).isdecimal() else str(text) for name, text in value.items()}


IN_A_GOAL = {"record-risk", "h-affiliation", "person-k-anonymity"}
"""Models that a goal in words has sentences for."""
REPLACED = {"g-balance", "entropy-balance"}
"""Models of the record risk that a search for the best setting turns and may leave out."""


def goal_of_policy(policy: Policy, sensitive: Sequence[str]) -> Plain:
    """What a policy asks for, as a goal: by sentences and sliders where there are any, else as it stands."""
    from shoal.web.work import models_document

    asked = models_document(policy.models)
    slides = {slide.name for slide in SLIDES}
    plain = {name for name, value in asked.items() if not isinstance(value, dict | list)}
    goal: Plain = {
        "way": "models" if asked.keys() & REPLACED else "goal",
        "options": {"method": policy.method, "mask": policy.mask, "max_suppressed": policy.budget.max_suppressed,
                    "max_records": policy.budget.max_records, "sample": policy.budget.sample,
                    **policy.budget.alone, **_set_by(policy)},
        "models": {name: {"on": name in asked and name in plain, "value": str(asked[name]) if name in plain else start}
                   for name, start in ((slide.name, slide.start) for slide in SLIDES)},
        "floors": {},
    }  # fmt: skip
    values = {}
    for model in policy.models:
        if model.name == "record-risk":
            goal["record"] = {"on": True, "limit": _decimal(model.asked)}
        elif model.name == "h-affiliation":
            named = model.column
            values.update({name: {"on": True, "limit": _decimal(model.asked)} for name in sensitive
                           if named in (None, name)})  # fmt: skip
        elif model.name == "person-k-anonymity":
            goal["persons"] = {"on": True, "k": int(model.asked)}
    if policy.models:
        goal.setdefault("record", {"on": "record-risk" in asked, "limit": DEFAULT_RECORD})
        goal["values"] = {name: values.get(name, {"on": False, "limit": DEFAULT_VALUE}) for name in sensitive}
    for name, value in asked.items():
        ways = ["goal"] * (name not in IN_A_GOAL | REPLACED) + ["models"] * (name not in slides & plain)
        if ways:
            goal["floors"][name] = {"on": True, "value": value, "ways": ways}
    return goal


def _decimal(share: float) -> str:
    return text_of(Decimal(repr(float(share))))


def floors_of(goal: Mapping[str, Any], way: str) -> Plain:
    """The further models that are asked for in a way of asking, as a policy document has them."""
    return {name: each["value"] for name, each in goal.get("floors", {}).items() if each["on"] and way in each["ways"]}


def lowest_value_limit(told: Mapping[str, Any] | None, name: str) -> Decimal | None:
    """The lowest value risk that any grouping can have: the share of all persons who have the commonest value."""
    blind = (told or {}).get("spread", {}).get("blind", {}).get(name)
    return None if blind is None else Decimal(repr(float(blind)))


def lowest_record_limit(told: Mapping[str, Any] | None) -> Decimal | None:
    """The lowest record risk that any grouping can have: the share of all records that is one person's."""
    if not told:
        return None
    return Decimal(told["records_per_person"]["most"]) / Decimal(told["risk"]["records"])


def text_of(number: Decimal) -> str:
    """A decimal as a policy writes it: 0.1, not 1E-1."""
    text = format(number.normalize(), "f")
    return text if text != "-0" else "0"


def from_percent(percent: float | str) -> str:
    """A share as a policy writes it from percent as a person types it.

    Examples
    --------
    >>> from_percent(12.5)
    '0.125'
    """
    return text_of(Decimal(str(percent)) / 100)


def to_percent(limit: str) -> float:
    """The percent that a share is."""
    return float(Decimal(limit) * 100)


def targets_of(goal: Mapping[str, Any]) -> dict[str, str]:
    """The goal as targets of `shoal.tune`."""
    targets = {}
    if goal["record"]["on"]:
        targets["max_gidr"] = str(goal["record"]["limit"])
    for name, each in goal["values"].items():
        if each["on"]:
            targets[f"max_gsar.{name}"] = str(each["limit"])
    return targets


def beside_of(goal: Mapping[str, Any], protection: Mapping[str, Any] | None = None) -> Plain:
    """What is asked besides the targets: models that stay, method, mask, budget and seed of a policy document."""
    options = {**OPTIONS, **goal.get("options", {})}
    beside: Plain = {"models": floors_of(goal, "goal")}
    for part in ("method", "mask"):
        beside[part] = {"name": options[part], **options[f"{part}_options"]}
    most = options["max_linkage"] or ((protection or {}).get("mask") or {}).get("max_linkage")
    if most and not mask_called(options["mask"]).shows_groups:
        beside["mask"]["max_linkage"] = most
    if options["mask"] == "range":
        beside["mask"].pop("code_extremes", None)
        beside["mask"] |= {"code_extremes": True} if options["code_extremes"] else {}
    if goal["persons"]["on"]:
        beside["models"]["person-k-anonymity"] = int(goal["persons"]["k"])
    beside["models"] |= models_of_histories(goal)
    before = (protection or {}).get("budget") or {}
    budget: Plain = {key: value for key, value in before.items() if key not in OPTIONS}
    if options["max_suppressed"]:
        budget["max_suppressed"] = persons_or_share(options["max_suppressed"])
    if options["sample"]:
        budget["sample"] = persons_or_share(options["sample"])
    if options["max_records"]:
        budget["max_records"] = int(options["max_records"])
    if options["max_alone"] is not None:
        budget["max_alone"] = int(options["max_alone"])
    if options["allow_alone"]:
        budget["allow_alone"] = True
    beside["budget"] = budget
    beside["history"] = history_of(goal.get("options", {}), protection)
    seed = (protection or {}).get("seed")
    if seed is not None:
        beside["seed"] = seed
    return beside


def history_of(chosen: Mapping[str, Any], protection: Mapping[str, Any] | None = None) -> Plain:
    """How histories are published, as a policy document has it: as the protection says, but for what was chosen."""
    history = {key: value for key, value in ((protection or {}).get("history") or {}).items() if key not in chosen}
    if chosen.get("episode"):
        history["episode"] = episode_in(chosen["episode"])
    if chosen.get("record_steps"):
        history["record_steps"] = steps_in(chosen["record_steps"])
    return history


def episode_in(text: str) -> str:
    """An episode as it was typed, as a policy writes it; empty where there is none."""
    from shoal.policy.history import Episode

    return Episode.of(text).written if text.strip() else ""


def steps_in(text: str) -> list[int]:
    """Numbers of records as they were typed, parted by commas or spaces; none where there are none."""
    from shoal.policy.history import checked_steps

    words = text.replace(",", " ").split()
    steps = [int(word) if word.isdigit() else word for word in words]
    return list(checked_steps(steps)) if steps else []


def models_of_histories(goal: Mapping[str, Any]) -> Plain:
    """What is asked of histories, as a policy document has it: k persons for a chance of one in k."""
    asked = goal.get("history", {"on": False})
    if not asked["on"]:
        return {}
    k = math.ceil(1 / Decimal(str(asked["limit"])))
    return {"history-k": {"k": k, "m": 1}, "count-k": k} if goal["values"] else {"count-k": k}


def asked_of(goal: Mapping[str, Any], protection: Mapping[str, Any] | None = None) -> Plain:
    """What a search for the best setting is asked; settings that were found for something else are of another goal."""
    return {"targets": targets_of(goal), "minimise": goal["options"]["minimise"], "beside": beside_of(goal, protection)}


def compared_of(goal: Mapping[str, Any], protection: Mapping[str, Any] | None = None) -> Plain:
    """What methods are compared at: the first limit of the goal."""
    asked = asked_of(goal, protection)
    target, limit = next(iter(asked.pop("targets").items()))
    return {"target": target, "limit": limit, **asked, "useful_for": goal["options"]["useful_for"]}


def takes_groups(goal: Mapping[str, Any]) -> bool:
    """Whether the mask of a goal shows groups that models can be asked about."""
    return mask_called(goal.get("options", {}).get("mask", OPTIONS["mask"])).takes_groups


def models_of_sliders(goal: Mapping[str, Any]) -> Plain:
    """The models that were set one by one, as a policy document has them; none where the mask takes no groups."""
    if not takes_groups(goal):
        return {}
    models = floors_of(goal, "models")
    models |= {name: value_of_further(each["value"]) for name, each in goal.get("further", {}).items() if each["on"]}
    for slide in SLIDES:
        each = goal["models"][slide.name]
        if each["on"]:
            value = Decimal(str(each["value"]))
            models[slide.name] = int(value) if Decimal(slide.step) == 1 else text_of(value)
    return models


def protection_with(goal: Mapping[str, Any], models: Mapping[str, Any], protection: Mapping[str, Any]) -> Plain:
    """The protection of a policy document with these models, and the method, mask, budget and cells of the goal.

    It names the preset that the goal began with, as long as the models ask for all of it.
    """
    beside = beside_of(goal, protection)
    kept = {key: value for key, value in protection.items() if key in ("knowledge", "seed", "column_labels", "counts")}
    kept |= {"history": beside["history"]} if beside["history"] else {}
    if goal.get("options", {}).get("safe_cells"):
        kept["safe_cells"] = True
    ledger = goal.get("options", {}).get("ledger")
    if ledger:
        before = protection.get("ledger") or {}
        same = before if before.get("file") == ledger else {}  # its key, and how much may be spent
        kept["ledger"] = {**same, "file": ledger, "mode": goal["options"].get("ledger_mode", "warn")}
    target = goal.get("options", {}).get("useful_for")
    if target:
        before = protection.get("usefulness") or {}
        kept["usefulness"] = dict(before) if before.get("target") == target else {"target": target}
    from shoal.policy.load import models_of

    preset = PRESETS.get(goal.get("preset", ""))
    if preset is not None and is_kept_by(preset, models_of(models)):
        kept["preset"] = preset.name
    return {**kept, "models": dict(models), **{key: beside[key] for key in ("method", "mask", "budget")}}


def is_same_protection(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two protections ask for the same; what has its default need not be named."""

    def told(protection: Mapping[str, Any]) -> Plain:
        usual: Plain = {"method": {"name": OPTIONS["method"]}, "mask": {"name": OPTIONS["mask"]}}
        return {key: value for key, value in {**usual, **protection}.items() if value not in (None, {})}

    return told(one) == told(other)


def methods() -> dict[str, str]:
    """The methods that the app offers, in words."""
    from shoal.grouping import METHODS

    return _in_app(METHODS, OPTIONS["method"])


def masks() -> dict[str, str]:
    """The masks that the app offers, in words."""
    from shoal.masking import MASKS

    return _in_app(MASKS, OPTIONS["mask"])


def parts(what: str) -> Mapping[str, type[Part]]:
    """All methods or all masks, by name."""
    from shoal.grouping import METHODS
    from shoal.masking import MASKS

    return METHODS if what == "method" else MASKS


def _in_app(parts: Mapping[str, type[Part]], proposed: str) -> dict[str, str]:
    """All parts by their titles: the proposed one, those that fit most tables, then the others."""
    ordered = sorted(parts.items(), key=lambda each: (each[0] != proposed, not each[1].is_in_app))
    return {
        name: f"{part.title or name} (proposed)" if name == proposed else part.title or name for name, part in ordered
    }


def to_relax(goal: Mapping[str, Any], told: Mapping[str, Any] | None) -> list[str]:
    """What a steward can do where a promise cannot be kept; limits that nothing can meet are told alone and first."""
    limits = [
        (
            f"Allow a higher limit for '{name}'. {{}} of all persons have its commonest value, so no limit below "
            "that can be met.",
            limit,
            lowest_value_limit(told, name),
        )
        for name, limit in _value_limits(goal)
    ]
    record = _record_limit(goal)
    if record is not None:
        limits.append(
            (
                "Allow a higher record risk. With all persons in one group it would be {}: no limit below that "
                "can be met, since one person has so many of the records.",
                record,
                lowest_record_limit(told),
            )
        )
    beyond = [each for each in limits if each[2] is not None and Decimal(str(each[1])) < each[2]]
    hints = [words.format(_percent(lowest)) for words, _, lowest in beyond or limits if lowest is not None]
    if record is not None:
        hints.append("Let persons with very many records keep only some of them (under Options: records per person).")
    hints.append("Allow some persons to be left out (under Options: persons left out).")
    if told and told.get("left_out"):
        best = told["left_out"][0]
        hints.append(
            f"Do not publish '{best['columns'][0]}': without it {best['persons']:,} instead of "
            f"{told['risk']['unique_persons']:,} persons are alone in the table as it is."
        )
    hints.append("Put rare values together with a hierarchy, on the page Columns.")
    return hints  # fmt: skip


def _record_limit(goal: Mapping[str, Any]) -> str | None:
    each = goal["record"] if goal["way"] == "goal" else goal["models"]["record-risk"]
    return str(each.get("limit", each.get("value"))) if each["on"] else None


def _value_limits(goal: Mapping[str, Any]) -> list[tuple[str, str]]:
    if goal["way"] == "goal":
        return [(name, each["limit"]) for name, each in goal["values"].items() if each["on"]]
    each = goal["models"]["h-affiliation"]
    return [(name, each["value"]) for name in goal["values"]] if each["on"] else []


def _percent(value: Decimal) -> str:
    return f"{float(value) * 100:.3g} %"
