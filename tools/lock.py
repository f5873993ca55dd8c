"""What the lock and pyproject.toml say about the packages that shoal needs, and which licences these have.

The lock stands in three files, so that who wants to see shoal run installs no browser and no Spark. `make lock` lets uv
write it as one and runs `python -m tools.lock FILE`, which puts every package into the first part that needs it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
EXTRAS = ("sql", "stats", "dp", "web", "spark")
"""What somebody may install besides; dev and bench are for those who work on shoal."""
LOCKS = {
    "requirements.lock": "what shoal needs to run, and what builds it",
    "requirements-extras.lock": f"what the extras {', '.join(EXTRAS[:-1])} and {EXTRAS[-1]} need besides",
    "requirements-dev.lock": "what tests, docs, lint and types need besides",
}
"""The files of the lock. No package stands in two of them; each needs those before it."""

WORDS = {
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Public Domain": "LicenseRef-Public-Domain",
    "GNU General Public License (GPL)": "GPL-3.0-or-later",
}
"""The SPDX form of what older metadata says in words. Where it says only BSD, the three-clause form is meant."""
CHOSEN = {
    "docutils": "BSD-2-Clause AND LicenseRef-Public-Domain",
    "uvloop": "MIT OR Apache-2.0",
    "colorama": "BSD-3-Clause",
}
"""Read by hand. docutils' code is in the public domain and under BSD; one editor mode for Emacs, which nothing of ours
touches and no wheel installs as code, is under the GPL. uvloop names two to choose from. colorama is for Windows only,
so that metadata is not at hand elsewhere."""
ALLOWED = frozenset({
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
    "LicenseRef-Public-Domain", "MIT", "MPL-2.0", "PSF-2.0", "Zlib",
})  # fmt: skip
"""Licences that let shoal be used and passed on under its own. MPL-2.0 asks for changes of the files it covers to be
published; we change none."""


@dataclass(frozen=True)
class Locked:
    """One line of the lock: a version of a package, where it is meant for, its hashes, and who asks for it."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    asked_by: tuple[str, ...]

    @property
    def purl(self) -> str:
        """The package as other tools name it."""
        return f"pkg:pypi/{self.name}@{self.version}"


def normal(name: str) -> str:
    """A package's name as the lock writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path | None = None) -> list[Locked]:
    """Everything that is locked, in the order of one file; without a path all parts of the lock."""
    if path is None:
        return [each for name in LOCKS for each in read_lock(PROJECT / name)]
    return [locked for block in blocks_of(path) if (locked := read_block(block))]


def blocks_of(path: Path) -> list[str]:
    """A file of the lock, cut before every package; the first block is what stands above them."""
    return re.split(r"^(?=[A-Za-z0-9])", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def read_block(block: str) -> Locked | None:
    """One package with its hashes, or None where the block is none."""
    head = re.match(r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)(?:\s*;\s*([^\\\n]+?))?\s*(?:\\|$)", block, flags=re.MULTILINE)
    if not head:
        return None
    via = re.search(r"# via(.*)", block, flags=re.DOTALL)
    askers = re.findall(r"([A-Za-z0-9][\w.-]*)", re.sub(r"\(.*?\)", "", via[1])) if via else []
    hashes = tuple(sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", block)))
    marker = (head[3] or "").strip()
    return Locked(normal(head[1]), head[2], marker, hashes, tuple(sorted(normal(name) for name in askers)))


def split(whole: Path, target: Path = PROJECT) -> None:
    """Write a lock that is one file as its parts."""
    above, *blocks = blocks_of(whole)
    locked = {block: each for block in blocks if (each := read_block(block))}
    parts = parts_of(list(locked.values()))
    builds = built_with()
    texts = dict.fromkeys(LOCKS, "")
    for block, each in locked.items():
        part = "shoal" if each.name in builds else parts.get(each.name)
        name = "requirements-dev.lock" if part is None else "requirements-extras.lock"
        texts["requirements.lock" if part == "shoal" else name] += block
    for name, text in texts.items():
        (target / name).write_text(f"{above}# Here: {LOCKS[name]}.\n{text}", encoding="utf-8")


def project() -> dict[str, object]:
    """The table [project] of pyproject.toml."""
    return dict(tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def asked_for(part: str = "") -> set[str]:
    """The packages that shoal itself names, or one of its extras."""
    table = project()
    lists: object = table["dependencies"] if not part else dict(table["optional-dependencies"])[part]  # type: ignore[call-overload]
    assert isinstance(lists, list)
    return names_in(lists)


def built_with() -> set[str]:
    """The packages that build shoal."""
    return names_in(tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"])


def names_in(requirements: Iterable[str]) -> set[str]:
    """The packages that requirements are about."""
    return {normal(re.match(r"[\w.-]+", line)[0]) for line in requirements}  # type: ignore[index]


def with_what_they_need(names: Iterable[str], lock: Iterable[Locked]) -> set[str]:
    """These packages and all that they ask for."""
    locked = list(lock)
    found: set[str] = set()
    new = set(names)
    while new:
        found |= new
        new = {each.name for each in locked if found & set(each.asked_by)} - found
    return found


def parts_of(lock: list[Locked]) -> dict[str, str]:
    """Which part of shoal each run-time package is there for: "shoal" itself, or the first extra that needs it."""
    parts = dict.fromkeys(with_what_they_need(asked_for(), lock), "shoal")
    for extra in EXTRAS:
        for name in with_what_they_need(asked_for(extra), lock):
            parts.setdefault(name, extra)
    return parts


def licence_of(name: str) -> str:
    """The licence of an installed package in SPDX form; "unknown" where its metadata does not tell."""
    if name in CHOSEN:
        return CHOSEN[name]
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "unknown"
    if about["License-Expression"]:
        return str(about["License-Expression"])
    written = str(about["License"] or "").strip()
    classes = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if line.startswith("License :: ")]
    if written and len(written) < 40:
        return WORDS.get(written, written)
    return " AND ".join(sorted(WORDS.get(name, name) for name in classes)) or "unknown"


def licences_in(expression: str) -> set[str]:
    """The licences that an SPDX expression names."""
    return {part.strip() for part in re.split(r"\bAND\b|\bOR\b|[()]", expression) if part.strip()}


if __name__ == "__main__":
    split(Path(sys.argv[1]))
