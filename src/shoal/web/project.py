"""A project: everything that a steward chose and everything that was made of it, in one private folder.

The folder (mode 0700) holds

    project.json       what was chosen, with a version number
    policy.toml        the same choices as THE policy that `shoal protect --policy` reads; absent while columns lack roles
    sources/           the files that were uploaded or picked
    hierarchies/       hierarchy files that the policy names
    results/NAME.json  what was computed (assessment, frontier, ...) and which choices it was computed from
    runs/ID/           releases
    cache/             the table as one Parquet file, for quick looks; may be deleted at any time

How pages use it (`project` is one object for the whole server; every tab sees the same one):

    chosen = project.chosen                       # an immutable Chosen, with its version
    project.update(seen=chosen.version, protection={**chosen.protection, "models": {"record-risk": "0.1"}})

`update` saves at once (beside, then renamed) and returns the new Chosen. Where another tab has saved since the version
that was seen, it raises `ChangedMeanwhile` and changes nothing: show its message and reload. `project.chosen.version`
grows with every change of choices (not with results), so a page can ask now and then whether it is still up to date.

    project.policy()                              # shoal.policy.Policy; PolicyError/SchemaError says what is missing
    project.faults()                              # the same as a list of sentences; empty where a policy can be made
    project.table()                               # the table as a polars LazyFrame; InputError where nothing was read
    project.put_result("assess", data, depends_on="columns")
    result = project.result("assess")             # Result or None; result.data, result.is_stale, result.made_at
    project.states()                              # {"data": "done", "columns": "stale", ...}: done, stale or open
    project.new_run()                             # a new folder runs/ID, and its ID is the name
    project.file_of_run(run, "release.csv")       # checked: never outside of the run's folder

A step's fingerprint covers its own choices and those of the steps before it:

    data     sources, how they are read, join, rename
    columns  + roles, kinds, hierarchies, missing, time_as
    protect  + protection (models, method, mask, budget, knowledge, seed as a policy document has them)

A result is stale where the fingerprint of the step it depends on has changed. `RESULT_OF_STEP` says which result
makes a step done.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, OutputError, ShoalError

if TYPE_CHECKING:
    import polars as pl

    from shoal.policy import Policy
    from shoal.reading import CsvOptions, Join, Reading

STEPS = ("data", "columns", "risk", "protect", "release")
RESULT_OF_STEP = {"data": "look", "risk": "assess", "protect": "release", "release": "handed-out"}
"""The result that makes a step done; the step `columns` is done when a policy can be made."""

ROLES = ("person", "quasi", "sensitive", "time", "kept", "dropped")
KINDS = ("auto", "number", "nominal", "ordered", "date")
PROTECTION_KEYS = ("models", "method", "mask", "budget", "knowledge", "seed")
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


class ChangedMeanwhile(ShoalError):  # noqa: N818 - it says what happened
    """The project was changed elsewhere, in another tab, since the version that this page shows."""


@dataclass(frozen=True)
class SourceFile:
    """A file in `sources/`: its name there, its size, and the hash that tells whether its content changed."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class ColumnChoice:
    """The role of a column ("" while none was given), and for a quasi-identifier its kind, order and hierarchy.

    `hierarchy` is as in a policy document: `{"file": "hierarchies/zip.csv"}`, `{"prefixes": [3, 1]}` (or True),
    `{"intervals": {"low": 0, "width": 5, "high": 99, "factor": 2}}`, `{"icd": True}` or `{"rows": [[...], ...]}`.
    """

    name: str
    role: str = ""
    kind: str = "auto"
    order: tuple[str, ...] | None = None
    hierarchy: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Chosen:
    """Everything that the steward chose, immutable; `version` grows with each change."""

    version: int = 0
    title: str = ""
    # data
    sources: tuple[SourceFile, ...] = ()
    """Files of records, put under one another."""
    person_file: SourceFile | None = None
    """A file with one record a person, to be joined to the records."""
    join_on: Mapping[str, str] = field(default_factory=dict)
    """The key: its names in the person file by its names in the records."""
    rename: tuple[Mapping[str, str], ...] = ()
    csv: Mapping[str, Any] = field(default_factory=dict)
    """delimiter, encoding, quote, decimal, missing: so far as they differ from what is found or usual."""
    # columns
    columns: tuple[ColumnChoice, ...] = ()
    missing: str = "value"
    time_as: str = "sequence"
    # protect
    protection: Mapping[str, Any] = field(default_factory=dict)
    """models, method, mask, budget, knowledge and seed, as tables of a policy document; decimals as texts ("0.1")."""
    goal: Mapping[str, Any] = field(default_factory=dict)
    """How the steward came to the protection, for the page to show again; not part of the policy."""

    def names(self, role: str) -> tuple[str, ...]:
        """The columns of a role, in the order of the table."""
        return tuple(column.name for column in self.columns if column.role == role)

    def column(self, name: str) -> ColumnChoice:
        """The choice for a column."""
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True)
class Result:
    """Something that was computed from choices, and whether those choices still hold."""

    name: str
    data: dict[str, Any]
    made_at: str
    depends_on: str
    is_stale: bool


class Project:
    """See the module's docstring. Made by `Project.open(folder)`, which makes the folder where it is absent."""
