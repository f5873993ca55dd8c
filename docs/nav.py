"""The site's navigation: sections in the order in which a reader needs them, pages as they lie in the folders."""

from pathlib import Path
from typing import Any

SECTIONS: dict[str, list[str]] = {
    "": ["index", "tutorial", "web-app"],
    "How-to": ["how-to"],
    "Models": ["models", "background-knowledge"],
    "Methods": ["methods"],
    "Masks": ["masks"],
    "Measures and attacks": ["measures", "attacks"],
    "Reference": ["policy", "command-line", "json", "release-folder", "report"],
    "Evidence": ["benchmarks", "studies", "weather", "papers"],
    "Decisions": ["decisions"],
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
        pages = [
            page.relative_to(docs).as_posix()
            for name in names
            for path in (docs / f"{name}.md", docs / name)
            for page in pages_of(path)
        ]
        nav += pages if not title else [{title: pages}] if pages else []
    config["nav"] = nav
    return config


def pages_of(path: Path) -> list[Path]:
    """The pages at a path: itself, or those in the folder with its index first."""
    if path.is_file():
        return [path] if path.suffix == ".md" else []
    return sorted(path.rglob("*.md"), key=lambda page: (page.parent, page.name != "index.md", page.name))
