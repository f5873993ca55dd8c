"""What the steward chose before, so that every choice can be taken back and made again.

    history/12.json   the choices of version 12

`project.json` says which versions can be gone back to (`past`) and which can be gone forward to (`future`), the last
one first to be taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_STEPS = 100
"""Choices that can be taken back; older ones are forgotten."""
WORDS = {
    "sources": "the files",
    "person_file": "the person file",
    "join_on": "the key of the person file",
    "rename": "names of columns",
    "tables": "how the files belong together",
    "csv": "how the files are read",
    "read_as": "how the files are read",
    "mend": "what is mended",
    "columns": "roles of columns",
    "population": "the population",
    "protection": "what is promised",
    "goal": "the goal",
    "decision": "the page for the board",
    "title": "the title",
}
"""Choices as the steward knows them; what has no word goes with the columns."""
NOT_TOLD = ("version", "is_policy_given")


@dataclass(frozen=True)
class Way:
    """The versions behind and ahead, as `project.json` keeps them."""

    past: tuple[int, ...] = ()
    future: tuple[int, ...] = ()

    def with_step(self, version: int) -> Way:
        """After a new choice: the version before it can be gone back to, and nothing lies ahead any more."""
        return Way((*self.past, version)[-MOST_STEPS:])

    def gone_back(self, version: int) -> Way:
        """After one step back from a version."""
        return Way(self.past[:-1], (*self.future, version))

    def gone_forward(self, version: int) -> Way:
        """After one step forward from a version."""
        return Way((*self.past, version), self.future[:-1])

    @property
    def versions(self) -> frozenset[int]:
        """The versions that must be kept."""
        return frozenset((*self.past, *self.future))

    def to_dict(self) -> dict[str, list[int]]:
        """The same as JSON holds it."""
        return {"past": list(self.past), "future": list(self.future)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Way:
        """The same from what `project.json` holds; nothing where it was written by an older version."""
        told = document.get("way") or {}
        return cls(*(tuple(int(version) for version in told.get(name, ())) for name in ("past", "future")))


def what_changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Which choices differ, in words: what a step back or forward is about."""
    names = [name for name in one if name not in NOT_TOLD and one[name] != other.get(name)]
    told = list(dict.fromkeys(WORDS.get(name, WORDS["columns"]) for name in names))
    if WORDS["protection"] in told and WORDS["goal"] in told:
        told.remove(WORDS["goal"])
    return " and ".join(told) or "a choice"
