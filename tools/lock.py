"""What requirements.lock and pyproject.toml say about the packages that shoal needs, and which licences these have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
EXTRAS = ("sql", "stats", "web", "spark")
"""What somebody may install besides; dev and bench are for those who work on shoal."""

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


def read_lock(path: Path = PROJECT / "requirements.lock") -> list[Locked]:
    """Everything that is locked, in the order of the file."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = []
    for block in blocks:
        head = re.match(
            r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)(?:\s*;\s*([^\\\n]+?))?\s*(?:\\|$)", block, flags=re.MULTILINE
        )
        if not head:
            continue
        via = re.search(r"# via(.*)", block, flags=re.DOTALL)
        askers = re.findall(r"([A-Za-z0-9][\w.-]*)", re.sub(r"\(.*?\)", "", via[1])) if via else []
        hashes = tuple(sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", block)))
        marker = (head[3] or "").strip()
        found.append(Locked(normal(head[1]), head[2], marker, hashes, tuple(sorted(normal(name) for name in askers))))
    return found


def project() -> dict[str, object]:
    """The table [project] of pyproject.toml."""
    return dict(tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def asked_for(part: str = "") -> set[str]:
    """The packages that shoal itself names, or one of its extras."""
    table = project()
    lists: object = table["dependencies"] if not part else dict(table["optional-dependencies"])[part]  # type: ignore[call-overload]
    assert isinstance(lists, list)
    return {normal(re.match(r"[\w.-]+", line)[0]) for line in lists}  # type: ignore[index]


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
