"""The site's navigation: sections in the order in which a reader needs them, pages as they lie in the folders."""

from pathlib import Path
from typing import Any

SECTIONS: dict[str, list[str]] = {
    "": ["index", "tutorial", "web-app"],
    "How-to": ["how-to"],
    "Explanations": ["explanations", "threat-model", "compare-tools"],
    "Reference": [
        "models",
        "methods",
        "masks",
        "measures",
        "attacks",
        "background-knowledge",
        "policy",
        "command-line",
        "json",
        "release-folder",
        "report",
        "reference",
    ],  # fmt: skip
    "Evidence": ["benchmarks", "studies", "papers", "mutation", "weather", "supply", "decisions"],
}
"""Titles of sections with the pages and folders in each; what stands under no title comes first."""

OTHERS = "More"


def on_config(config: Any, **_: Any) -> Any:
    """Fill the navigation before mkdocs reads it."""
    docs = Path(config["docs_dir"])
    found = {path.stem if path.is_file() else path.name for path in docs.iterdir() if pages_of(path)}
    placed = {name for names in SECTIONS.values() for name in names}
    nav: list[Any] = []
    for title, names in {**SECTIONS, OTHERS: sorted(found - placed)}.items():
        entries = [
            entry
            for name in names
            for path in (docs / f"{name}.md", docs / name)
            for entry in entries_of(path, docs, is_alone=len(names) == 1)
        ]
        nav += entries if not title else [{title: entries}] if entries else []
    config["nav"] = nav
    return config


def entries_of(path: Path, docs: Path, *, is_alone: bool) -> list[Any]:
    """A page; or the pages of a folder, folded under the folder's title where the section has more than this folder."""
    pages = pages_of(path)
    addresses: list[Any] = [page.relative_to(docs).as_posix() for page in pages]
    if is_alone or path.is_file() or not pages:
        return addresses
    if pages[0].name == "index.md":
        addresses[0] = {"Overview": addresses[0]}
    title = pages[0].read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    return [{title: addresses}]


def pages_of(path: Path) -> list[Path]:
    """The pages at a path: itself, or those in the folder with its index first."""
    if path.is_file():
        return [path] if path.suffix == ".md" else []
    return sorted(path.rglob("*.md"), key=lambda page: (page.parent, page.name != "index.md", page.name))
