"""A project: everything that a steward chose and everything that was made of it, in one private folder.

The folder (mode 0700) holds

    project.json       what was chosen, with a version number
    policy.toml        the same choices as THE policy that `shoal protect --policy` reads; absent while roles lack
    sources/           the files that were uploaded or picked
    hierarchies/       hierarchy files that the policy names
    results/NAME.json  what was computed (assessment, frontier, ...) and which choices it was computed from
    runs/ID/           releases
    later/             later records for a release that is there
    candidates/        releases that were tried (`shoal.web.shelf`)
    history/           choices as they were before (`shoal.web.undo`)
    cache/             the table as one Parquet file, for quick looks; may be deleted at any time

How pages use it (`project` is one object for the whole server; every tab sees the same one):

    chosen = project.chosen                       # an immutable Chosen, with its version
    project.update(seen=chosen.version, protection={**chosen.protection, "models": {"record-risk": "0.1"}})

`update` saves at once (beside, then renamed) and returns the new Chosen. Where another tab has saved since the version
that was seen, it raises `ChangedMeanwhile` and changes nothing: show its message and reload. `project.chosen.version`
grows with every change of choices (not with results), so a page can ask now and then whether it is still up to date.

    project.undo(seen=...), project.redo(seen=...)     # take the last choice back, or make it again
    project.can_undo(), project.can_redo()        # what that would be about, in words; "" where there is nothing

    project.policy()                              # shoal.policy.Policy; PolicyError/SchemaError says what is missing
    project.faults()                              # the same as a list of sentences; empty where a policy can be made
    project.table()                               # the table as a polars LazyFrame; InputError where nothing was read
    project.put_result("assess", data, depends_on="columns")
    result = project.result("assess")             # Result or None; result.data, result.is_stale, result.made_at
    project.states()                              # {"data": "done", "columns": "stale", ...}: done, stale or open
    project.new_run()                             # a new folder runs/ID, and its ID is the name
    project.file_of_run(run, "release.csv")       # checked: never outside of the run's folder

A step's fingerprint covers its own choices and those of the steps before it:

    data     sources, how they are read, join, rename, what is mended
    columns  + roles, kinds, hierarchies, missing, time_as and what goes with it
    protect  + protection (models, method, mask, budget, knowledge, usefulness, seed as a policy document
             has them)

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, OutputError, ShoalError
from shoal.web.undo import Way, what_changed

if TYPE_CHECKING:
    import polars as pl

    from shoal.policy import Policy
    from shoal.reading import Join, Reading
STEPS = ("data", "columns", "risk", "protect", "release")
RESULT_OF_STEP = {"data": "look", "risk": "assess", "protect": "release", "release": "handed-out"}
"""The result that makes a step done; the step `columns` is done when a policy can be made and roles are confirmed."""

ROLES = ("person", "quasi", "sensitive", "time", "kept", "dropped", "weight", "household", "strata")
ONE_OF = {
    "person": "name the person",
    "time": "hold the time",
    "weight": "hold the weight",
    "household": "name the household",
}
"""Roles that one column can have, and what that column does."""
KINDS = ("auto", "number", "nominal", "ordered", "date")
PROTECTION_KEYS = (
    "preset", "models", "method", "mask", "budget", "knowledge", "history", "seed", "safe_cells", "column_labels",
    "usefulness", "counts", "ledger",
)  # fmt: skip
DATA_KEYS = ("sources", "person_file", "join_on", "rename", "tables", "csv", "read_as", "mend")
"""The choices that make the table."""
COLUMN_KEYS = (
    "columns", "round", "missing", "time_as", "time_of_day", "shared_dates", "round_gaps", "zone", "coded",
    "person_ids", "population",
)  # fmt: skip
"""The choices that say what its columns are."""
PUBLISHED = ("quasi", "sensitive", "kept")
"""The roles of columns whose values leave, as they are or masked."""
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
    """The role of a column ("" while none was given); for a quasi-identifier its kind, order and hierarchy.

    `spelling` is what tells texts of the person column or of a sensitive one apart, "" where it is as usual; `missing`
    is "nothing" where a missing value of a sensitive one tells nothing, "" where it is a value to protect.

    `beside` has the roles of a sample that the column has besides: a weight that is published, a stratum that others
    may know.

    `is_confirmed` says whether the steward has confirmed the role, and `is_confirmed_twice` whether a column that names
    persons by itself, or holds free text, shall leave nevertheless.

    `hierarchy` is as in a policy document: `{"file": "hierarchies/zip.csv"}`, `{"prefixes": [3, 1]}` (or True),
    `{"intervals": {"low": 0, "width": 5, "high": 99, "factor": 2}}`, `{"icd": True}` or `{"rows": [[...], ...]}`.
    """

    name: str
    role: str = ""
    kind: str = "auto"
    order: tuple[str, ...] | None = None
    hierarchy: Mapping[str, Any] | None = None
    spelling: str = ""
    missing: str = ""
    round: float | str | None = None
    beside: tuple[str, ...] = ()
    is_confirmed: bool = False
    is_confirmed_twice: bool = False


@dataclass(frozen=True)
class Chosen:
    """Everything that the steward chose, immutable; `version` grows with each change."""

    version: int = 0
    title: str = ""
    # data
    sources: tuple[SourceFile, ...] = ()
    """Files of records, put under one another."""
    person_file: SourceFile | None = None
    """A file with one record per person, to be joined to the records."""
    join_on: Mapping[str, str] = field(default_factory=dict)
    """The key: its names in the person file by its names in the records."""
    rename: tuple[Mapping[str, str], ...] = ()
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Where the files are related tables: by the name of each its `file` in `sources/`, its `key` and its `links`."""
    csv: Mapping[str, Any] = field(default_factory=dict)
    """delimiter, encoding, quote, decimal, missing, ...: so far as the steward said it; the rest is found."""
    read_as: Mapping[str, Any] = field(default_factory=dict)
    """The sheet of a workbook, and whether codes or labels of statistical packages are taken."""
    mend: Mapping[str, Any] = field(default_factory=dict)
    """What is mended in the table, as the table [mend] of a policy document."""
    # columns
    columns: tuple[ColumnChoice, ...] = ()
    round: str = "auto"
    missing: str = "value"
    time_as: str = "sequence"
    time_of_day: str = "cut"
    shared_dates: str = "tell"
    round_gaps: int | str | None = None
    zone: str | None = None
    person_ids: str = "pseudonyms"
    coded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How extremes and rare categories are coded, by column, as in a policy document."""
    is_policy_given: bool = False
    """Whether the roles come from a policy file: a column that it does not name is then left to the steward."""
    population: Mapping[str, Any] = field(default_factory=dict)
    """The population that the table was drawn from, as the table [population] of a policy document."""
    # protect
    protection: Mapping[str, Any] = field(default_factory=dict)
    """models, method, mask, budget, knowledge and seed, as tables of a policy document; decimals as texts ("0.1")."""
    goal: Mapping[str, Any] = field(default_factory=dict)
    """How the steward came to the protection, for the page to show again; not part of the policy."""
    decision: Mapping[str, Any] = field(default_factory=dict)
    """What a review board decided, as the table [decision] of a policy document."""

    def rename_for(self, sources: Sequence[SourceFile]) -> tuple[Mapping[str, str], ...]:
        """The names of columns that were matched, for other files of records: those of files that stay."""
        if len(self.rename) != len(self.sources):
            return ()
        of_file = {source.name: names for source, names in zip(self.sources, self.rename, strict=True)}
        return tuple(of_file.get(source.name, {}) for source in sources)

    @property
    def persons_key(self) -> str | None:
        """Of related tables the key of that of persons, which names the person; None where it is not told yet."""
        keys = [table.get("key") for table in self.tables.values() if not table.get("links")]
        return str(keys[0]) if len(keys) == 1 and keys[0] else None

    def names(self, role: str) -> tuple[str, ...]:
        """The columns of a role, in the order of the table."""
        return tuple(column.name for column in self.columns if column.role == role or role in column.beside)

    @property
    def moves_dates(self) -> bool:
        """Whether the days between a person's records are published."""
        return self.time_as == "shift" and self.time_of_day == "cut" and bool(self.names("time"))

    @property
    def missing_tells_nothing(self) -> list[str]:
        """The sensitive columns of which a missing value tells nothing."""
        return [column.name for column in self.columns if column.role == "sensitive" and column.missing == "nothing"]

    @property
    def coded_here(self) -> dict[str, dict[str, Any]]:
        """How columns are coded, without those that are not published now."""
        gone = {column.name for column in self.columns if column.role not in ("quasi", "sensitive", "kept")}
        return {name: dict(coding) for name, coding in self.coded.items() if name not in gone}

    @property
    def confirmed_twice(self) -> list[str]:
        """The columns that leave though they name persons by themselves."""
        return [column.name for column in self.columns if column.role in PUBLISHED and column.is_confirmed_twice]

    @property
    def unconfirmed(self) -> list[str]:
        """The columns whose role the steward has not confirmed yet."""
        return [column.name for column in self.columns if not column.is_confirmed]

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

    def __init__(self, folder: Path, chosen: Chosen, way: Way | None = None) -> None:
        self.folder = folder
        self._chosen = chosen
        self._way = way or Way()
        self._table_of: dict[str, str] = {}
        self._lock = threading.RLock()

    # The folder

    @classmethod
    def open(cls, folder: str | Path) -> Project:
        """The project in a folder; a new one where the folder is absent or empty.

        Raises
        ------
        InputError
            The folder holds other things, or its `project.json` cannot be read.
        """
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"'{folder.name}' is a file. Name a folder for the project.")
        file = folder / "project.json"
        if folder.is_dir() and not file.is_file() and any(folder.iterdir()):
            raise InputError(
                f"The folder '{folder.name}' is not empty and holds no project. Name another folder, or an empty one."
            )
        is_new = not file.is_file()
        for part in ("", "sources", "hierarchies", "results", "runs", "candidates", "history", "cache"):
            (folder / part).mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        if is_new:
            os.chmod(folder, PRIVATE_FOLDER)
            project = cls(folder, Chosen())
            project._save()
            return project
        refuse_open_folder(folder)
        document = _read_json(file)
        project = cls(folder, _chosen_of(document.get("chosen", {})), Way.of(document))
        project._take_changed_policy(document.get("policy_sha256"))
        return project

    @classmethod
    def as_saved(cls, folder: str | Path) -> Project:
        """The project in a folder as it was saved last, to look at; it may be open elsewhere.

        Raises
        ------
        InputError
            There is no project in the folder, or it cannot be read.
        """
        file = Path(folder) / "project.json"
        if not file.is_file():
            raise InputError(f"There is no project in '{folder}'. Name the folder that the web app keeps it in.")
        document = _read_json(file)
        return cls(Path(folder), _chosen_of(document.get("chosen", {})), Way.of(document))

    @property
    def chosen(self) -> Chosen:
        """Everything that was chosen so far."""
        return self._chosen

    def update(self, *, seen: int, **changes: Any) -> Chosen:
        """Change choices and save them; `seen` is the version that the change was made from.

        Raises
        ------
        ChangedMeanwhile
            Another tab has saved since; nothing was changed.
        """
        with self._lock:
            self._refuse_unseen(seen)
            before = self._chosen
            return self._go(replace(before, **changes, version=before.version + 1), self._way.with_step(before.version))

    def _refuse_unseen(self, seen: int) -> None:
        if seen != self._chosen.version:
            raise ChangedMeanwhile(
                "This project was changed in another tab or window. Nothing of this page was saved. Load the page "
                "again to see what it is now."
            )

    def _go(self, chosen: Chosen, way: Way) -> Chosen:
        """Save other choices; those that they replace are kept, to be gone back to."""
        before, way_before = self._chosen, self._way
        self._chosen, self._way = chosen, way
        try:
            text = json.dumps(asdict(before), default=str)
            (self.folder / "history").mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            write_beside(self._file_of_version(before.version), text.encode())
            self._save()
        except OSError as error:
            self._chosen, self._way = before, way_before
            raise OutputError(f"The project cannot be saved: {error.strerror}.") from None
        for version in way_before.versions - way.versions:
            self._file_of_version(version).unlink(missing_ok=True)
        return chosen

    # Back and forward

    def undo(self, *, seen: int) -> Chosen:
        """Take the last choice back; an InputError where there is none, or a file of it is there no more."""
        return self._step(seen, self._way.past, self._way.gone_back)

    def redo(self, *, seen: int) -> Chosen:
        """Make the choice again that was taken back last."""
        return self._step(seen, self._way.future, self._way.gone_forward)

    def forget_steps(self) -> None:
        """Begin here: what was chosen before cannot be gone back to."""
        with self._lock:
            gone, self._way = self._way, Way()
            self._save()
        for version in gone.versions:
            self._file_of_version(version).unlink(missing_ok=True)

    def can_undo(self) -> str:
        """What the last choice was about, in words; "" where there is nothing to take back."""
        return self._about(self._way.past)

    def can_redo(self) -> str:
        """What the choice was about that was taken back last; "" where there is none."""
        return self._about(self._way.future)

    def _step(self, seen: int, versions: tuple[int, ...], gone: Callable[[int], Way]) -> Chosen:
        with self._lock:
            self._refuse_unseen(seen)
            if not versions:
                raise InputError("There is no choice to go to.")
            chosen = self.choices_in(_read_json(self._file_of_version(versions[-1])))
            now = self._chosen.version
            return self._go(replace(chosen, version=now + 1), gone(now))

    def _about(self, versions: tuple[int, ...]) -> str:
        if not versions:
            return ""
        try:
            other = _read_json(self._file_of_version(versions[-1]))
        except InputError:
            return ""
        return what_changed(json.loads(json.dumps(asdict(self._chosen), default=str)), other)

    def choices_in(self, document: Mapping[str, Any]) -> Chosen:
        """Choices that were kept as JSON; an InputError where their files are not there any more."""
        chosen = _chosen_of(document)
        self._refuse_replaced(chosen)
        return chosen

    def _refuse_replaced(self, chosen: Chosen) -> None:
        """Refuse to go to choices whose files were replaced by others of the same name, or are gone."""
        for source in (*chosen.sources, *([chosen.person_file] if chosen.person_file is not None else [])):
            file = self.folder / "sources" / source.name
            now = [each for each in self._chosen.sources if each.name == source.name]
            is_same = file.is_file() and file.stat().st_size == source.size
            if not is_same or (now and now[0].sha256 != source.sha256):
                raise InputError(
                    f"The file '{source.name}' was replaced since, so these choices cannot be taken again."
                )

    def _file_of_version(self, version: int) -> Path:
        return self.folder / "history" / f"{version}.json"

    def _save(self) -> None:
        text = self.policy_text()
        file = self.folder / "policy.toml"
        if text is None:
            file.unlink(missing_ok=True)
        else:
            write_beside(file, text.encode())
        document = {
            "format": 1, "chosen": asdict(self._chosen), "policy_sha256": _sha256(text), "way": self._way.to_dict(),
        }  # fmt: skip
        write_beside(self.folder / "project.json", json.dumps(document, indent=1, default=str).encode())

    def _take_changed_policy(self, saved: str | None) -> None:
        """Where someone edited policy.toml since it was saved, what it says now holds."""
        file = self.folder / "policy.toml"
        if file.is_file() and _sha256(file.read_text(encoding="utf-8")) != saved:
            from shoal.policy import Policy

            self.adopt(Policy.load(file), self.folder)

    # The policy

    def document(self) -> dict[str, Any]:
        """The choices as a policy document; it may have faults while columns lack roles."""
        chosen = self._chosen
        columns: dict[str, Any] = {
            "quasi": [_quasi_document(column) for column in chosen.columns if column.role == "quasi"],
            **{role: list(chosen.names(role)) for role in ("sensitive", "kept", "dropped")},
            **{role: chosen.names(role)[0] for role in ONE_OF if chosen.names(role)},
            **({"strata": list(strata)} if (strata := chosen.names("strata")) else {}),
            "round": chosen.round,
            "missing": chosen.missing,
            "time_as": chosen.time_as,
            "time_of_day": chosen.time_of_day,
            "shared_dates": chosen.shared_dates,
            **({} if chosen.round_gaps is None or not chosen.moves_dates else {"round_gaps": chosen.round_gaps}),
            **({} if chosen.zone is None else {"zone": chosen.zone}),
            **({"spelling": spelling} if (spelling := _spelling(chosen)) else {}),
            **({"coded": coded} if (coded := chosen.coded_here) else {}),
            **({"missing_tells_nothing": silent} if (silent := chosen.missing_tells_nothing) else {}),
            **({"person_ids": chosen.person_ids} if chosen.names("person") else {}),
            **({"confirmed": twice} if (twice := chosen.confirmed_twice) else {}),
        }
        told = {key: value for key, value in chosen.csv.items() if value is not None}
        found = self.found()
        source: dict[str, Any] = {**found, **told, **chosen.read_as}
        for key in ("date_format", "missing_in"):  # by column
            if key in found and isinstance(told.get(key), Mapping):
                source[key] = {**found[key], **told[key]}
        if any(chosen.rename):
            source["rename"] = [dict(names) for names in chosen.rename]
        if chosen.person_file is not None and chosen.join_on:
            source["join"] = {"person_file": f"sources/{chosen.person_file.name}", "on": dict(chosen.join_on)}
        protection = {
            key: value
            for key, value in chosen.protection.items()
            if value is not None and (value != {} or key == "knowledge")  # which says by itself that rules are mined
        }
        if protection.get("usefulness", {}).get("target") not in (*chosen.names("quasi"), *chosen.names("sensitive")):
            protection.pop("usefulness", None)  # its role was changed since
        tables = {name: {**table, "file": f"sources/{table['file']}"} for name, table in chosen.tables.items()}
        data = {"source": source, "mend": dict(chosen.mend), "population": dict(chosen.population), "tables": tables}
        decision = {"decision": dict(chosen.decision)} if chosen.decision else {}
        return {"columns": columns, **{key: table for key, table in data.items() if table}, **protection, **decision}

    def faults(self) -> list[str]:
        """What is missing before a policy can be made of the choices, in sentences."""
        chosen = self._chosen
        if not chosen.columns:
            return ["Choose the files on the page Data first."]
        faults = []
        without = [column.name for column in chosen.columns if not column.role]
        if without:
            verb = "column has" if len(without) == 1 else "columns have"
            faults.append(
                f"{len(without)} {verb} no role: {', '.join(without)}. Say for each what it is; if it shall not be "
                "published, drop it."
            )
        for role, what in ONE_OF.items():
            if len(chosen.names(role)) > 1:
                named = ", ".join(chosen.names(role))
                faults.append(f"Only one column can {what}, but these are chosen: {named}.")
        if chosen.tables and chosen.names("person") != (chosen.persons_key,):
            faults.append(
                "Of related tables the key of the table of persons names the person. Say on the page Data how they "
                f"belong together, and let {chosen.persons_key or 'that key'} name the person."
            )
        if not chosen.names("quasi"):
            faults.append("No column is chosen as known to others. At least one is needed: what others may know.")
        asked = [str(each["column"] or "the first line") for each in self.questions()]
        if asked:
            faults.append(f"Nothing in the file decides how to read {', '.join(asked)}. Say it on the page Data.")
        faults += [
            f"'{name}' looks like {what}. Drop it, or confirm a second time that it shall be published."
            for name, what in self.direct_identifiers().items()
        ]
        return faults

    def found(self) -> dict[str, Any]:
        """What the look found of how the one file is written, recorded in the policy so that a run repeats."""
        result = self.result("look")
        return {} if result is None or result.is_stale else dict(result.data.get("found", {}))

    def questions(self, *, with_suggested: bool = False) -> list[dict[str, Any]]:
        """What nothing in the files decides, as the look found it, but for columns that are not published.

        With `with_suggested` also of columns of which nobody has confirmed yet that they are not.
        """
        result = self.result("look")
        if result is None or result.is_stale:
            return []
        dropped = [column.name for column in self._chosen.columns
                   if column.role == "dropped" and (column.is_confirmed or not with_suggested)]  # fmt: skip
        return [each for each in result.data.get("findings", ()) if each["is_asked"] and each["column"] not in dropped]

    def direct_identifiers(self) -> dict[str, str]:
        """Columns that are to be published, name persons by themselves or are free text, and were not confirmed twice.

        By column what it looks like, in words.
        """
        result = self.result("look")
        if result is None or result.is_stale:
            return {}
        looks_like = {column["name"]: column.get("direct") for column in result.data.get("columns", ())}
        return {
            column.name: str(what)
            for column in self._chosen.columns
            if column.role in PUBLISHED and not column.is_confirmed_twice and (what := looks_like.get(column.name))
        }

    def problem(self) -> str | None:
        """Why no policy can be made of the choices, in words; None where one can."""
        try:
            self.policy()
        except ShoalError as error:
            return str(error)
        return None

    def policy(self) -> Policy:
        """The policy of the choices; a PolicyError says what is missing."""
        from shoal.errors import PolicyError
        from shoal.policy import Policy

        if faults := self.faults():
            raise PolicyError("\n".join(faults))
        return Policy.from_document(self.document(), name="The policy of this project")

    def policy_text(self) -> str | None:
        """The policy as the TOML file that the command line reads, or None while none can be made."""
        try:
            return self.policy().to_toml()
        except ShoalError:
            return None

    def adopt(self, policy: Policy, folder: str | Path) -> Chosen:
        """Take over a policy file: its roles, kinds, hierarchies (copied into the project) and protection."""
        from shoal.policy.policy import CSV_OPTIONS
        from shoal.web.work import models_document

        document = policy.moved(folder, self.folder).to_document()
        for name, hierarchy in policy.history.hierarchies.items():
            if hierarchy.file is not None:  # as of quasi-identifiers, the project has its own copy
                file = Path(folder) / hierarchy.file
                document["history"]["hierarchies"][name] = self.keep_hierarchy(file.read_bytes(), file.name)
        columns = {choice.name: choice for choice in self._columns_of(policy, Path(folder))}
        source = document.get("source", {})
        csv = {key: value for key, value in source.items() if key in CSV_OPTIONS}
        known = [columns.pop(column.name, column) for column in self._chosen.columns]
        join = policy.source.join
        files = {name: self.copy_file(Path(folder) / table.file) for name, table in policy.tables.items()}
        persons = None if join is None else self.copy_file(Path(folder) / join.person_file)
        return self.update(
            seen=self._chosen.version,
            columns=(*known, *columns.values()) if not self._chosen.columns else tuple(known),
            round=policy.columns.round,
            missing=policy.columns.missing,
            time_as=policy.columns.time_as,
            time_of_day=policy.columns.time_of_day,
            shared_dates=policy.columns.shared_dates,
            zone=policy.columns.zone,
            round_gaps=policy.columns.round_gaps,
            coded=_plain({name: each.to_dict() for name, each in policy.columns.coded.items()}),
            person_ids="none" if policy.columns.person_ids == "none" else "pseudonyms",  # episodes are [history]'s
            is_policy_given=True,
            csv=_plain({**self._chosen.csv, **csv}),
            read_as={key: source[key] for key in ("sheet", "labels") if key in source},
            rename=policy.source.rename,
            sources=tuple({each.name: each for each in files.values()}.values()) or self._chosen.sources,
            tables={name: {**document["tables"][name], "file": file.name} for name, file in files.items()},
            person_file=persons,
            join_on={} if join is None else dict(join.on),
            mend=_plain(document.get("mend", {})),
            population=_plain(document.get("population", {})),
            protection=_plain({**{key: document[key] for key in PROTECTION_KEYS if key in document},
                               **({"models": models_document(policy.models)} if policy.models else {})}),
            decision=self._chosen.decision if policy.decision is None else _plain(policy.decision.model_dump()),
        )  # fmt: skip

    # The table

    def source_paths(self) -> list[Path]:
        """The files of records."""
        return [self.folder / "sources" / source.name for source in self._chosen.sources]

    def join(self) -> Join | None:
        """The person file and its key, where both are chosen."""
        from shoal.reading import Join

        chosen = self._chosen
        if chosen.person_file is None or not chosen.join_on:
            return None
        return Join(person_file=self.folder / "sources" / chosen.person_file.name, on=dict(chosen.join_on))

    def read(self) -> Reading:
        """Read the files exactly as the command line would, and mend them; slow: for the other process."""
        from shoal.policy import Policy
        from shoal.reading import read
        from shoal.reading.mend import mended_reading

        chosen = self._chosen
        if not chosen.sources:
            raise InputError("No file was chosen yet. Choose one on the page Data.")
        if chosen.tables:
            return self._read_joined()
        rename = [dict(names) for names in chosen.rename] if any(chosen.rename) else None
        reading = read(self.source_paths(), csv=chosen.csv, rename=rename, join=self.join(), **chosen.read_as)
        if not chosen.mend:
            return reading
        return mended_reading(reading, Policy.from_document({"columns": {"quasi": ["-"]}, "mend": chosen.mend}).mend)

    def reading_policy(self) -> Policy:
        """A policy of which only the tables, how they are written and what is mended in them is meant."""
        from shoal.policy import Policy

        told = {key: value for key, value in self.document().items() if key in ("source", "mend", "tables")}
        return Policy.from_document({"columns": {"quasi": ["-"]}, **told})

    def table_of_columns(self) -> dict[str, str]:
        """Of related tables that were just read: which table each column is of."""
        return dict(self._table_of)

    def _read_joined(self) -> Reading:
        """Related tables joined to one, to be looked at; each is published as a table of its own."""
        from shoal.publishing.related import joined_to_look_at, mended_tables, read_tables, star_of
        from shoal.reading import Reading, Source
        from shoal.reading.mend import sentences

        policy = self.reading_policy()
        readings = read_tables(policy, self.folder)
        frames, mends = mended_tables({name: each.frame for name, each in readings.items()}, policy.mend)
        spelling = _spelling(self._chosen).get(str(self._chosen.persons_key), "plain")
        joined, self._table_of, left_out = joined_to_look_at(star_of(policy), frames, spelling=spelling)
        first = next(iter(readings.values())).source
        paths = tuple(path for each in readings.values() for path in each.source.paths)
        notes = [note for each in readings.values() for note in each.notes]
        return Reading(
            joined, Source(paths, first.format, first.csv), (*notes, *left_out, *sentences(mends)), mended=mends,
            findings=tuple(finding for each in readings.values() for finding in each.findings),
        )  # fmt: skip

    @property
    def table_file(self) -> Path:
        """Where the table of the present sources is kept as Parquet."""
        return self.folder / "cache" / f"table-{self.fingerprint('data')[:16]}.parquet"

    def table(self) -> pl.LazyFrame:
        """The table as it was read from the present sources; an InputError where it was not read yet."""
        import polars as pl

        if not self.table_file.is_file():
            raise InputError("The files were not read yet. Read them on the page Data.")
        return pl.scan_parquet(self.table_file, glob=False)

    # Results

    def fingerprint(self, step: str) -> str:
        """A hash of the choices that a step and those before it depend on."""
        parts = {"data": DATA_KEYS, "columns": COLUMN_KEYS, "protect": ("protection",)}
        last = {"risk": "columns", "release": "protect"}.get(step, step)
        covered = {name for part in list(parts)[: list(parts).index(last) + 1] for name in parts[part]}
        told = {name: value for name, value in _not_usual(self._chosen).items() if name in covered}
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()

    def put_result(self, name: str, data: Mapping[str, Any], *, depends_on: str, made_from: str | None = None) -> None:
        """Save what was computed from the choices of a step; `made_from` is the fingerprint it was computed from."""
        document = {
            "name": name,
            "depends_on": depends_on,
            "made_from": made_from or self.fingerprint(depends_on),
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "data": dict(data),
        }
        with self._lock:
            write_beside(self._result_file(name), json.dumps(document, default=str).encode())
            if name == RESULT_OF_STEP["data"]:
                self._save()  # the policy records how the files are written

    def result(self, name: str) -> Result | None:
        """What was computed last under this name, with whether the choices have changed since; None where nothing."""
        file = self._result_file(name)
        if not file.is_file():
            return None
        try:
            document = _read_json(file)
        except InputError:
            return None
        is_stale = document["made_from"] != self.fingerprint(document["depends_on"])
        return Result(name, document["data"], document["made_at"], document["depends_on"], is_stale)

    def _result_file(self, name: str) -> Path:
        return self.folder / "results" / f"{safe_name(name)}.json"

    def states(self) -> dict[str, str]:
        """For each step "done", "stale" (choices changed since) or "open"."""
        states = {}
        for step in STEPS:
            if step == "columns":
                states[step] = "open" if self.problem() or self._chosen.unconfirmed else "done"
                continue
            result = self.result(RESULT_OF_STEP[step])
            states[step] = "open" if result is None else "stale" if result.is_stale else "done"
            if step == "data" and self.questions():
                states[step] = "open"
        return states

    # Files

    def add_file(self, part: Path, name: str, *, folder: str = "sources") -> SourceFile:
        """Take a complete file that was streamed into the project under its final name; an equal name replaces."""
        name = safe_name(name)
        (self.folder / folder).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        target = self.folder / folder / name
        digest = hashlib.sha256()
        with part.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        os.chmod(part, PRIVATE_FILE)
        os.replace(part, target)
        return SourceFile(name, target.stat().st_size, digest.hexdigest())

    def copy_file(self, path: str | Path) -> SourceFile:
        """Copy a file of this machine into `sources/`."""
        from shoal.reading.source import check_is_file

        path = Path(path)
        check_is_file(path)
        part = self.folder / "sources" / f".{secrets.token_hex(8)}.part"
        try:
            shutil.copyfile(path, part)
            return self.add_file(part, path.name)
        finally:
            part.unlink(missing_ok=True)

    def keep_hierarchy(self, content: bytes, name: str) -> str:
        """Keep a hierarchy file, and give the name by which the policy knows it.

        What the file holds is part of its name: no file is written over, and other content makes results stale.
        """
        plain = Path(safe_name(name))
        stem = _CONTENT.sub("", plain.stem)
        file = f"hierarchies/{stem}-{hashlib.sha256(content).hexdigest()[:8]}{plain.suffix}"
        write_beside(self.folder / file, content)
        return file

    def _columns_of(self, policy: Policy, folder: Path) -> list[ColumnChoice]:
        """The columns that a policy names, with their roles; its hierarchy files are copied into the project."""
        columns = policy.columns
        quasi = []
        for column in columns.quasi:
            hierarchy = None
            if column.hierarchy is not None:
                hierarchy = json.loads(column.hierarchy.model_dump_json(exclude_none=True))
                if column.hierarchy.file is not None:
                    file = folder / column.hierarchy.file
                    hierarchy = {"file": self.keep_hierarchy(file.read_bytes(), file.name)}
                elif column.hierarchy.prefixes == () or column.hierarchy.dates == ():
                    hierarchy = dict.fromkeys(hierarchy, True)
            step = _number(column.round) if isinstance(column.round, Decimal) else column.round
            quasi.append(
                ColumnChoice(column.name, "quasi", column.kind, column.order, hierarchy, round=step, is_confirmed=True)
            )
        roles = policy.schema_of_release().roles()
        named = [(name, role) for name, role in roles if role != "quasi"]
        silent, spelling = columns.missing_tells_nothing, columns.spelling
        others = [
            ColumnChoice(
                name, role, spelling=spelling.get(name, ""), missing="nothing" if name in silent else "",
                is_confirmed=True,
            )
            for name, role in named
        ]  # fmt: skip
        twice, sampled = columns.confirmed, policy.schema_of_release().of_sample()
        return [
            replace(
                column,
                is_confirmed_twice=column.name in twice,
                beside=tuple(role for name, role in sampled if name == column.name and role != column.role),
            )
            for column in (*quasi, *others)
        ]

    def new_run(self) -> Path:
        """A name for a new release: a folder under `runs/` that does not exist yet, named by the time."""
        while (run := self.folder / "runs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}").exists():
            pass
        return run

    def file_of_run(self, run: str, name: str) -> Path:
        """A file of a release; an InputError for whatever lies outside of the run's folder or is absent."""
        folder = (self.folder / "runs").resolve()
        file = (folder / run / name).resolve() if "\0" not in run + name else folder
        is_inside = _RUN.fullmatch(run) is not None and file.is_relative_to(folder / run) and file != folder / run
        if not is_inside or not file.is_file():
            raise InputError("There is no such file in this project.")
        return file

    def remove(self) -> None:
        """Delete the folder and everything in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
_CONTENT = re.compile(r"-[0-9a-f]{8}$")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]")


def safe_name(name: str) -> str:
    """A file name as it may be used inside the project; an InputError where it has a folder or odd characters.

    Examples
    --------
    >>> safe_name("visits 2024.csv")
    'visits 2024.csv'
    >>> safe_name("../visits.csv")
    Traceback (most recent call last):
        ...
    shoal.errors.InputError: A file name must not have folders, dots at its beginning or control characters in it. ...
    """
    if not name or name != name.strip() or name.startswith(".") or _UNSAFE.search(name) or len(name.encode()) > 200:
        raise InputError(
            "A file name must not have folders, dots at its beginning or control characters in it. Rename the file."
        )
    return name


def refuse_open_folder(folder: Path) -> None:
    """A project's folder is for its owner alone: others' rights are taken away where we may, else it is refused."""
    if os.name != "posix" or not folder.stat().st_mode & 0o077:
        return
    try:
        os.chmod(folder, PRIVATE_FOLDER)
    except OSError:
        raise InputError(
            f"The folder '{folder.name}' can be read by others and belongs to someone else. Name a folder of your own."
        ) from None


def write_beside(file: Path, content: bytes) -> None:
    """Write a file such that it is either the old one or the new one, never half of it."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, file)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"'{file.name}' of the project cannot be read. It was damaged or changed by hand.") from None
    if not isinstance(document, dict):
        raise InputError(f"'{file.name}' of the project cannot be read. It was damaged or changed by hand.")
    return document


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _chosen_of(document: Mapping[str, Any]) -> Chosen:
    """The choices from what `project.json` holds; keys of another version of shoal are left out."""
    known = {each.name for each in fields(Chosen)}
    told = {key: value for key, value in document.items() if key in known}
    try:
        told["sources"] = tuple(SourceFile(**source) for source in told.get("sources", ()))
        told["person_file"] = SourceFile(**told["person_file"]) if told.get("person_file") else None
        told["rename"] = tuple(told.get("rename", ()))
        told["columns"] = tuple(
            ColumnChoice(
                **{
                    **column,
                    "order": tuple(column["order"]) if column.get("order") else None,
                    "beside": tuple(column.get("beside", ())),
                }
            )
            for column in told.get("columns", ())
        )
        return Chosen(**told)
    except (TypeError, KeyError):
        raise InputError("'project.json' cannot be read. It was damaged or changed by hand.") from None


def _not_usual(chosen: Chosen) -> dict[str, Any]:
    """What was chosen, without what is as usual: a choice that a later shoal offers makes no older result stale."""
    usual, usual_column = asdict(Chosen()), asdict(ColumnChoice(""))
    of_no_number = ("is_confirmed", "is_confirmed_twice")
    told = {name: value for name, value in asdict(chosen).items() if value != usual[name]}
    for column in told.get("columns", ()):
        for name in [name for name in column if name in of_no_number or column[name] == usual_column[name]]:
            del column[name]
    return told


def _quasi_document(column: ColumnChoice) -> dict[str, Any]:
    document: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.order is not None and column.kind in ("auto", "ordered"):
        document["order"] = list(column.order)
    if column.hierarchy is not None:
        document["hierarchy"] = dict(column.hierarchy)
    if column.round is not None:
        document["round"] = column.round
    return document


def _plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a policy document as JSON holds it: numbers as they are written, as far as JSON can."""
    plain: dict[str, Any] = json.loads(json.dumps(document, default=_number))
    return plain


def _number(value: object) -> float | str:
    is_same = isinstance(value, Decimal) and Decimal(str(float(value))) == value
    return float(value) if is_same and isinstance(value, Decimal) else str(value)


CODES = ("top", "bottom", "rare", "other")


def codes_in(text: str) -> dict[str, dict[str, Any]]:
    """Codes of columns as a steward writes them: "age top 90, job rare k=10"; what is none is left to be refused."""
    codings: dict[str, dict[str, Any]] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        column, _, said = next((part.partition(f" {key} ") for key in CODES if f" {key} " in part), (part, "", ""))
        key = next((key for key in CODES if f" {key} " in part), "top")
        codings.setdefault(column.strip(), {})[key] = _code(said.strip())
    return codings


def _code(said: str) -> int | float | str:
    try:
        number = float(said)
    except ValueError:
        return said
    return int(number) if number.is_integer() else number


def codes_as_text(coded: Mapping[str, Mapping[str, Any]]) -> str:
    """Codes of columns as a steward writes them."""
    return ", ".join(f"{name} {key} {coding[key]}" for name, coding in coded.items() for key in CODES if key in coding)


def _spelling(chosen: Chosen) -> dict[str, str]:
    """The spelling of columns for which it is not as usual."""
    counted = [column for column in chosen.columns if column.role in ("person", "sensitive")]
    return {column.name: column.spelling for column in counted if column.spelling}
