"""Nothing of a policy is lost on its way into the app and out of it again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from shoal.attacking.mining.knowledge import Knowledge
from shoal.policy import Policy, decision, mend, policy
from shoal.web.goal import protection_with, starting_goal
from shoal.web.project import Chosen, ColumnChoice, Project

COLUMNS = {
    "person": "id",
    "quasi": [
        {"name": "age", "kind": "number", "hierarchy": {"intervals": {"low": 0, "width": "0.5", "high": 99, "factor": 3,
                                                                      "decimals": True}}},
        {"name": "sex", "hierarchy": "sex.csv"},
        {"name": "zip", "hierarchy": {"prefixes": [3, 1]}},
        {"name": "town", "hierarchy": {"prefixes": True}},
        {"name": "born", "hierarchy": {"dates": ["month", "year"]}},
        {"name": "level", "kind": "ordered", "order": ["low", "high"]},
        {"name": "step", "order": ["1", "2"]},
        {"name": "height", "kind": "number", "round": 0.5},
        {"name": "weight", "kind": "number", "round": 5},
        {"name": "income", "hierarchy": {"numbers": True}},
        {"name": "dx", "hierarchy": {"icd10": True}},
        {"name": "old", "hierarchy": {"icd9": True}},
        {"name": "code", "hierarchy": {"icd": True}},
        {"name": "drug", "hierarchy": {"atc": True}},
        {"name": "job", "hierarchy": {"rows": [["baker", "crafts", "*"], ["clerk", "office", "*"]]}},
    ],
    "sensitive": ["disease", "pay"],
    "kept": ["w", "ward"],
    "dropped": ["name"],
    "time": "day",
    "time_as": "shift",
    "shared_dates": "hide",
    "round_gaps": 7,
    "zone": "Europe/Berlin",
    "missing": "drop",
    "missing_tells_nothing": ["pay"],
    "spelling": {"id": "exact", "disease": "plain"},
    "coded": {"height": {"top": "99%", "bottom": "k=5"}, "ward": {"rare": "k=10", "other": "rest"}},
    "confirmed": ["ward"],
    "weight": "w",
    "household": "home",
    "strata": ["sex", "region", "ward", "pay"],
    "round": "auto",
}  # fmt: skip
MEND = {
    "trim": ["town"],
    "case": {"sex": "lower"},
    "missing": {"age": ["-9", "k.A."]},
    "map": {"sex": {"w": "f"}},
    "dates": {"born": "dd.mm.yyyy"},
    "numbers": {"income": "n.nnn,n"},
    "code": {"dx": {"keep": 3}, "drug": {"before": "."}},
    "age": {"years": {"born": "born", "on": "2024-12-31"}},
    "range": {"age": {"low": 0, "high": "120.5", "outside": "refuse"}},
    "filter": [
        {"column": "ward", "values": ["A", "B"]}, {"column": "town", "without": ["C"]}, {"column": "age", "low": 18},
        {"column": "age", "high": 90},
    ],
}  # fmt: skip
SOURCE = {
    "delimiter": ";", "encoding": "latin-1", "quote": "'", "decimal": ",", "missing": ["", "k.A."], "thousands": ".",
    "missing_in": {"age": ["-9"]},
    "date_format": {"born": "dd.mm.yyyy"}, "header": True, "member": "visits.csv", "labels": "values", "sheet": "S",
    "rename": [{"Alter": "age"}], "join": {"person_file": "persons.csv", "on": {"id": "who"}},
}  # fmt: skip
RULE = {"when": {"sex": "m"}, "never": {"disease": "flu"}}
DOCUMENTS: list[dict[str, Any]] = [
    {
        "columns": COLUMNS,
        "models": {"history-k": {"k": 3, "m": 2}, "h-affiliation": [{"h": "0.5", "column": "disease"}, {"h": "0.7"}]},
        "method": {"name": "mondrian", "effort": "low"},
        "mask": {"name": "perturb", "noise": "rescaled", "max_linkage": 0.05},
        "budget": {"max_suppressed": "5%", "max_records": 4, "sample": "10%", "max_alone": 3, "allow_alone": True},
        "source": SOURCE,
        "mend": MEND,
        "seed": 7,
        "preset": "statistics-3",
        "safe_cells": True,
        "column_labels": True,
        "knowledge": {
            "min-expectation": "0.8", "max-len": 2, "margin": {"age": "1.5"}, "conjunction": "minimum", "chances": True,
            "strike": [RULE],
            "facts": [{"when": {"sex": "f"}, "never": {"disease": "cold"}},
                      {"when": {"sex": "m"}, "value": {"disease": "cold"}, "chance": 0.4}],
        },
        "ledger": {"file": "ledger", "key": "key", "mode": "refuse", "max_epsilon": 2.5, "max_delta": 0.001},
        "history": {
            "ways": ["hide"], "hierarchies": {"disease": "sex.csv", "pay": {"prefixes": [1]}}, "alike": 0.3,
            "episode": "90 days", "record_steps": [1, 2, 5],
        },
        "usefulness": {"target": "pay", "kind": "classes", "queries": 10},
        "counts": {"epsilon": 0.5, "of": ["age:1"], "cells": 2},
        "population": {"file": "sqlite:///town.db", "table": "people", "query": "q", "columns": {"age": "alter"}},
        "decision": {
            "purpose": "a", "recipient": "b", "legal_basis": "c", "period": "d", "conditions": "e", "decided_by": "f",
            "decided_on": "2026-11-18", "signatures": ["Board"],
        },
    },
    {
        "columns": {"person": "id", "quasi": ["age"], "person_ids": "none", "time_of_day": "keep", "strata": "age"},
        "models": {"g-balance": {"k": 5}},
        "knowledge": {},
        "decision": {},
    },
    {
        "columns": {"person": "who", "quasi": ["height"], "sensitive": ["visit.note"]},
        "models": {"k-anonymity": 2},
        "tables": {
            "person": {"file": "persons.csv", "key": "who"},
            "visit": {"file": "sex.csv", "key": "number", "links": {"who": "person"}},
        },
    },
    {"columns": {"quasi": ["age:date"]}, "models": {}, "source": {"date_format": "yyyymmdd"}},
]  # fmt: skip
DERIVED = {"folder"}
"""Fields of a policy that are no choice of it."""


def policy_of(document: dict[str, Any], folder: Path) -> Policy:
    folder.mkdir(exist_ok=True)
    (folder / "sex.csv").write_text("m;*\nf;*\n")
    (folder / "persons.csv").write_text("who;height\n1;180\n")
    return dataclasses.replace(Policy.from_document(document), folder=folder)


def through_the_app(given: Policy, folder: Path) -> tuple[Policy, Project]:
    """What the app says when it has taken a policy, was closed and opened again."""
    project = Project.open(folder)
    project.adopt(given, given.folder)
    assert project.faults() == []
    again = Project.open(folder)
    assert again.chosen == project.chosen
    return again.policy(), again


def told(given: Policy, folder: Path) -> dict[str, Any]:
    """A policy as its document, with the content of files in the place of their names."""
    contents = {f: (given.folder / f).read_text() for f in files_of(given) if (given.folder / f).is_file()}
    text = json.dumps(given.to_document(), default=str, sort_keys=True)
    for name, content in contents.items():
        text = text.replace(json.dumps(name), json.dumps(content))
    document: dict[str, Any] = json.loads(text)
    document["columns"]["strata"] = sorted(document["columns"].get("strata", ()))  # in the app in the table's order
    if "ledger" in document:  # it may not exist yet
        document["ledger"] |= {key: str((folder / document["ledger"][key]).resolve()) for key in ("file", "key")}
    return document


def files_of(given: Policy) -> list[str]:
    join = [] if given.source.join is None else [given.source.join.person_file]
    join += [table.file for table in given.tables.values()]
    return [*(path.relative_to(given.folder).as_posix() for path in given.files(given.folder)), *join]


@pytest.mark.parametrize("document", DOCUMENTS, ids=["all", "few", "tables", "fewer"])
def test_nothing_of_a_policy_is_lost_in_the_app(document: dict[str, Any], tmp_path: Path) -> None:
    policy = policy_of(document, tmp_path / "given")
    out, project = through_the_app(policy, tmp_path / "project")
    out = dataclasses.replace(out, folder=project.folder)
    mine, theirs = told(policy, policy.folder), told(out, project.folder)
    assert theirs["columns"] == mine["columns"]
    assert theirs == mine
    assert Policy.load(project.folder / "policy.toml").to_document() == out.to_document()


def test_the_page_protect_forgets_nothing_that_it_has_no_field_for(tmp_path: Path) -> None:
    policy, project = through_the_app(policy_of(DOCUMENTS[0], tmp_path / "given"), tmp_path / "project")
    goal = starting_goal(project.chosen.names("sensitive"), None, {}, policy)
    before = project.chosen.protection
    kept = protection_with(goal, before["models"], before)
    project.update(seen=project.chosen.version, protection=kept)
    assert project.policy() == policy


def fields_in(part: Any, place: str = "Policy") -> Iterator[str]:
    """Every field of a policy that has another value than its default, by class and name."""
    if isinstance(part, BaseModel):
        for name, field in type(part).model_fields.items():
            if field.is_required() or getattr(part, name) != field.get_default(call_default_factory=True):
                yield f"{type(part).__name__}.{name}"
                yield from fields_in(getattr(part, name))
    elif isinstance(part, Policy | Knowledge):
        for each in dataclasses.fields(part):
            usual = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
            if getattr(part, each.name) != usual:
                yield f"{type(part).__name__}.{each.name}"
                yield from fields_in(getattr(part, each.name))
    elif isinstance(part, dict):
        for value in part.values():
            yield from fields_in(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from fields_in(value)


def test_the_policies_of_this_test_have_every_field_that_there_is(tmp_path: Path) -> None:
    classes = [
        each
        for module in (policy, mend, decision)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, BaseModel) and each.__module__ == module.__name__
    ]
    models = [each for each in classes if each.__name__ != "KnowledgeChoices"]
    there = {f"{each.__name__}.{name}" for each in models for name in each.model_fields}
    for each in (Policy, Knowledge):
        there |= {f"{each.__name__}.{field.name}" for field in dataclasses.fields(each) if field.name not in DERIVED}
    asked = {place for document in DOCUMENTS for place in fields_in(policy_of(document, tmp_path / "given"))}
    assert there - asked == set()


ROLES = st.sampled_from(["quasi", "sensitive", "kept", "dropped", ""])


@settings(max_examples=40)
@given(st.lists(st.tuples(ROLES, st.sampled_from(["", "strata", "weight", "household"])), max_size=6))
def test_roles_of_a_sample_stay_beside_others(
    tmp_path_factory: pytest.TempPathFactory, roles: list[tuple[str, str]]
) -> None:
    columns: dict[str, Any] = {"quasi": ["q"], "sensitive": [], "kept": [], "dropped": [], "strata": []}
    for number, (role, beside) in enumerate(roles):
        if role:
            columns[role].append(f"c{number}")
        if beside == "strata":
            columns["strata"].append(f"c{number}")
        elif beside == "weight" and role in ("", "kept") and "weight" not in columns:
            columns["weight"] = f"c{number}"
        elif beside == "household" and role == "" and "household" not in columns:
            columns["household"] = f"c{number}"
    folder = tmp_path_factory.mktemp("roles")
    policy = policy_of({"columns": columns}, folder / "given")
    out, _ = through_the_app(policy, folder / "project")
    mine, theirs = policy.columns, out.columns
    assert [each.name for each in theirs.quasi] == [each.name for each in mine.quasi]
    for role in ("sensitive", "kept", "dropped", "weight", "household"):
        assert getattr(theirs, role) == getattr(mine, role), role
    assert set(theirs.strata) == set(mine.strata)


# Choices that nobody made


def test_what_was_not_chosen_is_not_in_the_fingerprint(tmp_path: Path) -> None:
    """Results of a project that an older shoal saved stay fresh where a newer one offers more to choose."""
    project = Project.open(tmp_path / "project")
    columns = (ColumnChoice("id", "person"), ColumnChoice("age", "quasi", "number"))
    project.update(seen=0, columns=columns, csv={"delimiter": ";"}, protection={"models": {"k-anonymity": 5}})
    assert [project.fingerprint(step)[:16] for step in ("data", "columns", "protect")] == PINNED
    file = project.folder / "project.json"
    document = json.loads(file.read_text())
    usual = json.loads(json.dumps(dataclasses.asdict(Chosen())))
    document["chosen"] = {key: value for key, value in document["chosen"].items() if value != usual[key]}
    document["chosen"]["columns"] = [
        {"name": "id", "role": "person"},
        {"name": "age", "role": "quasi", "kind": "number"},
    ]
    file.write_text(json.dumps(document))
    again = Project.as_saved(project.folder)
    assert [again.fingerprint(step)[:16] for step in ("data", "columns", "protect")] == PINNED
    changed = dataclasses.replace(project.chosen, round="off")
    assert Project(project.folder, changed).fingerprint("columns")[:16] != PINNED[1]


PINNED = ["99e573c9d924e826", "f7c87f2753165a68", "c33aca6ce01bbcdc"]
"""What results were saved with. Where this changes, every project that there is opens as stale."""
