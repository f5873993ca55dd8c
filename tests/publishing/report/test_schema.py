"""report.json is as its published schema says, for every mask, and every key of it is described there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.publishing.report.conftest import Reported
from tests.publishing.report.pages import KINDS

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs" / "report.schema.json").read_text(encoding="utf-8"))
OPEN = {"method_options", "mask_options", "by_conditions", "by_selectivity"}
"""Whose keys are those of others."""


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_as_it_says(reported: Callable[[str], Reported], kind: str) -> None:
    faults = Draft202012Validator(SCHEMA).iter_errors(reported(kind).numbers)
    assert [f"{list(fault.path)}: {fault.message}" for fault in faults] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(reported: Callable[[str], Reported], kind: str) -> None:
    assert list(undescribed(reported(kind).numbers, SCHEMA, "")) == [], "describe it in docs/report.schema.json"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["max_gidr"], 1.5), (["verdict", "holds"], "yes"), (["report", "version"], 2), (["persons"], -1),
        (["report", "risk", "record_risk", "after"], [1, 2]), (["report", "columns", 0, "role"], "secret"),
        (["report", "attacks", 0, "attempts", 0, "success"], None), (["report"], None),
    ],
)  # fmt: skip
def test_it_refuses_what_is_wrong(reported: Callable[[str], Reported], path: list[Any], value: Any) -> None:
    numbers = json.loads(json.dumps(reported("range").numbers))
    place = numbers
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not Draft202012Validator(SCHEMA).is_valid(numbers)


def undescribed(value: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    """The keys of a value that no part of a schema describes."""
    schemas = [resolved(each) for each in resolved(schema).get("anyOf", [schema])]
    if isinstance(value, dict):
        known = {name: part for each in schemas for name, part in each.get("properties", {}).items()}
        others = [each["additionalProperties"] for each in schemas if "additionalProperties" in each]
        for name, inside in value.items():
            if name in known:
                if name not in OPEN:
                    yield from undescribed(inside, known[name], f"{place}.{name}")
            elif others:
                yield from undescribed(inside, others[0], f"{place}.*")
            else:
                yield f"{place}.{name}"
    elif isinstance(value, list):
        items = [each["items"] for each in schemas if "items" in each]
        for inside in value if items else ():
            yield from undescribed(inside, items[0], f"{place}[]")


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return SCHEMA["$defs"][reference.removeprefix("#/$defs/")] if reference else schema
