"""The site's navigation: sections in the order in which a reader needs them, pages as they lie in the folders."""

from pathlib import Path
from typing import Any

SECTIONS: dict[str, list[str]] = {
    "": ["index", "tutorial", "web-app"],
    "How-to": ["how-to"],
    "Explanations": ["explanations", "threat-model", "compare-tools"],
    "Reference": [
        *("reference", "models", "methods", "masks", "measures", "attacks", "background-knowledge"),
        *("policy", "commands", "json", "release-folder", "report"),
    ],
    "Evidence": ["benchmarks", "studies", "papers"],
    "For developers": ["testing", "mutation", "weather", "supply", "decisions"],
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
            for entry in entries_of(path, docs, section=title)
        ]
        nav += entries if not title else [{title: entries}] if entries else []
    config["nav"] = nav
    return config


def entries_of(path: Path, docs: Path, *, section: str) -> list[Any]:
    """A page; or the pages of a folder, folded under its title unless that is the section's own."""
    pages = pages_of(path)
    addresses: list[Any] = [page.relative_to(docs).as_posix() for page in pages]
    if path.is_file() or not pages:
        return addresses
    if pages[0].name == "index.md":
        addresses[0] = {"Overview": addresses[0]}
    title = pages[0].read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    return addresses if title == section else [{title: addresses}]


def pages_of(path: Path) -> list[Path]:
    """The pages at a path: itself, or those in the folder, its index first and then as the index names them."""
    if path.is_file():
        return [path] if path.suffix == ".md" else []
    index = path / "index.md"
    text = index.read_text(encoding="utf-8") if index.is_file() else ""

    def place(page: Path) -> tuple[Path, bool, int, str]:
        named = text.find(f"]({page.relative_to(path).as_posix()}")
        return page.parent, page.name != "index.md", named if named >= 0 else len(text), page.name

    return sorted(path.rglob("*.md"), key=place)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Colour commands as commands: without a prompt they would be taken for what a command answers, and be grey."""
    return markdown.replace("```console\n", "```sh\n")
