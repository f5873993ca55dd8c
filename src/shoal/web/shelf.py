"""The shelf of a project: releases that were tried, side by side, each with its policy, its numbers and a note.

    candidates/3.json   when it was made, its note, its numbers, twenty records as they would be published, the choices
    candidates/3.toml   its policy, with the seed, which `shoal protect --policy` reads
    cache/originals-3.json   the same twenty records as they were; may be deleted at any time

A candidate was protected and counted again like a release, but nothing of it was written for handing out, unless `run`
names the release that was made of it.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError, did_you_mean
from shoal.web.project import PRIVATE_FILE, PRIVATE_FOLDER, Project, write_beside

Plain = dict[str, Any]
LONGEST_NOTE = 500


@dataclass(frozen=True)
class Candidate:
    """A release that was tried."""

    number: int
    made_at: str
    chosen: Mapping[str, Any]
    """The choices that made it, with its seed, as `project.json` has them."""
    made_from: str
    """The fingerprint of these choices."""
    promises: tuple[str, ...]
    numbers: Mapping[str, Any]
    """As `shoal protect --json` tells them."""
    published: Mapping[str, Any]
    """The first records as they would be published: `columns` and `records`."""
    run: str | None = None
    """The release that was made of it, if one was."""
    note: str = ""

    @property
    def policy_name(self) -> str:
        """Its policy file, as seen from the project's folder."""
        return f"candidates/{self.number}.toml"

    @property
    def files(self) -> tuple[str, ...]:
        """The files of records that it was made of, as seen from the project's folder; a policy names related ones."""
        if self.chosen.get("tables"):
            return ()
        return tuple(f"sources/{source['name']}" for source in self.chosen.get("sources", ()))

    def command(self, folder: str = "") -> str:
        """The command that makes the release, to be run in the project's folder or from another."""
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        files = "".join(f" {shlex.quote(prefix + file)}" for file in self.files)
        return f"shoal protect{files} --policy {shlex.quote(prefix + self.policy_name)} -o release"

    def to_dict(self) -> Plain:
        """What is told of it: no record, and no choices but the policy's file."""
        return {
            "number": self.number,
            "made": self.made_at,
            "note": self.note,
            "run": self.run,
            "promises": list(self.promises),
            "policy": self.policy_name,
            "command": self.command(),
            "numbers": dict(self.numbers),
        }


def add(
    project: Project,
    *,
    numbers: Mapping[str, Any],
    promises: list[str],
    published: Mapping[str, Any],
    originals: Mapping[str, Any],
    policy_text: str,
    seed: int,
    run: str | None = None,
) -> Candidate:
    """Put what was tried with the project's choices on the shelf.

    Parameters
    ----------
    policy_text
        Its policy, as it reads in the folder `candidates`.
    originals
        The same records as `published` shows, as they were.
    seed
        The seed of the run, with which a release of it has the same groups.
    run
        The release that was made, if one was.
    """
    chosen = asdict(project.chosen)
    chosen["protection"] = {**chosen["protection"], "seed": seed}
    folder = project.folder / "candidates"
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    candidate = Candidate(
        number=_free_number(folder),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        chosen=chosen,
        made_from=_fingerprint(project, seed),
        promises=tuple(promises),
        numbers=dict(numbers),
        published=dict(published),
        run=run,
    )
    write_beside(folder / f"{candidate.number}.toml", policy_text.encode())
    write_beside(_originals_file(project, candidate.number), json.dumps(originals, default=str).encode())
    _write(project, candidate)
    return candidate


def _fingerprint(project: Project, seed: int) -> str:
    chosen = replace(project.chosen, protection={**project.chosen.protection, "seed": seed})
    return Project(project.folder, chosen).fingerprint("protect")


def _free_number(folder: Path) -> int:
    """The next number, taken at once, so that two that end together do not write over each other."""
    number = max((int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()), default=0) + 1
    while True:
        try:
            os.close(os.open(folder / f"{number}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
        except FileExistsError:
            number += 1
        except OSError as error:
            raise OutputError(f"The project cannot be saved: {error.strerror}.") from None
        else:
            return number


def _write(project: Project, candidate: Candidate) -> None:
    text = json.dumps(asdict(candidate), default=str)
    write_beside(project.folder / "candidates" / f"{candidate.number}.json", text.encode())


def candidates(project: Project) -> list[Candidate]:
    """All of them, in the order in which they were made."""
    return list(_read(project.folder / "candidates"))


def _read(folder: Path) -> Iterator[Candidate]:
    numbers = sorted(int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit())
    for number in numbers:
        with suppress(OSError, ValueError, TypeError):  # one that is just being made, or was damaged
            yield Candidate(**json.loads((folder / f"{number}.json").read_text(encoding="utf-8")))


def candidate_called(project: Project, number: int) -> Candidate:
    """The one of a number; an InputError names those that there are."""
    found = {each.number: each for each in candidates(project)}
    if number not in found:
        there = ", ".join(map(str, found)) or "none"
        hint = did_you_mean(str(number), [str(each) for each in found])
        raise InputError(f"The project has no candidate {number}. There are: {there}.{hint}")
    return found[number]


def originals_of(project: Project, number: int) -> Plain | None:
    """The records that a candidate's preview shows, as they were; None where they are not kept any more."""
    try:
        found: Plain = json.loads(_originals_file(project, number).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def _originals_file(project: Project, number: int) -> Path:
    return project.folder / "cache" / f"originals-{number}.json"


def put_note(project: Project, number: int, note: str) -> Candidate:
    """Write a note on a candidate."""
    candidate = replace(candidate_called(project, number), note=" ".join(note.split())[:LONGEST_NOTE])
    _write(project, candidate)
    return candidate


def remove(project: Project, number: int) -> None:
    """Take a candidate off the shelf; a release that was made of it stays."""
    candidate_called(project, number)
    for file in (
        _originals_file(project, number),
        project.folder / "candidates" / f"{number}.toml",
        project.folder / "candidates" / f"{number}.json",
    ):
        file.unlink(missing_ok=True)


def is_now(project: Project, candidate: Candidate) -> bool:
    """Whether the project's choices are those of the candidate; its seed was perhaps drawn when it was tried."""
    return candidate.made_from == _fingerprint(project, candidate.chosen["protection"]["seed"])


# What stands side by side


def strongest_attack(numbers: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Of the attacks that were tried the one furthest above blind guessing."""
    tried = [each for each in numbers.get("attacks") or () if each.get("success") is not None]
    return max(tried, key=lambda each: each["success"] - (each.get("blind") or 0.0), default=None)


def kept_of_prediction(numbers: Mapping[str, Any]) -> float | None:
    """How much of what can be learned of the column that was asked for is kept; None where nobody asked."""
    kept: float | None = (numbers.get("usefulness") or {}).get("kept")
    return kept
