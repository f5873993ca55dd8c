"""Policy to TOML: a small writer for what policies hold, so that reading it back gives an equal policy."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from shoal.models import Model
from shoal.policy.numbers import as_number, exact_decimal

if TYPE_CHECKING:
    from shoal.attacking.mining.knowledge import Knowledge
    from shoal.attacking.mining.rules import Rule
    from shoal.policy.decision import Decision
    from shoal.policy.policy import HierarchyChoices, HistoryChoices, JoinChoices, Policy, QuasiChoices, SourceChoices
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
WIDTH = 110


def document_of(policy: Policy) -> dict[str, Any]:
    """The policy as nested dicts in the order of the file, without what has its default."""
    document = {
        "preset": policy.preset,
        "seed": policy.seed,
        "safe_cells": policy.safe_cells or None,
        "column_labels": policy.column_labels or None,
        "source": source_table(policy.source),
        "mend": policy.mend.model_dump(exclude_defaults=True),
        "columns": _columns(policy),
        "models": models_table(policy.models),
        "method": {"name": policy.method, **_options(policy.method_options)},
        "mask": {"name": policy.mask, **_options(policy.mask_options), **_linkage(policy)},
        "budget": _without_defaults(policy.budget),
        "history": _history(policy.history),
        "knowledge": _knowledge(policy.knowledge),
        "tables": {name: _without_defaults(table) for name, table in policy.tables.items()},
        "ledger": {} if policy.ledger is None else _without_defaults(policy.ledger),
        "usefulness": {} if policy.usefulness is None else _without_defaults(policy.usefulness),
        "counts": {} if policy.counts is None else _without_defaults(policy.counts),
        "population": {} if policy.population is None else _without_defaults(policy.population),
        "decision": None if policy.decision is None else decision_table(policy.decision),
    }
    return {
        key: value
        for key, value in document.items()
        if value not in (None, {}) or (key in ("knowledge", "decision") and value is not None)
    }


def decision_table(decision: Decision) -> dict[str, Any]:
    """What was decided, without what is left to be filled in by hand."""
    return _without_defaults(decision)


def _without_defaults(choices: BaseModel) -> dict[str, Any]:
    return {
        name: getattr(choices, name)
        for name, field in type(choices).model_fields.items()
        if field.is_required() or getattr(choices, name) != field.default
    }


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: as_number(value) for name, value in options.items()}


def _linkage(policy: Policy) -> dict[str, Any]:
    return {} if policy.max_linkage is None else {"max_linkage": as_number(policy.max_linkage)}


def source_table(source: SourceChoices) -> dict[str, Any]:
    """How files are read, without what has its default."""
    table = _without_defaults(source)
    if set(table.get("date_format", ())) == {""}:
        table["date_format"] = table["date_format"][""]
    if source.join is not None:
        table["join"] = _join(source.join)
    return table


def _join(join: JoinChoices) -> dict[str, Any]:
    names = list(join.on)
    same = all(record == person for record, person in join.on.items())
    return {"person_file": join.person_file, "on": (names[0] if len(names) == 1 else names) if same else join.on}


def _columns(policy: Policy) -> dict[str, Any]:
    table = _without_defaults(policy.columns)
    table["quasi"] = [_quasi(column) for column in policy.columns.quasi]
    if policy.columns.coded:
        table["coded"] = {name: _options(each.to_dict()) for name, each in policy.columns.coded.items()}
    return table


def _quasi(column: QuasiChoices) -> str | dict[str, Any]:
    table = _without_defaults(column)
    if column.hierarchy is not None:
        table["hierarchy"] = _hierarchy(column.hierarchy)
    if ":" not in column.name and set(table) <= {"name", "kind"}:
        return column.name if column.kind == "auto" else f"{column.name}:{column.kind}"
    return table


def _hierarchy(hierarchy: HierarchyChoices) -> str | dict[str, Any]:
    if hierarchy.file is not None:
        return hierarchy.file
    if hierarchy.prefixes is not None:
        return {"prefixes": list(hierarchy.prefixes) or True}
    if hierarchy.dates is not None:
        return {"dates": list(hierarchy.dates) or True}
    if hierarchy.intervals is not None:
        return {"intervals": _without_defaults(hierarchy.intervals)}
    return _without_defaults(hierarchy)


def _history(history: HistoryChoices) -> dict[str, Any]:
    table = _without_defaults(history)
    if history.hierarchies:
        table["hierarchies"] = {name: _hierarchy(each) for name, each in history.hierarchies.items()}
    if "alike" in table:
        table["alike"] = as_number(history.alike)
    return table


def _knowledge(knowledge: Knowledge | None) -> dict[str, Any] | None:
    """What an adversary is taken to know; an empty table says that the defaults hold."""
    if knowledge is None:
        return None
    told = {field.name: getattr(knowledge, field.name) for field in dataclasses.fields(knowledge)}
    defaults = {field.name: getattr(type(knowledge)(), field.name) for field in dataclasses.fields(knowledge)}
    changed = {name.replace("_", "-"): value for name, value in told.items() if value != defaults[name]}
    for name in ("strike", "facts"):
        if name in changed:
            changed[name] = [rule_table(rule) for rule in changed[name]]
    if "margin" in changed:
        changed["margin"] = {column: as_number(width) for column, width in changed["margin"].items()}
    return {name: as_number(value) for name, value in changed.items()}


def rule_table(rule: Rule) -> dict[str, Any]:
    """A rule as it stands in `strike` and `facts`; `value_text` makes one line of it."""
    told = rule.to_dict()
    return {key: told[key] for key in ("when", "never", "value", "chance", "lift") if key in told}


def models_table(models: tuple[Model, ...]) -> dict[str, Any]:
    """The models by name: a number, a table of parameters, or a list of tables where a model is asked for twice."""
    tables: dict[str, list[Any]] = {}
    for model in models:
        tables.setdefault(model.name, []).append(_parameters(model))
    return {name: each if len(each) > 1 else _threshold_alone(each[0]) for name, each in tables.items()}


def _parameters(model: Model) -> dict[str, Any]:
    return {
        name: exact_decimal(value) if isinstance(value, Fraction) else as_number(value)
        for name, value in model.parameters().items()
    }


def _threshold_alone(parameters: dict[str, Any]) -> Any:
    return next(iter(parameters.values())) if len(parameters) == 1 else parameters


def toml_of(document: Mapping[str, Any]) -> str:
    """Nested dicts as TOML: single values first, then a table for each dict."""
    values = [f"{key_text(key)} = {value_text(value)}" for key, value in document.items() if not _is_table(value)]
    blocks = ["\n".join(values)] if values else []
    for key, table in document.items():
        if _is_table(table):
            lines = [assignment(name, value) for name, value in table.items()]
            blocks.append("\n".join([f"[{key_text(key)}]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def assignment(name: str, value: Any) -> str:
    """A line `name = value`; a list that would be long has one line per entry."""
    line = f"{key_text(name)} = {value_text(value)}"
    if len(line) <= WIDTH or not isinstance(value, list | tuple):
        return line
    entries = "".join(f"    {value_text(each)},\n" for each in value)
    return f"{key_text(name)} = [\n{entries}]"


def key_text(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if _BARE_KEY.fullmatch(key) else value_text(key)


def value_text(value: Any) -> str:
    """A value as TOML writes it on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            inside = ", ".join(f"{key_text(key)} = {value_text(each)}" for key, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list() | tuple():
            return f"[{', '.join(map(value_text, value))}]"
    raise TypeError(f"a policy holds no {type(value).__name__}")
