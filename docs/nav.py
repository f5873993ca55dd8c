"""How the site is made: its navigation, formulas, the version in its footer.

Sections stand in the order in which a reader needs them, pages as they lie in the folders.
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

PROJECT = Path(__file__).resolve().parent.parent
SECTIONS: dict[str, list[str]] = {
    "Start": ["index", "install", "tutorial", "web-app", "gallery", "is-it-anonymous", "glossary"],
    "How-to": ["how-to"],
    "Explanations": ["explanations", "threat-model", "compare-tools"],
    "Reference": [
        *("reference", "models", "methods", "masks", "measures", "attacks", "background-knowledge"),
        *("policy", "commands", "json", "release-folder", "report"),
    ],
    "Evidence": ["benchmarks", "studies", "papers"],
    "Project": ["testing", "mutation", "weather", "supply", "decisions"],
}
"""Titles of sections with the pages and folders in each."""

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
        nav += [{title: entries}] if entries else []
    config["nav"] = nav
    fence = {"name": "math", "class": "math", "format": formula}
    config["mdx_configs"].setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if not config["repo_url"]:
        config["edit_uri"] = ""  # no address to edit at
    config["copyright"] = f"shoal {version}, Apache License 2.0"
    return config


def on_files(files: Files, config: Any) -> Files:
    """The app's picture of a fish is the site's as well."""
    files.append(File.generated(config, "images/fish.svg", abs_src_path=str(PROJECT / "src/shoal/web/fish.svg")))
    return files


def formula(source: str, *_: Any, **__: Any) -> str:
    """A formula in LaTeX as MathML, which browsers show by themselves."""
    lines = (line for line in source.splitlines() if line.strip())
    return "".join(f'<p class="math">{convert(line, display="block")}</p>' for line in lines)


def entries_of(path: Path, docs: Path, *, section: str) -> list[Any]:
    """A page; or the pages of a folder, folded under the title of its index unless that is the section's own."""
    pages = pages_of(path)
    addresses: list[Any] = [page.relative_to(docs).as_posix() for page in pages]
    if path.is_file() or not pages or pages[0].name != "index.md":
        return addresses
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


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Colour commands as commands, which without a prompt would be grey; run the gallery."""
    text = markdown.replace("```console\n", "```sh\n")
    return executed(text) if page.file.src_uri == "gallery.md" else text


def executed(markdown: str) -> str:
    """A page whose programs run one after the other, with what each prints and ends with below it."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def with_answer(fence: re.Match[str]) -> str:
        return f"{fence[0]}\n{answer_of(fence[1], names)}"

    with database(), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return re.sub(r"^```python\n(.*?)^```$", with_answer, markdown, flags=re.MULTILINE | re.DOTALL)


@contextlib.contextmanager
def database() -> Iterator[None]:
    """A PostgreSQL server while the gallery runs, where one is installed: that of the tests."""
    sys.path.insert(0, str(PROJECT))
    from tests.databases.servers import started

    with started() as server:
        told = {} if server is None else {"PGUSER": server.user, "PGPASSWORD": server.password}
        told |= {} if server is None else {"DATABASE": server.bare_url}
        with mock.patch.dict(os.environ, told):
            yield


def answer_of(program: str, names: dict[str, Any]) -> str:
    """What a program prints, and its last expression as a notebook shows it."""
    steps = ast.parse(program)
    last = steps.body.pop() if isinstance(steps.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(steps, "gallery.md", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "gallery.md", "eval"), names) if last else None
    text = printed.getvalue()
    shown = f"\n```text\n{text.rstrip()}\n```\n" if text else ""
    if value is None:
        return shown
    markup = value._repr_html_() if hasattr(value, "_repr_html_") else str(value)
    one_line = " ".join(line.strip() for line in markup.splitlines())  # a blank line would end the block
    return f'{shown}\n<div class="answer">{one_line}</div>\n'
