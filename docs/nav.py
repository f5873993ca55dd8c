"""The site's navigation: sections in the order in which a reader needs them, pages as they lie in the folders."""

from pathlib import Path
from typing import Any

SECTIONS = {
    "index": "Home",
    "tutorial": "Tutorial",
    "web-app": "Web app",
    "how-to": "How-to",
    "models": "Models",
    "methods": "Methods",
    "masks": "Masks",
    "background-knowledge": "Background knowledge",
    "measures": "Measures",
    "report": "Report",
    "policy": "Policy file",
    "command-line": "Command line",
    "json": "JSON",
    "release-folder": "Release folder",
    "decisions": "Decisions",
    "benchmarks": "Benchmarks",
    "studies": "Studies",
    "attacks": "Attacks",
    "papers": "Papers",
}


def on_config(config: Any, **_: Any) -> Any:
    """Fill the navigation before mkdocs reads it; a section is one page or a folder of pages."""
    docs = Path(config["docs_dir"])
    found = {path.stem if path.is_file() else path.name for path in docs.iterdir() if pages_of(path)}
    known = [name for name in SECTIONS if name in found]
    others = sorted(found - SECTIONS.keys())
    config["nav"] = [section(docs, name) for name in known + others]
    return config


def section(docs: Path, name: str) -> dict[str, Any]:
    """One entry of the navigation, with its page or its pages."""
    title = SECTIONS.get(name, name.replace("-", " ").capitalize())
    page = docs / f"{name}.md"
    pages = [page, *pages_of(docs / name)] if page.is_file() else pages_of(docs / name)
    addresses = [path.relative_to(docs).as_posix() for path in pages]
    return {title: addresses[0] if pages == [page] else addresses}


def pages_of(path: Path) -> list[Path]:
    """The pages at a path: itself, or those in the folder with its index first."""
    if path.is_file():
        return [path] if path.suffix == ".md" else []
    return sorted(path.rglob("*.md"), key=lambda page: (page.parent, page.name != "index.md", page.name))
